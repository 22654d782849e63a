"""Journals of composed loops: honest ones pass ``surefoot check``, changed ones do not."""

from __future__ import annotations

import copy
import functools
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surefoot import kernel
from surefoot.controller.check import Report, check
from surefoot.controller.journal import seal
from tests.composition import live
from tests.composition.cases import Case, bare_cases, is_supported
from tests.composition.orders import Program
from tests.controller._lines import records

SEED = 20_261_118
SIZES = (1e-3, 1.0)
"""By which share of itself a number is changed; of 0.1 where it is less."""
_CURVED = "value slope length bound beta"
STATED = {
    "LipschitzHull": "anchor_value bound G_g",
    "AverageLimit": "budget bound hull.anchor_value hull.bound hull.G_g",
    "CertifiedLength": "slack G_g",
    "Curvature": _CURVED,
    "CurvatureRows": _CURVED,
    "RelativeCurvature": _CURVED,
    "HullOfLog": "bound",
    "ContextHull": "place level bound G_g",
}
"""The numbers of a certificate of each kind of knowledge that is judged. The others are hints
(rounds, shares, weights), of which any that fulfil the inequality do, levels that may be stated
above what is known, or words."""


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """The journals of the loops that were played, by their reports."""
    found: list[tuple[Report, Path]] = []

    def keep(path: str) -> Report:
        files = sorted(Path(path).parent.iterdir())
        folder = tmp_path / f"kept{len(found)}"
        folder.mkdir()
        for file in files:
            (folder / file.name).write_bytes(file.read_bytes())
        found.append((check(path), folder / Path(path).name))
        return found[-1][0]

    monkeypatch.setattr(live, "check", keep)
    return found


@functools.cache
def bare() -> tuple[Case, ...]:
    """All cases without a wrapper."""
    return tuple(case._replace(engine=kernel.engines()[0]) for case in bare_cases())


def draw(cases: Iterable[Case], kind: str, count: int) -> list[Case]:
    """Some cases of a kind of knowledge that are played."""
    among = [case for case in cases if case.setting.kind == kind]
    random.Random(SEED).shuffle(among)
    return list(itertools.islice(filter(is_supported, among), count))


@pytest.mark.parametrize("kind", STATED)
def test_no_honest_journal_is_blamed(kind, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(live, "ROUNDS", 25)
    for case in draw(bare(), kind, 5):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        live.play(case, folder)
    blamed = [report.said[0] for report, _ in kept if not report.is_right]
    assert blamed == []
    certified = [int(report.said[0].split()[1]) for report, _ in kept]
    assert sum(certified) > 30  # a judge who judges nothing blames nobody


def quiet_journal(kind: str, kept: Any, tmp_path: Path, monkeypatch: Any) -> Path:
    """The journal of a loop without an order, with exact readings, all of it certified."""
    monkeypatch.setattr(Program, "draw", classmethod(lambda cls, rng: cls((), (), 0.0)))
    monkeypatch.setattr(live, "ROUNDS", 10)
    exact = (c for c in bare() if not (c.setting.errors or c.ramp))
    for case in draw(exact, kind, 12):
        live.play(case, tmp_path)
        if kept:
            report, path = kept[-1]
            if report.code == 0 and len(list(path.parent.iterdir())) == 1:
                return path
    raise AssertionError(f"no journal of {kind} is certified as a whole")


def numbers_at(node: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to all numbers of a part of a line."""
    if isinstance(node, dict | list):
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for name, part in parts:
            yield from numbers_at(part, (*way, name))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield way


def changed(found: list[Any], way: tuple[Any, ...], size: float, path: Path) -> Report:
    """What the checker says of a journal in which one number is another."""
    found = copy.deepcopy(found)
    node: Any = found
    for name in way[:-1]:
        node = node[name]
    old = node[way[-1]]
    more = size * max(0.1, abs(old))
    node[way[-1]] = old + (1 if isinstance(old, int) else more)
    digest, data = "", b""
    for record in found:
        line, digest = seal(digest, record)
        data += line
    path.write_bytes(data)
    return check(str(path))


def rests_on_its_reading(line: Any) -> bool:
    """Return whether the certificate of a line rests on what was read in its round."""
    why = line["certificate"] or {}
    rounds = why.get("rounds")  # in contexts, any
    return why.get("class") != "LogCertificate" and (not rounds or line["round"] in rounds["tuple"])


@pytest.mark.parametrize("kind", STATED)
def test_a_number_that_a_certificate_rests_on_is_not_changed_unnoticed(
    kind, kept, tmp_path, monkeypatch
):
    folder = tmp_path / "run"
    folder.mkdir()
    path = quiet_journal(kind, kept, folder, monkeypatch)
    whole, other = check(str(path)), tmp_path / "changed"
    found = [{n: v for n, v in r.items() if n != "digest"} for r in records(path)]
    ways = list(numbers_at(found[0]["player"]["knowledge"], (0, "player", "knowledge")))
    ways += numbers_at(found[0]["start"], (0, "start"))
    before = []
    for i, line in enumerate(found):
        if line["kind"] != "round":
            continue
        is_new = i > 1 and found[i - 1].get("next") not in before  # what is read there is all
        before.append(found[i - 1].get("next"))
        if is_new and rests_on_its_reading(line):
            ways += numbers_at(line["constraint_value"], (i, "constraint_value"))
        for stated in f"errors {STATED[kind]}".split() if line["certificate"] else ():
            part, names = line["certificate"], stated.split(".")
            for name in names:
                part = part[name]
            ways += numbers_at(part, (i, "certificate", *names))
    drawn = random.Random(SEED).sample(ways, min(60, len(ways)))
    for way in drawn:
        for size in SIZES:
            report = changed(found, way, size, other)
            is_named = report.constants != whole.constants
            assert is_named or not report.is_right, (way, size)

"""What a specification must have right beyond the keys and types of its tables.

Works on the plain data and passes over whatever has another type than it should: that is told by
the tables. So one mistake does not hide another.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from surefoot.constants import Constants
from surefoot.experiments._words import Found, Path, shown, unknown
from surefoot.experiments.registry import (
    ADAPTIVE,
    BLOCK,
    KINDS,
    PROBLEMS,
    Wanted,
    constructor_of,
    options_of,
    parameters_of,
    plain_values,
    tunings_of,
)
from surefoot.problems import HORIZONS
from surefoot.sets import Ball, Simplex
from surefoot.types import needs_of

__all__ = ["mistakes_of"]

LARGEST = 2_000_000_000
"""Numbers in the streams of a cell: 16 GB of them."""


def mistakes_of(data: Any) -> list[Found]:
    """All of them, in the order of the tables."""
    if not isinstance(data, dict):
        return []
    problems = _tables(data.get("problems"))
    rows = _tables(data.get("algorithms"))
    found = [
        *_labels(problems, "problems", {i: _title(p) for i, p in problems.items()}),
        *_labels(rows, "algorithms", {i: _title(r) for i, r in rows.items()}),
        *_recorded(data, rows),
    ]
    titles = [t for p in problems.values() if (t := _title(p)) is not None]
    for i, row in rows.items():
        path: Path = ("algorithms", i)
        horizons = _horizons(row.get("horizons")) or _horizons(data.get("horizons")) or [1]
        # An amount rises or falls with the horizon, so the ends stand for all between them.
        found += _row(row, path, sorted({min(horizons), max(horizons)}))
        found += _constants(row, path)
        found += _only(row, path, titles)
        found += _fewer(row, path, data)
    for i, problem in problems.items():
        found += _fewer(problem, ("problems", i), data)
        found += _played(problem, ("problems", i), rows, data)
    return found


def _tables(value: Any) -> dict[int, dict[str, Any]]:
    """Those of a list that are tables, by their place."""
    listed = value if isinstance(value, list) else []
    return {i: v for i, v in enumerate(listed) if isinstance(v, dict)}


def _title(row: dict[str, Any]) -> str | None:
    label, name, tuning = row.get("label"), row.get("name"), row.get("tuning")
    if isinstance(label, str):
        return label
    if not isinstance(name, str):
        return None
    return f"{name}.{tuning}" if isinstance(tuning, str) else name


def _whole(value: Any) -> bool:
    return type(value) is int and value >= 1


def _horizons(value: Any) -> list[int]:
    return [h for h in value if _whole(h) and h < 1e9] if isinstance(value, list) else []


def _labels(
    rows: dict[int, dict[str, Any]], what: str, titles: dict[int, str | None]
) -> Iterator[Found]:
    often = Counter(t for t in titles.values() if t is not None)
    seen: set[str] = set()
    for i, title in titles.items():
        if title is not None and often[title] > 1:
            if title in seen:
                key: Path = ("label",) if "label" in rows[i] else ()
                words = f"the label {shown(title)} is taken: give each of the {what} its own"
                yield Found((what, i, *key), words)
            seen.add(title)


def _recorded(data: dict[str, Any], rows: dict[int, dict[str, Any]]) -> Iterator[Found]:
    recording = data.get("recording")
    if not isinstance(recording, dict):
        return
    asked = recording.get("horizons")
    known = set(_horizons(data.get("horizons")))
    known |= {h for row in rows.values() for h in _horizons(row.get("horizons"))}
    for i, horizon in enumerate(asked if isinstance(asked, list) else []):
        if _whole(horizon) and horizon not in known:
            yield Found(("recording", "horizons", i), f"nothing is played for {horizon} rounds")
    every, actions = recording.get("every"), recording.get("actions")
    if every is None and _whole(actions):
        yield Found(("recording", "actions"), "keeps nothing without every: set every = 1 or more")


def _only(row: dict[str, Any], path: Path, titles: list[str]) -> Iterator[Found]:
    only = row.get("only")
    for k, title in enumerate(only if isinstance(only, list) else []):
        if isinstance(title, str) and title not in titles:
            yield Found((*path, "only", k), unknown("problem", title, titles))


def _fewer(row: dict[str, Any], path: Path, data: dict[str, Any]) -> Iterator[Found]:
    mine, all_ = row.get("trials"), data.get("trials", 30)
    if _whole(mine) and _whole(all_) and mine > all_:
        yield Found((*path, "trials"), f"must be at most the experiment's {all_}, got {mine}")


def _played(
    problem: dict[str, Any], path: Path, rows: dict[int, dict[str, Any]], data: dict[str, Any]
) -> Iterator[Found]:
    """What a problem does not offer to the rows that play it."""
    title = _title(problem)
    mine = [r for r in rows.values() if not isinstance(r.get("only"), list) or title in r["only"]]
    trials = [_trials(data, problem, r) for r in mine]
    horizons = {h for r in mine for h in _horizons(r.get("horizons", data.get("horizons")))}
    most, longest = max(trials, default=1), max(horizons, default=1)
    adversary = problem.get("adversary")
    if problem.get("name") == "adversarial_cube" and adversary in ADAPTIVE and most > 1:
        words = f"{adversary!r} answers the actions, so all its trials are the same: set trials = 1"
        yield Found((*path, "adversary"), f"{words} beside it")
    if problem.get("published") in (0, 1) and longest > max(HORIZONS):
        words = f"the published streams have {max(HORIZONS)} rounds, and {longest} are played"
        yield Found((*path, "published"), words)
    numbers = longest * min(most, BLOCK) * _dimension(problem)
    if numbers > LARGEST:
        gigabytes = f"{8e-9 * numbers:.0f} GB"
        words = f"{longest} rounds of {min(most, BLOCK)} trials need {gigabytes} of memory"
        yield Found(path, f"{words}; {8e-9 * LARGEST:.0f} are allowed")


def _trials(data: dict[str, Any], *tables: dict[str, Any]) -> int:
    given = [t.get("trials") for t in (data, *tables)]
    return min((int(t) for t in given if t is not None and _whole(t)), default=30)


def _dimension(problem: dict[str, Any]) -> int:
    """How many entries an action has."""
    shape = problem.get("shape")
    if isinstance(shape, list) and all(map(_whole, shape)):
        return math.prod(shape)
    entry = PROBLEMS.get(str(problem.get("name")))
    default = entry.arguments().get("dimension", (2, ""))[0] if entry else 2
    given = problem.get("dimension", default)
    return int(given) if _whole(given) else 1


def _row(row: dict[str, Any], path: Path, horizons: list[int]) -> list[Found]:
    """A row of algorithms, or the base of one."""
    name = row.get("name")
    if not isinstance(name, str):
        return []
    kind = KINDS.get(name)
    if kind is None:
        return [Found((*path, "name"), unknown("algorithm", name, KINDS))]
    tuned, given = row.get("tuning") is not None, row.get("parameters") is not None
    names = ", ".join(parameters_of(kind))
    if tuned and given:
        return [Found((*path, "parameters"), "stand beside a tuning: keep one of the two")]
    if not tuned and not given:
        if any(difflib.get_close_matches(str(k), ("tuning", "parameters")) for k in row):
            return []  # mistyped, which is told as an unknown key
        words = f"needs a tuning ({', '.join(tunings_of(kind))}) or parameters ({names})"
        return [Found(path, words)]
    found: list[Found] = []
    base = row.get("base")
    if isinstance(base, dict):
        found += _row(base, (*path, "base"), horizons)
    if tuned:
        return found + _tuned(kind, row, path, horizons, sound=not found)
    if row.get("options"):
        found.append(Found((*path, "options"), "belong to a tuning, and there is none"))
    has_base = "base" in {f.name for f in fields(kind)}
    if has_base and base is None:
        found.append(Found(path, f"{name} needs a base: an algorithm inside it"))
    if not has_base and base is not None:
        found.append(Found((*path, "base"), f"{name} has no algorithm inside it"))
    parameters = row["parameters"]
    if not isinstance(parameters, dict):
        return found
    here = (*path, "parameters")
    wrong = _values(parameters, parameters_of(kind), here, f"parameter of {name}")
    found += wrong
    return found + ([] if found else _constructed(kind, row, path, horizons))


def _tuned(
    kind: type[Any], row: dict[str, Any], path: Path, horizons: list[int], sound: bool
) -> list[Found]:
    tuning, options, base = row["tuning"], row.get("options", {}), row.get("base")
    if not isinstance(tuning, str):
        return []
    if tuning not in tunings_of(kind):
        words = unknown(f"tuning of {kind.__name__}", tuning, tunings_of(kind))
        return [Found((*path, "tuning"), words)]
    found: list[Found] = []
    if base is not None and not _takes_base(kind, tuning):
        found.append(Found((*path, "base"), f"{kind.__name__}.{tuning} chooses its own"))
    elif isinstance(base, dict) and base.get("tuning") is None and base.get("parameters"):
        words = f"needs a tuning, not parameters: {kind.__name__}.{tuning} rests on its guarantee"
        found.append(Found((*path, "base", "parameters"), words))
    if isinstance(options, dict):
        owner = f"option of {kind.__name__}.{tuning}"
        found += _values(options, options_of(kind, tuning), (*path, "options"), owner)
        if options and sound and not found:
            found += _refused_options(row, path, horizons)
    return found


def _takes_base(kind: type[Any], tuning: str) -> bool:
    return "base" in inspect.signature(getattr(kind, tuning)).parameters


def _values(
    given: dict[str, Any], wanted: dict[str, Wanted], path: Path, owner: str
) -> list[Found]:
    """Unknown names, missing ones, and values of the wrong kind."""
    found = []
    for name, value in given.items():
        if name == "domain":
            found.append(Found((*path, name), "is put in from the problem"))
        elif name == "base":
            found.append(Found((*path, name), "stands beside the parameters, not among them"))
        elif name not in wanted:
            found.append(Found((*path, name), unknown(owner, name, wanted)))
        elif words := _misfit(value, wanted[name].kind):
            found.append(Found((*path, name), f"must be {words}, got {shown(value)}"))
    missing = [n for n, w in wanted.items() if w.default is ... and n not in given]
    if missing:
        words = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        found.append(Found(path, words))
    return found


def _misfit(value: Any, kind: str) -> str:
    """What it should have been; empty if it is that, or if its table tells."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "switch":
        return "" if isinstance(value, bool) else "true or false"
    if kind == "word":
        return "" if isinstance(value, str) else "text in quotes"
    if kind == "whole":
        return "" if number and value == value // 1 and value >= 1 else "a whole number >= 1"
    return "" if number or isinstance(value, dict) else "a number or an amount"


def _constructed(
    kind: type[Any], row: dict[str, Any], path: Path, horizons: list[int]
) -> list[Found]:
    """What a constructor refuses, found by building it on a set that stands for the problem's."""
    for horizon in horizons:
        try:
            _dummy(row, horizon)
        except (ValueError, TypeError, ArithmeticError) as error:
            return [_by(error, row["parameters"], path, "parameters")]
    return []


def _by(error: Exception, given: dict[str, Any], path: Path, table: str) -> Found:
    """A refusal, at the value that it speaks of."""
    first, _, rest = str(error).partition(" ")
    if first in given:
        return Found((*path, table, first), rest)
    if first == "base":
        return Found((*path, "base"), rest)
    return Found((*path, table), str(error))


def _dummy(row: dict[str, Any], horizon: int) -> Any:
    """A row's algorithm on a set that stands for the problem's."""
    kind = KINDS[row["name"]]
    place: Any = Simplex(2) if needs_of(kind).domain == "simplex" else Ball(1.0)
    if row.get("tuning") is not None:
        # Whether a theorem applies is for the problem to say; any algorithm of the kind will do.
        return _some_tuned(row, horizon, place)
    settled: dict[str, Any] = {}
    for f in fields(kind):
        if f.name == "domain":
            settled["domain"] = place
        elif f.name == "base":
            settled["base"] = _dummy(row["base"], horizon)
        elif f.name == "rows":
            settled["rows"] = 2
    return kind(**settled | plain_values(row["parameters"], parameters_of(kind), horizon))


_GENEROUS = (1.0, 1e3)
"""Scales of the made-up constants that options are tried with."""


def _made_up(scale: float) -> Constants:
    return Constants(
        R=scale,
        G_f=3.0,
        G_g=1.0,
        sigma=0.5,
        epsilon=0.25 * scale,
        start_slack=0.5 * scale,
        start_reach=2 * scale,
        F=6.0 * scale,
        D_g=2.0 * scale,
        rows=2,
        strong_convexity=1.0,
    )


def _some_tuned(row: dict[str, Any], horizon: int, place: Any) -> Any:
    long = max(horizon, 10**8)
    return constructor_of(row, horizon)(_made_up(1.0), long, place).algorithm


def _refused_options(row: dict[str, Any], path: Path, horizons: list[int]) -> list[Found]:
    """Options that no constants help: refused in the same words whatever these are."""
    place = Simplex(2) if needs_of(KINDS[row["name"]]).domain == "simplex" else Ball(1.0)
    for horizon in horizons:
        said = []
        for scale in _GENEROUS:
            try:
                constructor_of(row, horizon)(_made_up(scale), horizon, place)
                said.append("")
            except (ValueError, TypeError, ArithmeticError) as error:
                said.append(str(error))
        first = said[0].partition(" ")[0]
        if len(set(said)) == 1 and first in row["options"]:
            return [_by(ValueError(said[0]), row["options"], path, "options")]
    return []


def _constants(row: dict[str, Any], path: Path) -> list[Found]:
    given = row.get("constants")
    if not isinstance(given, dict) or not given:
        return []
    if row.get("parameters") is not None and not _has_tuning(row.get("base")):
        return [Found((*path, "constants"), "are for a theorem, and parameters need none")]
    found = []
    names = Constants.names()
    for name, value in given.items():
        here: Path = (*path, "constants", name)
        if name not in names:
            found.append(Found(here, unknown("constant", name, names)))
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        elif name != "start_slack" and not value > 0 and math.isfinite(value):
            found.append(Found(here, f"must be more than 0, got {shown(value)}"))
    sigma, G_g = given.get("sigma"), given.get("G_g")
    if isinstance(sigma, float) and isinstance(G_g, float) and sigma > G_g:
        words = f"must be at most G_g = {G_g:g}, got {sigma!r}"
        found.append(Found((*path, "constants", "sigma"), words))
    return found


def _has_tuning(base: Any) -> bool:
    if not isinstance(base, dict):
        return False
    return base.get("tuning") is not None or _has_tuning(base.get("base"))

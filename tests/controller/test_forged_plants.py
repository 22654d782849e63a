"""Forged journals of plants: every part of what a file, an amendment or a recovery says."""

import random
import shutil
from dataclasses import replace

import pytest
from tests.controller.plants import C, context_at, drive_hall, hall, pressure_at, pumps

from surefoot import replay
from surefoot.controller import FleetRecord, Plant, PlantFleet, read_journal
from surefoot.controller.check import check
from surefoot.core.errors import SurefootError
from surefoot.problems.plant import PolicyDescription, write_plant

from ._lines import forge, records
from .forging import NUMBERS

OTHERS = (
    *NUMBERS,
    "words",
    "",
    [],
    {},
    [[[[]]]],
    2**70,
    1e308,
    "\ud800",
    "x" * 5000,
    {"value": 1.0, "origin": "proved"},
    {"value": -1.0, "origin": "given"},
    "recovery 1 of 3",
    "recovery 9 of 3",
)
"""What may stand where something else was."""


def play_hall(folder):
    """A hall that recovers, is amended, is halted and goes on."""
    policy = PolicyDescription("recover", 3, "retreat")
    plant = replace(hall(steep=0.05, policy=policy), journal="run.jsonl")
    write_plant(plant, folder / "plant.toml")
    with Plant.open(folder / "plant.toml") as loop:
        loop.announce(context_at(1))
        drive_hall(loop, 30)
        hot, flow = plant.limits
        steeper = {"fan1": C(0.3), "fan2": C(0.2, "estimated")}
        after = replace(plant, limits=(replace(hot, steepness=steeper), flow))
        loop.amend(after, by="E. Moser", reason="a curve")
        drive_hall(loop, 4)
        loop.hold("a look")
        drive_hall(loop, 2)
        loop.resume("it was nothing")
    write_plant(after, folder / "plant.toml")


def play_pumps(folder):
    """A fleet of two pumps that recover."""
    one = replace(pumps(policy=PolicyDescription("recover", 3, "hold")), journal="run.jsonl")
    low = replace(one.limits[0], steepness={"speed": C(0.03, "estimated")})
    text = write_plant(replace(one, limits=(low,))) + "[member.p1]\n[member.p2]\n"
    (folder / "plant.toml").write_text(text)
    with PlantFleet.open(folder / "plant.toml") as fleet:
        for t in range(8):
            if t == 5:
                fleet.hold("a look", ("p1",))
            told = {
                name: {"readings": {"pressure": pressure_at(x["speed"])}, "wanted": {"speed": 25.0}}
                for name, x in fleet.ask().items()
            }
            fleet.tell(told)


def describe(path):
    """Read all that a journal says of its plants."""
    record = read_journal(path)
    each = record.members.values() if isinstance(record, FleetRecord) else [record]
    for member in each:
        if member.plant is not None:
            list(member.plant.describe(member.rounds))
            str(member.plant.events)
    return str(record)


def parts_of(data, path=()):
    """Yield the paths of all parts of data."""
    if path:
        yield path
    if isinstance(data, dict):
        for name, part in data.items():
            yield from parts_of(part, (*path, name))
    elif isinstance(data, list) and len(data) <= 12:
        for i, part in enumerate(data):
            yield from parts_of(part, (*path, i))


def targets_in(lines):
    """Return what is forged: the plants of headers, and all that an amendment says."""
    found = []
    for i, line in enumerate(lines):
        if line["kind"] in ("amend", "orders"):
            each = [path for path in parts_of(line) if "loop" not in path and "digest" not in path]
        else:
            each = [p for p in parts_of(line) if line["kind"] == "journal" and "plant" in p]
        found += [(i, path) for path in each]
    return found


def changes_of(rng, i, path):
    """Return what changes one part in one of the ways that a file can."""

    def change(found):
        *first, last = path
        place = found[i]
        for key in first:
            place = place[key]
        before = place[last]
        is_number = isinstance(before, float | int) and not isinstance(before, bool)
        if rng.random() < 0.2:
            del place[last]
        elif rng.random() < 0.1 and isinstance(place, dict):
            place["surplus"] = rng.choice(OTHERS)
        else:
            near = [before * 2, before / 2, -before, before * (1 + 1e-9)] if is_number else []
            place[last] = rng.choice([*OTHERS, *near * 5])

    return change


def sentences_of(folder, kind):
    """Return what those say who refuse a journal."""
    journal, said = folder / "run.jsonl", []
    for look in (kind.open, describe, replay):
        try:
            found = look(folder / "plant.toml" if look == kind.open else journal)
            if look == kind.open:
                found.close()
        except SurefootError as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize("play", [play_hall, play_pumps])
@pytest.mark.parametrize("count", [25, pytest.param(300, marks=pytest.mark.slow)])
def test_a_forged_plant_is_answered_in_sentences_and_never_with_more_than_it_says(
    play, count, tmp_path
):
    base, forged = tmp_path / "base", tmp_path / "forged"
    base.mkdir()
    play(base)
    whole = check(str(base / "run.jsonl"))
    assert whole.is_right
    assert whole.said[0].startswith("certified given the constants of each piece")
    targets, rng = targets_in(records(base / "run.jsonl")), random.Random(7)
    assert len(targets) > 100
    kind, blamed = (Plant if play is play_hall else PlantFleet), 0
    for _ in range(count):
        i, path = rng.choice(targets)
        shutil.copytree(base, forged)
        forge(forged / "run.jsonl", changes_of(rng, i, path))
        said = sentences_of(forged, kind)
        report = check(str(forged / "run.jsonl"))  # which no file makes raise
        said += report.said
        assert all(len(words.splitlines()) == 1 and len(words) < 1000 for words in said), path
        blamed += not report.is_right
        shutil.rmtree(forged)
    assert blamed > count / 3  # what is left out, or certifies less, may be right

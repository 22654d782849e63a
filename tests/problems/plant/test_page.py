"""The plant files of docs/plant.md: every one is read, written, and played by its own truth."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from surefoot.controller import Plant
from surefoot.problems.plant import (
    grammar,
    limit_keys,
    parse_plant,
    service_keys,
    write_plant,
)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "plant.md").read_text(encoding="utf-8")
FILES = {
    text.split("\n", 1)[0].removeprefix("# "): text
    for text in re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
}


def test_the_page_has_four_files():
    assert list(FILES) == ["booster.toml", "hall3.toml", "park.toml", "pumps.toml"]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_file_of_the_page_reads_back_as_it_is_written(text):
    plant = parse_plant(text)
    assert parse_plant(write_plant(plant)) == plant


def pressure(points, context):
    """Bar: concave, as steep as 0.09 at 25 Hz, and half a bar of margin at 45 Hz."""
    below = 50.0 - points["speed"]
    return {"pressure": 3.4 - 0.06 * below - 0.0006 * below**2}


def heat(points, context):
    """Degrees at the rack: convex, with the steepness and the rise of the file at most."""
    fan, chiller = (100.0 - points[name] for name in ("fan1", "chiller"))
    weather = 0.24 * (context["outside"] - 40.0) + 16.1 * (context["it_load"] - 1.3)
    return {"hot_spot": 24.0 + 0.0002 * fan**2 * 0.7 + 0.06 * chiller * 0.9 + weather}


def current(points, context):
    """Amperes of the feeder."""
    return {"feeder": context["base_load"] + points["west"] + points["east"]}


def play(plant, truth, contexts=None, rounds=120):
    """Play a plant by its truth; the set points of every round, as they were in violation never."""
    rng, played = np.random.default_rng(2), []
    loop = Plant.of(plant)
    limit = plant.limits[0]
    if contexts is not None:
        loop.announce(contexts(0))
    for t in range(rounds):
        points = loop.ask()
        for actuator in plant.actuators:
            point = points[actuator.name]
            is_off = actuator.can_be_off and point == 0
            assert is_off or actuator.low <= point <= actuator.high
            assert actuator.step is None or point % actuator.step == 0
        now = None if contexts is None else contexts(t)
        value = truth(points, now)[limit.name]
        assert value <= limit.bound if limit.sense == "at_most" else value >= limit.bound
        error = limit.meter_error.value
        report = {"readings": {limit.name: value + rng.uniform(-error, error)}}
        if plant.role == "filter":
            report["wanted"] = {each.name: each.low for each in plant.actuators}
        else:
            report["cost_slopes"] = {each.name: -1.0 for each in plant.actuators}
        if contexts is not None:
            report["context"] = contexts(t + 1)
        loop.tell(**report)
        played.append(list(points.values()))
    assert loop.halted is None
    return np.array(played)


def weather(t):
    return {"outside": 15 + 10 * np.sin(t / 15), "it_load": 0.8 + 0.2 * np.sin(t / 15)}


def load(t):
    return {"base_load": 200.0 + 100.0 * np.sin(t / 20)}


def test_the_pumps_are_played():
    for name in ("booster.toml", "pumps.toml"):
        plant = parse_plant(FILES[name])
        for each in plant.members.values() or [plant]:
            assert play(each, pressure).min() < 37.0


def test_the_hall_is_played_on_its_steps_through_weather():
    points = play(parse_plant(FILES["hall3.toml"]), heat, weather)
    assert points.min(axis=0) == pytest.approx([30.0, 30.0], abs=25.0)
    assert points[0].tolist() == [100.0, 100.0]


def test_the_chargers_are_switched_on_and_off():
    points = play(parse_plant(FILES["park.toml"]), current, load)
    assert points.max() > 6.0
    assert (points[0] == 0).all()


def test_the_table_of_keys_has_every_key_and_no_other():
    keys, table = {}, ""
    for where, names in re.findall(r"^\| ([^|]*)\| (`[^|]*)\|", PAGE.split("## All keys")[1], re.M):
        table = re.sub(r"\W|N", "", where) or table
        keys.setdefault(table, set()).update(re.findall(r"`(\w+)`", names))
    assert keys["top"] | set(keys) - {"top"} == set(grammar._TOP)
    assert keys["actuator"] == {"unit", "range", "start", "ramp", "step", "off", "node"}
    assert keys["context"] == {"unit", "range", "changes", "node"}
    assert keys["limit"] == set(limit_keys._LIMIT)
    assert keys["policy"] == {"on_contradiction", "recoveries", "on_missing"}
    assert keys["service"] == set(service_keys._KEYS)


def test_every_file_of_the_page_is_toml():
    for text in FILES.values():
        assert tomllib.loads(text)["surefoot"] == 1

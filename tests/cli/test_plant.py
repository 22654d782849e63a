"""``surefoot plant``: a plant file in words, or its mistakes."""

import json

import pytest
from tests.problems.plant._plants import FLEET, HALL, PUMP


@pytest.fixture
def write(desk):
    def put(text):
        (desk.folder / "plant.toml").write_text(text, encoding="utf-8")
        return desk

    return put


def test_a_right_file_is_said_in_words(write):
    code, out, err = write(HALL).do("plant plant.toml")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "hall 3: 2 actuators, 2 contexts, 1 limit; rounds of 15 min"
    assert lines[2].startswith("  chiller  first step at most 25.9 % (37 % of its range)")
    assert len(lines) == 7


def test_all_mistakes_are_shown_with_their_lines_and_exit_code_2(write):
    desk = write(PUMP.replace("start = 50", "start = 60").replace("steepness", "stepness"))
    code, out, err = desk.do("plant plant.toml")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "plant.toml:8: actuator.speed.start must be in its range 25 to 50 Hz, got 60",
        "plant.toml:14: limit.pressure has stepness: did you mean steepness?",
    ]
    assert desk.do("plant plant.toml --json")[:2] == (2, "")


def test_no_file_is_one_sentence(desk):
    code, out, err = desk.do("plant plant.toml")
    assert (code, out) == (2, "")
    assert err == "plant.toml: cannot be read: no such file or directory\n"


def test_programs_read_the_same(write):
    data = write(PUMP.replace("0.12", "12")).do("plant plant.toml --json").data
    assert data["name"] == "booster station"
    assert data["needs_confirmation"] is True
    (step,) = data["first_steps"]
    assert step["actuator"] == "speed"
    assert step["first_step"] == pytest.approx(0.5 / 12)
    assert (step["is_slow"], step["is_too_flat"], step["ramp"]) == (True, False, None)
    assert data["plant"]["limit"][0]["steepness"]["speed"]["value"] == 12.0
    assert data["lines"][1].endswith("slow: is the steepness in bar per Hz?")


def test_a_fleet_has_the_steps_of_each_member(write):
    out = write(FLEET).do("plant plant.toml --json").out
    data = json.loads(out)
    assert list(data["first_steps"]) == ["p1", "p2"]
    assert data["first_steps"]["p2"][0]["first_step"] == pytest.approx(0.5 / 0.09)

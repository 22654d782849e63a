"""What a plant's numbers mean, worked by hand; and a steepness that is 100 times off is named."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.problems.plant._plants import FLEET, HALL, PARK, PUMP, plants

from surefoot.problems.plant import (
    find_first_steps,
    needs_confirmation,
    parse_plant,
    plausibility,
)


def lines_of(text, *changes):
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return plausibility(parse_plant(text))


def test_the_hall_is_said_in_words_as_by_hand():
    # s = 2, L/s = .0114 and .0325, a = 2^-6 and 2^-4, G = .8959, m = 1.45
    assert lines_of(HALL) == [
        "hall 3: 2 actuators, 2 contexts, 1 limit; rounds of 15 min",
        "  fan1     first step at most 104 % (148 % of its range: the margin covers it); its ramp "
        "allows 75 % a round",
        "  chiller  first step at most 25.9 % (37 % of its range); crossing it takes 3 rounds "
        "(0.8 h) at that pace",
        "  meter    0.2 degC is 7 % of the start's margin",
        "  contexts outside: its whole range costs 14.4 degC, 5.0 x the start's margin; it_load: "
        "14.5 degC, 5.0 x",
        "  rests on 6 numbers, of which 1 is an estimate: steepness.fan1",
        "  if they are too small: back to the start, then on with larger ones, at most 3 times "
        "(Theorem Recovery)",
    ]
    fan, chiller = find_first_steps(parse_plant(HALL))
    G = math.hypot(0.0114 * 2**6, 0.0325 * 2**4)
    assert fan.length == pytest.approx(1.45 / G * 2**6, rel=1e-12)
    assert chiller.length == pytest.approx(1.45 / G * 2**4, rel=1e-12)
    assert (fan.ramp, chiller.ramp) == (75.0, None)
    assert not needs_confirmation(parse_plant(HALL))


def test_pumps_and_chargers_are_said_in_words():
    assert lines_of(PUMP) == [
        "booster station: 1 actuator, 1 limit; rounds of 1 min",
        "  speed    first step at most 4.17 Hz (17 % of its range); crossing it takes 6 rounds "
        "(6 min) at that pace",
        "  meter    0.02 bar is 4 % of the start's margin",
        "  rests on 4 numbers, of which none is an estimate",
    ]
    assert lines_of(PARK)[2:] == [
        "  east     first step at most 56.6 A (218 % of its range: the margin covers it)",
        "  meter    2 A is 2.5 % of the start's margin",
        "  contexts base_load: its whole range costs 320.0 A, 4.0 x the start's margin",
        "  rests on 5 numbers, of which none is an estimate",
    ]


def test_members_are_said_where_they_differ():
    assert lines_of(FLEET)[4:] == [
        "  p1: as above",
        "  p2:",
        "    speed    first step at most 5.56 Hz (22 % of its range); crossing it takes 5 rounds "
        "(5 min) at that pace",
        "    rests on 4 numbers, of which 1 is an estimate: steepness.speed",
    ]
    assert "2 members" in lines_of(FLEET)[0]


def test_a_slow_ramp_is_the_pace():
    (_, speed, *_) = lines_of(PUMP, ("start = 50", "start = 50\nramp = 0.5"))
    assert speed == (
        "  speed    first step at most 4.17 Hz (17 % of its range); crossing it takes 50 rounds "
        "(0.8 h) at that pace; its ramp allows 0.5 Hz a round"
    )


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ([("0.0228", "2.28"), ("0.065", "6.5")], "slow: is the steepness in degC per %?"),
        (
            [("0.0228", "0.000228"), ("0.065", "0.00065")],
            "too flat: one step may cross the range ten times: is the steepness too small?",
        ),
        ([("0.0228", "2.28")], "slow: is the steepness in degC per %?"),
    ],
)
def test_a_steepness_100_times_off_is_named(changes, mark):
    lines = lines_of(HALL, *changes)
    assert any(line.endswith(mark) for line in lines)
    text = HALL
    for before, after in changes:
        text = text.replace(before, after)
    assert needs_confirmation(parse_plant(text))


@settings(max_examples=50)
@given(plants(members=0))
def test_an_error_of_100_is_named_if_the_right_first_step_is_from_a_tenth_to_twice_the_range(plant):
    def times(limit, by):
        steep = {n: replace(c, value=c.value * by) for n, c in limit.steepness.items()}
        return replace(limit, steepness=steep)

    def scaled(by):
        return replace(plant, limits=tuple(times(limit, by) for limit in plant.limits))

    shares = [step.share for step in find_first_steps(plant) if math.isfinite(step.share)]
    if any(0.1 <= share <= 2.0 for share in shares):
        assert needs_confirmation(scaled(100.1))
        assert needs_confirmation(scaled(1 / 100.1))


def test_a_meter_that_takes_a_quarter_of_the_margin_is_noisy():
    assert lines_of(PUMP, ("meter_error = 0.02", "meter_error = 0.125"))[2] == (
        "  meter    0.125 bar is 25 % of the start's margin"
    )
    assert lines_of(PUMP, ("meter_error = 0.02", "meter_error = 0.13"))[2] == (
        "  meter    0.13 bar is 26 % of the start's margin, noisy: is a better meter or a safer "
        "start at hand?"
    )


def test_several_limits_are_named():
    flow = """\
[limit.flow]
unit = "l/s"
at_most = 9
meter_error = 0.01
start_margin = 0.4
steepness = { speed = { value = 0.3, origin = "estimated" } }
"""
    lines = plausibility(parse_plant(PUMP + flow))
    assert lines[1].startswith("  speed    first step at most 1.33 Hz (5 % of its range)")
    assert lines[2:] == [
        "  meter    pressure: 0.02 bar is 4 % of the start's margin; flow: 0.01 l/s is 2.5 % of "
        "the start's margin",
        "  rests on 7 numbers, of which 1 is an estimate: flow.steepness.speed",
    ]


def test_what_has_no_steepness_is_said_so():
    still = PUMP.replace("changes = 0.001\n", "")
    curved = ("steepness = { speed = 0.12 }", "curvature = { speed = 0.01 }")
    unknown = ("steepness = { speed = 0.12 }", "unknown = { violations = 2 }")
    slopes = ("surefoot = 1", "surefoot = 1\nslopes = true")
    assert lines_of(still, curved, slopes)[1] == (
        "  speed    first step as long as the first slope allows"
    )
    assert lines_of(still, unknown)[1] == (
        "  speed    first step short, then longer: no constant is known"
    )
    assert lines_of(PUMP, ("0.12", "0"))[1] == "  speed    moves no limit"
    for text in (still.replace(*curved).replace(*slopes), still.replace(*unknown)):
        assert not needs_confirmation(parse_plant(text))


def test_of_many_estimates_eight_are_named():
    names = [f"fan{i}" for i in range(12)]
    tables = "".join(f"[actuator.{n}]\nunit = '%'\nrange = [0, 1]\nstart = 0\n" for n in names)
    constants = ", ".join(f"{n} = {{ value = 1, origin = 'estimated' }}" for n in names)
    text = f"{PUMP}{tables}".replace("speed = 0.12 }", f"speed = 0.12, {constants} }}")
    last = plausibility(parse_plant(text))[-1]
    assert last.startswith("  rests on 16 numbers, of which 12 are estimates: steepness.fan0, ")
    assert last.endswith("steepness.fan7 and 4 more")


def two_limits(flow=1.0, draw=1.0):
    """Return a pump with two limits, each steepness times a factor."""
    return parse_plant(
        PUMP.replace("changes = 0.001", "")
        + f"""
[limit.flow]
unit = "m3/h"
at_least = 10
meter_error = 0.1
start_margin = 2
steepness = {{ speed = {0.4 * flow!r} }}

[limit.draw]
unit = "kW"
at_most = 30
meter_error = 0.1
start_margin = 5
steepness = {{ speed = {0.3 * draw!r} }}
"""
    )


@pytest.mark.parametrize("limit", ["flow", "draw"])
def test_one_of_several_limits_that_is_a_hundred_times_off_is_named(limit):
    right = two_limits()
    assert not needs_confirmation(right)
    assert "too flat" not in "\n".join(plausibility(right))
    for factor in (100.0, 0.01):
        plant = two_limits(**{limit: factor})
        assert needs_confirmation(plant)
        marked = [line for line in plausibility(plant) if "slow" in line or "too flat" in line]
        assert len(marked) == 1
        if factor < 1:
            # 25 Hz times 0.004 m3/h per Hz of 2 m3/h, and 0.003 kW per Hz of 5 kW.
            share, unit = {"flow": ("5 %", "m3/h"), "draw": ("1.5 %", "kW")}[limit]
            assert marked[0].startswith(f"  too flat {limit}: no actuator that crosses its range")
            assert f"uses more than {share} of its" in marked[0]
            assert marked[0].endswith(f"is its steepness in {unit} per Hz?")
    assert not needs_confirmation(two_limits(**{limit: 0.0}))  # a limit that it does not move

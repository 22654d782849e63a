"""What a contradiction of a plant says: names and units, and the constant to doubt first."""

import json
from dataclasses import replace

import pytest
from tests.controller.plants import (
    C,
    context_at,
    drive_hall,
    hall,
    hall_at,
    pressure_at,
    pumps,
)

from surefoot.controller import Plant, PremiseError, read_journal
from surefoot.problems.plant import PolicyDescription


def pump(steepness, policy="retreat", **changes):
    """Return the pumps with a steepness of their own."""
    limit = replace(pumps().limits[0], steepness={"speed": steepness}, **changes)
    return replace(pumps(policy=PolicyDescription(policy)), limits=(limit,))


def one_hall(**rises):
    """Return the hall with its temperature alone, and rises of its own."""
    plant = hall()
    limit = replace(plant.limits[0], **rises)
    return replace(plant, limits=(limit,), policy=PolicyDescription("retreat", 3, "retreat"))


def play(plant, rounds, value=pressure_at):
    """Report rounds of the pumps; return what follows from them."""
    for _ in range(rounds):
        speed = plant.ask()["speed"]
        plant.tell(readings={"pressure": value(speed)}, wanted={"speed": 25.0})


def play_hall(plant, rounds, first=1):
    for t in range(first, first + rounds):
        points = plant.ask()
        hot = hall_at(points, context_at(t))["hot_spot"]
        plant.tell(
            readings={"hot_spot": hot},
            wanted={"fan1": 30.0, "fan2": 30.0},
            context=context_at(t + 1),
        )


def causes_in(path):
    """Return the sentence and the causes of the first contradiction of a journal."""
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        if "causes" in record.get("why", {}):
            return record["breaches"][0]["sentence"], record["why"]["causes"]
    return None


def test_the_constant_of_the_certificate_is_named_with_its_unit_and_its_term(tmp_path):
    path = tmp_path / "pump.jsonl"
    with Plant.of(pump(C(0.05)), journal=path) as plant:
        play(plant, 3)
    sentence, causes = causes_in(path)
    assert sentence == (
        "round 2: pressure = 1.94 bar was read, and at least 2.5 bar was certified: "
        "more than its meter_error of 0.02 bar explains"
    )
    # The certificate took all of 0.6 bar less the meter's error.
    assert causes[0] == (
        "pressure: steepness.speed 0.05 bar per Hz is too small (its term was 0.58 of 0.58 bar)"
    )
    assert causes[1:4] == [
        "the meter of pressure errs by more than 0.02 bar",
        "the plant had not settled when it was read",
        "pressure is not concave in the set points",
    ]
    assert causes[-1] == "pressure has changed by itself (changes is 0)"


def test_the_largest_term_is_first_and_sums_are_those_of_the_certificate(tmp_path):
    path = tmp_path / "hall.jsonl"
    small = {name: C(0.01, "estimated") for name in ("fan1", "fan2")}
    with Plant.of(one_hall(steepness=small), journal=path) as plant:
        plant.announce(context_at(1))
        play_hall(plant, 3)
    sentence, causes = causes_in(path)
    assert sentence.startswith("round 2: hot_spot = ")
    terms = [cause.partition("its term was ")[2] for cause in causes if "its term was" in cause]
    sizes = [float(term.split()[0]) for term in terms]
    assert sizes == sorted(sizes, reverse=True)
    (whole,) = {float(term.split()[2]) for term in terms}
    assert sum(sizes) == pytest.approx(whole, rel=0.02)
    assert "steepness.fan" in causes[0]
    assert "a reported context is wrong" in causes


def test_of_several_limits_the_one_that_was_contradicted_is_explained(tmp_path):
    path = tmp_path / "hall.jsonl"
    plant = hall()
    small = {name: C(0.01, "estimated") for name in ("fan1", "fan2")}
    hot = replace(plant.limits[0], steepness=small)
    with Plant.of(replace(plant, limits=(hot, plant.limits[1])), journal=path) as live:
        live.announce(context_at(1))
        drive_hall(live, 3, noise=0.0)
    sentence, causes = causes_in(path)
    assert sentence.startswith("round 2: hot_spot = ")
    assert "steepness.fan" in causes[0]
    assert "its term was" in causes[0]
    assert not any("flow" in cause for cause in causes)


def test_a_constant_that_is_proved_is_not_doubted(tmp_path):
    path = tmp_path / "hall.jsonl"
    small = {"fan1": C(0.01, "proved"), "fan2": C(0.01, "estimated")}
    with Plant.of(one_hall(steepness=small), journal=path) as plant:
        plant.announce(context_at(1))
        play_hall(plant, 3)
    _, causes = causes_in(path)
    assert not any("fan1" in cause for cause in causes)
    assert "fan2" in causes[0]


def test_a_margin_that_a_reading_at_the_start_refutes_is_named_first(tmp_path):
    path = tmp_path / "pump.jsonl"
    with Plant.of(pump(C(0.12)), journal=path) as plant:
        play(plant, 1, lambda speed: 2.8)
    sentence, causes = causes_in(path)
    assert sentence == (
        "round 1: pressure = 2.8 bar was read at the start, where it is at least 3 bar by its "
        "start_margin: more than its meter_error of 0.02 bar explains"
    )
    assert causes[0] == "pressure: start_margin 0.5 bar is too large"
    assert plant.halted == sentence.partition(": ")[2]


def test_an_error_that_is_raised_has_the_same_words():
    plant = Plant.of(pump(C(0.05), "raise"))
    play(plant, 1)
    plant.ask()
    with pytest.raises(PremiseError) as error:
        plant.tell(readings={"pressure": 1.9}, wanted={"speed": 25.0})
    assert "pressure = 1.9 bar was read" in str(error.value)
    assert "(1) pressure: steepness.speed 0.05 bar per Hz is too small" in str(error.value)
    assert error.value.causes[0].startswith("pressure: steepness.speed")


def test_the_constants_after_a_recovery_are_those_in_use(tmp_path):
    path = tmp_path / "pump.jsonl"
    plant = Plant.of(pump(C(0.01, "estimated"), "recover"), journal=path)
    with plant:
        play(plant, 2)
        assert plant.factor > 1.0
        factor = plant.factor
        play(plant, 2, lambda speed: 3.1 if speed == 50.0 else 1.0)
    sentences = [e.sentence for e in read_journal(path).plant.events if e.kind == "contradiction"]
    assert f"steepness.speed {0.01 * factor:.6g} bar per Hz is too small" in sentences[1]


def test_other_set_points_are_named():
    alarms = []
    plant = Plant.of(pumps(), on_alarm=alarms.append)
    play(plant, 1)
    plant.ask()
    plant.tell(readings={"pressure": 3.0}, wanted={"speed": 25.0}, played={"speed": 49.0})
    assert "speed was 49 Hz instead of 45.1667" in alarms[0].sentence


def test_a_halted_plant_in_violation_is_heard_in_its_round_and_then_every_tenth():
    alarms = []
    plant = Plant.of(pump(C(0.05)), on_alarm=alarms.append)
    play(plant, 2)
    assert plant.halted is not None
    play(plant, 40, lambda speed: 2.2)  # also at the start
    outside = [alarm for alarm in alarms if alarm.kind == "violation"]
    assert [alarm.round for alarm in outside] == [2, 12, 22, 32, 42]
    assert outside[1].sentence == (
        "round 12: halted since round 2, and pressure = 2.2 bar, beyond its limit of 2.5"
    )

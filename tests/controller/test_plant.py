"""A plant in a live loop: names and units in, names and units out."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.controller._lines import forge
from tests.controller.plants import C, context_at, drive_hall, hall, hall_at, pressure_at, pumps

from surefoot import replay
from surefoot.controller import (
    Controller,
    Plant,
    PlantChangedError,
    PlantFleet,
    PremiseError,
    read_journal,
)
from surefoot.core.errors import InvalidValueError, StoreError
from surefoot.core.plain import decode
from surefoot.problems.plant import PolicyDescription

RECOVER = PolicyDescription("recover", 5, "retreat")
WANTED = {"fan1": 30.0, "fan2": 30.0}


def drive_pumps(plant, rounds):
    """Play pumps that somebody wants at their least speed; return the least pressure."""
    least = math.inf
    for _ in range(rounds):
        speed = plant.ask()["speed"]
        least = min(least, pressure_at(speed))
        plant.tell(readings={"pressure": pressure_at(speed)}, wanted={"speed": 25.0})
    return least


# --- what is played ------------------------------------------------------------------------------


def test_the_first_step_is_the_margin_over_the_steepness():
    plant = Plant.of(pumps())
    assert plant.ask() == {"speed": 50.0}
    plant.tell(readings={"pressure": 3.1}, wanted={"speed": 25.0})
    # 0.6 bar above the limit, less the meter's 0.02, at 0.12 bar per Hz.
    assert plant.ask()["speed"] == pytest.approx(50.0 - 0.58 / 0.12, abs=1e-6)
    assert plant.bounds()["pressure"] == pytest.approx(2.5, abs=1e-9)


def test_a_limit_from_below_is_kept_and_nearly_reached():
    assert 2.5 <= drive_pumps(Plant.of(pumps()), 60) <= 2.53


@pytest.mark.parametrize("role", ["filter", "learner"])
@pytest.mark.parametrize("ramp", [None, 3.0])
def test_a_hall_keeps_both_limits_in_every_context(role, ramp, tmp_path):
    path = tmp_path / "hall.jsonl"
    with Plant.of(hall(role=role, ramp=ramp), journal=path) as plant:
        worst, points = drive_hall(plant, 150)
    assert max(worst.values()) <= 0.0
    assert points["fan1"] < 90.0
    assert replay(path).is_same


def test_slopes_are_those_of_the_units():
    limit = replace(pumps().limits[0])
    plant = Plant.of(replace(pumps(), role="learner", has_slopes=True, limits=(limit,)))
    plant.ask()
    with pytest.raises(InvalidValueError, match="slopes must be given, because the plant file"):
        plant.tell(readings={"pressure": 3.1}, cost_slopes={"speed": 1.0})
    plant.tell(
        readings={"pressure": 3.1}, cost_slopes={"speed": 1.0}, slopes={"pressure": {"speed": 0.1}}
    )
    loop = plant.controller.loop
    assert loop.info is not None
    assert plant.ask()["speed"] < 50.0


def test_what_was_really_used_counts():
    plant = Plant.of(pumps())
    plant.ask()
    plant.tell(readings={"pressure": 3.1}, wanted={"speed": 25.0})
    asked = plant.ask()["speed"]
    plant.tell(
        readings={"pressure": pressure_at(48.0)}, wanted={"speed": 25.0}, played={"speed": 48.0}
    )
    assert plant.ask()["speed"] != asked
    assert plant.explain().is_proven


# --- what is not there ---------------------------------------------------------------------------


@pytest.mark.parametrize("readings", [None, {}, {"pressure": None}, {"pressure": math.nan}])
def test_a_limit_without_a_reading_is_a_missing_round(readings):
    alarms = []
    plant = Plant.of(pumps(), on_alarm=alarms.append)
    drive_pumps(plant, 3)
    before = plant.ask()
    plant.tell(readings=readings, wanted={"speed": 25.0})
    assert plant.ask() == before
    assert plant.explain().is_proven
    assert {alarm.kind for alarm in alarms} == {"missing"}


def test_what_one_meter_showed_is_kept_where_the_other_is_silent(tmp_path):
    events = []
    with Plant.of(hall(), journal=tmp_path / "hall.jsonl", on_round=events.append) as plant:
        drive_hall(plant, 3, report=lambda t, _: {"readings": {"flow": 7.5}} if t == 2 else None)
    assert math.isnan(events[1].readings["hot_spot"])
    assert events[1].readings["flow"] == 7.5
    lines = map(json.loads, (tmp_path / "hall.jsonl").read_text().splitlines())
    rounds = [line for line in lines if line["kind"] == "round"]
    np.testing.assert_array_equal(decode(rounds[1]["readings"]), [np.nan, 7.5])


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (None, None),
        ({"outside": 20.0}, "load is unknown"),
        ({"outside": math.nan, "load": 0.9}, "outside is unknown"),
        ({"outside": 41.2, "load": 0.9}, "outside is 41.2 degC, beyond its range -20 to 40"),
    ],
)
def test_without_a_context_the_start_is_used_and_proved(context, words):
    alarms = []
    plant = Plant.of(hall(), on_alarm=alarms.append)
    plant.announce(context_at(1))
    drive_hall(plant, 8)
    values = hall_at(plant.ask(), context_at(9))
    plant.tell(readings=values, wanted={"fan1": 30.0, "fan2": 30.0}, context=context)
    assert plant.ask() == {"fan1": 100.0, "fan2": 100.0}
    assert plant.explain().is_proven
    assert any(alarm.kind == "context" for alarm in alarms)
    assert words is None or any(words in alarm.sentence for alarm in alarms)
    assert plant.round == 10
    worst, points = drive_hall(plant, 20)
    assert max(worst.values()) <= 0.0
    assert points["fan1"] < 100.0


def test_a_start_that_is_not_safe_moves_nothing():
    alarms = []
    plant = Plant.of(pumps(), on_alarm=alarms.append)
    for _ in range(12):
        assert plant.ask() == {"speed": 50.0}
        plant.tell(readings={"pressure": 2.51}, wanted={"speed": 25.0})
    sentences = [alarm.sentence for alarm in alarms if alarm.kind == "contradiction"]
    assert len(sentences) == 2
    assert "pressure = 2.51 bar at the start does not show that it is at least 2.5" in sentences[0]
    plant.ask()
    plant.tell(readings={"pressure": 3.1}, wanted={"speed": 25.0})
    assert plant.ask()["speed"] < 50.0


# --- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"readings": {"presure": 3.0}}, "got 'presure'; did you mean 'pressure'"),
        ({"readings": 3.0}, "readings must be a table by name such as {'pressure': ...}"),
        ({"readings": {"pressure": "3.0 bar"}}, "readings.pressure must be"),
        ({"readings": {"pressure": math.inf}}, "readings.pressure must be a finite number"),
        ({"readings": {"pressure": 1e9}}, "within 1024 times 3 bar of its limit"),
        ({"wanted": {}}, "wanted must have speed"),
        ({"wanted": {"speed": math.nan}}, "wanted.speed must be a finite number"),
        ({"wanted": None}, "wanted must be a table by name"),
        ({"cost_slopes": {"speed": 1.0}}, "cost_slopes must be left out for a filter"),
        ({"played": {"sped": 48.0}}, "played must have names of the plant file, got 'sped'"),
        ({"context": {"outside": 20.0}}, "context must be left out: pumps has none"),
        ({"missing": 1}, "missing must be True or False"),
    ],
)
def test_a_bad_report_is_one_sentence_and_changes_nothing(told, words):
    plant = Plant.of(pumps())
    drive_pumps(plant, 2)
    before = plant.ask()
    usual = {"readings": {"pressure": 3.0}, "wanted": {"speed": 25.0}}
    with pytest.raises(InvalidValueError) as error:
        plant.tell(**usual | told)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert plant.round == 3
    assert plant.ask() == before
    plant.tell(readings={"pressure": pressure_at(before["speed"])}, wanted={"speed": 25.0})


def test_a_policy_may_raise():
    plant = Plant.of(replace(pumps(), policy=PolicyDescription("raise")))
    drive_pumps(plant, 2)
    plant.ask()
    with pytest.raises(PremiseError):
        plant.tell(readings={"pressure": 1.0}, wanted={"speed": 25.0})


# --- what listens --------------------------------------------------------------------------------


def test_every_round_is_an_event_in_units():
    events = []
    plant = Plant.of(hall(), on_round=events.append)
    plant.announce(context_at(1))
    drive_hall(plant, 5, noise=0.0)
    assert [event.round for event in events] == [1, 2, 3, 4, 5]
    last = events[-1]
    assert last.set_points.keys() == {"fan1", "fan2"}
    assert last.readings == hall_at(last.set_points, context_at(5))
    assert last.context == pytest.approx(context_at(5))
    assert last.is_proven
    assert last.g <= last.bound <= 0.0


def test_a_listener_that_fails_stops_nothing(caplog):
    def fail(event):
        raise RuntimeError("no disk")

    plant = Plant.of(pumps(), on_round=fail)
    drive_pumps(plant, 2)
    assert plant.round == 3
    assert "on_round failed in round 2" in caplog.text


# --- orders --------------------------------------------------------------------------------------


def test_an_operator_holds_retreats_and_resumes():
    plant = Plant.of(pumps())
    drive_pumps(plant, 5)
    at = plant.ask()
    plant.hold("inspection")
    plant.ask()
    plant.tell(readings={"pressure": pressure_at(at["speed"])}, wanted={"speed": 25.0})
    assert plant.ask() == at
    plant.retreat("inspection")
    assert plant.ask() == {"speed": 50.0}
    assert plant.halted == "inspection"
    plant.resume("over")
    assert drive_pumps(plant, 20) >= 2.5
    assert plant.ask()["speed"] < 46.0


def test_an_amendment_begins_anew_at_the_start(tmp_path):
    path = tmp_path / "pumps.jsonl"
    with Plant.of(pumps(), journal=path) as plant:
        drive_pumps(plant, 5)
        limit = replace(plant.description.limits[0], steepness={"speed": C(0.2)})
        after = replace(plant.description, limits=(limit,))
        plant.amend(after, by="operations", reason="a new impeller")
        assert plant.ask() == {"speed": 50.0}
        assert plant.explain().is_proven
        plant.tell(readings={"pressure": 3.1}, wanted={"speed": 25.0})
        assert plant.ask()["speed"] == pytest.approx(50.0 - 0.58 / 0.2, abs=1e-6)
        assert plant.description == after
    assert replay(path).is_same


def test_what_an_amendment_cannot_change():
    plant = Plant.of(pumps())
    same = plant.description
    with pytest.raises(InvalidValueError, match="amend must change the plant"):
        plant.amend(same, by="me", reason="none")
    speed = replace(same.actuators[0], name="rpm")
    other = replace(same, actuators=(speed,))
    with pytest.raises(InvalidValueError, match="amend must keep the actuators, speed"):
        plant.amend(other, by="me", reason="none")
    moved = replace(same, actuators=(replace(same.actuators[0], start=45.0),))
    with pytest.raises(InvalidValueError, match="start_margin must be stated again"):
        plant.amend(moved, by="me", reason="less power")
    margin = C(0.3, why="measured at 45 Hz")
    told_again = replace(moved, limits=(replace(same.limits[0], start_margin=margin),))
    plant.amend(told_again, by="me", reason="less power")
    assert plant.ask() == {"speed": 45.0}


def only_temperature(t, points):
    """Return the report of a hall that has one limit."""
    return {"readings": {"hot_spot": hall_at(points, context_at(t))["hot_spot"]}}


# --- recoveries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [2.0, 4.0, 16.0])
@pytest.mark.parametrize("ramp", [None, 4.0])
def test_constants_that_are_too_small_grow_and_the_plant_goes_on(short, ramp, tmp_path):
    path = tmp_path / "hall.jsonl"
    alarms = []
    described = hall(policy=RECOVER, steep=1.0 / short, ramp=ramp)
    described = replace(described, limits=described.limits[:1])
    with Plant.of(described, journal=path, on_alarm=alarms.append) as plant:
        plant.announce(context_at(1))
        events = []
        plant._on_round = events.append
        drive_hall(plant, 200, noise=0.1, report=only_temperature)
        outside = sum(e.readings["hot_spot"] > 27.0 + 0.4 for e in events)
        used = 5 - plant.recoveries_left
        assert outside <= used + (0 if ramp is None else used * 10)
        assert 1 <= used <= math.ceil(math.log2(short))  # Theorem Recovery (a)
        assert plant.halted is None
        assert plant.ask()["fan1"] < 100.0
        left = plant.recoveries_left
    assert replay(path).is_same
    assert left + used == 5


def test_a_wrong_margin_of_the_start_is_no_reason_to_recover():
    plant = Plant.of(hall(policy=RECOVER))
    plant.announce(context_at(1))
    drive_hall(plant, 20)
    plant.retreat("to look")
    hot = {"hot_spot": 26.9, "flow": 8.0}
    for _ in range(3):
        plant.ask()
        plant.tell(
            readings=hot, wanted={"fan1": 30.0, "fan2": 30.0}, context=context_at(plant.round + 1)
        )
    assert plant.recoveries_left == 5


# --- fleets --------------------------------------------------------------------------------------


def fleet_of_pumps(**changes):
    steep = replace(pumps().limits[0], steepness={"speed": C(0.24)})
    members = {"p1": pumps(), "p2": replace(pumps(), limits=(steep,))}
    return replace(pumps(**changes), members=members)


def test_members_have_constants_and_rounds_of_their_own(tmp_path):
    path = tmp_path / "pumps.jsonl"
    events = []
    fleet = PlantFleet.of(fleet_of_pumps(), journal=path, on_round=events.append)
    usual = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25.0}}
    fleet.ask()
    assert fleet.tell({"p2": usual, "p1": usual}) == {"p1": None, "p2": None}
    points = fleet.ask()
    assert points["p1"]["speed"] == pytest.approx(50.0 - 0.58 / 0.12, abs=1e-6)
    assert points["p2"]["speed"] == pytest.approx(50.0 - 0.58 / 0.24, abs=1e-6)
    answers = fleet.tell(
        {
            "p1": {"readings": {"pressure": "x"}, "wanted": {"speed": 25.0}},
            "p2": {"missing": True},
        }
    )
    assert answers["p2"] is None
    assert "readings.pressure must be" in answers["p1"]
    assert fleet.rounds == {"p1": 2, "p2": 3}
    assert [(e.member, e.round) for e in events] == [("p1", 1), ("p2", 1), ("p2", 2)]
    fleet.add("p9", pumps(), reason="a third pump")
    assert fleet.ask()["p9"] == {"speed": 50.0}
    fleet.remove("p1", reason="sold")
    fleet.close()
    assert replay(path).is_same


def test_a_fleet_in_contexts_recovers_by_member(tmp_path):
    path = tmp_path / "halls.jsonl"
    both = (hall(policy=RECOVER, steep=0.1), hall(policy=RECOVER))
    one, two = (replace(each, limits=each.limits[:1]) for each in both)
    with PlantFleet.of(replace(one, members={"a": one, "b": two}), journal=path) as fleet:
        fleet.announce({"a": context_at(1), "b": context_at(1)})
        for t in range(1, 120):
            points = fleet.ask()
            told = {}
            for name, at in points.items():
                told[name] = {
                    "readings": {"hot_spot": hall_at(at, context_at(t))["hot_spot"]},
                    "wanted": {"fan1": 30.0, "fan2": 30.0},
                    "context": context_at(t + 1) if t % 17 else None,
                }
            assert set(fleet.tell(told).values()) == {None}
        assert fleet.machine("a").left < 5
        assert fleet.machine("b").left == 5
        assert not fleet.halted
    assert replay(path).is_same


def test_members_of_a_fleet_have_every_limit_by_itself(tmp_path):
    path, one = tmp_path / "halls.jsonl", hall()
    with (
        PlantFleet.of(replace(one, members={"a": one, "b": one}), journal=path) as fleet,
        Plant.of(one) as alone,
    ):
        assert fleet.fleet.limits == len(one.limits) == 2
        fleet.announce({"a": context_at(1), "b": context_at(1)})
        alone.announce(context_at(1))
        for t in range(1, 30):
            points = fleet.ask()
            assert points["a"] == alone.ask()
            told = {
                "readings": hall_at(points["a"], context_at(t)),
                "wanted": {"fan1": 30.0, "fan2": 30.0},
                "context": context_at(t + 1),
            }
            gap = told | {"readings": {"hot_spot": 20.0}}  # one limit without a reading
            assert set(fleet.tell({"a": told, "b": gap if t == 9 else told}).values()) == {None}
            alone.tell(**told)
            bounds = fleet.bounds("a")
            assert bounds == alone.bounds()
            assert set(bounds) in ({limit.name for limit in one.limits}, set())
        assert fleet.rounds == {"a": 30, "b": 30}
        with pytest.raises(InvalidValueError, match="amend must keep every limit of a member in a"):
            fleet.amend("a", hall(ramp=2.0), by="R. Roe", reason="new motors")
    assert replay(path).is_same
    assert not read_journal(path).members["a"].plant.one_limit


def test_where_a_member_has_one_limit_all_of_its_fleet_have(tmp_path):
    path = tmp_path / "halls.jsonl"
    both = {"a": hall(), "b": hall(ramp=2.0)}
    with PlantFleet.of(replace(hall(), members=both), journal=path) as fleet:
        assert fleet.fleet.limits is None
        fleet.announce({"a": context_at(1), "b": context_at(1)})
        for t in range(1, 9):
            told = {
                name: {
                    "readings": hall_at(at, context_at(t)),
                    "wanted": WANTED,
                    "context": context_at(t + 1),
                }
                for name, at in fleet.ask().items()
            }
            assert set(fleet.tell(told).values()) == {None}
    assert replay(path).is_same
    assert read_journal(path).members["a"].plant.one_limit


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ({"p7": {}}, "a member must be one of this fleet, got 'p7'"),
        ({"p1": 3.0}, "the report of p1 must be a table with some of readings"),
        ({"p1": {"reading": {}}}, "the report of p1 must be a table"),
        ([1], "reports must be a table by member"),
    ],
)
def test_a_wrong_call_of_a_fleet_is_one_sentence(reports, words):
    fleet = PlantFleet.of(fleet_of_pumps())
    fleet.ask()
    with pytest.raises(InvalidValueError, match=words):
        fleet.tell(reports)
    assert set(fleet.rounds.values()) == {1}


def test_one_plant_is_no_fleet_and_a_fleet_no_plant():
    with pytest.raises(InvalidValueError, match="got 2 members: open it with PlantFleet"):
        Plant.of(fleet_of_pumps())
    with pytest.raises(InvalidValueError, match="got none: open it with Plant"):
        PlantFleet.of(pumps())


# --- files ---------------------------------------------------------------------------------------

FILE = """
surefoot = 1
name = "pumps"
round = "1 min"
journal = "pumps.jsonl"

[actuator.speed]
unit = "Hz"
range = [25, 50]
start = 50

[limit.pressure]
unit = "bar"
at_least = 2.5
meter_error = 0.02
start_margin = 0.5
steepness = { speed = 0.12 }
"""

FLEET_FILE = (
    FILE
    + """
[member.p1]

[member.p2]
limit.pressure.steepness.speed = 0.24
"""
)


def test_a_file_goes_on_from_its_journal(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    with Plant.open(path) as plant:
        drive_pumps(plant, 7)
        at = plant.ask()
        assert plant.description.name == "pumps"
    with Plant.open(str(path), at_least=7) as plant:
        assert plant.ask() == at
        assert plant.round == 8
        drive_pumps(plant, 3)
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_an_edited_file_is_refused_with_its_differences_and_amended(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    with Plant.open(path) as plant:
        drive_pumps(plant, 7)
    before = (tmp_path / "pumps.jsonl").read_bytes()
    path.write_text(FILE.replace("0.12", "0.2"))
    with pytest.raises(PlantChangedError) as error:
        Plant.open(path)
    assert error.value.differences == (("limit.pressure.steepness.speed", 0.12, 0.2),)
    assert "pumps.toml is not the plant of pumps.jsonl" in str(error.value)
    assert "surefoot amend pumps.toml" in str(error.value)
    assert (tmp_path / "pumps.jsonl").read_bytes() == before
    with Plant.amending(path, by="operations", reason="measured again") as plant:
        assert plant.ask() == {"speed": 50.0}
        drive_pumps(plant, 5)
    with Plant.open(path) as plant:
        assert plant.round == 13
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_what_is_no_part_of_a_proof_may_be_edited(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    Plant.open(path).close()
    text = FILE.replace('name = "pumps"', 'name = "booster"  # renamed')
    for key in ("start = 50", "at_least = 2.5"):
        assert text.count(key) == 1
        text = text.replace(key, f'node = "{key[:4]}"\n{key}')
    path.write_text(text + '\n[service]\ndeadline = "5 min"\n')
    with Plant.open(path) as plant:
        described = plant.description
        assert described.name == "booster"
        assert (described.actuators[0].node, described.limits[0].node) == ("star", "at_l")


def test_a_fleet_goes_on_from_its_journal_and_is_amended_by_member(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FLEET_FILE)
    usual = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25.0}}
    with PlantFleet.open(path) as fleet:
        fleet.ask()
        fleet.tell({"p1": usual, "p2": usual})
        points = fleet.ask()
    with PlantFleet.open(path, at_least=1) as fleet:
        assert fleet.ask() == points
    path.write_text(FLEET_FILE.replace("0.24", "0.3"))
    with pytest.raises(PlantChangedError) as error:
        PlantFleet.open(path)
    changed = "member.p2.limit.pressure.steepness.speed"
    assert error.value.differences == ((changed, 0.24, 0.3),)
    with PlantFleet.amending(path, by="operations", reason="measured again") as fleet:
        assert fleet.ask() == {"p1": points["p1"], "p2": {"speed": 50.0}}
    path.write_text(FLEET_FILE.replace("[member.p1]", "[member.p3]"))
    with pytest.raises(PlantChangedError, match=r"member\.p1 is True there and False here"):
        PlantFleet.open(path)
    with PlantFleet.amending(path, by="operations", reason="p1 was sold") as fleet:
        assert fleet.names == ("p2", "p3")
    assert replay(tmp_path / "pumps.jsonl").is_same


def test_the_journal_of_a_controller_is_no_plant(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    with Plant.open(path) as plant:
        player, start = plant.controller.algorithm, plant.controller.loop.x
    (tmp_path / "pumps.jsonl").unlink()
    Controller(player, start, journal=tmp_path / "pumps.jsonl").close()
    with pytest.raises(InvalidValueError, match="is that of a controller, and of no plant file"):
        Plant.open(path)
    with pytest.raises(InvalidValueError, match="at_least must be 0 without a journal"):
        Plant.open(path, journal=tmp_path / "other.jsonl", at_least=3)


FORGERIES = {
    "a smaller factor": lambda plant: plant.update(factor=0.5),
    "another factor": lambda plant: plant.update(factor=2.0),
    "more recoveries": lambda plant: plant.update(left=7),
    "no factor": lambda plant: plant.pop("factor"),
    "a text for a factor": lambda plant: plant.update(factor="inf"),
    "a number for the description": lambda plant: plant.update(description=3),
    "no description": lambda plant: plant.clear(),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_plant_is_refused_in_a_sentence(what, tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    with Plant.open(path) as plant:
        drive_pumps(plant, 3)
    forge(tmp_path / "pumps.jsonl", lambda lines: FORGERIES[what](lines[0]["plant"]))
    before = (tmp_path / "pumps.jsonl").read_bytes()
    with pytest.raises(StoreError) as error:
        Plant.open(path)
    assert "\n" not in str(error.value)
    assert (tmp_path / "pumps.jsonl").read_bytes() == before


def test_a_player_that_is_not_of_its_plant_is_refused(tmp_path):
    path = tmp_path / "pumps.toml"
    path.write_text(FILE)
    Plant.open(path).close()
    forge(
        tmp_path / "pumps.jsonl",
        lambda lines: lines[0]["player"]["knowledge"].update(G_g=0.1),
    )
    with pytest.raises(
        StoreError, match=r"plays no rule of its plant: player\.knowledge\.G_g is 0\.1"
    ):
        Plant.open(path)


def test_an_order_of_an_operator_stands_through_a_contradiction():
    described = hall(policy=RECOVER, ramp=0.5)
    plant = Plant.of(replace(described, limits=described.limits[:1]))
    plant.announce(context_at(1))

    def tell(more=0.0):
        value = hall_at(plant.ask(), context_at(plant.round))["hot_spot"] + more
        context = context_at(plant.round + 1)
        plant.tell(readings={"hot_spot": value}, wanted=WANTED, context=context)

    for _ in range(40):
        tell()
    tell(6.0)  # far from the start something is not as it was
    assert plant.halted is not None
    left = plant.recoveries_left
    plant.retreat("inspection")
    for _ in range(40):
        tell()
    assert plant.ask() == {"fan1": 100.0, "fan2": 100.0}
    assert (plant.halted, plant.recoveries_left) == ("inspection", left)


def test_a_contradiction_far_from_the_start_recovers_when_it_is_reached():
    described = hall(policy=RECOVER, ramp=0.5)
    plant = Plant.of(replace(described, limits=described.limits[:1]))
    plant.announce(context_at(1))
    for t in range(1, 120):
        points = plant.ask()
        value = hall_at(points, context_at(t))["hot_spot"] + 6.0 * (t == 40)
        if t == 41:
            assert plant.halted is not None
            assert points["fan1"] < 95.0
        plant.tell(readings={"hot_spot": value}, wanted=WANTED, context=context_at(t + 1))
    assert plant.halted is None
    assert plant.recoveries_left == 4
    assert plant.ask()["fan1"] < 100.0

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
    journal as journals,
    read_journal,
)
from surefoot.controller.check import check
from surefoot.core.errors import DamagedError, InvalidValueError, StoreError
from surefoot.core.plain import decode
from surefoot.problems.plant import PolicyDescription, write_plant

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


def test_before_the_start_was_measured_nothing_else_is_told():
    plant = Plant.of(pumps())
    plant.ask()
    told = {"readings": {"pressure": 3.0}, "wanted": {"speed": 25.0}, "played": {"speed": 49.0}}
    words = "played must be the start until it was measured, got speed = 49 Hz, and its start is 50"
    with pytest.raises(InvalidValueError, match=words):
        plant.tell(**told)
    plant.tell(missing=True)
    plant.ask()
    plant.tell(readings={"pressure": 3.1}, wanted={"speed": 49.5}, played={"speed": 50.0})
    plant.ask()
    plant.tell(**told)
    assert plant.round == 4


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


def ramped(**changes):
    """Return the pump whose speed may change by 1 Hz per minute."""
    return replace(pumps(**changes), actuators=(replace(pumps().actuators[0], ramp=1.0),))


def steeper(plant, steepness=0.15):
    """Return a plant of one limit that is steeper."""
    limit = replace(plant.limits[0], steepness={"speed": C(steepness)})
    return replace(plant, limits=(limit,))


def test_a_plant_begins_anew_where_its_ramp_leads_and_nowhere_else(tmp_path):
    # Where the actuator is still on its way, a reading is not that of the start.
    path = tmp_path / "pumps.jsonl"
    with Plant.of(ramped(), journal=path) as plant:
        drive_pumps(plant, 5)
        assert plant.ask()["speed"] == 45.0
        lines = path.read_bytes()
        words = r"got speed = 45 Hz, 5 Hz away, and its ramp allows 1 Hz a round: order it"
        for change in (
            lambda: plant.amend(steeper(ramped()), by="me", reason="a new impeller"),
            lambda: plant.begin_anew(by="me", reason="away"),
        ):
            with pytest.raises(InvalidValueError, match=words):
                change()
        assert path.read_bytes() == lines
        plant.retreat("a new impeller")
        while plant.ask()["speed"] < 49.0:
            plant.tell(missing=True)
        plant.amend(steeper(ramped()), by="me", reason="a new impeller")
        assert plant.ask() == {"speed": 50.0}
    assert replay(path).is_same
    assert check(str(path)).is_right


@pytest.mark.parametrize("members", ["", "[member.p1]\n[member.p2]\n"])
def test_a_file_is_not_amended_while_a_ramp_leads_to_the_start(members, tmp_path):
    path, run = tmp_path / "pump.toml", tmp_path / "pump.jsonl"
    text = write_plant(replace(ramped(), journal="pump.jsonl")) + members
    path.write_text(text)
    kind = PlantFleet if members else Plant
    report = {"readings": {"pressure": 3.1}, "wanted": {"speed": 25.0}}
    with kind.open(path) as loop:
        for _ in range(4):
            loop.ask()
            loop.tell({"p2": report}) if members else loop.tell(**report)
    before = run.read_bytes()
    path.write_text(text.replace("0.12", "0.15"))
    with pytest.raises(InvalidValueError, match="its ramp allows 1 Hz a round"):
        kind.amending(path, by="me", reason="a new impeller")
    assert b'"kind":"amend"' not in run.read_bytes().removeprefix(before)
    path.write_text(text)
    kind.open(path).close()  # nobody has the journal open


def test_an_amendment_ends_no_order(tmp_path):
    path = tmp_path / "pumps.jsonl"
    with Plant.of(pumps(), journal=path) as plant:
        drive_pumps(plant, 5)
        plant.hold("somebody is at the pump")
        plant.amend(steeper(pumps()), by="me", reason="a new impeller")
        drive_pumps(plant, 2)
        assert plant.ask() == {"speed": 50.0}
        assert plant.halted == "somebody is at the pump"
        plant.begin_anew(by="the service", reason="it was away")
        assert plant.halted == "somebody is at the pump"
    with Plant.of(pumps()) as other:  # what was contradicted ends with an amendment
        drive_pumps(other, 2)
        other.ask()
        other.tell(readings={"pressure": 2.0}, wanted={"speed": 25.0})
        assert other.halted
        other.amend(steeper(pumps()), by="me", reason="a new impeller")
        assert other.halted is None
    assert replay(path).is_same
    assert check(str(path)).is_right


def test_a_context_beyond_the_range_of_an_amendment_is_unknown(tmp_path):
    path = tmp_path / "hall.jsonl"
    hot = {"outside": 35.0, "load": 0.9}
    narrow = replace(hall().contexts[0], high=30.0)
    margins = [replace(x, start_margin=replace(x.start_margin, why="again")) for x in hall().limits]
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(hot)
        drive_hall(plant, 3, report=lambda t, points: {"context": hot})
        after = replace(hall(), contexts=(narrow, hall().contexts[1]))
        with pytest.raises(InvalidValueError, match=r"because context\.outside\.range changes"):
            plant.amend(after, by="me", reason="another climate")
        plant.amend(replace(after, limits=tuple(margins)), by="me", reason="another climate")
        assert plant.controller.loop.awaits_context
        assert plant.ask() == {"fan1": 100.0, "fan2": 100.0}
        assert plant.controller.loop.has_no_context
        plant.tell(missing=True, context={"outside": 25.0, "load": 0.9})
        plant.ask()
    assert replay(path).is_same
    assert check(str(path)).is_right


def test_what_others_chose_does_not_keep_a_plant_from_beginning_anew():
    plant = Plant.of(pumps())
    drive_pumps(plant, 3)
    plant.ask()
    plant.tell(
        readings={"pressure": 3.0}, wanted={"speed": 25.0}, played={"speed": 49.0}
    )  # which is a breach of the promise on costs alone
    assert plant.controller.loop.breaches
    plant.begin_anew(by="the service", reason="it was away")
    assert plant.ask() == {"speed": 50.0}


def test_one_plant_is_not_amended_to_a_fleet():
    plant = Plant.of(pumps())
    after = replace(steeper(pumps()), members={"p1": pumps()})
    with pytest.raises(InvalidValueError, match="must be that of one plant, got 1 members"):
        plant.amend(after, by="me", reason="x")


def test_a_call_of_a_fleet_is_one_line_with_the_contexts_of_its_members(tmp_path, monkeypatch):
    path = tmp_path / "halls.jsonl"
    members = {"h1": hall(), "h2": hall()}
    with PlantFleet.of(replace(hall(), members=members), journal=path) as fleet:
        fleet.ask()
        context = context_at(1)

        def report(**more):
            points = fleet.ask()["h1"]
            seen = {"readings": hall_at(points, context), "wanted": {"fan1": 30.0, "fan2": 30.0}}
            return {**seen, **more}

        fleet.announce(dict.fromkeys(members, context))
        lines = path.read_bytes().count(b"\n")
        fleet.tell({"h1": report(context=context), "h2": report()})
        assert path.read_bytes().count(b"\n") == lines + 1
        loops = {name: fleet.fleet.get(name)[1] for name in members}
        assert not loops["h1"].awaits_context
        assert loops["h2"].awaits_context
        # What the disk does not take changes nothing, whatever of a call it did not take.
        now = journals.Journal.append

        def full(*_, **__):
            raise StoreError("no space left")

        monkeypatch.setattr(journals.Journal, "append", full)
        before = fleet.rounds
        with pytest.raises(StoreError):
            fleet.tell({"h1": report(context={"outside": 39.0, "load": 1.2})})
        monkeypatch.setattr(journals.Journal, "append", now)
        assert fleet.rounds == before
        assert fleet._places["h1"].tolist() == [context["outside"], context["load"]]
    assert replay(path).is_same
    assert check(str(path)).is_right


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
    report = check(str(tmp_path / "pumps.jsonl"))
    assert report.is_right
    assert any("amended by operations, reason: measured again" in line for line in report.events)


HALL_FILE = """
surefoot = 1
round = "15 min"
journal = "hall.jsonl"
[actuator.fan]
unit = "%"
range = [30, 100]
start = 100
[context.outside]
unit = "degC"
range = [-20, 40]
[limit.hot_spot]
unit = "degC"
at_most = 27
meter_error = 0.2
start_margin = { value = 3, origin = "given", why = "MARGIN" }
steepness.fan = { value = 0.1, origin = "estimated", why = "a log" }
rise = { outside = 0.24 }
[policy]
on_contradiction = "recover"
[service]
rotate = "8 kB"
"""
EDITS = {
    "a limit": [("at_most = 27", "at_most = 27.5")],
    "a range": [("range = [30, 100]", "range = [40, 100]")],
    "a start": [("start = 100", "start = 95")],
    "a margin": [("value = 3,", "value = 2.5,")],
    "what a context costs": [("outside = 0.24", 'outside = { per = 0.2, worse = "up" }')],
    "the range of a context": [("range = [-20, 40]", "range = [-10, 35]")],
    "a curve": [("value = 0.1,", "value = 0.2,"), ("a log", "a curve")],
    "a meter": [("meter_error = 0.2", "meter_error = 0.3")],
    "a round": [('"15 min"', '"10 min"')],
    "a policy": [('"recover"', '"retreat"')],
}


def drive_file(loop, rounds):
    """Play the hall of the file, whose temperature is well below what it says."""
    for t in range(rounds):
        fan, outside = loop.ask()["fan"], 20.0 + t % 5
        place = loop.machine.context_of(loop.controller.loop)
        warmth = 0.0 if place is None else 0.1 * (float(place[0]) - 20.0)
        heat = 22.0 + warmth + 0.04 * (100.0 - fan)
        told = {"readings": {"hot_spot": heat}, "wanted": {"fan": 45.0}}
        loop.tell(**told, context={"outside": outside})


def test_all_of_a_file_is_amended_in_one_journal_of_many_parts(tmp_path):
    # Each edit is refused first, then amended, on top of those before; a copy goes on by itself.
    path, text = tmp_path / "hall.toml", HALL_FILE
    path.write_text(text)
    with Plant.open(path) as loop:
        drive_file(loop, 5)
    for what, changes in EDITS.items():
        for old, new in changes:
            assert text.count(old) == 1, what
            text = text.replace(old, new)
        path.write_text(text.replace("MARGIN", f"stated again for {what}"))
        with pytest.raises(PlantChangedError):
            Plant.open(path)
        with Plant.amending(path, by="E. Moser", reason=what) as loop:
            assert loop.ask()["fan"] in (95.0, 100.0)
            drive_file(loop, 4)
        with Plant.open(path) as loop:
            drive_file(loop, 2)
            rounds = loop.round - 1
    copy = tmp_path / "copy"
    copy.mkdir()
    parts = sorted(tmp_path.glob("hall.jsonl*"))
    assert len(parts) > 4
    for part in (path, *parts):
        (copy / part.name).write_bytes(part.read_bytes())
    with Plant.open(path) as loop:
        drive_file(loop, 2)
    with Plant.open(copy / "hall.toml") as loop:
        assert loop.round == rounds + 1
    with pytest.raises(DamagedError, match=f"round {rounds + 2}, which must be there"):
        Plant.open(copy / "hall.toml", at_least=rounds + 2)
    report = check(str(tmp_path / "hall.jsonl"))
    assert report.is_right
    assert replay(tmp_path / "hall.jsonl").is_same
    said = [line for line in report.events if "amended by E. Moser" in line]
    assert [line.split("reason: ")[1].split(":")[0] for line in said] == list(EDITS)


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

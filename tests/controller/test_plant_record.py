"""The journal of a plant in its units: rounds, events, and what was known when."""

import csv
from dataclasses import replace

import pytest
from tests.controller._lines import forge
from tests.controller.plants import C, context_at, drive_hall, hall, hall_at, pressure_at, pumps

from surefoot.controller import Plant, PlantFleet, read_journal
from surefoot.controller.plant_columns import columns_of_plants
from surefoot.controller.plant_verdict import judge_plants
from surefoot.core.errors import StoreError
from surefoot.experiments.export import columns_to_csv
from surefoot.problems.plant import PolicyDescription

RECOVER = PolicyDescription("recover", 3, "retreat")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "plant.jsonl"


def tell_pump(plant, *, wanted=25.0, shift=0.0, **report):
    """Report a round of the pumps, at the set point that was asked for."""
    speed = plant.ask()["speed"]
    told = {"readings": {"pressure": pressure_at(speed) + shift}, "wanted": {"speed": wanted}}
    plant.tell(**(told | report))
    return speed


def rounds_of(path, **which):
    record = read_journal(path, **which)
    return record, list(record.plant.describe(record.rounds))


# --- rounds in units -----------------------------------------------------------------------------


def test_a_round_has_what_was_asked_for_read_and_certified(path):
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 12, noise=0.0)
    record, rows = rounds_of(path)
    assert record.plant.name == "hall 3"
    for t, row in enumerate(rows, start=1):
        assert row.context == pytest.approx(context_at(t))
        assert row.readings == pytest.approx(hall_at(row.set_points, row.context))
        assert row.limits == {"hot_spot": 27.0, "flow": 5.0}
        assert row.readings["hot_spot"] <= row.bounds["hot_spot"] <= 27.0
        assert row.readings["flow"] >= row.bounds["flow"] >= 5.0
        margin = {"hot_spot": 27.0 - row.bounds["hot_spot"], "flow": row.bounds["flow"] - 5.0}
        assert row.margins == pytest.approx(margin)
    assert rows[0].set_points == {"fan1": 100.0, "fan2": 100.0}
    assert [row.how for row in rows] == ["start", *["step"] * 11]
    # At the start the margin is what is known, and nobody wanted anything yet.
    assert rows[0].bounds == {"hot_spot": 25.0, "flow": 6.5}
    assert (rows[0].sources, rows[0].wanted) == ("start_margin", {})
    assert rows[1].wanted == {"fan1": 30.0, "fan2": 30.0}


def test_what_was_wanted_is_beside_the_round_that_it_was_wanted_for(path):
    with Plant.of(pumps(), journal=path) as plant:
        for wanted in (49.0, 48.0, 47.0):
            tell_pump(plant, wanted=wanted)
    wants = [row.wanted.get("speed") for row in rounds_of(path)[1]]
    assert wants == [None, 49.0, 48.0]
    # Also of the last rounds alone.
    assert [row.wanted["speed"] for row in rounds_of(path, latest=1)[1]] == [48.0]


def test_wanted_set_points_keep_their_units_when_an_amendment_changes_the_scales(path):
    steeper = replace(pumps().limits[0], steepness={"speed": C(0.6)})
    with Plant.of(pumps(), journal=path) as plant:
        tell_pump(plant, wanted=40.0)
        tell_pump(plant, wanted=40.0)
        plant.amend(replace(pumps(), limits=(steeper,)), by="E. Meier", reason="a new log")
        tell_pump(plant, wanted=40.0)
    _, rows = rounds_of(path)
    assert [row.wanted.get("speed") for row in rows] == [None, 40.0, 40.0]
    assert [row.set_points["speed"] for row in rows][2] == 50.0


@pytest.mark.parametrize("how", ["held", "retreat"])
def test_orders_say_how_set_points_came_about(path, how):
    with Plant.of(pumps(), journal=path) as plant:
        for _ in range(3):
            tell_pump(plant)
        (plant.hold if how == "held" else plant.retreat)("maintenance")
        tell_pump(plant)
        plant.resume("done")
        tell_pump(plant)
        tell_pump(plant)
    _, rows = rounds_of(path)
    assert [row.how for row in rows] == ["start", "step", "step", how, how, "step"]


def test_a_round_without_a_measurement_says_why(path):
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 2)
        drive_hall(plant, 1, report=lambda t, x: {"context": {"outside": 50.0, "load": 0.9}})
        drive_hall(plant, 1, report=lambda t, x: {"readings": {"hot_spot": None, "flow": 7.0}})
        drive_hall(plant, 1, report=lambda t, x: {"missing": True, "readings": None})
        plant.note("deadline: rounds count as missing until somebody reports one")
        for _ in range(2):
            plant.ask()
            plant.tell(missing=True, context=context_at(plant.round + 1))
        drive_hall(plant, 1)
        plant.ask()
        plant.tell(missing=True)
    record, rows = rounds_of(path)
    words = [row.how for row in rows]
    assert words[:5] == ["start", "step", "step", "no context", "missing"]
    assert words[5:] == ["deadline", "deadline", "retreat", "missing"]
    assert record.missing == 5
    assert rows[3].context == {}
    assert rows[3].readings == {"flow": 7.0}  # what was read is kept
    sentences = {event.round: event.sentence for event in record.plant.events}
    assert sentences[4] == "its context was unknown, so no reading counts"
    assert sentences[5] == "no reading of hot_spot, flow"
    assert sentences[6] == "nobody reported the round in time"


def test_a_start_that_is_not_shown_to_be_safe_waits(path):
    with Plant.of(pumps(), journal=path) as plant:
        for value in (2.51, 2.51, 3.1):
            plant.ask()
            plant.tell(readings={"pressure": value}, wanted={"speed": 25.0})
    record, rows = rounds_of(path)
    assert [row.how for row in rows] == ["waiting", "waiting", "held"]
    assert {row.set_points["speed"] for row in rows} == {50.0}
    assert record.missing == 2


# --- what was known when -------------------------------------------------------------------------


def test_amendments_and_recoveries_are_versions_of_the_plant(path):
    steep = replace(
        pumps(policy=RECOVER),
        limits=(replace(pumps().limits[0], steepness={"speed": C(0.05, "estimated")}),),
    )
    with Plant.of(steep, journal=path) as plant:
        for _ in range(5):
            tell_pump(plant)
        plant.amend(pumps(), by="E. Meier", reason="the data sheet")
        tell_pump(plant)
        tell_pump(plant)
    record, rows = rounds_of(path)
    (recovery,), (amendment,) = record.plant.recoveries, record.plant.amendments
    assert (recovery.by, recovery.left, recovery.round) == ("recovery 1 of 3", 2, 3)
    assert recovery.factor >= 2.0
    assert (amendment.by, amendment.reason, amendment.factor) == ("E. Meier", "the data sheet", 1.0)
    changed = {path: (before, after) for path, before, after in amendment.changes}
    assert changed["limit.pressure.steepness.speed"][1] == 0.12
    assert [row.how for row in rows[:4]] == ["start", "step", "recovered", "step"]
    assert rows[5].how == "amended"
    assert record.plant.proof.word == "proved"  # by what is known now
    kinds = [event.kind for event in record.plant.events]
    assert kinds == ["contradiction", "recovery", "amendment"]
    assert record.breaches == ()  # of the player that plays now
    assert record.plant.outside == {"pressure": 1}
    text = record.plant.text
    assert text.count("# from round ") == 3
    assert "times" in text
    assert text.count("[actuator.speed]") == 2  # a recovery changes nothing else


def test_readings_beyond_a_limit_are_counted_by_the_error_of_their_meter(path):
    record_policy = PolicyDescription("record")
    with Plant.of(pumps(policy=record_policy), journal=path) as plant:
        tell_pump(plant)
        tell_pump(plant, readings={"pressure": 2.49})  # within 0.02 bar
        tell_pump(plant, readings={"pressure": 2.4})
    record, rows = rounds_of(path)
    assert record.plant.within == {"pressure": 1}
    assert record.plant.outside == {"pressure": 1}
    assert [row.outside for row in rows] == [(), (), ("pressure",)]
    assert record.plant.worst == {"pressure": (2.4, 3)}


def test_the_summary_is_in_units_and_has_a_guarantee(path):
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 8)
    record = read_journal(path)
    facts = record.facts()
    assert facts["plant"] == "hall 3: 2 actuators, 2 contexts, 2 limits; rounds of 5 min"
    assert facts["guarantee"].endswith("(Theorem X1 with N, certified given 2 estimates)")
    assert facts["hot_spot"].startswith("at most 27 degC; the largest reading is ")
    assert facts["flow"].endswith("0 beyond it by more than the meter's error of 0.05 m3/s")
    assert (facts["amendments"], facts["recoveries"]) == ("none", "none, 0 left")
    assert "g =" not in str(record)
    assert record.guarantee == facts["guarantee"]
    assert record.promises.feasibility.not_covered[0] == "cost"


# --- columns -------------------------------------------------------------------------------------


def test_the_columns_have_names_with_units_and_numbers_that_read_back(path, tmp_path):
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 4)
        drive_hall(plant, 1, report=lambda t, x: {"played": x | {"fan1": 100.0}})
        drive_hall(plant, 1, report=lambda t, x: {"readings": {"hot_spot": 21.0}})
    record, rows = rounds_of(path)
    columns = columns_of_plants([record], judge_plants([record]))
    assert list(columns) == [
        *("round", "time_utc", "how", "certified"),
        *("fan1 [%]", "fan2 [%]", "wanted fan1 [%]", "wanted fan2 [%]"),
        *("played fan1 [%]", "played fan2 [%]", "outside [degC]", "load [MW]"),
        *("hot_spot [degC]", "flow [m3/s]", "hot_spot limit [degC]", "flow limit [m3/s]"),
        *("bound hot_spot [degC]", "bound flow [m3/s]"),
        *("margin hot_spot [degC]", "margin flow [m3/s]", "alarm", "note"),
    ]
    assert columns["certified"] == ["yes"] * 4 + ["not checked"] + ["yes"]
    assert columns["flow [m3/s]"][5] is None
    assert columns["hot_spot [degC]"][5] == 21.0
    assert columns["played fan1 [%]"] == [*[None] * 4, 100.0, None]
    columns_to_csv(columns, tmp_path / "plant.csv")
    with (tmp_path / "plant.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [float(line["fan1 [%]"]) for line in table] == [row.set_points["fan1"] for row in rows]
    assert table[5]["flow [m3/s]"] == ""


def test_the_word_of_a_round_is_the_checkers(path):
    with Plant.of(pumps(), journal=path) as plant:
        for _ in range(4):
            tell_pump(plant)
    record = read_journal(path)
    (verdict,) = judge_plants([record])
    assert (verdict.words, verdict.certified, verdict.starts, verdict.code) == (
        "certified",
        3,
        1,
        0,
    )
    assert [verdict.word_of(t) for t in (1, 2, 5)] == ["start", "yes", "not checked"]
    forged = path.read_bytes().replace(b'"round":3', b'"round":9', 1)
    path.write_bytes(forged)
    (verdict,) = judge_plants([record])
    assert verdict.words == "not certified"
    assert [verdict.word_of(t) for t in (1, 2, 3, 4)] == ["start", "yes", "no", "not checked"]
    assert columns_of_plants([record], [verdict])["certified"][2:] == ["no", "not checked"]


def test_an_estimate_is_in_the_words_of_the_verdict(path):
    guess = replace(pumps().limits[0], steepness={"speed": C(0.12, "estimated")})
    with Plant.of(replace(pumps(), limits=(guess,)), journal=path) as plant:
        tell_pump(plant)
        tell_pump(plant)
    (verdict,) = judge_plants([read_journal(path)])
    assert verdict.words == "certified given 1 estimate"


def test_a_round_that_refutes_its_constants_is_not_called_certified(path):
    steep = replace(
        pumps(policy=RECOVER),
        limits=(replace(pumps().limits[0], steepness={"speed": C(0.05, "estimated")}),),
    )
    with Plant.of(steep, journal=path) as plant:
        for _ in range(5):
            tell_pump(plant)
    (verdict,) = judge_plants([read_journal(path)])
    assert verdict.words == "certified given the constants of each piece, with 1 estimate"
    assert [verdict.word_of(t) for t in range(2, 6)] == ["no", "yes", "yes", "yes"]
    assert (verdict.refuted, verdict.code) == (1, 0)


# --- fleets --------------------------------------------------------------------------------------


def test_a_fleet_has_a_plant_for_each_member(path):
    slow = replace(pumps().limits[0], steepness={"speed": C(0.24, "estimated")})
    members = {"p1": pumps(), "p2": replace(pumps(), limits=(slow,))}
    with PlantFleet.of(replace(pumps(), members=members), journal=path) as fleet:
        for t in range(6):
            points = fleet.ask()
            names = fleet.names[: 1 + t % 2]
            fleet.tell(
                {
                    name: {
                        "readings": {"pressure": pressure_at(points[name]["speed"])},
                        "wanted": {"speed": 25.0},
                    }
                    for name in names
                }
            )
    record = read_journal(path)
    assert record.is_of_plants
    first, second = record.runs
    assert (first.round_count, second.round_count) == (6, 3)
    assert first.plant.proof.word == "proved"
    assert second.plant.proof.word == "certified given 1 estimate"
    assert all(each.plant.one_limit for each in record.runs)
    rows = list(second.plant.describe(second.rounds))
    assert [row.how for row in rows] == ["start", "step", "step"]
    assert all(row.readings["pressure"] >= row.bounds["pressure"] >= 2.5 for row in rows)
    columns = columns_of_plants(record.runs)
    assert columns["member"] == ["p1"] * 6 + ["p2"] * 3
    assert "outside         0 readings beyond a limit" in str(record)
    assert "pressure at least 2.5 bar" in str(record)


# --- files are untrusted -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda plant: plant.clear(),
        lambda plant: plant["description"].clear(),
        lambda plant: plant["description"].update(limit=[]),
        lambda plant: plant["description"]["actuator"][0].update(range=[1, "x"]),
        lambda plant: plant.update(factor="x"),
        lambda plant: plant.update(left=None),
    ],
)
def test_a_journal_whose_plant_is_none_is_refused_in_one_sentence(path, change):
    with Plant.of(pumps(), journal=path) as plant:
        tell_pump(plant)
    forge(path, lambda lines: change(lines[0]["plant"]))
    with pytest.raises(StoreError) as refusal:
        read_journal(path)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.update(readings=[1.0]),
        lambda line: line.update(readings="x"),
        lambda line: line["context"].update(place=[1.0]),
        lambda line: line.update(next=[1.0]),
        lambda line: line.update(proposal=[1.0]),
        lambda line: line.update(played=[1.0, 2.0, 3.0]),
        lambda line: line["certificate"].update(rounds=["x"]),
        lambda line: line["certificate"].update({"class": "Errors"}),
    ],
)
def test_a_round_that_does_not_fit_its_plant_is_refused_in_one_sentence(path, change):
    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 5)
    forge(path, lambda lines: change(lines[4]))
    with pytest.raises(StoreError) as refusal:
        read_journal(path)
    assert len(str(refusal.value).splitlines()) == 1

"""From the log of a plant to its description: every number with its origin."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests._scripts import script

from surefoot.problems.calibration.plant_from_log import (
    LogRequest,
    MissingColumnError,
    plant_of_log,
)
from surefoot.problems.calibration.plant_log import LogColumn, PlantLog, read_plant_log

hall = script("examples/hall.py")
HOT = LogRequest(bound=27.0, sense="at_most", meter_error=0.25)


# --- a small plant, by hand -----------------------------------------------------------------------


def pump_log(rows=240, hold=6, seed=0, slow=0.0, error=0.02):
    """Pressure of a pump: 0.05 bar per Hz, and 0.3 bar per unit of demand, rows of 5 min."""
    rng = np.random.default_rng(seed)
    speed = rng.uniform(30, 50, rows // hold).round(1).repeat(hold)
    demand = 2.0 + 0.6 * np.sin(np.arange(rows) / 7.0) + 0.1 * rng.uniform(-1, 1, rows)
    hidden = slow * np.sin(np.arange(rows) / 30.0)
    pressure = 0.05 * speed - 0.3 * demand + 2.5 + hidden + rng.uniform(-error, error, rows)
    return PlantLog(
        file="pump.csv",
        actuators=(LogColumn("speed", "Hz", speed),),
        contexts=(LogColumn("demand", "m3/h", demand),),
        limit=LogColumn("pressure", "bar", pressure),
        minutes=5.0 * np.arange(rows),
        has_times=True,
        lines=np.arange(rows) + 2,
        gaps=0,
        longest_gap=0,
        backward=None,
    )


PUMP = LogRequest(bound=2.5, sense="at_least", meter_error=0.02, name="pump")


def test_every_number_has_its_origin_and_the_rows_that_it_is_from():
    log, lines = pump_log(error=0.0), []
    found = plant_of_log(log, replace(PUMP, meter_error=0.0), report=lines.append)
    plant = found.description
    (speed,), (demand,), (pressure,) = plant.actuators, plant.contexts, plant.limits
    assert (plant.name, plant.round_minutes, plant.role) == ("pump", 5.0, "filter")
    assert (speed.low, speed.high) == (log.x.min(), log.x.max())
    assert (demand.low, demand.high) == (log.c.min(), log.c.max())
    assert (pressure.bound, pressure.sense) == (2.5, "at_least")
    assert pressure.meter_error.origin == "given"
    steepness, rise = pressure.steepness["speed"], pressure.rise["demand"].per
    assert steepness.value == pytest.approx(2 * 0.05, rel=0.05)
    assert rise.value == pytest.approx(2 * 0.3, rel=0.05)
    for constant in (steepness, rise):
        assert constant.origin == "estimated"
        first, second = (
            int(word) for word in constant.why.split("lines ")[1].split(" of")[0].split(" and ")
        )
        rows = [first - 2, second - 2]
        apart = np.ptp(log.limit.values[rows])
        ways = [np.ptp(log.x[rows]), np.ptp(log.c[rows])]
        assert ways @ found.columns.constants == pytest.approx(apart, rel=1e-6)
    assert pressure.start_margin.origin == "estimated"
    assert "line " in pressure.start_margin.why
    assert set(plant.estimates) == set(plant.constants) - {"limit.pressure.meter_error"}
    assert (plant.policy.on_contradiction, plant.policy.recoveries) == ("recover", 3)
    assert plant.policy.on_missing == "retreat"
    assert [line.split()[0] for line in lines] == [
        *("pump.csv:", "held", "columns", "speed", "demand", "start"),
    ]


def test_the_margin_holds_in_every_context_of_the_range():
    plant = plant_of_log(pump_log(), PUMP).description
    (speed,), (demand,), (pressure,) = plant.actuators, plant.contexts, plant.limits
    worst = 0.05 * speed.start - 0.3 * demand.high + 2.5 - 2.5
    assert 0.5 * worst < pressure.start_margin.value <= worst
    assert speed.start > 45  # where the pressure is high
    wide = replace(PUMP, ranges={"demand": (0.5, 4.0)}, start=(50.0,))
    wide = replace(wide, ranges={**wide.ranges, "speed": (30.0, 50.0)})
    other = plant_of_log(pump_log(), wide)
    assert other.description.limits[0].start_margin.value < pressure.start_margin.value
    assert any("demand above 2.6" in clause for clause in other.not_proved)
    assert any("demand below 1." in clause for clause in other.not_proved)


def test_what_is_given_is_kept_and_what_is_given_alone_needs_no_recovery():
    some = plant_of_log(pump_log(), replace(PUMP, given={"demand": 0.31}))
    rise = some.description.limits[0].rise["demand"].per
    assert (rise.value, rise.origin) == (0.31, "given")
    every = plant_of_log(pump_log(), replace(PUMP, given={"demand": 0.31, "speed": 0.06}))
    assert every.columns is None
    assert every.description.policy.on_contradiction == "retreat"
    assert every.description.estimates == ("limit.pressure.start_margin",)


@pytest.mark.parametrize("given", [{"demand": 0.01}, {"demand": 0.01, "speed": 0.001}])
def test_constants_that_the_log_contradicts_are_rejected_with_the_lines(given):
    log = pump_log()
    with pytest.raises(ValueError, match=r"lines \d+ and \d+, in which pressure is") as error:
        plant_of_log(log, replace(PUMP, given=given))
    first, second = map(int, re.findall(r"lines (\d+) and (\d+)", str(error.value))[0])
    apart = float(np.ptp(log.limit.values[[first - 2, second - 2]]))
    assert f"{apart:.6g} bar apart" in str(error.value)
    if len(given) == 2:
        ways = 0.01 * np.ptp(log.c[[first - 2, second - 2], 0])
        assert apart > ways + 0.001 * np.ptp(log.x[[first - 2, second - 2], 0]) + 0.04
    assert all(f"{name}={value:g}" in str(error.value) for name, value in given.items())


def test_what_nobody_tested_is_said():
    found = plant_of_log(pump_log(), PUMP).not_proved
    assert "that pressure is concave in the set points, which nothing has tested" in found
    assert found[-1] == "that it has settled after 5 min, which a --step-test would show"
    settled = plant_of_log(pump_log(), replace(PUMP, settling=4.0)).not_proved
    assert not any("settled" in clause for clause in settled)
    given = replace(PUMP, given={"demand": 0.31, "speed": 0.06})
    assert plant_of_log(pump_log(), given).not_proved[0].endswith("rests on the constants")


def test_steps_are_kept_and_the_start_is_on_them():
    plant = plant_of_log(pump_log(), replace(PUMP, steps={"speed": 0.5})).description
    (speed,) = plant.actuators
    assert speed.step == 0.5
    for value in (speed.low, speed.high, speed.start):
        assert value == round(value / 0.5) * 0.5
    assert speed.low >= pump_log().x.min()


def test_a_round_is_as_long_as_a_reading_needs_to_settle():
    assert plant_of_log(pump_log(), replace(PUMP, settling=17.3)).description.round_minutes == 18
    assert plant_of_log(pump_log(), replace(PUMP, settling=2.0)).description.round_minutes == 5
    with pytest.raises(ValueError, match=r"at least 17\.3 min, four time constants .* got 15 min"):
        plant_of_log(pump_log(), replace(PUMP, settling=17.3, round_minutes=15.0))
    timeless = replace(pump_log(), has_times=False)
    with pytest.raises(ValueError, match="say how long a round is: --round"):
        plant_of_log(timeless, PUMP)
    assert plant_of_log(timeless, replace(PUMP, round_minutes=3.0)).description.round_minutes == 3


def test_a_missing_column_stops_it_unless_its_spread_is_accepted():
    log = replace(pump_log(slow=0.2), contexts=())
    with pytest.raises(MissingColumnError, match="pressure depends on something that is not") as e:
        plant_of_log(log, PUMP)
    assert "; name its column with --contexts, or the plant had not settled" in str(e.value)
    assert "or the meter drifts" in str(e.value)
    found = plant_of_log(log, replace(PUMP, accept_spread=True, bound=1.0))
    error = found.description.limits[0].meter_error
    assert error.origin == "estimated"
    assert error.value > 0.15
    assert "the meter's error, which stands for a column that is missing" in found.not_proved
    assert found.description.policy.on_missing == "hold"


def test_a_log_in_which_nothing_was_held_says_that_it_would_not_notice():
    log, lines = pump_log(hold=1), []
    speed = np.linspace(30, 50, 240)[np.random.default_rng(0).permutation(240)]
    log = replace(log, actuators=(LogColumn("speed", "Hz", speed),))
    log = replace(
        log,
        limit=LogColumn("pressure", "bar", 0.05 * speed - 0.3 * log.c[:, 0] + 2.5),
    )
    plant_of_log(log, PUMP, report=lines.append)
    assert "so that a missing column would not be noticed" in lines[2]


def test_a_set_point_that_the_weather_set_is_named_and_hides_little():
    log, lines = pump_log(), []
    rng = np.random.default_rng(0)
    speed = 20.0 + 10.0 * log.c[:, 0] + rng.uniform(-2.0, 2.0, 240)
    pressure = 0.05 * speed - 0.3 * log.c[:, 0] + 2.5 + rng.uniform(-0.02, 0.02, 240)
    log = replace(
        log,
        actuators=(LogColumn("speed", "Hz", speed),),
        limit=LogColumn("pressure", "bar", pressure),
    )
    found = plant_of_log(log, replace(PUMP, bound=1.0), report=lines.append)
    assert any("speed followed the contexts (9" in line for line in lines)
    limit = found.description.limits[0]
    assert limit.steepness["speed"].value >= 2 * 0.05
    assert limit.rise["demand"].per.value >= 2 * 0.3
    assert "the slope of a plane through pump.csv" in limit.steepness["speed"].why


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"factor": 1.0}, "factor must be a finite number > 1, got 1.0"),
        ({"meter_error": -1.0}, "meter_error must be a finite number >= 0"),
        ({"bound": float("nan")}, "bound must be a finite number"),
        ({"ranges": {"sped": (0.0, 1.0)}}, "range must be that of a column, got 'sped'; did you"),
        ({"ranges": {"speed": (50.0, 30.0)}}, "range speed must be a least and a larger number"),
        ({"given": {"wind": 1.0}}, "constant must be that of a column, got 'wind'; known: speed"),
        ({"steps": {"demand": 1.0}}, "step must be that of a column, got 'demand'"),
        ({"start": (50.0, 1.0)}, r"start must be a number for each of speed, got 50, 1"),
        ({"start": (99.0,)}, "start must be in the range of speed, 30"),
        ({"bound": 4.6}, "every start of the log must be more than 0.04 bar, two errors of the"),
        (
            {"bound": 3.2, "start": (31.0,)},
            "the start must be more than 0.04 bar, .* which costs most",
        ),
        ({"meter_error": 5.0}, "the log must show an effect, got values at most"),
    ],
)
def test_what_cannot_be_is_one_sentence(changes, words):
    with pytest.raises(ValueError, match=words) as error:
        plant_of_log(pump_log(), replace(PUMP, **changes))
    assert "\n" not in str(error.value)


def test_a_few_rows_are_no_log():
    log = pump_log(rows=9, hold=3)
    with pytest.raises(ValueError, match="at least 5 rows per column, 10 for 2 columns, got 9"):
        plant_of_log(log, PUMP)


def test_a_column_that_rests_is_left_out_or_given():
    log = pump_log()
    log = replace(log, actuators=(*log.actuators, LogColumn("valve", "%", np.full(240, 80.0))))
    with pytest.raises(ValueError, match=r"valve was always 80 %: .* --constant valve=NUMBER"):
        plant_of_log(log, PUMP)
    with pytest.raises(ValueError, match="range valve must be given, got 80 to 80 % in the log"):
        plant_of_log(log, replace(PUMP, given={"valve": 0.02}))
    known = replace(PUMP, given={"valve": 0.001}, ranges={"valve": (70.0, 90.0)})
    limit = plant_of_log(log, known).description.limits[0]
    assert limit.steepness["valve"].value == 0.001
    assert limit.steepness["speed"].value == pytest.approx(0.1, rel=0.05)


# --- the hall -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    """The log of a year, as a function of the contexts that are named."""
    path = tmp_path_factory.mktemp("hall") / "year.csv"
    hall.write_log(path)

    def read(*contexts):
        return read_plant_log(
            path,
            limit="hot spot",
            actuators=hall.NAMES,
            contexts=contexts,
            time="time",
            gaps="skip",
        )

    return read


@pytest.mark.parametrize(
    ("contexts", "words"),
    [((), "0.941 degC"), (("outside",), "0.224 degC"), (("IT load",), "0.0775 degC")],
)
def test_a_hall_with_a_missing_column_is_found(year, contexts, words):
    with pytest.raises(MissingColumnError) as error:
        plant_of_log(year(*contexts), HOT)
    assert words in str(error.value)


@pytest.mark.slow
def test_constants_of_the_hall_are_twice_what_they_are_in_its_log(year):
    log, lines = year("outside", "IT load"), []
    wide = dict.fromkeys(hall.NAMES, (30.0, 100.0))
    found = plant_of_log(log, replace(HOT, ranges=wide, start=(100.0,) * 6), report=lines.append)
    assert any("none found missing" in line for line in lines)
    limit = found.description.limits[0]
    rise = {name: each.per.value for name, each in limit.rise.items()}
    assert rise["outside"] == pytest.approx(2 * 0.12, rel=0.05)
    assert rise["it_load"] == pytest.approx(2 * 10.97, rel=0.15)  # the largest in the log
    # True: the margin at full speed in the worst context of the log.
    context = [column.values.max() for column in log.contexts]
    assert limit.start_margin.value <= 27 - float(hall.hot_spot(np.full(6, 100.0), *context))
    beyond = f"{', '.join(hall.NAMES)} below 70 %, which the log has never seen"
    assert beyond in found.not_proved

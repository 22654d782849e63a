"""From a log to a plant file, by the command alone."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from tests._scripts import script

from surefoot.controller.plant import Plant
from surefoot.problems.plant import read_plant

ROOT = Path(__file__).parents[2]
hall = script("examples/hall.py")
PUMP = (
    "calibrate --log pump.csv --limit pressure --at-least 2.5 --meter-error 0.02 "
    "--actuators speed --contexts demand --time time"
)
STEP = "time [min],speed [Hz],pressure [bar]\n-5,30,0\n0,50,0\n5,50,6.32\n10,50,8.65\n60,50,10\n"


@pytest.fixture
def pump(desk):
    """The log of a pump in a folder: 0.05 bar per Hz, 0.3 bar per unit of demand."""
    rng = np.random.default_rng(0)
    speed = rng.uniform(30, 50, 40).round(1).repeat(6)
    demand = (2.0 + 0.6 * np.sin(np.arange(240) / 7.0)).round(4)
    pressure = 0.05 * speed - 0.3 * demand + 2.5 + rng.uniform(-0.015, 0.015, 240)
    rows = (
        f"{t // 12:02d}:{5 * (t % 12):02d},{speed[t]},{demand[t]},{pressure[t]:.3f}"
        for t in range(240)
    )
    head = "time,speed [Hz],demand [m3/h],pressure [bar]"
    (desk.folder / "pump.csv").write_text("\n".join([head, *rows]) + "\n")
    (desk.folder / "step.csv").write_text(STEP)
    return desk


def test_a_file_is_written_that_reads_and_says_where_each_number_is_from(pump):
    code, out, err = pump.do(f"{PUMP} --write booster.toml")
    assert (code, err) == (0, "")
    plant = read_plant(pump.folder / "booster.toml")
    assert (plant.name, plant.journal, plant.round_minutes) == ("booster", "booster.jsonl", 5.0)
    assert (plant.policy.on_contradiction, plant.policy.recoveries) == ("recover", 3)
    steepness = plant.limits[0].steepness["speed"]
    assert steepness.value == pytest.approx(0.1, rel=0.05)
    assert f"{steepness.value:g} bar per Hz ({steepness.why})" in out
    lines = out.splitlines()
    assert lines[0].startswith("pump.csv: 240 rows; limit pressure in bar; actuators speed in Hz")
    assert "none found missing" in lines[2]
    assert lines[-3] == "written: booster.toml"
    assert lines[-2].startswith("Not proved: 2 constants are estimates, what a log shows times")
    assert (
        "that pressure is concave in the set points, which nothing has tested; that it has"
        in lines[-2]
    )
    assert "at most 4 measured rounds violate the limit by more than 0.04 bar" in lines[-1]


def test_without_a_name_nothing_is_written_and_an_old_file_stays(pump):
    before = set(pump.folder.iterdir())
    assert "not written: name a file with --write" in pump.do(PUMP).out
    assert set(pump.folder.iterdir()) == before
    (pump.folder / "old.toml").write_text("mine")
    assert "'old.toml' exists already" in pump.refusal(f"{PUMP} --write old.toml")
    assert (pump.folder / "old.toml").read_text() == "mine"


def test_a_missing_column_ends_with_1_and_writes_nothing(pump):
    line = PUMP.replace(" --contexts demand", "")
    code, out, err = pump.do(f"{line} --write plant.toml")
    assert code == 1
    assert out.splitlines()[-1].startswith("held")
    assert "pressure depends on something that is not in the log" in err
    assert len(err.splitlines()) == 1
    assert not (pump.folder / "plant.toml").exists()
    code, out, _ = pump.do(f"{line} --accept-spread --at-least 2.4 --write plant.toml")
    assert code == 0
    assert "taken as an error of the meter" in out
    error = read_plant(pump.folder / "plant.toml").limits[0].meter_error
    assert (error.origin, error.value > 0.05) == ("estimated", True)


def test_a_step_test_says_how_long_a_round_must_be(pump):
    line = PUMP.replace("0.02", "0.4").replace("--at-least 2.5", "--at-least 1")
    out = pump.do(f"{line} --step-test step.csv").out.splitlines()
    # The meter's error: e^-1 of 10.8 is not below 3.68 - 0.8, and so on.
    assert out[0].startswith("step.csv: pressure has a time constant of ")
    exact = PUMP.replace("0.02", "0.0201")
    text = pump.do(f"{exact} --step-test step.csv --write plant.toml").out
    assert "a time constant of 7.39 min after a step of speed (1.5 x 4.93)" in text
    assert '--round "30 min" or more' in text
    assert read_plant(pump.folder / "plant.toml").round_minutes == 30
    words = pump.refusal(f"{exact} --step-test step.csv --round '15 min' --json")
    assert "round must be at least 29.6 min, four time constants of the step test" in words


def test_options_are_kept(pump):
    data = pump.do(
        f"{PUMP} --range speed=32:48,demand=1.2:2.7 --step speed=0.5 --start 46 --factor 3 "
        "--constant demand=0.33 --round '10 min' --role learner --json"
    ).data
    plant = data["plant"]
    assert plant["actuator"][0]["range"] == [32, 48]
    assert (plant["actuator"][0]["start"], plant["actuator"][0]["step"]) == (46, 0.5)
    assert plant["context"][0]["range"] == [1.2, 2.7]
    assert (plant["role"], plant["round"]) == ("learner", 10)
    assert plant["limit"][0]["rise"]["demand"]["per"] == {"origin": "given", "value": 0.33}
    assert plant["limit"][0]["steepness"]["speed"]["value"] == pytest.approx(0.15, rel=0.05)
    assert data["written"] is None
    assert data["not_proved"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (PUMP.replace("--limit pressure", ""), 'say which column the limit is: --limit, one of "'),
        (PUMP.replace("--actuators speed", ""), "say which columns are set points: --actuators"),
        (PUMP.replace("--at-least 2.5", ""), "--at-most or --at-least, got neither"),
        (f"{PUMP} --at-most 3", "say what the limit is, in bar: --at-most or --at-least, got both"),
        (PUMP.replace("--meter-error 0.02", ""), "say by how much a reading of pressure may be"),
        (PUMP.replace("pump.csv", "none.csv"), "'none.csv' is not a file: give a log"),
        (f"{PUMP} --step-test none.csv", "'none.csv' is not a file"),
        (f"{PUMP} --write no/pump.toml", "'no' is not a folder, in which --write must be"),
        (PUMP.replace("--log pump.csv", ""), "a plant file is written from a log: --log FILE.csv"),
        (f"{PUMP} --g pressure", "go without a plant file: it has --actuators, --limit and"),
        (
            "calibrate --log pump.csv --time time",
            'say which column the limit is: --limit, one of "',
        ),
        (f"{PUMP} --gaps drop", "--gaps must be refuse or skip, got 'drop'"),
        (f"{PUMP} --role pump", "--role must be filter or learner, got 'pump'"),
        (f"{PUMP} --round 15", "--round must be a time such as \"15 min\", got '15'"),
        (f"{PUMP} --round '0 min'", "--round must be a time such as"),
        (f"{PUMP} --range speed=30", "--range must be NAME=LOW:HIGH, got 'speed=30'"),
        (f"{PUMP} --range speed=a:40", "--range speed must be a number, got 'a'"),
        (f"{PUMP} --range sped=30:40", "range must be that of a column, got 'sped'; did you mean"),
        (f"{PUMP} --start fast", "--start must be a number, got 'fast'"),
        (f"{PUMP} --start 40,50", "start must be a number for each of speed"),
        (f"{PUMP} --step speed", "--step must be NAME=VALUE, got 'speed'"),
        (f"{PUMP} --step speed=-1", "step speed must be a finite number > 0, got -1.0"),
        (f"{PUMP} --constant wind=1", "constant must be that of a column, got 'wind'"),
        (f"{PUMP} --constant demand=true", "--constant demand must be a number, got True"),
        (f"{PUMP} --meter-error nan", "--meter-error must be a number >= 0, got nan"),
        (f"{PUMP} --at-least inf", "--at-least must be a number, got inf"),
        (f"{PUMP} --factor 1", "factor must be a finite number > 1, got 1.0"),
    ],
)
def test_what_cannot_be_is_one_sentence(pump, line, sentence):
    code, out, err = pump.do(f"{line} --json")
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_what_a_plant_file_cannot_say_is_one_sentence(pump):
    text = (pump.folder / "pump.csv").read_text()
    (pump.folder / "pump.csv").write_text(
        "\n".join(
            ",".join([*line.split(",")[:3], f"{line.split(',')[3]}e-30"]) if t else line
            for t, line in enumerate(text.splitlines())
        )
    )
    words = pump.refusal(f"{PUMP.replace('0.02', '0').replace('2.5', '1e-31')} --json")
    assert "a plant file cannot say it: limit.pressure" in words


@pytest.mark.slow
def test_the_page_shows_what_the_command_prints(desk):
    hall.write_log(desk.folder / "year.csv")
    page = (Path(__file__).parents[2] / "docs" / "from_log.md").read_text(encoding="utf-8")
    pattern = r"^surefoot (calibrate --log year.csv .*)\n```\n\n```text\n((?:.*\n)*?)```"
    command, text = re.search(pattern, page, re.MULTILINE).groups()
    assert desk.do(command) == (0, text, "")
    blind = command.replace("outside,IT load", "").replace("hall.toml", "blind.toml")
    code, _, err = desk.do(blind)
    assert code == 1
    assert "which moves it by about 0.94" in err
    slopes = [
        (hall.hot_spot([30.0] * 6, *w) - hall.hot_spot([31.0, *[30.0] * 5], *w))
        for w in [hall.weather(np.arange(8760.0))]
    ]
    constant = read_plant(desk.folder / "hall.toml").limits[0].steepness["fan1"].value
    assert np.max(slopes) / constant == pytest.approx(2.9, abs=0.05)


def play_july(path, wish, seed):
    """Play a week of July by a plant file: kWh, the excess in degC of each round, and the plant."""
    names = ("outside", "it_load")
    weather = np.array(hall.weather(24.0 * 190 + np.arange(169))).T.tolist()
    contexts = [dict(zip(names, row, strict=True)) for row in weather]
    energy, excess, rng = 0.0, [], np.random.default_rng(seed)
    with Plant.open(path) as plant:
        plant.announce(contexts[0])
        for before, after in itertools.pairwise(contexts):
            set_points = [plant.ask()[name] for name in hall.NAMES]
            heat = float(hall.hot_spot(set_points, *before.values()))
            energy, excess = energy + float(hall.power(set_points)), [*excess, heat - 27.0]
            plant.tell(
                readings={"hot_spot": heat + rng.uniform(-hall.METER, hall.METER)},
                wanted=dict.fromkeys(hall.NAMES, wish),
                context=after,
            )
        return energy, np.array(excess), plant.recoveries_left


@pytest.mark.slow
def test_the_least_energy_of_the_week_is_that_of_the_page():
    weather = np.array(hall.weather(24.0 * 190 + np.arange(168))).T
    energy, best = 0.0, np.full(6, 80.0)
    for now in weather:
        least = minimize(
            lambda x: float(hall.power(x)),
            best,
            method="SLSQP",
            bounds=[(30.0, 100.0)] * 6,
            constraints={
                "type": "ineq",
                "fun": lambda x, now=now: 27.0 - float(hall.hot_spot(x, *now)),
            },
        )
        assert least.success
        energy, best = energy + float(least.fun), least.x
    assert f"{energy:,.0f}" == "2,171"
    for page in ("from_log.md", "operations.md"):
        assert "could do with 2,171" in (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_log_of_the_hall_cools_it_by_the_command_alone(desk, seed):
    hall.write_log(desk.folder / "year.csv")
    ranges = ",".join(f"{name}=30:100" for name in hall.NAMES)
    line = (
        "calibrate --log year.csv --limit 'hot spot [degC]' --at-most 27 --meter-error 0.25 "
        f"--actuators {','.join(hall.NAMES)} --contexts 'outside [degC],IT load [MW]' "
        f"--time time --gaps skip --range {ranges} --start 100,100,100,100,100,100 "
    )
    code, out, _ = desk.do(f"{line} --write hall.toml")
    assert code == 0
    assert "32 left out for gaps (at most 1 in a row)" in out
    energy, excess, left = play_july(desk.folder / "hall.toml", 30.0, seed)
    assert (np.count_nonzero(excess > 0), left) == (0, 3)
    assert energy == pytest.approx(2_807, rel=0.01)
    assert 168 * float(hall.power([100.0] * 6)) == pytest.approx(10_920)  # at full speed
    # Constants that are too small are found out, and enlarged.
    assert desk.do(f"{line} --factor 1.001 --write bold.toml").code == 0
    energy, excess, left = play_july(desk.folder / "bold.toml", 30.0, seed)
    assert left < 3
    assert np.count_nonzero(excess > 0.5) <= 4
    assert energy < 3_500

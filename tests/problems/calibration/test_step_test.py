"""A time constant from the test of one step, and tests that tell none."""

import numpy as np
import pytest

from surefoot.problems.calibration.plant_log import read_plant_log
from surefoot.problems.calibration.step_test import find_time_constant, read_step_test


def response(tau=5.0, error=0.0, seed=0, step=0.5, change=10.0):
    """Readings of a step at 10 min, of a plant of first order."""
    time = np.arange(0.0, 100.0, step)
    values = change * (1 - np.exp(-np.clip(time - 10.0, 0, None) / tau))
    return time, values + np.random.default_rng(seed).uniform(-error, error, len(time))


def test_a_step_by_hand():
    # e^-1 of 10 is left after 5 min, e^-2 after 10.
    time, values = np.array([-5.0, 0, 5, 10, 60]), np.array([0.0, 0.0, 6.32, 8.65, 10.0])
    test = find_time_constant(time, values, 0.0, 0.0)
    assert test.least == pytest.approx(5.0, abs=0.01)
    assert test.estimate == pytest.approx(7.5, abs=0.01)
    assert test.settling == pytest.approx(30.0, abs=0.05)
    assert find_time_constant(time, -values, 0.0, 0.0).least == test.least


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("tau", [2.0, 6.0])
def test_no_bound_is_above_the_truth_and_the_estimate_covers_it(tau, seed):
    test = find_time_constant(*response(tau, error=0.4, seed=seed), 10.0, 0.4)
    assert 0.65 * tau < test.least <= tau
    assert tau <= test.estimate


@pytest.mark.parametrize(
    ("values", "start", "error", "words"),
    [
        ([0.0, 0.0, 5.0, 9.0, 9.9], 9.0, 0.0, "before and after its step, got 5 and 0"),
        ([0.0, 1.0, 5.0, 9.0, 9.9], 2.0, 0.1, "at rest before the step, got values 1 apart"),
        ([0.0, 0.0, 1.0, 1.5, 1.6], 2.0, 0.1, "move the value by 2, 20 errors of the meter"),
        ([0.0, 0.0, 9.0, 11.0, 10.0], 2.0, 0.1, "must not overshoot, got a value 1 beyond"),
        ([0.0, 0.0, 0.0, 0.0, 10.0], 1.0, 0.0, "had not begun after 2 min"),
        ([0.0, 0.0, -3.0, 5.0, 10.0], 1.0, 0.1, "had not begun after 1 min"),
        ([0.0, 0.0, 10.0, 10.0, 10.0], 1.0, 0.1, "must have a reading on the way, got none"),
        ([2.0, 2.0, 2.0, 2.0, 2.0], 1.0, 0.0, "got 0: step further"),
    ],
)
def test_a_step_that_tells_nothing_is_a_sentence(values, start, error, words):
    with pytest.raises(ValueError, match=words):
        find_time_constant(np.arange(5.0), np.array(values), start, error)


def test_a_step_that_goes_on_is_not_at_rest():
    time = np.arange(100.0)
    with pytest.raises(ValueError, match=r"at rest in its last tenth, got values 1\.8 apart"):
        find_time_constant(time, np.where(time < 10, 0.0, 0.2 * time), 10.0, 0.1)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("fan [%],pump [%],heat [K]\n50,60,1\n60,60,2\n60,70,3\n")
    return read_plant_log(path, limit="heat", actuators=["fan", "pump"])


def write(path, rows, head="time [h],pump [%],fan [%],heat [K]"):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_a_file_says_which_actuator_was_stepped_and_when(tmp_path, log):
    time, values = response(6.0)
    rows = [
        f"{t / 60:.6f},{30 if t < 10 else 80},55,{v:.6f}" for t, v in zip(time, values, strict=True)
    ]
    column, test = read_step_test(write(tmp_path / "step.csv", rows), log, error=0.0001)
    assert column.name == "pump"
    assert test.least == pytest.approx(6.0, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "head", "words"),
    [
        (["0,1,1,0", "1,1,1,0"], None, "must change one actuator once, got none"),
        (["0,1,1,0", "1,2,2,0"], None, "got pump 1 times, fan 1 times"),
        (["0,1,1,0", "1,2,1,0", "2,1,1,0"], None, "got pump 2 times"),
        (["0,1,1,0", "0,2,1,0"], None, "line 3: times of a step test must increase"),
        (["0,1,1,0", "1,2,1,0"], "when,pump [%],fan [%],heat [K]", "must have a column of times"),
        (["0,1,1,0", "1,2,1,0"], "time [h],pump,fan,cold", "has no column 'heat'"),
        (["0,1,1,0", "x,2,1,0"], None, "line 3, column time [h]: it must be a time"),
    ],
)
def test_a_file_that_is_no_step_test_is_a_sentence(tmp_path, log, rows, head, words):
    path = write(tmp_path / "step.csv", rows, *([head] if head else []))
    with pytest.raises(ValueError, match=r".") as error:
        read_step_test(path, log, error=0.1)
    assert words in str(error.value)

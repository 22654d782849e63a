"""The motor: the certified step in C keeps the voltage, and refuses what contradicts its bound."""

import numpy as np
import pytest

pytestmark = [pytest.mark.cases, pytest.mark.filterwarnings("ignore")]

from cases.motor import rules  # noqa: E402
from cases.motor.drive import MOST_CURRENT, SHEET, UNIT, Drive, excess  # noqa: E402


def test_no_certified_round_is_outside_and_the_limit_binds(tmp_path):
    torques = np.repeat([90.0, 140.0], 12)
    motor = SHEET.built(1)
    g, torque = rules.certified(Drive(motor), torques, tmp_path)
    assert g.max() <= 0
    assert g[-1] > -0.05
    assert torque[-1] > 90
    assert rules.unlimited(Drive(motor), torques[-6:])[0].max() > 0


def test_a_round_in_which_the_simulator_raises_is_missing(tmp_path, monkeypatch):
    drive, torques = Drive(SHEET.built(1)), np.repeat([90.0, 140.0], 12)
    sample, calls = drive.sample, []

    def fail_once(wanted):
        calls.append(wanted)
        if len(calls) == 5 * rules.SAMPLES + 1:
            raise RuntimeError("no solution")
        return sample(wanted)

    monkeypatch.setattr(drive, "sample", fail_once)
    g, _ = rules.certified(drive, torques, tmp_path)
    assert np.flatnonzero(np.isnan(g)).tolist() == [5]
    assert np.nanmax(g) <= 0
    assert (calls[5 * rules.SAMPLES] == calls[5 * rules.SAMPLES + 1]).all()


def test_g_is_the_quadratic_that_the_constants_are_of():
    drive, x = Drive(SHEET.built(2)), np.array([-0.6, 0.4])
    knowledge = rules.make_player().knowledge
    true = SHEET.built(2).impedance()
    beta = 2 * np.linalg.norm(true, 2) ** 2 * UNIT**2
    voltages = rules.play_round(drive, UNIT * x)
    later = rules.play_round(drive, UNIT * x)
    assert beta / rules.MOST_VOLTAGE**2 <= knowledge.beta[0]
    assert abs(excess(voltages) - excess(later)) <= rules.SETTLED
    speed = SHEET.p * rules.SPEED
    resting = true @ (UNIT * x) + [0.0, speed * SHEET.built(2).psi_p]
    assert excess(later) == pytest.approx(excess(resting), abs=rules.SETTLED)


def test_the_step_refuses_what_the_data_sheet_excludes(tmp_path):
    limiter = rules.Limiter(tmp_path)
    proposal = np.array([0.0, 1.0])
    x = limiter.step(proposal, -0.8, np.array([0.0, 0.5]))
    assert 0 < np.linalg.norm(x) <= MOST_CURRENT / UNIT
    with pytest.raises(SystemExit, match="refused"):
        limiter.step(proposal, np.nan, np.array([0.0, 0.5]))
    with pytest.raises(SystemExit, match="refused"):
        limiter.step(proposal, 3.0, np.array([0.0, 0.5]))


def test_without_a_compiler_the_case_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SystemExit, match="needs a C compiler"):
        rules.Limiter(tmp_path)

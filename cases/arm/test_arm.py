"""Arm: the bounds of the lemma hold, certified postures hold, and nothing is invented."""

import mujoco
import numpy as np
import pytest

from cases.arm import robot
from cases.arm.play import certify, follow, go, linearise, make_task
from cases.arm.robot import FARTHEST, HEAVIEST, TEST, Arm

pytestmark = pytest.mark.cases


@pytest.fixture(scope="module")
def task():
    return make_task(1, 2)


def test_no_second_difference_exceeds_the_proved_curvature_and_some_come_near():
    arm, rng = Arm(HEAVIEST, np.array([FARTHEST, 0.0, 0.0])), np.random.default_rng(0)
    shares = []
    for _ in range(500):
        x, way = rng.uniform(arm.low, arm.high), rng.normal(size=7)
        step = 1e-2 * way / np.linalg.norm(way)
        bent = arm.feel(x + step) - 2 * arm.feel(x) + arm.feel(x - step)
        shares.append((bent / 1e-4 / arm.beta).max())
    assert 0.3 < max(shares) <= 1


def test_torques_are_slopes_of_the_height_of_all_masses():
    arm, h = Arm(1.0, np.zeros(3)), 1e-5
    x = np.array([0.3, 0.5, -0.4, -1.0, 0.6, -0.5, 0.2])

    def energy(q):
        arm.feel(q)
        return 9.81 * float(arm._model.body_mass @ arm._data.xipos[:, 2])

    limits = np.array(list(robot.LIMITS.values()))
    for k, (i, limit) in enumerate(zip(robot.LIMITS, limits, strict=True)):
        step = h * np.eye(7)[i]
        torque = (energy(x + step) - energy(x - step)) / (2 * h)
        assert torque / limit - 1 == pytest.approx(arm.feel(x)[k], abs=1e-6)


def test_certified_postures_and_their_tests_are_never_outside_where_others_are(task):
    arm, wishes = task
    _, rule = certify(arm, 5)
    felt = []

    def watch(x, rows, slopes, proposal):
        felt.extend(arm.feel(x + sign * TEST * e).max() for e in np.eye(7) for sign in (-1, 1))
        return rule(x, rows, slopes, proposal)

    g, far = follow(arm, wishes, watch, 5)
    assert g.max() <= 0
    assert max(felt) <= 0
    assert far[-1] < 0.5 * far[20]
    for other in (go(arm, 5), linearise(arm, 5, 0.0)):
        assert (follow(arm, wishes, other, 5)[0] > 0).sum() > 5


def test_a_round_in_which_mujoco_raises_is_missing_and_the_posture_is_held(task, monkeypatch):
    arm, wishes = task
    controller, rule = certify(arm, 5)
    feel, moves = arm.feel, []

    def fail(posture):
        raise mujoco.FatalError("singular")

    def watch(x, rows, slopes, proposal):
        after = rule(x, rows, slopes, proposal)
        moves.append((rows is None, np.linalg.norm(after - x), controller.explain().is_proven))
        monkeypatch.setattr(arm, "feel", fail if len(moves) == 7 else feel)
        return after

    g, _ = follow(arm, wishes[:1], watch, 5)
    assert np.flatnonzero(np.isnan(g)).tolist() == [7]
    assert moves[7] == (True, 0.0, True)
    assert np.nanmax(g) <= 0


def test_a_payload_that_cannot_be_held_at_the_start_is_refused(task):
    arm, wishes = task
    with pytest.raises(ValueError, match="the start must be strictly feasible"):
        follow(Arm(20.0, np.zeros(3)), wishes, certify(arm, 5)[1], 5)

"""LB-SGD, the baseline for smooth constraints."""

import numpy as np
import pytest

from surefoot import Feedback
from surefoot.core.constants import Constants
from surefoot.rules import LBSGD


def test_one_step_worked_by_hand():
    player = LBSGD(weight=0.5, beta=2.0, cost_curvature=1.0)
    state = player.init(np.zeros(2))
    seen = Feedback(np.array([0.0, -3.0]), np.array([-0.5]), np.array([[0.0, 1.0]]))
    # d = (0, -2), sigma = 1: 0.5/(2 + 1)/2 = 0.0833; 1/(1 + 2/0.5 + 2/0.25) = 0.0769.
    assert player.update(state, seen).x == pytest.approx([0.0, 2 / 13])


def test_every_step_leaves_half_of_every_slack():
    rng, player = np.random.default_rng(2), LBSGD(weight=1e-4, beta=2.0)
    state, d = player.init(np.zeros(4)), 4
    centres = 0.2 * rng.normal(size=(3, d))
    for _ in range(500):
        g = ((state.x - centres) ** 2).sum(1) - 1.0
        s = 2 * (state.x - centres)
        before, state = g, player.update(state, Feedback(10 * rng.normal(size=d), g, s))
        after = ((state.x - centres) ** 2).sum(1) - 1.0
        assert (after <= 0.5 * before).all()


def test_a_start_on_the_boundary_is_refused():
    player = LBSGD(weight=0.1, beta=1.0)
    with pytest.raises(ValueError, match=r"below 0 for a logarithmic barrier, got 0\.0"):
        player.update(player.init(np.zeros(1)), Feedback(np.ones(1), np.zeros(1), np.ones((1, 1))))
    with pytest.raises(ValueError, match="strictly feasible start"):
        LBSGD.barrier(Constants(R=1.0, beta=1.0, start_slack=0.0))
    with pytest.raises(ValueError, match="weight must be a finite number > 0, got 0"):
        LBSGD(weight=0.0, beta=1.0)


def test_no_regret_bound_is_claimed():
    tuned = LBSGD.barrier(Constants(R=1.0, beta=1.0, start_slack=0.5), weight=0.3)
    assert tuned.algorithm == LBSGD(weight=0.3, beta=1.0)
    assert np.isinf(tuned.guarantee.regret_bound(100))

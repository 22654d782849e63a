"""Dual averaging projected straight onto certified regions: Theorem K."""

import numpy as np
import pytest

from surefoot import Feedback
from surefoot.algorithms import CertifiedDualAveraging
from surefoot.core.constants import Constants
from surefoot.regions import Curvature, CurvatureRows, Errors
from surefoot.sets import Box

from ._curved import HEAT, bent, heat, play, quadratics


def test_one_step_worked_by_hand():
    player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, far=0.1)
    seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    # y = (0, 0.7071); the ball around (0, -1) has the radius sqrt 2.
    assert info.wish == pytest.approx([0.0, np.sqrt(0.5)])
    assert state.x == pytest.approx([0.0, np.sqrt(2) - 1], abs=1e-12)
    # 0.2929 were taken off, of which 0.1 is kept: the far point is now at 0.5142.
    left = state.learner.gradients * np.sqrt(0.5) / 3
    assert left == pytest.approx([0.0, -(np.sqrt(2) - 0.9)], abs=1e-9)
    assert info.certificate.cut
    assert info.certificate.bound <= 0


def test_for_a_fixed_sum_of_gradients_the_projection_is_where_it_rests():
    known = Curvature(beta=2.0, reach=1.0)
    player = CertifiedDualAveraging(knowledge=known, radius=1.0, eta=0.5)
    state = player.init(np.zeros(3))
    target = np.array([1.0, 2.0, -2.0])  # far outside of |x|^2 <= 0.5
    for t in range(60):
        gradient = -2 * target if t == 0 else np.zeros(3)
        state = player.update(
            state, Feedback(gradient, float(state.x @ state.x - 0.5), 2 * state.x)
        )
    assert state.x == pytest.approx(np.sqrt(0.5) * target / 3, abs=1e-10)


@pytest.mark.parametrize("far", [None, 0.3])
@pytest.mark.parametrize("rows", [1, 3])
def test_theorem_f_bounds_the_regret_by_what_is_observed(rows, far):
    rng, d, T, R = np.random.default_rng(7), 3, 250 if rows == 1 else 100, 2.5
    query = quadratics(rng, d, rows)
    comparators = [u for u in rng.normal(size=(2_000, d)) if np.max(query(u)[0]) <= 0]
    side = np.where(np.arange(T) < T // 2, 1.0, -1.0)[:, None]
    for gradients in (
        np.ones((T, d)) * [1.0, -1.0, 0.5],
        side * np.ones(d),
        rng.normal(size=(T, d)),
        rng.normal(size=(T, d)) + side,
    ):
        player = CertifiedDualAveraging(knowledge=bent(rows, R), radius=R, far=far, scale=1.0)
        actions, bound, worst, _ = play(player, query, gradients, np.zeros(d))
        assert worst <= 0
        paid = float((gradients * actions[:-1]).sum())
        assert paid - min(float(gradients.sum(0) @ u) for u in comparators) <= bound


@pytest.mark.parametrize("kind", ["constant", "turning", "random"])
def test_theorem_f_bounds_steps_and_regret_in_advance(kind):
    T, rng = 2_000, np.random.default_rng(1)
    gradients = {
        "constant": np.tile([0.6, -0.8], (T, 1)),
        "turning": np.array([[np.cos(t / 90), np.sin(t / 90)] for t in range(T)]),
        "random": (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(rng.normal(size=(T, 2))),
    }[kind]
    constants = Constants(R=0.9, beta=1.6, start_slack=0.4, start_reach=0.9, G_f=1.0)
    tuned = CertifiedDualAveraging.known_horizon(constants, T)
    actions, bound, worst, infos = play(tuned.algorithm, heat, gradients, np.zeros(2))
    assert worst <= 0
    steps = np.linalg.norm(np.diff(actions, axis=0), axis=1)
    assert steps.max() <= 2 * tuned.algorithm.proposer.eta * (1 + 1e-9)  # P <= 2 eta L
    assert kind != "constant" or any(info.note.share > 0 for info in infos)
    total = gradients.sum(0)
    best = -np.sqrt(0.4 * (total**2 / HEAT).sum())
    regret = float((gradients * actions[:-1]).sum()) - best
    assert regret <= bound <= tuned.guarantee.regret_bound(T)


def test_a_known_box_is_kept():
    box = Box([-0.1, 0.0], [0.25, 2.0])
    known = CurvatureRows(beta=1.6, rows=1, reach=2.0, domain=box)
    player = CertifiedDualAveraging(knowledge=known, radius=0.9)
    prices = np.random.default_rng(11).uniform([0.2, 0.6], [0.8, 1.3], size=(80, 2))
    actions, bound, worst, _ = play(player, heat, -prices, np.array([0.0, 0.1]))
    assert worst <= 0
    assert all(box.contains(x) for x in actions)
    assert actions[-1] == pytest.approx([0.25, np.sqrt(0.7)], abs=1e-3)
    best = float(prices.sum(0) @ [0.25, np.sqrt(0.7)])
    assert best - float((prices * actions[:-1]).sum()) <= bound


def test_tunings_say_what_they_promise():
    constants = Constants(R=0.9, beta=1.6, start_slack=0.4, start_reach=0.9, G_f=1.0)
    assert np.isinf(CertifiedDualAveraging.default(constants).guarantee.regret_bound(10))
    assert CertifiedDualAveraging.changing(constants).algorithm.proposer.far == 0.3
    promise = CertifiedDualAveraging.known_horizon(constants, 10_000).guarantee
    assert promise.regret_bound(10_000) < 10_000
    with pytest.raises(ValueError, match="far must be a finite number > 0, got 0"):
        CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, far=0.0)


@pytest.mark.parametrize("eta", [None, 0.07])
def test_the_sum_of_the_gradients_starts_at_0_wherever_the_start_is(eta):
    x1, gradients = np.array([0.31, -0.22]), np.array([[0.4, 0.3], [-0.2, 0.7]])
    player = CertifiedDualAveraging(
        knowledge=Curvature(beta=0.5, reach=3.0), radius=2.0, scale=0.05, eta=eta
    )
    state, total, squares = player.init(x1), np.zeros(2), 0.0
    for gradient in gradients:
        state = player.update(state, Feedback(gradient, -5.0, np.array([0.6, 0.8])))
        total, squares = total + gradient, squares + float(gradient @ gradient)
        step = 0.05 * 2.0 / np.sqrt(squares) if eta is None else eta
        assert state.x == pytest.approx(x1 - step * total, abs=1e-15)


def test_of_a_far_point_that_is_many_units_away_F_R_is_kept():
    # The half-space p[1] <= 0.5; a far point 40 above it is kept at 0.3 * 2 above the action.
    player = CertifiedDualAveraging(
        knowledge=Curvature(beta=0.0, reach=9.0), radius=2.0, far=0.3, eta=1.0
    )
    seen = Feedback(np.array([0.25, -40.5]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    assert state.x == pytest.approx([-0.25, 0.5], abs=1e-12)
    assert info.note.share == pytest.approx(1 - 0.6 / 40, rel=1e-12)
    assert -state.learner.gradients == pytest.approx([-0.25, 0.5 + 0.6], abs=1e-12)


@pytest.mark.parametrize("rows", [False, True])
def test_what_is_observed_bounds_the_regret_where_slopes_err(rows):
    # g(p) = -1 + (p - x)/1.9 with the slope read 0.1 too steep. The best action, u = 1, is as far
    # as can be from x = -0.9, and the region stops half-way.
    told = {"reach": 1.0, "errors": Errors(slope=0.1)}
    known = CurvatureRows(beta=(0.01,), **told) if rows else Curvature(beta=0.01, **told)
    player = CertifiedDualAveraging(knowledge=known, radius=1.0, eta=1.0)
    state, sums, paid = player.init(np.array([-0.9])), player.observer(), 0.0
    for _ in range(3):
        x = state.x
        paid += -12 * float(x[0] - 1.0)
        g, s = (float(x[0]) + 0.9) / 1.9 - 1, np.array([1 / 1.9 + 0.1])
        state, info = player.step(state, Feedback(np.array([-12.0]), g, s))
        sums = sums.after(info)
        assert 0 < paid <= sums.bound(player, state)

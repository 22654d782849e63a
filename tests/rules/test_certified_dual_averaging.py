"""Dual averaging projected straight onto certified regions: Theorem K."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Feedback
from surefoot.core.constants import Constants
from surefoot.knowledge import Curvature, CurvatureRows, Errors
from surefoot.rules import CertifiedDualAveraging
from surefoot.sets import Box

from ._curved import HEAT, bent, heat, play, quadratics


def test_one_step_worked_by_hand():
    player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, far=0.1)
    seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    # y = (0, 0.7071); the ball around (0, -1) has the radius sqrt 2.
    assert info.proposal == pytest.approx([0.0, np.sqrt(0.5)])
    assert state.x == pytest.approx([0.0, np.sqrt(2) - 1], abs=1e-12)
    # 0.2929 were taken off, of which 0.1 is kept: the far point is now at 0.5142.
    left = state.learner.gradients[0] * np.sqrt(0.5) / 3
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


@pytest.mark.slow
@pytest.mark.parametrize("far", [None, 0.3, 1e3])
@pytest.mark.parametrize("rows", [1, 3])
def test_theorem_k_bounds_the_regret_by_what_is_observed(rows, far):
    rng, d, T, R = np.random.default_rng(7), 3, 250 if rows == 1 else 60, 2.5
    query = quadratics(rng, d, rows)
    comparators = [u for u in rng.normal(size=(2_000, d)) if np.max(query(u)[0]) <= 0]
    side = np.where(np.arange(T) < T // 2, 1.0, -1.0)[:, None]
    for gradients in (
        np.ones((T, d)) * [1.0, -1.0, 0.5],
        side * np.ones(d),
        rng.normal(size=(T, d)),
        rng.normal(size=(T, d)) + side,
    ):
        player = CertifiedDualAveraging(knowledge=bent(rows, R), radius=R, far=far)
        actions, bound, worst, _ = play(player, query, gradients, np.zeros(d))
        assert worst <= 0
        paid = float((gradients * actions[:-1]).sum())
        assert paid - min(float(gradients.sum(0) @ u) for u in comparators) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constant", "turning", "random"])
def test_theorem_k_bounds_steps_and_regret_in_advance(kind):
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
    promise = CertifiedDualAveraging.default(constants).guarantee
    assert promise.in_advance is None
    assert promise.regret_bound(10) == 2 * 0.9 * 1.0 * 10
    promise = CertifiedDualAveraging.known_horizon(constants, 10_000).guarantee
    assert promise.in_advance is not None
    assert promise.regret_bound(10_000) < 10_000
    with pytest.raises(ValueError, match="far must be a finite number > 0, got 0"):
        CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, far=0.0)


@pytest.mark.parametrize("eta", [None, 0.07])
def test_the_sum_of_the_gradients_starts_at_0_wherever_the_start_is(eta):
    x1, gradients = np.array([0.31, -0.22]), np.array([[0.4, 0.3], [-0.2, 0.7]])
    player = CertifiedDualAveraging(
        knowledge=Curvature(beta=0.5, reach=3.0), radius=2.0, eta=eta, far=99.0
    )
    state, total, squares = player.init(x1), np.zeros(2), 0.0
    for gradient in gradients:
        state = player.update(state, Feedback(gradient, -50.0, np.array([0.6, 0.8])))
        total, squares = total + gradient, squares + float(gradient @ gradient)
        step = 2.0 / np.sqrt(2 * squares) if eta is None else eta
        assert state.x == pytest.approx(x1 - step * total, abs=1e-14)


def test_of_a_far_point_that_is_many_units_away_F_R_is_kept():
    # The half-space p[1] <= 0.5; a far point 40 above it is kept at 0.3 * 2 above the action.
    player = CertifiedDualAveraging(
        knowledge=Curvature(beta=0.0, reach=9.0), radius=2.0, far=0.3, eta=1.0
    )
    seen = Feedback(np.array([0.25, -40.5]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    assert state.x == pytest.approx([-0.25, 0.5], abs=1e-12)
    assert info.note.share == pytest.approx(1 - 0.6 / 40, rel=1e-12)
    assert -state.learner.gradients[0] == pytest.approx([-0.25, 0.5 + 0.6], abs=1e-12)


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


# --- four far points -----------------------------------------------------------------------------


def test_two_steps_of_four_far_points_worked_by_hand():
    player = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
    seen = Feedback(np.array([0.0, -3.0]), -0.5, np.array([0.0, 1.0]))
    state, info = player.step(player.init(np.zeros(2)), seen)
    # eta = 1/(3 sqrt 2): far points at sqrt(1/2) (1, 1/4, 1, 4); the ball ends at sqrt 2 - 1.
    top, near = np.sqrt(2) - 1, np.sqrt(0.5) / 4
    learner = state.learner
    assert learner.points[:, 1] == pytest.approx([top, near, top, top], abs=1e-12)
    assert state.x == pytest.approx([0.0, 0.975 * top + 0.025 * near], abs=1e-12)
    assert info.proposal[1] == pytest.approx(np.sqrt(0.5) * (0.925 + 0.025 * 5.25))
    # Only the last is more than 0.3 beyond: that much is kept, in units of 4 eta.
    kept = 3 * np.sqrt(2) / 4 * (top + 0.3)
    assert -learner.gradients[:, 1] == pytest.approx([3.0, 3.0, 3.0, kept], abs=1e-9)
    # Then the second saves most too little, r = 3 * 0.975 (near - top): its weight is halved.
    state, _ = player.step(state, seen._replace(constraint_value=-0.05))
    saved = 3 * (learner.points[:, 1] - 0.975 * top - 0.025 * near)
    weights = np.array([0.925, 0.025, 0.025, 0.025]) * (1 + 0.5 / abs(saved[1]) * saved)
    assert state.learner.trust.weights == pytest.approx(weights, rel=1e-9)
    assert weights[1] == pytest.approx(0.0125)


NOISY = Errors(value=0.01, slope=0.02)
MOVING = Errors(value=0.01, drift=2e-3)
BOX = Box([-0.3, -0.2, -0.4], [0.5, 0.6, 0.4])
KNOWN = {
    "ball": Curvature(beta=2.0, reach=2.5),
    "ball that errs": Curvature(beta=2.0, reach=2.5, errors=NOISY),
    "ball that moves": Curvature(beta=2.0, reach=2.5, errors=MOVING),
    "rows": CurvatureRows(beta=2.0, rows=3, reach=2.5),
    "rows that err": CurvatureRows(beta=2.0, rows=3, reach=2.5, errors=NOISY),
    "rows that move": CurvatureRows(beta=2.0, rows=3, reach=2.5, errors=MOVING),
    "rows in a box": CurvatureRows(beta=2.0, rows=3, domain=BOX),
}


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["random", "pull", "flips", "greedy"]))
def test_no_round_is_outside_whatever_errs_moves_or_is_announced(known, seed, kind):
    knowledge, rng, d = KNOWN[known], np.random.default_rng(seed), 3
    errors, rows = knowledge.errors, knowledge.row_count
    query = quadratics(rng, d, rows)
    player = CertifiedDualAveraging(knowledge=knowledge, radius=2.5)
    state, shift, pull = player.init(np.zeros(d)), 0.0, rng.normal(size=d)
    if np.max(query(state.x)[0]) > -0.05:
        return
    for t in range(40):
        g, s = query(state.x)
        g = g + shift
        assert np.max(g) <= 0
        assert knowledge.domain is None or BOX.contains(state.x)
        gradient = {
            "random": rng.normal(size=d),
            "pull": pull + rng.normal(size=d),
            "flips": (-1) ** t * pull,
            "greedy": -np.atleast_2d(s)[np.argmax(g)] + 0.1 * pull,  # out of the set
        }[kind]
        tilt = rng.normal(size=np.shape(s))
        tilt *= errors.slope / np.linalg.norm(tilt, axis=-1, keepdims=True)
        told = Feedback(gradient, g + errors.value * rng.uniform(-1, 1, np.shape(g)), s + tilt)
        shut = t % 7 == 3 and not errors.drift
        within = Box(state.x - 0.1, state.x + 0.05) if shut else None
        state, info = player.step(state, told._replace(within=within))
        assert info.contradictions == ()
        assert within is None or within.contains(state.x)
        learner = state.learner
        assert learner.trust.weights.sum() == pytest.approx(1.0)
        # The mean of certified points is certified: what is played is the mean.
        assert state.x == pytest.approx(learner.trust.weights @ learner.points, abs=1e-9)
        shift += errors.drift * rng.uniform(-1, 1)


def test_readings_that_contradict_the_curvature_are_named_and_the_next_action_is_certified():
    player = CertifiedDualAveraging(knowledge=Curvature(beta=0.3, reach=0.9), radius=0.9)
    state, said = player.init(np.zeros(2)), []
    for _ in range(5):
        state, info = player.step(state, Feedback(np.array([-0.5, -1.0]), *heat(state.x)))
        said += info.contradictions
        assert info.certificate.bound <= 0
    assert "more than beta = 0.3" in said[0]


@pytest.mark.parametrize("rows", [1, 3])
def test_the_bound_counts_what_somebody_else_played(rows):
    rng, d = np.random.default_rng(3), 3
    query, pull = quadratics(rng, d, rows), np.array([1.0, -1.0, 0.5])
    player = CertifiedDualAveraging(knowledge=bent(rows, 2.5), radius=2.5)
    state, sums, paid = player.init(np.zeros(d)), player.observer(), 0.0
    comparators = [u for u in rng.normal(size=(2_000, d)) if np.max(query(u)[0]) <= 0]
    for t in range(60):
        x = 0.3 * state.x if t % 3 else state.x  # on the way back to the start
        paid += float(pull @ x)
        state, info = player.step(state, Feedback(pull, *query(x), action=x))
        sums = sums.after(info)
        best = min(float((t + 1) * pull @ u) for u in comparators)
        assert paid - best <= sums.bound(player, state)


def test_costs_with_a_distribution_and_costs_that_change_need_no_choice():
    rng, T = np.random.default_rng(5), 1_000
    side = np.repeat(np.where(np.arange(10) % 2, 1.0, -1.0), T // 10)[:, None]
    noise = rng.normal(size=(T, 2))
    still, changing = np.array([-0.5, -1.0]) + noise, side * [-0.5, -1.0] + noise
    rules = {"four": {}, "one": {"far": 99.0}}

    def cost(gradients, more):
        known = Curvature(beta=1.6, reach=0.9)
        player = CertifiedDualAveraging(knowledge=known, radius=0.9, **more)
        actions, _, worst, _ = play(player, heat, gradients, np.zeros(2))
        assert worst <= 0
        return float((gradients * actions[:-1]).sum())

    best = -np.sqrt(0.4 * (still.sum(0) ** 2 / HEAT).sum())
    calm = {name: cost(still, more) - best for name, more in rules.items()}
    assert calm["four"] <= 1.1 * calm["one"]
    moved = {name: cost(changing, more) for name, more in rules.items()}
    assert moved["four"] < moved["one"] - 300

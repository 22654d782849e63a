"""Moving balls: one step by hand, the three inequalities of the theorem, and who is refused."""

import math

import numpy as np
import pytest
from tests.knowledge._corridor import BETA, REACH, corridor, middle, voltage

from surefoot import Constants, Feedback
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.rules import MovingBalls, Stationarity
from surefoot.sets import Box


def run(player, x1, costs, limit, rounds):
    """Return what was seen: actions, gradients, values, slopes and multipliers of all rounds."""
    state, seen = player.init(np.array(x1, dtype=float)), []
    for t in range(rounds):
        x, (g, s), grad = state.x, limit(state.x), costs(t, state.x)
        state, info = player.step(state, Feedback(grad, g, s))
        weight = info.region.base.find_nearest(info.proposal).weights
        seen.append((x, grad, g, s, weight / player.proposer.eta, state.x - x))
    return [np.array(part) for part in zip(*seen, strict=True)]


def test_one_step_by_hand():
    # g = x^2 - 1, x = 1/2, f = -x: nu = 2, U(y) = 1.25, lambda = 1/4, so that x+ = 1 and
    # |grad + mu s| = 3/4 = (1 + 2 mu) |d|.
    player = MovingBalls(knowledge=Curvature(beta=2.0, reach=1.0, convex=False), eta=1.0)
    parts = run(player, [0.5], lambda t, x: np.array([-1.0]), lambda x: (x[0] ** 2 - 1, 2 * x), 1)
    _, grad, _, s, mu, d = (part[0] for part in parts)
    np.testing.assert_allclose((mu, d[0]), (0.25, 0.5), rtol=1e-12)
    np.testing.assert_allclose(abs(grad + mu * s), 0.75, rtol=1e-12)


def test_the_promise_by_hand():
    # L = 4, nu = 1/2: mu <= 2/(1/2); 2(3 + 2)/(4 * 100) with costs that change by 1 in all.
    told = {"R": 1.0, "F": 3.0, "G_f": 2.0, "beta": 2.0, "start_slack": 0.5, "convex": False}
    promise = Stationarity(Constants(**told), 4.0, 0.5)
    assert (promise.eta, promise.beta, promise.multiplier_bound) == (0.25, 2.0, 4.0)
    assert float(promise.step_bound(100)) == pytest.approx(0.015)
    assert promise.step_bound(np.array([100, 400]), 1.0) == pytest.approx([0.025, 0.00625])
    assert float(promise.residual_bound(100, 1.0)) == pytest.approx((4 + 2 * 4) ** 2 * 0.025)
    (start,) = promise.premises
    assert (start.quantity, start.limit) == ("start", 0.5)
    # A tangent alone needs no multiplier; without F or G_f nothing is bounded.
    flat = Stationarity(Constants(**told | {"beta": 0.0}), 4.0)
    assert float(flat.residual_bound(100)) == pytest.approx(4**2 * 0.015)
    assert flat.multiplier_bound == math.inf
    assert Stationarity(Constants(**told | {"G_f": None}), 4.0, 0.5).multiplier_bound == math.inf
    assert float(Stationarity(Constants(**told | {"F": None}), 4.0).step_bound(9)) == math.inf


def test_without_a_gradient_nothing_moves():
    player = MovingBalls(knowledge=Curvature(beta=2.0, reach=1.0, convex=False), eta=0.5)
    state = player.init(np.array([0.5]))
    assert player.update(state, Feedback(None, -0.75, np.array([1.0]))).x.tolist() == [0.5]
    moved = player.update(state, Feedback(np.array([0.5]), -0.75, np.array([1.0])))
    assert moved.x.tolist() == [0.25]


def least_slope(limit, points, beta):
    """Return the smallest sqrt(|s|^2 + 2 beta |g|) at feasible points, 2 % less for the rest."""
    found = [limit(p) for p in points]
    return 0.98 * min(math.sqrt(s @ s - 2 * beta * g) for g, s in found if g <= 0)


AROUND = [middle(x, y) for x in np.linspace(-1.4, 1.4, 141) for y in np.linspace(-1, 1, 201)]


@pytest.mark.parametrize("target", [(-1.3, -0.6), (1.2, 0.9), (0.0, 0.0)])
def test_the_three_inequalities_of_stationarity_hold_in_a_corridor_with_bends(target):
    far = np.hypot(*(np.abs(target) + 1.5))  # |p| <= 1.5 in the corridor
    c = Constants(R=REACH, G_f=far, F=0.5 * far**2, beta=BETA, start_slack=0.01, convex=False)
    nu = least_slope(corridor, AROUND, BETA)
    player, promise = MovingBalls.default(c, cost_curvature=1.0, least_slope=nu)
    rounds = 400
    x, grad, g, s, mu, d = run(player, middle(1.0), lambda t, x: x - target, corridor, rounds)
    long, steep = np.linalg.norm(d, axis=1), np.linalg.norm(s, axis=1)
    fall = 0.5 * np.sum((x[0] - target) ** 2)
    residual = np.linalg.norm(grad + mu[:, None] * s, axis=1)
    scale, tight = promise.multiplier_bound, (1.0 + BETA * promise.multiplier_bound) ** 2
    assert (g <= 0).all()
    assert (mu <= scale).all()
    assert np.mean(long**2) <= 2 * fall / rounds <= promise.step_bound(rounds)
    assert np.mean(residual**2) <= tight * 2 * fall / rounds <= promise.residual_bound(rounds)
    assert (mu * -g <= scale * (steep * long + 0.5 * BETA * long**2) + 1e-12).all()
    assert residual[-1] < 1e-3  # and it is stationary in the end


def test_targets_that_turn_are_followed_and_their_variation_bounds_the_steps():
    def target(t):
        return 0.8 * np.array([math.cos(t / 30), math.sin(t / 30)])

    player = MovingBalls(knowledge=Curvature(beta=BETA, reach=REACH, convex=False), eta=1.0)
    _, _, g, _, _, d = run(player, middle(0.3), lambda t, x: x - target(t), corridor, 300)
    # |f_t - f_{t-1}| = |(u_{t-1} - u_t)'x| at most, as |u_t| is the same in all rounds.
    steps = (np.linalg.norm(target(t) - target(t - 1)) for t in range(1, 300))
    c = Constants(R=REACH, F=0.5 * 2.3**2, beta=BETA, start_slack=0.05, convex=False)
    promise = Stationarity(c, 1.0)
    assert (g <= 0).all()
    assert np.mean(np.sum(d**2, axis=1)) <= promise.step_bound(300, 1.5 * sum(steps))
    assert promise.residual_bound(300) == math.inf  # without a least slope


def test_costs_that_change_can_fall_by_twice_their_variation_more():
    # f_1 = a^2 and f_2 = (b - 1)^2 - 1/2 on the triangle of (0, 0), (1, 0) and (0, 1): both fall by
    # 1 = F, though they differ by at most 1/2. A little room makes the start strictly feasible.
    A, b = np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0]) + 1e-6
    player = MovingBalls(knowledge=CurvatureRows(beta=0.0, rows=3, reach=2.0), eta=0.5)
    state, long = player.init(np.array([1.0, 0.0])), []
    for f in (lambda x: [2 * x[0], 0.0], lambda x: [0.0, 2 * (x[1] - 1)]):
        x = state.x
        state = player.update(state, Feedback(np.array(f(x)), A @ x - b, A))
        long.append(state.x - x)
    promise = Stationarity(Constants(R=2.0, F=1.00001, beta=0.0, start_slack=1e-6), 2.0)
    assert 0.9999 < np.mean(np.sum(np.square(long), axis=1)) <= promise.step_bound(2, 0.50001)


def test_the_tangent_of_a_concave_limit_certifies_and_its_boundary_is_reached():
    c = Constants(R=4.0, beta=0.0, start_slack=0.02, convex=False)
    player, promise = MovingBalls.default(c, cost_curvature=20.0)
    _, grad, g, s, mu, _ = run(player, [0.0, 0.0], lambda t, x: x - [1.5, 1.0], voltage, 600)
    assert (g <= 0).all()
    assert g[-1] > -1e-6
    assert np.linalg.norm(grad[-1] + mu[-1] * s[-1]) < 1e-4
    assert promise.residual_bound(10) == math.inf  # F is not known


def test_rows_and_a_known_set_are_kept_too():
    def both(p):
        (g, s), y = corridor(p), p[1] - 0.4
        return np.array([g, y]), np.stack([s, [0.0, 1.0]])

    box = Box([-1.2, -1.0], [0.9, 1.0])
    known = CurvatureRows(beta=(BETA, 0.0), domain=box, convex=False)
    player = MovingBalls(knowledge=known, eta=0.5)
    state, total = player.init(middle(0.1)), 0.0
    for _ in range(200):
        x, (g, s) = state.x, both(state.x)
        assert g.max() <= 0
        assert box.contains(x)
        state = player.update(state, Feedback(x - [1.0, 0.9], g, s))
        total += np.sum((state.x - x) ** 2)
    assert total <= 2 * 0.5 * np.sum((middle(0.1) - [1.0, 0.9]) ** 2) / 2.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MovingBalls(knowledge=Curvature(beta=1.0, reach=1.0), eta=0.0), "eta must be"),
        (lambda: MovingBalls(knowledge=3.0, eta=1.0), "knowledge must be a Curvature or"),
        (
            lambda: MovingBalls.default(Constants(R=1.0, start_slack=0.1), cost_curvature=1.0),
            "needs R and beta|needs beta",
        ),
        (
            lambda: Stationarity(Constants(R=1.0, beta=1.0, start_slack=0.0), 1.0),
            "start_slack = -g",
        ),
        (
            lambda: Stationarity(Constants(R=1.0, beta=1.0, start_slack=0.1), 1.0, -1.0),
            "least_slope must be",
        ),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_start_on_the_boundary_is_refused_though_its_slope_is_zero():
    player = MovingBalls(knowledge=Curvature(beta=1.0, reach=1.0, convex=False), eta=1.0)
    with pytest.raises(ValueError, match="the start must be strictly feasible"):
        player.step(player.init(np.zeros(2)), Feedback(np.ones(2), 0.0, np.zeros(2)))

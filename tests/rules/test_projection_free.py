"""Methods that do without a projection: hand-worked steps, lemmas, oracle budgets, adversaries."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import OGD, Ball, Constants, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.rules.related.garber_kretzu import (
    GarberKretzu,
    PenalisedBlocks,
    TrackingBlocks,
    close_projection,
)
from surefoot.rules.related.gauge import AdaptiveGauge, GaugeDescent, GaugeNewton
from surefoot.rules.related.levy_krause import LevyKrause
from surefoot.rules.related.separation_descent import SeparationDescent
from surefoot.sets import (
    BallGauge,
    BisectionGauge,
    Box,
    Ellipsoid,
    RowsGauge,
    gauge_of,
    separation_of,
    smooth_of,
)

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
CUBE = Box.cube(0.5, 5)


def told(gradient):
    return Feedback(np.asarray(gradient, dtype=float), None, None)


class Counting:
    """An oracle or a set that counts how often it is asked."""

    def __init__(self, inner):
        self.inner, self.calls, self.failed = inner, 0, 0

    def __call__(self, x):
        self.calls += 1
        answer = self.inner(x)
        self.failed += answer is not None
        return answer

    def minimize_linear(self, c):
        self.calls += 1
        # Of two corners the upper one, as the steps worked by hand have it.
        return np.where(c <= 0, 1.0, -1.0)

    def __getattr__(self, name):
        return getattr(self.inner, name)


# --- close infeasible projections ----------------------------------------------------------------


def test_a_far_point_is_projected_in_three_calls():
    square = Counting(SQUARE)
    x, y = close_projection(square, np.zeros(2), np.array([3.0, 0.0]), 0.5)
    np.testing.assert_allclose((x, y), ([1.0, 0.0], [1.0, 0.0]), atol=1e-15)
    assert square.calls == 3


def test_one_cut_ends_the_projection_of_a_near_point():
    square = Counting(SQUARE)
    x, y = close_projection(square, np.array([1.0, 0.2]), np.array([1.6, 0.4]), 0.5)
    np.testing.assert_allclose((x, y), ([1.0, 0.2], [1.24, 0.28]), atol=1e-15)
    assert square.calls == 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.floats(0.05, 2.0),
    st.floats(0.0, 5.0),
    st.integers(0, 2**32 - 1),
)
def test_a_close_projection_is_in_the_set_near_and_not_farther_from_it(d, closeness, far, seed):
    rng = np.random.default_rng(seed)
    cube = Box.cube(1.0, d)
    x, y = rng.uniform(-1, 1, d), far * rng.normal(size=d)
    new, moved = close_projection(cube, x, y, closeness)
    assert cube.contains(new)
    assert np.linalg.norm(new - moved) <= closeness * (1 + 1e-12)
    for z in rng.uniform(-1, 1, (20, d)):
        assert np.linalg.norm(moved - z) <= np.linalg.norm(y - z) * (1 + 1e-12)


def test_the_parameters_of_the_blocks_are_those_of_the_worked_example():
    tuned = GarberKretzu.known_horizon(Constants(R=2.0, G_f=1.0), 16, SQUARE)
    assert (tuned.algorithm.block, tuned.guarantee.linear_minimisations) == (4, 28)
    np.testing.assert_allclose(
        [tuned.algorithm.eta, tuned.algorithm.closeness, tuned.guarantee.regret_bound(16)],
        [0.353553, 1.414214, 45.254834],
        rtol=2e-6,
    )


# --- gauges --------------------------------------------------------------------------------------


def test_the_gauge_of_a_square_and_its_surrogate_are_those_of_the_worked_example():
    gauge = gauge_of(Box.cube(0.5, 2))
    gamma, s = gauge(np.array([1.0, 0.5]))
    assert (gamma, s.tolist()) == (2.0, [2.0, 0.0])
    player = GaugeDescent(gauge=gauge, domain=Ball(2.0), eta=1.0)
    state = player.init(np.array([1.0, 0.5]))
    np.testing.assert_allclose(state.x, [0.5, 0.25], rtol=1e-12)
    after = player.update(state, told([-1.0, 1.0]))
    np.testing.assert_allclose(state.w - after.w, [-0.5, 1.0], rtol=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_gauge_inequality_holds_at_every_point_of_the_set(d, seed):
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.1, 1.0, d)
    box = Box(-half, half)
    R = float(np.linalg.norm(half)) * 1.5
    player = GaugeDescent(gauge=gauge_of(box), domain=Ball(R), eta=1.0)
    w = rng.normal(size=d)
    w *= R * rng.uniform() / np.linalg.norm(w)
    gradient = rng.normal(size=d)
    G_f, kappa = np.linalg.norm(gradient), R / half.min()
    state = player.init(w)
    moved = Ball(1e9)
    surrogate = (
        w - GaugeDescent(gauge=gauge_of(box), domain=moved, eta=1.0).update(state, told(gradient)).w
    )
    assert np.linalg.norm(surrogate) <= (1 + kappa) * G_f * (1 + 1e-9)
    for u in rng.uniform(-half, half, (30, d)):
        q = surrogate @ (w - u) - gradient @ (state.x - u)
        assert -1e-9 * G_f * R <= q <= (1 + kappa) * G_f * R * (1 + 1e-9)


def test_bisection_finds_the_exact_gauge_from_outside_answers_alone():
    box = Box.cube(0.5, 3)
    oracle = BisectionGauge(box.contains, 0.5, 2.0, 1e-10)
    exact = gauge_of(box)
    for w in np.random.default_rng(0).normal(size=(20, 3)):
        gamma, s = oracle(w)
        assert box.contains(w / gamma)
        assert 0 <= gamma - exact(w)[0] <= 1e-10 * 1.01
        np.testing.assert_allclose(s, exact(w)[1], atol=1e-4)


def test_gauge_descent_by_bisection_plays_as_with_the_exact_gauge():
    box, c = Box.cube(0.5, 2), Constants(R=1.0, G_f=3.0, start_reach=1.0)
    oracle = BisectionGauge(box.contains, 0.5, 1.0, 1e-9)
    exact, near = GaugeDescent.fixed(c, 200, box), GaugeDescent.fixed(c, 200, oracle)
    assert near.guarantee.regret_bound(200) > exact.guarantee.regret_bound(200)
    rng = np.random.default_rng(1)
    states = [p.algorithm.init(np.zeros(2)) for p in (exact, near)]
    for gradient in rng.normal(size=(200, 2)) - 1:
        states = [
            p.algorithm.update(s, told(gradient))
            for p, s in zip((exact, near), states, strict=True)
        ]
        assert box.contains(states[1].x)
    assert np.linalg.norm(states[0].x - states[1].x) < 0.1


def test_the_gauge_of_a_ball_makes_descent_projected_descent_on_it():
    player = GaugeDescent(gauge=BallGauge(1.0), domain=Ball(1.0), eta=0.3)
    plain = OGD(eta=0.3, domain=Ball(1.0))
    a, b = player.init(np.zeros(3)), plain.init(np.zeros(3))
    for gradient in np.random.default_rng(2).normal(size=(300, 3)):
        a, b = player.update(a, told(gradient)), plain.update(b, told(gradient))
        np.testing.assert_allclose(a.w, b.x, atol=1e-12)


def test_the_newton_step_takes_the_values_of_the_worked_example():
    gauge = gauge_of(Box([-0.5], [0.5]))
    c = Constants(R=1.0, G_f=1.0, start_reach=1.0, diameter=1.0)
    tuned = GaugeNewton.known_horizon(c, 4, Box([-0.5], [0.5]))
    assert tuned.algorithm.beta == pytest.approx(1 / 3)
    player = GaugeNewton(gauge=gauge, domain=Ball(1.0), beta=1 / 3, reach=1.0)
    state = player.init(np.zeros(1))
    assert state.metric == pytest.approx(9.0)
    state = player.update(state, told([1.0]))
    assert (state.w[0], state.metric[0, 0]) == pytest.approx((-0.3, 10.0))
    state = player.update(state, told([1.0]))
    assert (state.w[0], state.x[0]) == pytest.approx((-0.572727, -0.5))
    after = player.update(state, told([1.0]))
    np.testing.assert_allclose(after.w, state.w, atol=1e-12)


# --- smooth sets ---------------------------------------------------------------------------------


def test_a_start_near_every_comparator_does_not_make_newton_steps_too_long():
    # The surrogate's slack is at most (1 + kappa) G_f R, however near the start is.
    near = Constants(R=1.0, G_f=1.0, start_reach=0.1, diameter=1.0)
    theorem = GaugeNewton.known_horizon(near, 1, Box.cube(0.5, 1)).guarantee
    assert theorem.beta * theorem.slope * 1.0 <= 1.0


def test_a_point_outside_the_disc_is_drawn_back_as_in_the_worked_example():
    player = LevyKrause(smooth=smooth_of(Ball(1.0)), eta=1.0)
    after = player.update(player.init(np.zeros(2)), told([-2.0, 0.0]))
    np.testing.assert_allclose(after.x, [0.8, 0.0], rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_an_ellipsoid_is_never_left(d, size, seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(d, d))
    ellipsoid = Ellipsoid(M @ M.T + 0.1 * np.eye(d))
    smooth = smooth_of(ellipsoid)
    player = LevyKrause(smooth=smooth, eta=size)
    state = player.init(np.zeros(d))
    for gradient in rng.normal(size=(40, d)):
        state = player.update(state, told(gradient))
        assert smooth(state.x)[0] <= 0
        assert ellipsoid.contains(state.x)


# --- separation ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("deep", "x", "cuts"), [(False, 0.45, 3), (True, 0.4, 1)])
def test_cuts_are_those_of_the_worked_example(deep, x, cuts):
    oracle = Counting(separation_of(Box.cube(0.5, 2)))
    player = SeparationDescent(separation=oracle, domain=Ball(1.0), eta=0.5, depth=0.1, deep=deep)
    state = player.init(np.array([0.4, 0.0]))
    oracle.failed = 0
    after = player.update(state, told([-0.7, 0.0]))
    np.testing.assert_allclose(after.x, [x, 0.0], atol=1e-12)
    assert oracle.failed == cuts == after.cuts


# --- adversaries ---------------------------------------------------------------------------------


def streams(d, T):
    """Unit linear costs: constant, alternating, switching, random."""
    rng = np.random.default_rng(d + T)
    one = rng.normal(size=d)
    one /= np.linalg.norm(one)
    noise = rng.normal(size=(T, d))
    signs = np.where(np.arange(T) // math.isqrt(T) % 2 == 0, 1.0, -1.0)
    yield "constant", np.tile(one, (T, 1))
    yield "alternating", np.where(np.arange(T)[:, None] % 2 == 0, one, -one)
    yield "switching", signs[:, None] * one
    yield "random", noise / np.linalg.norm(noise, axis=1, keepdims=True)


def tuned_on_the_cube(T):
    R = float(np.linalg.norm(CUBE.upper))
    c = Constants(R=R, G_f=1.0, start_reach=R, diameter=CUBE.diameter)
    yield GarberKretzu.known_horizon(c, T, CUBE)
    yield SeparationDescent.known_horizon(c, T, CUBE)
    yield SeparationDescent.deep_cuts(c, T, CUBE)
    yield GaugeDescent.fixed(c, T, CUBE)
    yield AdaptiveGauge.known_horizon(c, T, CUBE)
    yield GaugeNewton.known_horizon(c, T, CUBE)
    yield TrackingBlocks.known_horizon(c, T, CUBE)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(7))
def test_bounds_and_feasibility_hold_against_linear_costs(index):
    T = 300
    for _, costs in [*streams(5, T), ("greedy", None)]:
        tuned = list(tuned_on_the_cube(T))[index]
        player, state, total, paid = tuned.algorithm, None, np.zeros(5), 0.0
        state = player.init(np.zeros(5))
        for t in range(T):
            x = state.x
            assert CUBE.contains(x)
            if costs is None:  # from the leader in hindsight to the action
                way = x - CUBE.minimize_linear(total)
                size = np.linalg.norm(way)
                gradient = way / size if size > 0 else np.ones(5) / math.sqrt(5)
            else:
                gradient = costs[t]
            paid, total = paid + gradient @ x, total + gradient
            state = player.update(state, told(gradient))
        best = float(total @ CUBE.minimize_linear(total))
        assert paid - best <= tuned.guarantee.regret_bound(T)


def test_the_budget_of_linear_minimisations_is_kept():
    T = 400
    for _, costs in streams(5, T):
        tuned = next(iter(tuned_on_the_cube(T)))
        cube = Counting(CUBE)
        cube.minimize_linear = lambda c, cube=cube: (
            setattr(cube, "calls", cube.calls + 1),
            CUBE.minimize_linear(c),
        )[1]
        player = GarberKretzu(
            eta=tuned.algorithm.eta,
            block=tuned.algorithm.block,
            closeness=tuned.algorithm.closeness,
            domain=cube,
        )
        state = player.init(np.zeros(5))
        for gradient in costs:
            state = player.update(state, told(gradient))
        assert cube.calls <= tuned.guarantee.linear_minimisations <= 1.39 * T + 3 * math.sqrt(T)


def test_the_budget_of_cuts_is_kept():
    T = 400
    for deep in (False, True):
        for _, costs in streams(5, T):
            tuned = list(tuned_on_the_cube(T))[2 if deep else 1]
            state = tuned.algorithm.init(np.zeros(5))
            for gradient in costs:
                state = tuned.algorithm.update(state, told(gradient))
            kappa = tuned.guarantee.kappa
            assert state.cuts <= tuned.guarantee.cuts == (2 * kappa + 1) * T


def test_no_interval_has_more_regret_than_its_bound():
    T = 256
    for _, costs in streams(5, T):
        for index in (1, 3, 4):
            tuned = list(tuned_on_the_cube(T))[index]
            state, actions = tuned.algorithm.init(np.zeros(5)), []
            for gradient in costs:
                actions.append(state.x)
                state = tuned.algorithm.update(state, told(gradient))
            paid = np.cumsum(np.append(0.0, np.vecdot(costs, actions)))
            sums = np.vstack([np.zeros(5), np.cumsum(costs, axis=0)])
            for first in range(0, T, 16):
                for last in range(first + 1, T + 1, 5):
                    best = -0.5 * np.abs(sums[last] - sums[first]).sum()
                    regret = paid[last] - paid[first] - best
                    assert regret <= tuned.guarantee.interval_bound(last - first)


# --- bad input -----------------------------------------------------------------------------------

C = Constants(R=1.0, G_f=1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaugeDescent.fixed(C, 10, Box.cube(2.0, 2)), "inner_radius must be at most"),
        (lambda: gauge_of(Box([0.0, 0.0], [1.0, 1.0])), "so that 0 is inside"),
        (lambda: gauge_of(3), "must be a Ball around 0, a Box"),
        (lambda: BisectionGauge(SQUARE.contains, 2.0, 1.0, 1e-9), "inner_radius must be at most"),
        (lambda: smooth_of(SQUARE), "must be a Ball, an Ellipsoid"),
        (lambda: separation_of(3), "must separate or project"),
        (lambda: SeparationDescent.known_horizon(C, 1, Box.cube(0.1, 2)), "needs a horizon of at"),
        (lambda: GarberKretzu.known_horizon(C, 0, SQUARE), "horizon must be a whole number"),
        (
            lambda: SeparationDescent(
                separation=separation_of(SQUARE), domain=Ball(9.0), eta=1.0, depth=0.1
            ).init(np.array([2.0, 0.0])),
            "x1 must be in the feasible set",
        ),
        (lambda: TrackingBlocks(experts=(), rate=1.0), "experts must be rules GarberKretzu"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


def test_the_gauge_at_the_centre_is_zero_with_a_zero_slope():
    for gauge in (
        BallGauge(1.0),
        RowsGauge(np.eye(2)),
        BisectionGauge(SQUARE.contains, 1.0, 2.0, 1e-9),
    ):
        gamma, s = gauge(np.zeros(2))
        assert (gamma, s.tolist()) == (0.0, [0.0, 0.0])


def test_a_quadratic_set_knows_its_shape():
    flat = smooth_of(Ellipsoid(np.diag([0.25, 4.0])))
    assert (flat.curvature, flat.reach) == (pytest.approx(8.0), pytest.approx(2.0))
    assert flat(np.array([2.0, 0.0]))[0] == 0.0


@pytest.mark.parametrize("g", [-0.7, 0.0, 0.7])
def test_only_a_violation_is_penalised(g):
    base = GarberKretzu(eta=0.25, block=1, closeness=0.5, domain=SQUARE)
    player = PenalisedBlocks(base=base, theta=0.4)
    gradient, s = np.array([-1.0, 0.3]), np.array([2.0, -0.6])
    seen = Feedback(gradient, g, s)
    penalised = gradient + (0.7 / 0.4 * s if g > 0 else 0.0)
    found = player.update(player.init(np.zeros(2)), seen)
    assert found.y == pytest.approx(base.update(base.init(np.zeros(2)), told(penalised)).y)
    assert found.y == pytest.approx(-0.25 * penalised)

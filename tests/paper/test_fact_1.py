"""Fact 1: the Polyak feasibility step is a projection onto a half-space that holds X_rho."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from surefoot import PFS, Ball, Feedback
from surefoot.rules.states import ActionState
from surefoot.sets import project_halfspace

from ._cases import CASES, EXACT

U = 2.0**-53
cases = pytest.mark.parametrize("case", CASES, ids=str)


def vectors(d, size=3.0):
    # Whole multiples of 1/64 too: exact ties and exact zeros come up often.
    entry = st.floats(-size, size, allow_subnormal=False) | st.integers(-64, 64).map(
        lambda k: k * size / 64
    )
    return st.lists(entry, min_size=d, max_size=d).map(np.array)


@st.composite
def rounds(draw):
    """A round that could have happened: action, gradient, g, s, eta, rho, R."""
    d = draw(st.integers(1, 5))
    x, grad, s = draw(vectors(d)), draw(vectors(d)), draw(vectors(d))
    assume(np.linalg.norm(s) > 1e-3)
    g = draw(st.floats(-2, 2))
    eta, rho = draw(st.floats(1e-3, 2)), draw(st.floats(0, 1))
    return x, grad, g, s, eta, rho, draw(st.floats(0.5, 8))


@given(rounds())
def test_the_update_is_line_5_of_algorithm_1(round_):
    x, grad, g, s, eta, rho, R = round_
    y = x - eta * grad
    p = y - max(g + s @ (y - x) + rho, 0.0) / (s @ s) * s
    length = np.linalg.norm(p)  # 0 too where the squares underflow
    expected = p * (R / length) if length > R else p

    player = PFS(eta=eta, rho=rho, domain=Ball(R))
    found = player.update(ActionState(x), Feedback(grad, g, s)).x
    # The step is at most |excess|/|s| long, and each of its terms errs by a few U of itself.
    scale = np.linalg.norm(y) + (abs(g) + np.linalg.norm(s) * eta * np.linalg.norm(grad) + rho) / (
        np.linalg.norm(s)
    )
    assert found == pytest.approx(expected, abs=64 * U * scale, rel=0)


@given(rounds(), st.integers(0, 10**6))
def test_the_half_space_point_is_the_nearest_of_the_half_space(round_, seed):
    x, grad, g, s, eta, rho, _ = round_
    y = x - eta * grad
    excess = g + float(s @ (y - x)) + rho
    p = project_halfspace(y, excess, s)
    scale = np.linalg.norm(y) + np.linalg.norm(x) + (abs(g) + rho) / np.linalg.norm(s)
    rounding = 64 * U * scale
    if excess <= 0:
        assert p is y
        return
    # On the boundary of H_t ...
    assert (g + s @ (p - x) + rho) / np.linalg.norm(s) == pytest.approx(0, abs=rounding)
    # ... and no point of H_t, here random points moved into it, is nearer to y.
    q = p + np.random.default_rng(seed).normal(size=(20, len(p))) * scale
    q -= np.maximum((q - p) @ s, 0)[:, None] / (s @ s) * s
    assert (np.linalg.norm(q - y, axis=1) >= np.linalg.norm(p - y) - rounding).all()


@cases
def test_the_half_space_holds_the_tightened_set_whatever_subgradient_is_seen(case):
    rng = np.random.default_rng(2)
    points = case.points()
    for rho in case.levels:
        inside = case.project(points, rho)
        assert (case.value(inside) + rho <= EXACT).all()
        for x in points[rng.choice(len(points), 25, replace=False)]:
            g = case.constraint.value(x)
            seen = np.atleast_2d(case.constraint.subgradient(x))
            corners = case.gradients(x)
            mixed = rng.dirichlet(np.ones(len(corners))) @ corners
            for s in [*seen, *corners, mixed]:
                assert (g + (inside - x) @ s + rho <= EXACT).all()


@cases
def test_neither_projection_moves_away_from_a_point_of_the_tightened_set(case):
    rng = np.random.default_rng(4)
    x = case.points()
    rho = 0.37 * case.constants.epsilon
    inside = case.project(x, rho)
    y = x + rng.normal(size=x.shape)
    g, s = case.constraint.query(x)
    p = project_halfspace(y, g + np.vecdot(s, y - x)[:, None] + rho, s)
    b = case.domain.project(p)
    for u in inside[:: len(inside) // 12]:
        # The Pythagorean form, which is stronger than the printed |p - u| <= |y - u|.
        before, middle, after = (np.sum((q - u) ** 2, axis=1) for q in (y, p, b))
        assert (middle <= before - np.sum((y - p) ** 2, axis=1) + EXACT).all()
        assert (after <= middle - np.sum((p - b) ** 2, axis=1) + EXACT).all()


def test_without_the_first_order_term_the_step_is_another_one():
    # A negative control for the tests above: pitfall (i), constraint data at x but no s'(y - x).
    x, grad, s = np.array([0.4, 0.1]), np.array([-1.0, 0.5]), np.array([1.0, 0.5])
    y = x - 0.3 * grad
    right = project_halfspace(y, -0.1 + float(s @ (y - x)) + 0.05, s)
    wrong = project_halfspace(y, -0.1 + 0.05, s)
    # H_t = {x : x_1 + x_2/2 <= .5}, by hand: -.1 + (x - (.4, .1)) s + .05 <= 0.
    assert y @ s > 0.6
    assert right @ s == pytest.approx(0.5)
    assert wrong @ s > 0.5


@pytest.mark.slow
@given(
    rounds(),
    st.integers(-100, 100),
    st.integers(-100, 100),
    st.integers(-100, 100),
)
def test_the_step_is_the_same_at_any_scale_of_action_constraint_and_cost(round_, i, j, k):
    # Measured in other units (x by 10^i, subgradients by 10^j, cost gradients by 10^k) the same
    # round gives the same step: nothing overflows or vanishes between 1e-100 and 1e100.
    x, grad, g, s, eta, rho, R = round_
    a, b, c = 10.0**i, 10.0**j, 10.0**k
    plain = PFS(eta=eta, rho=rho, domain=Ball(R)).update(ActionState(x), Feedback(grad, g, s)).x
    # eta has units of x over cost gradient; g and rho those of x times s. Keep all in range.
    assume(abs(i - k) <= 100 and abs(i + j) <= 200)
    scaled = PFS(eta=eta * a / c, rho=rho * a * b, domain=Ball(R * a))
    seen = Feedback(grad * c, g * a * b, s * b)
    found = scaled.update(ActionState(x * a), seen).x / a
    scale = R + np.linalg.norm(x) + eta * np.linalg.norm(grad) + (abs(g) + rho) / np.linalg.norm(s)
    assert found == pytest.approx(plain, abs=256 * U * scale * math.sqrt(len(x)), rel=0)

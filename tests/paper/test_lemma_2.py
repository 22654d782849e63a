"""Lemma 2: a Polyak step shrinks the distance to X_rho by at least sqrt(gamma)."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import PFS, Ball, Feedback
from surefoot.problems.constraints import LinfNorm
from surefoot.rules.states import ActionState

from ._cases import CASES, EXACT

cases = pytest.mark.parametrize("case", CASES, ids=str)
# Near the boundary of these g has one gradient: there is no kink to choose at.
SMOOTH = {"interval", "disc off centre", "paraboloid", "ellipsoid"}
KINKED = [case for case in CASES if case.name not in SMOOTH]


def polyak_step(domain, rho, x, g, s):
    """The library's step with a cost that is flat: y_t = x_t."""
    player = PFS(eta=1.0, rho=rho, domain=domain)
    return player.update(ActionState(x), Feedback(np.zeros_like(x), g, s)).x


@cases
def test_one_step_contracts_from_every_point_of_the_ball(case):
    c = case.constants
    x = case.points(n=200)
    g, s = case.constraint.query(x)
    for rho in case.levels:
        after = polyak_step(case.domain, rho, x, g, s)
        length = np.maximum(np.linalg.norm(s, axis=1), 1e-300)
        gained = np.where(g[:, 0] + rho > 0, (g[:, 0] + rho) / length, 0.0)
        before = case.distance(x, rho) ** 2
        left = case.distance(after, rho) ** 2
        assert (left <= before - gained**2 + EXACT).all()
        assert (before - gained**2 <= c.gamma * before + EXACT).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", KINKED, ids=str)
def test_any_subgradient_at_a_kink_will_do(case):
    c, rho = case.constants, 0.37 * case.constants.epsilon
    rng = np.random.default_rng(6)
    kinks = 0
    for x in case.points(n=40):
        corners = case.gradients(x)
        g = case.constraint.value(x)
        if len(corners) == 1 or g + rho <= 0:
            continue
        kinks += 1
        before = case.distance(x[None], rho)[0]
        for weights in rng.dirichlet(np.ones(len(corners)), size=5):
            after = polyak_step(case.domain, rho, x, g, weights @ corners)
            assert case.distance(after[None], rho)[0] <= np.sqrt(c.gamma) * before + EXACT
    assert kinks > 0


@cases
def test_steps_in_a_row_contract_geometrically(case):
    c, rho = case.constants, case.constants.epsilon
    x = case.points()
    first = case.distance(x, rho)
    for t in range(1, 30):
        g, s = case.constraint.query(x)
        x = polyak_step(case.domain, rho, x, g, s)
        assert (case.distance(x, rho) <= c.gamma ** (t / 2) * first + EXACT).all()


def test_the_factor_is_attained_on_the_diagonal_of_a_square():
    # One coordinate is put right, the other is not: the squared distance halves, and gamma = 1/2.
    g = LinfNorm(0.5, 2)
    x, rho = np.array([0.625, 0.625]), 0.125
    value, s = g.query(x)
    after = polyak_step(Ball(1.0), rho, x, value, s)
    assert after.tolist() == [0.375, 0.625]
    assert g.constants(Ball(1.0)).gamma == pytest.approx(0.5, rel=1e-15)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.floats(0, 1), st.integers(-100, 100))
def test_it_holds_at_any_scale(entries, share, exponent):
    scale = 10.0**exponent
    d = len(entries)
    g = LinfNorm(0.5 * scale, d)
    domain = Ball(scale * np.sqrt(d))
    c = g.constants(domain)
    rho = share * c.epsilon
    x = scale * np.array(entries)
    after = polyak_step(domain, rho, x, *g.query(x))
    r = 0.5 * scale - rho
    before, left = (np.linalg.norm(p - np.clip(p, -r, r)) for p in (x, after))
    assert left <= np.sqrt(c.gamma) * before + 32 * d * 2.0**-53 * scale

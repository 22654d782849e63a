"""Optimising Theorem 1's bound instead of taking Corollary 1's fixed choice."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import PFS, Constants, Problem, play
from surefoot.core.constants import polyak_rate
from surefoot.problems import binding_toy, paper_toy
from surefoot.rules import Corollary1, Theorem1, tune_polyak

from ._cases import CASES, greedy, linear_regret, random_slopes

# The steps are shortened by 1e-9 for the sake of rounding, which costs that much of the bound.
SHORTENED = 1 + 2e-9


@st.composite
def problems(draw):
    """Constants with both sources of sigma, and a horizon."""
    size = st.floats(0.05, 20)
    R, G_f, G_g = draw(size), draw(size), draw(size)
    depth = draw(st.floats(0.05, 1)) * G_g * R
    return Constants(
        R=R,
        G_f=G_f,
        G_g=G_g,
        sigma=draw(st.floats(0.02, 1)) * G_g,
        epsilon=draw(st.floats(0.05, 1)) * depth,
        start_slack=draw(st.floats(0.01, 1)) * depth,
        start_reach=draw(st.floats(1, 2)) * R,
    ), draw(st.sampled_from([1, 2, 10, 300, 20_000, 10**7]))


def at_epsilon(c):
    """The same constants without the local form: Theorem 1 with sigma at epsilon alone."""
    return c.with_origin("given", start_reach=None)


def local_only(c):
    """The same constants with nothing but the start to get sigma from."""
    return c.with_origin("given", sigma=None, epsilon=None)


@settings(max_examples=12)  # a numerical search takes a tenth of a second
@given(problems())
@pytest.mark.slow
def test_the_bound_is_never_worse_than_corollary_1s(drawn):
    c, T = drawn
    fixed = Corollary1(c, T).regret_bound(T)
    for known in (c, at_epsilon(c)):
        tuned = tune_polyak(known, T)
        assert tuned.kind == "every round"
        assert tuned.rho <= min(tuned.constants.epsilon, c.start_slack)
        assert tuned.regret_bound(T) <= fixed * SHORTENED


@pytest.mark.slow
@settings(max_examples=30)
@given(problems())
def test_no_feasible_pair_on_a_grid_is_better_with_sigma_at_epsilon(drawn):
    c, T = drawn
    c = at_epsilon(c)
    best = tune_polyak(c, T).regret_bound(T)
    for rho in min(c.epsilon, c.start_slack) * np.geomspace(1e-4, 1, 41):
        longest = c.xi * rho / (c.G_f * c.G_g)
        for eta in longest * np.geomspace(1e-3, 1, 13):
            other = Theorem1(c, float(eta), float(rho), T).regret_bound(T)
            assert best <= other * SHORTENED


@settings(max_examples=12)
@given(problems())
def test_no_feasible_pair_on_a_grid_is_better_with_the_local_form(drawn):
    c, T = drawn
    c = local_only(c)
    best = tune_polyak(c, T).regret_bound(T)
    rho = c.start_slack * np.linspace(0.003, 0.997, 80)[:, None]
    sigma = np.minimum((c.start_slack - rho) / c.start_reach, c.G_g)
    xi = np.array([[polyak_rate(float(s), c.G_g)] for s in sigma[:, 0]])
    eta = xi * rho / (c.G_f * c.G_g) * np.geomspace(1e-3, 1, 13)
    moved = rho * c.start_reach / c.start_slack  # how far the best action is moved inwards
    grid = 2 * c.R**2 / eta + eta / 2 * c.G_f**2 * T + c.G_f * moved * T
    assert best <= grid.min() * SHORTENED


@pytest.mark.parametrize("T", [400, 20_000, 10**6])
def test_the_closed_form_of_alpha_star(T):
    # alpha* = sqrt((2 G_g R^2/xi)/(xi/(2 G_g) + 1/sigma)) and rho = alpha*/sqrt T, which may be
    # above the corollary's alpha <= epsilon as long as rho itself is not.
    c = at_epsilon(paper_toy(horizon=1, trials=1).constants)
    star = math.sqrt((2 * c.G_g * c.R**2 / c.xi) / (c.xi / (2 * c.G_g) + 1 / c.sigma))
    assert star == pytest.approx(2.09, abs=5e-3)
    assert star > c.epsilon
    assert tune_polyak(c, T).rho == pytest.approx(star / math.sqrt(T), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "slack"), [(0.25, 0.5), (0.25, 0.1), (0.4, 0.3)])
def test_rho_is_cut_off_at_what_the_start_and_epsilon_allow(epsilon, slack):
    c = Constants(R=1.0, G_f=3.0, G_g=1.0, sigma=0.6, epsilon=epsilon, start_slack=slack)
    short = tune_polyak(c, 4)
    assert short.rho == min(epsilon, slack)
    assert short.kind == "every round"
    long = tune_polyak(c, 10**6)
    assert long.rho < min(epsilon, slack)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("T", [1, 150])
@pytest.mark.slow
def test_the_local_form_alone_keeps_every_round_feasible(case, T):
    size = 1.2
    c = local_only(case.constants).with_origin("given", G_f=size)
    player = PFS.tuned(c, T)
    assert player.guarantee.constants.origins["sigma"] == "local"
    for costs in (
        random_slopes(case.dimension, T, size),
        greedy(player.algorithm, case, T, size),
    ):
        problem = Problem(
            costs=costs,
            constraint=case.constraint,
            domain=case.domain,
            start=case.start,
            constants=c,
        )
        trace = play(player, problem, watch="raise")
        assert (trace.constraint <= 0).all()
        realised = costs if hasattr(costs, "slopes") else costs.realise(trace.actions)
        regret = linear_regret(case, realised.slopes, trace.actions)
        # The tightening term is G_f rho D_0/alpha here, not G_f rho/sigma: it must still hold.
        assert (regret <= player.guarantee.regret_bound(trace.rounds)).all()


@pytest.mark.parametrize("toy", [paper_toy, binding_toy])
def test_the_toy_can_be_played_on_the_local_form_alone(toy):
    problem = toy(horizon=1_000, trials=4)
    player = PFS.tuned(local_only(problem.constants), 1_000)
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert (player.guarantee.regret_bound(trace.rounds) >= trace.regret().upper.T).all()


def test_a_start_of_unknown_reach_is_tuned_with_the_diameter_of_the_ball():
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5)
    far = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=2.0)
    assert tune_polyak(c, 100).regret_bound(100) == tune_polyak(far, 100).regret_bound(100)


def test_where_the_reach_of_the_start_is_known_the_bound_begins_there():
    T, c = 20_000, paper_toy(100, trials=1).constants
    player, found = PFS.tuned(c, T)
    other, old = PFS.tuned(c.with_origin("given", start_reach=None), T)
    assert (player.eta, player.rho) == (other.eta, other.rho)
    assert float(found.regret_bound(T)) == pytest.approx(8_359.2, abs=0.1)
    assert float(old.regret_bound(T)) == pytest.approx(13_374.8, abs=0.1)

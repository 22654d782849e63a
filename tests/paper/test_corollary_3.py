"""Corollary 3: the regret of full projection, violation of O(1/sqrt T) in each round."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Problem, play
from surefoot.problems import ADVERSARIES, adversarial_cube, binding_toy

from ._cases import CASES, STARTS, from_the_sphere


def printed_violation(c, T, t):
    """The corollary's violation bound as the paper prints it."""
    xi = 1 - math.sqrt(1 - c.sigma**2 / c.G_g**2)
    fading = np.exp(-(c.sigma**2) * (t - 1) / (2 * c.G_g**2))
    return 2 * c.R * c.G_g * fading + 2 * c.R * c.G_g / (xi * math.sqrt(T))


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_each_round_is_within_the_violation_bound_and_the_regret_within_its(adversary, start):
    x1 = STARTS[start]
    made = adversarial_cube(adversary, horizon=500, dimension=len(x1))
    ball = Ball(max(made.domain.radius, float(np.linalg.norm(x1)) * (1 + 1e-15)))
    problem = Problem.of(made.costs, made.constraint, ball, x1, G_f=1.0, infeasible_start=True)
    c = problem.constants
    for T in (1, 9, 150, 500):
        trace = play(PFS.nearly(c, T), problem, watch="raise")
        T, t = trace.horizon, trace.rounds
        assert (trace.constraint <= printed_violation(c, T, t)).all()
        # Theorem 1's bound, which the library uses, is the sharper of the two.
        rounding = 24 * (len(x1) + 8) * 2.0**-53 * c.R * c.G_g / c.xi
        assert (trace.constraint <= trace.guarantee.bounds(t)["round"] + rounding).all()
        sharper = trace.guarantee.bounds(t)["round"]
        assert (sharper <= printed_violation(c, T, t) * (1 + 1e-12)).all()
        assert trace.guarantee.regret_bound(T) == pytest.approx(2 * c.R * c.G_f * math.sqrt(T))
        assert (trace.regret().upper <= trace.guarantee.regret_bound(t)).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_each_round_is_within_the_bounds_on_any_set(case, opponent):
    trace, regret = from_the_sphere(PFS.nearly, case, opponent, size=2.1, T=150, seed=31)
    c = trace.guarantee.constants
    assert (trace.constraint <= printed_violation(c, 150, trace.rounds)).all()
    assert (regret <= trace.guarantee.regret_bound(trace.rounds)).all()


def test_it_does_violate_so_the_bound_is_about_something():
    problem = binding_toy(horizon=2_000, trials=3)
    trace = play(PFS.nearly(problem.constants, 2_000), problem, watch="raise")
    assert (trace.violations.largest > 0).all()
    bound = printed_violation(problem.constants, 2_000, trace.rounds)[:, None]
    assert (trace.constraint <= bound).all()
    assert (trace.final_regret() <= 2 * problem.constants.G_f * math.sqrt(2_000)).all()

"""Corollary 2 (corrected): any start, g(x_t) <= 0 from round t0 = O(log T) on."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Problem, play
from surefoot.problems import ADVERSARIES, adversarial_cube, binding_toy
from surefoot.rules import Corollary2

from ._cases import CASES, STARTS, from_the_sphere


def cube_from(adversary, horizon, start):
    made = adversarial_cube(adversary, horizon=horizon, dimension=len(start))
    ball = Ball(max(made.domain.radius, float(np.linalg.norm(start)) * (1 + 1e-15)))
    return Problem.of(made.costs, made.constraint, ball, start, G_f=1.0, infeasible_start=True)


def t0(c, T):
    """As the paper prints it."""
    return 1 + 2 * c.G_g**2 / c.sigma**2 * math.log(4 * c.G_g * c.R * math.sqrt(T) / c.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_round_from_t0_on_violates_and_the_regret_is_within_the_bound(adversary, start):
    problem = cube_from(adversary, 500, STARTS[start])
    c = problem.constants
    players = [PFS.eventually(c, T) for T in (1, 9, 130, 500)]
    for trace in (play(player, problem, watch="raise") for player in players):
        T, promise = trace.horizon, trace.guarantee
        assert math.ceil(t0(c, T)) == promise.first_feasible
        late = trace.rounds >= t0(c, T)
        assert (trace.constraint[late] <= 0).all()
        assert trace.violations.feasible_from <= promise.first_feasible
        # Theorem 1's own t0 is never later: 1 - x <= exp(-x) was not yet used.
        assert promise.theorem.first_feasible <= promise.first_feasible
        assert (trace.regret().upper <= promise.regret_bound(trace.rounds)).all()
        xi = 1 - math.sqrt(1 - c.sigma**2)
        corrected = 4 * c.R**2 / (xi * c.epsilon) + xi * c.epsilon / 4 + c.epsilon / c.sigma
        assert promise.regret_bound(T) == pytest.approx(corrected * math.sqrt(T))
    # The last horizon is long enough for the promise to be about something.
    assert t0(c, 500) < 500


@pytest.mark.slow
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(("start", "horizon"), [([-0.5], 100), ([0.9], 300), ([0.8, -0.55], 4_000)])
def test_violations_are_made_up_for_when_the_horizon_is_long_enough(adversary, start, horizon):
    problem = cube_from(adversary, horizon, start)
    player = PFS.eventually(problem.constants, horizon)
    c = problem.constants
    assert math.sqrt(horizon) >= 4 * c.R * c.G_g / (c.epsilon * c.xi)
    assert player.guarantee.is_cumulative
    trace = play(player, problem, every=None, keep_actions=False, watch="raise")
    assert trace.violations.sum <= 0
    assert trace.violations.positive_sum == 0


def test_whether_the_horizon_is_long_enough_is_decided_by_its_root():
    # R = 0.9, G_g = xi = 1, epsilon = 0.25: 4R/epsilon = 14.4, and 14.4^2 = 207.36.
    c = cube_from("out", 10, [0.9]).constants
    assert [Corollary2(c, T).is_cumulative for T in (207, 208)] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_no_round_from_t0_on_violates_on_any_set(case, opponent):
    trace, regret = from_the_sphere(PFS.eventually, case, opponent, size=1.4, T=200, seed=29)
    # The paper's t0 is far beyond T for sets with a small sigma; Theorem 1's bound covers every
    # round. Its rounding is that of test_theorem_1: 24(d + 8)2^-53 RG_g/xi.
    c, guarantee = trace.guarantee.constants, trace.guarantee
    rounding = 24 * (case.dimension + 8) * 2.0**-53 * c.R * c.G_g / c.xi
    late = trace.rounds >= guarantee.first_feasible
    assert (trace.constraint[late] <= 0).all()
    assert (trace.constraint <= guarantee.bounds(trace.rounds)["round"] + rounding).all()
    assert (regret <= guarantee.regret_bound(trace.rounds)).all()


def test_the_binding_toy_from_outside():
    made = binding_toy(horizon=3_000, trials=3)
    known = {"G_f": made.constants.G_f, "infeasible_start": True}
    problem = Problem.of(made.costs, made.constraint, made.domain, [0.6, 0.75], **known)
    trace = play(PFS.eventually(problem.constants, 3_000), problem, watch="raise")
    assert (trace.violations.largest > 0).all()
    assert (trace.violations.feasible_from <= trace.guarantee.first_feasible).all()
    assert trace.guarantee.is_cumulative
    assert (trace.violations.sum <= 0).all()
    assert (trace.guarantee.regret_bound(trace.rounds) >= trace.regret().upper.T).all()

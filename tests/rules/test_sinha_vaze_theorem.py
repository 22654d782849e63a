"""Sinha and Vaze: fixed constraints, and constraints that an adversary picks."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback, Problem, play
from surefoot.problems import binding_toy
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import SinhaVaze, SinhaVazeConvex, SinhaVazeStronglyConvex, StrongSinhaVaze

from ._held import CHANGING, STREAMS, changing, noise, stream
from ._slack import assert_bounds_hold

KNOWN = Constants(R=1.5, G_f=7.0, G_g=2.0, F=11.0, strong_convexity=3.5)
HORIZONS = [300, pytest.param(2_000, marks=pytest.mark.slow)]


def test_the_parameters_of_convex_costs_by_hand():
    bound = SinhaVazeConvex(KNOWN, 25)
    assert (bound.diameter, bound.rate) == (3.0, 0.1)
    assert bound.scale == pytest.approx(1 / 42, rel=1e-15)
    steep = SinhaVazeConvex(replace(KNOWN, G_g=14.0), 25)
    assert steep.scale == pytest.approx(1 / 84, rel=1e-15)


def test_the_bounds_of_convex_costs_by_hand():
    bound = SinhaVazeConvex(KNOWN, 25)
    # r = sqrt(8/2) = 2: 42 * 2 * 1.1, and 420 ln((1 + 2 + 88/42)/(1 - 0.2))
    assert bound.regret_bound(8) == pytest.approx(92.4, rel=1e-14)
    hard = 420 * math.log((3 + 88 / 42) / 0.8)
    assert bound.bounds(8) == {
        "positive_sum": pytest.approx(hard),
        "sum_positive": pytest.approx(hard),
    }


def test_the_bounds_of_convex_costs_are_never_above_those_recalled():
    # 2GD(sqrt T + 1) and 4GD sqrt T ln(2(1 + sqrt T + T/2))
    for T in (1, 7, 400, 10**6):
        bound, GD = SinhaVazeConvex(replace(KNOWN, F=None), T), 7 * 3
        assert bound.regret_bound(T) <= 2 * GD * (math.sqrt(T) + 1)
        recalled = 4 * GD * math.sqrt(T) * math.log(2 * (1 + math.sqrt(T) + T / 2))
        assert bound.bounds(T)["sum_positive"] <= recalled


def test_the_parameters_of_strongly_convex_costs_by_hand():
    bound = SinhaVazeStronglyConvex(KNOWN, 25)
    assert bound.strong_convexity == 3.5
    assert pytest.approx(8 * 4 * (1 + math.log(25)) / 3.5, rel=1e-15) == bound.V


def test_the_bounds_of_strongly_convex_costs_by_hand():
    bound = SinhaVazeStronglyConvex(KNOWN, 25)
    regret = 14 * (1 + math.log(8))
    assert bound.regret_bound(8) == pytest.approx(regret, rel=1e-14)
    hard = math.sqrt(2 * bound.V * (88 + regret))
    assert bound.bounds(8)["sum_positive"] == pytest.approx(hard, rel=1e-14)
    assert bound.bounds(8)["positive_sum"] == bound.bounds(8)["sum_positive"]


@pytest.mark.parametrize("theorem", [SinhaVazeConvex, SinhaVazeStronglyConvex])
def test_a_cost_range_that_is_not_known_is_a_gradient_over_a_diameter(theorem):
    unknown, known = (theorem(replace(KNOWN, F=F), 25) for F in (None, 21.0))
    assert unknown.bounds(9) == known.bounds(9)
    assert theorem(KNOWN, 25).bounds(9)["sum_positive"] < known.bounds(9)["sum_positive"]


@pytest.mark.parametrize("theorem", [SinhaVazeConvex, SinhaVazeStronglyConvex])
def test_what_is_promised(theorem):
    bound = theorem(KNOWN, 25)
    assert bound.kind == "sum_positive"
    assert bound.bounds([1, 25]).keys() == {"positive_sum", "sum_positive"}
    assert [(p.constant, p.limit) for p in bound.premises] == [
        ("G_f", 7.0),
        ("G_g", 2.0),
        ("the horizon", 25),
    ]
    sizes = [(T, theorem(KNOWN, T)) for T in (10**40, 10**44)]
    regret = [float(b.regret_bound(T)) for T, b in sizes]
    hard = [float(b.bounds(T)["sum_positive"]) for T, b in sizes]
    # A factor of 10^4 in T; 44/40 is what a logarithm adds to it.
    assert math.log10(regret[1] / regret[0]) / 4 == pytest.approx(bound.regret_exponent, abs=0.02)
    assert math.log10(hard[1] / hard[0]) / 4 == pytest.approx(bound.violation_exponent, abs=0.02)


@pytest.mark.parametrize(
    ("theorem", "missing"),
    [
        (SinhaVazeConvex, "G_f"),
        (SinhaVazeConvex, "G_g"),
        (SinhaVazeStronglyConvex, "G_f"),
        (SinhaVazeStronglyConvex, "G_g"),
        (SinhaVazeStronglyConvex, "strong_convexity"),
    ],
)
def test_a_missing_constant_is_named(theorem, missing):
    with pytest.raises(ValueError, match=f"convex needs {missing}, which is unknown: give it"):
        theorem(replace(KNOWN, **{missing: None}), 25)


@pytest.mark.parametrize("theorem", [SinhaVazeConvex, SinhaVazeStronglyConvex])
def test_a_bad_horizon_is_named(theorem):
    with pytest.raises(ValueError, match="horizon must be a whole number of rounds >= 1, got 0"):
        theorem(KNOWN, 0)


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", STREAMS)
def test_convex_costs_and_a_fixed_constraint(name, horizon):
    problem = stream(name, horizon)
    assert_bounds_hold([SinhaVaze.convex(problem.constants, horizon)], problem, horizon)


def targets(name, horizon):
    """Targets far outside of a cube, as the slopes of an adversary that does not look."""
    if name == "binding toy":
        return binding_toy(horizon, trials=2).costs.targets
    slopes = stream(name, horizon).costs.slopes
    return -0.8 * slopes + np.array([0.1, -0.2, 0.3])


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("name", ["constant", "alternating", "random", "corners", "binding toy"])
def test_strongly_convex_costs_and_a_fixed_constraint(name, horizon):
    v = targets(name, horizon)
    d = v.shape[-1]
    problem = Problem.of(Quadratic(v, 2.5), LinfNorm(0.4, d), Ball(1.0), np.zeros(d))
    assert_bounds_hold(
        [StrongSinhaVaze.strongly_convex(problem.constants, horizon)], problem, horizon
    )


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [300, 3_000])
@pytest.mark.parametrize("constraints", CHANGING)
@pytest.mark.parametrize("costs", ["linear", "quadratic"])
def test_constraints_that_change_from_round_to_round(costs, constraints, horizon):
    stream, choose = {
        "linear": (Linear(noise(horizon)), SinhaVaze.convex),
        "quadratic": (Quadratic(4 * noise(horizon), 1.5), StrongSinhaVaze.strongly_convex),
    }[costs]
    limits, start = changing(constraints, horizon), np.array([0.9, -0.3])
    problem = Problem.of(stream, limits, Ball(1.0), start, infeasible_start=True)
    trace = play(choose(problem.constants, horizon), problem, watch="raise")
    hard = np.cumsum(np.maximum(trace.constraint, 0.0))
    assert (hard <= trace.guarantee.bounds(trace.rounds)["sum_positive"]).all()
    assert 0 < trace.final_regret() <= trace.guarantee.regret_bound(horizon)
    assert trace.violations.sum_positive > 0


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [300, 3_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("strong", [False, True])
def test_an_adversary_who_picks_cost_and_constraint_after_seeing_the_action(strong, horizon):
    # The constraint cuts off the action just played, the cost pulls it further out.
    known = Constants(R=1.0, G_f=3.0, G_g=1.0, strong_convexity=1.0)
    choose = StrongSinhaVaze.strongly_convex if strong else SinhaVaze.convex
    player, bound = choose(known, horizon)
    state, cost, slopes, hard = player.init(np.array([0.6, -0.3])), 0.0, np.zeros(2), 0.0
    for t in range(1, horizon + 1):
        x = state.x
        out = x / np.linalg.norm(x) if x.any() else np.array([1.0, 0.0])
        g = float(out @ x) - 0.2
        if strong:  # |x - 2 out|^2 / 2
            gradient, paid = x - 2 * out, 0.5 * float((x - 2 * out) @ (x - 2 * out))
        else:
            gradient, paid = -out, -float(out @ x)
        cost, hard = cost + paid, hard + max(g, 0.0)
        slopes = slopes + out
        state = player.update(state, Feedback(gradient, g, out))
        # Every action of the ball of radius 0.2 is feasible in all rounds.
        u = 0.2 * slopes / np.linalg.norm(slopes)
        best = 0.5 * t * float(u @ u) - 2 * float(slopes @ u) + 2.0 * t if strong else -slopes @ u
        assert cost - best <= bound.regret_bound(t)
        assert hard <= bound.bounds(t)["sum_positive"]
    assert hard > 10

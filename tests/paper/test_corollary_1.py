"""Corollary 1: from a strictly feasible start, g(x_t) <= 0 in every round and O(sqrt T) regret.

Feasible means `<= 0` exactly, in floating point as played: no tolerance anywhere in this file.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import PFS, Problem, play
from surefoot.games import fit_rate
from surefoot.problems import ADVERSARIES, HORIZONS, adversarial_cube, binding_toy, paper_toy
from surefoot.problems.costs import Linear

from ._cases import CASES, greedy, linear_regret, random_slopes

DIMENSIONS = (1, 2, 5, 50)


def cube_near_a_corner(adversary, horizon, d, **options):
    """The adversary's cube from a start close enough to the faces for all of them to be met."""
    made = adversarial_cube(adversary, horizon=horizon, dimension=d, **options)
    radius = made.constraint.radius
    start = radius * np.array([0.5, -0.48, 0.46, *np.zeros(max(0, d - 3))])[:d]
    return Problem.of(made.costs, made.constraint, made.domain, start, G_f=made.constants.G_f)


def printed_bound(c, T):
    """The corollary's regret bound as the paper prints it."""
    alpha = min(c.start_slack, c.epsilon)
    xi = 1 - math.sqrt(1 - c.sigma**2 / c.G_g**2)
    first = 2 * c.G_f * c.G_g * c.R**2 / (xi * alpha)
    return (first + c.G_f * xi * alpha / (2 * c.G_g) + c.G_f * alpha / c.sigma) * math.sqrt(T)


@pytest.mark.slow
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_every_round_is_feasible_and_the_regret_within_the_bound(adversary, d):
    problem = cube_near_a_corner(adversary, 800, d)
    players = [PFS.anytime(problem.constants, T) for T in (1, 2, 7, 100, 800)]
    for trace in (play(player, problem, watch="raise") for player in players):
        assert trace.status == "ok"
        assert (trace.constraint <= 0).all()
        assert trace.violations.count == 0
        bound = trace.guarantee.regret_bound(trace.rounds)
        assert (trace.regret().upper <= bound).all()
        assert bound[-1] == pytest.approx(printed_bound(problem.constants, trace.horizon))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opponent", "d"),
    [("oblivious", DIMENSIONS[-1]), ("out", DIMENSIONS[0]), ("uncut", DIMENSIONS[-1])],
)
def test_a_hundred_thousand_rounds_are_feasible(opponent, d):
    T = 100_000
    if opponent == "oblivious":  # the streams known beforehand, as the runs of one game
        each = [cube_near_a_corner(a, T, d) for a in ADVERSARIES if a not in ("out", "uncut")]
        slopes = np.stack([problem.costs.slopes for problem in each], axis=1)
        problem = replace(each[0], costs=Linear(slopes))
    else:
        problem = cube_near_a_corner(opponent, T, d)
    players = [make(problem.constants, T) for make in (PFS.anytime, PFS.tuned)]
    engine = "auto" if opponent == "oblivious" else "scan"
    kept = {"engine": engine, "every": None, "keep_actions": False, "watch": "off"}
    anytime, tuned = (play(player, problem, **kept) for player in players)
    for trace in (anytime, tuned):
        assert set(np.ravel(trace.status)) == {"ok"}
        assert (trace.violations.largest <= 0).all()
        assert (trace.violations.count == 0).all()
        if opponent == "oblivious":  # the others' costs are known only from every action
            assert (trace.final_regret() <= trace.guarantee.regret_bound(T)).all()
    # The opponents are no straw men: one drives the actions onto the boundary of the tightened
    # set, the other past it, where only the length of the steps keeps them inside.
    worst, rho = anytime.violations.largest, anytime.guarantee.rho
    if opponent == "out" or (opponent == "uncut" and d == 1):
        assert worst == pytest.approx(-rho, rel=1e-9)
    elif opponent == "uncut":
        assert worst > -rho


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("T", [1, 2, 150])
def test_an_opponent_who_looks_one_step_ahead_cannot_push_out(case, T):
    size = 0.7
    calm = case.problem(random_slopes(case.dimension, T, size), G_f=size)
    player = PFS.anytime(calm.constants, T)
    problem = case.problem(greedy(player.algorithm, case, T, size), G_f=size)
    trace = play(player, problem, watch="raise")
    assert (trace.constraint <= 0).all()
    slopes = problem.costs.realise(trace.actions).slopes
    regret = linear_regret(case, slopes, trace.actions)
    assert (regret <= player.guarantee.regret_bound(trace.rounds)).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_start_with_hardly_any_slack_is_enough(case):
    # alpha = 1e-3 of what the case has: on the segment from the start to the boundary.
    out = case.project(case.domain.radius * np.ones((1, case.dimension)), 0.0)[0]
    start = out + 2e-3 * (case.start - out)
    size, T = 2.3, 120
    calm = case.problem(random_slopes(case.dimension, T, size), start, G_f=size)
    assert 0 < calm.constants.start_slack < 0.01
    player = PFS.anytime(calm.constants, T)
    for costs in (calm.costs, greedy(player.algorithm, case, T, size)):
        trace = play(player, case.problem(costs, start, G_f=size), watch="raise")
        assert (trace.constraint <= 0).all()


@pytest.mark.parametrize("toy", [paper_toy, binding_toy])
def test_the_toy_is_feasible_and_its_regret_within_the_bound_in_every_round(toy):
    problem = toy(horizon=2_000, trials=5)
    trace = play(PFS.anytime(problem.constants, 2_000), problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert (trace.guarantee.regret_bound(trace.rounds) >= trace.regret().upper.T).all()


@pytest.mark.slow
@pytest.mark.parametrize("toy", [paper_toy, binding_toy])
def test_regret_grows_no_faster_than_the_root_of_the_horizon(toy):
    problem = toy(trials=5)
    players = [PFS.anytime(problem.constants, T) for T in HORIZONS]
    kept = {"every": None, "keep_actions": False, "watch": "off"}
    traces = [play(player, problem, **kept) for player in players]
    rate = fit_rate(HORIZONS, np.array([trace.final_regret() for trace in traces]))
    # The exponent of 1/2 is that of an upper bound. The steps are so short that the shortest
    # horizons end while the first approach is still going on, which adds up to 0.05.
    assert 0.4 < rate.slope < 0.55
    assert rate.low <= rate.slope <= rate.high


@pytest.mark.parametrize("exponents", [(-100, 100), (100, -100), (100, 100), (-100, -100)])
@pytest.mark.parametrize("adversary", ["out", "uncut"])
def test_every_round_is_feasible_at_any_scale(adversary, exponents):
    length, slope = (10.0**e for e in exponents)
    problem = cube_near_a_corner(adversary, 400, 3, radius=length, size=slope)
    trace = play(PFS.anytime(problem.constants, 400), problem, watch="raise")
    assert (trace.constraint <= 0).all()
    assert trace.final_regret() <= trace.guarantee.regret_bound(400)


def test_a_start_on_the_boundary_is_refused_with_its_slack():
    problem = cube_near_a_corner("out", 10, 2)
    edge = problem.constraint.constants(problem.domain, [0.5, 0.1]).with_origin("given", G_f=1.0)
    with pytest.raises(ValueError, match=r"start_slack = -g\(x_1\) must be > 0, got -?0"):
        PFS.anytime(edge, 10)

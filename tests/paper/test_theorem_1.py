"""Theorem 1: a regret bound and a violation bound for any eta > 0 and rho in [0, epsilon]."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Problem, Tuned, play
from surefoot.problems import ADVERSARIES, adversarial_cube, binding_toy, paper_toy
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import Theorem1
from surefoot.sets import project_halfspace

from ._cases import CASES, greedy, linear_regret, random_slopes

U = 2.0**-53


def regret_bound(c, eta, rho, t):
    """As the paper prints it."""
    return 2 * c.R**2 / eta + eta / 2 * c.G_f**2 * t + c.G_f * rho / c.sigma * t


def violation_bound(c, eta, rho, t, distance):
    """As the paper prints it, with the distance from x_1 to X_rho itself."""
    gamma = 1 - c.sigma**2 / c.G_g**2
    fading = gamma ** ((t - 1) / 2)
    return c.G_g * fading * distance + eta * c.G_g * c.G_f / (1 - math.sqrt(gamma)) - rho


def rounding(c, d):
    """What rounding can add to g: one step's error, e = 24(d + 8)UR, summed as the steps are."""
    return 24 * (d + 8) * U * c.R * c.G_g / c.xi


# Summed over t rounds the same error adds at most t (2Re/eta) to the regret, against a bound of
# at least 2R^2/eta: relative to it t e/R, below 1e-8 for all horizons and dimensions here.
SHARE = 1 + 1e-8


def grid(c):
    """Steps and tightenings from timid to reckless, and Corollary 1's own."""
    return [
        (eta * c.R / c.G_f, rho * c.epsilon)
        for eta in (0.002, 0.05, 0.9)
        for rho in (0.0, 0.3, 1.0)
    ]


def check(trace, theorem, distance, regret, d):
    """Both bounds at every round, the printed ones and the library's."""
    c, eta, rho, t = theorem.constants, theorem.eta, theorem.rho, trace.rounds
    assert list(t) == list(range(1, trace.horizon + 1))
    t = t[:, None] if trace.constraint.ndim == 2 else t
    bound = violation_bound(c, eta, rho, t, distance)
    assert (trace.constraint <= bound + rounding(c, d)).all()
    assert (regret <= regret_bound(c, eta, rho, t) * SHARE).all()
    assert theorem.regret_bound(t) == pytest.approx(regret_bound(c, eta, rho, t), rel=1e-12)
    # The library knows only Lemma 1's bound on the distance, so its bound is the weaker one.
    assert (theorem.bounds(t)["round"] >= bound - rounding(c, d)).all()
    assert (trace.constraint <= theorem.bounds(t)["round"] + rounding(c, d)).all()


STARTS = {
    "deep inside": lambda d: np.linspace(0.1, -0.05, d),
    "on the boundary": lambda d: np.concatenate([[-0.5], np.full(d - 1, 0.2)]),
    "outside": lambda d: np.concatenate([[0.7], np.linspace(-0.6, 0.1, d - 1)]),
}


def cube_from(adversary, d, horizon, start):
    """The adversary's cube in a roomier ball, so that the start may be outside the cube."""
    made = adversarial_cube(adversary, horizon=horizon, dimension=d)
    ball = Ball(1.2 * math.sqrt(d))
    return Problem.of(
        made.costs, made.constraint, ball, STARTS[start](d), G_f=1.0, infeasible_start=True
    )


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.slow
def test_both_bounds_hold_in_every_round_against_every_adversary(adversary, start, d):
    problem = cube_from(adversary, d, 200, start)
    theorems = [Theorem1(problem.constants, eta, rho) for eta, rho in grid(problem.constants)]
    players = [Tuned(PFS(eta=m.eta, rho=m.rho, domain=problem.domain), m) for m in theorems]
    traces = [play(player, problem, watch="raise") for player in players]
    for trace, theorem in zip(traces, theorems, strict=True):
        r = 0.5 - theorem.rho
        distance = float(np.linalg.norm(problem.start - np.clip(problem.start, -r, r)))
        check(trace, theorem, distance, trace.regret().upper, d)


@pytest.mark.parametrize("toy", [paper_toy, binding_toy])
@pytest.mark.parametrize("start", [(0.0, 0.0), (0.5, -0.3), (-0.75, 0.6)])
def test_both_bounds_hold_in_every_round_on_stochastic_streams(toy, start):
    made = toy(horizon=400, trials=4)
    known = {"G_f": made.constants.G_f, "infeasible_start": True}
    problem = Problem.of(made.costs, made.constraint, made.domain, start, **known)
    theorems = [Theorem1(problem.constants, eta, rho) for eta, rho in grid(problem.constants)]
    players = [Tuned(PFS(eta=m.eta, rho=m.rho, domain=problem.domain), m) for m in theorems]
    traces = [play(player, problem, watch="raise") for player in players]
    for trace, theorem in zip(traces, theorems, strict=True):
        r = 0.5 - theorem.rho
        distance = float(np.linalg.norm(problem.start - np.clip(problem.start, -r, r)))
        check(trace, theorem, distance, trace.regret().upper, 2)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("opponent", ["random", "greedy"])
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_both_bounds_hold_in_every_round_on_every_set(case, opponent, where):
    # A point of the sphere opposite to nothing in particular: outside every one of the sets.
    sphere = case.points(n=12, seed=23)[12:24]
    start = case.start if where == "inside" else sphere[case.value(sphere).argmax()]
    assert (where == "outside") == (case.constraint.value(start) > 0)
    T, size = 120, 1.7
    for eta, rho in ((0.03, 0.5), (0.4, 1.0)):
        problem = case.problem(random_slopes(case.dimension, T, size), start, G_f=size)
        c = problem.constants
        theorem = Theorem1(c, eta * c.R / c.G_f, rho * c.epsilon)
        player = PFS(eta=theorem.eta, rho=theorem.rho, domain=case.domain)
        if opponent == "greedy":
            problem = case.problem(greedy(player, case, T, size), start, G_f=size)
        trace = play(Tuned(player, theorem), problem, watch="raise")
        costs = problem.costs if opponent == "random" else problem.costs.realise(trace.actions)
        regret = linear_regret(case, costs.slopes, trace.actions)
        distance = float(case.distance(start[None], theorem.rho)[0])
        check(trace, theorem, distance, regret, case.dimension)


@pytest.mark.parametrize(("length", "expected"), [(0.9, -0.1), (1.0, 0.0), (2.0, 1.0)])
def test_a_step_longer_than_rho_is_pushed_out_of_a_square(length, expected):
    # The negative control: steps of l rho/G_g, for which the theorem promises only a bound, end
    # (l - 1) rho outside when all of each goes along the coordinate that is not cut.
    made = adversarial_cube("uncut", horizon=400)
    problem = Problem.of(made.costs, made.constraint, Ball(1.0), made.start, G_f=1.0)
    rho = 0.01
    theorem = Theorem1(problem.constants, eta=length * rho, rho=rho)
    trace = play(PFS(eta=theorem.eta, rho=rho, domain=problem.domain), problem)
    worst = float(trace.violations.largest)
    assert worst == pytest.approx(expected * rho, abs=1e-12)
    assert theorem.kind == "bounded"
    assert worst <= theorem.bounds(1)["round"]


def test_the_regret_bound_is_nearly_attained_by_a_constant_cost():
    # d = 1, f = x from the far end: the first two terms are (2R)^2/(2 eta) and its discrete
    # remainder, so a bound smaller by a tenth would be false.
    g = LinfNorm(1.0, 1)
    T, eta = 400, 0.01
    problem = Problem.of(Linear(np.ones((T, 1))), g, Ball(1.0), [1.0])
    trace = play(PFS(eta=eta, rho=0.0, domain=problem.domain), problem)
    bound = Theorem1(problem.constants, eta, 0.0).regret_bound(200)
    assert 0.9 * bound < trace.regret().upper[199] <= bound


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("rho_share", [0.0, 0.6])
def test_the_regret_inequality_holds_with_every_term_for_linear_costs(case, rho_share):
    # Before anything is thrown away: for every u of X_rho,
    #   sum <c_t, x_t - u> <= (|x_1 - u|^2 - |x_{T+1} - u|^2)/(2 eta) + eta/2 sum |c_t|^2
    #                         - sum (|y_t - p_t|^2 + |p_t - x_{t+1}|^2)/(2 eta).
    T, eta, rho = 80, 0.11, rho_share * case.constants.epsilon
    costs = random_slopes(case.dimension, T, 1.3)
    problem = case.problem(costs)
    trace = play(PFS(eta=eta, rho=rho, domain=case.domain), problem)
    x = np.concatenate([trace.actions, [trace.next_action]])
    c = costs.slopes
    y = x[:-1] - eta * c
    g, s = case.constraint.query(x[:-1])
    p = project_halfspace(y, g + np.vecdot(s, y - x[:-1])[:, None] + rho, s)
    # The pieces are the ones that were played.
    assert case.domain.project(p) == pytest.approx(x[1:], abs=1e-14)
    spent = np.sum((y - p) ** 2) + np.sum((p - x[1:]) ** 2)
    assert spent > 0
    for u in case.project(case.points(n=10), rho):
        left = float(np.sum(np.vecdot(c, x[:-1] - u)))
        ends = np.sum((x[0] - u) ** 2) - np.sum((x[-1] - u) ** 2)
        right = ends / (2 * eta) + eta / 2 * np.sum(c**2) - spent / (2 * eta)
        # u is in X_rho to 1e-11, which moves each side by less than 1e-10 T.
        assert left <= right + 1e-8


def test_the_regret_inequality_is_an_equality_where_no_projection_acts():
    T, eta = 30, 0.01
    costs = random_slopes(3, T, 1.0)
    problem = Problem.of(costs, LinfNorm(2.0, 3), Ball(4.0), [0.1, -0.2, 0.3])
    trace = play(PFS(eta=eta, rho=0.5, domain=problem.domain), problem)
    u = np.array([0.7, 0.2, -0.9])
    left = float(np.sum(np.vecdot(costs.slopes, trace.actions - u)))
    ends = np.sum((problem.start - u) ** 2) - np.sum((trace.next_action - u) ** 2)
    assert left == pytest.approx(ends / (2 * eta) + eta / 2 * np.sum(costs.slopes**2), rel=1e-12)


@pytest.mark.parametrize("exponents", [(-100, 100), (100, -100), (100, 100), (-100, -100)])
def test_the_bounds_hold_at_any_scale(exponents):
    length, slope = (10.0**e for e in exponents)
    problem = adversarial_cube("uncut", horizon=200, dimension=3, radius=length, size=slope)
    c = problem.constants
    theorem = Theorem1(c, 0.02 * c.R / c.G_f, 0.4 * c.epsilon)
    trace = play(PFS(eta=theorem.eta, rho=theorem.rho, domain=problem.domain), problem)
    check(trace, theorem, 0.0, trace.regret().upper, 3)

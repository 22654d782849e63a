"""The theorems on every synthetic problem, with the constants that the library gives."""

import numpy as np
import pytest

import surefoot as sf
from surefoot import problems

T, TRIALS = 400, 3

MAKERS = {
    "polytope": lambda **k: problems.random_polytope(6, 20, **k),
    "polytope, linear": lambda **k: problems.random_polytope(6, 20, costs="linear", **k),
    "rotated box": lambda **k: problems.rotated_box(4, **k),
    "rotated box, linear": lambda **k: problems.rotated_box(4, costs="linear", **k),
    "ellipsoid": lambda **k: problems.ellipsoid(4, **k),
    "ellipsoid, linear": lambda **k: problems.ellipsoid(4, costs="linear", **k),
    "spectral": lambda **k: problems.spectral_ball((3, 2), **k),
    "spectral, linear": lambda **k: problems.spectral_ball((2, 3), costs="linear", **k),
    "fair logistic": lambda **k: problems.fair_logistic(5, **k),
}


@pytest.fixture(params=MAKERS, scope="module")
def problem(request):
    return MAKERS[request.param](horizon=T, trials=TRIALS, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("tuning", ["anytime", "tuned"])
def test_every_round_is_feasible_and_the_regret_below_its_bound(problem, tuning):
    tuned = getattr(sf.PFS, tuning)(problem.constants, T, problem.domain)
    trace = sf.play(tuned, problem, every=None, watch="raise")
    assert (trace.violations.largest <= 0).all()
    assert (trace.final_regret() <= tuned.guarantee.regret_bound(T)).all()


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_theorem_1_bounds_each_round_for_other_parameters(problem, scale):
    c = problem.constants
    rho = 0.5 * c.epsilon
    eta = scale * c.xi * rho / (c.G_f * c.G_g)
    theorem = sf.rules.Theorem1(c, eta, rho)
    player = sf.PFS(eta=eta, rho=rho, domain=problem.domain)
    trace = sf.play(sf.Tuned(player, theorem), problem, watch="raise")
    bound = theorem.bounds(trace.rounds)["round"][:, None]
    # The bound is one of real arithmetic; a computed g errs by a few d u times the scale of g.
    assert (trace.constraint <= bound + 1e-13 * c.G_g * c.R).all()
    assert (trace.final_regret() <= theorem.regret_bound(T)).all()


@pytest.mark.slow
def test_the_constraint_binds(problem):
    """Otherwise the tests above would be about plain gradient descent."""
    best = sf.problems.hindsight.best_action(
        problem.costs, problem.constraint, T, domain=problem.domain, interior=problem.interior
    )
    g = problem.constraint.value(best.action[0])
    assert (g <= 0).all()
    assert (g >= -1e-3).all()


def test_regret_is_an_interval_of_the_advertised_length(problem):
    trace = sf.play(sf.PFS.tuned(problem.constants, T), problem, every=None)
    regret = trace.regret()
    assert (regret.gap >= 0).all()
    assert (regret.gap <= 1e-6 * np.maximum(1.0, abs(regret.comparator.value))).all()


def test_one_run_without_a_run_axis_and_the_seed(problem):
    name = problem.name
    make = next(m for m in MAKERS.values() if m(horizon=2).name == name)
    one = make(horizon=5, seed=3)
    assert one.costs.runs is None
    assert one.costs == make(horizon=5, seed=3).costs
    assert one.costs != make(horizon=5, seed=4).costs


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: problems.random_polytope(5, 9, horizon=1),
            "rows must be at least 2 dimension = 10",
        ),
        (
            lambda: problems.random_polytope(0, 9, horizon=1),
            "dimension must be a whole number >= 1",
        ),
        (lambda: problems.ellipsoid(3, 0.5, horizon=1), "condition must be at least 1, got 0.5"),
        (lambda: problems.rotated_box(3, horizon=0), "horizon must be a whole number of rounds"),
        (lambda: problems.rotated_box(3, horizon=1, trials=0), "trials must be a whole number"),
        (lambda: problems.spectral_ball(costs="cubic", horizon=1), "costs must be one of 'linear'"),
        (lambda: problems.fair_logistic(tolerance=0.0, horizon=1), "tolerance must be a finite"),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()

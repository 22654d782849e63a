"""Problems that other methods are made for: their sets, their margins, and who can play them."""

import numpy as np
import pytest

from surefoot import OGD, play
from surefoot.problems import changing_halfspaces, portfolio, thin_box
from surefoot.rules import EntropicDualAveraging, GaugeNewton, PrimalDual, ScalarDPP


def test_the_thin_box_is_as_thin_as_asked():
    box = thin_box(4, 50.0, horizon=10).constraint.region
    assert (box.upper / box.upper.min()).tolist() == [50.0, 1.0, 50.0, 50.0]


def test_slopes_of_the_thin_box_have_norm_one_at_most():
    slopes = thin_box(horizon=200, trials=2).costs.slopes
    assert np.linalg.norm(slopes, axis=-1).max() <= 1 + 1e-12


def test_a_newton_step_is_quicker_than_a_condition_number_allows_descent():
    problem = thin_box(3, 100.0, horizon=500)
    tuned = GaugeNewton.known_horizon(problem.constants, 500, problem.benchmark.region)
    trace = play(tuned, problem)
    assert trace.final_regret() <= tuned.guarantee.regret_bound(500)
    assert trace.violations.count == 0


@pytest.mark.slow
def test_entropic_averaging_plays_the_portfolio_and_keeps_its_promise():
    problem = portfolio(6, horizon=100, trials=1)
    region = problem.benchmark.region
    for rule in (EntropicDualAveraging, OGD):
        tuned = rule.fixed(problem.constants, 100, region)
        trace = play(tuned, problem, watch="raise")
        assert (trace.final_regret() <= tuned.guarantee.regret_bound(100)).all()
        # Wealth is spent to rounding: g is the sum less 1.
        assert trace.violations.largest.max() <= 1e-15


def test_growth_of_the_portfolio_is_positive_on_the_simplex():
    costs = portfolio(6, horizon=300, spread=0.9).costs
    assert costs.returns.min() > 0


def test_every_round_of_the_halfspaces_leaves_the_margin_at_zero():
    problem = changing_halfspaces(3, horizon=100, margin=0.1)
    stream = problem.constraint
    assert max(stream.query(t, np.zeros(3))[0] for t in range(100)) <= -0.1
    assert problem.constants.slater_margin == 0.1


def test_fewer_rounds_of_halfspaces_are_the_first_of_more():
    short, long = (changing_halfspaces(2, horizon=T, streams=3).constraint for T in (20, 50))
    x = np.array([0.3, -0.2])
    for t in range(20):
        assert short.query(t, x)[0] == long.query(t, x)[0]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [ScalarDPP.changing, PrimalDual.known_margin])
def test_rules_for_changing_constraints_keep_their_promise_on_halfspaces(rule):
    problem = changing_halfspaces(horizon=2_000, trials=2)
    tuned = rule(problem.constants, 2_000)
    trace = play(tuned, problem, watch="raise")
    assert " held" in trace.verdict()
    assert (trace.final_regret() <= tuned.guarantee.regret_bound(2_000)).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: thin_box(1, horizon=5), "dimension must be at least 2, got 1"),
        (lambda: thin_box(3, 0.5, horizon=5), "kappa must be at least 1, got 0.5"),
        (lambda: portfolio(3, horizon=5, spread=1.0), "spread must be strictly between 0 and 1"),
        (lambda: changing_halfspaces(horizon=5, margin=0.3), "margin must be strictly between 0"),
    ],
)
def test_numbers_outside_their_limits_are_refused(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make()

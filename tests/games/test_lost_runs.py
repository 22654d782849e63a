"""A run without a next action: the loop raises, batch and scan say the same and play on."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, play
from surefoot.core.types import Info
from surefoot.problems import Problem
from surefoot.problems.constraints import FunctionConstraint, L2Norm
from surefoot.problems.costs import Adversarial, Linear
from surefoot.sets import EmptyTighteningError
from surefoot.testing import asarray, double_precision, why_missing

from ._compare import assert_same_trace

ARRAYS = pytest.mark.parametrize("engine", ["batch", "scan"])
ENGINES = pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
BALL = Ball(5.0)

# max(x_0, 0) - 1/2: where x_0 <= 0 its subgradient is 0 and g = -1/2 the minimum, so a rho above
# 1/2 has no feasible point. From x_0 > 0 the cut leads to x_0 = 1/2 - rho, hence lost in round 2.
HINGE = FunctionConstraint(
    lambda x: _first(x) * (_first(x) > 0) - 0.5,
    lambda x: (x > 0) * np.array([1.0, 0.0]),
    bound=1.0,
)


def hinged(horizon):
    slopes = np.random.default_rng(0).normal(size=(horizon, 2, 2))
    return Problem.of(Linear(slopes), HINGE, BALL, [0.25, 0.0])


# x_0 - 1/2, and not a number where x_1 > 1: the cut does not see that coming.
ROOT = FunctionConstraint(
    lambda x: _first(x) - 0.5 + 0 * (1 - _second(x)) ** 0.5,
    lambda x: 0 * x + np.array([1.0, 0.0]),
    bound=1.0,
)


def _first(x):
    return x[..., :1] if x.ndim > 1 else x[0]


def _second(x):
    return x[..., 1:] if x.ndim > 1 else x[1]


def rooted(horizon, at):
    """Run 1 of three is pushed over x_1 = 1 by the cost of round ``at``."""
    slopes = np.full((horizon, 3, 2), 0.001)
    slopes[at - 1, 1, 1] = -300.0
    return Problem.of(Linear(slopes), ROOT, BALL, [0.0, 0.1])


def sentence_of_the_loop(player, problem, run, **options):
    alone = replace(problem, costs=problem.costs.run(run))
    with pytest.raises(ValueError) as raised:
        play(player, alone, engine="loop", **options)
    return raised


@ARRAYS
@pytest.mark.parametrize("horizon", [2, 3, 40])  # 2: lost by the update of the very last round
def test_an_empty_tightened_set_is_told_in_the_words_of_the_loop(engine, horizon):
    problem = hinged(horizon)
    tight, fine = (PFS(eta=0.01, rho=rho, domain=BALL) for rho in (0.75, 0.125))
    raised = sentence_of_the_loop(tight, problem, 0)
    assert raised.type is EmptyTighteningError
    assert str(raised.value).startswith("round 2: ")
    assert "got s = 0 with g + rho = 0.25 > 0" in str(raised.value)
    lost, kept = (play(player, problem, engine=engine) for player in (tight, fine))
    assert lost.status == (str(raised.value),) * 2
    assert lost.verdict() == f"stopped, {raised.value}"
    assert np.isnan(lost.next_action).all()
    assert np.isfinite(lost.actions[:2]).all()
    assert np.isnan(lost.actions[2:]).all()
    assert_same_trace(kept, play(fine, problem, engine="loop"))


@ARRAYS
def test_before_it_is_lost_a_run_is_ok(engine):
    tight = PFS(eta=0.01, rho=0.75, domain=BALL)
    assert play(tight, hinged(1), engine=engine).status == ("ok", "ok")


@pytest.mark.slow
@ARRAYS
@pytest.mark.parametrize(("horizon", "at"), [(40, 1), (40, 17), (40, 40), (2_600, 2_500)])
def test_a_nan_of_a_users_function_ends_its_run_and_no_other(engine, horizon, at):
    player = PFS(eta=0.01, rho=0.05, domain=BALL)
    problem = rooted(horizon, at)
    trace = play(player, problem, engine=engine)
    others = replace(problem, costs=problem.costs.run(np.array([0, 2])))
    wanted = play(player, others, engine="loop")
    assert np.abs(trace.actions[:, ::2] - wanted.actions).max() <= 1e-12
    if at == horizon:  # nobody has asked for the value there yet
        assert trace.status == ("ok",) * 3
        return
    raised = sentence_of_the_loop(player, problem, 1)
    assert str(raised.value).startswith(f"round {at + 1}: ")
    assert trace.status == ("ok", str(raised.value), "ok")
    assert np.isnan(trace.violations.largest[1])
    assert trace.violations.largest[0] < 0


@ARRAYS
def test_a_nan_of_the_costs_ends_the_run_too(engine):
    def rule(t, x):  # pushes x_1 up, and is not a number where an entry is above 0.3
        return 0 * (0.3 - x) ** 0.5 + np.array([0.0, -1.0])

    costs = Adversarial(rule, horizon=30, dimension=2, bound=1.0)
    problem = Problem.of(costs, ROOT, BALL, [0.0, 0.1])
    players = [PFS(eta=eta, rho=0.05, domain=BALL) for eta in (0.001, 1.0)]
    with pytest.raises(ValueError, match="cost_gradient, must be finite, got nan") as raised:
        play(players[1], problem, engine="loop")
    fine, lost = (play(player, problem, engine=engine) for player in players)
    assert (fine.status, lost.status) == ("ok", str(raised.value))


@ENGINES
def test_a_rule_that_does_not_ask_for_g_is_told_that_it_is_no_number(engine):
    player = OGD(eta=0.01, domain=BALL)
    trace = play(player, rooted(20, 6), engine=engine)
    nan = "round 7: the constraint value must be finite, got nan"
    assert [s.replace("np.float64(nan)", "nan") for s in trace.status] == ["ok", nan, "ok"]
    assert np.isfinite(trace.actions).all()
    # Rounds without a value were not seen to be feasible.
    assert trace.violations.count.tolist() == [0, 14, 0]
    assert trace.violations.feasible_from.tolist() == [1, 21, 1]
    assert trace.violations.first_violation.tolist() == [0, 7, 0]


@pytest.mark.parametrize(
    "backend", ["array-api-strict", "jax", pytest.param("torch", marks=pytest.mark.torch)]
)
def test_a_loop_on_another_backend_says_what_numpy_raises(backend):
    if reason := why_missing(backend):
        pytest.skip(reason)
    slopes = Linear(np.random.default_rng(1).normal(size=(5, 2)))
    problem = Problem.of(slopes, L2Norm(0.5), BALL, [0.0, 0.0])
    player = PFS(eta=0.01, rho=0.75, domain=BALL)  # s = 0 at the centre, and no g <= -3/4
    with pytest.raises(EmptyTighteningError, match=r"^round 1: ") as raised:
        play(player, problem, engine="loop")
    with double_precision(backend):
        start = asarray([0.0, 0.0], backend)
    assert play(player, problem, start=start).status == str(raised.value)


def test_a_users_function_that_takes_only_a_batch_costs_the_sentence_not_the_game():
    g = replace(ROOT, value_of=lambda x: x[:, :1] - 0.5 + 0 * (1 - x[:, 1:]) ** 0.5)
    problem = rooted(20, 6)
    batch_only = Problem(
        costs=problem.costs,
        constraint=g,
        domain=BALL,
        start=problem.start,
        constants=problem.constants,
    )
    trace = play(PFS(eta=0.01, rho=0.05, domain=BALL), batch_only, engine="batch")
    assert trace.status == ("ok", "round 7: g is not finite", "ok")


class Summing(NamedTuple):
    x: Any
    t: Any
    total: Any


class Careless:
    """Its state has a counter and a column, and it does not look at what it computes."""

    def init(self, x1):
        return Summing(x1, 0, 0.0 * _first(x1))

    def step(self, state, feedback):
        total = state.total + feedback.constraint_value
        # Not a number as soon as more than 2 was summed up.
        slower = (1 - 0.25 * total**2) ** 0.5
        return Summing(state.x - 0.01 * slower * feedback.cost_gradient, state.t + 1, total), Info()


@ENGINES
def test_an_action_that_is_no_number_is_found_though_nobody_raised(engine):
    slopes = np.random.default_rng(0).normal(size=(12, 2, 2))
    slopes[:, 1] = [-30.0, 0.0]  # out of the ball and on: g grows
    problem = Problem.of(Linear(slopes), L2Norm(0.5), BALL, [0.5, 0.0], G_f=30.0)
    status = play(Careless(), problem, engine=engine).status
    assert status[0] == "ok"
    assert status[1].startswith("round 5: the next action must be finite, got ")


def test_an_error_of_the_loop_keeps_its_type_and_names_the_round():
    class RefusalError(ValueError):
        def __init__(self, code, reason):
            super().__init__(f"{reason} ({code})")

    class Picky:
        def init(self, x1):
            return OGD(eta=0.1, domain=BALL).init(x1)

        def step(self, state, feedback):
            raise RefusalError(7, "not today")

    with pytest.raises(RefusalError, match=r"^round 1: not today \(7\)$"):
        play(Picky(), hinged(3), engine="loop")

"""The engine that is taken where the user names none, and the reason that is given."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests._own import State, Stepping

from surefoot import OGD, PFS, Ball, kernel, play, problems
from surefoot.core.types import Info
from surefoot.games.playing import choose
from surefoot.problems.constraints import FunctionConstraint, LinfNorm, PlayedOnly
from surefoot.problems.costs import Quadratic

PLAYER = PFS(eta=0.02, rho=0.03, domain=Ball(1.0))
TOY = problems.paper_toy(40, trials=3)


@pytest.fixture(autouse=True)
def _without_the_kernel():
    """What is chosen where the kernel was not built, or does not have the game."""
    with kernel.engine("python"):
        yield


def chosen(*, rounds, runs=3, problem=TOY, player=PLAYER, start=None):
    start = problem.start if start is None else start
    if problem.costs.runs is not None:
        targets = np.zeros((40, runs, problem.costs.dimension))
        problem = replace(problem, costs=Quadratic(targets, 1.0))
    return choose(player, problem, rounds, start)


def with_constraint(constraint):
    return replace(TOY, constraint=constraint)


@dataclass(frozen=True)
class Mine:
    """A player that the library does not know, and that says it plays several runs at once."""

    batches: ClassVar[bool] = True
    base: PFS


class Many(FunctionConstraint):
    """A constraint that the library does not know, and that takes the actions of several runs."""

    batches: ClassVar[bool] = True


class Branching(Stepping):
    """Steps along the cost, or away from the limit: decided by an `if`."""

    def step(self, state, feedback):
        if feedback.constraint_value > -0.1:
            return State(state.x - self.eta * feedback.constraint_subgradient), Info()
        return super().step(state, feedback)


class Normalised(Stepping):
    """Steps of one length, in as many runs as there are."""

    batches = True

    def step(self, state, feedback):
        gradient = feedback.cost_gradient
        size = np.sqrt((gradient**2).sum(axis=-1, keepdims=True))
        return State(state.x - self.eta * gradient / size), Info()


def test_a_rule_of_yours_is_played_run_by_run():
    trace = play(Branching(0.05), TOY)
    note = "loop: 3 runs of 40 rounds, with Branching, which plays one at a time"
    assert trace.engine_note == note


def test_a_rule_that_says_so_is_played_as_a_batch():
    trace = play(Normalised(0.05), TOY)
    assert trace.engine == "batch"
    alone = play(Normalised(0.05), TOY, engine="loop")
    np.testing.assert_allclose(trace.actions, alone.actions, rtol=1e-12)


def test_a_batch_that_is_asked_for_is_played_with_any_rule():
    with pytest.raises(ValueError, match="round 1: The truth value of an array"):
        play(Branching(0.05), TOY, engine="batch")


def test_functions_of_one_action_are_played_run_by_run():
    limit = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x, bound=2.0)
    trace = play(OGD(eta=0.1, domain=Ball(1.0)), with_constraint(limit))
    assert trace.engine_note.endswith("with <lambda>, which plays one at a time")
    many = Many(
        lambda x: (x * x).sum(axis=-1, keepdims=x.ndim > 1) - 1.0, lambda x: 2 * x, bound=2.0
    )
    both = play(OGD(eta=0.1, domain=Ball(1.0)), with_constraint(many))
    assert both.engine == "batch"
    np.testing.assert_allclose(both.actions, trace.actions, rtol=1e-12, atol=1e-15)


def test_what_the_kernel_does_not_have_is_played_by_numpy():
    assert chosen(rounds=10**6, runs=1) == ("loop", "one run of 1,000,000 rounds")
    assert chosen(rounds=10**6) == ("batch", "3 runs of 1,000,000 rounds")
    assert chosen(rounds=1).reason == "3 runs of one round"
    assert chosen(rounds=9, player=Mine(PLAYER)).engine == "batch"
    assert chosen(rounds=9, problem=with_constraint(PlayedOnly(LinfNorm(0.5, 2)))).engine == "batch"


def test_the_trace_says_which_engine_it_was_and_why():
    assert play(PLAYER, TOY).engine_note == "batch: 3 runs of 40 rounds"
    assert play(PLAYER, TOY, engine="loop").engine_note == "loop: as asked"


@pytest.mark.slow
def test_a_compiled_game_leaves_the_trace_of_numpy_and_compiles_once():
    batch, scan = play(PLAYER, TOY), play(PLAYER, TOY, engine="scan")
    assert scan.ledger.compile_seconds > 0
    np.testing.assert_allclose(scan.actions, batch.actions, rtol=0, atol=1e-12)
    assert play(PLAYER, TOY, engine="scan").ledger.compile_seconds == 0

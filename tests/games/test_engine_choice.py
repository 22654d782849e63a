"""The engine that is taken where the user names none, and the reason that is given."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests._own import State, Stepping

from surefoot import OGD, PFS, Ball, kernel, play, problems
from surefoot.algorithms import ScalarDPP, Tighten
from surefoot.core.types import Info, Needs
from surefoot.games import playing
from surefoot.games.playing import LONG_BATCH, LONG_LOOP, choose
from surefoot.problems.constraints import FunctionConstraint, LinfNorm, PlayedOnly
from surefoot.problems.costs import Quadratic
from surefoot.sets import Polytope

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


class Looping(Mine):
    """A player whose loops depend on data."""

    needs = Needs(numpy_only=True)


class ByRows(Mine):
    """A player that goes through the rows of a constraint in turn."""

    needs = Needs(row_loop=True)


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


def test_short_games_are_played_by_numpy():
    assert chosen(rounds=LONG_LOOP - 1, runs=1) == ("loop", "one run of 199,999 rounds")
    assert chosen(rounds=LONG_BATCH - 1) == ("batch", "3 runs of 14,999 rounds")
    assert chosen(rounds=1).reason == "3 runs of one round"


def test_long_games_of_known_parts_are_compiled():
    assert chosen(rounds=LONG_LOOP, runs=1).engine == "scan"
    assert chosen(rounds=LONG_BATCH) == ("scan", "3 runs of 15,000 rounds")
    tightened = Tighten(base=ScalarDPP(V=2.0, alpha=5.0, domain=Ball(1.0)), rho=0.1)
    assert chosen(rounds=LONG_BATCH, player=tightened).engine == "scan"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"player": Mine(PLAYER)}, "with Mine, which may not compile"),
        (
            {"problem": with_constraint(Many(lambda x: x[0], np.sign))},
            "with Many, which may not compile",
        ),
        (
            {"problem": with_constraint(PlayedOnly(LinfNorm(0.5, 2)))},
            "with PlayedOnly, which may not compile",
        ),
        ({"player": Looping(PLAYER)}, "with Looping, which cannot be compiled"),
        ({"player": ByRows(PLAYER)}, "with ByRows, which takes long to compile"),
        ({"runs": 10_001}, "too wide for a compiled scan to be faster"),
    ],
)
def test_long_games_of_other_parts_are_not(given, reason):
    engine, why = chosen(rounds=10**6, **given)
    assert engine == "batch"
    assert why.endswith(reason)


def test_without_jax_the_note_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(playing, "find_spec", lambda name: None)
    assert chosen(rounds=10**6).engine == "batch"
    assert chosen(rounds=10**6).reason.endswith("a scan would be faster, but JAX is not installed")


def test_the_trace_says_which_engine_it_was_and_why():
    assert play(PLAYER, TOY).engine_note == "batch: 3 runs of 40 rounds"
    assert play(PLAYER, TOY, engine="loop").engine_note == "loop: as asked"


@pytest.mark.slow
def test_a_long_game_is_compiled_unasked_and_leaves_the_trace_of_numpy(monkeypatch):
    batch = play(PLAYER, TOY)
    monkeypatch.setattr(playing, "LONG_BATCH", 30)
    scan = play(PLAYER, TOY)
    assert scan.engine == "scan"
    assert scan.engine_note.startswith("scan: 3 runs of 40 rounds, compiled in ")
    assert scan.ledger.compile_seconds > 0
    np.testing.assert_allclose(scan.actions, batch.actions, rtol=0, atol=1e-12)
    again = play(PLAYER, TOY)
    assert again.engine_note == "scan: 3 runs of 40 rounds, compiled"
    assert again.ledger.compile_seconds == 0


def test_what_does_not_compile_is_played_by_numpy(monkeypatch):
    region = Polytope([[1.0, 2.0], [-2.0, 1.0], [0.5, -1.0]], np.full(3, 0.4))
    player = OGD(eta=0.02, domain=region)  # projects by an active-set method, which branches
    batch = play(player, TOY)
    monkeypatch.setattr(playing, "LONG_BATCH", 30)
    fallen = play(player, TOY)
    assert fallen.engine_note == "batch: 3 runs of 40 rounds; a scan of it does not compile"
    np.testing.assert_array_equal(fallen.actions, batch.actions)
    assert fallen.ledger.compile_seconds == 0


def test_an_error_that_is_not_of_the_compilation_is_the_users_to_see(monkeypatch):
    monkeypatch.setattr(playing, "LONG_BATCH", 30)
    outside = PFS(eta=0.02, rho=0.03, domain=Ball(0.1, [3.0, 0.0]))
    with pytest.raises(ValueError, match="x1 must be"):
        play(outside, TOY)

"""A constraint that answers at the action played only, and who is caught by it."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests._own import Forgetful, State

from surefoot import OGD, PFS, Ball, Problem, play, problems
from surefoot.core.types import Info, needs_of
from surefoot.problems.constraints import (
    Affine,
    Drifting,
    L2Norm,
    LinfNorm,
    PeekingError,
    PlayedOnly,
)
from surefoot.problems.costs import Linear
from surefoot.rules import ALGORITHMS, DPP, FrankWolfe, try_tuning
from surefoot.testing import asarray, double_precision, why_missing

HONEST_ENGINES = pytest.mark.parametrize("engine", ["loop", "batch"])
X = np.array([0.25, -0.125])


@pytest.fixture
def g():
    return PlayedOnly(LinfNorm(0.5, 2))


def guarded(problem):
    return replace(problem, constraint=PlayedOnly(problem.constraint))


def test_it_answers_at_the_action_played_and_nowhere_else(g):
    g.allow(X)
    assert g.value(X) == -0.25
    assert g.subgradient(X.copy()).tolist() == [1.0, 0.0]
    assert g.query_all(X)[0].tolist() == [-0.25, -0.625, -0.75, -0.375]
    for elsewhere in (X + np.array([0.0, 1e-15]), -X, X[:1], np.array([X])):
        for question in (g.query, g.query_all, g.value, g.subgradient):
            with pytest.raises(PeekingError):
                question(elsewhere)


def test_one_action_at_a_time(g):
    g.allow(X)
    g.allow(2 * X)
    assert g.value(2 * X) == 0.0
    with pytest.raises(PeekingError, match=re.escape("at the action played, [ 0.5 -0.25]")):
        g.value(X)


def test_before_the_first_action_there_is_none(g):
    with pytest.raises(PeekingError, match="at the action played, None, and was asked at"):
        g.value(X)


def test_an_action_that_is_changed_afterwards_is_another_one(g):
    x = X.copy()
    g.allow(x)
    x[0] = 0.125
    with pytest.raises(PeekingError):
        g.value(x)


def test_the_last_digit_counts(g):
    g.allow(X)
    with pytest.raises(PeekingError):
        g.value(np.nextafter(X, 1.0))


def test_a_batch_is_asked_for_as_a_whole(g):
    batch = np.array([X, -X])
    g.allow(batch)
    assert g.value(batch)[:, 0].tolist() == [-0.25, -0.25]
    with pytest.raises(PeekingError):
        g.value(X)


@pytest.mark.parametrize("backend", ["array-api-strict", "jax"])
def test_it_guards_every_backend(g, backend):
    if reason := why_missing(backend):
        pytest.skip(reason)
    with double_precision(backend):
        x = asarray(X, backend)
        g.allow(x)
        assert float(g.value(x)) == -0.25
        with pytest.raises(PeekingError):
            g.value(-x)


def test_what_is_known_of_the_constraint_is_known_of_the_guarded_one():
    inner = Affine([[1.0, 2.0], [-3.0, 0.5]], [0.5, 0.4])
    g, domain = PlayedOnly(inner), Ball(2.0)
    assert (g.dimension, g.rows, g.region) == (2, 2, inner.region)
    assert g.subgradient_bound(domain) == inner.subgradient_bound(domain)
    assert g.value_bound(domain, X) == inner.value_bound(domain, X)
    assert g.exact_sigma(None) == inner.exact_sigma(None)
    np.testing.assert_array_equal(g.interior, inner.interior)
    assert PlayedOnly(L2Norm(1.0)).dimension is None


@pytest.mark.parametrize("wrong", [None, 3, LinfNorm, Drifting(LinfNorm(0.5, 2), [0.0])])
def test_only_a_constraint_can_be_guarded(wrong):
    with pytest.raises(ValueError, match=r"^constraint must be a Constraint, got "):
        PlayedOnly(wrong)


def test_a_problem_with_a_guard_has_the_constants_of_one_without():
    costs = Linear([[1.0, -2.0]])
    plain = Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), [0.1, 0.2])
    kept = Problem.of(costs, PlayedOnly(LinfNorm(0.5, 2)), Ball(1.0), [0.1, 0.2])
    assert kept.constants == plain.constants
    assert kept.benchmark == plain.benchmark
    np.testing.assert_array_equal(kept.interior, plain.interior)
    with pytest.raises(ValueError, match=r"constraint.dimension must be 2, .* got 3"):
        Problem.of(costs, PlayedOnly(LinfNorm(0.5, 3)), Ball(1.0), [0.1, 0.2])


@dataclass(frozen=True)
class Peeker(Forgetful):
    """Holds the constraint, and looks before it leaps."""

    g: Any

    def step(self, state, feedback):
        new = state.x - 0.1 * feedback.cost_gradient
        again = self.g.value(state.x)  # at the action played: allowed
        assert np.array_equal(again, feedback.constraint_value)
        ahead = self.g.value(new)
        return State(np.where(ahead <= 0, new, state.x)), Info()


@HONEST_ENGINES
def test_an_algorithm_that_peeks_is_caught(engine):
    toy = guarded(problems.binding_toy(20, trials=2))
    with pytest.raises(PeekingError, match=r"^the constraint answers at the action played, "):
        play(Peeker(toy.constraint), toy, engine=engine)


def test_without_the_guard_nobody_would_notice():
    toy = problems.binding_toy(20, trials=2)
    trace = play(Peeker(toy.constraint), toy, engine="loop")
    assert (trace.violations.largest <= 0).all()


@dataclass(frozen=True)
class Rereader(Forgetful):
    """Holds the constraint and asks where it has played, in its own words."""

    g: Any

    def step(self, state, feedback):
        value, s = self.g.query(state.x)
        return State(state.x - 0.05 * feedback.cost_gradient - np.maximum(value, 0.0) * s), Info()


@HONEST_ENGINES
def test_an_algorithm_that_asks_where_it_has_played_is_not(engine):
    toy = guarded(problems.binding_toy(20, trials=2))
    assert play(Rereader(toy.constraint), toy, engine=engine).status == ("ok", "ok")


@pytest.mark.slow
@HONEST_ENGINES
def test_honest_algorithms_play_as_without_a_guard(engine):
    toy = problems.binding_toy(60, trials=2)
    region = toy.constraint.region
    known = toy.constants
    players = [
        entry.tuned.algorithm
        for kind in ALGORITHMS
        for entry in [try_tuning(kind, kind.tunings[0], known, 60, toy.domain, region)]
        if entry.tuned is not None
        and not (engine == "batch" and needs_of(entry.tuned.algorithm).one_run)
    ]
    assert len(players) > 12
    for player in players:
        wanted = play(player, toy, engine=engine)
        seen = play(player, guarded(toy), engine=engine)
        np.testing.assert_array_equal(seen.actions, wanted.actions)
        np.testing.assert_array_equal(seen.constraint, wanted.constraint)
        np.testing.assert_array_equal(seen.regret().upper, wanted.regret().upper)
        assert seen.ledger[:7] == wanted.ledger[:7]


@HONEST_ENGINES
def test_runs_that_end_early_and_lost_runs_are_no_peeking(engine):
    toy = guarded(problems.binding_toy(40, trials=2))
    player = PFS(eta=0.01, rho=0.01, domain=Ball(1.0))
    assert play(player, toy, horizon=15, engine=engine).horizon == 15
    slopes = np.ones((9, 2, 2))
    slopes[4, 1] = 1e300
    steep = Problem.of(Linear(slopes), PlayedOnly(L2Norm(0.5)), Ball(1.0), [0.0, 0.1], G_f=1e300)
    if engine == "batch":
        assert play(player, steep, engine=engine).status[1].startswith("round 5: ")


def test_the_rows_of_a_guarded_constraint_are_told_apart():
    problem = guarded(problems.binding_toy(30, trials=1))
    player = DPP.tuned(problem.constants, 30)
    assert play(player, problem).status == ("ok",)


def test_a_compiled_game_cannot_be_guarded_and_says_so():
    toy = guarded(problems.binding_toy(20, trials=2))
    for player in (PFS(eta=0.01, rho=0.01, domain=Ball(1.0)), OGD(eta=0.1, domain=Ball(0.5))):
        with pytest.raises(ValueError, match="must be played by the loop or the batch, got a comp"):
            play(player, toy, engine="scan")


def test_the_ledger_of_a_guarded_game_has_what_is_declared():
    toy = guarded(problems.binding_toy(10, trials=1))
    player = FrankWolfe.tuned(toy.constants, 10, toy.constraint.region)
    ledger = play(player, toy, engine="loop").ledger
    assert (ledger.linear_minimisations, ledger.constraint_values) == (10, 0)

"""A player that never looks at the constraint: no guarantee may be called kept."""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests._own import Forgetful, State

from surefoot import Ball, Problem, play
from surefoot.core.types import Info, Needs
from surefoot.games.verdict import judge
from surefoot.guarantees import NoClaim, Tuned
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import (
    ALGORITHMS,
    DPP,
    OGD,
    Mahdavi,
    MahdaviLinear,
    MahdaviNoViolation,
    Tighten,
    try_tuning,
)

T = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Liar(Forgetful):
    """Goes down the cost, whatever the constraint is."""

    needs: ClassVar[Needs] = Needs()
    batches: ClassVar[bool] = True
    domain: Ball

    def step(self, state, feedback):
        return State(self.domain.project(state.x - 0.5 * feedback.cost_gradient)), Info()


def pushed(horizon=T):
    """A square, and costs that fall towards one of its faces; little is known to be steep."""
    costs = Linear(np.tile([-0.1, 0.0], (horizon, 1)))
    made = Problem.of(costs, LinfNorm(0.3, 2), Ball(1.0), [0.0, 0.0])
    return replace(made, constants=made.constants.with_origin("given", strong_convexity=0.1))


@pytest.fixture(scope="module")
def problem():
    return pushed()


@pytest.mark.slow
def test_no_guarantee_of_the_catalogue_holds_for_a_player_that_never_looks(problem):
    region, domain = problem.benchmark.region, problem.domain
    entries = [
        try_tuning(kind, tuning, problem.constants, T, domain, region)
        for kind in ALGORITHMS
        for tuning in kind.tunings
    ]
    missing = {e.name for e in entries if e.tuned is None}
    # A square is neither a simplex nor smooth, and one theorem's own gamma asks for more rounds.
    smooth = {"LevyKrause.fixed", "LevyKrause.strongly_convex"}
    assert missing == {"EntropicDualAveraging.fixed", "Mahdavi.no_violation", *smooth}
    promises = [e.tuned.guarantee for e in entries if e.tuned is not None]
    promises.append(MahdaviNoViolation(problem.constants, T, tightening=0.1))
    # As the Liar below, and C plays it: there are 65 games of 20,000 rounds.
    liars = [Tuned(OGD(eta=0.5, domain=domain), promise) for promise in promises]
    traces = [play(a, problem, horizon=T, every=None, keep_actions=False) for a in liars]
    unseen = set()
    for trace in traces:
        told = judge(trace)
        assert " violations in 20,000 rounds" in told.sentence
        if told.word != "failed":
            unseen.add(trace.guarantee.name)
            assert allows_anything(trace.guarantee), told.sentence
    # The second promises regret alone where the constraint may change.
    assert unseen == {
        "Garber and Kretzu 2024, changing constraints",
        "Kolev et al. 2023, CVV-Pro",
    }


def allows_anything(guarantee):
    """Whether bounds are still above what any player in the ball can do in so many rounds."""
    worst = {
        "positive_sum": 0.7 * T,
        "sum_positive": 0.7 * T,
        "rows": 0.7 * T,
        "sum_squared": 0.49 * T,
    }
    return all(bound >= worst[measure] for measure, bound in guarantee.bounds(T).items())


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize(
    "constructor",
    [Mahdavi.balanced, MahdaviLinear.balanced, DPP.tuned],
    ids=lambda c: c.__qualname__,
)
def test_a_bound_on_rows_that_is_too_low_to_be_true_fails(constructor, engine, monkeypatch):
    if engine == "scan":
        pytest.importorskip("jax")
    toy = pushed(60)
    player = constructor(toy.constants, 60, toy.domain)
    assert judge(play(player, toy, engine=engine)).word == "held"
    monkeypatch.setattr(
        type(player.guarantee), "bounds", lambda self, t: {"rows": np.full(np.shape(t), -1e9)}
    )
    told = judge(play(player, toy, engine=engine))
    assert told.word == "failed"
    assert "largest sum of a constraint" in told.sentence


def test_a_promise_that_nobody_looked_at_is_not_called_kept(problem):
    toy = pushed(60)
    trace = play(DPP.tuned(toy.constants, 60, toy.domain), toy)
    told = judge(replace(trace, row_sums=None))
    assert told.word == "not checked"
    assert "the largest sum of a constraint was not recorded" in told.sentence


@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize("separately", [True, False])
def test_the_sums_of_the_rows_are_those_of_the_actions(engine, separately):
    if engine == "scan":
        pytest.importorskip("jax")
    made = pushed(70)
    costs = Linear(np.random.default_rng(4).normal(size=(70, 3, 2)) * 0.1)
    toy = replace(made, costs=costs)
    player = DPP.tuned(toy.constants.with_origin("given", G_f=1.0), 70, toy.domain)
    if not separately:
        player = Tuned(Liar(domain=toy.domain), player.guarantee)
    trace = play(player, toy, engine=engine)
    g, _ = toy.constraint.query_all(trace.actions.reshape(-1, 2))
    expected = g.reshape(70, 3, 4).sum(axis=0)
    assert trace.row_sums == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_rows_are_not_summed_where_nothing_is_promised_of_them():
    toy = pushed(60)
    assert play(Tuned(Liar(domain=toy.domain), NoClaim(toy.constants)), toy).row_sums is None


def test_a_verdict_on_sums_says_what_was_promised_and_how_many_rounds_violated():
    toy = pushed(300)
    told = play(DPP.tuned(toy.constants, 300, toy.domain), toy).verdict()
    assert told.startswith("Yu-Neely-Wei 2017, 4 queues for T = 300 (cumulative) held: ")
    assert "largest sum of a constraint" in told
    assert " violations in 300 rounds" in told


def test_no_claim_is_not_judged():
    toy = pushed(60)
    told = judge(play(Tuned(Liar(domain=toy.domain), NoClaim(toy.constants)), toy))
    assert told.word == "not claimed"
    assert re.match(r"no guarantee was claimed: \d+ violations in ", told.sentence)


@pytest.mark.slow
def test_tightening_promises_each_row_where_its_base_does(problem):
    tight = Tighten.tuned(problem.constants, T, problem.domain, base=DPP.tuned)
    trace = play(tight, problem, every=None, keep_actions=False)
    assert judge(trace).word == "held"
    assert trace.row_sums.max() <= 0

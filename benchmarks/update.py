"""One round of one run: update, certified update, controller and query against steps by hand.

``PFS.update`` is one text for a live loop, a batch and a compiled scan, with checked arguments; the
rivals do the same arithmetic for one case and check nothing. All are given the same rounds, taken
from all over a game on the paper's toy, so that cuts and free steps come in its own mix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import limit
from benchmarks.findings import Findings, Row, compared
from benchmarks.rivals import (
    HandState,
    hand_certified,
    hand_query,
    hand_sparse_query,
    hand_step,
    must_agree,
)
from benchmarks.streams import (
    HORIZON,
    Rounds,
    as_plotted,
    cube_toy,
    rounds_of,
    sparse_polytope,
    sparse_problem,
)
from benchmarks.timing import Effort, Work, take_turns
from surefoot import Controller, Feedback, Problem
from surefoot.certified import Certified
from surefoot.controller.members import Solo
from surefoot.core.types import Array, needs_of
from surefoot.problems import random_polytope, rotated_box
from surefoot.problems.constraints import Affine
from surefoot.rules import CertifiedPFS, LeaderFollower, RegionFilter

UPDATE, CERTIFIED = "PFS.update", "CertifiedPFS.update"
TELL, CERTIFIED_TELL, ASK_TELL = "Controller.tell", "certified tell", "ask and tell"
STEP, CERTIFIED_STEP, C = "step by hand", "certified by hand", "C"
FILTER, REGION_TELL = "RegionFilter.step", "region filter tell"
LEADER_ROUND, CERTIFIED_ROUND = "LeaderFollower round", "CertifiedPFS round"


def run(effort: Effort) -> Findings:
    """Measure all sizes."""
    rows: list[Row] = []
    remarks = [] if limit.compiled() else ["no C compiler was found: the column C is left out"]
    # Few rounds are kept at d = 10^4, so that they stay in the cache as a live round would; and
    # few are played, because one cut a round cannot hold 10^4 faces for long.
    sizes = ((2, HORIZON, 500), (100, HORIZON, 500), (10_000, 250, 20))
    for d, rounds, kept in ((2, 400, 40),) if effort.tiny else sizes:
        found, share = updates(cube_toy(d, rounds), rounds, kept, effort)
        rows += found
        remarks.append(f"update, d = {d:,}: the half-space cuts in {share:.0%} of the rounds")
    polytopes = ((2, 4), (20, 60), (100, 200))
    for d, m in polytopes[:1] if effort.tiny else polytopes:
        rows.append(whole_rounds(d, m, effort))
    entries = 1_000 if effort.tiny else 10_000_000
    rows += sparse(entries, effort)
    grid = (
        (2, 4),
        (2, 200),
        (2, 2_000),
        (100, 4),
        (100, 200),
        (100, 2_000),
        (10_000, 4),
        (10_000, 200),
    )
    for d, m in grid[:1] if effort.tiny else grid:
        rows.append(dense_query(d, m, effort._replace(seconds=effort.seconds / 2)))
    return Findings(rows, remarks=remarks)


def updates(problem: Problem, rounds: int, kept: int, effort: Effort) -> tuple[list[Row], float]:
    """Return the rows of one dimension, and the share of rounds with a cut."""
    d = problem.costs.dimension
    plain = rounds_of(as_plotted(problem.domain), problem, rounds, kept)
    certified = rounds_of(CertifiedPFS.default(problem.constants).algorithm, problem, rounds, kept)
    regions = filtered(problem, rounds, kept)
    works = {
        STEP: by_hand(plain),
        UPDATE: by_library(plain),
        CERTIFIED: by_library(certified),
        CERTIFIED_STEP: certified_by_hand(certified),
        TELL: told(plain),
        CERTIFIED_TELL: told(certified),
        ASK_TELL: told(plain, ask=True),
        FILTER: by_library(regions),
        REGION_TELL: told(regions),
    }
    if limit.compiled():
        works[C] = in_c(plain)
    times = take_turns(works, effort)
    bars: list[tuple[str, str, float | None]] = [
        (UPDATE, STEP, 1.5),
        (CERTIFIED, STEP, 2.0),
        (CERTIFIED, UPDATE, 2.0),
        (CERTIFIED, CERTIFIED_STEP, None),
        (TELL, STEP, 1.5 if d >= 10_000 else 2.2),
        (ASK_TELL, STEP, None),
        (CERTIFIED_TELL, STEP, None),
        (CERTIFIED_TELL, CERTIFIED, 1.6 if d <= 100 else None),
        (REGION_TELL, FILTER, 1.6 if d <= 100 else None),
    ]
    rows = [
        compared("update", f"d = {d:,}", times, a, b, units=len(plain.seen), limit=C, bar=bar)
        for a, b, bar in bars
    ]
    # The C loop takes the step of PFS: only its rows have a limit.
    rows = [r if r.library == UPDATE else r._replace(limit=None) for r in rows]
    return rows, plain.cut_share


def whole_rounds(d: int, m: int, effort: Effort) -> Row:
    """Compare whole rounds (gradient, query and update) of two rules from their start on."""
    rounds = 60 if effort.tiny else 600
    made = rotated_box if m == 2 * d else partial(random_polytope, rows=m)
    problem = made(d, horizon=rounds)
    rules: dict[str, Any] = {
        LEADER_ROUND: LeaderFollower.default,
        CERTIFIED_ROUND: CertifiedPFS.default,
    }
    works: dict[str, Work] = {
        name: partial(rounds_of, default(problem.constants).algorithm, problem, rounds, 1)
        for name, default in rules.items()
    }
    times = take_turns(works, effort)
    pair = (LEADER_ROUND, CERTIFIED_ROUND)
    return compared("update", f"d = {d}, m = {m}", times, *pair, units=rounds, bar=4.0)


class Proposed(NamedTuple):
    """A filter that is proposed gradient steps, as a rule."""

    filter: Certified

    def init(self, x1: Array) -> Any:
        """Start the filter."""
        return self.filter.init(x1)

    def update(self, state: Any, seen: Feedback) -> Any:
        """Return the state after a round."""
        return self.filter.update(state, proposal(state, seen))


def proposal(state: Any, seen: Feedback) -> Feedback:
    return seen._replace(cost_gradient=None, proposal=state.x - 0.05 * seen.cost_gradient)


def filtered(problem: Problem, rounds: int, kept: int) -> Rounds:
    """Return rounds of a filter, with proposals in place of gradients."""
    rule = Proposed(RegionFilter.default(problem.constants))
    found = rounds_of(rule, problem, rounds, kept)
    return Rounds(rule.filter, found.states, list(map(proposal, found.states, found.seen)))


def by_library(rounds: Rounds) -> Work:
    pairs = list(zip(rounds.states, rounds.seen, strict=True))

    def work() -> None:
        update = rounds.player.update
        for state, feedback in pairs:
            update(state, feedback)

    return work


def by_hand(rounds: Rounds, step: Callable[..., Array] = hand_step) -> Work:
    player, radius = rounds.player, float(rounds.player.domain.radius)
    plain = [(s.x, *f[:3]) for s, f in zip(rounds.states, rounds.seen, strict=True)]
    eta, rho = player.eta, player.rho
    wanted = [player.update(s, f).x for s, f in zip(rounds.states, rounds.seen, strict=True)]
    must_agree([step(*p, eta, rho, radius) for p in plain], wanted)

    def work() -> None:
        for x, grad, g, s in plain:
            step(x, grad, g, s, eta, rho, radius)

    return work


def certified_by_hand(rounds: Rounds) -> Work:
    player, knowledge = rounds.player, rounds.player.knowledge
    start, G_g, rho = rounds.states[0].x, knowledge.G_g, knowledge.rho
    radius = float(knowledge.domain.radius)
    pairs = [(_hand_state(s), f[:3]) for s, f in zip(rounds.states, rounds.seen, strict=True)]
    wanted = [player.update(s, f).x for s, f in zip(rounds.states, rounds.seen, strict=True)]
    must_agree([hand_certified(s, *f, start, G_g, rho, radius).x for s, f in pairs], wanted)

    def work() -> None:
        for state, (grad, g, s) in pairs:
            hand_certified(state, grad, g, s, start, G_g, rho, radius)

    return work


def _hand_state(state: Any) -> HandState:
    read, learnt = state.memory, state.learner
    kept = (read.rounds, read.slack, read.rho, read.drawn, read.left)
    return HandState(state.x, *kept, learnt.inverse_eta, learnt.squares)


def told(rounds: Rounds, *, ask: bool = False) -> Work:
    """Return a controller without guarantee (the watch is off) that is told the same rounds."""
    controller = Controller(rounds.player, rounds.states[0].x)
    pairs = list(zip(rounds.states, rounds.seen, strict=True))
    filters = bool(needs_of(rounds.player).proposals)

    def work() -> None:
        for state, seen in pairs:
            grad, g, s, wanted = *seen[:3], seen.proposal
            # Rounds come from all over a game: each is told in its own state, as if just asked for.
            (run, loop), at = controller._now
            controller._now = (Solo(run, loop._replace(state=state)), at)
            if ask:
                controller.ask()
            else:
                controller._asked = loop.round
            if filters:
                controller.tell(proposal=wanted, constraint_value=g, constraint_subgradient=s)
            else:
                controller.tell(cost_gradient=grad, constraint_value=g, constraint_subgradient=s)

    return work


def in_c(rounds: Rounds) -> Work:
    player = rounds.player
    x = np.array([state.x for state in rounds.states])
    grad, g, s = (np.array([f[k] for f in rounds.seen]) for k in range(3))
    steps = limit.Steps(x, grad, g, s, player.eta, player.rho, float(player.domain.radius))
    steps()
    pairs = zip(rounds.states, rounds.seen, strict=True)
    must_agree(list(steps.out), [player.update(state, f).x for state, f in pairs])
    return steps


# --- the constraint ------------------------------------------------------------------------------


def dense_query(d: int, m: int, effort: Effort) -> Row:
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(m, d)), rng.uniform(0.5, 1.0, m)
    points = [rng.normal(size=d) / np.sqrt(d) for _ in range(200 if m * d < 10**5 else 1)]
    constraint = Affine(A, b)
    must_agree(hand_query(A, b, points[0])[1], constraint.query(points[0])[1])
    works: dict[str, Work] = {
        "Affine.query": lambda: [constraint.query(x) for x in points],
        "query by hand": lambda: [hand_query(A, b, x) for x in points],
    }
    if limit.compiled():
        s = np.empty(d)
        calls = [limit.Call("query", m, d, A, b, x, s) for x in points]
        must_agree(calls[0](), constraint.query(points[0])[0])
        works[C] = lambda: [call() for call in calls]
    times = take_turns(works, effort)
    case = f"d = {d:,}, m = {m:,}"
    pair = ("Affine.query", "query by hand")
    return compared("update", case, times, *pair, units=len(points), limit=C)


def sparse(entries: int, effort: Effort) -> list[Row]:
    """Compare update and query on a sparse polytope."""
    constraint = sparse_polytope(entries)
    d, A, b = constraint.dimension, constraint.A, constraint.b
    problem = sparse_problem(constraint, rounds=8)
    plain = rounds_of(as_plotted(problem.domain), problem, 8, 2)
    certified = rounds_of(CertifiedPFS.default(problem.constants).algorithm, problem, 8, 2)
    x = plain.states[-1].x
    must_agree(hand_sparse_query(A, b, x)[1], constraint.query(x)[1])
    works: dict[str, Work] = {
        STEP: by_hand(plain),
        UPDATE: by_library(plain),
        CERTIFIED: by_library(certified),
    }
    queries: dict[str, Work] = {
        "Affine.query": lambda: constraint.query(x),
        "SciPy query by hand": lambda: hand_sparse_query(A, b, x),
    }
    if limit.compiled():
        works[C] = in_c(plain)
        queries[C] = limit.Call("sparse_query", len(b), d, A.data, *_whole(A), b, x, np.empty(d))
    case = f"d = {d:,}, sparse"
    times, queried = take_turns(works, effort), take_turns(queries, effort)
    pair = ("Affine.query", "SciPy query by hand")
    return [
        compared("update", case, times, UPDATE, STEP, units=2, limit=C),
        compared("update", case, times, CERTIFIED, STEP, units=2),
        compared("update", f"{case}, m = {len(b):,}", queried, *pair, limit=C),
    ]


def _whole(A: Any) -> tuple[Array, Array]:
    """Return column and start indices as C takes them."""
    return A.indices.astype(np.int32), A.indptr.astype(np.int32)

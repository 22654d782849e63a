"""The problems that are played, and the rounds that are updated again and again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from surefoot import PFS, Ball, Feedback, Problem, Trace, play
from surefoot.games import Engine, Progress
from surefoot.problems import SETTINGS, paper_toy
from surefoot.problems.constraints import Affine, LinfNorm
from surefoot.problems.costs import Quadratic

CURVATURE, HALF = 6.0, 0.5
"""Of the paper's toy: the costs', and half the side of the cube."""
HORIZON = 2_000
"""The horizon whose parameters are played: the first of the paper's ten."""


def as_plotted(domain: Ball) -> PFS:
    """Return PFS with the parameters of the published curve, whose ball has radius 1.

    In a larger ball rho grows with the radius, as the paper's does, up to half of the start's
    slack: a controller is for rounds that are not outside.
    """
    eta, rho = SETTINGS[0].parameters(HORIZON)
    return PFS(eta=eta, rho=min(rho * float(domain.radius), HALF / 2), domain=domain)


def play_bare(
    problem: Problem, engine: Engine, callback: Callable[[Progress], None] | None = None
) -> Trace:
    """Play the published curve without all that a program by hand does not do."""
    return play(
        as_plotted(problem.domain),
        problem,
        engine=engine,
        every=None,
        keep_actions=False,
        watch="off",
        callback=callback,
    )


def cube_toy(dimension: int, rounds: int, runs: int | None = None) -> Problem:
    """Return the paper's toy in any dimension: targets uniform on [-1, 0]^d, the same cube."""
    if dimension == 2 and runs is None:
        return paper_toy(rounds, trials=1)
    shape = (rounds, runs or 1, dimension)
    targets = np.random.default_rng(0).uniform(-1, 0, shape)
    constraint, domain = LinfNorm(HALF, dimension), Ball(math.sqrt(dimension / 2))
    return Problem.of(Quadratic(targets, CURVATURE), constraint, domain, np.zeros(dimension))


def rows_toy(dimension: int, rows: int, rounds: int, runs: int | None = None) -> Problem:
    """Return the same costs, under random rows of norm 1 around 0."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(rows, dimension))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    targets = rng.uniform(-1, 0, (rounds, runs or 1, dimension))
    constraint = Affine(A, rng.uniform(0.25, 0.5, rows))
    return Problem.of(
        Quadratic(targets, CURVATURE),
        constraint,
        Ball(math.sqrt(dimension / 2)),
        np.zeros(dimension),
    )


def sparse_polytope(entries: int, seed: int = 0) -> Affine:
    """Return a cube of d = entries/10 columns, cut by d random rows of eight entries each."""
    from scipy.sparse import csr_array, eye_array, vstack

    d = entries // 10
    rng = np.random.default_rng(seed)
    # One entry in each eighth of the columns, so that none comes twice in a row.
    columns = (np.arange(8) * (d // 8) + rng.integers(0, d // 8, size=(d, 8))).ravel()
    rows = np.repeat(np.arange(d), 8)
    cuts = csr_array((rng.normal(size=8 * d), (rows, columns)), shape=(d, d))
    lengths = np.sqrt(cuts.multiply(cuts).sum(axis=1))
    b = np.concatenate([np.ones(2 * d), lengths * rng.uniform(0.5, 1.0, d)])
    return Affine(vstack([eye_array(d), -eye_array(d), cuts], format="csr"), b).normalize()


def sparse_problem(constraint: Affine, rounds: int) -> Problem:
    """Return the sparse polytope, with costs that pull to a few points outside, in turn."""
    d = constraint.dimension
    targets = np.resize(2.0 + np.random.default_rng(1).normal(size=(4, d)), (rounds, d))
    domain = Ball(math.sqrt(d) * (1 + 1e-12))  # to the cube's corners
    return Problem.of(Quadratic(targets, 1.0), constraint, domain, np.zeros(d))


def targets_of(problem: Problem) -> Any:
    """Return the targets of its costs."""
    assert isinstance(problem.costs, Quadratic)
    return problem.costs.targets


class Rounds(NamedTuple):
    """Rounds of a game, evenly spaced over it."""

    player: Any
    states: list[Any]
    seen: list[Feedback]

    @property
    def cut_share(self) -> float:
        """In which share of the rounds (and runs) the half-space cuts the step of PFS."""
        excess = [
            f.constraint_value
            - np.vecdot(f.constraint_subgradient, self.player.eta * f.cost_gradient)[..., None]
            + self.player.rho
            for f in self.seen
        ]
        return float((np.array(excess) > 0).mean())


def rounds_of(
    player: Any, problem: Problem, rounds: int, kept: int, *, batch: bool = False
) -> Rounds:
    """Return rounds that a player meets, in one run or in a batch of all runs."""
    runs, costs, start = problem.costs.runs, problem.costs, problem.start
    if runs is not None:
        costs = costs.run(np.arange(runs) if batch else 0)
    state = player.init(np.tile(start, (runs or 1, 1)) if batch else start)
    states, seen = [], []
    for t in range(rounds):
        feedback = Feedback(costs.gradient(t, state.x), *problem.benchmark.query(state.x))
        if t % (rounds // kept) == 0:
            states.append(state)
            seen.append(feedback)
        state = player.update(state, feedback)
    return Rounds(player, states, seen)

"""The engine "kernel": whole games in C, for the commonest costs, constraints and rules.

What the C text has is a table here: a game whose parts are all in it is written as flat arrays,
and C plays its blocks, in one thread per core; the bits do not depend on how many. The record of
the rounds, their watch and the sentences about lost runs are those of the other engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import (
    DPP,
    LBSGD,
    OGD,
    PFS,
    AdaGradOGD,
    AdaptiveGauge,
    Certified,
    DecayingOGD,
    DoublingPFS,
    DualAveraging,
    FrankWolfe,
    GaugeDescent,
    Jenatton,
    Mahdavi,
    MahdaviLinear,
    PrimalDual,
    ScalarDPP,
    ScheduledPFS,
    SinhaVaze,
    StrongSinhaVaze,
    Tighten,
    Yuan,
    YuNeely,
)
from surefoot.algorithms.compiled import KernelState
from surefoot.algorithms.related.gauge import Gauged
from surefoot.algorithms.related.lagrangian import Multiplying
from surefoot.core.algorithm import own_domain
from surefoot.core.types import Array, Number, needs_of
from surefoot.games.game import Game, Played
from surefoot.games.record import block_length, segments
from surefoot.kernel.games import NOTHING, PARAMETERS, CompiledGame, is_available
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, EllipsoidNorm, L2Norm, LinfNorm, QuadraticForm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.sets import Ball, Box
from surefoot.sets.oracles import RowsGauge

__all__ = ["Description", "describe", "play_compiled"]

# The number of a rule in kernel/c/games.h, and its parameters in the order there.
_RULES: dict[type[Any], tuple[int, tuple[str, ...]]] = {
    PFS: (1, ("eta", "rho")),
    ScheduledPFS: (2, ("rho", "step_size", "power", "offset", "running", "adagrad")),
    DoublingPFS: (3, ("eta", "rho")),
    OGD: (4, ("eta",)),
    DecayingOGD: (5, ("eta", "fast")),
    AdaGradOGD: (6, ("eta",)),
    DualAveraging: (7, ("eta",)),
    ScalarDPP: (8, ("V", "alpha")),
    Jenatton: (9, ("eta", "theta", "beta", "decay")),
    SinhaVaze: (10, ("scale", "rate", "diameter")),
    StrongSinhaVaze: (11, ("V", "strong_convexity")),
    FrankWolfe: (12, ("eta", "step_size")),
    GaugeDescent: (13, ("eta", "strong_convexity", "gauge.inner_radius")),
    AdaptiveGauge: (14, ("slope", "horizon", "gauge.inner_radius")),
    DPP: (15, ("V", "alpha")),
    Mahdavi: (16, ("eta", "delta", "gamma")),
    MahdaviLinear: (17, ("eta",)),
    YuNeely: (18, ("gamma", "alpha")),
    Yuan: (19, ("eta", "theta", "decay")),
    PrimalDual: (20, ("primal_step", "dual_step", "cap")),
    LBSGD: (21, ("weight", "beta", "cost_curvature")),
}
_COSTS: dict[type[Any], int] = {Quadratic: 0, Linear: 1}
_CONSTRAINTS: dict[type[Any], int] = {
    Affine: 0,
    L2Norm: 1,
    LinfNorm: 2,
    EllipsoidNorm: 3,
    QuadraticForm: 4,
}
_DOMAINS: dict[type[Any], int] = {type(None): 0, Ball: 1, Box: 2}
_LONGEST = 16_384
"""Rounds of a block, at most."""


class Description(NamedTuple):
    """The parts of a game as the C text has them.

    Attributes:
        codes: d, rows of the constraint, and the numbers of costs, constraint, rule and domain.
        numbers: the curvature of the costs, the radius of the constraint.
        arrays: matrix and vector of the constraint; centre, lower and upper limits of the domain;
            rows of the gauge.
        players: of each algorithm its tightening, radius, inner radius and parameters.
        rules: of each algorithm the certified rule in the kernel; None where it is another.
    """

    codes: tuple[int, ...]
    numbers: tuple[float, float]
    arrays: tuple[Array, ...]
    players: list[list[float]]
    rules: list[Any]


class _Player(NamedTuple):
    """An algorithm as the C text has it, with the arrays of its domain and of its gauge.

    It must see as many rows as it says; None where any number will do.
    """

    rule: int
    domain: int
    limits: tuple[Array, Array, Array, Array]
    numbers: list[float]
    rows: int | None
    certified: Any = None


def describe(
    algorithms: Sequence[Any], problem: Problem, start: Any, *, each_row: bool = False
) -> Description | None:
    """Return a game as the kernel has it; None where the kernel does not play it.

    Args:
        algorithms: those that play.
        problem: what is played.
        start: the first action.
        each_row: whether the values of all constraints are wanted.
    """
    is_numpy = isinstance(start, (np.ndarray, list, tuple))
    costs: Any = problem.costs
    if not is_available() or not is_numpy or type(costs) not in _COSTS:
        return None
    constraint = _constraint(problem.constraint, needs_of(algorithms[0]).apart)
    players = _players(algorithms, costs.dimension)
    if constraint is None or players is None:
        return None
    kind, rows, matrix, vector, radius = constraint
    if each_row and rows != problem.constraint.rows:
        return None
    if not all(player.rows in (None, rows) for player in players):
        return None
    first = players[0]
    return Description(
        (costs.dimension, rows, _COSTS[type(costs)], kind, first.rule, first.domain),
        (costs.strong_convexity, radius),
        (matrix, vector, *first.limits),
        [player.numbers for player in players],
        [player.certified for player in players],
    )


def _players(algorithms: Sequence[Any], d: int) -> list[_Player] | None:
    """Return algorithms as C has them; None where it has not, or they cannot be in one game."""
    players = [p for a in algorithms if (p := _player(a, d)) is not None]
    if len(players) < len(algorithms) or not all(_go_together(players[0], p) for p in players):
        return None
    return players


def _player(algorithm: Any, d: int) -> _Player | None:
    """Return an algorithm as C has it; None where it has not."""
    if type(algorithm) is Certified:
        return _certified_player(algorithm, d)
    tightening: Any = 0.0
    if type(algorithm) is Tighten:
        tightening, algorithm = algorithm.rho, algorithm.base
    domain = own_domain(algorithm)
    if type(algorithm) not in _RULES or type(domain) not in _DOMAINS:
        return None
    faces = NOTHING
    if isinstance(algorithm, Gauged):
        if type(algorithm.gauge) is not RowsGauge or domain.centre is not None:
            return None
        faces = algorithm.gauge.rows
    code, names = _RULES[type(algorithm)]
    radii, limits = _measure_domain(domain, d)
    numbers = [tightening, *radii, *(attrgetter(name)(algorithm) or 0.0 for name in names)]
    if not all(isinstance(number, (int, float)) for number in numbers):
        return None  # a column of numbers is for a batch
    numbers += [0.0] * (3 + PARAMETERS - len(numbers))
    rows = algorithm.rows if isinstance(algorithm, Multiplying) else None
    return _Player(code, _DOMAINS[type(domain)], (*limits, faces), numbers, rows)


def _certified_player(algorithm: Certified, d: int) -> _Player | None:
    rule = algorithm.compiled.rule(algorithm, np.zeros(d))
    if rule is None:
        return None
    rows = None if rule.rows == 1 else rule.rows  # one row is the largest of any number
    return _Player(0, 0, (NOTHING,) * 4, [0.0] * (3 + PARAMETERS), rows, rule)


def _measure_domain(
    domain: Ball | Box | None, d: int
) -> tuple[tuple[Number, Number], tuple[Array, Array, Array]]:
    """Return radius and inner radius of a domain, and its centre, lower and upper limits."""
    if isinstance(domain, Ball):
        inner = domain._inner(np.zeros(d))
        return (domain.radius, inner), (_or_nothing(domain.centre), NOTHING, NOTHING)
    if isinstance(domain, Box):
        return (0.0, 0.0), (NOTHING, domain.lower, domain.upper)
    return (0.0, 0.0), (NOTHING, NOTHING, NOTHING)


def _go_together(one: _Player, other: _Player) -> bool:
    """Return whether two players can be in one game: they differ in their numbers alone."""
    same = all(map(np.array_equal, one.limits, other.limits))
    return same and one[:2] == other[:2]


def _constraint(g: Any, apart: bool) -> tuple[int, int, Array, Array, float] | None:
    """Return number, rows, matrix, vector and radius of a constraint, if C has it."""
    if type(g) not in _CONSTRAINTS:
        return None
    number = _CONSTRAINTS[type(g)]
    if isinstance(g, Affine):
        return number, g.rows, g.A, g.b, 0.0
    if isinstance(g, LinfNorm) and apart:
        faces = np.vstack([np.eye(g.dimension), -np.eye(g.dimension)])
        return _CONSTRAINTS[Affine], g.rows, faces, faces @ g.interior + g.radius, 0.0
    if isinstance(g, EllipsoidNorm):
        return number, 1, g.P, _or_nothing(g.centre), 1.0
    if isinstance(g, QuadraticForm):
        return number, 1, g.Q, g.q, float(g.r)
    return number, 1, NOTHING, _or_nothing(g.centre), float(g.radius)


def _or_nothing(vector: Array | None) -> Array:
    return NOTHING if vector is None else vector


class _Runs:
    """The runs of a game in C: its algorithms, each once, and which of them each run has.

    Args:
        game: one that the kernel has.
    """

    def __init__(self, game: Game) -> None:
        algorithms = list({id(a): a for a in game.algorithms}.values())
        place = {id(a): i for i, a in enumerate(algorithms)}
        self.which = [place[id(game.algorithm(run))] for run in range(len(game.horizons))]
        described = describe(algorithms, game.problem, game.start)
        assert described is not None
        self.described = described
        self.first = [algorithm.init(game.start) for algorithm in algorithms]

    def first_states(self) -> Array:
        """Return the states before the first round, a row of doubles for each run."""
        rows = [
            np.concatenate([np.ravel(leaf) for leaf in state])
            if rule is None
            else rule.block_of(state)
            for state, rule in zip(self.first, self.described.rules, strict=True)
        ]
        size = max(map(len, rows))
        return np.array([np.pad(row, (0, size - len(row))) for row in rows])[self.which]

    def compile(self, size: int) -> CompiledGame:
        """Return the game in C, with so many doubles in a state."""
        codes, numbers, arrays, players, rules = self.described
        mine = [rules[i] for i in self.which]
        handles = [rule.handle for rule in mine if rule is not None]
        table = np.array(players, dtype=np.float64)[self.which]
        return CompiledGame((*codes, size), numbers, arrays, table, handles)

    def state_of(self, states: Array, run: int) -> Any:
        """Return a run's state as its algorithm has it."""
        which, row = self.which[run], states[run]
        first, rule = self.first[which], self.described.rules[which]
        if rule is not None:
            return KernelState(rule, row[: rule.size].copy()).unpack()
        ends = np.cumsum([np.size(leaf) for leaf in first])
        leaves = zip(np.split(row[: ends[-1]], ends[:-1]), first, strict=True)
        return type(first)(*(leaf.reshape(np.shape(like)) for leaf, like in leaves))


def play_compiled(game: Game) -> Played:
    """Play all runs in C, a block of rounds at a time."""
    problem, recorder, runs = game.problem, game.recorder, _Runs(game)
    state, d = runs.first_states(), problem.costs.dimension
    compiled = runs.compile(state.shape[1])
    for first, stop, active in segments(game.horizons, block_length(len(state), d, _LONGEST)):
        costs: Any = problem.costs.rounds(first, stop)
        block, before = recorder.block(first, stop, active, by_run=True), state.copy()
        vectors = costs.targets if isinstance(costs, Quadratic) else costs.slopes
        # C has a row for each run, a block a column.
        columns = [NOTHING if c is None else c.swapaxes(0, 1) for c in block[1:-1]]
        sums = NOTHING if block.row_sums is None else block.row_sums
        kept, streams = recorder.kept(first, stop), game.streams[:active]
        compiled.play(state, vectors, streams, kept, [*columns, sums])
        recorder.add(block)
        game.after_block(first, stop, costs, partial(runs.state_of, before), state[:active, :d])
    return Played(state[:, :d].copy())

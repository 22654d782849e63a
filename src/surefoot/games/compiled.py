"""The engine "kernel": whole games in C, for the commonest costs, constraints and rules.

A table lists what the C text has. If all parts of a game are in it, the game is written as flat
arrays, and C plays its blocks, in one thread per core. The bits do not depend on the number of
threads. The record of the rounds, their watch and the sentences about lost runs are those of the
other engines.
"""

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from surefoot.certified import Certified
from surefoot.core.arrays import is_sparse
from surefoot.core.types import Array, needs_of
from surefoot.games.game import Game, Played
from surefoot.games.record import block_length
from surefoot.kernel.games import (
    NOTHING,
    CompiledGame,
    code_of,
    is_available,
    pad,
    parameters_of,
)
from surefoot.kernel_bridge import describe_domain
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, EllipsoidNorm, L2Norm, LinfNorm, QuadraticForm
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules.ogd import OGD, AdaGradOGD, DecayingOGD, DualAveraging
from surefoot.rules.pfs import PFS
from surefoot.rules.related.dpp import DPP, ScalarDPP
from surefoot.rules.related.frank_wolfe import FrankWolfe
from surefoot.rules.related.gauge import AdaptiveGauge, Gauged, GaugeDescent
from surefoot.rules.related.jenatton import Jenatton
from surefoot.rules.related.lagrangian import Multiplying
from surefoot.rules.related.lb_sgd import LBSGD
from surefoot.rules.related.mahdavi import Mahdavi, MahdaviLinear
from surefoot.rules.related.primal_dual import PrimalDual
from surefoot.rules.related.sinha_vaze import SinhaVaze, StrongSinhaVaze
from surefoot.rules.related.yu_neely import YuNeely
from surefoot.rules.related.yuan import Yuan
from surefoot.rules.scheduled_pfs import DoublingPFS, ScheduledPFS
from surefoot.rules.wrappers.tighten import Tighten
from surefoot.sets.oracles import RowsGauge

# The names in kernel/c/games.h, which lists the parameters of each rule.
_RULES: dict[type[Any], str] = {
    PFS: "SF_PFS",
    ScheduledPFS: "SF_SCHEDULED_PFS",
    DoublingPFS: "SF_DOUBLING_PFS",
    OGD: "SF_OGD",
    DecayingOGD: "SF_DECAYING_OGD",
    AdaGradOGD: "SF_ADAGRAD_OGD",
    DualAveraging: "SF_DUAL_AVERAGING",
    ScalarDPP: "SF_SCALAR_DPP",
    Jenatton: "SF_JENATTON",
    SinhaVaze: "SF_SINHA_VAZE",
    StrongSinhaVaze: "SF_STRONG_SINHA_VAZE",
    FrankWolfe: "SF_FRANK_WOLFE",
    GaugeDescent: "SF_GAUGE_DESCENT",
    AdaptiveGauge: "SF_ADAPTIVE_GAUGE",
    DPP: "SF_DPP",
    Mahdavi: "SF_MAHDAVI",
    MahdaviLinear: "SF_MAHDAVI_LINEAR",
    YuNeely: "SF_YU_NEELY",
    Yuan: "SF_YUAN",
    PrimalDual: "SF_PRIMAL_DUAL",
    LBSGD: "SF_LBSGD",
}
_COSTS: dict[type[Any], str] = {Quadratic: "SF_QUADRATIC_COST", Linear: "SF_LINEAR_COST"}
_CONSTRAINTS: dict[type[Any], str] = {
    Affine: "SF_AFFINE",
    L2Norm: "SF_NORM",
    LinfNorm: "SF_CUBE",
    EllipsoidNorm: "SF_ELLIPSOID",
    QuadraticForm: "SF_FORM",
}
_LONGEST = 16_384
"""Rounds of a block, at most."""


class Description(NamedTuple):
    """The parts of a game as the C text has them.

    Attributes:
        codes: d, rows of the constraint, and the numbers of costs, constraint, rule and domain.
        numbers: the strong convexity of the costs, the radius of the constraint.
        arrays: matrix and vector of the constraint; centre, lower and upper limits of the domain;
            rows of the gauge.
        player: tightening, radius, inner radius and parameters of the algorithm.
        rule: the certified rule in the kernel; None for another rule.
    """

    codes: tuple[int, ...]
    numbers: tuple[float, float]
    arrays: tuple[Array, ...]
    player: list[float]
    rule: Any


class _Player(NamedTuple):
    """An algorithm as the C text has it, with the arrays of its domain and of its gauge.

    It must see exactly ``rows`` rows; None for any number.
    """

    rule: str
    domain: str
    limits: tuple[Array, ...]
    numbers: list[float]
    rows: int | None
    certified: Any = None


def describe(
    algorithm: Any, problem: Problem, start: Any, *, each_row: bool = False
) -> Description | None:
    """Return a game as the kernel has it; None if the kernel does not support it.

    Args:
        algorithm: the player.
        problem: the problem.
        start: the first action.
        each_row: whether to record the values of all constraints.
    """
    is_numpy = isinstance(start, (np.ndarray, list, tuple))
    costs: Any = problem.costs
    if not is_available() or not is_numpy or type(costs) not in _COSTS:
        return None
    constraint = _constraint(problem.constraint, needs_of(algorithm).separately)
    player = _player(algorithm, costs.dimension)
    if constraint is None or player is None:
        return None
    kind, rows, matrix, vector, radius = constraint
    if player.rows not in (None, rows) or (each_row and rows != problem.constraint.rows):
        return None
    kinds = (_COSTS[type(costs)], kind, player.rule, player.domain)
    return Description(
        (costs.dimension, rows, *map(code_of, kinds)),
        (costs.strong_convexity, radius),
        (matrix, vector, *player.limits),
        player.numbers,
        player.certified,
    )


def _player(algorithm: Any, d: int) -> _Player | None:
    """Return an algorithm as C has it; None if C does not support it."""
    if isinstance(algorithm, Certified) and algorithm.is_plain:
        return _certified_player(algorithm, d)
    tightening: Any = 0.0
    if type(algorithm) is Tighten:
        tightening, algorithm = algorithm.rho, algorithm.base
    domain: Any = getattr(algorithm, "domain", None)
    fields = describe_domain(domain, d)
    if type(algorithm) not in _RULES or fields is None:
        return None
    faces = NOTHING
    if isinstance(algorithm, Gauged):
        if type(algorithm.gauge) is not RowsGauge or domain.centre is not None:
            return None
        faces = algorithm.gauge.rows
    name = _RULES[type(algorithm)]
    radii = (fields.get("radius", 0.0), fields.get("inner", 0.0))
    limits = [_or_nothing(fields.get(limit)) for limit in ("centre", "lower", "upper")]
    own = [attrgetter(path)(algorithm) or 0.0 for path in parameters_of(name)]
    if not all(isinstance(number, (int, float)) for number in (tightening, *radii, *own)):
        return None  # a column of numbers belongs to a batch
    rows = algorithm.rows if isinstance(algorithm, Multiplying) else None
    numbers = [tightening, *radii, *pad(own)]
    return _Player(name, fields["domain"], (*limits, faces), numbers, rows)


def _certified_player(algorithm: Certified, d: int) -> _Player | None:
    rule = algorithm.compiled.rule(algorithm, np.zeros(d))
    if rule is None:
        return None
    rows = None if rule.rows == 1 else rule.rows  # one row is the largest of any number
    numbers = [0.0, 0.0, 0.0, *pad([])]
    return _Player("SF_CERTIFIED", "SF_ANYWHERE", (NOTHING,) * 4, numbers, rows, rule)


def _constraint(g: Any, separately: bool) -> tuple[str, int, Array, Array, float] | None:
    """Return name, rows, matrix, vector and radius of a constraint; None if C has it not."""
    if type(g) not in _CONSTRAINTS or (isinstance(g, Affine) and is_sparse(g.A)):
        return None
    name = _CONSTRAINTS[type(g)]
    if isinstance(g, Affine):
        return name, g.rows, g.A, g.b, 0.0
    if isinstance(g, LinfNorm) and separately:
        faces = np.vstack([np.eye(g.dimension), -np.eye(g.dimension)])
        return _CONSTRAINTS[Affine], g.rows, faces, faces @ g.interior + g.radius, 0.0
    if isinstance(g, EllipsoidNorm):
        return name, 1, g.P, _or_nothing(g.centre), 1.0
    if isinstance(g, QuadraticForm):
        return name, 1, g.Q, g.q, float(g.r)
    return name, 1, NOTHING, _or_nothing(g.centre), float(g.radius)


def _or_nothing(vector: Array | None) -> Array:
    return NOTHING if vector is None else vector


def play_compiled(game: Game, described: Description) -> Played:
    """Play all runs in C, a block of rounds at a time."""
    recorder, d, runs = game.recorder, game.problem.costs.dimension, game.recorder.runs
    codes, numbers, arrays, player, rule = described
    first_state = game.algorithm.init(game.start)
    leaves = (
        [np.ravel(leaf) for leaf in first_state] if rule is None else [rule.block_of(first_state)]
    )
    state = np.tile(np.concatenate(leaves), (runs, 1))
    handles = [] if rule is None else [rule.handle] * runs
    table = np.tile(np.array(player, dtype=np.float64), (runs, 1))
    compiled = CompiledGame((*codes, state.shape[1]), numbers, arrays, table, handles)
    streams: Any
    for first, stop, streams in game.blocks(block_length(runs, d, _LONGEST)):
        block = recorder.block(first, stop, by_run=True)
        vectors = streams.targets if isinstance(streams, Quadratic) else streams.slopes
        # C has a row for each run, a block a column.
        columns = [NOTHING if c is None else c.swapaxes(0, 1) for c in block[1:-1]]
        sums = NOTHING if block.row_sums is None else block.row_sums
        kept = recorder.find_kept(first, stop)
        compiled.play(state, vectors, np.arange(runs), kept, [*columns, sums])
        recorder.add(block)
    return Played(state[:, :d].copy())

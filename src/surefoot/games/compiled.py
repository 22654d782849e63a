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
from surefoot.kernel.games import NOTHING, PARAMETERS, CompiledGame, is_available
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

    rule: int
    domain: int
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
    return Description(
        (costs.dimension, rows, _COSTS[type(costs)], kind, player.rule, player.domain),
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
    code, names = _RULES[type(algorithm)]
    radii = (fields.get("radius", 0.0), fields.get("inner", 0.0))
    limits = [_or_nothing(fields.get(name)) for name in ("centre", "lower", "upper")]
    numbers = [tightening, *radii, *(attrgetter(name)(algorithm) or 0.0 for name in names)]
    if not all(isinstance(number, (int, float)) for number in numbers):
        return None  # a column of numbers belongs to a batch
    numbers += [0.0] * (3 + PARAMETERS - len(numbers))
    rows = algorithm.rows if isinstance(algorithm, Multiplying) else None
    return _Player(code, fields["domain"], (*limits, faces), numbers, rows)


def _certified_player(algorithm: Certified, d: int) -> _Player | None:
    rule = algorithm.compiled.rule(algorithm, np.zeros(d))
    if rule is None:
        return None
    rows = None if rule.rows == 1 else rule.rows  # one row is the largest of any number
    return _Player(0, 0, (NOTHING,) * 4, [0.0] * (3 + PARAMETERS), rows, rule)


def _constraint(g: Any, separately: bool) -> tuple[int, int, Array, Array, float] | None:
    """Return number, rows, matrix, vector and radius of a constraint; None if C has it not."""
    if type(g) not in _CONSTRAINTS or (isinstance(g, Affine) and is_sparse(g.A)):
        return None
    number = _CONSTRAINTS[type(g)]
    if isinstance(g, Affine):
        return number, g.rows, g.A, g.b, 0.0
    if isinstance(g, LinfNorm) and separately:
        faces = np.vstack([np.eye(g.dimension), -np.eye(g.dimension)])
        return _CONSTRAINTS[Affine], g.rows, faces, faces @ g.interior + g.radius, 0.0
    if isinstance(g, EllipsoidNorm):
        return number, 1, g.P, _or_nothing(g.centre), 1.0
    if isinstance(g, QuadraticForm):
        return number, 1, g.Q, g.q, float(g.r)
    return number, 1, NOTHING, _or_nothing(g.centre), float(g.radius)


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

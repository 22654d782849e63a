"""Ready problems: seeded sets in any dimension, adversaries, and the problems of other methods.

``seed`` makes the set and, unless ``streams`` is given, the costs. With ``streams`` the costs come
from only that seed, with one generator per run: other costs on the same set. Fewer rounds or fewer
runs are the first of more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Index
from surefoot.problems.constraints import (
    Affine,
    AffineStream,
    Constraint,
    EllipsoidNorm,
    L2Norm,
    LinfNorm,
    SimplexRows,
    SpectralNorm,
    max_of,
)
from surefoot.problems.costs import (
    Adversarial,
    ArrayCosts,
    Linear,
    Logistic,
    LogPortfolio,
    Quadratic,
)
from surefoot.problems.problem import Problem
from surefoot.sets import Ball

__all__ = [
    "ADVERSARIES",
    "adversarial_cube",
    "changing_halfspaces",
    "ellipsoid",
    "fair_logistic",
    "portfolio",
    "random_polytope",
    "rotated_box",
    "slow_start",
    "spectral_ball",
    "thin_box",
]

Draw: TypeAlias = Callable[[Generator, tuple[int, ...]], Array]
"""From a generator and the leading axes, rounds and runs, to numbers."""


class Draws:
    """The random numbers of a problem: those of its set, and those of all rounds and runs.

    Without ``streams`` all come from one generator, ``rng``. With it run k has the generator of
    ``SeedSequence(streams, spawn_key=(k, part))``, which draws all rounds in their order: so fewer
    rounds are the first of more, and fewer runs the first of more.

    Args:
        horizon: T.
        trials: the number of runs; None for one run without a run axis.
        streams: seed of only the streams.
        seed: of the set.
        dimension: entries of an action.
    """

    def __init__(
        self,
        horizon: int,
        trials: int | None,
        streams: Index | None,
        seed: int = 0,
        dimension: int = 1,
    ) -> None:
        self.dimension: int = checks.positive_int(dimension, "dimension")
        checks.check_horizon(horizon)
        self.lead: tuple[int, ...] = (horizon,)
        if trials is not None:
            self.lead = horizon, checks.positive_int(trials, "trials")
        if streams is not None:
            checks.positive_int(streams, "streams", least=0)
        self.streams: Index | None = streams
        self.rng: np.random.Generator = np.random.default_rng(seed)

    def draw(self, draw: Draw, part: int = 0) -> Array:
        """Return the numbers of all rounds and runs, ``(T, ...)`` or ``(T, trials, ...)``.

        Args:
            draw: takes a generator and the leading axes.
            part: distinguishes several numbers of one stream.
        """
        if self.streams is None:
            return draw(self.rng, self.lead)
        runs = range(*self.lead[1:] or (1,))
        seeds = (np.random.SeedSequence(int(self.streams), spawn_key=(k, part)) for k in runs)
        each = [draw(np.random.default_rng(seed), self.lead[:1]) for seed in seeds]
        return each[0] if len(self.lead) == 1 else np.stack(each, axis=1)

    def normal(self, part: int = 0) -> Array:
        """Return a normal vector for each round and run."""
        return self.draw(lambda source, lead: source.normal(size=(*lead, self.dimension)), part)

    def uniform(self, most: float) -> Array:
        """Return a vector with entries up to a size for each round and run."""
        return self.draw(lambda source, lead: source.uniform(-most, most, (*lead, self.dimension)))


def random_polytope(
    dimension: int = 20,
    rows: int = 60,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a random polytope around 0 and costs whose best action is on its boundary.

    The rows, all of norm 1, are those of a cube, which keep the set bounded, and random ones that
    cut into it; so there are at least twice as many as entries of an action.

    Args:
        dimension: entries of an action.
        rows: linear constraints; at least twice the dimension.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        costs: kind of the costs, which pull outwards: linear or quadratic.
        seed: of the polytope, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> p = random_polytope(3, 9, horizon=10)
        >>> p.constraint.A.shape, p.constants.origins["sigma"]
        ((9, 3), 'local')
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    if checks.positive_int(rows, "rows") < 2 * dimension:
        raise InvalidValueError(f"rows must be at least 2 dimension = {2 * dimension}, got {rows}")
    cuts = draws.rng.normal(size=(rows - 2 * dimension, dimension))
    cuts /= np.linalg.norm(cuts, axis=1, keepdims=True)
    A = np.vstack([np.eye(dimension), -np.eye(dimension), cuts])
    b = np.append(np.ones(2 * dimension), draws.rng.uniform(0.5, 1.0, len(cuts)))
    name = f"random polytope, d = {dimension}, m = {rows}"
    return _pull_outwards(Affine(A, b), math.sqrt(dimension), draws, costs, name)


def rotated_box(
    dimension: int = 5,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a randomly rotated box with sides of different lengths; sigma is known exactly.

    Args:
        dimension: entries of an action.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        costs: kind of the costs, which pull outwards: linear or quadratic.
        seed: of the box, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> rotated_box(3, horizon=10).constants.origins["sigma"]
        'derived'
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    Q = np.linalg.qr(draws.rng.normal(size=(dimension, dimension)))[0]
    half = draws.rng.uniform(0.5, 1.0, dimension)
    constraint = Affine(np.vstack([Q, -Q]), np.append(half, half))
    radius = float(np.linalg.norm(half)) * (1 + 1e-12)
    name = f"rotated box, d = {dimension}"
    return _pull_outwards(constraint, radius, draws, costs, name)


def ellipsoid(
    dimension: int = 5,
    condition: float = 10.0,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a randomly rotated ellipsoid with half-axes from 1 down to 1/sqrt(condition).

    Args:
        dimension: entries of an action.
        condition: square of the ratio of the longest to the shortest half axis, at least 1.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        costs: kind of the costs, which pull outwards: linear or quadratic.
        seed: of the ellipsoid, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> p = ellipsoid(3, horizon=10)
        >>> round((p.constants.G_g / p.constants.sigma) ** 2, 6)  # the condition number
        10.0
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    if not condition >= 1:
        raise InvalidValueError(f"condition must be at least 1, got {condition!r}")
    Q = np.linalg.qr(draws.rng.normal(size=(dimension, dimension)))[0]
    P = Q @ np.diag(np.geomspace(1.0, condition, dimension)) @ Q.T
    name = f"ellipsoid, d = {dimension}, condition {condition:g}"
    radius = 1 + 1e-9  # the eigenvalues of the computed P are those asked for up to rounding
    constraint = EllipsoidNorm(0.5 * (P + P.T))
    return _pull_outwards(constraint, radius, draws, costs, name)


def spectral_ball(
    shape: tuple[int, int] = (4, 3),
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return matrices of spectral norm at most 1; an action is the matrix row by row.

    Args:
        shape: rows and columns of the matrices.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        costs: kind of the costs, which pull outwards: linear or quadratic.
        seed: of the pull, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> spectral_ball((2, 3), horizon=10).costs.dimension
        6
    """
    constraint = SpectralNorm(shape, 1.0)
    radius = math.sqrt(min(shape)) * (1 + 1e-12)  # of min(shape) singular values, each at most 1
    name = f"spectral ball, {shape[0]} x {shape[1]}"
    draws = Draws(horizon, trials, streams, seed, constraint.dimension)
    return _pull_outwards(constraint, radius, draws, costs, name)


def fair_logistic(
    dimension: int = 10,
    *,
    horizon: int,
    trials: int | None = None,
    radius: float = 5.0,
    tolerance: float = 0.05,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return logistic regression with a norm limit and nearly equal scores for two groups.

    The score :math:`a_t^\top x` of a person must have a covariance of at most the tolerance with
    group membership, measured on an audit batch of 2,000 people, with the row scaled to norm 1:
    :math:`|c^\top x| \le \tau`, :math:`\|x\| \le R`. Features leak the group, so the unconstrained
    fit is unfair.

    Args:
        dimension: entries of an action.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        radius: limit on the norm.
        tolerance: limit on the covariance of score and group.
        seed: of the population, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> p = fair_logistic(4, horizon=50)
        >>> float(p.constraint.value(p.start))
        -0.05
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    checks.positive(radius=radius, tolerance=tolerance)
    rng = draws.rng
    leak, truth = rng.normal(size=(2, dimension))

    def groups(source: Generator, lead: tuple[int, ...]) -> Array:
        return source.choice([-1.0, 1.0], lead)

    def people(group: Array, noise: Array) -> Array:
        features = noise + group[..., None] * leak
        return features / np.linalg.norm(features, axis=-1, keepdims=True)

    group = groups(rng, (2_000,))
    audit = people(group, rng.normal(size=(2_000, dimension)))
    covariance = (group - group.mean()) @ audit
    row = covariance / np.linalg.norm(covariance)
    group = draws.draw(groups)
    features = people(group, draws.normal(part=1))
    chance = 1 / (1 + np.exp(-4 * (features @ truth) - group))
    uniform = draws.draw(lambda source, lead: source.random(lead), part=2)
    classes = np.where(uniform < chance, 1.0, -1.0)
    constraint = max_of(Affine([row, -row], [tolerance, tolerance]), L2Norm(radius))
    name = f"fair logistic regression, d = {dimension}"
    return _around_zero(Logistic(features, classes), constraint, radius, name)


def _around_zero(
    costs: ArrayCosts | Adversarial,
    constraint: Constraint | AffineStream,
    radius: float,
    name: str,
    G_f: float | None = None,
) -> Problem:
    """Return a problem in a ball around 0, from 0."""
    start = np.zeros(costs.dimension)
    return Problem.of(costs, constraint, Ball(radius), start, G_f=G_f, name=name)


def _pull_outwards(
    constraint: Constraint, radius: float, draws: Draws, costs: str, name: str
) -> Problem:
    """Return costs that pull towards an infeasible point, with as much noise: g binds."""
    checks.one_of(("linear", "quadratic"), costs=costs)
    pull = draws.rng.normal(size=draws.dimension)
    pull *= 2 * radius / np.linalg.norm(pull)
    noise = draws.normal() * 2 * radius / math.sqrt(draws.dimension)
    stream = Linear(-(pull + noise) / radius) if costs == "linear" else Quadratic(pull + noise, 1.0)
    return _around_zero(stream, constraint, radius, f"{name}, {costs} costs")


def thin_box(
    dimension: int = 3,
    kappa: float = 100.0,
    *,
    horizon: int,
    trials: int | None = None,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return a box that is thin in one direction: outer radius about kappa times the inner.

    Half-sides are 1, but for the second, which is :math:`1/\kappa`; linear costs of norm 1 pull
    towards a corner with noise of the same size.

    Args:
        dimension: entries of an action, at least 2.
        kappa: half-side of the box, relative to that of its thin direction, at least 1.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        seed: of the costs.
        streams: seed of only the costs.

    Example:
        >>> p = thin_box(3, 10.0, horizon=5)
        >>> p.constraint.region.upper
        array([1. , 0.1, 1. ])
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    if dimension < 2:
        raise InvalidValueError(f"dimension must be at least 2, got {dimension}")
    if not kappa >= 1:
        raise InvalidValueError(f"kappa must be at least 1, got {kappa!r}")
    half = np.ones(dimension)
    half[1] = 1 / kappa
    faces = np.eye(dimension)
    constraint = Affine(np.vstack([faces, -faces]), np.append(half, half))
    pull = np.full(dimension, -1 / math.sqrt(dimension))
    slopes = pull + draws.normal() / math.sqrt(dimension)
    slopes /= np.maximum(np.linalg.norm(slopes, axis=-1, keepdims=True), 1.0)
    radius, name = float(np.linalg.norm(half)), f"thin box, d = {dimension}, kappa {kappa:g}"
    return _around_zero(Linear(slopes), constraint, radius * (1 + 1e-12), name, G_f=1.0)


def portfolio(
    dimension: int = 5,
    *,
    horizon: int,
    trials: int | None = None,
    spread: float = 0.2,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return log-wealth on a simplex, :math:`f_t(x) = -\log(r_t^\top x)`, price relatives near 1.

    The start is the equal portfolio. It spends the whole total, so it has no slack, and methods
    that need a strictly feasible start reject it.

    Args:
        dimension: entries of an action.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        spread: how far a price relative may be from 1.
        seed: of the drift of the prices, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> portfolio(4, horizon=5).start
        array([0.25, 0.25, 0.25, 0.25])
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    checks.between(0, 1, spread=spread)
    drift = 0.1 * spread * draws.rng.uniform(-1.0, 1.0, dimension)
    relatives = 1 + drift + 0.9 * spread * draws.uniform(1.0)
    return Problem.of(
        LogPortfolio(relatives, cash=0.0),
        SimplexRows(dimension),
        Ball(1 + 1e-9),
        np.full(dimension, 1 / dimension),
        # On the simplex growth is at least 1 - spread, and a relative at most 1 + spread.
        G_f=math.sqrt(dimension) * (1 + spread) / (1 - spread),
        name=f"portfolio, d = {dimension}",
    )


def changing_halfspaces(
    dimension: int = 2,
    *,
    horizon: int,
    trials: int | None = None,
    margin: float = 0.2,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return one half-space per round, in one of d + 1 directions; 0 meets all by a margin.

    :math:`g_t(x) = a_t^\top x - b_t` with unit :math:`a_t` and :math:`b_t` between the margin and
    three times as much; quadratic costs pull outwards. The comparator must meet every round.

    Args:
        dimension: entries of an action.
        horizon: rounds.
        trials: the number of runs; one run without a run axis unless given.
        margin: slack of 0 in every round.
        seed: of the half-spaces, and of the costs unless ``streams`` is given.
        streams: seed of only the costs.

    Example:
        >>> p = changing_halfspaces(2, horizon=5)
        >>> p.constants.slater_margin
        0.2
    """
    draws = Draws(horizon, trials, streams, seed, dimension)
    checks.between(0, 0.3, margin=margin)
    directions = draws.rng.normal(size=(dimension + 1, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # Both numbers of a round in one draw, so that fewer rounds are the first of more.
    drawn_limits, drawn_rows = draws.rng.uniform(size=(horizon, 2)).T
    limits = margin * (1 + 2 * drawn_limits)
    A = directions[(drawn_rows * (dimension + 1)).astype(int)][:, None]
    pull = 1.5 * directions.mean(axis=0) / np.linalg.norm(directions.mean(axis=0))
    targets = pull + draws.uniform(0.5)
    name = f"changing half-spaces, d = {dimension}"
    problem = _around_zero(Quadratic(targets, 6.0), AffineStream(A, limits[:, None]), 1.0, name)
    return replace(
        problem, constants=problem.constants.with_origin("derived", slater_margin=margin)
    )


def slow_start(
    kappa: float = 20.0,
    *,
    horizon: int,
    dimension: int = 2,
    size: float = 1.0,
    trials: int | None = None,
    streams: int | None = None,
) -> Problem:
    r"""Return Theorem H's lower-bound instance: a start with little slack, far from the best point.

    With e the first axis, :math:`g(x) = \max(e^\top x/\kappa - 1/\kappa, \|x\| - 1)`, the start 0
    and :math:`f_t(x) = -G_fe^\top x`: the set reaches D = 1 from the start, whose slack is
    :math:`\alpha = 1/\kappa`, with :math:`G_g = 1`. A rule that is safe for every g with these
    constants has a regret of at least :math:`G_f\kappa(1 - (1-1/\kappa)^T)`
    (:func:`surefoot.rules.slow_start_lower_bound`).

    Args:
        kappa: how far the set reaches, relative to the start's certified ball; at least 1.
        horizon: rounds.
        dimension: entries of an action.
        size: norm of every slope, G_f.
        trials: the number of identical runs; default: one run without a run axis.
        streams: unused, since nothing is random; all problems take it.

    Example:
        >>> problem = slow_start(4.0, horizon=10)
        >>> problem.constraint.query(problem.start)[0]
        -0.25
    """
    checks.above(1.0 - 1e-15, kappa=kappa)
    checks.positive(size=size)
    lead = Draws(horizon, trials, streams, dimension=dimension).lead
    axis = np.zeros(dimension)
    axis[0] = 1.0
    costs = Linear(np.broadcast_to(-size * axis, (*lead, dimension)))
    constraint = max_of(Affine([axis / kappa], [1.0 / kappa]), L2Norm(1.0))
    return _around_zero(costs, constraint, 1.0, f"slow start, kappa = {kappa:g}", G_f=size)


@dataclass(frozen=True)
class Push:
    """Push against the face whose constraint is largest, the one the next half-space will cut.

    Or, ``uncut``, against the nearest face that it will not cut. A step in this direction is not
    corrected at all, so its whole length counts; in one dimension, where there is only one face to
    approach, it is that one.
    """

    constraint: LinfNorm
    size: float
    uncut: bool

    def __call__(self, t: Index, x: Array) -> Array:
        """Return a slope whose descent leads out through the face."""
        s = self.constraint.query(x)[1]
        if self.uncut and x.shape[-1] > 1:
            # With the cut entry at 0 the largest of the others wins; 1e-300 keeps an uncut entry
            # ahead of the cut one if all are 0.
            s = self.constraint.query((1 - s * s) * (x + 1e-300))[1]
        return -self.size * s


def _draw_slopes(
    adversary: str, rng: Generator, lead: tuple[int, ...], d: int, size: float, phase: int
) -> Array:
    """Return slopes that do not depend on the actions, for rounds and runs."""
    if adversary == "corners":  # one until it must be reached, then another, in growing phases
        slopes, t = np.empty((*lead, d)), 0
        while t < lead[0]:
            corner = rng.choice([-1.0, 1.0], size=(*lead[1:], d))
            slopes[t : t + phase] = size * corner / np.sqrt(d)
            t, phase = t + phase, phase + max(1, phase // 2)
        return slopes
    c = rng.normal(size=(*(lead if adversary == "random" else lead[1:]), d))
    slopes = size * c / np.linalg.norm(c, axis=-1, keepdims=True)
    if adversary == "random":
        return slopes
    signs = np.where((np.arange(lead[0]) % 2 == 1) & (adversary == "alternating"), -1.0, 1.0)
    return signs.reshape(-1, *(1 for _ in lead)) * slopes


ADVERSARIES: tuple[str, ...] = ("constant", "alternating", "random", "corners", "out", "uncut")
"""One slope; its sign in turn; a random direction; corner after corner; out through the
nearest face; out through the nearest face that is not cut."""

_FIRST_PHASE = 32
"""Rounds towards the first corner in streams of which shorter ones are the beginning."""


def adversarial_cube(
    adversary: str,
    *,
    horizon: int,
    dimension: int = 2,
    radius: float = 0.5,
    size: float = 1.0,
    seed: int = 0,
    trials: int | None = None,
    streams: int | None = None,
) -> Problem:
    """Return a cube, and linear costs of a given size that push the actions out of it.

    The last two respond to the actions: they have a rule and no streams, the same for every run.

    Args:
        adversary: what chooses the slopes: constant, alternating, random, corners, out or uncut.
        horizon: rounds.
        dimension: entries of an action.
        radius: half the length of an edge.
        size: norm of every slope.
        seed: of the slopes.
        trials: runs with different slopes; one without a run axis unless given.
        streams: a seed of the slopes instead, with one generator per run: fewer rounds or runs are
            the first of more. Phases towards a corner then start with 32 rounds, not with
            the root of the horizon.

    Example:
        >>> p = adversarial_cube("uncut", horizon=100, dimension=5)
        >>> p.costs.gradient(0, np.array([0.4, 0.0, 0.3, 0.0, 0.0]))
        array([-0., -0., -1., -0., -0.])
    """
    checks.one_of(ADVERSARIES, adversary=adversary)
    draws = Draws(horizon, trials, streams, seed, dimension)
    checks.positive(size=size, radius=radius)
    constraint = LinfNorm(radius, dimension)
    costs: Linear | Adversarial
    if adversary not in ("out", "uncut"):
        phase = max(1, int(np.sqrt(horizon))) if streams is None else _FIRST_PHASE

        def draw(source: Generator, lead: tuple[int, ...]) -> Array:
            return _draw_slopes(adversary, source, lead, dimension, size, phase)

        costs = Linear(draws.draw(draw))
    else:
        if trials is not None and trials > 1:
            raise InvalidValueError(
                f"trials must be 1 for the adversary {adversary!r}, which responds to the actions "
                f"and has no streams, got {trials!r}"
            )
        push = Push(constraint, size, uncut=adversary == "uncut")
        costs = Adversarial(push, horizon=horizon, dimension=dimension, bound=size)
    reach = radius * np.sqrt(dimension)
    return _around_zero(costs, constraint, reach, f"cube, {adversary}", G_f=size)

r"""The best fixed action in hindsight: by a closed form if there is one, else by a bundle method.

A sum of quadratics around targets is one quadratic around their mean, a sum of linear costs is
one linear cost: the work after that does not depend on the number of rounds.

**The level bundle** needs only value and subgradient oracles, and bounds the error of its answer.
Minimise a convex F over :math:`\{x \in B : g(x) \le 0\}`, B a ball. Every query gives a cut, an
affine function that is never above F (or g), so the cuts together make a model of the problem
whose minimum is a lower bound. The level method (Lemarechal, Nemirovskii, Nesterov 1995) queries
next the point nearest to the best one so far where the model is below a level between the bounds.

The lower bound does not depend on the accuracy of the solver. For any weights
:math:`\lambda \ge 0` on the cuts of F with sum 1 and :math:`\mu \ge 0` on those of g, every
feasible x has

.. math::
    F(x) \ge F(x) + \sum_j \mu_j g(x)
         \ge \sum_i \lambda_i F_i(x) + \sum_j \mu_j g_j(x)
         \ge \min_{z \in B} \Big(\sum_i \lambda_i F_i + \sum_j \mu_j g_j\Big)(z),

the minimum of one affine function over a ball, which is a formula. The multipliers of the linear
program make it nearly tight; if they are wrong the bound is only weaker. The upper bound is the
value at a feasible point: an infeasible query is moved back towards an interior point z with
slack :math:`\alpha` until convexity gives :math:`g \le 0`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import dot
from surefoot.core.display import after_rounds, format_bracket, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.points import add_centre, subtract_centre
from surefoot.core.types import Array, CostStream, Set, Solving
from surefoot.problems.constraints import Constraint, max_of
from surefoot.problems.costs import Adversarial, Linear, Quadratic
from surefoot.sets import Ball

__all__ = ["Bracket", "Comparator", "best_action", "has_closed_form", "level_bundle"]

Oracle: TypeAlias = Callable[[Array], tuple[float, Array]]


class Comparator(NamedTuple):
    """The best fixed action over the first t rounds, for each requested t.

    Attributes:
        rounds: the t's, ``(n,)``.
        action: a feasible action, ``(n, d)``, or ``(n, B, d)`` if each run has its costs.
        value: its summed cost, ``(n,)`` or ``(n, B)``: an upper bound on the minimum.
        lower: a lower bound on the minimum, so that ``value - lower`` is the optimality gap;
            equal to ``value`` if the minimiser is exact up to rounding.
    """

    rounds: Array
    action: Array
    value: Array
    lower: Array

    def __repr__(self) -> str:
        value, cost = self.value[-1], format_bracket(self.value[-1], self.lower[-1])
        return f"<Comparator{of_runs(value)}{after_rounds(self.rounds)}: cost {cost}>"


def has_closed_form(costs: CostStream, region: Set | None) -> TypeGuard[Linear | Quadratic]:
    """Return whether :func:`closed_form` supports the costs, and the region projects exactly."""
    exact = region is not None and not isinstance(region, Solving)
    return exact and isinstance(costs, (Quadratic, Linear))


def closed_form(costs: Linear | Quadratic, region: Set, rounds: Array) -> Comparator:
    """Return the best fixed action of a region over the first t rounds, for each t in ``rounds``.

    Example:
        >>> from surefoot.sets import Box
        >>> costs = Quadratic([[1.0, 0.0], [3.0, 0.0]], curvature=2.0)
        >>> best = closed_form(costs, Box([0.0, 0.0], [1.5, 1.5]), np.array([1, 2]))
        >>> best.action, best.value
        (array([[1. , 0. ], [1.5, 0. ]]), array([0. , 2.5]))
    """
    if isinstance(costs, Linear):
        stops, which = np.unique(rounds, return_inverse=True)
        total = np.cumsum(_segment_sums(costs.slopes, stops), axis=0)[which]
        action = _each(region.minimize_linear, total)
        value = dot(total, action)[..., 0]
        return Comparator(rounds, action, value, value)
    # sum |x - v_s|^2 = t |x - m|^2 + spread, with m the mean of v_1..v_t and the spread the sum of
    # |v_s - m|^2, so the minimiser is the projection of m.
    origin = costs.targets[0]  # sums are taken from here: a large common offset must not cancel
    mean, spread = _prefix_moments(costs.targets[: rounds.max()] - origin, rounds)
    counts = rounds.reshape(-1, *[1] * (mean.ndim - 2)).astype(np.float64)
    action = _each(region.project, mean + origin)
    away = action - origin - mean
    value = 0.5 * costs.curvature * (counts * np.vecdot(away, away) + spread)
    return Comparator(rounds, action, value, value)


def best_action(
    costs: CostStream,
    constraint: Constraint | Sequence[Constraint],
    rounds: Array,
    *,
    domain: Ball | None = None,
    interior: Array | None = None,
    tolerance: float = 1e-6,
) -> Comparator:
    """Return the best fixed action over the first t rounds, for each t in ``rounds``, with its gap.

    Sums of quadratics over a set that projects and sums of linear costs over one that minimises
    linear functions have closed forms. For everything else :func:`level_bundle` computes an
    interval, once for each t and run.

    Args:
        costs: the cost stream.
        constraint: g; or the constraints of the rounds, and then the action is feasible in all.
        rounds: the t's, from 1 to the horizon.
        domain: a ball that contains the feasible set; needed without a closed form.
        interior: a strictly feasible point; needed there too.
        tolerance: relative gap at which a bundle stops.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> costs = Linear([[1.0, -2.0], [1.0, 3.0]])
        >>> best = best_action(costs, LinfNorm(0.5, 2), [1, 2])
        >>> best.value
        array([-1.5, -1.5])
    """
    rounds = _read_rounds(rounds, costs.horizon)
    if isinstance(costs, Adversarial):
        raise InvalidValueError(
            "costs of an adversary exist only after the game: "
            "keep every action and compare with costs.realise(actions)"
        )
    g = constraint if isinstance(constraint, Constraint) else max_of(*constraint)
    region = g.region
    if region is not None and has_closed_form(costs, region):
        return closed_form(costs, region, rounds)
    if domain is None or interior is None:
        raise InvalidValueError(
            "domain and interior must be given without a closed form, got "
            f"domain = {domain!r} and interior = {interior!r}"
        )
    brackets = [
        level_bundle(_total(stream), g, domain, interior, tolerance=tolerance)
        for t in rounds
        for stream in map(costs.rounds(0, int(t)).run, range(costs.runs or 1))
    ]
    shape = (len(rounds),) if costs.runs is None else (len(rounds), costs.runs)
    return Comparator(
        rounds,
        np.array([b.action for b in brackets]).reshape(*shape, -1),
        np.array([b.value for b in brackets]).reshape(shape),
        np.array([b.lower for b in brackets]).reshape(shape),
    )


def _read_rounds(rounds: Array, horizon: int) -> Array:
    try:
        values = np.atleast_1d(np.asarray(rounds, dtype=np.int64))
    except (OverflowError, TypeError, ValueError) as error:
        raise checks.invalid("rounds", "whole numbers", rounds) from error
    if values.size == 0 or values.min() < 1 or values.max() > horizon:
        raise InvalidValueError(f"rounds must be from 1 to the horizon {horizon}, got {values!r}")
    return values


def _total(costs: CostStream) -> Oracle:
    """Return the summed cost as an oracle; a query of a closed form does not grow with T."""
    if isinstance(costs, Linear):
        slope = costs.slopes.sum(axis=0)
        return lambda x: (float(slope @ x), slope)
    if isinstance(costs, Quadratic):  # around the mean of the targets
        mean, weight = costs.targets.mean(axis=0), costs.curvature * costs.horizon
        spread, _ = costs.sum_at(mean)
        return lambda x: (
            spread + 0.5 * weight * float((x - mean) @ (x - mean)),
            weight * (x - mean),
        )
    return costs.sum_at  # type: ignore[attr-defined, no-any-return]


def _prefix_moments(values: Array, rounds: Array) -> tuple[Array, Array]:
    """Return mean and summed squared distance to it of the first t entries, for each t.

    Between one t and the next the entries form a segment. Joining n entries of mean p to t others
    of mean m adds their spread and :math:`|p - m|^2 n t/(n + t)`, none of it negative, so
    nothing cancels, also when the entries drift far away later.
    """
    stops, which = np.unique(rounds, return_inverse=True)
    ones = [1] * (values.ndim - 1)
    before, after = np.append(0, stops[:-1]).reshape(-1, *ones), stops.reshape(-1, *ones)
    length = after - before
    sums = _segment_sums(values, stops)
    segment_mean, mean = sums / length, np.cumsum(sums, axis=0) / after
    inside = values[: stops[-1]] - np.repeat(segment_mean, length.ravel(), axis=0)
    away = segment_mean - np.concatenate([segment_mean[:1], mean[:-1]])
    joining = (length * before / after)[..., 0] * np.vecdot(away, away)
    spread = np.cumsum(_segment_sums(np.vecdot(inside, inside), stops) + joining, axis=0)
    return mean[which], spread[which]


def _segment_sums(values: Array, stops: Array) -> Array:
    """Return the sums of the entries from each stop to the next."""
    return np.add.reduceat(values[: stops[-1]], np.append(0, stops[:-1]), axis=0)


def _each(operation: Callable[[Array], Array], points: Array) -> Array:
    """Apply an operation on ``(N, d)`` to ``(n, d)`` or ``(n, B, d)``."""
    flat = points.reshape(-1, points.shape[-1])
    return np.asarray(operation(flat)).reshape(points.shape)


class Bracket(NamedTuple):
    """A feasible point, and an interval that contains the minimum.

    Attributes:
        action: a point with computed g <= 0.
        value: F there; the minimum is not larger.
        lower: the minimum is not smaller.
        queries: how often F was evaluated.
        converged: whether the relative gap reached the tolerance.
    """

    action: Array
    value: float
    lower: float
    queries: int
    converged: bool

    @property
    def gap(self) -> float:
        """Length of the interval, relative to the value (or to 1 if that is larger)."""
        return (self.value - self.lower) / max(1.0, abs(self.value))


def level_bundle(
    total: Callable[[Array], tuple[float, Array]],
    constraint: Constraint,
    domain: Ball,
    interior: Array,
    *,
    tolerance: float = 1e-6,
    max_queries: int = 1_000,
) -> Bracket:
    """Minimise a convex function under a constraint, from their oracles.

    Args:
        total: from an action to F and one subgradient.
        constraint: g.
        domain: a ball that contains the feasible set.
        interior: a point with g < 0.
        tolerance: relative gap to stop at.
        max_queries: the limit on queries; the bounds hold whenever it stops.

    Example:
        >>> from surefoot.problems.constraints import L2Norm
        >>> aim = np.array([3.0, 4.0])
        >>> bracket = level_bundle(
        ...     lambda x: (float((x - aim) @ (x - aim)), 2 * (x - aim)),
        ...     L2Norm(1.0),
        ...     Ball(1.0),
        ...     np.zeros(2),
        ... )
        >>> bracket.action.round(3), bracket.lower <= 16.0 <= bracket.value
        (array([0.6, 0.8]), True)
    """
    checks.function(total=total)
    checks.positive(tolerance=tolerance, max_queries=max_queries)
    model = _Model(domain)
    z0 = checks.to_vector(interior, "interior")
    slack = -float(constraint.value(z0))
    if not slack > 0:
        raise InvalidValueError(f"interior must have g < 0, got g = {-slack:g}")

    best, upper, lower = z0, np.inf, -np.inf
    x: Array = z0
    for query in range(1, int(max_queries) + 1):
        g, s = constraint.query(x)
        if g > 0:
            model.add_constraint(x, float(g), s)
            x = _draw_back(constraint, x, z0, float(g), slack)
        value, gradient = total(x)
        if not np.isfinite(value):
            raise InvalidValueError(
                f"total must be finite on the feasible set, got {value} at {x!r}"
            )
        model.add_cost(x, value, gradient)
        if value < upper:
            best, upper = x, value
        proposal, bound = model.lower_bound()
        lower = max(lower, bound)
        bracket = Bracket(best, upper, lower, query, False)
        if bracket.gap <= tolerance:
            return bracket._replace(converged=True)
        level = lower + 0.3 * (upper - lower)
        nearest = model.project(best, level)
        # If the solver fails, Kelley's point is a valid, if less stable, next query.
        x = proposal if nearest is None else nearest
    return bracket


def _draw_back(constraint: Constraint, x: Array, z: Array, g: float, slack: float) -> Array:
    r"""Return a feasible point of the segment from x to z, by convexity.

    :math:`g(z + \theta(x - z)) \le \theta g(x) - (1-\theta)\alpha = 0` at
    :math:`\theta = \alpha/(\alpha + g)`; slightly less, to allow for rounding.
    """
    share, hair = slack / (slack + g), 1e-12
    point = z + share * (1 - hair) * (x - z)
    while constraint.value(point) > 0:  # a far centre or a large scale rounds more than 1e-12
        hair = min(8 * hair, 1.0)  # in the end z itself
        point = z + share * (1 - hair) * (x - z)
    return point


class _Model:
    """The cuts, in coordinates where the ball is the unit ball and slopes are about 1."""

    def __init__(self, domain: Ball) -> None:
        self._linprog = need("scipy.optimize", "solve", "the level bundle").linprog
        self._solve_qp = need("qpsolvers", "solve", "the level bundle").solve_qp
        self._radius = float(domain.radius)
        self._centre = domain.centre
        # Rows (slope, offset): the affine function slope'z + offset.
        self._cost: list[Array] = []
        self._limit: list[Array] = []

    def add_cost(self, x: Array, value: float, slope: Array) -> None:
        self._cost.append(self._row(x, value, slope))

    def add_constraint(self, x: Array, value: float, slope: Array) -> None:
        row = self._row(x, value, slope)
        self._limit.append(row / np.linalg.norm(row[:-1]))

    def _row(self, x: Array, value: float, slope: Array) -> Array:
        scaled = self._radius * np.asarray(slope, dtype=np.float64)
        return np.append(scaled, value - scaled @ self._inward(x))

    def _inward(self, x: Array) -> Array:
        return subtract_centre(x, self._centre) / self._radius

    def _outward(self, z: Array) -> Array:
        return add_centre(self._radius * z, self._centre)

    def _cuts(self) -> tuple[Array, Array]:
        cost = np.array(self._cost)
        return cost, np.array(self._limit).reshape(-1, cost.shape[1])

    def lower_bound(self) -> tuple[Array, float]:
        """Return the minimiser of the model, and a proven lower bound on the problem."""
        cost, limit = self._cuts()
        shift, scale = cost[-1, -1], max(1e-300, np.abs(cost[:, :-1]).max())
        n, d = len(cost), cost.shape[1] - 1
        rows = np.vstack([cost[:, :-1] / scale, limit[:, :-1]])
        rows = np.column_stack([rows, np.append(-np.ones(n), np.zeros(len(limit)))])
        right = np.append(-(cost[:, -1] - shift) / scale, -limit[:, -1])
        objective = np.append(np.zeros(d), 1.0)
        box = [(-1.0, 1.0)] * d + [(None, None)]
        solved = self._linprog(objective, A_ub=rows, b_ub=right, bounds=box, method="highs")
        if solved.x is None:  # not for a bounded, feasible program; a weak bound is valid
            return self._outward(np.zeros(d)), self._bound_from(cost[-1:], np.ones(1))
        weights = np.maximum(-solved.ineqlin.marginals, 0.0)
        total = weights[:n].sum()
        if not total > 0:
            weights[:n], total = 1.0, float(n)
        weights[n:] *= scale
        bound = self._bound_from(np.vstack([cost, limit]), weights / total)
        return self._outward(solved.x[:d]), bound

    @staticmethod
    def _bound_from(cuts: Array, weights: Array) -> float:
        """Return the minimum over the unit ball of a weighted sum of cuts, less its rounding."""
        row, size = weights @ cuts, weights @ np.abs(cuts)
        rounding = 4 * sum(cuts.shape) * 2.0**-53 * (size[-1] + np.linalg.norm(size[:-1]))
        return float(row[-1] - np.linalg.norm(row[:-1]) - rounding)

    def project(self, x: Array, level: float) -> Array | None:
        """Project x onto where the cuts of F are at most the level and those of g at most 0."""
        cost, limit = self._cuts()
        scale = np.linalg.norm(cost[:, :-1], axis=1)
        some = scale > 0
        cost = cost[some] / scale[some, None]
        rows = np.vstack([cost[:, :-1], limit[:, :-1]])
        right = np.append(level / scale[some] - cost[:, -1], -limit[:, -1])
        z, ones = self._inward(x), np.ones(rows.shape[1])
        solution = self._solve_qp(
            np.diag(ones), -z, G=rows, h=right, lb=-ones, ub=ones, solver="piqp"
        )
        return (
            None if solution is None or not np.isfinite(solution).all() else self._outward(solution)
        )

r"""The best fixed action from value and subgradient oracles alone, with a proof of its quality.

Minimise a convex F over :math:`\{x \in B : g(x) \le 0\}`, B a ball. Every query gives a cut, an
affine function that is never above F (or g), so the cuts together make a model of the problem
whose minimum is a lower bound. The level method (Lemarechal, Nemirovskii, Nesterov 1995) asks next
at the point nearest to the best one so far where the model is below a level between the bounds.

The lower bound does not rest on the solver's word. For any weights :math:`\lambda \ge 0` on the
cuts of F with sum 1 and :math:`\mu \ge 0` on those of g, every feasible x has

.. math::
    F(x) \ge F(x) + \sum_j \mu_j g(x)
         \ge \sum_i \lambda_i F_i(x) + \sum_j \mu_j g_j(x)
         \ge \min_{z \in B} \Big(\sum_i \lambda_i F_i + \sum_j \mu_j g_j\Big)(z),

the minimum of one affine function over a ball, which is a formula. The multipliers of the linear
program make it nearly tight; if they are wrong the bound is only weaker. The upper bound is the
value at a point that is feasible: a query outside is drawn back towards an interior point z with
slack :math:`\alpha` until convexity gives :math:`g \le 0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.problems.constraints import Constraint
from surefoot.sets import Ball

__all__ = ["Bracket", "level_bundle"]


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
        """Length of the interval, relative to the value (or to 1 where that is smaller)."""
        return (self.value - self.lower) / max(1.0, abs(self.value))


def level_bundle(
    total: Callable[[Array], tuple[float, Array]],
    constraint: Constraint,
    domain: Ball,
    interior: Array,
    *,
    tolerance: float = 1e-6,
    max_queries: int = 1_000,
    max_cuts: int = 400,
    progress: Callable[[Bracket], None] | None = None,
) -> Bracket:
    """Minimise a convex function under a constraint, from their oracles.

    Args:
        total: from an action to F and one subgradient.
        constraint: g.
        domain: a ball that contains the feasible set.
        interior: a point with g < 0.
        tolerance: relative gap to stop at.
        max_queries: stop here in any case; the bounds hold whenever it stops.
        max_cuts: the number of cuts stored; memory is this times d.
        progress: called after every query with the bounds so far.

    Example:
        >>> from surefoot.problems.constraints import L2Norm
        >>> aim = np.array([3.0, 4.0])
        >>> found = level_bundle(
        ...     lambda x: (float((x - aim) @ (x - aim)), 2 * (x - aim)),
        ...     L2Norm(1.0),
        ...     Ball(1.0),
        ...     np.zeros(2),
        ... )
        >>> found.action.round(3), found.lower <= 16.0 <= found.value
        (array([0.6, 0.8]), True)
    """
    checks.function(total=total)
    checks.positive(tolerance=tolerance, max_queries=max_queries, max_cuts=max_cuts)
    model = _Model(domain, max_cuts)
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
        found = Bracket(best, upper, lower, query, False)
        if progress is not None:
            progress(found)
        if found.gap <= tolerance:
            return found._replace(converged=True)
        level = lower + 0.3 * (upper - lower)
        nearest = model.project(best, level)
        # Where the solver gave up, Kelley's point is a valid, if wilder, next query.
        x = proposal if nearest is None else nearest
    return found


def _draw_back(constraint: Constraint, x: Array, z: Array, g: float, slack: float) -> Array:
    r"""Return a feasible point of the segment from x to z, where convexity proves one.

    :math:`g(z + \theta(x - z)) \le \theta g(x) - (1-\theta)\alpha = 0` at
    :math:`\theta = \alpha/(\alpha + g)`; a hair less, so that rounding does not undo it.
    """
    share, hair = slack / (slack + g), 1e-12
    point = z + share * (1 - hair) * (x - z)
    while constraint.value(point) > 0:  # a far centre or a large scale rounds more than 1e-12
        hair = min(8 * hair, 1.0)  # in the end z itself
        point = z + share * (1 - hair) * (x - z)
    return point


class _Model:
    """The cuts, in coordinates where the ball is the unit ball and slopes are about 1."""

    def __init__(self, domain: Ball, max_cuts: int) -> None:
        self._linprog = need("scipy.optimize", "solve", "the level bundle").linprog
        self._solve_qp = need("qpsolvers", "solve", "the level bundle").solve_qp
        self._radius = float(domain.radius)
        self._centre = domain.centre
        self._max_cuts = max_cuts
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
        return (x if self._centre is None else x - self._centre) / self._radius

    def _outward(self, z: Array) -> Array:
        x = self._radius * z
        return x if self._centre is None else x + self._centre

    def lower_bound(self) -> tuple[Array, float]:
        """Return the minimiser of the model, and a proven lower bound on the problem."""
        cost = np.array(self._cost)
        shift, scale = cost[-1, -1], max(1e-300, np.abs(cost[:, :-1]).max())
        d = cost.shape[1] - 1
        rows = np.column_stack([cost[:, :-1] / scale, -np.ones(len(cost))])
        right = -(cost[:, -1] - shift) / scale
        limit = np.array(self._limit) if self._limit else None
        if limit is not None:
            rows = np.vstack([rows, np.column_stack([limit[:, :-1], np.zeros(len(limit))])])
            right = np.append(right, -limit[:, -1])
        objective = np.append(np.zeros(d), 1.0)
        box = [(-1.0, 1.0)] * d + [(None, None)]
        solved = self._linprog(objective, A_ub=rows, b_ub=right, bounds=box, method="highs")
        if solved.x is None:  # never for a bounded, feasible program; a weak bound is still one
            weights = np.append(np.zeros(len(cost) - 1), 1.0)
            return self._outward(np.zeros(d)), self._bound_from(cost, weights, None, None)
        weights = np.maximum(-solved.ineqlin.marginals, 0.0)
        on_cost, on_limit = weights[: len(cost)], weights[len(cost) :]
        total = on_cost.sum()
        if not total > 0:
            on_cost, total = np.full(len(cost), 1.0), float(len(cost))
        bound = self._bound_from(cost, on_cost / total, limit, on_limit * scale / total)
        self._forget(on_cost > 0, on_limit > 0)
        return self._outward(solved.x[:d]), bound

    @staticmethod
    def _bound_from(
        cost: Array, on_cost: Array, limit: Array | None, on_limit: Array | None
    ) -> float:
        """Return the minimum over the unit ball of a weighted sum of cuts, less its rounding."""
        row, size = on_cost @ cost, on_cost @ np.abs(cost)
        if limit is not None:
            row, size = row + on_limit @ limit, size + on_limit @ np.abs(limit)
        count = len(cost) + (0 if limit is None else len(limit)) + cost.shape[1]
        rounding = 4 * count * 2.0**-53 * (size[-1] + np.linalg.norm(size[:-1]))
        return float(row[-1] - np.linalg.norm(row[:-1]) - rounding)

    def project(self, x: Array, level: float) -> Array | None:
        """Project x onto where the cuts of F are at most the level and those of g at most 0."""
        cost = np.array(self._cost)
        scale = np.linalg.norm(cost[:, :-1], axis=1)
        flat = scale <= 0
        cost = cost[~flat] / scale[~flat, None]
        right = level / scale[~flat] - cost[:, -1]
        rows = cost[:, :-1]
        if self._limit:
            limit = np.array(self._limit)
            rows, right = np.vstack([rows, limit[:, :-1]]), np.append(right, -limit[:, -1])
        z = self._inward(x)
        d = len(z)
        bounds = np.full(d, 1.0)
        found = self._solve_qp(np.eye(d), -z, G=rows, h=right, lb=-bounds, ub=bounds, solver="piqp")
        return None if found is None or not np.isfinite(found).all() else self._outward(found)

    def _forget(self, cost_used: Array, limit_used: Array) -> None:
        """Drop the oldest cuts that the model's minimum does not depend on."""
        spare = len(self._cost) + len(self._limit) - self._max_cuts
        for cuts, used in ((self._cost, cost_used), (self._limit, limit_used)):
            idle = np.flatnonzero(~used[: len(cuts)])[: max(0, spare)]
            for i in sorted(idle.tolist(), reverse=True):
                del cuts[i]
            spare -= len(idle)

r"""A lower bound on the regret of every safe rule, by its way from the start to the best action.

**Theorem H'.** *Let a rule be safe for every g that agrees with its measurements, and the costs be
independent draws with mean f; x\* the best action of f, c the gradient of f there, e = -c/|c|, and*

.. math:: p^* = e^\top(x^* - x_1), \qquad
          \psi(p) = \max\{-g(x)/G_g : e^\top(x - x_1) = p\}.

*Then* :math:`\mathrm{E}\,\mathrm{Reg}_T \ge \|c\|\sum_{t \le T}(p^* - \phi_t)` *with*
:math:`\phi_1 = 0,\ \phi_{t+1} = \min(p^*, \phi_t + \psi(\phi_t))`.

Proof. The next action is in the hull of the balls :math:`B(x_i, -g(x_i)/G_g)` of the rounds so far
(Theorem E of docs/hulls.md: nothing else can be certified), so along e it gets no further than
the largest :math:`p_i - g(x_i)/G_g`, which is at most the largest :math:`p + \psi(p)` with
:math:`p \le \phi_t`. One may go from a point of one slice straight to another slice, and g changes
by at most :math:`G_g` per unit of length: :math:`\psi` changes by at most the way. So
:math:`p + \psi(p)` does not fall, and is largest at :math:`\phi_t`. Last, f is convex:
:math:`f(x) - f(x^*) \ge c^\top(x - x^*) = \|c\|(p^* - p)`.
"""

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import Constraint, L2Norm
from surefoot.problems.hindsight import level_bundle
from surefoot.problems.problem import Problem
from surefoot.sets import Ball

__all__ = ["least_safe_regret"]


def least_safe_regret(
    problem: Problem, rounds: int | None = None, *, points: int = 9, tolerance: float = 1e-4
) -> float:
    r"""Return a regret that no safe rule stays below, in the mean, on costs drawn like these.

    The mean cost is that of the problem's rounds. :math:`\psi` is concave: its values at some
    points bound it between them, so the result is never too large.

    Args:
        problem: a problem with one fixed constraint and one run.
        rounds: T; that of the problem unless given.
        points: at how many points :math:`\psi` is bounded; at least 3.
        tolerance: relative accuracy of these bounds.

    Example:
        >>> from surefoot.problems.constraints import L2Norm
        >>> from surefoot.problems.costs import Linear
        >>> slopes = np.tile([-3.0, 0.0], (50, 1))
        >>> ball = Problem.of(Linear(slopes), L2Norm(1.0), Ball(1.0), [0.0, 0.0])
        >>> round(least_safe_regret(ball), 3)  # only the first round costs
        3.0
    """
    T, start, g = problem.costs.horizon, problem.start, problem.constraint
    if not isinstance(g, Constraint) or problem.costs.runs is not None:
        raise InvalidValueError("problem must have one fixed constraint and one run")
    (G_g,) = problem.constants.require("G_g", by="Theorem H'")
    best = problem.best_after([T]).action[0]
    c = np.mean([problem.costs.gradient(t, best) for t in range(T)], axis=0)
    way = float(c @ (start - best)) / norm(c) if norm(c) > 0 else 0.0
    if not way > 0:
        return 0.0
    places, e = np.linspace(0.0, way, points), -c / norm(c)
    # The slices across e, in the coordinates of a basis; a ball around 0 holds them.
    basis, reach = np.linalg.svd(e[None])[2][1:].T, 2 * problem.domain.reach(start)
    slices = [_bound_depth(g, start + p * e, basis, reach, tolerance) for p in places]
    least, most = np.array(slices).T / float(G_g)
    position, total = 0.0, 0.0
    for _ in range(T if rounds is None else rounds):
        if position >= way:
            break
        total += way - position
        position += max(_bound_between(places, least, most, position), 0.0)
    return float(norm(c) * total)


def _bound_depth(
    constraint: Constraint, point: Array, basis: Array, reach: float, tolerance: float
) -> tuple[float, float]:
    """Return two numbers between which the largest -g of a slice is."""
    if not basis.size:
        depth = -float(constraint.value(point))
        return depth, depth

    def total(z: Array) -> tuple[float, Array]:
        g, s = constraint.query(point + basis @ z)
        return float(g), basis.T @ s

    middle = np.zeros(basis.shape[1])
    bracket = level_bundle(total, L2Norm(reach), Ball(reach), middle, tolerance=tolerance)
    return -bracket.value, -bracket.lower


def _bound_between(places: Array, least: Array, most: Array, p: float) -> float:
    """Return an upper bound on a concave function that changes by at most the way.

    Args:
        places: where it was bounded, at equal distances.
        least: lower bounds there.
        most: upper bounds there.
        p: where the bound is computed.
    """
    step = places[1] - places[0]
    i = min(int(p / step), len(places) - 2)
    before_p, after_p = p - places[i], places[i + 1] - p
    # The extended chords of the neighbouring intervals are above a concave function.
    before = (most[i] - least[i - 1]) / step if i > 0 else 1.0
    after = (most[i + 1] - least[i + 2]) / step if i + 2 < len(places) else 1.0
    return float(
        min(most[i] + min(before, 1.0) * before_p, most[i + 1] + min(after, 1.0) * after_p)
    )

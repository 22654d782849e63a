"""Known equalities: balances, budgets that are spent, loads that must be met."""

from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import UNIT
from surefoot.core.types import Array, ArrayLike

__all__ = ["Plane", "without_equalities"]


class Plane(NamedTuple):
    r"""The plane :math:`\{x : Ax = b\}` in coordinates w, :math:`x = x_1 + Nw`.

    Attributes:
        start: :math:`x_1`, which is w = 0.
        basis: N, whose columns are orthonormal.
    """

    start: Array
    basis: Array

    def lift(self, w: ArrayLike) -> Array:
        """Return the action x of coordinates w."""
        return self.start + self.basis @ np.asarray(w, dtype=np.float64)

    def lower(self, x: ArrayLike) -> Array:
        """Return the coordinates w of an action of the plane."""
        return self.basis.T @ (np.asarray(x, dtype=np.float64) - self.start)

    def slope(self, s: ArrayLike) -> Array:
        """Return the slope in w of a slope in x; its norm is not larger."""
        return self.basis.T @ np.asarray(s, dtype=np.float64)

    def evaluation_error(self, G_g: float, reach: float) -> float:
        """Return a bound on the difference of g at a computed x and at the exact one.

        Args:
            G_g: a bound on the slopes of g.
            reach: the largest norm of w.
        """
        size = float(np.linalg.norm(self.start)) + reach
        # An entry of N w errs by at most n units of its row's norm times |w|, and N's is sqrt n.
        return float(4 * (len(self.start) + 4) ** 1.5 * UNIT * size * G_g)


def without_equalities(A: ArrayLike, b: ArrayLike, start: ArrayLike) -> Plane:
    r"""Return coordinates in which known equalities :math:`Ax = b` always hold.

    A rule plays w and receives the slopes of the plane: :math:`g(x_1 + Nw)` is as convex as g, its
    slopes :math:`N^\top s` are not longer, its curvature is not larger, and the start is w = 0. The
    equalities hold up to rounding, and the rounding of x is an error of evaluation
    (:meth:`Plane.evaluation_error`). No rule can keep an *unknown* equality; within a tolerance it
    is two limits.

    Args:
        A: one equality per row.
        b: the right-hand sides.
        start: :math:`x_1`, strictly feasible and with :math:`Ax_1 = b`.

    Example:
        >>> plane = without_equalities([[1.0, 1.0, 1.0]], [1.0], start=[0.2, 0.3, 0.5])
        >>> plane.basis.shape, round(float(plane.lift([0.1, -0.4]).sum()), 12)
        ((3, 2), 1.0)
    """
    rows, right = checks.to_matrix(A, "A"), checks.to_vector(b, "b")
    x1 = checks.to_vector(start, "start", length=rows.shape[1])
    if len(right) != len(rows):
        raise InvalidValueError(f"b must have one entry per row of A, got {len(right)}")
    off = np.abs(rows @ x1 - right)
    size = np.abs(rows) @ np.abs(x1) + np.abs(right)
    if not (off <= 1e-9 * size).all():
        raise InvalidValueError(
            f"start must keep A x = b, got a difference of {float(off.max()):g}"
        )
    _, lengths, ways = np.linalg.svd(rows)
    rank = int((lengths > 1e-12 * lengths[0]).sum()) if lengths[0] > 0 else 0
    if rank == rows.shape[1]:
        raise InvalidValueError("A must leave something to choose, got one that fixes every entry")
    return Plane(x1, np.ascontiguousarray(ways[rank:].T))

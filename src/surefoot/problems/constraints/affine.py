"""Finitely many linear constraints, as their maximum."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, final

import numpy as np

from surefoot.core.arrays import convert_like, find_largest, is_sparse, namespace, take_rows
from surefoot.core.errors import InvalidTypeError
from surefoot.core.parameters import Declared, count, positive
from surefoot.core.points import divide_rows, row_norms, row_terms, to_dense
from surefoot.core.types import Array, ArrayLike, Number, Set
from surefoot.problems.constraints.base import Constraint, bound_above, gamma, level_below, point
from surefoot.sets import Ball, Box, Halfspace, Polytope, Simplex
from surefoot.sets.polytope import Rows

__all__ = ["Affine", "SimplexRows"]


class LinearRows(Constraint):
    r"""The largest of m affine functions, :math:`g(x) = \max_i (a_i^\top x - b_i)`.

    Value and subgradient come from the same row; of rows that tie, the first counts.

    Attributes:
        A: rows :math:`a_i`, ``(m, d)``.
        b: :math:`b_i`, ``(m,)``.
    """

    A: Array
    b: Array

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest row's value, and that row."""
        x = point(x, self.A.shape[1])
        value, index = find_largest(self._values(x))
        return value, take_rows(convert_like(self.A, x), index)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return every row's value, and all rows; sparse rows stay sparse for one action.

        Example:
            >>> g = Affine([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0])
            >>> g.query_all(np.array([0.5, 0.75]))[0]
            array([-0.5,  0.5])
        """
        x = point(x, self.A.shape[1])
        A = convert_like(self.A, x)
        if x.ndim > 1:
            A = namespace(x).broadcast_to(to_dense(A), (x.shape[0], *A.shape))
        return self._values(x), A

    def _values(self, x: Array) -> Array:
        A, b = convert_like(self.A, x), convert_like(self.b, x)
        return (A @ x if x.ndim == 1 else x @ A.T) - b

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.A.shape[0])

    @property
    def interior(self) -> Array | None:
        """0 if every b is positive."""
        return np.zeros(self.A.shape[1]) if (self.b > 0).all() else None

    def value_bound(self, domain: Ball, point: Array | None = None) -> float:
        r"""Return :math:`\max_i (|a_i^\top c - b_i| + \|a_i\|R)`, attained."""
        return float((abs(self._at_centre(domain)) + row_norms(self.A) * domain.radius).max())

    def _at_centre(self, domain: Ball) -> Array:
        return (0.0 if domain.centre is None else self.A @ domain.centre) - self.b

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return the longest row: every subgradient is a convex combination of rows."""
        return float(self._lengths().max())

    def _lengths(self) -> Array:
        """Return the norm of each row, rounded up: no computed norm is above it."""
        return bound_above(row_norms(self.A), row_terms(self.A))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return the largest error of a row that can be the largest on the domain.

        A row that stays below another on the whole domain, by more than both round, is never
        returned, so a far limit beside near ones costs no digits. A row errs by at most
        :math:`\gamma_{d+2}(\|a_i\|M + |b_i|)` with M the largest norm on the domain: of
        :math:`a_i^\top x` by :math:`\gamma_d|a_i|^\top|x|`, of the difference with :math:`b_i`
        once more. The subgradient is exact.
        """
        values, lengths = self._at_centre(domain), self._lengths()
        sizes = lengths * float(domain.reach_from_origin) + abs(self.b)
        errors, spread = gamma(row_terms(self.A) + 2) * sizes, lengths * float(domain.radius)
        # The values are rounded too, hence twice the errors.
        lowest = (values - spread - 2 * errors).max()
        return float(errors[values + spread + 2 * errors >= lowest].max())

    def curvature(self, domain: Ball | None = None) -> float | None:
        """Return 0 for one row; None for several, whose maximum has kinks."""
        return 0.0 if self.rows == 1 else None

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return 0 for each row: all are linear."""
        return np.zeros(self.rows)


class Affine(Rows, LinearRows, kw_only=False):
    r"""The largest of m affine functions, :math:`g(x) = \max_i (a_i^\top x - b_i)`.

    Value and subgradient come from the same row; of rows that tie, the first counts.

    With a sparse A the cost of a query grows with the number of its nonzero entries and with d, not
    with m d; actions are then NumPy's, and sigma is the local one.

    Args:
        A: rows :math:`a_i`, ``(m, d)``, none of them zero; NumPy, lists or SciPy sparse.
        b: :math:`b_i`, ``(m,)``.

    Example:
        >>> g = Affine([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0])
        >>> g.query(np.array([0.5, 0.75]))
        (0.5, array([0., 2.]))
        >>> g.query(np.array([0.0, 0.0]))  # a tie: the first row
        (-1.0, array([1., 0.]))
        >>> from scipy.sparse import csr_array
        >>> wide = Affine(csr_array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), [1.0, 1.0])
        >>> wide.query(np.array([0.5, 9.0, 0.75]))
        (0.5, array([0., 0., 2.]))
    """

    if TYPE_CHECKING:  # what a caller may give, beside what is stored

        def __init__(self, A: ArrayLike, b: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_sparse(self.A):
            from surefoot.problems.constraints._csr import SparseRows

            object.__setattr__(self, "A", SparseRows(self.A))

    def normalize(self) -> Affine:
        r"""Return the same set with rows of norm 1: :math:`a_i/\|a_i\|`, :math:`b_i/\|a_i\|`.

        g is then the largest distance to a violated row's half-space, :math:`G_g = 1`, and rows
        in different units count alike.

        Example:
            >>> Affine([[3.0, -4.0]], [10.0]).normalize()
            Affine(A=array([[ 0.6, -0.8]]), b=array([2.]))
        """
        norms = row_norms(self.A)
        return Affine(divide_rows(self.A, norms), self.b / norms)

    def _values(self, x: Array) -> Array:
        if is_sparse(self.A) and not isinstance(x, np.ndarray):
            raise InvalidTypeError(
                f"an Affine of sparse rows must be given NumPy actions, got {type(x).__name__}: "
                "play with the engine 'loop' or 'batch', or take A.toarray()"
            )
        return super()._values(x)

    @property
    def interior(self) -> Array | None:
        """0 if every b is positive, the middle of a box, one unit inside a half-space."""
        if (origin := super().interior) is not None:
            return origin
        region = self.region
        if isinstance(region, Box):
            point = 0.5 * (region.lower + region.upper)
        elif isinstance(region, Halfspace):
            length = float(np.linalg.norm(self.A[0]))
            point = (float(self.b[0]) / length - 1.0) * (self.A[0] / length)
        else:
            return None
        return point if self.value(point) < 0 else None

    @property
    def region(self) -> Set:
        """A half-space for one row, a box for rows that bound one, else a polytope."""
        if is_sparse(self.A):
            return Polytope(self.A, self.b)
        if len(self.A) == 1:
            return Halfspace(self.A[0], float(self.b[0]))
        box = self._box() if (np.count_nonzero(self.A, axis=1) == 1).all() else None
        return Polytope(self.A, self.b) if box is None else box

    def _box(self) -> Box | None:
        d = self.A.shape[1]
        lower, upper = np.full(d, -math.inf), np.full(d, math.inf)
        for a, b in zip(self.A, self.b, strict=True):
            i = int(np.flatnonzero(a)[0])
            limit = b / a[i]
            while a[i] * limit > b:  # rounding: g > 0 there, but not at the number before it
                limit = np.nextafter(limit, -a[i] * math.inf)
            if a[i] > 0:
                upper[i] = min(upper[i], limit)
            else:
                lower[i] = max(lower[i], limit)
        bounded = np.isfinite(lower).all() and np.isfinite(upper).all()
        return Box(lower, upper) if bounded and (lower <= upper).all() else None

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        r"""Return sigma exactly if the rows form mutually orthogonal classes of parallel rows.

        That covers one half-space, a slab, a box and a rotated box. Proof. Let g(x) = -epsilon
        with epsilon below the depth of g. Two opposite rows of one class cannot both be active
        at x: they would pin their slab to width zero at level -epsilon, so that g >= -epsilon
        everywhere. So the active rows of a class all point the same way, and a subgradient is
        :math:`s = \sum_j \lambda_j v_j` with :math:`\lambda` in the simplex, one vector
        :math:`v_j` per class in the hull of its active rows, hence of norm at least
        :math:`n_j`, the shortest row of class j, and the :math:`v_j` orthogonal:
        :math:`\|s\|^2 = \sum_j \lambda_j^2\|v_j\|^2 \ge \sum_j \lambda_j^2 n_j^2
        \ge 1/\sum_j n_j^{-2}`, the last by minimising over the simplex. A box attains it at a
        corner; in general it is a valid lower bound. Directions that are orthogonal up to a
        cosine of :math:`\delta` lose :math:`2|\lambda_i v_i||\lambda_j v_j|\delta` per pair,
        together at most a share of :math:`m\delta`, which is taken off.
        """
        grouping = None if is_sparse(self.A) else _orthogonal_classes(self.A)
        if grouping is None:
            return None
        classes, cosine = grouping
        norms = row_norms(self.A)
        shortest = np.array([norms[members].min() for members in classes])
        depth = min(_depth(self.A[c], self.b[c]) for c in classes)
        if not depth > 0:
            return None
        # Rounded down: a lower bound must survive the rounding of computed norms.
        loss = len(classes) * cosine + 2.0**-50
        sigma = float(1 / np.sqrt((shortest**-2.0).sum())) * (1 - loss)
        return sigma, level_below(depth, epsilon)


@final
class SimplexRows(LinearRows, Declared, kw_only=False):
    r"""Shares of a total: :math:`g(x) = \max(\max_i -x_i,\ \sum_i x_i - s)`.

    The total is met up to the rounding of a sum, as :class:`surefoot.sets.Simplex` has it, so that
    its points are feasible as computed. Shares may add up to less; methods that work on the simplex
    itself, such as entropic ones, always spend the whole total.

    Args:
        dimension: d, the number of shares.
        total: s > 0.

    Example:
        >>> SimplexRows(2).query(np.array([0.75, 0.5]))[1]
        array([1., 1.])
    """

    dimension: int = count()
    total: float = positive(default=1.0)
    A: Array = field(init=False, repr=False, compare=False)
    b: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.dimension
        # The total plus the rounding of a sum of d shares.
        limit = self.total * (1 + (2 * d + 8) * 2.0**-53)
        object.__setattr__(self, "A", np.vstack([-np.eye(d), np.ones((1, d))]))
        object.__setattr__(self, "b", np.append(np.zeros(d), limit))

    @property
    def region(self) -> Simplex:
        """The simplex on which the whole total is spent."""
        return Simplex(self.dimension, self.total)

    @property
    def interior(self) -> Array:
        """Equal shares of half the total."""
        return np.full(self.dimension, 0.5 * self.total / self.dimension)


def _orthogonal_classes(A: Array) -> tuple[list[list[int]], float] | None:
    """Return the indices of parallel rows per class, and the largest cosine between two classes.

    None if two classes are not orthogonal. Parallel and orthogonal up to 1e-12, the rounding of a
    rotation. The part across decides what is parallel, not the cosine, which is 1 - 1e-12 at an
    angle of 1e-6 already: faces at this angle meet at a million times their distance, and their
    hull nearly holds 0.
    """
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    classes: list[list[int]] = []
    largest = 0.0
    for i, a in enumerate(unit):
        heads = unit[[members[0] for members in classes]].reshape(-1, len(a))
        cosines = heads @ a
        across = np.linalg.norm(a - cosines[:, None] * heads, axis=1)
        place = int(across.argmin()) if len(classes) and across.min() <= 1e-12 else len(classes)
        others = abs(np.delete(cosines, slice(place, place + 1)))
        largest = max(largest, others.max(initial=0.0))
        if largest > 1e-12:
            return None
        classes += [[]] * (place == len(classes))
        classes[place] = [*classes[place], i]
    return classes, float(largest)


def _depth(A: Array, b: Array) -> float:
    """Return minus the minimum over the line of the largest parallel row; inf if unbounded.

    With z the coordinate along the first row's direction, row i is n_i z - b_i, n_i signed. The
    minimum of the largest of lines is where a rising and a falling one cross, the highest of all
    such crossings.
    """
    n = A @ (A[0] / np.linalg.norm(A[0]))
    rising, falling = np.flatnonzero(n > 0), np.flatnonzero(n < 0)
    if not len(falling):
        return math.inf
    crossings = [(-b[i] * -n[j] + -b[j] * n[i]) / (n[i] - n[j]) for i in rising for j in falling]
    return -float(max(crossings))

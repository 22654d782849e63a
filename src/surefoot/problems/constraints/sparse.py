"""Linear constraints with few entries per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import find_largest
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared
from surefoot.core.types import Array, Number
from surefoot.problems.constraints._rounding import rounded_up
from surefoot.problems.constraints.affine import active_error, row_errors
from surefoot.problems.constraints.base import Constraint, point
from surefoot.sets import Ball, Polytope

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["SparseAffine"]


class SparseAffine(Constraint, Declared, kw_only=False):
    r"""The largest of m affine functions, :math:`g(x) = \max_i (a_i^\top x - b_i)`, A sparse.

    As :class:`~surefoot.problems.constraints.Affine`, at a cost per query that grows with the
    entries of A that are not 0 and with d, not with m d. NumPy actions only; needs the extra
    ``solve``.

    Sigma is the local one; ``Affine(A.toarray(), b)`` knows its own for few rows.

    Args:
        A: rows :math:`a_i`, a SciPy sparse matrix or array ``(m, d)``, no row without entries.
        b: :math:`b_i`, ``(m,)``.

    Example:
        >>> from scipy.sparse import csr_array
        >>> g = SparseAffine(csr_array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), [1.0, 1.0])
        >>> g.query(np.array([0.5, 9.0, 0.75]))
        (0.5, array([0., 0., 2.]))
    """

    A: csr_array
    b: Array

    def __post_init__(self) -> None:
        need("scipy.sparse", "solve", "a sparse constraint")
        from surefoot.problems.constraints._csr import Rows

        if not hasattr(self.A, "tocsr"):
            raise InvalidValueError(
                f"A must be a SciPy sparse matrix, got {type(self.A).__name__}: "
                "a dense one is for Affine"
            )
        if len(self.A.shape) != 2 or 0 in self.A.shape:
            raise InvalidValueError(
                f"A.shape must be that of a matrix that is not empty, got {self.A.shape}"
            )
        A = Rows(self.A, dtype=np.float64, copy=True)
        A.sum_duplicates()  # a row is read off entry by entry
        A.eliminate_zeros()
        wrong = np.flatnonzero(~np.isfinite(A.data))
        if len(wrong):
            i = int(np.searchsorted(A.indptr, wrong[0], side="right")) - 1
            raise InvalidValueError(f"A must be finite, got {A.data[wrong[0]]!r} in row {i}")
        empty = np.flatnonzero(np.diff(A.indptr) == 0)
        if len(empty):
            raise InvalidValueError(f"A must have no zero row, got zeros in row {empty[0]}")
        for part in (A.data, A.indices, A.indptr):
            part.setflags(write=False)
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "b", checks.to_vector(self.b, "b", length=A.shape[0]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseAffine):
            return False
        same = self.A.shape == other.A.shape and (self.A != other.A).nnz == 0
        return same and np.array_equal(self.b, other.b)

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest row's value, and that row as a dense vector."""
        x = point(x, self.dimension)
        value, index = find_largest(self._values(x))
        if type(index) is int:
            return value, self._row(index)
        return value, self.A[index].toarray()

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return all values and rows: A itself, sparse, for one action; dense for a batch."""
        x = point(x, self.dimension)
        values = self._values(x)
        if x.ndim == 1:
            return values, self.A
        return values, np.broadcast_to(self.A.toarray(), (len(x), *self.A.shape))

    def _values(self, x: Array) -> Any:
        if type(x) is not np.ndarray:
            raise InvalidTypeError(
                f"SparseAffine must be given NumPy actions, got {type(x).__name__}: play with "
                "the engine 'loop' or 'batch', or take Affine(A.toarray(), b)"
            )
        return self.A @ x - self.b if x.ndim == 1 else (self.A @ x.T).T - self.b

    def _row(self, i: int) -> Any:
        A = self.A
        here = slice(A.indptr[i], A.indptr[i + 1])
        a = np.zeros(A.shape[1])
        a[A.indices[here]] = A.data[here]
        return a

    def norms(self) -> Any:
        """Return the norm of every row."""
        return np.sqrt(np.add.reduceat(self.A.data**2, self.A.indptr[:-1]))

    def normalized(self) -> SparseAffine:
        """Return the same feasible set with rows of norm 1."""
        A, norms = self.A.copy(), self.norms()
        A.data = A.data / np.repeat(norms, np.diff(A.indptr))
        return SparseAffine(A, self.b / norms)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.A.shape[0])

    def value_bound(self, domain: Ball, point: Array | None = None) -> float:
        r"""Return :math:`\max_i (|a_i^\top c - b_i| + \|a_i\|R)`, attained."""
        centre = 0.0 if domain.centre is None else self.A @ domain.centre
        return float((abs(centre - self.b) + self.norms() * domain.radius).max())

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self.A.shape[1])

    @property
    def region(self) -> Polytope:
        """The polytope."""
        return Polytope(self.A, self.b)

    @property
    def interior(self) -> Array | None:
        """0 if every b is positive."""
        return np.zeros(self.dimension) if (self.b > 0).all() else None

    def subgradient_bound(self, domain: Ball) -> float:
        """Return the longest row: every subgradient is a convex combination of rows."""
        return float(self.row_slopes(domain).max())

    def row_slopes(self, domain: Ball) -> Array:
        """Return the norm of each row."""
        return rounded_up(self.norms(), self._longest())

    def row_errors(self, domain: Ball) -> Array:
        """Bound errors as :class:`.Affine` does, with the longest row."""
        return row_errors(self.row_slopes(domain), self.b, domain, self._longest())

    def evaluation_error(self, domain: Ball) -> float:
        """Return the largest error of a row that can be the largest on the domain."""
        values = (0.0 if domain.centre is None else self.A @ domain.centre) - self.b
        return active_error(values, self.row_slopes(domain), self.b, domain, self._longest())

    def curvature(self, domain: Ball | None = None) -> float | None:
        """Return 0 for one row; None for several, whose maximum has kinks."""
        return 0.0 if self.rows == 1 else None

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Return 0 for each row: all are linear."""
        return np.zeros(self.rows)

    def _longest(self) -> int:
        return int(np.diff(self.A.indptr).max())

"""Linear constraints with few entries per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import find_largest, is_one_run, is_sparse
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.parameters import Declared
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.affine import LinearRows
from surefoot.problems.constraints.base import point
from surefoot.sets import Polytope

__all__ = ["SparseAffine"]

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class SparseAffine(LinearRows, Declared, kw_only=False):
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

        if not is_sparse(self.A):
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

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self.A.shape[1])

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the largest row's value, and that row as a dense vector."""
        x = point(x, self.dimension)
        value, index = find_largest(self._values(x))
        rows = self.A[[index] if is_one_run(x) else index].toarray()
        return value, rows[0] if is_one_run(x) else rows

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return all values and rows: A itself, sparse, for one action; dense for a batch."""
        x = point(x, self.dimension)
        if is_one_run(x):
            return self._values(x), self.A
        return self._values(x), np.broadcast_to(self.A.toarray(), (len(x), *self.A.shape))

    def _values(self, x: Array) -> Array:
        if not isinstance(x, np.ndarray):
            raise InvalidTypeError(
                f"SparseAffine must be given NumPy actions, got {type(x).__name__}: play with "
                "the engine 'loop' or 'batch', or take Affine(A.toarray(), b)"
            )
        return self.A @ x - self.b if x.ndim == 1 else (self.A @ x.T).T - self.b

    def norms(self) -> Array:
        """Return the norm of each row."""
        return np.sqrt(np.add.reduceat(self.A.data**2, self.A.indptr[:-1]))

    def terms(self) -> int:
        """Return the number of entries of the fullest row."""
        return int(np.diff(self.A.indptr).max())

    def normalize(self) -> SparseAffine:
        """Return the same feasible set with rows of norm 1."""
        A, norms = self.A.copy(), self.norms()
        A.data = A.data / np.repeat(norms, np.diff(A.indptr))
        return SparseAffine(A, self.b / norms)

    @property
    def region(self) -> Polytope:
        """The polytope."""
        return Polytope(self.A, self.b)

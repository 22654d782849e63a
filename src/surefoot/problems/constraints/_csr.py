"""The rows of a sparse constraint; imported only where SciPy is wanted."""

from scipy.sparse import csr_array


class SparseRows(csr_array):  # type: ignore[misc]
    """A compressed sparse matrix that is equal to itself alone.

    SciPy's matrices cannot be hashed. Compiled code keys on what it cannot trace, so without
    this a scan would end in JAX's complaint about static arguments instead of ours about sparse
    rows.
    """

    __hash__ = object.__hash__

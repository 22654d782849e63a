"""Projection onto a known set by a cone solver: what rules do that know the limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.types import Array

__all__ = ["project"]


def project(y: Array, A: Array, b: Array, cones: Sequence[tuple[Array, Array]] = ()) -> Array:
    """Return the nearest point with Ax <= b and every further ``b - Ax`` in a second-order cone.

    Args:
        y: the point.
        A: rows of half-spaces.
        b: their limits.
        cones: a pair (A, b) for each second-order cone.
    """
    import clarabel
    from scipy import sparse

    options = clarabel.DefaultSettings()
    options.verbose = False
    kinds = [clarabel.NonnegativeConeT(len(b))]
    kinds += [clarabel.SecondOrderConeT(len(limits)) for _, limits in cones]
    rows = sparse.csc_matrix(np.vstack([A, *(rows for rows, _ in cones)]))
    limits = np.concatenate([b, *(limits for _, limits in cones)])
    square = sparse.csc_matrix(np.eye(len(y)))
    return np.array(clarabel.DefaultSolver(square, -y, rows, limits, kinds, options).solve().x)

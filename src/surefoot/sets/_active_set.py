r"""Project one NumPy point onto several half-spaces at once, by active sets.

This is the dual method of Goldfarb and Idnani for the distance to a point. Rows join the active set
one after the other, the most violated first. A row leaves when its multiplier would turn negative.
Each change of the set increases the dual value, so there are finitely many.
"""

import math

import numpy as np

from surefoot.core.kernel_constants import ACTIVE_SHARE, ACTIVE_TURNS, DEPENDENT
from surefoot.core.types import Array


def project_halfspaces(
    excess: Array, rows: Array, tolerance: float, longest: float
) -> tuple[Array, Array] | None:
    r"""Return the shortest q with :math:`v_i + s_i^\top q \le 0` for all i, and its multipliers.

    The function checks its answer: :math:`q = -\sum_i z_is_i` with :math:`z \ge 0`, no row above
    the tolerance, and rows with :math:`z_i > 0` within the tolerance of 0. So q is, up to the
    rounding of one sum, the exact projection onto the given half-spaces, each moved by at most the
    tolerance. This holds for badly conditioned rows too.

    Args:
        excess: v, ``(m,)``.
        rows: s, ``(m, d)``.
        tolerance: in the unit of the excess.
        longest: the largest accepted :math:`\sum_i z_i\|s_i\|`; the rounding of q grows with it.

    Returns:
        q and z; None if no answer passes the check.

    Example:
        >>> corner = np.array([[1.0, 0.0], [1.0, 1.0]])
        >>> q, z = project_halfspaces(np.array([0.5, 2.0]), corner, 1e-12, 10.0)
        >>> q, z  # the first row holds where the second puts the point
        (array([-1., -1.]), array([0., 1.]))
    """
    if (excess <= 0).all():
        return np.zeros(rows.shape[1]), np.zeros(len(rows))
    norms = np.sqrt(np.vecdot(rows, rows))
    cuts = norms > 0
    if not np.isfinite(norms).all() or not np.isfinite(excess).all() or (excess[~cuts] > 0).any():
        return None
    scale = np.where(cuts, norms, 1.0)
    unit, v = rows / scale[:, None], np.where(cuts, excess, -1.0) / scale
    active = _find_active(unit, v, ACTIVE_SHARE * tolerance / float(scale.max()))
    if active is None:
        return None
    z = np.zeros(len(v))
    z[active] = _multipliers(unit[active], v[active])
    if float(z.sum()) > longest:
        return None
    q, z = -(z @ unit), z / scale
    after = excess + rows @ q
    if (after > tolerance).any() or (after[z > 0] < -tolerance).any():
        return None
    return q, z


def _find_active(unit: Array, v: Array, tolerance: float) -> list[int] | None:
    r"""Return the rows that are active at the projection; None if the search fails.

    With :math:`N^\top = Q^\top R` for the active rows N, the multiples r of them in another row u
    are :math:`R^{-1}Qu`. The part of u orthogonal to them is :math:`u - Q^\top Qu`. A row that
    joins adds a row to Q and a column to :math:`R^{-1}`.
    """
    most = min(unit.shape) + 1
    Q, inverse = np.zeros((most, unit.shape[1])), np.zeros((most, most))
    q, active, z = np.zeros(unit.shape[1]), [], np.zeros(0)  # type: ignore[var-annotated]
    for _ in range(ACTIVE_TURNS * (len(v) + 1)):
        over = v + unit @ q
        over[active] = -np.inf
        new = int(over.argmax())
        if over[new] <= tolerance:
            return active
        weight, excess, u = 0.0, float(over[new]), unit[new]
        while True:
            k = len(active)
            c = Q[:k] @ u
            across = u - c @ Q[:k]
            again = Q[:k] @ across  # the part along the active rows that rounding left
            across -= again @ Q[:k]
            r = inverse[:k, :k] @ (c + again)
            length = float(across @ across)
            full = excess / length if length > DEPENDENT**2 else np.inf
            limits = np.where(r > 0, z / np.where(r > 0, r, 1.0), np.inf)
            block = int(limits.argmin()) if active else -1
            step = min(full, float(limits[block])) if active else full
            if step == np.inf:
                return None  # no point satisfies the rows together
            if full < np.inf:
                q, excess = q - step * across, excess - step * length
            z, weight = z - step * r, weight + step
            if step == full:
                root = math.sqrt(length)
                Q[k], inverse[:k, k], inverse[k, k] = across / root, r / -root, 1.0 / root
                active, z = [*active, new], np.append(z, weight)
                break
            active, z = active[:block] + active[block + 1 :], np.delete(z, block)
            basis, R = np.linalg.qr(unit[active].T)
            Q[: k - 1], inverse[: k - 1, : k - 1] = basis.T, np.linalg.inv(R)
            inverse[k - 1] = 0.0
    return None


def _multipliers(active: Array, v: Array) -> Array:
    """Return nonnegative multipliers that put the active rows at 0, refined once."""
    if not len(v):
        return v
    K = active @ active.T
    z = np.linalg.lstsq(K, v)[0]
    z = z + np.linalg.lstsq(K, v - active @ (active.T @ z))[0]
    return np.maximum(z, 0.0)

r"""What it costs that a host plays a rounded copy of a certified point.

Certificates are computed in float64. A host with float32 numbers plays :math:`q = \mathrm{fl}(p)`,
not the certified p. With u the unit roundoff of the host (2^-24 for float32, 2^-53 for float64) and
M a bound on the norm of a feasible point, each of k roundings moves an entry by at most u of its
size, or by half of the smallest number of the type, so that for n entries

.. math:: \|q - p\| \le c = k\,(u M(1 + 2^{-10}) + \sqrt n\,\tau).

The filter is told :math:`g + m` instead of g and certifies :math:`g(p) + m \le 0`. That is enough
for :math:`g(q) \le 0` if m is at least what g can rise over a length of c:

* subgradients of at most :math:`G_g` on the feasible set: :math:`m = G_g c`. The ball
  :math:`B(p, m/G_g)` is feasible, because :math:`g(p) \le -m`, and q is in it.
* curvature of at most :math:`\beta`: with :math:`U(y) = g + s^\top(y-x) + \frac\beta2\|y-x\|^2`
  and :math:`\|p - x\| \le 2M`,
  :math:`U(q) - U(p) \le \|s\|c + \frac\beta2(2\|p-x\|c + c^2) \le (\|s\| + \beta(2M + c))c = m`.
  Then :math:`U(q) \le 0`, which certifies q itself (:mod:`surefoot.regions.curvature`). Only the
  s of the round is used. So that rounds can be compared with each other, m should not change: for a
  convex g no slope is longer than the first one and :math:`2\beta M`, and the m of that is kept.

The next round starts from q, the point that was really played; a filter that keeps a bound on the
distance of its action to a set adds c to it. A start with less slack than m is refused by the
filter, because the slack that it sees is not positive; where rho is below m, :func:`caveat` says
that steps may stay.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core.arrays import maximum, namespace, norm
from surefoot.core.convert import refuse_rounded
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import known_in, rows_in, rows_known, value_in
from surefoot.core.types import Array, Number
from surefoot.regions import CurvatureRows
from surefoot.regions._quadratics import row_norms
from surefoot.sets import Ball

__all__ = [
    "cast_length",
    "cast_margin",
    "caveat",
    "check_precision",
    "drift_of",
    "reach_of",
    "replayed",
    "rows_of",
]


def cast_length(dtype: Any, dimension: int, reach: float, roundings: int = 1) -> float:
    """Return c: how far a point moves by being rounded to a type, at most.

    Args:
        dtype: float32 or float64, as NumPy knows it.
        dimension: n.
        reach: M, the largest norm of a feasible point.
        roundings: k, how often the host rounds; 0 where it plays the float64 point itself.

    Example:
        >>> round(cast_length("float32", 3, 1.0) * 2**24, 2)
        1.0
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidValueError(f"dtype must be float32 or float64, got {kind}")
    info = np.finfo(kind)
    unit, tiny = 0.5 * float(info.eps), float(info.smallest_subnormal)
    return roundings * (unit * float(reach) * (1 + 2.0**-10) + math.sqrt(dimension) * tiny)


def reach_of(safe: Any) -> float:
    """Return M of a filter: the largest norm of a feasible point.

    Example:
        >>> from surefoot import Ball, SafetyFilter
        >>> reach_of(SafetyFilter(G_g=1.0, domain=Ball(2.0), rho=0.1))
        2.0
    """
    known = known_in(safe)
    own = value_in(known, "reach")
    if own is not None:
        return float(own)
    domain = value_in(known, "domain")
    if isinstance(domain, Ball):
        return float(domain.reach_from_origin)
    rows = [value_in(row, "reach") for row in rows_known(safe)]
    reaches = [float(reach) for reach in rows if reach is not None]
    if not reaches:
        raise InvalidValueError(
            f"filter must say how long a feasible action is (reach, or a Ball as domain), "
            f"got {safe!r}"
        )
    return max(reaches)


def rows_of(safe: Any) -> int:
    """Return how many constraints a filter sees apart; 1 where it sees one.

    Example:
        >>> from surefoot.regions import CurvatureRows
        >>> rows_of(CurvatureRows(beta=(1.0, 0.0), reach=1.0))
        2
    """
    return rows_in(safe) or 1


def cast_margin(safe: Any, s: Array, length: float, *, ahead: bool = False) -> Number:
    """Return m: how much g can rise while the point moves by a length; one per row if apart.

    Args:
        safe: a filter, or what it knows.
        s: the slope of the round; one per row where rows are apart.
        length: c.
        ahead: whether to allow for the slopes of all later rounds, of a convex g.

    Example:
        >>> from surefoot.regions import Curvature, LipschitzHull
        >>> cast_margin(LipschitzHull(G_g=3.0, reach=1.0), np.zeros(2), 0.5)
        1.5
        >>> cast_margin(Curvature(beta=2.0, reach=1.0), np.array([3.0, 4.0]), 0.5)
        5.0
    """
    known, rows = known_in(safe), rows_known(safe)
    if value_in(known, "G_g") is not None:
        return known.G_g * length
    if value_in(known, "beta") is not None:
        slope = norm(s) if s.ndim == 1 else row_norms(s)
        several = isinstance(known, CurvatureRows) and s.ndim > 1
        beta = known.rates(slope) if several else known.beta
        if isinstance(beta, tuple):  # the one row of several that there could have been
            (beta,) = beta
        reaches = 4 if ahead else 2
        return (slope + beta * (reaches * known.reach + length)) * length
    if rows[0] is not known:
        return np.array([cast_margin(row, s[i], length, ahead=ahead) for i, row in enumerate(rows)])
    raise InvalidValueError(
        f"filter must know a bound on the slope (G_g) or on the curvature (beta), got {safe!r}"
    )


def check_precision(safe: Any, **told: Any) -> None:
    """Refuse numbers of less than 64 bits, unless the filter says how far they are rounded.

    Args:
        safe: a filter, or what it knows.
        told: the constraint's numbers, by name.

    Example:
        >>> from surefoot.regions import LipschitzHull
        >>> coarse = LipschitzHull(G_g=1.0, reach=1.0, evaluation_error=1e-6)
        >>> check_precision(coarse, constraint_value=np.float32(-0.1))
    """
    if all(value_in(row, "evaluation_error") is None for row in rows_known(safe)):
        for name, value in told.items():
            refuse_rounded(value, name)


def larger(margin: Number, needed: Number) -> Number:
    """Return the larger of two margins, number by number."""
    if isinstance(needed, float) and isinstance(margin, float):
        return max(margin, needed)
    if type(needed) is np.ndarray:
        return np.maximum(margin, needed)
    return maximum(margin + namespace(needed).zeros_like(needed), needed)


def replayed(state: Any, played: Array, length: Number) -> Any:
    """Return a filter's state with the action that was really played, at most a length away."""
    if "distance" in state._fields:
        return state._replace(x=played, distance=state.distance + length)
    return state._replace(x=played)


def drift_of(safe: Any) -> float | None:
    """Return how much g may change per round, where a filter is told; else None."""
    drifts = [value_in(row, "drift") for row in rows_known(safe)]
    return None if None in drifts else max(float(np.max(v)) for v in drifts if v is not None)


def caveat(safe: Any, dtype: Any, margin: float) -> str:
    """Return what the host's precision costs, in words; empty where it costs nothing.

    Example:
        >>> from surefoot import Ball, SafetyFilter
        >>> caveat(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=1e-9), "float32", 6e-8)
        'float32 keeps g below -6e-08; rho = 1e-09 is below that, so steps may stay where they are'
    """
    if not margin > 0:
        return ""
    words = f"{np.dtype(dtype)} keeps g below {-margin:.2g}"
    rho = value_in(safe, "rho")
    if rho is not None and float(rho) < margin:
        words += f"; rho = {float(rho):.2g} is below that, so steps may stay where they are"
    return words

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
  :math:`U(q) - U(p) \le \|s\|c + \frac\beta2(2\|p-x\|c + c^2) \le (\|s\| + \beta(2M + c))c = m`,
  where the error of a slope, which U has a term for, counts as a part of its norm.
  Then :math:`U(q) \le 0`, which certifies q itself (:mod:`surefoot.regions.curvature`). Only the
  s of the round is used. So that rounds can be compared with each other, m should not change: for a
  convex g no slope is longer than the first one and :math:`2\beta M`, and the m of that is kept.

The next round starts from q, the point that was really played. A start with less slack than m is
refused by the filter, because the slack that it sees is not positive; where rho is below m,
:func:`caveat` says that steps may stay.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.algorithms import Certified
from surefoot.core.arrays import maximum, namespace
from surefoot.core.checks import refuse_rounded
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Number
from surefoot.regions import Errors, is_zero

__all__ = ["cast_length", "caveat", "check_precision", "larger"]


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


def check_precision(errors: Errors, **told: Any) -> None:
    """Refuse numbers of less than 64 bits, unless it is known how far they are rounded.

    Args:
        errors: what a filter allows for.
        told: the constraint's numbers, by name.

    Example:
        >>> check_precision(Errors(evaluation=1e-6), constraint_value=np.float32(-0.1))
    """
    if is_zero(errors.evaluation):
        for name, value in told.items():
            refuse_rounded(value, name)


def larger(margin: Number, needed: Number) -> Number:
    """Return the larger of two margins, number by number."""
    if isinstance(needed, float) and isinstance(margin, float):
        return max(margin, needed)
    if type(needed) is np.ndarray:
        return np.maximum(margin, needed)
    return maximum(margin + namespace(needed).zeros_like(needed), needed)


def caveat(safe: Certified, dtype: Any, margin: float) -> str:
    """Return what the host's precision costs, in words; empty where it costs nothing.

    Example:
        >>> from surefoot import Ball, SafetyFilter
        >>> caveat(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=1e-9), "float32", 6e-8)
        'float32 keeps g below -6e-08; rho = 1e-09 is below that, so steps may stay where they are'
    """
    if not margin > 0:
        return ""
    words = f"{np.dtype(dtype)} keeps g below {-margin:.2g}"
    rho = getattr(safe.knowledge, "rho", None)
    if rho is not None and float(rho) < margin:
        words += f"; rho = {float(rho):.2g} is below that, so steps may stay where they are"
    return words

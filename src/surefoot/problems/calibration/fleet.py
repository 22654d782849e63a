"""What a fleet of equal machines says of the next one."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import ArrayLike

__all__ = ["fleet_constant"]


def fleet_constant(constants: ArrayLike, delta: float) -> float:
    r"""Return a constant that the next machine of a fleet does not exceed, but with probability.

    *Let n machines and a new one be exchangeable, as if drawn from one urn, and the constants (G_g,
    or beta) of the n be known by now. Then that of the new one is at most the*
    :math:`\lceil(n+1)(1-\delta)\rceil`\ *-th smallest with probability* :math:`1-\delta`\ *, and on
    that event a certified rule with this constant is never outside: the probability of any round
    outside, ever, is at most* :math:`\delta`. *Proof.* The rank of the new one among all n + 1 is
    uniform, ties broken at random. ∎ A log of the new machine alone gives no such thing: its rounds
    are chosen, not exchangeable.

    Args:
        constants: of the n machines, :math:`n \ge 1/\delta - 1`.
        delta: :math:`\delta`.

    Example:
        >>> from surefoot import Constants
        >>> found = fleet_constant([1.0, 1.4, 0.8, 2.1, 1.1, 0.9, 1.3, 1.6, 1.2], delta=0.1)
        >>> print(Constants(R=1.0).with_origin("conformal", G_g=found))
        R = 1 (given), G_g = 2.1 (conformal)
    """
    known = checks.to_vector(constants, "constants")
    if not 0 < delta < 1:
        raise InvalidValueError(f"delta must be strictly between 0 and 1, got {delta!r}")
    if not (known >= 0).all():
        raise InvalidValueError(f"constants must be at least 0, got {float(known.min()):g}")
    rank = math.ceil((len(known) + 1) * (1 - delta))
    if rank > len(known):
        raise InvalidValueError(
            f"constants must be those of at least {math.ceil(1 / delta - 1)} machines for delta = "
            f"{delta:g}, got {len(known)}"
        )
    return float(np.sort(known)[rank - 1])

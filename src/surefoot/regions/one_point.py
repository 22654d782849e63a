"""A region of one point, for an action that no other region decided: it stays, or goes back."""

from __future__ import annotations

import math
from typing import NamedTuple

from surefoot.core.arrays import norm
from surefoot.core.types import Array
from surefoot.regions.errors import Errors, describe_errors
from surefoot.regions.region import Region

__all__ = ["OnePoint", "PointCertificate"]


class PointCertificate(NamedTuple):
    """Why the one action that is left is feasible.

    Attributes:
        round: the round that was played.
        reason: in words.
        bound: the next g is at most this.
        cut: whether something else was wanted.
        errors: what the bound allows for.
    """

    round: int
    reason: str
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.reason}{describe_errors(self.errors)}; "
            f"the next g is at most {self.bound:.3g}"
        )


class OnePoint(Region):
    """One point, for a reason of its own.

    Args:
        t: the round that was played.
        x: the point.
        bound: g there is at most this in the next round.
        errors: what the bound allows for.
        reason: in words.
    """

    radius = depth = longest = noise = 0.0
    steepness = math.inf

    def __init__(self, t: float, x: Array, bound: float, errors: Errors, reason: str) -> None:
        self.round, self.x, self.upper, self.errors, self.reason = t, x, bound, errors, reason
        self.reach = norm(x)

    def nearest(self, w: Array) -> Array:
        """Return the point."""
        return self.x

    def contains(self, w: Array) -> bool:
        """Return whether a point is this one."""
        return bool((w == self.x).all())

    def certificate(self, x: Array, cut: bool = False) -> PointCertificate:
        """Return why the point is feasible."""
        return PointCertificate(int(self.round), self.reason, self.upper, cut, self.errors)

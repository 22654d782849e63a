"""The check that every algorithm applies to its first action."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_concrete, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import dimension_of
from surefoot.core.types import Array, Region

__all__ = ["check_domain", "not_a_ball", "start_in"]


def check_domain(domain: Any) -> None:
    """Raise unless the domain can be projected onto."""
    if not isinstance(domain, Region) or isinstance(domain, type):
        raise InvalidValueError(f"domain must be a set with a projection, got {_instead(domain)}")


def _instead(domain: Any) -> str:
    """Return what was given for a set, and the set that is meant where that can be said."""
    if isinstance(domain, (int, float)):
        return f"{domain!r}: Ball({domain!r}) is the ball of that radius"
    if hasattr(domain, "query") and hasattr(domain, "region"):
        return f"the constraint {checks.repr_line(domain)}: its region is the set"
    return repr(domain)


def not_a_ball(domain: Any) -> str:
    """Return what was given for a ball, and the ball that holds it where there is one."""
    return f"{domain!r}{': its bounding_ball() is one' * hasattr(domain, 'bounding_ball')}"


def start_in(domain: Region, x1: Array) -> Array:
    """Return a read-only float64 copy of x1; raise if it is outside the domain."""
    x1 = checks.to_action(x1)
    # A set of yours need not know its dimension; then its own operations are left to object.
    d = dimension_of(domain)
    if d is not None and x1.shape[-1] != d:
        raise InvalidValueError(f"x1.shape must end in {d}, as the domain's, got {tuple(x1.shape)}")
    if is_concrete(x1):
        inside = np.atleast_1d(to_numpy(domain.contains(x1)))
        if not inside.all():
            outside = to_numpy(x1).reshape(len(inside), -1)[~inside.ravel()][0]
            raise InvalidValueError(f"x1 must be in the domain {domain!r}, got {outside!r}")
    return x1

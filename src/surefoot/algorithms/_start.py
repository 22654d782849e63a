"""The check that every algorithm makes of its first action."""

from __future__ import annotations

import numpy as np

from surefoot import _check
from surefoot._array import is_concrete, to_numpy
from surefoot.types import Array, Region

__all__ = ["start_in"]


def start_in(domain: Region, x1: Array) -> Array:
    """x1 as a float64 action, refused outside the domain."""
    x1 = _check.action(x1)
    if is_concrete(x1):
        try:
            inside = to_numpy(domain.contains(x1))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"x1.shape must fit the domain {domain!r}, got {tuple(x1.shape)}"
            ) from error
        if not np.all(inside):
            raise ValueError(f"x1 must be in the domain {domain!r}, got {x1!r}")
    return x1

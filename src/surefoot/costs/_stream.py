"""What the streams held as arrays share: time first, then runs, then the entries of an action."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.types import Array

__all__ = ["check_stream", "pick_run", "runs_of"]


def check_stream(values: Any, name: str) -> Array:
    """The parameters of all rounds as a read-only float64 array ``(T, d)`` or ``(T, B, d)``."""
    if type(values) in (list, tuple):
        values = np.asarray(values, dtype=np.float64)
    if type(values) is not np.ndarray or not values.flags.writeable:
        return values  # another backend's array, or one that has been through here
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            f"{name}.shape must be (T, d) or (T, B, d) with no empty axis, got {values.shape}"
        )
    if not np.isfinite(values).all():
        t = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ValueError(f"{name} must be finite, got {values[t]!r} in round {t + 1}")
    # A view, not a copy: streams are large. It is read-only, so that slicing can skip the checks.
    values = np.asarray(values, dtype=np.float64).view()
    values.setflags(write=False)
    return values


def runs_of(values: Array) -> int | None:
    """The length of the run axis, if there is one."""
    return int(values.shape[1]) if values.ndim == 3 else None


def pick_run(values: Array, index: Any) -> Array:
    """The parameters of one run or of some; of the shared stream, itself."""
    if values.ndim == 2:
        return values
    picked = values[:, index]
    picked.setflags(write=False)  # an array of indices makes a copy, which starts out writeable
    return picked

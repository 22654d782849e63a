"""The data files of the cases, which are inside the package."""

from __future__ import annotations

import io
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

__all__ = ["load"]


@cache
def load(name: str) -> dict[str, Any]:
    """Return the arrays of a file, read once.

    Args:
        name: of the file, without its ending.
    """
    file = resources.files("surefoot.problems.cases") / "data" / f"{name}.npz"
    with np.load(io.BytesIO(file.read_bytes())) as found:
        arrays = {key: found[key] for key in found.files}
    for array in arrays.values():
        array.setflags(write=False)
    return arrays

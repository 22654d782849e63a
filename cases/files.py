"""The data files of the cases."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def load(name: str) -> dict[str, Any]:
    """Return the arrays of a file in ``data``, read once.

    Args:
        name: of the file, without its ending.
    """
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    for array in arrays.values():
        array.setflags(write=False)
    return arrays

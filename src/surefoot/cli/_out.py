"""Check that the output folder is writable before starting a run."""

from __future__ import annotations

import os
from pathlib import Path

from surefoot.cli._exit import UsageError

__all__ = ["usable"]


def usable(folder: Path) -> Path:
    """Return the folder if results can be written there; it need not exist yet."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder: give another one with --out")
    ground = folder
    while not os.path.lexists(ground):
        ground = ground.parent
    if not ground.is_dir():
        raise UsageError(
            f"'{folder}' cannot be created: '{ground}' is not a folder; give another one with --out"
        )
    if not os.access(ground, os.W_OK | os.X_OK):
        raise UsageError(
            f"'{ground}' cannot be written to: give another folder with --out, or get permission"
        )
    return folder

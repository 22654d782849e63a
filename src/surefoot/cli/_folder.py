"""Where results go: said to be impossible before anything is played."""

from __future__ import annotations

import os
from pathlib import Path

from surefoot.cli._ending import UsageError

__all__ = ["usable"]


def usable(folder: Path) -> Path:
    """The folder, if results can be written there; it need not exist yet."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder: give another one with --out")
    ground = folder
    while not os.path.lexists(ground):
        ground = ground.parent
    if not ground.is_dir():
        raise UsageError(
            f"'{folder}' cannot be made: '{ground}' is not a folder; give another one with --out"
        )
    if not os.access(ground, os.W_OK | os.X_OK):
        raise UsageError(
            f"'{ground}' cannot be written to: give another folder with --out, or get permission"
        )
    return folder

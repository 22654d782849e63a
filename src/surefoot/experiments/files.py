"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft to write to, which gets the path's name when all of it is on the disk.

    Whatever happens in the block, the path has the whole new file or what was there before.
    """
    path = Path(os.fspath(path))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()

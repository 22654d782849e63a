"""The certified step in C: one text for the live loop, whole games and the export.

The text is C99 in ``c/``; ``surefoot.h`` says its interface. Where a compiler was at hand when the
library was installed it is the extension ``_step``; else the Python text plays, which says what a
step is and is what the C is tested against. What the kernel does not have, Python plays, too::

    >>> import surefoot.kernel
    >>> surefoot.kernel.name() in ("kernel", "python")
    True
    >>> with surefoot.kernel.engine("python"):
    ...     surefoot.kernel.name()
    'python'

Actions of the two differ in the last digits. ``player.engine`` says which one plays a player.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

from surefoot.core import checks

__all__ = ["Engine", "compiled", "engine", "engines", "load", "name", "sentence"]

Engine = Literal["kernel", "python"]


def load(extension: str) -> ModuleType | None:
    """Return a compiled module; None where it was not built, or from another C text.

    Args:
        extension: its name, "_step" or "_games".
    """
    try:
        module = import_module(f"surefoot.kernel.{extension}")
    except ImportError:
        return None
    text = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.[ch]")))
    if vars(module).get("TEXT") == sha256(text).hexdigest():
        return module
    stale = "the compiled kernel is of another version, so Python plays: install surefoot again"
    warnings.warn(stale, RuntimeWarning, stacklevel=2)
    return None


_step = load("_step")
_chosen: Engine = "python" if _step is None else "kernel"


def compiled() -> ModuleType | None:
    """Return the compiled step; None where it was not built, or Python is to play."""
    return _step if _chosen == "kernel" else None


def engines() -> tuple[Engine, ...]:
    """Return the engines that are here."""
    return ("python",) if _step is None else ("kernel", "python")


def name() -> Engine:
    """Return which engine plays what both have."""
    return _chosen


def sentence() -> str:
    """Return what a user is told of the engine."""
    if _step is None:
        return "steps are played by Python: the kernel was not built, for want of a C compiler"
    return f"steps are played by {'the compiled kernel' if _chosen == 'kernel' else 'Python'}"


@contextmanager
def engine(wanted: Engine) -> Iterator[None]:
    """Let one engine play while the context lasts, in all threads.

    Args:
        wanted: "kernel" or "python"; the kernel must have been built.
    """
    global _chosen
    checks.one_of(engines(), engine=wanted)
    before, _chosen = _chosen, wanted
    try:
        yield
    finally:
        _chosen = before

"""The certified step in C: one text for the live loop, whole games and the export.

The text is C99 in ``c/``; ``surefoot.h`` is its interface. If the installation found a compiler,
the text is the extension ``_step``. If not, the Python text plays. It defines a step, and tests
compare the C with it. Python also plays what the kernel does not support::

    >>> import surefoot.kernel
    >>> surefoot.kernel.name() in ("kernel", "python")
    True
    >>> with surefoot.kernel.engine("python"):
    ...     surefoot.kernel.name()
    'python'

Actions of the two differ in the last digits. ``player.engine`` is the one that plays a player.
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
    """Return a compiled module; None if it was not built, or was built from another C text.

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
    """Return the compiled step; None if it was not built, or Python is to play."""
    return _step if _chosen == "kernel" else None


def engines() -> tuple[Engine, ...]:
    """Return the available engines."""
    return ("python",) if _step is None else ("kernel", "python")


def name() -> Engine:
    """Return the engine that plays what both support."""
    return _chosen


def sentence() -> str:
    """Return a sentence on the engine, for users."""
    if _step is None:
        return "steps are played by Python: the kernel was not built, for want of a C compiler"
    return f"steps are played by {'the compiled kernel' if _chosen == 'kernel' else 'Python'}"


@contextmanager
def engine(choice: Engine) -> Iterator[None]:
    """Let one engine play while the context lasts, in all threads.

    Args:
        choice: "kernel" or "python"; the kernel must have been built.
    """
    global _chosen
    checks.one_of(engines(), engine=choice)
    before, _chosen = _chosen, choice
    try:
        yield
    finally:
        _chosen = before

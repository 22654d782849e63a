"""The code that the numbers of a cell come from, as a hash: what is computed, not what is said.

Comments, docstrings, blank lines and layout are not in it, so an edit of the words leaves the
address of every cell as it is, and what has been played is not played again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["files_hash", "sources_hash"]

_PACKAGE = Path(__file__).parents[1]

_NOT_NUMERIC = {
    *("calibration", "cli", "controller", "experiments", "paper", "reports", "results"),
    *("testing", "_closing", "_extras", "_sqlite"),
}
_NUMERIC_HERE = ("measures", "play_cell", "players", "problems", "seeds", "shared")


@cache
def sources_hash() -> str:
    """Return a hash of what the numeric sources compute.

    Those are the modules that experiments rest on, with the modules of this package that make and
    play a cell; a change of anything else leaves the hash as it is.
    """
    digest = hashlib.sha256()
    for path in _numeric():
        code = "".join(_computed(ast.parse(path.read_bytes())))
        digest.update(f"{_name(path)} {len(code)}\n{code}".encode())
    return digest.hexdigest()


@cache
def files_hash() -> str:
    """Return a hash of the numeric sources as they are written: quick, and never too lenient."""
    digest = hashlib.sha256()
    for path in _numeric():
        # A checkout with other line endings is the same sources.
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{_name(path)} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


def _numeric() -> list[Path]:
    found = [path for path in _PACKAGE.rglob("*.py") if _top(path) not in _NOT_NUMERIC]
    found += [_PACKAGE / "experiments" / f"{name}.py" for name in _NUMERIC_HERE]
    return sorted(path for path in found if path.is_file())


def _name(path: Path) -> str:
    return path.relative_to(_PACKAGE).as_posix()


def _top(path: Path) -> str:
    return path.relative_to(_PACKAGE).parts[0].removesuffix(".py")


def _computed(node: Any) -> Iterator[str]:
    """Yield a syntax tree as text, without the strings that stand alone.

    Fields that are empty are left out: a later Python that adds some gives the same text.
    """
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and not isinstance(value, ast.expr_context):
                yield f"{name}="
                yield from _computed(value)
        yield ")"
    elif isinstance(node, list):
        for item in node:
            if not _is_said(item):
                yield from _computed(item)
        yield ","
    else:
        yield repr(node)


def _is_said(node: Any) -> bool:
    """Return whether a statement is a docstring, of whatever it follows."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )

"""Hash the code that the numbers of a cell come from, without docstrings and comments.

Comments, docstrings and blank lines do not enter the hash, so editing them does not change the
address of a cell, and no cell is played again.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["code_hash", "sources_hash"]

_PACKAGE = Path(__file__).parents[1]

_NOT_NUMERIC = {
    *("adapters", "calibration", "cli", "comparison", "controller", "experiments", "paper"),
    *("reports", "results", "testing", "_closing", "_display", "_extras"),
}
_NUMERIC_HERE = ("measures", "play_cell", "players", "problems", "seeds", "shared")

_SAID = re.compile(
    rb"""
      \n[ \t]*                                       # a line that is blank,
          (?:[rR]?\"{3}(?:[^\\"]|\\.|"(?!""))*\"{3}[ \t]*)?  # or has a docstring alone,
          (?:\#[^\n]*)?(?=\n)                         # or a comment alone
    | [ \t]+\#[^\n]*                                 # a comment behind code
    | (?P<string>                                   # what looks like these in a string is not
          \"{3}(?:[^\\"]|\\.|"(?!""))*\"{3}
        | \'{3}(?:[^\\']|\\.|'(?!''))*\'{3}
        | "(?:[^"\\\n]|\\.)*"
        | '(?:[^'\\\n]|\\.)*'
      )
    """,
    re.VERBOSE | re.DOTALL,
)


@cache
def sources_hash() -> str:
    """Return a hash of what the numeric sources compute.

    Those are the modules that experiments rest on, with the modules of this package that make and
    play a cell; a change of anything else leaves the hash as it is.
    """
    digest = hashlib.sha256()
    for path in _numeric():
        code = computed(path.read_bytes())
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {len(code)}\n".encode())
        digest.update(code)
    return digest.hexdigest()


def computed(source: bytes) -> bytes:
    r"""Return a module's code without comments, docstrings and blank lines.

    Much faster than a parser, for the code that this package consists of: docstrings have three
    double quotes and lines of their own, and such a string stands nowhere else.

    Example:
        >>> computed(b'"One."\nx = "#"  # two\n\n# three\ny = 4\n')
        b'\n"One."\nx = "#"\ny = 4\n'
    """
    # A checkout with other line endings is the same sources.
    text = b"\n" + source.replace(b"\r\n", b"\n") + b"\n"
    return _SAID.sub(lambda found: found["string"] or b"", text)


def _numeric() -> list[Path]:
    found = [path for path in _PACKAGE.rglob("*.py") if _top(path) not in _NOT_NUMERIC]
    found += [_PACKAGE / "experiments" / f"{name}.py" for name in _NUMERIC_HERE]
    return sorted(path for path in found if path.is_file())


def _top(path: Path) -> str:
    return path.relative_to(_PACKAGE).parts[0].removesuffix(".py")


# --- the code of others ---------------------------------------------------------------------------


def code_hash(name: str, file: Path) -> str:
    """Return a hash of what a module computes, with the modules beside it that it imports.

    Comments, docstrings and layout do not enter. Of an installed package the whole package does,
    and none of its neighbours.

    Args:
        name: dotted name of the module.
        file: where it is.
    """
    depth = name.count(".") + (file.name == "__init__.py")
    root = file.resolve().parents[depth]
    top = name.split(".")[0]
    installed = {"site-packages", "dist-packages"} & set(root.parts)
    files = {file.resolve()}
    if (package := root / top).is_dir():
        files.update(package.rglob("*.py"))
    waiting = [] if installed else sorted(files)
    while waiting:
        for found in _imported_files(waiting.pop(), root):
            if found not in files:
                files.add(found)
                waiting.append(found)
    digest = hashlib.sha256()
    for path in sorted(files):
        code = _without_words(path)
        digest.update(f"{path.relative_to(root).as_posix()} {len(code)}\n".encode())
        digest.update(code)
    return digest.hexdigest()


def _imported_files(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a folder that a module's import statements, wherever, may mean."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = list(file.relative_to(root).parent.parts) if node.level else []
            home = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*home, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        for name in filter(None, names):
            place = root.joinpath(*name.split("."))
            yield from (
                found
                for found in (place.with_suffix(".py"), place / "__init__.py")
                if found.is_file()
            )


def _without_words(file: Path) -> bytes:
    """Return a module's code in one layout, without comments and docstrings."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body[:1] = [ast.Pass()]
    return ast.unparse(tree).encode()

"""Hash the code that the numbers of a cell come from, without docstrings and comments.

Comments, docstrings and blank lines do not enter the hash, so editing them does not change the
address of a cell, and no cell is played again.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

__all__ = ["sources_hash"]

_PACKAGE = Path(__file__).parents[1]

_NOT_NUMERIC = {
    *("calibration", "cli", "controller", "experiments", "paper", "reports", "results"),
    *("testing", "_closing", "_extras", "_sqlite"),
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

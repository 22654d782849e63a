"""Mistakes of a specification in plain words, each with the path of its key."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from surefoot.core.errors import SurefootError

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and places in lists that lead to a value."""

MOST = 100
"""Report at most this many; a file with more mistakes is probably the wrong file."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Mistake(NamedTuple):
    """One mistake in a specification.

    Attributes:
        path: the keys that lead to it; may be empty.
        message: what is wrong, without the path.
        line: where it is in the file; None where no line is to blame.
    """

    path: KeyPath
    message: str
    line: int | None = None


class SpecError(SurefootError, ValueError):
    """A specification that cannot be used; lists everything that is wrong, one per line.

    Attributes:
        name: of the file.
        mistakes: in the order of the file.
    """

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.name = name
        self.mistakes = sorted(mistakes, key=lambda m: m.line or 0)
        lines = [self._sentence(m) for m in self.mistakes[:MOST]]
        if len(mistakes) > MOST:
            lines.append(f"{name}: and {len(mistakes) - MOST} more of the like")
        super().__init__("\n".join(lines))

    def _sentence(self, mistake: Mistake) -> str:
        where = self.name if mistake.line is None else f"{self.name}:{mistake.line}"
        return ": ".join(part for part in (where, written(mistake.path), mistake.message) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecError, (self.name, self.mistakes)


def written(path: KeyPath) -> str:
    """Return a path as one writes it.

    Example:
        >>> written(("algorithms", 0, "tuning"))
        'algorithms[0].tuning'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{key_text(step)}" for step in path)
    return text.removeprefix(".")


def key_text(key: str) -> str:
    """Return a key as TOML writes it, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else json.dumps(key)


def nearest(word: object, words: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the nearest one, or all there are."""
    words = list(words)
    # Capitals are easily got wrong, and difflib takes them for other letters.
    folded = {w.casefold(): w for w in reversed(words)}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; known: {', '.join(words)}" if words else ""


def unknown(what: str, word: str, words: Iterable[str], hint: str = "") -> str:
    """Return a sentence about a word that is not known, with the nearest that is.

    Args:
        what: the kind of word.
        word: the one that is not known.
        words: those that are.
        hint: what else may help.
    """
    shown = repr(word) if len(word) <= 60 else f"{word[:57]!r}..."
    return f"unknown {what} {shown}{nearest(word, words)}" + (f" ({hint})" if hint else "")

"""The errors that the library raises on purpose: one root, one sentence each."""

import difflib
import sys
import warnings
from collections.abc import Iterable


class SurefootError(Exception):
    """The root of every error that the library raises on purpose.

    Example:
        >>> from surefoot import Ball
        >>> try:
        ...     Ball(-1.0)
        ... except SurefootError as error:
        ...     print(error)
        radius must be a finite number > 0, got -1.0
    """


class _OneLineError(SurefootError):
    """An error whose sentence stays on one line even if it quotes an array."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines()))


class InvalidValueError(_OneLineError, ValueError):
    """An argument with an invalid value; the sentence gives name, rule and value."""


class InvalidTypeError(_OneLineError, TypeError):
    """An argument of an invalid type; the sentence gives name, rule and type."""


class StoreError(SurefootError, RuntimeError):
    """A file that cannot be created, opened, read or written; the message says why."""


class DamagedError(StoreError):
    """A file, or a part of one, that does not contain what was written."""


class InUseError(StoreError):
    """A file or a socket that another process uses."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error's text; its class if the text is empty.

    >>> first_line(ValueError("one\ntwo")), first_line(KeyError())
    ('one', 'KeyError')
    """
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def suggest(word: object, words: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the nearest word, or all words.

    >>> suggest("gg", ["G_g", "G_f"]), suggest("size", ["G_g", "G_f"])
    ("; did you mean 'G_g'?", '; known: G_g, G_f')
    """
    words = list(words)
    close = nearest_word(word, words)
    if close is not None:
        return f"; did you mean {close!r}?"
    return f"; known: {', '.join(words)}" if words else ""


def nearest_word(word: object, words: Iterable[str]) -> str | None:
    """Return the word that somebody may have meant; None if no word is near.

    >>> nearest_word("stepness", ["steepness", "curvature"]), nearest_word("x", ["steepness"])
    ('steepness', None)
    """
    # Capitals are easily mistaken, and difflib takes them for other letters.
    by_casefold = {w.casefold(): w for w in reversed(list(words))}
    close = difflib.get_close_matches(str(word).casefold(), by_casefold, n=1, cutoff=0.6)
    return by_casefold[close[0]] if close else None


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the innermost caller that is not in this package."""
    package = __name__.split(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

"""The family of errors that the library raises on purpose: one root, one sentence each."""

from __future__ import annotations

__all__ = ["InvalidTypeError", "InvalidValueError", "SurefootError"]


class SurefootError(Exception):
    """Signal that a call cannot be carried out; the root of every error of the library.

    Example:
        >>> from surefoot import Ball
        >>> try:
        ...     Ball(-1.0)
        ... except SurefootError as error:
        ...     print(error)
        radius must be a finite number > 0, got -1.0
    """


class _OneLineError(SurefootError):
    """Keep a sentence on one line where it quotes an array, whose text has several."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines()))


class InvalidValueError(_OneLineError, ValueError):
    """Refuse an argument for its value; the sentence names it, the rule and the value."""


class InvalidTypeError(_OneLineError, TypeError):
    """Refuse an argument for its type; the sentence names it, the rule and the type."""

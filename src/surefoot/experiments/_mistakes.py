"""Report mistakes of a specification in plain words, each with the path of its key."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

from surefoot.core.optional import need

need("pydantic", "cli", "an experiment")
from pydantic import ValidationError  # noqa: E402  once it is known to be there
from pydantic_core import InitErrorDetails, PydanticCustomError  # noqa: E402  likewise

__all__ = ["KeyPath", "Mistake", "mistakes_in", "nearest", "refuse", "shown", "unknown", "written"]

KeyPath = tuple[str | int, ...]
"""Keys and places in lists that lead to a value."""

MOST = 100
"""Report at most this many; a file with more mistakes is probably the wrong file."""


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


def refuse(*mistakes: Mistake) -> NoReturn:
    """Raise mistakes as pydantic's own error, so that pydantic puts them in their place."""
    raise ValidationError.from_exception_data(
        "specification",
        [
            InitErrorDetails(
                type=PydanticCustomError("mistake", "{message}", {"message": m.message}),
                loc=m.path,
                input=None,
            )
            for m in mistakes
        ],
    )


def written(path: KeyPath) -> str:
    """Return a path as one writes it.

    Example:
        >>> written(("algorithms", 0, "tuning"))
        'algorithms[0].tuning'
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + key_text(step)
    return text


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_text(key: str) -> str:
    """Return a key as TOML writes it, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else json.dumps(key)


def nearest(word: Any, words: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the nearest one, or all there are."""
    words = list(words)
    # Capitals are easily got wrong, and difflib takes them for other letters.
    folded = {w.casefold(): w for w in reversed(words)}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; known: {', '.join(words)}" if words else ""


YOUR_OWN = "for your own give --plugin MODULE"
"""How a problem or an algorithm that the library does not have can be named."""


def unknown(what: str, word: Any, words: Iterable[str], hint: str = "") -> str:
    """Return a sentence about a word that is not known, with the nearest that is.

    Args:
        what: the kind of word.
        word: the one that is not known.
        words: those that are.
        hint: what else may help.
    """
    return f"unknown {what} {shown(word)}{nearest(word, words)}" + (f" ({hint})" if hint else "")


def shown(value: Any) -> str:
    """Return a value as a sentence shows it: itself if it is short."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        try:
            text = repr(value)
        except ValueError:  # an integer with more digits than Python cares to write
            return "a number with thousands of digits"
        return text if len(text) <= 60 else text[:57] + "..."
    # What TOML has besides are dates and times.
    return f"the {type(value).__name__} {value}"


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text in quotes",
    "list": "a list",
    "tuple": "a list",
    "dict": "a table",
    "model": "a table",
    "literal": "one of",
}


def mistakes_in(error: ValidationError, data: Any, tags: Iterable[str], keys: Any) -> list[Mistake]:
    """Return pydantic's errors in plain words.

    Args:
        error: what it raised.
        data: what it was given, plain.
        tags: words that it puts into paths and that are no keys.
        keys: from a path to the keys that its table may have.
    """
    tags = set(tags)
    mistakes = [
        Mistake(path, _sentence(e, path, keys))
        for e in error.errors(include_url=False)[:MOST]
        for path in [_path(e["loc"], data, tags)]
    ]
    more = error.error_count() - MOST
    return mistakes if more <= 0 else [*mistakes, Mistake((), f"and {more} more of the like")]


def _path(loc: KeyPath, data: Any, tags: set[str]) -> KeyPath:
    """Return a location without the tags of unions, which are not in the file."""
    path: list[str | int] = []
    for step in loc:
        inside = (isinstance(data, dict) and step in data) or (
            isinstance(data, (list, tuple)) and isinstance(step, int) and step < len(data)
        )
        if inside:
            data = data[step]
        elif step in tags:
            continue
        else:
            data = None
        path.append(step)
    return tuple(path)


def _sentence(e: Any, path: KeyPath, keys: Any) -> str:
    kind, context, got = e["type"], e.get("ctx", {}), e["input"]
    if kind == "mistake":
        return str(e["msg"])
    if kind == "extra_forbidden":
        return f"unknown key{nearest(path[-1], keys(path[:-1]))}"
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        words = str(context["expected"])
        choices = [w.strip("' ") for w in words.replace(" or ", ",").split(",")]
        close = nearest(got, choices) if isinstance(got, str) else ""
        return f"must be {words}, got {shown(got)}" + (close if "mean" in close else "")
    limits = {
        "greater_than": ("more than", "gt"),
        "greater_than_equal": ("at least", "ge"),
        "less_than": ("less than", "lt"),
        "less_than_equal": ("at most", "le"),
    }
    if kind in limits:
        words, key = limits[kind]
        return f"must be {words} {context[key]}, got {shown(got)}"
    if kind in ("too_long", "too_short"):
        few = kind == "too_short"
        limit = context["min_length"] if few else context["max_length"]
        return (
            f"must have {'at least' if few else 'at most'} {limit}, got {context['actual_length']}"
        )
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters, got {shown(got)}"
    if kind == "string_pattern_mismatch":
        return f"must be letters, digits, - and _, at most 64, got {shown(got)}"
    wanted = _TYPES.get(kind.split("_")[0])
    if wanted is not None:
        return f"must be {wanted}, got {shown(got)}"
    return f"{e['msg']}, got {shown(got)}"

"""The lines of the protocol: one request in JSON in, one answer in JSON out.

:data:`PROTOCOL` is the version of requests and answers; docs/serve.md has the schema. The answer to
a request that cannot be served is one sentence, and nothing changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from surefoot.core.errors import StoreError, SurefootError
from surefoot.core.plain import PlainTable
from surefoot.guarantees import PremiseError

__all__ = [
    "LONGEST",
    "PROTOCOL",
    "Answer",
    "BusyError",
    "Lines",
    "RequestError",
    "TokenError",
    "check_keys",
    "encode",
    "parse",
    "refuse",
    "reject",
    "sentence_of",
    "show",
]

PROTOCOL = 2
"""The version of the protocol; it changes when a program for the old one would go wrong."""

LONGEST = 1_000_000
"""Bytes of a request, its end of line not counted."""

_WORDS = 1_000  # characters of a sentence and of an id: an answer is one short line

Answer: TypeAlias = PlainTable


class RequestError(SurefootError, ValueError):
    """A line that is no request of the protocol."""


class BusyError(SurefootError, RuntimeError):
    """A request that another client's keeps from being served."""


class TokenError(SurefootError, PermissionError):
    """A client that has not shown the token."""


_KINDS: dict[str, type[Exception] | tuple[type[Exception], ...]] = {
    "busy": BusyError,
    "token": TokenError,
    "request": RequestError,
    "contradiction": PremiseError,
    "journal": StoreError,
    "invalid": (SurefootError, ValueError),
}
"""The kind of a rejection, by its exception; any other exception is a bug."""


# --- what comes in -------------------------------------------------------------------------------


class Lines:
    """Bytes of a stream, cut into lines; of a line that is too long only its size is kept.

    Args:
        longest: the bytes of a line, its end not counted.

    Example:
        >>> lines = Lines(4)
        >>> list(lines.take(b"ab")), list(lines.take(b"c" + b"NLlonger"[:2] + b"d"))
        ([], [])
        >>> lines = Lines(4)
        >>> list(lines.take(b"ask" + bytes([10]) + b"longer" + bytes([10]) + b"te"))
        [b'ask', 6]
        >>> list(lines.end())
        [b'te']
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._size = 0  # of the line that begins the rest, of which only the beginning is kept

    def take(self, data: bytes) -> Iterator[bytes | int]:
        """Yield the lines that end in further bytes, each as bytes, or as its size if too long."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            yield from self.end()
            start = end + 1
        self._keep(data[start:])

    def end(self) -> Iterator[bytes | int]:
        """Yield the line that has begun, if any bytes of it came."""
        size, line = self._size, bytes(self._rest)
        self._size = 0
        self._rest.clear()
        yield line if size <= self._longest else size

    @property
    def is_empty(self) -> bool:
        """Whether no line has begun."""
        return not self._size

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._longest:
            self._rest += data
        else:
            self._rest.clear()


def parse(line: bytes, longest: int) -> PlainTable:
    """Return the request in a line of strict JSON in UTF-8."""
    if len(line.rstrip(b"\r\n")) > longest:
        refuse(f"a line must have at most {longest} bytes, got {len(line)}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        refuse("a line must be text in UTF-8, got other bytes")
    if not text.strip():
        refuse("a line must be one JSON object, got an empty line")
    try:
        request = json.loads(text, parse_constant=_not_finite, object_pairs_hook=_object)
    except RequestError:
        raise
    except json.JSONDecodeError as error:
        refuse(f"a line must be one JSON object, got no JSON at character {error.pos + 1}")
    except RecursionError:
        refuse("a line must be one flat JSON object, got one that is nested too deeply")
    except ValueError:  # an integer of thousands of digits
        refuse("a number must have at most 4300 digits, got more")
    if not isinstance(request, dict):
        refuse(f"a line must be one JSON object, got {show(request)}")
    return request


def check_keys(request: PlainTable, commands: Mapping[str, PlainTable]) -> tuple[str, PlainTable]:
    """Return the command of a request and its fields, with the defaults of those it leaves out.

    Args:
        request: without an id.
        commands: what each command takes, with the defaults.
    """
    fields = dict(request)
    name = fields.pop("do", None)
    if not isinstance(name, str) or name not in commands:
        refuse(f"do must be one of {', '.join(commands)}, got {show(name)}")
    keys = commands[name]
    if strangers := sorted(set(fields) - set(keys)):
        words = ", ".join(sorted(keys)) or "nothing but id"
        refuse(f"{name} takes {words}, got {show(strangers[0])}")
    return name, keys | fields


def take_id(request: PlainTable) -> Answer:
    """Remove the id from a request, and return it as the head of an answer."""
    if "id" not in request:
        return {}
    value = request.pop("id")
    if isinstance(value, bool) or not isinstance(value, int | str):
        refuse(f"id must be a text or a whole number, got {show(value)}")
    if len(value) > _WORDS if isinstance(value, str) else abs(value) >= 1 << 63:
        refuse(f"id must have at most {_WORDS} characters or 63 bits, got more")
    return {"id": value}


def refuse(sentence: str) -> NoReturn:
    """Raise what a line that is no request deserves."""
    raise RequestError(sentence)


def _not_finite(word: str) -> NoReturn:
    refuse(f"a number must be finite, got {word}")


def _object(pairs: list[tuple[str, Any]]) -> PlainTable:
    table: PlainTable = {}
    for name, value in pairs:
        if name in table:
            refuse(f"a name must be given once, got {show(name)} twice")
        table[name] = value
    return table


# --- what goes out -------------------------------------------------------------------------------


def encode(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as a line, with its end."""
    return json.dumps(answer, allow_nan=False).encode("ascii") + b"\n"


def reject(head: Answer, error: Exception, t: int) -> Answer:
    """Return the answer to a request that cannot be served.

    Args:
        head: the id of the request, if it has one.
        error: why.
        t: the current round.
    """
    kind = next((kind for kind, those in _KINDS.items() if isinstance(error, those)), "")
    bug = f"unexpected {type(error).__name__}: {error} (this is a bug)"
    words = sentence_of(error if kind else bug)
    return {"ok": False, **head, "kind": kind or "internal", "error": words, "round": t}


def too_long(size: int, longest: int) -> RequestError:
    """Return the error of a line that is too long."""
    return RequestError(f"a line must have at most {longest} bytes, got {size}")


def sentence_of(error: object) -> str:
    """Return the words of an error on one short line."""
    words = " ".join(str(error).split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 4]} ..."


def show(value: Any) -> str:
    """Return a value in few characters."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return "a whole number of more than 20 digits"
    words = json.dumps(value)
    return words if len(words) <= 60 else f"{words[:56]} ..."

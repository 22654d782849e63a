"""TOML beyond the standard library: the lines of keys, which it does not give, and values as text.

:func:`parse_toml` reads what anybody may have written, :func:`find_lines` says where its keys are,
so that a mistake has its line, and :func:`toml_text` writes a value.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.core.errors import SurefootError

__all__ = [
    "KeyPath",
    "TomlError",
    "find_lines",
    "key_text",
    "line_of",
    "parse_toml",
    "path_text",
    "read_toml_text",
    "toml_text",
]

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and places in lists that lead to a value."""

MOST_BYTES = 1_000_000
"""No file is larger."""
MOST_PARTS = 32
"""No key has more parts, with dots between them: the time of a parser grows with their square."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_KEYS = re.compile(rf"{_KEY}(?:[ \t]*+\.[ \t]*+{_KEY})*+")
_LONG = re.compile(rf"(?<![\w\"'-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{MOST_PARTS},}}+")
_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_VALUE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*+"|'
    r"'[^'\n]*+'|"
    r"[^,\]}#\n]++",
    re.DOTALL,
)
_DIGITS = re.compile(r"\d(?:_?\d){4300}")  # more than Python reads as one number
_TUPLE = re.compile(r"\('([^()]*)',?\)")  # how the parser writes the keys of a table
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class TomlError(SurefootError, ValueError):
    """A text that is not TOML.

    Attributes:
        line: where; None if it is the whole.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(sentence)

    def __reduce__(self) -> tuple[object, ...]:
        return TomlError, (str(self), self.line)


# --- reading --------------------------------------------------------------------------------------


def read_toml_text(path: str | Path) -> str:
    """Return the text of a file that may be anything.

    Raises:
        TomlError: it is no file, cannot be read, is too large, or is not UTF-8.
    """
    try:
        path = Path(path)
        if path.exists() and not path.is_file():
            raise TomlError("is not a file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise TomlError(f"is larger than {MOST_BYTES // 1_000_000} MB")
        return content.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TomlError("is not UTF-8 text", line) from error
    except OSError as error:
        raise TomlError(f"cannot be read: {_begin_small(error.strerror or str(error))}") from error
    except ValueError as error:
        if isinstance(error, TomlError):
            raise
        raise TomlError(f"cannot be read: {error}") from error  # such as a path with a null byte


def parse_toml(text: str) -> dict[str, Any]:
    r"""Return the table that a text describes.

    Example:
        >>> parse_toml("a = [1, 2]\nb.c = true")
        {'a': [1, 2], 'b': {'c': True}}
        >>> parse_toml("a = 1\nb == 2")
        Traceback (most recent call last):
        surefoot.core.toml.TomlError: is not TOML: invalid value (column 4)

    Raises:
        TomlError: with the line; also for keys of too many parts and tables in too many tables.
    """
    if (key := _LONG.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
        raise TomlError(f"has a key of more than {MOST_PARTS} parts", line)
    try:
        return tomllib.loads(text)
    except RecursionError:
        pass  # what is raised below has no cause of thousands of frames
    except ValueError as error:  # also for a whole number of too many digits
        place = _PLACE.search(str(error))
        words = str(error)[: place.start()] if place else str(error).partition(":")[0]
        words = _TUPLE.sub(lambda found: found[1].replace("', '", "."), words)
        sentence = f"is not TOML: {_begin_small(words):.200}"
        if place is None:
            number = _DIGITS.search(text)
            at = None if number is None else text.count("\n", 0, number.start()) + 1
            raise TomlError(sentence, at) from error
        if place[1] is None:
            raise TomlError(f"{sentence} at its end", text.count("\n") + 1) from error
        raise TomlError(f"{sentence} (column {place[2]})", int(place[1])) from error
    raise TomlError("has tables or lists nested too deeply")


def _begin_small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


# --- lines ----------------------------------------------------------------------------------------


def find_lines(text: str) -> dict[KeyPath, int]:
    r"""Return the first line of every table, key and entry of a list in a text that is TOML.

    Example:
        >>> find_lines("[a.b]\nc = { d = 1 }\n")
        {('a',): 1, ('a', 'b'): 1, ('a', 'b', 'c'): 2, ('a', 'b', 'c', 'd'): 2}
    """
    return _Scanner(text).lines


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line of a path, or of the nearest table around it; None without one."""
    around = (path[:length] for length in range(len(path), 0, -1))
    return next((lines[part] for part in around if part in lines), None)


class _Scanner:
    """Walks over a text, and writes down on which line each key is.

    Attributes:
        lines: by the path of the key; the first where a table is opened more than once.
    """

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._counts: dict[KeyPath, int] = {}
        self._open: list[_Bracket] = []
        self._scan()

    def _scan(self) -> None:
        table: KeyPath = ()
        at = self._skip(0)
        while at < len(self._text):
            if self._open:
                at = self._scan_inside(at)
            elif self._text[at] == "[":
                table, at = self._scan_header(at)
            else:
                at = self._scan_pair(at, table)
            at = self._skip(at)

    def _skip(self, at: int) -> int:
        """Return where space and comments end."""
        match = _SPACE.match(self._text, at)
        assert match is not None
        return match.end()

    def _mark(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, bisect_left(self._ends, at) + 1)

    def _scan_header(self, at: int) -> tuple[KeyPath, int]:
        """Return the table of a header, and where the header ends."""
        is_list = self._text.startswith("[[", at)
        start = self._skip(at + 1 + is_list)
        keys, end = self._read_keys(start)
        path: KeyPath = ()
        for place, key in enumerate(keys, start=1):
            path = (*path, key)
            if is_list and place == len(keys):
                self._counts[path] = self._counts.get(path, -1) + 1
            self._mark(path, start)
            if path in self._counts:
                path = (*path, self._counts[path])
                self._mark(path, start)
        return path, self._skip(end) + 1 + is_list

    def _scan_pair(self, at: int, table: KeyPath) -> int:
        """Return where a value begins that has ended already, or whose bracket is open now."""
        keys, end = self._read_keys(at)
        path = table
        for key in keys:
            path = (*path, key)
            self._mark(path, at)
        return self._scan_value(self._skip(self._skip(end) + 1), path)

    def _scan_value(self, at: int, path: KeyPath) -> int:
        if self._text[at : at + 1] in ("[", "{"):
            self._open.append(_Bracket(path, is_list=self._text[at] == "["))
            return at + 1
        match = _VALUE.match(self._text, at)
        return len(self._text) if match is None else match.end()

    def _scan_inside(self, at: int) -> int:
        """Read one thing in brackets: an entry, a comma, or their end."""
        bracket = self._open[-1]
        if self._text[at] == ",":
            return at + 1
        if self._text[at] in "]}":
            self._open.pop()
            return at + 1
        if not bracket.is_list:
            return self._scan_pair(at, bracket.path)
        path = (*bracket.path, bracket.count)
        bracket.count += 1
        self._mark(path, at)
        return self._scan_value(at, path)

    def _read_keys(self, at: int) -> tuple[tuple[str, ...], int]:
        match = _KEYS.match(self._text, at)
        if match is None:  # not TOML: nothing more is found
            return (), len(self._text)
        return tuple(_read_key(part) for part in re.findall(_KEY, match[0])), match.end()


class _Bracket:
    """A list or an inline table that is open."""

    def __init__(self, path: KeyPath, *, is_list: bool) -> None:
        self.path, self.is_list, self.count = path, is_list, 0


def _read_key(part: str) -> str:
    """Return a part of a key without its quotes."""
    if part[0] == '"' and "\\" in part:
        return next(iter(tomllib.loads(f"{part} = 0")))
    return part[1:-1] if part[0] in "\"'" else part


# --- writing --------------------------------------------------------------------------------------


def path_text(path: KeyPath) -> str:
    """Return a path as one writes it.

    Example:
        >>> path_text(("algorithms", 0, "tuning"))
        'algorithms[0].tuning'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{key_text(step)}" for step in path)
    return text.removeprefix(".")


def key_text(key: str) -> str:
    """Return a key as TOML writes it, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _quote(key)


def _quote(text: str) -> str:
    """Return a text in quotes; what a terminal would not print is escaped."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def toml_text(value: Any) -> str:
    """Return a value as TOML writes it; tables inline, and None left out of them.

    Example:
        >>> toml_text({"eta": [0.5, 2], "name": "x", "of": {"none": None}})
        '{ eta = [0.5, 2], name = "x", of = {} }'
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(_pairs(value))
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, str):
        return _quote(value)
    return json.dumps(value)  # true and false, and decimal numbers, are as in JSON


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if value is not None:
            yield f"{key_text(key)} = {toml_text(value)}"

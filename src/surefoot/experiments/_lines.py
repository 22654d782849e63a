"""Find the line of each key in a TOML text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from surefoot.experiments._mistakes import KeyPath

__all__ = ["Lines"]


class Lines:
    r"""The line of every key and every entry of a list, of a text that is valid TOML.

    Reads no values: it only has to know where they end, which takes strings, comments and
    brackets.

    Example:
        >>> lines = Lines('a = 1\n[[b]]\nc = [\n 1,\n 2]\n[[b]]\nd.e = "]"')
        >>> lines.of(("b", 0, "c", 1)), lines.of(("b", 1, "d", "e")), lines.of(("b", 1, "x"))
        (5, 7, 6)
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._line = 1
        self._found: dict[KeyPath, int] = {}
        # How many tables each [[array]] has so far.
        self._tables: dict[KeyPath, int] = {}
        # A text that is not TOML after all: what was found until there is what there is.
        with suppress(IndexError):
            self._document()

    def of(self, path: KeyPath) -> int | None:
        """Return the line of a path, or of what is nearest around it; None where nothing is."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._found:
                return self._found[path[:length]]
        return None

    def _document(self) -> None:
        table: KeyPath = ()
        while self._skip(" \t\n"):
            if self._here() != "[":
                self._pair(table)
                continue
            line, several = self._line, self._text.startswith("[[", self._at)
            self._step(2 if several else 1)
            keys = self._keys("]")
            self._step(2 if several else 1)
            table = self._enter(keys, several)
            self._found.setdefault(table, line)

    def _enter(self, keys: list[str], several: bool) -> KeyPath:
        """Return the path of a table header; of an array of tables, that of its latest table."""
        path: KeyPath = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            last = i == len(keys) - 1
            if last and several:
                self._found.setdefault(path, self._line)
                self._tables[path] = self._tables.get(path, 0) + 1
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line
        path: KeyPath = table
        for key in self._keys("="):
            path = (*path, key)
            self._found.setdefault(path, line)
        self._step(1)
        self._value(path)

    def _keys(self, end: str) -> list[str]:
        """Return the parts of a dotted key, up to the sign that ends it."""
        keys = []
        while True:
            self._skip(" \t")
            if self._here() in "\"'":
                keys.append(self._string())
            else:
                first = self._at
                while self._here() not in f" \t.{end}":
                    self._step(1)
                keys.append(self._text[first : self._at])
            self._skip(" \t")
            if self._here() == end:
                return keys
            self._step(1)

    def _value(self, path: KeyPath) -> None:
        self._skip(" \t")
        here = self._here()
        if here in "\"'":
            self._string()
        elif here in "[{":
            self._step(1)
            end, place = "]" if here == "[" else "}", 0
            while self._skip(" \t\n,") and self._here() != end:
                if here == "[":
                    self._found.setdefault((*path, place), self._line)
                    self._value((*path, place))
                    place += 1
                else:
                    self._pair(path)
            self._step(1)
        else:
            while self._at < len(self._text) and self._here() not in ",]}#\n":
                self._step(1)

    def _string(self) -> str:
        """Pass over a string and return its text, exact where it is plain, as keys are."""
        quote = self._here()
        long = self._text.startswith(quote * 3, self._at)
        end = quote * 3 if long else quote
        self._step(len(end))
        letters: list[str] = []
        while not self._text.startswith(end, self._at):
            if self._here() == "\\" and quote == '"':
                letters.append(_ESCAPES.get(self._text[self._at + 1], ""))
                self._step(2)
            else:
                letters.append(self._here())
                self._step(1)
        self._step(len(end))
        # Up to two more quotes may end a long string: they belong to it.
        while long and self._at < len(self._text) and self._here() == quote:
            self._step(1)
        return "".join(letters)

    def _skip(self, signs: str) -> bool:
        """Pass over these signs and comments; return whether anything is left."""
        while self._at < len(self._text):
            if self._here() == "#" and "\n" in signs:
                while self._at < len(self._text) and self._here() != "\n":
                    self._step(1)
            elif self._here() in signs:
                self._step(1)
            else:
                return True
        return False

    def _here(self) -> str:
        return self._text[self._at]

    def _step(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count


_ESCAPES: dict[str, Any] = {'"': '"', "\\": "\\", "t": "\t", "n": "\n", "r": "\r"}

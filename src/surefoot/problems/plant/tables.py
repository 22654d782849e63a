"""Tables that anybody may have written: what they hold, and all that is wrong in them.

A :class:`Table` gives the value of a key if it is valid; else it gives None and adds a sentence to
the :class:`Mistakes`, which belong to all tables of a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

from surefoot.core.errors import SurefootError, nearest_word
from surefoot.core.toml import KeyPath, line_of, path_text, toml_text
from surefoot.problems.plant.durations import number_text, parse_duration

__all__ = ["Mistake", "Mistakes", "PlantFileError", "Sign", "Table", "some_of"]

LARGEST, SMALLEST = 1e20, 1e-20
"""Numbers of a plant are of a size between these, or 0: their products are far from overflow."""
MOST = 100
"""So many mistakes are named; of others their number."""
_LONGEST_KEY = 40
_NAMED = 20
"""So many names are in a sentence."""

Sign: TypeAlias = Literal["", " >= 0", " > 0"]
"""What a number must be, in words."""


class PlantFileError(SurefootError, ValueError):
    """A plant file, or plain data of a plant, with mistakes, all of them.

    Attributes:
        mistakes: a sentence each, with the file and the line in front, in the order of the file.
    """

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes: tuple[str, ...] = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))

    def __reduce__(self) -> tuple[object, ...]:
        return PlantFileError, (self.mistakes,)


class Mistake(NamedTuple):
    """One mistake.

    Attributes:
        path: of the key whose line it has.
        subject: of the key that its sentence begins with.
        text: the rest of the sentence.
    """

    path: KeyPath
    subject: KeyPath
    text: str

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return " ".join(part for part in (path_text(self.subject), self.text) if part)


@dataclass
class Mistakes:
    """The mistakes of a file, in the order in which they were met.

    Attributes:
        found: the first of them.
        others: how many there are besides.
    """

    found: list[Mistake] = field(default_factory=list)
    others: int = 0

    @property
    def are_many(self) -> bool:
        """Whether no more are named."""
        return len(self.found) >= MOST

    def add(self, path: KeyPath, text: str, subject: KeyPath | None = None) -> None:
        """Add one.

        Args:
            path: of the key whose line it has.
            text: the sentence after its subject.
            subject: of the key that the sentence begins with, if it is another.
        """
        if self.are_many:
            self.others += 1
        else:
            self.found.append(Mistake(path, path if subject is None else subject, text))

    def sentences(self, name: str, lines: Mapping[KeyPath, int] | None = None) -> list[str]:
        """Return them with the name of the file and their lines, in the order of lines.

        Args:
            name: of the file.
            lines: of its keys; None for data without lines.
        """
        placed = [(line_of(mistake.path, lines or {}), mistake.sentence) for mistake in self.found]
        placed.sort(key=lambda place: place[0] or 0)
        sentences = [
            f"{name}: {text}" if line is None else f"{name}:{line}: {text}"
            for line, text in dict.fromkeys(placed)
        ]
        if self.others:
            sentences.append(f"{name}: has {self.others:,} mistakes more")
        return sentences


@dataclass
class Table:
    """A table, and its place.

    Attributes:
        path: the keys that lead to it.
        values: what it holds.
        mistakes: to which it adds its own.
        meant: keys that a wrong one was probably meant to be; these are not missing besides.
    """

    path: KeyPath
    values: Mapping[str, Any]
    mistakes: Mistakes
    meant: set[str] = field(default_factory=set)

    def has(self, key: str) -> bool:
        """Return whether the key is there."""
        return key in self.values

    def reject(self, key: str, rule: str, hint: str = "", *, exact: bool = False) -> None:
        """Say that the value of a key must be something else.

        Args:
            key: the key.
            rule: what its value must be.
            hint: is put behind the sentence.
            exact: whether 1.0 is not shown as 1, where that is what is wrong with it.
        """
        value = self.values[key]
        value = repr(value) if exact and isinstance(value, float) else show(value)
        self.mistakes.add((*self.path, key), f"must be {rule}, got {value}{hint}")

    def say(self, text: str, key: str | None = None) -> None:
        """Say something of the table, on the line of a key in it or on its own."""
        path = self.path if key is None else (*self.path, key)
        self.mistakes.add(path, text, self.path)

    def check_keys(self, names: Iterable[str], others: str = "it may have") -> None:
        """Add every key that the table may not have.

        Args:
            names: those that it may have.
            others: what the names are, if none of them is near.
        """
        names = tuple(names)
        for key in self.values:
            if key in names:
                continue
            word = str(key)
            if self.mistakes.are_many:
                self.mistakes.add(self.path, "")
                continue
            near = nearest_word(word, names) if len(word) <= _LONGEST_KEY else None
            if near is not None:
                self.meant.add(near)
            known = ", ".join(some_of(names)) or "nothing"
            end = f"did you mean {near}?" if near else f"{others} {known}"
            self.say(f"has {path_text((_cut(word),))}: {end}", word)

    def require(self, key: str, what: str = "") -> bool:
        """Return whether a key is there; add that it is missing, if it was not misspelt.

        Args:
            key: the key.
            what: what it is, in brackets behind it.
        """
        if not self.has(key) and key not in self.meant:
            self.say(f"must have {key}{f' ({what})' if what else ''}")
        return self.has(key)

    # --- values ----------------------------------------------------------------------------------

    def table(self, key: str, example: str = "") -> Table | None:
        """Return the table of a key."""
        value = self.values.get(key)
        if isinstance(value, Mapping):
            return Table((*self.path, key), value, self.mistakes)
        if self.has(key):
            self.reject(key, f"a table{f', such as {example}' if example else ''}")
        return None

    def number(self, key: str, unit: str = "", sign: Sign = "") -> float | None:
        """Return the number of a key.

        Args:
            key: the key; it may be missing.
            unit: in sentences.
            sign: what it must be, in words.
        """
        if not self.has(key):
            return None
        rule = f"a number{sign}{f' in {unit}' if unit else ''}"
        number = as_number(self.values[key])
        if number is None:
            is_text = isinstance(self.values[key], str) and bool(unit)
            self.reject(key, rule, " (the unit is said once, in unit)" if is_text else "")
            return None
        if not abs(number) <= LARGEST or 0 < abs(number) < SMALLEST:
            self.reject(key, f"{rule}, of a size from {SMALLEST:g} to {LARGEST:g}")
            return None
        if (number < 0 and sign) or (number == 0 and sign == " > 0"):
            self.reject(key, rule)
            return None
        return number

    def whole(self, key: str, least: int, most: int) -> int | None:
        """Return the whole number of a key."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if self.has(key):
            self.reject(key, f"a whole number from {least} to {most:,}", exact=True)
        return None

    def text(self, key: str, longest: int = 100) -> str | None:
        """Return the text of a key: one line that a terminal can print."""
        value = self.values.get(key)
        if isinstance(value, str) and _is_line(value) and len(value) <= longest:
            return value
        if self.has(key):
            self.reject(key, f"a line of at most {longest} characters in quotes")
        return None

    def choice(self, key: str, *words: str) -> str | None:
        """Return the word of a key, one of several."""
        value = self.values.get(key)
        if isinstance(value, str) and value in words:
            return value
        if self.has(key):
            self.reject(key, " or ".join(map(toml_text, words)))
        return None

    def flag(self, key: str) -> bool | None:
        """Return the true or false of a key."""
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        if self.has(key):
            self.reject(key, "true or false")
        return None

    def duration(self, key: str, least: str, most: str) -> Fraction | None:
        """Return the seconds of a time such as "15 min".

        Args:
            key: the key.
            least: the shortest time, as text.
            most: the longest.
        """
        value = self.values.get(key)
        time = parse_duration(value) if isinstance(value, str) else None
        low, high = parse_duration(least), parse_duration(most)
        if time is not None and low is not None and high is not None and low <= time <= high:
            return time
        if self.has(key):
            example = 'a time such as "15 min" (s, min, h, d)'
            self.reject(key, example if time is None else f"a time from {least} to {most}")
        return None


def _is_line(text: str) -> bool:
    """Return whether a text is a line that says something, and that a terminal can print."""
    return text.isprintable() and bool(text.strip())


def as_number(value: object) -> float | None:
    """Return a number as a float, infinite if it is too large for one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) + 0.0  # without a sign on 0
    except OverflowError:
        return math.inf


def some_of(names: Iterable[str]) -> list[str]:
    """Return names for a sentence: the first of them, and how many others there are.

    >>> some_of("abc"), some_of(map(str, range(2_000)))[-2:]
    (['a', 'b', 'c'], ['19', '1,980 others'])
    """
    names = list(names)
    others = len(names) - _NAMED
    return names if others <= 0 else [*names[:_NAMED], f"{others:,} others"]


def show(value: object) -> str:
    """Return a value in a few words."""
    number = as_number(value)
    if number is not None and math.isfinite(number):
        return number_text(number)
    if isinstance(value, int) and number is not None:
        digits = int(value.bit_length() * math.log10(2)) + 1
        return f"a whole number of about {digits} digits"
    if number is not None:
        return repr(number)
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        if len(value) > 8 or not all(isinstance(part, int | float | str) for part in value):
            return "a list"
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, str):
        return toml_text(_cut(value, 60))
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    return _cut(str(value), 60) if type(value).__module__ == "datetime" else type(value).__name__


def _cut(text: str, longest: int = _LONGEST_KEY) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."

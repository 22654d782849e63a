"""Read and write specifications as TOML; report all mistakes at once, with their lines."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.core.errors import SurefootError
from surefoot.experiments._lines import Lines
from surefoot.experiments._mistakes import Mistake, key_text, written
from surefoot.experiments.spec import Spec

from pydantic import ValidationError  # isort: skip  once the specification has found it

__all__ = ["Mistake", "SpecError", "dump_spec", "parse_spec", "read_spec"]

LARGEST = 1_000_000
"""Bytes of a file."""

LONGEST_LINE = 10_000
"""Characters of a line."""

MOST_DOTS = 200
"""Dots in a line: a key of thousands of parts would take minutes to read, and none has five."""

DEEPEST = 12
"""Tables within tables and lists; the deepest that makes sense has 8."""


class SpecError(SurefootError, ValueError):
    """A specification that cannot be used; lists everything that is wrong, one per line.

    Attributes:
        name: of the file.
        mistakes: in the order of the file.
    """

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.name = name
        self.mistakes = list(mistakes)
        super().__init__("\n".join(self._line(m) for m in self.mistakes))

    def _line(self, mistake: Mistake) -> str:
        where = self.name if mistake.line is None else f"{self.name}:{mistake.line}"
        return ": ".join(part for part in (where, written(mistake.path), mistake.message) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecError, (self.name, self.mistakes)


def read_spec(path: str | Path) -> Spec:
    """Read the specification in a file.

    Raises:
        SpecError: it cannot be read, is no TOML, or has mistakes.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _whole(path.name, f"cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST:
        raise _whole(path.name, f"is larger than {LARGEST // 1_000_000} MB")
    try:
        text = data.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(path.name, [Mistake((), "is not UTF-8 text", line)]) from error
    return parse_spec(text, path.name)


def parse_spec(text: str, name: str = "specification") -> Spec:
    r"""Read the specification in a text.

    Args:
        text: TOML.
        name: for messages.

    Raises:
        SpecError: it is no TOML or has mistakes.

    Example:
        >>> parse_spec('name = "x"\nhorizons = [10]\n[[problems]]\nname = "paper_toi"')
        Traceback (most recent call last):
        surefoot.experiments.toml.SpecError: specification: algorithms: is missing
        specification:4: problems[0].name: unknown problem 'paper_toi'; did you mean 'paper_toy'?
        (for your own give --plugin MODULE)
    """
    if len(text) > LARGEST:
        raise _whole(name, f"is larger than {LARGEST // 1_000_000} MB")
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            words = f"a line must have at most {LONGEST_LINE} characters, got {len(line)}"
            raise SpecError(name, [Mistake((), words, number)])
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            words = f"a line must have at most {MOST_DOTS} dots, got {line.count('.')}"
            raise SpecError(name, [Mistake((), words, number)])
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise _whole(name, "has tables or lists nested too deeply") from error
    except ValueError as error:
        raise SpecError(name, [_syntax(str(error))]) from error
    if _depth(data) > DEEPEST:
        raise _whole(name, f"has tables or lists nested more than {DEEPEST} deep")
    try:
        return Spec.model_validate(data)
    except ValidationError as error:
        lines = Lines(text)
        found = [
            Mistake(e["loc"], e["msg"], lines.of(e["loc"]))
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise SpecError(name, sorted(found, key=lambda m: m.line or 0)) from error


def _whole(name: str, message: str) -> SpecError:
    return SpecError(name, [Mistake((), message, None)])


def _syntax(message: str) -> Mistake:
    """Return the parser's own words, with the line in its place."""
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if found is None:
        return Mistake((), f"is not TOML: {message}", None)
    line = None if found[1] is None else int(found[1])
    words = message[: found.start()] + (" at the end of the text" if line is None else "")
    return Mistake((), f"is not TOML: {words}", line)


def _depth(data: Any) -> int:
    """Return how deep tables and lists are nested; without recursion, which has a limit."""
    level, depth = [data], 0
    while level:
        depth += 1
        inner: list[Any] = []
        for node in level:
            values = node.values() if isinstance(node, dict) else node
            inner += [v for v in values if isinstance(v, (dict, list))]
        level = inner
    return depth


def dump_spec(spec: Spec) -> str:
    r"""Write a specification as TOML; reading that gives the same one.

    Example:
        >>> spec = parse_spec(
        ...     'name = "x"\nhorizons = [10]\nproblems = [{name = "paper_toy"}]\n'
        ...     'algorithms = [{name = "PFS", parameters = {eta = 1, rho = {power = -0.5}}}]'
        ... )
        >>> print(dump_spec(spec).split("[[algorithms]]")[1])
        <BLANKLINE>
        name = "PFS"
        parameters = { eta = 1.0, rho = { times = 1.0, power = -0.5 } }
        <BLANKLINE>
    """
    data = spec.model_dump(mode="json", exclude_none=True)
    parts = [_pairs({k: v for k, v in data.items() if k not in _TABLES})]
    parts.append("[recording]\n" + _pairs(data["recording"]))
    for name in ("problems", "algorithms"):
        parts += [f"[[{name}]]\n" + _pairs(row) for row in data[name]]
    return "\n".join(parts)


_TABLES = ("recording", "problems", "algorithms")


def _pairs(table: dict[str, Any]) -> str:
    # Empty tables are what an absent one means.
    return "".join(
        f"{key_text(k)} = {_toml(v)}\n" for k, v in table.items() if v != {} or k in _BOTH
    )


_BOTH = ("parameters",)
"""Tables that mean something though they are empty."""


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = [f"{key_text(k)} = {_toml(v)}" for k, v in value.items() if v != {} or k in _BOTH]
        return f"{{ {', '.join(inner)} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON's text for the rest is TOML's: quotes and escapes, true and false, decimal numbers.
    return json.dumps(value, ensure_ascii=False)

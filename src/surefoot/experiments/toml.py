"""Read and write specifications as TOML, and begin one; mistakes have their lines."""

import json
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from surefoot.experiments.specification import (
    KeyPath,
    Mistake,
    Spec,
    SpecError,
    build_spec,
    key_text,
)


def starter(name: str) -> str:
    """Return the specification in the file beside this one, with another name."""
    text = files("surefoot.experiments").joinpath("starter.toml").read_text(encoding="utf-8")
    return re.sub(r"\bfirst\b", lambda _: name, text, count=2)


def read_spec(path: str | Path) -> Spec:
    """Read the specification in a file.

    Raises:
        SpecError: it cannot be read, is not TOML, or has mistakes.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors put a mark in front
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}"
        raise SpecError(path.name or str(path), [Mistake((), words)]) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SpecError(path.name or str(path), [Mistake((), "is not UTF-8 text", line)]) from error
    return parse_spec(text, path.name)


def parse_spec(text: str, name: str = "specification") -> Spec:
    r"""Read the specification in a text.

    Args:
        text: TOML.
        name: for messages.

    Raises:
        SpecError: it is not TOML or has mistakes.

    Example:
        >>> parse_spec('name = "x"\nhorizons = [10]\n[[problems]]\nname = "paper_toi"')
        Traceback (most recent call last):
        surefoot.experiments.specification.SpecError: specification: algorithms: is missing
        specification:4: problems[0].name: unknown problem 'paper_toi'; did you mean 'paper_toy'?
        (for your own give --plugin MODULE)
    """
    try:
        return build_spec(tomllib.loads(text), name)
    except RecursionError as error:
        raise SpecError(name, [Mistake((), "has tables or lists nested too deeply")]) from error
    except SpecError as error:
        lines = _lines(text)
        mistakes = [m._replace(line=_line_of(m.path, lines)) for m in error.mistakes]
        raise SpecError(name, mistakes) from error
    except ValueError as error:
        raise SpecError(name, [Mistake((), f"is not TOML: {error}")]) from error


# --- lines ----------------------------------------------------------------------------------------

_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_PAIR = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def _lines(text: str) -> dict[KeyPath, int]:
    """Return the lines of tables, and of keys that begin a line."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header, pair = _HEADER.match(line), _PAIR.match(line)
        keys = re.findall(_KEY, (header[2] if header else pair[1] if pair else ""))
        path: KeyPath = () if header else table
        for place, key in enumerate(keys, start=1):
            path = (*path, key.strip("\"'"))
            if header and header[1] == "[[" and place == len(keys):
                counts[path] = counts.get(path, -1) + 1
            if header and path in counts:
                lines.setdefault(path, number)
                path = (*path, counts[path])
            lines.setdefault(path, number)
        table = path if header else table
    return lines


def _line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line of a path, or of the nearest table around it; None without one."""
    around = (path[:length] for length in range(len(path), 0, -1))
    return next((lines[part] for part in around if part in lines), None)


# --- writing --------------------------------------------------------------------------------------


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
        parameters = { eta = 1, rho = { power = -0.5 } }
        <BLANKLINE>
    """
    tables = ("recording", "problems", "algorithms")
    parts = [_pairs({k: v for k, v in spec.data.items() if k not in tables})]
    if "recording" in spec.data:
        parts.append("[recording]\n" + _pairs(spec.data["recording"]))
    for name in tables[1:]:
        parts += [f"[[{name}]]\n" + _pairs(row) for row in spec.data[name]]
    return "\n".join(parts)


def _pairs(table: Mapping[str, Any]) -> str:
    return "".join(f"{key_text(k)} = {_toml(v)}\n" for k, v in table.items() if v is not None)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = [f"{key_text(k)} = {_toml(v)}" for k, v in value.items() if v is not None]
        return f"{{ {', '.join(inner)} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON's text for the rest is TOML's: quotes and escapes, true and false, decimal numbers.
    return json.dumps(value, ensure_ascii=False)

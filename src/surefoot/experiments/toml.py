"""Read and write specifications as TOML, and begin one; mistakes have their lines."""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from surefoot.core.toml import (
    TomlError,
    find_lines,
    key_text,
    line_of,
    parse_toml,
    read_toml_text,
    toml_text,
)
from surefoot.experiments.specification import Mistake, Spec, SpecError, build_spec


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
        text = read_toml_text(path)
    except TomlError as error:
        raise SpecError(path.name or str(path), [Mistake((), str(error), error.line)]) from error
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
        return build_spec(parse_toml(text), name)
    except TomlError as error:
        raise SpecError(name, [Mistake((), str(error), error.line)]) from error
    except SpecError as error:
        lines = find_lines(text)
        mistakes = [m._replace(line=line_of(m.path, lines)) for m in error.mistakes]
        raise SpecError(name, mistakes) from error


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
    return "".join(f"{key_text(k)} = {toml_text(v)}\n" for k, v in table.items() if v is not None)

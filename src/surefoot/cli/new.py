"""``surefoot new``: a specification to start from."""

import re
import shlex
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import argument, say


class Like(StrEnum):
    """Which specification to write."""

    starter = "starter"
    table1 = "table1"
    reproduction = "reproduction"
    related = "related"


def new(
    path: Annotated[Path, argument("PATH", "The file to write.")] = Path("experiment.toml"),
    like: Annotated[
        Like, typer.Option(help="A short one with comments, or a large complete one.")
    ] = Like.starter,
) -> None:
    """Write a commented specification to start from.

    It has three problems and a few algorithms, explains every key, and runs in seconds without
    changes; the experiment gets the name of the file. An existing file is not overwritten.

    Three large specifications can serve as a start, too: the reproduction of the paper, which
    `surefoot reproduce` runs; Table 1, every theorem on three problems for up to 100,000 rounds;
    and related work, every system of the bibliography on the problems that it is made for.

    Example:
      surefoot new limits.toml
      surefoot run limits.toml
      surefoot new rows.toml --like table1
    """
    name = _name(path)
    text = _text(like, name)
    if path.exists():
        raise UsageError(f"'{path}' exists and is not overwritten: give another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    following = shlex.join(["surefoot", "run", str(path)])
    say(f"wrote {path}; edit it, then run:", f"  {following}")


def _text(like: Like, name: str) -> str:
    """Return a specification with the name of its file."""
    from surefoot.experiments import dump_spec
    from surefoot.experiments.paper import related, reproduction, table1
    from surefoot.experiments.toml import starter

    if like is Like.starter:
        return starter(name)
    module = {"table1": table1, "reproduction": reproduction, "related": related}[like]
    spec = module.specification()
    return dump_spec(replace(spec, data={**spec.data, "name": name}))


def _name(path: Path) -> str:
    """Return the name of the file as the name of an experiment, which allows fewer characters."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_")[:64] or "first"

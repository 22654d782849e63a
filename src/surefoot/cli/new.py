"""``surefoot new``: a specification to start from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._ending import Debug, UsageError
from surefoot.cli._output import Json, say, say_json

__all__ = ["new"]


def new(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Where to write it.")] = Path(
        "experiment.toml"
    ),
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a commented specification to start from.

    It names three problems and a few algorithms, says what every key means, and runs in seconds as
    it is; the experiment has the name of the file. A file that exists is not overwritten.

    Example:
      surefoot new limits.toml
      surefoot run limits.toml
    """
    from surefoot.experiments.starter import STARTER

    name = _name(path)
    text = re.sub(r"\bfirst\b", lambda _: name, STARTER, count=2)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"'{path}' exists already and is not overwritten: give another name"
        ) from None
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror}") from error
    following = shlex.join(["surefoot", "run", str(path)])
    if json:
        say_json({"path": path, "name": name, "next": following})
    else:
        say(f"{path} is written. Change what you like, then:", f"  {following}")


def _name(path: Path) -> str:
    """The name of the file as that of an experiment, which has fewer characters to choose from."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_")[:64] or "first"

"""``surefoot check``: was every action of a journal certified before it was played?"""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, show

__all__ = ["check"]

_SHOWN = 10


def check(
    file: Annotated[Path, argument("FILE", "The journal of a controller.")],
    json: Json = False,
) -> None:
    """Check that every action was certified before it was played.

    The checker is one file of its own, surefoot/controller/check.py, which imports nothing of the
    library and computes in exact rationals. It names the first round that was not certified; what
    it cannot judge is "not checked", with the rounds. Exit codes: 0 every round was certified, 1
    one was not or the file is no journal, 3 some rounds were not checked.

    Examples:
      surefoot check machines.jsonl
    """
    from surefoot.controller.check import check as find

    if not file.is_file():
        raise UsageError(f"'{file}' is not a file: give the journal of a controller")
    is_right, sentences = find(str(file))
    lines = sentences[: 1 + _SHOWN]
    if len(sentences) > len(lines):
        lines.append(f"and {len(sentences) - len(lines)} rounds more were not checked")
    show(json, {"journal": file, "is_right": is_right, "sentences": sentences}, lines)
    if not is_right:
        raise typer.Exit(1)
    if len(sentences) > 1:
        raise typer.Exit(3)

"""``surefoot check``: was every action of a journal certified before it was played?"""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, show

__all__ = ["check"]

_SHOWN = 10


def check(
    file: Annotated[Path, argument("FILE", "The journal of a controller or a fleet.")],
    json: Json = False,
) -> None:
    """Check that every action was certified before it was played.

    The checker is the folder surefoot/controller/check, which imports nothing of the library and
    computes in exact rationals: python path/to/check FILE does the same. It names the first round
    that was not certified, of a fleet with its member; rounds that it cannot judge are "not
    checked". It prints the constants that it used and what it took on trust. Exit codes: 0 every
    round was certified, 1 one was not or the file is no journal, 3 some rounds were not checked.

    Examples:
      surefoot check machines.jsonl
      surefoot check fleet.jsonl
    """
    from surefoot.controller.check import check as find

    if not file.is_file():
        raise UsageError(f"'{file}' is not a file: give a journal")
    report = find(str(file))
    lines = report.said[: 1 + _SHOWN]
    if len(report.said) > len(lines):
        lines.append(f"and {len(report.said) - len(lines)} rounds more were not checked")
    lines += [*report.constants, *report.events, report.trusted]
    data = report._asdict()
    show(json, {"journal": file, "sentences": data.pop("said"), **data}, lines)
    if report.code:
        raise typer.Exit(report.code)

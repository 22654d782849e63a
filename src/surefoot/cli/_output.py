"""Printing: lines, tables and progress by rich, JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias

import typer

from surefoot.core.display import Table
from surefoot.core.display import paint as paint_text

if TYPE_CHECKING:
    from surefoot.experiments import Event

Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")
]

PAUSE = 5.0
"""Seconds between two lines of progress in a pipe."""


def option(metavar: str, about: str, *names: str, **limits: Any) -> Any:
    """Return an option with a value; called as its argument is, unless names are given."""
    return typer.Option(*names, metavar=metavar, help=about, **limits)


def argument(metavar: str, about: str) -> Any:
    """Return an argument of a command."""
    return typer.Argument(metavar=metavar, help=about)


def say(*lines: str) -> None:
    """Print on standard output."""
    _write(sys.stdout, lines)


def warn(*lines: str) -> None:
    """Print on standard error."""
    _write(sys.stderr, lines)


def _write(stream: TextIO, lines: Sequence[str]) -> None:
    try:
        for line in lines:
            stream.write(line + "\n")
        stream.flush()
    except BrokenPipeError:
        # The reader has left (`| head`). That is no error, and whatever else is to be done goes on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(as_json: bool, data: Mapping[str, object], lines: Iterable[str]) -> None:
    """Print what a command found: data as JSON for programs, or lines for people."""
    if as_json:
        from surefoot.core.plain import json_plain

        lines = [json.dumps(json_plain(data), indent=2, ensure_ascii=False, allow_nan=False)]
    say(*lines)


def colours() -> bool:
    """Return whether standard output is a terminal that wants colours (https://no-color.org)."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    keys: int = 1,
    paint: Mapping[str, str] | None = None,
    indent: int = 0,
) -> Iterator[str]:
    r"""Yield the lines of a table; one block per row where the terminal is too narrow.

    Args:
        head: names of the columns.
        rows: their cells.
        right: names of the columns whose cells are set to the right.
        keys: how many of the first columns head a block.
        paint: the colour (as ANSI has it) of cells that are this word.
        indent: spaces before every line.

    >>> print("\n".join(table(("name", "T"), [("a", "10"), ("bc", "2000")], right=["T"])))
    name     T
    a       10
    bc    2000
    """
    paint = paint if paint is not None and colours() else {}
    made = Table(head, rows, right)
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    margin = " " * indent
    narrow = indent + sum(made.widths) + 2 * (len(head) - 1) > room
    lines = _blocks(head, rows, keys, paint) if narrow else made.lines(paint)
    yield from (margin + line for line in lines)


def _blocks(
    head: Sequence[str], rows: Sequence[Sequence[str]], keys: int, paint: Mapping[str, str]
) -> Iterator[str]:
    width = max(map(len, head[keys:]), default=0)
    for row in rows:
        yield ", ".join(cell for cell in row[:keys] if cell)
        for name, cell in zip(head[keys:], row[keys:], strict=True):
            if cell:
                yield f"  {name.ljust(width)}  {paint_text(cell, paint.get(cell))}"


def duration(seconds: float) -> str:
    """Return a time in few characters.

    >>> duration(0.31), duration(42.4), duration(192), duration(7_500)
    ('0.3 s', '42 s', '0:03:12', '2:05:00')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return str(timedelta(seconds=round(seconds)))


# --- progress, on standard error ------------------------------------------------------------------


@contextmanager
def progress() -> Iterator[Callable[[Event], None] | None]:
    """Show how far a run is while it lasts: a bar in a terminal, a line now and then in a pipe."""
    if sys.stderr.isatty():
        from surefoot.experiments.compare import show_progress

        with show_progress() as report:
            yield report
        return
    last = began = time.monotonic()

    def tell(now: Event) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            warn(f"{now.done}/{now.total} cells, {duration(last - began)}, {now.label}")

    yield tell


def stage(what: str) -> AbstractContextManager[object]:
    """Show in a terminal what is being done, where no rate is known."""
    from rich.console import Console

    return Console(file=sys.stderr).status(what)

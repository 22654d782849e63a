"""Printing: lines, tables and progress by rich, JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.status import Status

    from surefoot.experiments import Event

Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")
]

PAUSE = 5.0
"""Seconds between two lines of progress in a pipe."""


def option(metavar: str, about: str, *names: str, **limits: Any) -> Any:
    """Return an option with a value; its name is that of its argument unless names are given."""
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
        # The reader has left (`| head`): that is no error, and the command continues.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(as_json: bool, data: Mapping[str, object], lines: Iterable[str]) -> None:
    """Print the result of a command: data as JSON for programs, or lines for people."""
    if as_json:
        from surefoot.core.plain import json_plain

        lines = [json.dumps(json_plain(data), indent=2, ensure_ascii=False, allow_nan=False)]
    say(*lines)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    paint: Mapping[str, str] | None = None,
    indent: int = 0,
) -> Iterator[str]:
    r"""Yield the lines of a table, folded to the width of a terminal.

    Args:
        head: names of the columns.
        rows: their cells.
        right: names of the columns whose cells are set to the right.
        paint: the colour of cells that are this word, in a terminal that wants colours.
        indent: spaces before every line.

    >>> print("\n".join(table(("name", "T"), [("a", "10"), ("bc", "2000")], right=["T"])))
    name     T
    a       10
    bc    2000
    """
    from rich import console, padding
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for name in head:
        grid.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell, (paint or {}).get(cell, "")) for cell in row))
    width = None if sys.stdout.isatty() else 10_000
    screen = console.Console(file=sys.stdout, width=width)
    with screen.capture() as caught:
        screen.print(padding.Padding(grid, (0, 0, 0, indent), expand=False))
    yield from (line.rstrip() for line in caught.get().splitlines())


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

        with show_progress() as bar:
            yield bar
        return
    last = began = time.monotonic()

    def report(now: Event) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            warn(f"{now.done}/{now.total} cells, {duration(last - began)}, {now.label}")

    yield report


def stage(what: str) -> AbstractContextManager[Status]:
    """Show in a terminal what is being done, where the remaining time is unknown."""
    from rich.console import Console

    return Console(file=sys.stderr).status(what)

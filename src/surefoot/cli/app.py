"""The program: its commands, and what holds for all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from surefoot import __version__
from surefoot.cli import calibrate, new, report, reproduce, run
from surefoot.cli import list as list_
from surefoot.cli._ending import Debug, Guarded
from surefoot.cli._output import say

__all__ = ["app"]

# Typer's plain help: it costs no import of rich, and reads the same in a pipe and in 40 columns.
app = typer.Typer(
    name="surefoot",
    cls=Guarded,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        say(f"surefoot {__version__}")
        raise typer.Exit


def _help(command: Callable[..., None]) -> str:
    """The docstring, its examples left as they are laid out."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(f"\b\n{p}" if "\n  " in p else p for p in paragraphs)


_EXIT_CODES = (
    "Exit codes: 0 all is well; 1 an error while running; 2 a mistake in the command or in "
    "the specification; 3 finished in part (some cells failed, or the report could not be made); "
    "130 interrupted."
)


def surefoot(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Online decisions under a constraint that must hold in every round.

    Describe a comparison in a file, run it, interrupt it, run it again: it goes on where it was.
    Then read the report.

      surefoot new limits.toml         a specification to start from
      surefoot run limits.toml         play it; results, figures and a page in out/
      surefoot report out/limits       make figures and page again, or export the results
      surefoot reproduce               the paper's experiment, with a verdict on each figure
      surefoot list                    algorithms and problems that a specification can name
      surefoot calibrate paper_toy     which guarantees can be had on a problem
    """


app.callback(help=_help(surefoot), epilog=_EXIT_CODES)(surefoot)

for _command, _short in (
    (reproduce.reproduce, "The paper's experiment, with a verdict on each figure."),
    (run.run, "Play what a specification describes."),
    (report.report, "Figures, page and exports of saved results."),
    (list_.list_, "Algorithms and problems there are."),
    (calibrate.calibrate, "Which guarantees can be had."),
    (new.new, "A specification to start from."),
):
    _name = _command.__name__.rstrip("_")
    app.command(
        _name,
        help=_help(_command),
        short_help=_short,
        no_args_is_help=_name in ("run", "report"),
    )(_command)

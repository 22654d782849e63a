"""The program: its commands, and the options that all of them have."""

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from surefoot import __version__
from surefoot.cli import (
    calibrate,
    check,
    export_c,
    journal,
    list as list_,
    new,
    report,
    reproduce,
    run,
    serve,
)
from surefoot.cli._exit import Guarded
from surefoot.cli._output import say

# Typer's plain help: it costs no import of rich, and reads the same in a pipe and in 40 columns.
app: typer.Typer = typer.Typer(
    name="surefoot",
    cls=Guarded,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        from surefoot import kernel

        say(f"surefoot {__version__}: {kernel.sentence()}")
        raise typer.Exit


def _help(command: Callable[..., None]) -> str:
    """Return the docstring, with the layout of its examples kept."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(f"\b\n{p}" if "\n  " in p else p for p in paragraphs)


def surefoot(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, with any command.")
    ] = False,
) -> None:
    """Online decisions under a constraint that must hold in every round.

    Describe a comparison in a file, run it and read the report. An interrupted run continues where
    it stopped.

      surefoot new limits.toml         write a specification to start from
      surefoot run limits.toml         run it; results, figures and a page go to out/
      surefoot report out/limits       make figures and page again, or export the results

    Run a controller for a program in any language, and read what it decided:

      surefoot serve machines.toml     answer its requests, one line each
      surefoot journal machines.jsonl  show what was decided and why
      surefoot check machines.jsonl    check that every action was certified

    Exit codes: 0 success; 1 an error while running; 2 a mistake in the command or in the
    specification; 3 partial success (some cells failed, or the report could not be made); 130
    interrupted.
    """


app.callback(help=_help(surefoot))(surefoot)

# In the order in which somebody needs them: experiments first, live runs after them.
for _command in (
    *(new.new, run.run, report.report, reproduce.reproduce, list_.list_, calibrate.calibrate),
    *(serve.serve, journal.journal, check.check, export_c.export_c),
):
    _name = _command.__name__.rstrip("_").replace("_", "-")
    _is_nothing_alone = _name in ("run", "report", "journal", "check", "export-c", "serve")
    app.command(_name, help=_help(_command), no_args_is_help=_is_nothing_alone)(_command)

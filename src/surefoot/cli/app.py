"""The program: its commands, and the options that all of them have."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from surefoot import __version__
from surefoot.cli._exit import Guarded
from surefoot.cli._output import say

COMMANDS = (
    "new",
    "run",
    "report",
    "reproduce",
    "list_",
    "calibrate",
    "plant",
    "serve",
    "amend",
    "ping",
    "journal",
    "check",
    "export_c",
)
"""Each command: its file, and the function there, in the order in which somebody needs them."""

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

      surefoot plant plant.toml        check a plant file, and show what its numbers mean
      surefoot serve plant.toml        answer its requests, one line each
      surefoot journal machines.jsonl  show what was decided and why
      surefoot check machines.jsonl    check that every action was certified

    Exit codes: 0 success; 1 an error while running; 2 a mistake in the command or in the
    specification; 3 partial success (some cells failed, or the report could not be made); 130
    interrupted.
    """


app.callback(help=_help(surefoot))(surefoot)


def _add(name: str) -> None:
    """Add the command of a file; without its argument it shows its help, where it needs one."""
    command: Callable[..., None] = getattr(import_module(f"surefoot.cli.{name}"), name)
    parameters = inspect.signature(command).parameters.values()
    is_nothing_alone = any(p.default is p.empty and p.name != "ctx" for p in parameters)
    words = name.rstrip("_").replace("_", "-")
    app.command(words, help=_help(command), no_args_is_help=is_nothing_alone)(command)


for _name in COMMANDS:
    _add(_name)

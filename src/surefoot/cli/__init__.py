"""The command line: one file per command."""

import contextlib
import os
import sys
from io import TextIOWrapper
from pathlib import Path

from surefoot.core.optional import MissingExtraError, need

__all__ = ["main"]


def main() -> None:
    """Run the program ``surefoot``; see ``surefoot --help``."""
    # The parent process closed it: nothing is shown for the whole program.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal without the characters of a table gets question marks, not a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        need("typer", "cli", "the command line")
        from surefoot.cli.app import app

        app(prog_name="surefoot")
    except MissingExtraError as error:
        raise SystemExit(_complain(str(error))) from None
    except OSError as error:  # the help cannot be written
        with contextlib.suppress(OSError):
            # At its end Python would try to write the rest once more, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_complain(f"standard output: {error.strerror}")) from None


def _complain(sentence: str) -> int:
    print(f"surefoot: {sentence}", file=sys.stderr)
    return 1

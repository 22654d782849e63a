"""The command line: one file per command."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from surefoot.core.optional import MissingExtraError, need

__all__ = ["main"]


def main() -> None:
    """Run the program ``surefoot``; see ``surefoot --help``."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  for the whole program
        # A terminal without the characters of a table gets question marks, not a traceback.
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        need("typer", "cli", "the command line")
        from surefoot.cli.app import app

        app(prog_name="surefoot")
    except MissingExtraError as error:
        raise SystemExit(_said(str(error))) from None
    except OSError as error:  # what prints the help cannot write it
        with contextlib.suppress(OSError):
            # Python would try to write what is left once more at its end, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_said(f"standard output: {error.strerror}")) from None


def _said(sentence: str) -> int:
    print(f"surefoot: {sentence}", file=sys.stderr)
    return 1

"""The command line: one file a command."""

from __future__ import annotations

import sys

from surefoot._extras import MissingExtraError, need

__all__ = ["main"]


def main() -> None:
    """The program ``surefoot``; see ``surefoot --help``."""
    try:
        need("typer", "cli", "the command line")
    except MissingExtraError as error:
        print(f"surefoot: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    from surefoot.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal without the characters of a table gets question marks, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="surefoot")

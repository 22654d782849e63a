"""Exit codes, and one sentence on standard error for what went wrong."""

from __future__ import annotations

import traceback
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from surefoot.cli._output import warn
from surefoot.core.errors import SurefootError

OK, RUNTIME, USAGE, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 130
_DEBUG = "surefoot.debug"


class UsageError(SurefootError):
    """A mistake in the command: exit code 2."""


class MistakesError(UsageError):
    """A specification with mistakes, one per line; each begins with file and line number."""


class Guarded(TyperGroup):
    """A group whose commands end with a sentence and an exit code, never with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and turn an error into a sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            warn("surefoot: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            # Typer's own signals and messages; the class of the latter has no public name.
            if isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message"):
                raise
            if ctx.meta.get(_DEBUG):
                warn(traceback.format_exc().rstrip())
            elif isinstance(error, MistakesError):
                warn(*_some(str(error).splitlines()))  # no name in front: editors jump to the line
            else:
                warn(f"surefoot: {_sentence(error)}")
            code = USAGE if isinstance(error, UsageError) else RUNTIME
            raise typer.Exit(code) from None


def _some(lines: list[str], most: int = 20) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"'{error.filename}': " if error.filename is not None else ""
        return f"{where}{error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, SurefootError | ValueError):
        return str(error)
    return (
        f"unexpected {type(error).__name__}: {error} (this is a bug; run the same command "
        "with --debug to see where)"
    )


def _remember(ctx: typer.Context, value: bool) -> bool:
    if value:
        ctx.meta[_DEBUG] = True  # shared with the group's context
    return value


Debug: TypeAlias = Annotated[
    bool,
    typer.Option("--debug", callback=_remember, help="Show the traceback of an error."),
]

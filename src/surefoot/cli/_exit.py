"""Exit codes, and one sentence on standard error for an error."""

import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from surefoot.cli._output import warn
from surefoot.core.errors import InvalidValueError, SurefootError

OK, RUNTIME, USAGE, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 130
_DEBUG, _WORDS = "surefoot.debug", "surefoot.words"


class UsageError(SurefootError):
    """A mistake in the command: exit code 2."""


class MistakesError(UsageError):
    """A specification with mistakes, one per line; each begins with file and line number."""


class CodedError(SurefootError):
    """An error with an exit code of its own.

    Attributes:
        code: the exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Guarded(TyperGroup):
    """A group whose commands end with a sentence and an exit code, never with a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take --debug from any place, so that it can be added to any command."""
        ctx.meta[_DEBUG], ctx.meta[_WORDS] = "--debug" in args, list(args)
        words: list[str] = super().parse_args(ctx, [word for word in args if word != "--debug"])
        return words

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
            if ctx.meta[_DEBUG]:
                warn(traceback.format_exc().rstrip())
            elif isinstance(error, MistakesError):
                warn(str(error))  # no name in front: editors jump to the line
            else:
                warn(f"surefoot: {_sentence(error)}")
            raise typer.Exit(_code(error)) from None


def _code(error: Exception) -> int:
    if isinstance(error, CodedError):
        return error.code
    return USAGE if isinstance(error, UsageError | InvalidValueError) else RUNTIME


def same_command(ctx: typer.Context) -> list[str]:
    """Return the words of the command that is run; without --force, which would begin anew."""
    return ["surefoot", *(word for word in ctx.meta[_WORDS] if word != "--force")]


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

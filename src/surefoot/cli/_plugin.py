"""The option ``--plugin``: a module whose problems and algorithms can be named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from surefoot.cli._exit import UsageError

__all__ = ["Plugins", "use"]

Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE",
        help="A module with problems and algorithms of your own, by name or file: it is imported, "
        "and they can be named; may be given more than once.",
    ),
]


def use(modules: Sequence[str] | None) -> None:
    """Import the modules, whose problems and algorithms are known from then on."""
    if not modules:
        return
    from surefoot.experiments.plugins import PluginError, load_plugin

    try:
        for module in modules:
            load_plugin(module)
    except PluginError as error:
        raise UsageError(str(error)) from error

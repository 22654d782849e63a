"""Versions of the code and its libraries; a worker must have the versions of its driver."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from surefoot.core.errors import SurefootError
from surefoot.experiments.plugins import Plugin, PluginError, load_plugin, loaded
from surefoot.experiments.record import CellResult
from surefoot.experiments.sources import sources_hash

__all__ = ["OtherSourcesError", "fingerprint", "play_checked", "versions"]


class OtherSourcesError(SurefootError, RuntimeError):
    """A worker with code different from the driver's, so its results would not be comparable."""


def play_checked(
    wanted: Mapping[str, str | None],
    plugins: Sequence[Plugin],
    work: Callable[[list[tuple[str, Any]]], list[CellResult]],
    cells: list[tuple[str, Any]],
) -> list[CellResult]:
    """Play for a driver, if this process has the code and the libraries that the driver has.

    Args:
        wanted: the driver's :func:`fingerprint`.
        plugins: the driver's, which this process has to load.
        work: :func:`surefoot.experiments.play_cell.play_cells`.
        cells: addresses and specifications.
    """
    try:
        for plugin in plugins:
            load_plugin(plugin.name, plugin.folder)
    except PluginError as error:
        raise OtherSourcesError(f"the worker on {platform.node()}: {error}") from error
    own = fingerprint()
    if own != wanted:
        differ = [
            f"{name} is {own.get(name)}, not {wanted.get(name)}"
            for name in sorted(own.keys() | wanted.keys())
            if own.get(name) != wanted.get(name)
        ]
        raise OtherSourcesError(
            f"the worker on {platform.node()} would play something else: {'; '.join(differ)}"
        )
    return work(cells)


@cache
def _fingerprint() -> tuple[tuple[str, str | None], ...]:
    return (("sources", sources_hash()[:16]), *versions().items())


def fingerprint() -> dict[str, str | None]:
    """Return what the bits of a result depend on beside its specification: code and libraries."""
    return dict(_fingerprint()) | {f"plugin {p.name}": p.digest[:16] for p in loaded()}


@cache
def _versions() -> tuple[tuple[str, str | None], ...]:
    def version(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    return (
        ("surefoot", version("surefoot")),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("jax", version("jax")),
    )


def versions() -> dict[str, str | None]:
    """Return the versions of the libraries that compute; None for one that is not installed."""
    return dict(_versions())

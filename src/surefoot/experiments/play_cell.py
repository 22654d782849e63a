"""Play a cell: plain data in, plain data out, wherever it runs."""

from __future__ import annotations

import platform
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any, TypeAlias

import numpy as np

from surefoot import __version__
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.optional import MissingExtraError, need
from surefoot.experiments.cache import problem_of
from surefoot.experiments.cells import stream_seed
from surefoot.experiments.players import Parameters, build_player
from surefoot.experiments.plugins import Plugin, PluginError, load_plugin, loaded
from surefoot.experiments.record import CellResult, time_now
from surefoot.experiments.summarise import summarise
from surefoot.games import Trace, play
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial

_SHORT = 4
"""Entries of an action that a compiled game hands over at no cost."""


Parts: TypeAlias = tuple[Problem, Any, Parameters, Constants]
"""What a cell is played with: the problem, the player, its numbers and its constants."""


class OtherCodeError(SurefootError, RuntimeError):
    """A worker with code different from the driver's, so its results would not be comparable."""


def make_parts(spec: Mapping[str, Any]) -> Parts:
    """Return the parts that a cell names."""
    problem = problem_of(spec)
    return problem, *build_player(spec["algorithm"], problem, int(spec["horizon"]))


def play_cell(
    address: str,
    spec: Mapping[str, Any],
    parts: Callable[[Mapping[str, Any]], Parts] = make_parts,
) -> CellResult:
    """Play one cell.

    Errors caused by the cell are recorded, not raised: a rejected tuning gives the status
    "refused", any other error "failed", both with the sentence. Only an extra that is not
    installed is raised.

    Args:
        address: the cell's.
        spec: what to play, as :class:`surefoot.experiments.cells.Job` has it.
        parts: makes problem and player from that.
    """
    began = time.perf_counter()

    def result(status: Any, note: str = "", **parts: Any) -> CellResult:
        provenance = {
            "seconds": time.perf_counter() - began,
            "microseconds_a_round": None,
            "finished": time_now(),
            "versions": versions(),
            "platform": platform.platform(),
        } | parts.pop("provenance", {})
        return CellResult(
            address=address,
            spec=dict(spec),
            status=status,
            note=note,
            provenance=provenance,
            **parts,
        )

    try:
        try:
            problem, player, parameters, constants = parts(spec)
        except ValueError as error:
            return result("refused", str(error))
        trace = _play(player, problem, spec)
        facts, arrays = summarise(trace, spec, parameters, constants)
    except MissingExtraError:
        raise  # not the cell's: nothing is stored, and it is played when the extra is there
    except Exception as error:
        told = f"{type(error).__name__}: {error}".strip(": ")
        stack = traceback.format_exc(limit=-8)
        return result("failed", told, provenance={"traceback": stack})
    took = {
        "microseconds_a_round": trace.ledger.microseconds_a_round,
        "compile_seconds": trace.ledger.compile_seconds,
    }
    return result("done", facts=facts, arrays=arrays, provenance=took)


def play_cells(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> list[CellResult]:
    """Play neighbours, each by itself: its bits do not depend on the company."""
    with _ONE_AT_A_TIME:
        return [play_cell(address, spec) for address, spec in cells]


# A cluster's worker may have several threads; two cells at once would only share one interpreter.
_ONE_AT_A_TIME = threading.Lock()


def _play(player: Any, problem: Problem, spec: Mapping[str, Any]) -> Trace:
    recording = spec["recording"]
    every, actions = recording["every"], recording["actions"]
    compiled = spec["engine"] == "scan"
    if compiled:
        need("jax", "jax", "the scan engine")  # the time of a round is not that of an import
    # What an adversary did is known from what it answered to.
    whole = isinstance(problem.costs, Adversarial)
    # Handed over in any case, so that games with and without actions run one program.
    short = compiled and problem.costs.dimension <= _SHORT
    return play(
        player,
        problem,
        horizon=int(spec["horizon"]),
        engine=spec["engine"],
        every=1 if whole else every,
        keep_actions=whole or short or bool(actions),
        watch="record",
        # Of the directions of bandits, which are others in every block of trials.
        seed=stream_seed(spec["seed"], spec["problem"], spec["block"]),
    )


# --- for a driver that may be elsewhere -----------------------------------------------------------


def play_for(
    driver: Mapping[str, str | None],
    plugins: Sequence[Plugin],
    work: Callable[[list[tuple[str, Any]]], list[CellResult]],
    cells: list[tuple[str, Any]],
) -> list[CellResult]:
    """Play for a driver, if this process has the code and the libraries that the driver has.

    Args:
        driver: its :func:`fingerprint`.
        plugins: the driver's, which this process has to load.
        work: :func:`play_cells`.
        cells: addresses and specifications.
    """
    where = f"the worker on {platform.node()}"
    try:
        for plugin in plugins:
            load_plugin(plugin.name, plugin.folder)
    except PluginError as error:
        raise OtherCodeError(f"{where}: {error}") from error
    own = fingerprint()
    differ = [
        f"{name} is {own.get(name)}, not {driver.get(name)}"
        for name in sorted(own.keys() | driver.keys())
        if own.get(name) != driver.get(name)
    ]
    if differ:
        raise OtherCodeError(f"{where} would play something else: {'; '.join(differ)}")
    return work(cells)


def fingerprint() -> dict[str, str | None]:
    """Return what the bits of a result depend on beside its specification: code and libraries."""
    return versions() | {f"plugin {plugin.name}": plugin.digest[:16] for plugin in loaded()}


def versions() -> dict[str, str | None]:
    """Return the versions of the libraries that compute; None for one that is not installed."""
    return {
        "surefoot": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "jax": _version("jax"),
    }


@cache
def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

"""Play a cell: plain data in, plain data out, wherever it runs."""

from __future__ import annotations

import platform
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from surefoot.core.constants import Constants
from surefoot.core.optional import MissingExtraError, need
from surefoot.experiments.measures import measure
from surefoot.experiments.players import Parameters, build_player
from surefoot.experiments.record import CellResult, time_now
from surefoot.experiments.seeds import stream_seed
from surefoot.experiments.shared import problem_of
from surefoot.experiments.versions import versions
from surefoot.games import Trace, play
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial

__all__ = ["Parts", "named_parts", "play_cell", "play_cells"]

_SHORT = 4
"""Entries of an action that a compiled game hands over at no cost."""


Parts: TypeAlias = tuple[Problem, Any, Parameters, Constants]
"""What a cell is played with: the problem, the player, its numbers and its constants."""


def named_parts(spec: Mapping[str, Any]) -> Parts:
    """Return the parts that a cell names."""
    problem = problem_of(spec)
    return problem, *build_player(spec["algorithm"], problem, int(spec["horizon"]))


def play_cell(
    address: str,
    spec: Mapping[str, Any],
    parts: Callable[[Mapping[str, Any]], Parts] = named_parts,
) -> CellResult:
    """Play one cell.

    What is the cell's own never raises: a theorem or a constructor that says no makes it
    "refused", any other error "failed", both with the sentence. Only an extra that is not
    installed is raised.

    Args:
        address: the cell's.
        spec: what to play, as :class:`surefoot.experiments.grid.Job` has it.
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
        facts, arrays = measure(trace, spec, parameters, constants)
    except MissingExtraError:
        raise  # not the cell's: nothing is stored, and it is played when the extra is there
    except Exception as error:
        told = traceback.format_exc(limit=-8)
        return result("failed", _sentence(error), provenance={"traceback": told})
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


def _sentence(error: BaseException) -> str:
    told = str(error).strip()
    return f"{type(error).__name__}: {told}" if told else type(error).__name__

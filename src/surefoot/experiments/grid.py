"""The cells of an experiment: what is played, named by its content.

A cell is a problem, an algorithm, a horizon and a block of at most 30 trials. Its address is a
hash of that and of the numeric sources; labels, order, the other cells and the number of workers
are not in it, so what has been played is found again however the file has grown around it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from surefoot.experiments.registry import ADAPTIVE, BLOCK, KINDS, ProblemRow
from surefoot.experiments.seeds import canonical
from surefoot.experiments.spec import Algorithm, Spec
from surefoot.results.record import Place
from surefoot.types import needs_of

__all__ = ["BLOCK", "Cell", "cells_of", "engine_of", "rounds_of", "sources_hash"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is played, and its name.

    Attributes:
        address: hash of ``spec`` and of the numeric sources, in hexadecimal.
        spec: plain data: problem (name, arguments), algorithm, horizon, block, trials, seed,
            engine (never "auto"), recording.
    """

    address: str
    spec: dict[str, Any]


def cells_of(spec: Spec) -> Iterator[tuple[Place, Cell]]:
    """The cells with their places, one at a time: problem, horizon, block, then algorithm.

    Neighbours share a problem, its streams and its best action in hindsight.
    """
    for place, plain in _plain_cells(spec):
        address = hashlib.sha256(f"{sources_hash()}\n{canonical(plain)}".encode()).hexdigest()
        problem, algorithm = place
        horizon, block = plain["horizon"], plain["block"]
        yield (
            Place(
                address=address,
                problem=problem,
                algorithm=algorithm,
                horizon=horizon,
                block=block,
            ),
            Cell(address, plain),
        )


def rounds_of(spec: Spec) -> int:
    """Rounds of all trials of all cells."""
    return sum(cell["horizon"] * cell["trials"] for _, cell in _plain_cells(spec))


def _plain_cells(spec: Spec) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Labels of problem and algorithm, and the cell."""
    rows: list[tuple[Algorithm, dict[str, Any]]] = [(a, a.plain()) for a in spec.algorithms]
    usual = set(spec.horizons)
    for problem in spec.problems:
        named = {"name": problem.name, "arguments": problem.arguments()}
        mine = [(a, p) for a, p in rows if a.only is None or problem.title in a.only]
        lengths = [
            (usual if a.horizons is None else set(a.horizons), _trials(spec, problem, a))
            for a, _ in mine
        ]
        for horizon in sorted(set().union(*(h for h, _ in lengths))):
            recording = spec.recording.of(horizon)
            most = max(t for h, t in lengths if horizon in h)
            for block in range(-(-most // BLOCK)):
                for (a, plain), (horizons, trials) in zip(mine, lengths, strict=True):
                    left = min(trials - block * BLOCK, BLOCK)
                    if horizon not in horizons or left < 1:
                        continue
                    cell = {
                        "problem": named,
                        "algorithm": plain,
                        "horizon": horizon,
                        "block": block,
                        "trials": left,
                        "seed": spec.seed,
                        "recording": recording,
                    }
                    engine = engine_of(cell) if spec.engine == "auto" else spec.engine
                    yield (problem.title, a.title), cell | {"engine": engine}


def _trials(spec: Spec, problem: ProblemRow, algorithm: Algorithm) -> int:
    return min(t for t in (spec.trials, problem.trials, algorithm.trials) if t is not None)


SCAN_FROM = 50_000
"""Rounds of a cell, over its trials, from which compiling pays."""

_DIMENSION = 100
"""Entries of an action up to which a compiled round is clearly faster than one of NumPy."""


def engine_of(cell: dict[str, Any]) -> str:
    """The engine of a cell that leaves the choice open; a rule on the cell alone.

    The loop for an adversary that answers the actions, for a projection or a linear minimisation
    that takes a solver, and for a single short run; the scan for 50,000 rounds or more over the
    trials, in at most 100 dimensions, where JAX is installed and the algorithm compiles in a
    second or two (one that projects onto the feasible set, or onto a half-space for each of its
    rows, does where that set is a box); the batch for the rest.
    """
    problem, algorithm = cell["problem"], cell["algorithm"]
    arguments = problem["arguments"]
    if arguments.get("adversary") in ADAPTIVE:
        return "loop"
    needs = needs_of(KINDS[algorithm["name"]])
    inside = bool(needs.projections or needs.linear_minimisations)
    if inside and problem["name"] in _POLYTOPES:
        return "loop"
    rounds = cell["horizon"] * cell["trials"]
    exact = any(
        (algorithm.get(table) or {}).get("exact") is True for table in ("options", "parameters")
    )
    if (
        rounds >= SCAN_FROM
        and (problem["name"] in _BOXES or not (inside or algorithm["name"] == "SeveralPFS"))
        and not exact
        and _dimension(arguments) <= _DIMENSION
        and _has_jax()
    ):
        return "scan"
    return "batch" if cell["trials"] > 1 else "loop"


_POLYTOPES = ("random_polytope", "rotated_box")
"""Problems whose feasible set is projected onto by a solver."""

_BOXES = ("paper_toy", "binding_toy", "adversarial_cube")
"""Problems whose feasible set is a box, so that projecting onto it compiles like any other step."""


def _dimension(arguments: dict[str, Any]) -> int:
    if "shape" in arguments:
        rows, columns = arguments["shape"]
        return int(rows * columns)
    return int(arguments.get("dimension", 2))


@cache
def _has_jax() -> bool:
    return find_spec("jax") is not None


_NOT_NUMERIC = {
    *("adapters", "calibration", "cli", "controller", "experiments", "reports", "results"),
    *("testing", "_extras", "_sqlite"),
}
_PACKAGE = Path(__file__).parents[1]
_NUMERIC_HERE = ("cell", "grid", "registry", "seeds")


@cache
def sources_hash() -> str:
    """A hash of the sources that the numbers of a cell come from.

    Those are the modules that experiments rest on, with the four of this package that make and
    play a cell; a change of anything else leaves the address of every cell as it is.
    """
    found = [
        path
        for path in _PACKAGE.rglob("*.py")
        if path.relative_to(_PACKAGE).parts[0].removesuffix(".py") not in _NOT_NUMERIC
    ]
    found += [_PACKAGE / "experiments" / f"{name}.py" for name in _NUMERIC_HERE]
    digest = hashlib.sha256()
    for path in sorted(path for path in found if path.is_file()):
        # A checkout with other line endings is the same sources.
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()

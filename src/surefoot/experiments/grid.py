"""The cells of an experiment: what is played, addressed by content.

A cell is a problem, an algorithm, a horizon and a block of at most 30 trials. Its address is a
hash of that and of the numeric sources. Labels, order, other cells and the number of workers do
not enter, so a played cell is found again however the file has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from surefoot.core.types import needs_of
from surefoot.experiments._checks import trials_of
from surefoot.experiments.players import ALGORITHMS_BY_NAME
from surefoot.experiments.plugins import mark_of
from surefoot.experiments.problems import BLOCK, PROBLEMS, ProblemRow
from surefoot.experiments.record import Place
from surefoot.experiments.seeds import canonical
from surefoot.experiments.sources import sources_hash
from surefoot.experiments.spec import Spec
from surefoot.games.engine_choice import Declared, choose_declared

__all__ = ["Job", "cells_of", "engine_of", "placed", "rounds_of"]


class Job(NamedTuple):
    """A cell to be played.

    Attributes:
        label: what progress and notes call it.
        address: hash of ``spec`` and of the numeric sources, in hexadecimal.
        spec: plain data: problem (name, arguments), algorithm, horizon, block, trials, seed,
            engine ("auto" only with a plugin's parts), recording; the rows of a plugin have its
            name and hash under "plugin".
    """

    label: str
    address: str
    spec: dict[str, Any]

    @property
    def rounds(self) -> int:
        """Rounds over all trials."""
        return int(self.spec["horizon"]) * int(self.spec["trials"])

    @property
    def program(self) -> tuple[Any, ...]:
        """A key shared by cells that probably run the same compiled program."""
        algorithm = self.spec["algorithm"]
        base = (algorithm.get("base") or {}).get("name")
        size = self.spec["problem"]["arguments"].get("dimension")
        return algorithm["name"], algorithm.get("tuning"), base, size, self.spec["engine"]

    @property
    def family(self) -> tuple[Any, ...]:
        """A key shared by cells whose rounds take equally long."""
        return self.spec["problem"]["name"], *self.program


def cells_of(spec: Spec) -> Iterator[tuple[Place, Job]]:
    """Yield the cells with their places: by problem, horizon, block, then algorithm.

    Neighbours share a problem, its streams and its best action in hindsight. Where two places share
    a cell it comes twice.
    """
    for problem, algorithm, plain in _plain_cells(spec):
        yield placed(problem, algorithm, plain, canonical(plain))


def placed(problem: str, algorithm: str, spec: dict[str, Any], content: str) -> tuple[Place, Job]:
    """Return a cell with its place.

    Args:
        problem: its label.
        algorithm: its label.
        spec: of the cell.
        content: that the address is a hash of, with the numeric sources.
    """
    address = hashlib.sha256(f"{sources_hash()}\n{content}".encode()).hexdigest()
    horizon, block = spec["horizon"], spec["block"]
    label = f"{problem}: {algorithm}, T = {horizon}" + (f", block {block + 1}" if block else "")
    place = Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )
    return place, Job(label, address, spec)


def rounds_of(spec: Spec) -> int:
    """Return the rounds of all trials of all cells."""
    return sum(cell["horizon"] * cell["trials"] for *_, cell in _plain_cells(spec))


def _plain_cells(spec: Spec) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield titles of problem and algorithm, and the cell."""
    rows = [(a, _marked("algorithms", a.plain())) for a in spec.algorithms]
    for problem in spec.problems:
        named = _marked("problems", problem.plain())
        games = [
            (a.title, plain, set(a.horizons or spec.horizons), trials_of(spec, problem, a))
            for a, plain in rows
            if a.plays(problem.title)
        ]
        for horizon in sorted({h for *_, horizons, _ in games for h in horizons}):
            recording = spec.recording.of(horizon)
            here = [(title, plain, trials) for title, plain, hs, trials in games if horizon in hs]
            for block in range(-(-max(trials for *_, trials in here) // BLOCK)):
                for title, plain, trials in here:
                    left = min(trials - block * BLOCK, BLOCK)
                    if left < 1:
                        continue
                    auto = spec.engine == "auto"
                    engine = engine_of(problem, plain, horizon, left) if auto else spec.engine
                    cell = {
                        "problem": named,
                        "algorithm": plain,
                        "horizon": horizon,
                        "block": block,
                        "trials": left,
                        "seed": spec.seed,
                        "recording": recording,
                        "engine": engine,
                    }
                    yield problem.title, title, cell


def _marked(kind: Literal["problems", "algorithms"], plain: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the source of its plugin, where it is from one."""
    mark = mark_of(kind, plain["name"])
    inner = {"base": _marked(kind, plain["base"])} if "base" in plain else {}
    return {**plain, **inner, **({} if mark is None else {"plugin": mark})}


def engine_of(problem: ProblemRow, algorithm: dict[str, Any], horizon: int, trials: int) -> str:
    """Return the engine of a cell that leaves the choice open; a rule on the cell alone.

    Args:
        problem: what is played.
        algorithm: who plays, as plain data.
        horizon: rounds of a trial.
        trials: runs of the cell.
    """
    if "plugin" in algorithm or mark_of("problems", problem.name) is not None:
        return "auto"  # what a plugin has is known only when it is played
    given = {**(algorithm.get("options") or {}), **(algorithm.get("parameters") or {})}
    return choose_declared(
        Declared(
            needs=needs_of(ALGORITHMS_BY_NAME[algorithm["name"]]),
            shape=PROBLEMS[problem.name].shape,
            dimension=problem.entries,
            horizon=horizon,
            trials=trials,
            adaptive=problem.adaptive is not None,
            solver=given.get("exact") is True,
        )
    ).engine

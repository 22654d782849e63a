"""Plan the work: the cells of a specification that are not stored yet, and the time they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self, TypeAlias

from surefoot.experiments.grid import Job
from surefoot.experiments.record import CellResult, Place, Status
from surefoot.experiments.store import Results, StoreError

__all__ = ["COMPILE_SECONDS", "FINISHED", "START_SECONDS", "Jobs", "Pace", "Plan", "pending"]

FINISHED: tuple[Status, ...] = ("done", "refused")
"""Statuses of cells that need not be played again."""

NOTES = 20
"""Show at most this many notes of a kind; count the rest."""

_WINDOW = 1_000  # cells that are put in order at once: all of them may not fit in memory


Jobs: TypeAlias = Callable[[], Iterator[tuple[Place, Job]]]
"""Yields a job for every place of an experiment; called more than once, since they may be many."""


@dataclass(slots=True)
class Plan:
    """The cells of a specification, by address only, since there may be very many.

    Attributes:
        places: of all cells.
        cells: how many different cells there are.
        skip: addresses of those that need not be played.
        rounds: of all cells, over all trials.
        rounds_there: of those that need not be played.
        notes: what was mended or damaged, the first few.
    """

    places: list[Place]
    cells: int
    skip: set[str]
    rounds: int
    rounds_there: int
    notes: list[str]

    @classmethod
    def of(cls, jobs: Jobs, results: Results, *, force: bool) -> Self:
        """Return what is to be played, given what is there."""
        have = {} if force else results.have()
        damaged = {} if force else results.damaged()
        notes = []
        places, skip, seen = [], set(), set()
        rounds = there = 0
        for place, job in jobs():
            places.append(place)
            if job.address in seen:
                continue
            seen.add(job.address)
            rounds += job.rounds
            if job.address in damaged:
                notes.append(f"{job.label}: was damaged, and played again: {damaged[job.address]}")
            elif have.get(job.address) in FINISHED:
                skip.add(job.address)
                there += job.rounds
        return cls(places, len(seen), skip, rounds, there, first_few(notes, len(notes)))

    @property
    def missing(self) -> int:
        """The number of cells to play."""
        return self.cells - len(self.skip)


def first_few(notes: list[str], count: int) -> list[str]:
    """Return the first notes, with a last one that counts the rest.

    Args:
        notes: at least as many as are shown.
        count: how many there are in all.
    """
    shown = notes[:NOTES]
    return [*shown, f"and {count - len(shown)} more"] if count > len(shown) else shown


def pending(jobs: Jobs, plan: Plan) -> Iterator[Job]:
    """Yield what is to be played, each cell once; in a window, equal programs in a row."""
    seen = set(plan.skip)

    def fresh() -> Iterator[Job]:
        for _, job in jobs():
            if job.address not in seen:
                seen.add(job.address)
                yield job

    waiting = fresh()
    while window := list(islice(waiting, _WINDOW)):
        rank: dict[tuple[Any, ...], int] = {}
        for job in window:
            rank.setdefault(job.program, len(rank))
        yield from sorted(window, key=lambda job: rank[job.program])


# --- how long it takes ----------------------------------------------------------------------------

COMPILE_SECONDS = 1.0
"""A compiled program, for each worker that meets it."""

START_SECONDS = 2.0
"""A pool of processes, until it plays."""


class Pace:
    """The seconds that a cell takes."""

    def __init__(self) -> None:
        self._ratio: dict[tuple[Any, ...], float] = {}

    @property
    def known(self) -> bool:
        """Whether anything was measured."""
        return bool(self._ratio)

    def seconds(self, job: Job) -> float:
        """Return what a cell is expected to take, once compiled."""
        return _usual(job) * self._ratio.get(job.family, 1.0)

    def learn(self, job: Job, result: CellResult) -> None:
        """Record the time that a cell took."""
        took = result.provenance.get("microseconds_a_round")
        if took is not None:
            self._ratio[job.family] = 1e-6 * float(took) * job.rounds / _usual(job)

    def learn_from(self, results: Results, addresses: Sequence[str], most: int = 200) -> None:
        """Record the times of some of the stored cells."""
        for address in addresses[:: max(1, len(addresses) // most)]:
            try:
                cell = results.get(address)
            except StoreError:
                continue
            self.learn(Job("", address, cell.spec), cell)


def _usual(job: Job) -> float:
    """Return seconds for the paper's toy, on a machine of 2025."""
    rounds, engine = job.rounds, job.spec["engine"]
    if engine == "loop":
        return 2e-5 * rounds
    if engine in ("batch", "auto"):
        return 8e-5 * int(job.spec["horizon"]) + 1e-7 * rounds
    return 1e-3 + 6e-8 * rounds

"""Plan the work: the cells of a specification that are not stored yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Self, TypeAlias

from surefoot.experiments.grid import cells_of
from surefoot.experiments.spec import Spec
from surefoot.results import Place, Results, Status

__all__ = ["FINISHED", "Job", "Jobs", "Plan", "job_of", "jobs_of", "pending"]

FINISHED: tuple[Status, ...] = ("done", "refused")
"""Statuses of cells that need not be played again."""

NOTES = 20
"""Show at most this many notes of a kind; count the rest."""

_WINDOW = 1_000  # cells that are put in order at once: all of them may not fit in memory


class Job(NamedTuple):
    """A cell to be played."""

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


Jobs: TypeAlias = Callable[[], Iterator[tuple[Place, Job]]]
"""Yields a job for every place of an experiment; called more than once, since they may be many."""


def jobs_of(spec: Spec) -> Iterator[tuple[Place, Job]]:
    """Yield a job for every place, also where two places share a cell."""
    for place, cell in cells_of(spec):
        yield place, job_of(place, cell.spec)


def job_of(place: Place, spec: dict[str, Any]) -> Job:
    """Return the job of a place."""
    label = f"{place.problem}: {place.algorithm}, T = {place.horizon}"
    if place.block:
        label += f", block {place.block + 1}"
    return Job(label, place.address, spec)


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
        notes = [results.mended] if results.mended else []
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

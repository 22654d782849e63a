"""Run a specification: play the missing cells once and store results as they arrive.

Only the driver writes; workers receive plain data and return plain data. A driver may be stopped or
killed at any moment: the cells in the file are complete, and the next run plays the rest.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.errors import DamagedError, StoreError
from surefoot.core.optional import MissingExtraError
from surefoot.experiments.cache import TOLERANCE
from surefoot.experiments.cells import Job, cells_of
from surefoot.experiments.executors import RunError, cores, make_workers
from surefoot.experiments.extras import Missing, missing_extras
from surefoot.experiments.play_cell import play_cells, versions
from surefoot.experiments.plugins import loaded
from surefoot.experiments.problems import build_problem
from surefoot.experiments.record import FILE_NAME, CellResult, Place, Status, time_now
from surefoot.experiments.specification import Spec
from surefoot.experiments.store import Results
from surefoot.experiments.sweep import FINISHED, Event, Stop, Sweep, first_few
from surefoot.experiments.toml import dump_spec
from surefoot.kernel.games import is_available
from surefoot.problems.hindsight import has_closed_form

_WINDOW = 1_000  # cells that are put in order at once: all of them may not fit in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run.

    Attributes:
        folder: where the results are.
        cells: how many there are in the specification.
        done: played now.
        skipped: there before.
        refused: by a theorem or a constructor, now.
        failed: ended by an error.
        set_aside: killed their worker twice.
        seconds: wall time.
        interrupted: whether it was stopped before its end.
        notes: what was damaged or failed and why, the first few of each.
    """

    folder: Path
    cells: int
    done: int
    skipped: int
    refused: int
    failed: int
    set_aside: int
    seconds: float
    interrupted: bool
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """The cells of a specification, by address only, since there may be very many.

    Attributes:
        places: of all cells.
        cells: how many different cells there are.
        skip: addresses of those that need not be played.
        rounds: of all cells, over all trials.
        rounds_there: of those that need not be played.
        notes: what was damaged, the first few.
    """

    places: list[Place]
    cells: int
    skip: set[str]
    rounds: int
    rounds_there: int
    notes: list[str]


def plan_missing(spec: Spec, results: Results, *, force: bool) -> Plan:
    """Return what is to be played, given what is there."""
    damaged = {} if force else results.damaged()
    have = {} if force else results.have()
    notes, places, skip, seen = [], [], set(), set()
    rounds = there = 0
    for place, job in cells_of(spec):
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
    return Plan(places, len(seen), skip, rounds, there, first_few(notes, len(notes)))


def pending(spec: Spec, skip: set[str]) -> Iterator[Job]:
    """Yield what is to be played, each cell once; in a window, equal programs in a row."""
    seen = set(skip)

    def fresh() -> Iterator[Job]:
        for _, job in cells_of(spec):
            if job.address not in seen:
                seen.add(job.address)
                yield job

    waiting = fresh()
    while window := list(islice(waiting, _WINDOW)):
        rank: dict[tuple[Any, ...], int] = {}
        for job in window:
            rank.setdefault(job.program, len(rank))
        yield from sorted(window, key=lambda job: rank[job.program])


def run(
    spec: Spec,
    folder: str | Path,
    *,
    text: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    executor: Executor | None = None,
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
    _work: Callable[..., list[CellResult]] = play_cells,
) -> Outcome:
    """Play what a specification describes and is not in the folder yet.

    The results do not depend on the number of workers, on where they are, on how often a run was
    stopped or killed and begun again. Ctrl-C and SIGTERM end a run with what is done; the second
    Ctrl-C does not wait for the cell that this process is playing.

    Args:
        spec: the experiment.
        folder: for the results; made if it is not there.
        text: the specification as the user wrote it, to be kept with the results.
        workers: processes; 0 plays in this one, None is one per processor.
        cluster: address of a dask scheduler to play on instead; its certificates and timeouts are
            those of dask's own configuration.
        executor: any executor to play by instead; it is not shut down.
        force: play again what is there.
        progress: called after each cell.

    Raises:
        StoreError: the folder is in use by another run, holds other files, or its disk is full.
        RunError: an extra is not installed, a worker has other code, or none can be started.
    """
    began, folder = time.perf_counter(), Path(folder)
    if cluster is None and executor is None and (missing := missing_extras(spec)):
        told = "; ".join(map(str, missing))
        raise RunError(f"nothing was run: missing optional dependency. {told}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{folder}' cannot be made: {error.strerror}") from error
    with Results.write(folder / FILE_NAME) as results, Stop() as stop:
        plan = plan_missing(spec, results, force=force)
        created = now = time_now()
        with suppress(DamagedError):  # written anew
            created = results.header().get("created", now)
        results.set_plan(plan.places)
        results.set_header(
            name=spec.name,
            seed=spec.seed,
            specification=dump_spec(spec) if text is None else text,
            data=spec.data,
            plugins=[plugin.name for plugin in loaded()],
            versions=versions(),
            created=created,
            updated=now,
        )
        before = Event(len(plan.skip), plan.cells, plan.rounds_there, plan.rounds, "")
        sweep = Sweep(results.put, before, stop, progress, _work)
        sweep.report_progress(before)
        if len(plan.skip) < plan.cells and not stop.asked:
            where = make_workers(workers, cluster=cluster, executor=executor)
            try:
                sweep.play(pending(spec, plan.skip), where)
            finally:
                where.close()
    counts = sweep.counts
    return Outcome(
        folder=folder,
        cells=plan.cells,
        done=counts["done"],
        skipped=len(plan.skip),
        refused=counts["refused"],
        failed=counts["failed"],
        set_aside=counts["set aside"],
        seconds=time.perf_counter() - began,
        interrupted=stop.asked and sweep.now.done < plan.cells,
        notes=[*plan.notes, *sweep.notes()],
    )


# --- how long it takes ----------------------------------------------------------------------------

COMPILE_SECONDS = 1.0
"""A compiled program, for each worker that meets it."""

START_SECONDS = 2.0
"""A pool of processes, until it plays."""

_TRIED = 2_000
"""Rounds of one trial whose best action is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would cost.

    Attributes:
        cells: how many there are in the specification.
        present: of them, those that need not be played.
        rounds: to be played, over all trials.
        seconds: wall time on this machine.
        basis: what the time is taken from.
        missing: extras that are not installed, without which nothing is played.
    """

    cells: int
    present: int
    rounds: int
    seconds: float
    basis: str
    missing: list[Missing] = field(default_factory=list)


def estimate(spec: Spec, folder: str | Path, *, workers: int | None = None) -> Estimate:
    """Return what a run would take; nothing is played and nothing written.

    The time of a round comes from the cells that are there already where there are some, else from
    what the engines usually take; that of a best action in hindsight is measured on a short trial.

    Args:
        spec: the experiment.
        folder: of its results.
        workers: processes; one per processor unless given.
    """
    path, ratio = Path(folder) / FILE_NAME, dict[tuple[Any, ...], float]()
    have: dict[str, Status] = {}
    if path.exists():
        with Results.open(path) as results:
            have = results.have()
            ratio = _measured(results, [a for a, status in have.items() if status == "done"])
    present = rounds = 0
    seen, programs, streams = set(), set(), defaultdict[str, set[tuple[int, int, int]]](set)
    seconds = 0.0
    for place, job in cells_of(spec):
        if job.address in seen:
            continue
        seen.add(job.address)
        if have.get(job.address) in FINISHED:
            present += 1
            continue
        rounds += job.rounds
        seconds += _usual(job) * ratio.get(job.family, 1.0)
        if job.spec["engine"] == "scan":
            programs.add(job.program)
        streams[place.problem].add((place.horizon, place.block, job.spec["trials"]))
    for problem in spec.problems:
        numbers = sum(horizon * trials for horizon, _, trials in streams[problem.title])
        seconds += numbers * _seconds_of_best(problem.plain()) if numbers else 0.0
    seconds += COMPILE_SECONDS * len(programs)
    seconds /= max(1, cores() if workers is None else workers)
    return Estimate(
        cells=len(seen),
        present=present,
        rounds=rounds,
        seconds=seconds + (START_SECONDS if rounds and workers != 0 else 0.0),
        basis="the cells that are there" if ratio else "what the engines usually take",
        missing=missing_extras(spec),
    )


def _measured(
    results: Results, addresses: list[str], most: int = 200
) -> dict[tuple[Any, ...], float]:
    """Return what some of the stored cells took, in units of what is usual, by their families."""
    found = {}
    for address in addresses[:: max(1, len(addresses) // most)]:
        with suppress(StoreError):
            cell = results.get(address)
            job, took = Job("", address, cell.spec), cell.provenance.get("microseconds_a_round")
            if took is not None:
                found[job.family] = 1e-6 * float(took) * job.rounds / _usual(job)
    return found


def _seconds_of_best(problem: dict[str, Any]) -> float:
    """Return the seconds that a round of a trial adds to finding the best action in hindsight."""
    try:
        made = build_problem(problem, _TRIED, 1, 0, 0)
        if has_closed_form(made.costs, made.benchmark.region):
            return 0.0
        began = time.perf_counter()
        made.best_after(np.array([_TRIED]), made.costs, TOLERANCE)
        return (time.perf_counter() - began) / _TRIED
    except (MissingExtraError, ValueError):  # what is missing or refused is told elsewhere
        return 0.0


def _usual(job: Job) -> float:
    """Return seconds for the paper's toy, on a machine of 2025."""
    rounds, engine = job.rounds, job.spec["engine"]
    if engine == "loop":
        return 2e-5 * rounds
    if engine == "batch" or (engine == "auto" and not is_available()):
        return 8e-5 * int(job.spec["horizon"]) + 1e-7 * rounds
    return 1e-3 + 6e-8 * rounds

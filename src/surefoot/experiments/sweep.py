"""Run a specification: play the missing cells once and store results as they arrive.

Only the driver writes; workers receive plain data and return plain data. A driver may be stopped or
killed at any moment: the cells in the file are complete, and the next run plays the rest. If a
worker dies, its cells are played again; a cell that kills two workers is set aside.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

import numpy as np

from surefoot.core.errors import DamagedError
from surefoot.core.optional import MissingExtraError, need
from surefoot.core.types import needs_of
from surefoot.experiments import record
from surefoot.experiments.build import ALGORITHMS_BY_NAME, build_problem, list_plugins
from surefoot.experiments.cells import (
    TOLERANCE,
    Job,
    OtherCodeError,
    Parts,
    canonical,
    cells_of,
    fingerprint,
    make_parts,
    play_cells,
    play_for,
    time_now,
    versions,
)
from surefoot.experiments.executors import RunError, Workers, cores, make_workers
from surefoot.experiments.specification import Spec
from surefoot.experiments.store import Results
from surefoot.experiments.toml import dump_spec
from surefoot.games import play
from surefoot.kernel.games import is_available
from surefoot.problems.hindsight import has_closed_form

FINISHED: tuple[record.Status, ...] = ("done", "rejected")
"""Statuses of cells that need not be played again."""

# Neighbours, which share streams and the best action, are handed over together; few enough to lose.
_CHUNK_CELLS, _CHUNK_ROUNDS = 16, 3_000_000
_LOOK_SECONDS = 0.1


class Event(NamedTuple):
    """How far a run has come, reported after each cell.

    Attributes:
        done: cells that need no more work, those that were there before included.
        total: cells of the specification.
        rounds_done: rounds of those, over all trials.
        rounds_total: rounds of all.
        label: the cell that was last.
    """

    done: int
    total: int
    rounds_done: int
    rounds_total: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run.

    Attributes:
        folder: where the results are.
        cells: how many there are in the specification.
        done: played now.
        skipped: there before.
        rejected: not played now: a theorem does not apply, or a constructor rejects parameters.
        failed: ended by an error.
        set_aside: killed their worker twice.
        seconds: wall time.
        interrupted: whether it was stopped before its end.
        notes: what was damaged or failed and why.
    """

    folder: Path
    cells: int
    done: int
    skipped: int
    rejected: int
    failed: int
    set_aside: int
    seconds: float
    interrupted: bool
    notes: list[str] = field(default_factory=list)


@dataclass
class Sweep:
    """Hand out chunks of cells, a few at a time, and store the results.

    Attributes:
        put: stores a cell.
        now: how far the run is.
        stop: whether it is to end.
        progress: called after each cell.
        work: plays some cells.
        counts: the number of cells by status.
    """

    put: Callable[[record.CellResult], None]
    now: Event
    stop: Stop
    progress: Callable[[Event], None] | None
    work: Callable[..., list[record.CellResult]]
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._before, self._began = self.now.done, time.perf_counter()
        self._flying: dict[Future[list[record.CellResult]], list[Job]] = {}
        # To be played one by one: a worker died with them, or their chunk failed.
        self._alone: deque[Job] = deque()
        self._deaths: Counter[str] = Counter()
        self._notes: list[str] = []

    def outcome(self, folder: Path, notes: Sequence[str] = ()) -> Outcome:
        """Return the result of the run.

        Args:
            folder: where the results are.
            notes: of damaged cells.
        """
        return Outcome(
            folder=folder,
            cells=self.now.total,
            done=self.counts["done"],
            skipped=self._before,
            rejected=self.counts["rejected"],
            failed=self.counts["failed"],
            set_aside=self.counts["set aside"],
            seconds=time.perf_counter() - self._began,
            interrupted=self.stop.asked and self.now.done < self.now.total,
            notes=[*notes, *self._notes],
        )

    def play(self, jobs: Iterator[Job], workers: Workers) -> None:
        """Play all of them, or until it is to stop."""
        self._workers = workers
        chunks = self._chunks(jobs)
        try:
            while not self.stop.asked:
                self._hand_out(chunks)
                if not self._flying:
                    return
                finished, _ = wait(self._flying, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                self._take_in(finished)
            self._take_in([f for f in self._flying if f.done()], mend=False)
            workers.stop()
        except KeyboardInterrupt:
            self.stop.asked = True
            workers.stop()
        except BaseException:
            workers.stop()
            raise

    def _chunks(self, jobs: Iterator[Job]) -> Iterator[list[Job]]:
        """Yield neighbours, as many as are worth handing over at once."""
        missing = self.now.total - self.now.done
        most = min(_CHUNK_CELLS, missing // (2 * self._workers.width) + 1)
        chunk: list[Job] = []
        for job in jobs:
            rounds = sum(other.rounds for other in chunk)
            full = len(chunk) >= (most if self._workers.chunks else 1) or rounds > _CHUNK_ROUNDS
            if chunk and full:
                yield chunk
                chunk = []
            chunk.append(job)
        if chunk:
            yield chunk

    def _hand_out(self, chunks: Iterator[list[Job]]) -> None:
        """Submit until every worker has work in hand and work in waiting."""
        while not self.stop.asked and len(self._flying) < self._workers.width:
            if self._alone:
                # One suspect at a time: if the worker dies again, this cell caused it.
                if not self._flying:
                    self._submit([self._alone.popleft()])
                return
            chunk = next(chunks, None)
            if chunk is None:
                return
            self._submit(chunk)

    def _submit(self, chunk: list[Job]) -> None:
        cells = [(job.address, job.spec) for job in chunk]
        try:
            future = self._workers.submit(play_for, fingerprint(), list_plugins(), self.work, cells)
        except self._workers.deaths:
            self._alone.extend(chunk)  # it broke a moment ago, before these had begun
            self._mend()
            return
        self._flying[future] = chunk

    def _take_in(self, finished: Collection[Any], *, mend: bool = True) -> None:
        """Write the results that arrived."""
        died = False
        for future in [f for f in self._flying if f in finished]:  # in the order of submission
            died |= self._take(future)
            if self.stop.asked and not self._workers.chunks:
                return
        if died and mend:
            self._mend()

    def _take(self, future: Future[list[record.CellResult]]) -> bool:
        """Write one chunk; return whether its worker died."""
        chunk = self._flying.pop(future)
        try:
            played = future.result()
        except self._workers.deaths:
            self._count_death(chunk)
            return True
        except CancelledError as error:
            raise RunError("the workers were lost; finished cells are stored") from error
        except (OtherCodeError, MissingExtraError) as error:
            raise RunError(str(error)) from error
        except Exception as error:
            if len(chunk) > 1:
                self._alone.extend(chunk)
            else:
                self._give_up(chunk[0], "failed", f"{type(error).__name__}: {error}")
            return False
        for job, result in zip(chunk, played, strict=True):
            self._put(job, result)
        return False

    def _mend(self) -> None:
        """Collect the chunks that one death failed, and start the workers again."""
        if self._workers.shared_fate:
            wait(self._flying)
            for future in list(self._flying):
                self._take(future)
        self._workers.renew()

    def _count_death(self, chunk: list[Job]) -> None:
        """Count the death of a worker; a cell that ended two workers by itself is set aside."""
        for job in chunk:
            self._deaths[job.address] += 1
            if len(chunk) == 1 and self._deaths[job.address] >= 2:
                self._give_up(job, "set aside", "killed its worker twice")
            else:
                self._alone.append(job)

    def _give_up(self, job: Job, status: record.Status, note: str) -> None:
        """Write that a cell has no result."""
        provenance: record.Provenance = {"finished": time_now(), "versions": versions()}
        result = record.CellResult(
            address=job.address, spec=job.spec, status=status, note=note, provenance=provenance
        )
        self._put(job, result)

    def _put(self, job: Job, result: record.CellResult) -> None:
        self.put(result)
        self.counts[result.status] += 1
        if result.status not in FINISHED:
            self._notes.append(f"{job.label}: {result.status}: {result.note}")
        self.report_progress(
            self.now._replace(
                done=self.now.done + 1,
                rounds_done=self.now.rounds_done + job.rounds,
                label=job.label,
            )
        )

    def report_progress(self, now: Event) -> None:
        """Report how far the run has come."""
        self.now = now
        if self.progress is not None:
            self.progress(now)


class Stop:
    """Whether the user has asked to stop, by Ctrl-C or SIGTERM, inside the ``with`` block.

    The first request only sets ``asked``, and so cannot interrupt a write; the second interrupts.
    """

    def __init__(self) -> None:
        self.asked: bool = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def _find_finished(results: Results, jobs: Mapping[str, Job]) -> tuple[set[str], list[str]]:
    """Return which cells need not be played, and what was damaged."""
    damaged, have = results.damaged(), results.have()
    notes = [
        f"{jobs[a].label}: was damaged, and played again: {why}"
        for a, why in damaged.items()
        if a in jobs
    ]
    return {a for a in jobs if have.get(a) in FINISHED and a not in damaged}, notes


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
    _work: Callable[..., list[record.CellResult]] = play_cells,
) -> Outcome:
    """Play the cells of a specification that the folder does not have yet.

    The results do not depend on the number of workers, on where they run, or on how often a run was
    stopped and continued. Ctrl-C and SIGTERM end a run and keep its finished cells; the second
    Ctrl-C does not wait for the cell that this process plays.

    Args:
        spec: the experiment.
        folder: for the results; made if it is not there.
        text: the specification as the user wrote it, stored with the results.
        workers: processes; 0 plays in this one, None is one per processor.
        cluster: address of a dask scheduler to play on instead; its certificates and timeouts are
            those of dask's configuration.
        executor: any executor to play by instead; it is not shut down.
        force: play again what the folder has.
        progress: called after each cell.

    Raises:
        StoreError: another run uses the folder, it holds other files, or its disk is full.
        RunError: an extra is not installed, a worker has other code, or none can be started.
    """
    folder, cells = Path(folder), list(cells_of(spec))
    is_local = cluster is None and executor is None
    if is_local and (missing := missing_extras(cells, spec.engine)):
        raise RunError(f"nothing was run: missing optional dependency. {'; '.join(missing)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{folder}' cannot be made: {error.strerror}") from error
    jobs = {job.address: job for _, job in cells}
    with Results.write(folder / record.FILE_NAME) as results, Stop() as stop:
        skip, notes = (set[str](), list[str]()) if force else _find_finished(results, jobs)
        created = now = time_now()
        with suppress(DamagedError):  # written anew
            created = results.header().get("created", now)
        results.set_plan([place for place, _ in cells])
        results.set_header(
            name=spec.name,
            seed=spec.seed,
            specification=dump_spec(spec) if text is None else text,
            data=spec.data,
            plugins=[plugin.name for plugin in list_plugins()],
            versions=versions(),
            created=created,
            updated=now,
        )
        rounds = {address: job.rounds for address, job in jobs.items()}
        rounds_present = sum(rounds[address] for address in skip)
        before = Event(len(skip), len(jobs), rounds_present, sum(rounds.values()), "")
        sweep = Sweep(results.put, before, stop, progress, _work)
        sweep.report_progress(before)
        if len(skip) < len(jobs) and not stop.asked:
            where = make_workers(workers, cluster=cluster, executor=executor)
            try:
                sweep.play((job for a, job in jobs.items() if a not in skip), where)
            finally:
                where.close()
    return sweep.outcome(folder, notes)


# --- what is not installed ------------------------------------------------------------------------

_SOLVERS = ("scipy", "daqp", "qpsolvers", "piqp")


def missing_extras(
    cells: Iterable[tuple[record.Place, Job]],
    engine: str,
    parts: Callable[[record.CellSpec], Parts] = make_parts,
) -> list[str]:
    """Return what is not installed and needed, each with the rows that need it.

    Whether a cell needs a solver depends on the geometry of the problem's set and on what the
    algorithm asks of it. So each pair of a problem and an algorithm plays two rounds, with its
    regret; only if something is not installed.

    Args:
        cells: with their places.
        engine: by which they are to be played.
        parts: makes problem and player of a cell.

    Example:
        >>> from surefoot.experiments import parse_spec
        >>> from surefoot.experiments.toml import starter
        >>> missing_extras(cells_of(parse_spec(starter("first"))), "auto")
        []
    """
    needed = (*_SOLVERS, "jax") if engine == "scan" else _SOLVERS
    if all(find_spec(name) is not None for name in needed):
        return []
    pairs: dict[str, record.CellSpec] = {}
    for place, job in cells:
        pairs.setdefault(f"{place.algorithm} on {place.problem}", job.spec)
    rows_by_sentence: dict[str, list[str]] = {}
    for pair, spec in pairs.items():
        try:
            _try_two_rounds(spec, parts)
        except MissingExtraError as error:
            rows_by_sentence.setdefault(str(error), []).append(pair)
        except Exception:  # another error belongs to the cell, and is reported with it
            continue
    return [f"{sentence} ({list_some(rows)})" for sentence, rows in rows_by_sentence.items()]


def _try_two_rounds(spec: record.CellSpec, parts: Callable[[record.CellSpec], Parts]) -> None:
    """Play two rounds and find the best action; raise for a missing extra."""
    if spec["engine"] == "scan":
        need("jax", "jax", "the scan engine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem, player, *_ = parts({**spec, "trials": 1})
        rounds = min(2, spec["horizon"])
        trace = play(player, problem, horizon=rounds, engine="loop", watch="off")
        problem.best_after(np.array([rounds]), trace.costs(), TOLERANCE)


def list_some(names: Sequence[str]) -> str:
    """Return three names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


# --- how long it takes ----------------------------------------------------------------------------

START_SECONDS = 2.0
"""Seconds until a pool of processes plays."""

_TRIED = 2_000
"""Rounds of one trial whose best action is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would cost.

    Attributes:
        cells: how many there are in the specification.
        present: of them, those that need not be played.
        rounds: to be played, over all trials.
        seconds: wall time on a usual machine.
        missing: extras that are not installed, without which nothing is played.
    """

    cells: int
    present: int
    rounds: int
    seconds: float
    missing: list[str] = field(default_factory=list)


def estimate(spec: Spec, folder: str | Path, *, workers: int | None = None) -> Estimate:
    """Return the cost of a run; nothing is played and nothing written.

    The time of a round is what the engines usually take; that of a best action in hindsight is
    measured on a short trial.

    Args:
        spec: the experiment.
        folder: of its results.
        workers: processes; one per processor unless given.
    """
    path, have = Path(folder) / record.FILE_NAME, dict[str, record.Status]()
    if path.exists():
        with Results.open(path) as results:
            have = results.have()
    cells = list(cells_of(spec))
    jobs = {job.address: job for _, job in cells}
    todo = [job for address, job in jobs.items() if have.get(address) not in FINISHED]
    # A best action is found once for each problem, horizon and block of trials.
    games = {(canonical(j.spec["problem"]), j.spec["horizon"], j.spec["block"]): j for j in todo}
    best = sum(job.rounds * _seconds_of_best(problem) for (problem, *_), job in games.items())
    seconds = (sum(map(_usual, todo)) + best) / max(1, cores() if workers is None else workers)
    return Estimate(
        cells=len(jobs),
        present=len(jobs) - len(todo),
        rounds=sum(job.rounds for job in todo),
        seconds=seconds + (START_SECONDS if todo and workers != 0 else 0.0),
        missing=missing_extras(cells, spec.engine),
    )


@cache
def _seconds_of_best(problem: str) -> float:
    """Return the seconds that a round of a trial adds to finding the best action in hindsight."""
    try:
        sample = build_problem(json.loads(problem), _TRIED, 1, 0, 0)
        if has_closed_form(sample.costs, sample.benchmark.region):
            return 0.0
        began = time.perf_counter()
        sample.best_after(np.array([_TRIED]), sample.costs, TOLERANCE)
        return (time.perf_counter() - began) / _TRIED
    except (MissingExtraError, ValueError):  # reported elsewhere
        return 0.0


def _usual(job: Job) -> float:
    """Return seconds for the paper's toy, on a machine of 2025."""
    rounds, engine = job.rounds, job.spec["engine"]
    if engine == "loop":
        return 2e-5 * rounds
    if engine == "batch" or (engine == "auto" and not is_available()):
        return 8e-5 * int(job.spec["horizon"]) + 1e-7 * rounds
    rule = ALGORITHMS_BY_NAME[str(job.spec["algorithm"]["name"])]
    return 1e-3 + (2e-6 if "K" in needs_of(rule).work else 6e-8) * rounds  # K faces are remembered

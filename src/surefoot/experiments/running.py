"""Running a specification: what is missing is played, written as it arrives, and never twice.

One driver writes; workers are given plain data and give it back. A driver may be stopped or killed
at any moment: what is in the file is whole, and the next run plays the rest.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

from surefoot._sqlite import StoreError
from surefoot.errors import SurefootError
from surefoot.experiments.cell import (
    OtherSourcesError,
    fingerprint,
    play_cells,
    play_checked,
    versions,
)
from surefoot.experiments.executors import (
    ClusterError,
    Tls,
    Workers,
    checked_address,
    cores,
    make_executor,
)
from surefoot.experiments.grid import cells_of
from surefoot.experiments.reading import dump_spec
from surefoot.experiments.spec import Spec
from surefoot.results import CellResult, Place, Results, Status

__all__ = ["Estimate", "Event", "Outcome", "RunError", "estimate", "run"]

RESULTS = "results.sqlite"
_GOOD: tuple[Status, ...] = ("done", "refused")
_NOTES = 20

# A chunk of neighbours: long enough that handing it over costs nothing, short enough to lose.
_CHUNK_CELLS, _CHUNK_SECONDS, _WORTH_SECONDS = 64, 1.0, 0.2
# A compiled program is compiled by each worker that meets it: better by few.
_SCAN_CHUNK_SECONDS, _COMPILE_SECONDS = 4.0, 1.0
_START_SECONDS = 2.0
_WINDOW = 1_000  # cells that are put in order at once: there may be more than fit in memory
_LOOK_SECONDS = 0.1


class RunError(SurefootError, RuntimeError):
    """A run that cannot go on; the message says why, and what is done is kept."""


class Event(NamedTuple):
    """How far a run is, told after each cell.

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
    """What came of a run.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would take.

    Attributes:
        cells: how many there are in the specification.
        present: of them, those that need not be played.
        rounds: to be played, over all trials.
        seconds: wall time on this machine; None where nothing is known.
        basis: what the time is taken from.
    """

    cells: int
    present: int
    rounds: int
    seconds: float | None
    basis: str


def estimate(spec: Spec, folder: Path, *, workers: int | None = None) -> Estimate:
    """What a run would take; nothing is played and nothing written.

    The time comes from the cells that are there already where there are some, else from what the
    engines usually take; it does not know of solvers that have not been met.

    Args:
        spec: the experiment.
        folder: of its results.
        workers: processes; one for each processor unless given.
    """
    path, pace = Path(folder) / RESULTS, _Pace()
    have: dict[str, Status] = {}
    if path.exists():
        with Results.open(path) as results:
            have = results.have()
            _learn(pace, results, [a for a, status in have.items() if status == "done"])
    present = rounds = 0
    seen: set[str] = set()
    work, programs = 0.0, set()
    for _, job in _jobs(spec):
        if job.address in seen:
            continue
        seen.add(job.address)
        if have.get(job.address) in _GOOD:
            present += 1
            continue
        rounds += job.rounds
        work += pace.seconds(job)
        if job.spec["engine"] == "scan":
            programs.add(job.program)
    processes = max(1, cores() if workers is None else workers)
    work += _COMPILE_SECONDS * len(programs)
    seconds = work / processes + (_START_SECONDS if rounds and workers != 0 else 0.0)
    basis = "the cells that are there" if pace.known else "what the engines usually take"
    return Estimate(cells=len(seen), present=present, rounds=rounds, seconds=seconds, basis=basis)


def run(
    spec: Spec,
    folder: Path,
    *,
    text: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    insecure: bool = False,
    tls: Tls | tuple[Path, Path, Path] | None = None,
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
    _work: Callable[..., list[CellResult]] = play_cells,
    _max_pages: int | None = None,
) -> Outcome:
    """Play what a specification describes and is not in the folder yet.

    The results do not depend on the number of workers, on where they are, on how often a run was
    stopped or killed and begun again. Ctrl-C and SIGTERM end a run with what is done; the second
    Ctrl-C does not wait for the cell that this process is playing.

    Args:
        spec: the experiment.
        folder: for the results; made if it is not there.
        text: the specification as the user wrote it, to be kept with the results.
        workers: processes; 0 plays in this one, None is one for each processor.
        cluster: address of a dask scheduler to play on instead.
        insecure: whether a remote cluster may be spoken to without TLS.
        tls: files to speak TLS with: authority, certificate, key.
        force: play again what is there.
        progress: called after each cell.

    Raises:
        StoreError: the folder is in use by another run, is not ours, or its disk is full.
        ClusterError: the cluster may not be used, does not answer, or was lost.
        RunError: a worker has other code, or none can be started.
    """
    began = time.perf_counter()
    tls = None if tls is None else Tls(*tls)
    if cluster is not None:
        checked_address(cluster, insecure=insecure, tls=tls)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{folder}' cannot be made: {error.strerror}") from error
    with Results.write(folder / RESULTS, max_pages=_max_pages) as results, _Stop() as stop:
        plan = _Plan.of(spec, results, force=force)
        _describe(results, spec, text, plan)
        sweep = _Sweep(results, plan, stop, progress, _work)
        sweep.tell()
        if plan.missing and not stop.asked:
            with make_executor(workers, cluster=cluster, insecure=insecure, tls=tls) as executor:
                sweep.play(_pending(spec, plan), executor)
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
        interrupted=stop.asked and sweep.done < plan.cells,
        notes=[*plan.mended, *sweep.told()],
    )


# --- what there is to do --------------------------------------------------------------------------


class _Job(NamedTuple):
    """A cell to be played."""

    label: str
    address: str
    spec: dict[str, Any]

    @property
    def rounds(self) -> int:
        return int(self.spec["horizon"]) * int(self.spec["trials"])

    @property
    def program(self) -> tuple[Any, ...]:
        """Cells that may well run the same compiled program."""
        algorithm = self.spec["algorithm"]
        base = (algorithm.get("base") or {}).get("name")
        size = self.spec["problem"]["arguments"].get("dimension")
        return algorithm["name"], algorithm.get("tuning"), base, size, self.spec["engine"]

    @property
    def kind(self) -> tuple[Any, ...]:
        """Cells whose rounds take as long."""
        return self.spec["problem"]["name"], *self.program


def _jobs(spec: Spec) -> Iterator[tuple[Place, _Job]]:
    for place, cell in cells_of(spec):
        label = f"{place.problem}: {place.algorithm}, T = {place.horizon}"
        if place.block:
            label += f", block {place.block + 1}"
        yield place, _Job(label, cell.address, cell.spec)


@dataclass(slots=True)
class _Plan:
    """The cells of a specification, by their addresses only: there may be very many."""

    places: list[Place]
    cells: int
    skip: set[str]
    rounds: int
    rounds_there: int
    mended: list[str]

    @classmethod
    def of(cls, spec: Spec, results: Results, *, force: bool) -> Self:
        have = {} if force else results.have()
        damaged = {} if force else results.damaged()
        mended = [results.mended] if results.mended else []
        places, skip, seen = [], set(), set()
        rounds = there = 0
        for place, job in _jobs(spec):
            places.append(place)
            if job.address in seen:
                continue
            seen.add(job.address)
            rounds += job.rounds
            if job.address in damaged:
                mended.append(f"{job.label}: was damaged, and played again: {damaged[job.address]}")
            elif have.get(job.address) in _GOOD:
                skip.add(job.address)
                there += job.rounds
        more = len(mended) - _NOTES
        mended = [*mended[:_NOTES], f"and {more} more"] if more > 0 else mended
        return cls(places, len(seen), skip, rounds, there, mended)

    @property
    def missing(self) -> int:
        return self.cells - len(self.skip)


def _pending(spec: Spec, plan: _Plan) -> Iterator[_Job]:
    """What is to be played, each once; within a window, what runs the same program in a row."""
    seen = set(plan.skip)

    def fresh() -> Iterator[_Job]:
        for _, job in _jobs(spec):
            if job.address not in seen:
                seen.add(job.address)
                yield job

    jobs = fresh()
    while window := list(islice(jobs, _WINDOW)):
        rank: dict[tuple[Any, ...], int] = {}
        for job in window:
            rank.setdefault(job.program, len(rank))
        yield from sorted(window, key=lambda job: rank[job.program])


def _describe(results: Results, spec: Spec, text: str | None, plan: _Plan) -> None:
    """Say in the file what it is the results of."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    results.set_plan(plan.places)
    results.set_header(
        name=spec.name,
        seed=spec.seed,
        specification=dump_spec(spec) if text is None else text,
        data=spec.model_dump(mode="json", exclude_none=True),
        versions=versions(),
        sources=fingerprint()["sources"],
        created=results.header().get("created", now),
        updated=now,
    )


# --- how long it takes ----------------------------------------------------------------------------


class _Pace:
    """Seconds that a cell takes: what engines usually take, corrected by what was seen."""

    def __init__(self) -> None:
        self._ratio: dict[tuple[Any, ...], float] = {}

    @property
    def known(self) -> bool:
        """Whether anything was seen."""
        return bool(self._ratio)

    def seconds(self, job: _Job) -> float:
        """What a cell is thought to take, once compiled."""
        return _usual(job) * self._ratio.get(job.kind, 1.0)

    def learn(self, job: _Job, result: CellResult) -> None:
        """Take in what a cell took."""
        took = result.provenance.get("microseconds_a_round")
        if took is not None:
            self._ratio[job.kind] = 1e-6 * float(took) * job.rounds / _usual(job)


def _usual(job: _Job) -> float:
    """For the paper's toy, on a machine of 2025."""
    rounds, engine = job.rounds, job.spec["engine"]
    if engine == "loop":
        return 2e-5 * rounds
    if engine == "batch":
        return 8e-5 * int(job.spec["horizon"]) + 1e-7 * rounds
    return 1e-3 + 6e-8 * rounds


def _learn(pace: _Pace, results: Results, addresses: Sequence[str], most: int = 200) -> None:
    """Take in what some of the cells that are there took."""
    for address in addresses[:: max(1, len(addresses) // most)]:
        try:
            cell = results.get(address)
        except StoreError:
            continue
        pace.learn(_Job("", address, cell.spec), cell)


# --- the sweep ------------------------------------------------------------------------------------


class _Sweep:
    """Hands out chunks, a few at a time, and writes what comes back."""

    def __init__(
        self,
        results: Results,
        plan: _Plan,
        stop: _Stop,
        progress: Callable[[Event], None] | None,
        work: Callable[..., list[CellResult]],
    ) -> None:
        self._results = results
        self._plan = plan
        self._stop = stop
        self._progress = progress
        self._work = work
        self._pace = _Pace()
        self._flying: dict[Future[list[CellResult]], list[_Job]] = {}
        # To be played by themselves: they were there when a worker died, or a chunk failed.
        self._alone: deque[_Job] = deque()
        self._deaths: Counter[str] = Counter()
        self._notes: list[str] = []
        self._rounds = plan.rounds_there
        self.done = len(plan.skip)
        self.counts: Counter[str] = Counter()

    def told(self) -> list[str]:
        """What went wrong, the first few."""
        more = self.counts["failed"] + self.counts["set aside"] - len(self._notes)
        return [*self._notes, f"and {more} more"] if more > 0 else list(self._notes)

    def play(self, jobs: Iterator[_Job], executor: Workers) -> None:
        """Play all of them, or until it is to stop."""
        self._executor = executor
        chunks = self._chunks(jobs)
        try:
            while not self._stop.asked:
                self._hand_out(chunks)
                if not self._flying:
                    return
                finished, _ = wait(self._flying, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                self._take_in(finished)
            self._take_in([f for f in self._flying if f.done()], mend=False)
            executor.stop()
        except KeyboardInterrupt:
            self._stop.asked = True
            executor.stop()
        except BaseException:
            executor.stop()
            raise

    def _chunks(self, jobs: Iterator[_Job]) -> Iterator[list[_Job]]:
        """Neighbours, as many as are worth a trip; programs are not mixed if that can be helped."""
        chunk: list[_Job] = []
        seconds = 0.0
        cells = min(_CHUNK_CELLS, self._plan.missing // (2 * self._executor.width) + 1)
        if not self._executor.chunks:
            cells = 1
        for job in jobs:
            scan = job.spec["engine"] == "scan"
            other = bool(chunk) and job.program != chunk[-1].program
            if other and seconds >= _WORTH_SECONDS:
                yield chunk
                chunk, seconds = [], 0.0
            if scan and (other or not chunk):
                seconds += _WORTH_SECONDS  # to be compiled: not to be shared with the next kind
            chunk.append(job)
            seconds += self._pace.seconds(job)
            most = _SCAN_CHUNK_SECONDS if scan else _CHUNK_SECONDS
            if seconds >= most or len(chunk) >= cells:
                yield chunk
                chunk, seconds = [], 0.0
        if chunk:
            yield chunk

    def _hand_out(self, chunks: Iterator[list[_Job]]) -> None:
        """Submit until every worker has something to do and something to come back to."""
        while not self._stop.asked and len(self._flying) < self._executor.width:
            if self._alone:
                if not self._flying:  # who is by itself when a worker dies has killed it
                    self._submit([self._alone.popleft()])
                return
            chunk = next(chunks, None)
            if chunk is None:
                return
            self._submit(chunk)

    def _submit(self, chunk: list[_Job]) -> None:
        cells = [(job.address, job.spec) for job in chunk]
        try:
            future = self._executor.submit(play_checked, fingerprint(), self._work, cells)
        except self._executor.deaths:
            self._alone.extend(chunk)  # it broke a moment ago, before these had begun
            self._mend()
            return
        self._flying[future] = chunk

    def _take_in(self, finished: Any, *, mend: bool = True) -> None:
        """Write what came back."""
        died = False
        for future in [f for f in self._flying if f in finished]:  # in the order of submission
            died |= self._take(future)
            if self._stop.asked and not self._executor.chunks:
                return
        if died and mend and self._executor.shared_fate:
            self._mend()

    def _take(self, future: Future[list[CellResult]]) -> bool:
        """Write one chunk; whether its worker died."""
        chunk = self._flying.pop(future)
        try:
            found = future.result()
        except self._executor.deaths:
            self._died(chunk)
            return True
        except CancelledError as error:
            raise ClusterError("the cluster was lost; what is done is kept") from error
        except OtherSourcesError as error:
            raise RunError(str(error)) from error
        except Exception as error:
            if len(chunk) > 1:
                self._alone.extend(chunk)
            else:
                note = f"{type(error).__name__}: {error}"
                self._give_up(chunk[0], "failed", note)
            return False
        for job, result in zip(chunk, found, strict=True):
            self._put(job, result)
        return False

    def _mend(self) -> None:
        """One death has failed all that was in flight: take that in, and start afresh."""
        wait(self._flying)
        for future in list(self._flying):
            self._take(future)
        self._executor.renew()

    def _died(self, chunk: list[_Job]) -> None:
        """A worker died with these: alone with it the second time, a cell is to blame."""
        for job in chunk:
            self._deaths[job.address] += 1
            if len(chunk) == 1 and self._deaths[job.address] >= 2:
                self._give_up(job, "set aside", "killed its worker twice")
            else:
                self._alone.append(job)

    def _give_up(self, job: _Job, status: Status, note: str) -> None:
        """Write that a cell has no result."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        provenance = {"finished": now, "versions": versions()}
        self._put(
            job,
            CellResult(
                address=job.address,
                spec=job.spec,
                status=status,
                note=note,
                provenance=provenance,
            ),
        )

    def _put(self, job: _Job, result: CellResult) -> None:
        self._results.put(result)
        self._pace.learn(job, result)
        self.done += 1
        self._rounds += job.rounds
        self.counts[result.status] += 1
        if result.status not in _GOOD and len(self._notes) < _NOTES:
            self._notes.append(f"{job.label}: {result.status}: {result.note}")
        self.tell(job.label)

    def tell(self, label: str = "") -> None:
        """How far it is."""
        if self._progress is not None:
            plan = self._plan
            self._progress(Event(self.done, plan.cells, self._rounds, plan.rounds, label))


class _Stop:
    """Whether the user has asked to stop: by Ctrl-C or SIGTERM, while this is entered.

    The first only says so, and so cannot come in the middle of a write; the second interrupts.
    """

    def __init__(self) -> None:
        self.asked = False
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

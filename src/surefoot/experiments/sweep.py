"""Hand cells to workers, store the results, and survive workers that die."""

from __future__ import annotations

import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from types import FrameType
from typing import Any, NamedTuple, Self

from surefoot.core.optional import MissingExtraError
from surefoot.experiments.cells import Job
from surefoot.experiments.executors import RunError, Workers
from surefoot.experiments.play_cell import OtherCodeError, fingerprint, play_for, versions
from surefoot.experiments.plugins import loaded
from surefoot.experiments.record import CellResult, Status, time_now

FINISHED: tuple[Status, ...] = ("done", "refused")
"""Statuses of cells that need not be played again."""

NOTES = 20
"""Show at most this many notes of a kind; count the rest."""

# Neighbours that run one program are handed over together, so that few workers compile it; few
# enough to lose.
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


class Sweep:
    """Hand out chunks of cells, a few at a time, and store the results.

    Args:
        put: stores a cell.
        before: how far the run is.
        stop: whether it is to end.
        progress: called after each cell.
        work: plays some cells.
    """

    def __init__(
        self,
        put: Callable[[CellResult], None],
        before: Event,
        stop: Stop,
        progress: Callable[[Event], None] | None,
        work: Callable[..., list[CellResult]],
    ) -> None:
        self._store = put
        self.now = before
        self._stop = stop
        self._progress = progress
        self._work = work
        self._flying: dict[Future[list[CellResult]], list[Job]] = {}
        # To be played by themselves: they were there when a worker died, or a chunk failed.
        self._alone: deque[Job] = deque()
        self._deaths: Counter[str] = Counter()
        self._notes: list[str] = []
        self.counts: Counter[str] = Counter()

    def notes(self) -> list[str]:
        """Return what went wrong, the first few."""
        return first_few(self._notes, self.counts["failed"] + self.counts["set aside"])

    def play(self, jobs: Iterator[Job], workers: Workers) -> None:
        """Play all of them, or until it is to stop."""
        self._workers = workers
        chunks = self._chunks(jobs)
        try:
            while not self._stop.asked:
                self._hand_out(chunks)
                if not self._flying:
                    return
                finished, _ = wait(self._flying, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                self._take_in(finished)
            self._take_in([f for f in self._flying if f.done()], mend=False)
            workers.stop()
        except KeyboardInterrupt:
            self._stop.asked = True
            workers.stop()
        except BaseException:
            workers.stop()
            raise

    def _chunks(self, jobs: Iterator[Job]) -> Iterator[list[Job]]:
        """Yield neighbours that run the same program, as many as are worth handing over."""
        missing = self.now.total - self.now.done
        most = min(_CHUNK_CELLS, missing // (2 * self._workers.width) + 1)
        chunk: list[Job] = []
        for job in jobs:
            rounds = sum(other.rounds for other in chunk)
            full = len(chunk) >= (most if self._workers.chunks else 1) or rounds > _CHUNK_ROUNDS
            if chunk and (full or job.program != chunk[-1].program):
                yield chunk
                chunk = []
            chunk.append(job)
        if chunk:
            yield chunk

    def _hand_out(self, chunks: Iterator[list[Job]]) -> None:
        """Submit until every worker has work in hand and work in waiting."""
        while not self._stop.asked and len(self._flying) < self._workers.width:
            if self._alone:
                # Run suspects alone: if the worker dies again, this cell caused it.
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
            future = self._workers.submit(play_for, fingerprint(), loaded(), self._work, cells)
        except self._workers.deaths:
            self._alone.extend(chunk)  # it broke a moment ago, before these had begun
            self._mend()
            return
        self._flying[future] = chunk

    def _take_in(self, finished: Collection[Any], *, mend: bool = True) -> None:
        """Write what came back."""
        died = False
        for future in [f for f in self._flying if f in finished]:  # in the order of submission
            died |= self._take(future)
            if self._stop.asked and not self._workers.chunks:
                return
        if died and mend:
            self._mend()

    def _take(self, future: Future[list[CellResult]]) -> bool:
        """Write one chunk; return whether its worker died."""
        chunk = self._flying.pop(future)
        try:
            played = future.result()
        except self._workers.deaths:
            self._count_death(chunk)
            return True
        except CancelledError as error:
            raise RunError("the workers were lost; what is done is kept") from error
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
        """Collect what was in flight and failed by one death, and start again."""
        if self._workers.shared_fate:
            wait(self._flying)
            for future in list(self._flying):
                self._take(future)
        self._workers.renew()

    def _count_death(self, chunk: list[Job]) -> None:
        """Count the death of a worker; a cell that was alone with two is to blame."""
        for job in chunk:
            self._deaths[job.address] += 1
            if len(chunk) == 1 and self._deaths[job.address] >= 2:
                self._give_up(job, "set aside", "killed its worker twice")
            else:
                self._alone.append(job)

    def _give_up(self, job: Job, status: Status, note: str) -> None:
        """Write that a cell has no result."""
        provenance = {"finished": time_now(), "versions": versions()}
        result = CellResult(
            address=job.address, spec=job.spec, status=status, note=note, provenance=provenance
        )
        self._put(job, result)

    def _put(self, job: Job, result: CellResult) -> None:
        self._store(result)
        self.counts[result.status] += 1
        if result.status not in FINISHED and len(self._notes) < NOTES:
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
        if self._progress is not None:
            self._progress(now)


def first_few(notes: list[str], count: int) -> list[str]:
    """Return the first notes, with a last one that counts the rest.

    Args:
        notes: at least as many as are shown.
        count: how many there are in all.
    """
    shown = notes[:NOTES]
    return [*shown, f"and {count - len(shown)} more"] if count > len(shown) else shown


class Stop:
    """Whether the user has asked to stop, by Ctrl-C or SIGTERM, inside the ``with`` block.

    The first request only sets ``asked``, and so cannot interrupt a write; the second interrupts.
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

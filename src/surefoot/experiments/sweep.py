"""Hand cells to workers, store the results, and survive workers that die."""

from __future__ import annotations

import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from types import FrameType
from typing import Any, NamedTuple, Self

from surefoot.core.errors import SurefootError
from surefoot.core.optional import MissingExtraError
from surefoot.experiments.cluster import ClusterError
from surefoot.experiments.grid import Job
from surefoot.experiments.plan import FINISHED, NOTES, Pace, Plan, first_few
from surefoot.experiments.plugins import loaded
from surefoot.experiments.record import CellResult, Status, time_now
from surefoot.experiments.store import Results
from surefoot.experiments.versions import OtherSourcesError, fingerprint, play_checked, versions
from surefoot.experiments.workers import Workers

__all__ = ["Event", "RunError", "Stop", "Sweep"]

# A chunk of neighbours: long enough that handing it over costs nothing, short enough to lose.
_CHUNK_CELLS, _CHUNK_SECONDS, _WORTH_SECONDS = 64, 1.0, 0.2
# Each worker compiles the programs that it meets: better by few workers.
_SCAN_CHUNK_SECONDS = 4.0
_LOOK_SECONDS = 0.1


class RunError(SurefootError, RuntimeError):
    """A run that cannot continue; the message says why, and finished cells are stored."""


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
    """Hand out chunks, a few at a time, and store the results."""

    def __init__(
        self,
        results: Results,
        plan: Plan,
        stop: Stop,
        progress: Callable[[Event], None] | None,
        work: Callable[..., list[CellResult]],
    ) -> None:
        self._results = results
        self._plan = plan
        self._stop = stop
        self._progress = progress
        self._work = work
        self._pace = Pace()
        self._flying: dict[Future[list[CellResult]], list[Job]] = {}
        # To be played by themselves: they were there when a worker died, or a chunk failed.
        self._alone: deque[Job] = deque()
        self._deaths: Counter[str] = Counter()
        self._notes: list[str] = []
        self._rounds = plan.rounds_there
        self.done = len(plan.skip)
        self.counts: Counter[str] = Counter()

    def notes(self) -> list[str]:
        """Return what went wrong, the first few."""
        return first_few(self._notes, self.counts["failed"] + self.counts["set aside"])

    def play(self, jobs: Iterator[Job], executor: Workers) -> None:
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

    def _chunks(self, jobs: Iterator[Job]) -> Iterator[list[Job]]:
        """Yield neighbours, as many as are worth handing over; programs are rarely mixed."""
        chunk: list[Job] = []
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

    def _hand_out(self, chunks: Iterator[list[Job]]) -> None:
        """Submit until every worker has work in hand and work in waiting."""
        while not self._stop.asked and len(self._flying) < self._executor.width:
            if self._alone:
                if not self._flying:  # who is by itself when a worker dies has killed it
                    self._submit([self._alone.popleft()])
                return
            chunk = next(chunks, None)
            if chunk is None:
                return
            self._submit(chunk)

    def _submit(self, chunk: list[Job]) -> None:
        cells = [(job.address, job.spec) for job in chunk]
        try:
            future = self._executor.submit(play_checked, fingerprint(), loaded(), self._work, cells)
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
        """Write one chunk; return whether its worker died."""
        chunk = self._flying.pop(future)
        try:
            played = future.result()
        except self._executor.deaths:
            self._died(chunk)
            return True
        except CancelledError as error:
            raise ClusterError("the cluster was lost; what is done is kept") from error
        except (OtherSourcesError, MissingExtraError) as error:
            raise RunError(str(error)) from error
        except Exception as error:
            if len(chunk) > 1:
                self._alone.extend(chunk)
            else:
                note = f"{type(error).__name__}: {error}"
                self._give_up(chunk[0], "failed", note)
            return False
        for job, result in zip(chunk, played, strict=True):
            self._put(job, result)
        return False

    def _mend(self) -> None:
        """Collect what was in flight and failed by one death, and start again."""
        wait(self._flying)
        for future in list(self._flying):
            self._take(future)
        self._executor.renew()

    def _died(self, chunk: list[Job]) -> None:
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

    def _put(self, job: Job, result: CellResult) -> None:
        self._results.put(result)
        self._pace.learn(job, result)
        self.done += 1
        self._rounds += job.rounds
        self.counts[result.status] += 1
        if result.status not in FINISHED and len(self._notes) < NOTES:
            self._notes.append(f"{job.label}: {result.status}: {result.note}")
        self.tell(job.label)

    def tell(self, label: str = "") -> None:
        """Report how far the run has come."""
        if self._progress is not None:
            plan = self._plan
            self._progress(Event(self.done, plan.cells, self._rounds, plan.rounds, label))


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

"""Where cells are played: in this process, in a pool of processes, on a dask cluster.

All three are a :class:`concurrent.futures.Executor`, and give the same results bit for bit. In a
pool every process has one thread of its own: libraries that start more sum in another order.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, TypeVar

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.experiments.cluster import Cluster, Tls
from surefoot.experiments.workers import Workers

__all__ = ["Here", "Pool", "cores", "make_executor"]

T = TypeVar("T")

PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""One thread per process; read by the libraries when they are imported."""


class Here(Workers):
    """Play in this process, at once, with as many threads as its libraries start."""

    chunks = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call it; the future is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


# --- a pool of processes --------------------------------------------------------------------------


class Pool(Workers):
    """Fresh processes ("spawn") that end when this one does.

    Args:
        workers: how many.
    """

    deaths = (BrokenExecutor,)
    shared_fate = True

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._open()

    def _open(self) -> None:
        self._context = _Context()
        self._pool = ProcessPoolExecutor(
            self._workers, mp_context=self._context, initializer=_begin_worker
        )

    @property
    def width(self) -> int:
        """One more than the number of processes, so that none waits while results are written."""
        return self._workers + 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Hand a call to a process, as any executor does."""
        return self._pool.submit(fn, *args, **kwargs)

    def renew(self) -> None:
        """Start new processes for those that are gone; raise if they cannot start."""
        self.stop()
        self._open()
        try:
            self._pool.submit(os.getpid).result()
        except BrokenExecutor as error:
            raise RuntimeError(
                "worker processes end before they have anything to do: see what they print, or "
                "play with workers = 0"
            ) from error

    def stop(self) -> None:
        """Kill the processes."""
        for process in self._context.started:
            with contextlib.suppress(ValueError, AttributeError):  # closed, or never started
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, as any executor does."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


class _Process(SpawnProcess):
    """A process that starts in its own environment."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _spawning():
            return SpawnProcess._Popen(process_obj)


class _Context(SpawnContext):
    """Start those processes, and keep track of them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Process] = []

    def Process(self, *args: Any, **kwargs: Any) -> _Process:  # type: ignore[override]
        process = _Process(*args, **kwargs)
        self.started.append(process)
        return process


@contextlib.contextmanager
def _spawning() -> Iterator[None]:
    """Set what a new process inherits: one thread per library, Ctrl-C blocked, no script.

    Ctrl-C reaches every process of a terminal; blocked, it cannot end a worker in the middle of
    its imports with a traceback, and here it is only late. The script that called us would be
    run again by each worker if it could be seen, and one without a guard would start a sweep.
    """
    # First, since it unblocks what was blocked before it.
    resource_tracker.ensure_running()
    block = getattr(signal, "pthread_sigmask", None)  # not on Windows
    before = block(signal.SIG_BLOCK, {signal.SIGINT}) if block else None
    old = {name: os.environ.get(name) for name in PINNED}
    main = sys.modules["__main__"]
    os.environ.update(PINNED | {"XLA_FLAGS": _flags(old["XLA_FLAGS"])})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in old.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if block:
            block(signal.SIG_SETMASK, before)


def _flags(given: str | None) -> str:
    """Return the user's flags for XLA, and ours."""
    return f"{given or ''} {PINNED['XLA_FLAGS']}".strip()


def _begin_worker() -> None:
    """Prepare a worker, before it plays."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its driver ends: a killed driver cannot end its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_executor(
    workers: int | None = None,
    *,
    cluster: str | None = None,
    insecure: bool = False,
    tls: Tls | None = None,
) -> Workers:
    """Return where cells are to be played.

    Args:
        workers: how many processes; 0 for this one, None for one per processor.
        cluster: a scheduler's address instead.
        insecure: whether a remote one may be used without TLS.
        tls: files for TLS.
    """
    if cluster is not None:
        if workers is not None:
            raise InvalidValueError(f"workers must not be given with a cluster, got {workers!r}")
        return Cluster(cluster, insecure=insecure, tls=tls)
    if workers == 0 and type(workers) is int:
        return Here()
    return Pool(cores() if workers is None else checks.positive_int(workers, "workers"))

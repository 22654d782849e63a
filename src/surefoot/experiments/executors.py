"""Where cells are played: in this process, in a pool of processes, on a cluster, or anywhere.

All are a :class:`concurrent.futures.Executor`, and give exactly the same results. In the pool every
process has one thread: libraries that start more sum in another order.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, TypeVar

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.optional import need

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


class RunError(SurefootError, RuntimeError):
    """A run that cannot continue; the message says why, and finished cells are stored."""


class Workers:
    """An executor that drives a sweep; it belongs to the caller, who shuts it down.

    Attributes:
        executor: what plays.
        deaths: what a future raises whose worker died.
        shared_fate: whether one death fails all that is in flight.
        chunks: whether it pays to hand over several cells at once.

    Args:
        executor: any.
        width: the number of submissions that keep every worker busy.
    """

    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    shared_fate = True
    chunks = True

    def __init__(self, executor: Executor, width: int) -> None:
        self.executor: Executor = executor
        self._width = width

    @property
    def width(self) -> int:
        """The number of submissions that keep every worker busy."""
        return self._width

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Future[T]:
        """Hand over a call."""
        return self.executor.submit(fn, *args)

    def renew(self) -> None:
        """Make the executor work again after a death."""
        raise RunError("the executor broke: a worker has ended; finished cells are stored")

    def stop(self) -> None:
        """Stop now, if possible; work in flight is lost."""

    def close(self) -> None:
        """End what this object began."""


class InProcess(Workers):
    """This process, at once, with as many threads as its libraries start."""

    chunks = False

    def __init__(self) -> None:
        super().__init__(AtOnce(), 1)


class AtOnce(Executor):
    """Makes every call at once, in this process."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Make the call, and return its future."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


# --- a pool of processes --------------------------------------------------------------------------


class Pool(Workers):
    """Fresh processes ("spawn") that end when this one does; new ones replace broken ones.

    Args:
        workers: how many.
    """

    def __init__(self, workers: int) -> None:
        # One more than there are processes, so that none waits while results are written.
        super().__init__(self._open(workers), workers + 1)

    def _open(self, workers: int) -> Executor:
        context = get_context("spawn")
        # Only this process has the writing end: when it closes, the workers end.
        alive, self._alive = context.Pipe(duplex=False)
        return ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin_worker, initargs=(alive,)
        )

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Future[T]:
        """Hand over a call, which may start a process."""
        with _one_thread_each():
            return self.executor.submit(fn, *args)

    def renew(self) -> None:
        """Start new processes for those that are gone; raise if they cannot start."""
        self.stop()
        self.executor: Executor = self._open(self._width - 1)
        try:
            self.submit(os.getpid).result()
        except BrokenExecutor as error:
            raise RunError(
                "worker processes end before they have anything to do: see what they print, or "
                "play with workers = 0"
            ) from error

    def stop(self) -> None:
        """End the processes at once."""
        self._alive.close()
        self.executor.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """End the processes after their present work."""
        self.executor.shutdown(wait=True)
        self._alive.close()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set what new processes inherit: one thread per library, Ctrl-C blocked, no script.

    Ctrl-C reaches every process of a terminal. Blocked, it cannot end a worker during its imports
    with a traceback; here it only arrives late. Each worker would run the calling script again if
    it saw it, and a script without a guard would start a sweep.
    """
    resource_tracker.ensure_running()  # first, since it unblocks signals
    block = getattr(signal, "pthread_sigmask", None)  # not on Windows
    before = block(signal.SIG_BLOCK, {signal.SIGINT}) if block else None
    old = dict(os.environ)
    flags = f"{old.get('XLA_FLAGS', '')} {PINNED['XLA_FLAGS']}".strip()
    os.environ.update(PINNED | {"XLA_FLAGS": flags})
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name in PINNED:
            del os.environ[name]
        os.environ.update({name: old[name] for name in PINNED if name in old})
        if block:
            block(signal.SIG_SETMASK, before)


def _begin_worker(alive: Connection) -> None:
    """Prepare a worker: it ignores Ctrl-C, and ends when its driver ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def end_with_driver() -> None:
        with contextlib.suppress(EOFError, OSError):
            alive.recv()  # nothing is ever sent
        os._exit(1)

    threading.Thread(target=end_with_driver, name="driver", daemon=True).start()


# --- a cluster ------------------------------------------------------------------------------------


class Cluster(Workers):
    """The workers of a dask scheduler; certificates and timeouts are those of dask's configuration.

    Args:
        address: of the scheduler, ``tcp://host:port`` or ``tls://host:port``.
    """

    shared_fate = False

    def __init__(self, address: str) -> None:
        distributed = need("distributed", "cluster", "a cluster")
        try:
            self._client = distributed.Client(address, set_as_default=False)
            self._client.wait_for_workers(1, timeout=self._client._timeout)
        except (OSError, ValueError, TimeoutError) as error:
            raise RunError(
                f"the cluster at {address} must answer and have a worker: {error}"
            ) from error
        super().__init__(self._client.get_executor(pure=False), 2)
        self.deaths: tuple[type[BaseException], ...] = (distributed.KilledWorker,)
        self._looked = -1e9

    @property
    def width(self) -> int:
        """Twice the number of threads; workers may come and go."""
        if time.monotonic() - self._looked > 2:
            with contextlib.suppress(OSError):  # work in flight reports a lost cluster
                self._width = max(2, 2 * sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self._width

    def renew(self) -> None:
        """Do nothing: a cluster replaces its workers."""

    def close(self) -> None:
        """Disconnect; the cluster keeps running."""
        with contextlib.suppress(OSError, RuntimeError):  # it may be gone
            self.executor.shutdown(wait=False)
        self._client.close()


def new_pool(most: int) -> Executor:
    """Return fresh processes, one per processor and at most so many."""
    return ProcessPoolExecutor(min(cores(), most), mp_context=get_context("spawn"))


def cores() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def make_workers(
    workers: int | None = None, *, cluster: str | None = None, executor: Executor | None = None
) -> Workers:
    """Return where cells are to be played.

    Args:
        workers: how many processes; 0 for this one, None for one per processor. Of an executor:
            how many cells it plays at a time.
        cluster: a dask scheduler's address instead.
        executor: any executor instead.
    """
    if cluster is not None:
        if workers is not None or executor is not None:
            raise InvalidValueError(f"workers must not be given with a cluster, got {workers!r}")
        return Cluster(cluster)
    if executor is not None:
        if not isinstance(executor, Executor):
            raise InvalidValueError(f"executor must be an Executor, got {executor!r}")
        return Workers(executor, (workers or cores()) + 1)
    if workers == 0:
        return InProcess()
    return Pool(cores() if workers is None else checks.positive_int(workers, "workers"))

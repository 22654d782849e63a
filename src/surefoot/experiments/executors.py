"""Where cells are played: in this process, in a pool of processes, on a dask cluster.

All three are a :class:`concurrent.futures.Executor`, and give the same results bit for bit. In a
pool every process has one thread of its own: libraries that start more sum in another order.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from surefoot import _check
from surefoot._extras import need
from surefoot.errors import InvalidValueError, SurefootError

__all__ = ["Cluster", "ClusterError", "Here", "Pool", "Tls", "Workers", "cores", "make_executor"]

T = TypeVar("T")

PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""One thread a process; read by the libraries when they are imported."""

_PATIENCE = 30.0
"""Seconds for a cluster to answer, and to have a worker."""


class ClusterError(SurefootError, RuntimeError):
    """A cluster that may not be used, cannot be reached or has gone; the message says why."""


class Tls(NamedTuple):
    """The files that a cluster with TLS is spoken to with.

    Attributes:
        ca: certificate of the authority that signed the cluster's.
        cert: this side's certificate.
        key: this side's private key.
    """

    ca: Path
    cert: Path
    key: Path


class Workers(Executor):
    """An executor that a sweep can be driven with.

    Attributes:
        deaths: what a future raises whose worker died.
        shared_fate: whether one death fails all that is in flight.
        chunks: whether it pays to hand over several cells at once.
    """

    deaths: ClassVar[tuple[type[BaseException], ...]] = ()
    shared_fate: ClassVar[bool] = False
    chunks: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """How many submissions keep every worker busy."""
        return 1

    def renew(self) -> None:
        """Make it work again after a death."""

    def stop(self) -> None:
        """End now; what is in flight is lost."""
        self.shutdown(wait=False, cancel_futures=True)


class Here(Workers):
    """Plays in this process, at once, with as many threads as its libraries have."""

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
    """Processes of their own, started afresh ("spawn"), that end when this one does.

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
        """One more than there are, so that none waits while results are written."""
        return self._workers + 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As any executor."""
        return self._pool.submit(fn, *args, **kwargs)

    def renew(self) -> None:
        """New processes for those that are gone, or an error if they cannot start."""
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
        """As any executor."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


class _Process(SpawnProcess):
    """A process that starts in an environment of its own."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _spawning():
            return SpawnProcess._Popen(process_obj)


class _Context(SpawnContext):
    """Starts those, and knows which."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Process] = []

    def Process(self, *args: Any, **kwargs: Any) -> _Process:  # type: ignore[override]
        process = _Process(*args, **kwargs)
        self.started.append(process)
        return process


@contextlib.contextmanager
def _spawning() -> Iterator[None]:
    """What a new process is to inherit: one thread a library, a deaf ear to Ctrl-C, no script.

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
    """The user's flags for XLA, and ours."""
    return f"{given or ''} {PINNED['XLA_FLAGS']}".strip()


def _begin_worker() -> None:
    """The first thing that a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """A driver that was killed cannot end its workers, and they would wait for it for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --- a cluster ------------------------------------------------------------------------------------


class Cluster(Workers):
    """The workers of a dask scheduler.

    Args:
        address: of the scheduler, ``tcp://host:port`` or ``tls://host:port``.
        insecure: whether a remote one may be spoken to without TLS.
        tls: what to speak TLS with.
    """

    def __init__(self, address: str, *, insecure: bool = False, tls: Tls | None = None) -> None:
        self.address = checked_address(address, insecure=insecure, tls=tls)
        distributed = need("distributed", "cluster", "a cluster")
        security = None
        if tls is not None:
            security = distributed.Security(
                tls_ca_file=str(tls.ca),
                tls_client_cert=str(tls.cert),
                tls_client_key=str(tls.key),
                require_encryption=True,
            )
        self._levels = _quiet()
        try:
            self._client = distributed.Client(
                self.address, security=security, timeout=_PATIENCE, set_as_default=False
            )
        except (OSError, ValueError) as error:
            self._loud()
            raise ClusterError(f"no scheduler answers at {self.address}: {error}") from error
        self.deaths = (distributed.KilledWorker,)  # type: ignore[misc]
        self._executor = self._client.get_executor(pure=False)
        self._threads, self._looked = 0, -1e9
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            self.shutdown(wait=False)
            raise ClusterError(f"the cluster at {self.address} has no worker") from error

    @property
    def width(self) -> int:
        """Twice as many as there are threads; workers may come and go."""
        if time.monotonic() - self._looked > 2:
            with contextlib.suppress(OSError):  # what is in flight will tell if it is gone
                self._threads = sum(self._client.nthreads().values())
            self._looked = time.monotonic()
        return max(2, 2 * self._threads)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As any executor."""
        try:
            future: Future[T] = self._executor.submit(fn, *args, **kwargs)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(f"the cluster at {self.address} was lost: {error}") from error
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Say goodbye; the cluster stays."""
        with contextlib.suppress(OSError, RuntimeError):  # it may be gone
            self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()
        self._loud()

    def _loud(self) -> None:
        for logger, level in self._levels.items():
            logger.setLevel(level)

    def __enter__(self) -> Self:
        return self


def _quiet() -> dict[logging.Logger, int]:
    """Silence dask's own reports, with their tracebacks: what matters is told by us, in a sentence.

    Returns:
        The levels to go back to.
    """
    known = logging.root.manager.loggerDict.items()
    mine = [v for k, v in known if k.startswith("distributed") and isinstance(v, logging.Logger)]
    levels = {logger: logger.level for logger in mine}
    for logger in mine:
        logger.setLevel(logging.CRITICAL + 1)
    return levels


def checked_address(address: str, *, insecure: bool = False, tls: Tls | None = None) -> str:
    """A scheduler's address, or why it may not be used; nothing is asked of the network.

    Whoever can speak to a scheduler can run code on its workers, and on those who ask them: only
    this machine is trusted without TLS.

    Example:
        >>> checked_address("127.0.0.1:8786")
        'tcp://127.0.0.1:8786'
        >>> checked_address("tcp://10.0.0.7:8786")
        Traceback (most recent call last):
        ...
        surefoot.experiments.executors.ClusterError: the cluster at tcp://10.0.0.7:8786 is not on
        this machine and has no TLS: use tls:// with its certificates, or say that it may be
        insecure
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "tcp", address
    host, colon, port = rest.rpartition(":")
    if scheme not in ("tcp", "tls") or not (host and colon and port.isdecimal()):
        raise ClusterError(
            f"the address of a cluster must be tcp://host:port or tls://host:port, got {address!r}"
        )
    address = f"{scheme}://{rest}"
    if scheme == "tls":
        if tls is None:
            raise ClusterError(
                f"the cluster at {address} needs certificates: give the files of the authority, "
                "the certificate and its key"
            )
        for path in (tls.ca, tls.cert, tls.key):
            if not path.is_file():
                raise ClusterError(f"the TLS file '{path}' does not exist")
        return address
    if tls is not None:
        raise ClusterError(f"certificates are for tls:// addresses, got {address}")
    if not (insecure or _is_loopback(host)):
        raise ClusterError(
            f"the cluster at {address} is not on this machine and has no TLS: use tls:// with its "
            "certificates, or say that it may be insecure"
        )
    return address


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False  # a name: where it leads is not for us to ask


def cores() -> int:
    """How many processors this process may use."""
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
    """Where cells are to be played.

    Args:
        workers: how many processes; 0 for this one, None for one for each processor.
        cluster: a scheduler's address instead.
        insecure: whether a remote one may be spoken to without TLS.
        tls: what to speak TLS with.
    """
    if cluster is not None:
        if workers is not None:
            raise InvalidValueError(f"workers must not be given with a cluster, got {workers!r}")
        return Cluster(cluster, insecure=insecure, tls=tls)
    if workers == 0 and type(workers) is int:
        return Here()
    return Pool(cores() if workers is None else _check.whole(workers, "workers"))

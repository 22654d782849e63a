"""The workers of a dask cluster as an executor."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from surefoot.core.errors import SurefootError
from surefoot.core.optional import need
from surefoot.experiments.workers import Workers

__all__ = ["Cluster", "ClusterError", "Tls", "checked_address"]

T = TypeVar("T")

_PATIENCE = 30.0
"""Seconds for a cluster to answer, and to have a worker."""


class ClusterError(SurefootError, RuntimeError):
    """A cluster that may not be used, cannot be reached or is gone; the message says why."""


class Tls(NamedTuple):
    """The files that TLS with a cluster needs.

    Attributes:
        ca: certificate of the authority that signed the cluster's.
        cert: this side's certificate.
        key: this side's private key.
    """

    ca: Path
    cert: Path
    key: Path


class Cluster(Workers):
    """The workers of a dask scheduler.

    Args:
        address: of the scheduler, ``tcp://host:port`` or ``tls://host:port``.
        insecure: whether a remote one may be used without TLS.
        tls: files for TLS.
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
        """Twice the number of threads; workers may come and go."""
        if time.monotonic() - self._looked > 2:
            with contextlib.suppress(OSError):  # what is in flight will tell if it is gone
                self._threads = sum(self._client.nthreads().values())
            self._looked = time.monotonic()
        return max(2, 2 * self._threads)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Hand a call to the cluster, as any executor does."""
        try:
            future: Future[T] = self._executor.submit(fn, *args, **kwargs)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(f"the cluster at {self.address} was lost: {error}") from error
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect; the cluster keeps running."""
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
    """Silence dask's own reports and tracebacks: errors are reported here, in one sentence.

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
    """Return a scheduler's address, or raise why it may not be used; nothing is sent.

    Whoever can speak to a scheduler can run code on its workers, and on those who ask them: only
    this machine is trusted without TLS.

    Example:
        >>> checked_address("127.0.0.1:8786")
        'tcp://127.0.0.1:8786'
        >>> checked_address("tcp://10.0.0.7:8786")
        Traceback (most recent call last):
        ...
        surefoot.experiments.cluster.ClusterError: the cluster at tcp://10.0.0.7:8786 is not on
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

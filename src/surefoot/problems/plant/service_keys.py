"""How a plant is served: the keys of ``[service]``, which are no part of a proof."""

from __future__ import annotations

import ipaddress
import os
import re

from surefoot.problems.plant.description import ServiceDescription
from surefoot.problems.plant.durations import duration_text
from surefoot.problems.plant.tables import Table

__all__ = ["read_service"]

LONGEST_SOCKET = 107
"""No path of a Unix socket is longer, in bytes."""
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^/:\[\]]+)):([1-9]\d{0,4})", re.ASCII)
_SIZE = re.compile(r"[1-9]\d{0,8} (?:kB|MB|GB)", re.ASCII)
_KEYS = (
    "listen",
    "metrics",
    "token_file",
    "deadline",
    "heartbeat",
    "rotate",
    "amend",
)


def read_service(table: Table | None, minutes: float | None) -> ServiceDescription:
    """Return how a plant is served.

    Args:
        table: of the keys; None without one.
        minutes: the length of a round; None if it is wrong.
    """
    if table is None:
        return ServiceDescription()
    table.check_keys(_KEYS)
    deadline = table.duration("deadline", "0.001 s", "366 d")
    if deadline is not None and minutes is not None and float(deadline / 60) < minutes:
        table.reject("deadline", f"at least a round, {duration_text(minutes)}")
    heartbeat = table.duration("heartbeat", "0.1 s", "1 d")
    rotate = table.text("rotate")
    if rotate is not None and not _SIZE.fullmatch(rotate):
        table.reject("rotate", 'a size such as "64 MB" (kB, MB, GB)')
    return ServiceDescription(
        listen=_read_listen(table),
        metrics=_read_metrics(table),
        token_file=table.text("token_file", 200),
        deadline=None if deadline is None else float(deadline / 60),
        heartbeat=10.0 if heartbeat is None else float(heartbeat),
        rotate=rotate,
        can_amend=bool(table.flag("amend")),
    )


def _read_listen(table: Table) -> str | None:
    """Return the path of a socket, or a loopback address, for which there must be a token."""
    listen = table.text("listen", 200)
    if listen is None:
        return None
    if "/" in listen and not _ADDRESS.fullmatch(listen):
        if len(os.fsencode(listen)) > LONGEST_SOCKET:
            table.reject("listen", f"a path of at most {LONGEST_SOCKET} bytes")
        return listen
    if not is_loopback(listen):
        table.reject(
            "listen",
            "a path with a / in it, or a loopback address and a port",
            ": the protocol is not encrypted; use ssh -L or a proxy for other machines",
        )
    elif not table.has("token_file"):
        table.say("must have token_file, because every user of a machine may connect to a port")
    return listen


def _read_metrics(table: Table) -> str | None:
    metrics = table.text("metrics", 200)
    if metrics is not None and not is_loopback(metrics):
        table.reject("metrics", 'a loopback address and a port, such as "127.0.0.1:9464"')
    return metrics


def is_loopback(address: str) -> bool:
    """Return whether an address with a port is of this machine alone.

    >>> is_loopback("127.0.0.1:9464"), is_loopback("[::1]:80"), is_loopback("0.0.0.0:80")
    (True, True, False)
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match[3]) > 65_535:
        return False
    host = match[1] or match[2]
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

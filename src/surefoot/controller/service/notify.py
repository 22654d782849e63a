"""Tell systemd how a service is: a few words in a datagram, by sd_notify(3)."""

from __future__ import annotations

import contextlib
import os
import socket

__all__ = ["notify", "watchdog_pause"]


def notify(*words: str) -> None:
    """Send words such as "READY=1" to the service manager; without one nothing happens."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.setblocking(False)
        line.sendto("\n".join(words).encode(), address)


def watchdog_pause() -> float | None:
    """Return the seconds between two signs of life; None if nobody watches."""
    time, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not time.isdecimal() or process not in ("", str(os.getpid())):
        return None
    return max(0.1, int(time) / 1e6 / 3)

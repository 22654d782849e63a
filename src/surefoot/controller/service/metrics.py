"""The numbers of a service for a monitor: Prometheus text by HTTP/1.0, and whether it is healthy.

A monitor needs no token and learns no set points: the port is on a loopback address only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from surefoot.controller.service.snapshot import Sample

__all__ = ["Monitor", "to_text"]

_PREFIX = "surefoot_"
_LONGEST = 8192  # bytes of a request
_PATIENCE = 2.0  # seconds for a request, and for an answer
_MOST = 16  # monitors at a time
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def to_text(samples: Iterable[Sample], helps: Mapping[str, tuple[str, str]]) -> str:
    r"""Return samples in Prometheus' text format 0.0.4.

    Args:
        samples: the numbers.
        helps: by name, the type of a number and what it is.

    >>> print(to_text([Sample("margin", 2.5, {"limit": 'a "b"'})], {"margin": ("gauge", "Why.")}))
    # HELP surefoot_margin Why.
    # TYPE surefoot_margin gauge
    surefoot_margin{limit="a \"b\""} 2.5
    <BLANKLINE>
    """
    families: dict[str, list[Sample]] = {}
    for sample in samples:  # those of a name must follow each other
        families.setdefault(sample.name, []).append(sample)
    lines = []
    for name, family in families.items():
        kind, words = helps[name]
        lines += [f"# HELP {_PREFIX}{name} {words}", f"# TYPE {_PREFIX}{name} {kind}"]
        lines += [f"{_PREFIX}{name}{_labels(s.labels)} {s.value!r}" for s in family]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items()) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Monitor:
    """Answers a monitor: ``GET /metrics`` and ``GET /health``, one request a connection.

    Args:
        text: returns the numbers.
        find_illness: returns why the service is not healthy, in a sentence; empty if it is.
    """

    def __init__(self, text: Callable[[], str], find_illness: Callable[[], str]) -> None:
        self._text, self._find_illness = text, find_illness
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a new connection, unless there are too many."""
        if len(self._tasks) >= _MOST:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._answer(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Leave those that are being answered."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await asyncio.wait_for(self._read(reader), _PATIENCE)
            writer.write(self._respond(request))
            await asyncio.wait_for(writer.drain(), _PATIENCE)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), _PATIENCE)
        except (OSError, TimeoutError, EOFError, ValueError):
            pass  # the monitor has left, or is none
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        """Return the first line of a request, after all of its head."""
        head = b""
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            data = await reader.read(_LONGEST)
            head += data
            if not data or len(head) > _LONGEST:
                raise EOFError
        return head.split(b"\n", 1)[0].strip()

    def _respond(self, request: bytes) -> bytes:
        words = request.split(b" ")
        place = words[1].split(b"?")[0] if words[0] == b"GET" and len(words) > 1 else b""
        if place == b"/metrics":
            return _response("200 OK", self._text())
        if place == b"/health":
            illness = self._find_illness()
            state = "503 Service Unavailable" if illness else "200 OK"
            return _response(state, f"{illness or 'healthy'}\n")
        return _response("404 Not Found", "GET /metrics or /health\n")


def _response(state: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.0 {state}\r\nContent-Type: {_TEXT}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body

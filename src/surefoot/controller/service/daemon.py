"""The transport of a service: one event loop for clients, one thread for the loop and its journal.

Readers are answered from a snapshot and wait for nobody. One client writes: the first that orders
something, until it leaves, yields or is silent for a deadline. A client gets its next answer after
it took the last one, and who does not take it is disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, TypeVar

from surefoot.controller.service import protocol
from surefoot.controller.service.endpoints import Address, Peer, remove_own
from surefoot.controller.service.metrics import Monitor, to_text
from surefoot.controller.service.notify import notify, watchdog_pause
from surefoot.controller.service.protocol import Answer, BusyError, Lines, TokenError, encode
from surefoot.controller.service.serving import Service
from surefoot.controller.service.snapshot import Sample

__all__ = ["MOST", "Daemon"]

LOGGER = logging.getLogger("surefoot.service")

MOST = 64
"""Clients at a time."""

PATIENCE = 5.0
"""Seconds in which a client takes an answer, and shows its token."""

_CHUNK = 1 << 16  # bytes that are read at once
_BUFFER = 1 << 16  # bytes that may wait for a subscriber
_END = 10.0  # seconds for what is being answered when the service ends
_ALIVE = 10.0  # seconds in which the worker must answer to count as alive

_OWN: dict[str, Answer] = {"subscribe": {}, "yield": {}}
"""The commands of the transport, with what they take."""

T = TypeVar("T")


@dataclass(eq=False)
class Session:
    """One client.

    Attributes:
        peer: who it is.
        writer: where answers go; None for standard output.
        is_admitted: whether it may ask anything.
        is_subscriber: whether it hears of rounds.
        is_idle: whether no request of it is being answered.
        came_at: when it came, by the monotonic clock.
        since: since when it writes, in words.
        ordered_at: when it last ordered something, by the monotonic clock.
    """

    peer: Peer
    writer: asyncio.StreamWriter | None = None
    is_admitted: bool = True
    is_subscriber: bool = False
    is_idle: bool = True
    came_at: float = field(default_factory=time.monotonic)
    since: str = ""
    ordered_at: float = 0.0
    task: asyncio.Task[None] | None = None


@dataclass
class Daemon:
    """Serves clients until it is stopped.

    Args:
        service: what answers.
        listen: where clients connect; None for one client on standard input.
        metrics: where monitors connect; None for nowhere.
        token: what clients over TCP must show.
        heartbeat: the seconds between two heartbeats of subscribers.
        source: standard input.
        target: standard output.

    Attributes:
        dropped: how many clients did not take their answers.
    """

    service: Service
    listen: Address | None = None
    metrics: Address | None = None
    token: bytes = b""
    heartbeat: float = 10.0
    source: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)
    target: BinaryIO = field(default_factory=lambda: sys.stdout.buffer)
    dropped: int = 0

    def __post_init__(self) -> None:
        self._sessions: set[Session] = set()
        self._writer: Session | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None
        self._is_stopping = False
        self._pipe = threading.Lock()  # held while standard input has a request
        self._commands = self.service.commands | _OWN

    def run(self) -> None:
        """Serve until SIGTERM, Ctrl-C or the end of standard input; close the journal then.

        Raises:
            InUseError: if another service listens on the socket.
            InvalidValueError: if nothing can listen there.
        """
        try:
            asyncio.run(self._run())
        finally:
            self.service.close()

    def stop(self) -> None:
        """Let :meth:`run` return; any thread may call this while it runs."""
        with contextlib.suppress(RuntimeError):  # it has returned
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        is_main = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGTERM, signal.SIGINT) if is_main else ()
        with ThreadPoolExecutor(1, "surefoot") as self._pool:
            servers, inode = await self._open()
            try:
                for number in signals:
                    self._loop.add_signal_handler(number, self._stop.set)
                self._start(self._watch_deadline())
                self._start(self._beat())
                self._start(self._show_life())
                if self.listen is None:
                    threading.Thread(target=self._pump, daemon=True).start()
                notify("READY=1", self._state())
                await self._stop.wait()
            finally:
                notify("STOPPING=1")
                await self._end(servers, inode)
                for number in signals:
                    self._loop.remove_signal_handler(number)
        if self._fault is not None:
            raise self._fault

    # --- beginning and end -----------------------------------------------------------------------

    async def _open(self) -> tuple[list[asyncio.Server], int]:
        """Listen; return the servers, and the number of the Unix socket's file."""
        servers, inode = [], 0
        self._monitor = Monitor(self._metrics_text, self._find_illness)
        try:
            if self.metrics is not None:
                line = self.metrics.listen()
                servers.append(await asyncio.start_server(self._monitor.accept, sock=line))
                LOGGER.info("metrics on %s", _name(line.getsockname()))
            if self.listen is not None:
                line = self.listen.listen()
                if self.listen.path is None:
                    servers.append(await asyncio.start_server(self._accept, sock=line))
                else:
                    inode = self.listen.path.lstat().st_ino
                    servers.append(await asyncio.start_unix_server(self._accept, sock=line))
                LOGGER.info("listening on %s", _name(line.getsockname()))
        except BaseException:
            for server in servers:
                server.close()
            raise
        return servers, inode

    async def _end(self, servers: list[asyncio.Server], inode: int) -> None:
        """Answer what is being answered, leave all clients, and wait until they are left."""
        self._is_stopping = True
        for server in servers:
            for line in server.sockets:
                self._loop.remove_reader(line.fileno())
        await _let_run()  # asyncio loses a connection that it accepts while a server is closed
        for server in servers:
            server.close()
        if self.listen is not None and self.listen.path is not None:
            remove_own(self.listen.path, inode)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._monitor.close()
        tasks = [session.task for session in self._sessions if session.task is not None]
        for session in list(self._sessions):
            if session.is_idle and session.task is not None:
                session.task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for session in self._sessions:  # whose task had not begun
            if session.writer is not None:
                session.writer.transport.abort()
        await _let_run()
        if self.listen is None:
            await asyncio.to_thread(self._pipe.acquire, True, _END)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the clients; the service ends if it fails."""
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fault = error
            self._stop.set()

    # --- the worker thread -----------------------------------------------------------------------

    async def _in_worker(self, job: Callable[[], T]) -> T:
        """Return what a job returns in the one thread that owns the loop and the journal."""
        return await self._loop.run_in_executor(self._pool, self._work, job)

    def _work(self, job: Callable[[], T]) -> T:
        try:
            return job()
        finally:
            if events := self.service.take_events():
                self._loop.call_soon_threadsafe(self._spread, events)

    async def _watch_deadline(self) -> None:
        """Take rounds as missing that nobody reports."""
        while True:
            wait = await self._in_worker(self.service.check_deadline)
            await asyncio.sleep(min(max(wait, 0.01), 60.0))

    async def _show_life(self) -> None:
        """Tell a service manager that the worker answers, as long as it does."""
        pause = watchdog_pause()
        while pause is not None:
            answer = self._loop.run_in_executor(self._pool, time.monotonic)
            if not (await asyncio.wait({answer}, timeout=_ALIVE))[0]:
                LOGGER.error("the journal has kept a request waiting for %.0f s", _ALIVE)
                await answer
            notify("WATCHDOG=1", self._state())
            await asyncio.sleep(pause)

    # --- what subscribers and monitors see -------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.heartbeat)
            self._spread([{"event": "heartbeat", **self.service.snapshot.beat()}])

    def _spread(self, events: list[Answer]) -> None:
        """Send events to all subscribers; those who do not take them are left."""
        subscribers = [s for s in self._sessions if s.is_subscriber]
        if not subscribers:
            return
        lines = b"".join(encode(event) for event in events)
        for session in subscribers:
            self._send(session, lines)

    def _send(self, session: Session, lines: bytes) -> None:
        if session.writer is None or session.writer.transport.is_closing():
            return
        session.writer.write(lines)
        if session.writer.transport.get_write_buffer_size() > _BUFFER + len(lines):
            self._drop(session)

    def _drop(self, session: Session) -> None:
        """Leave a client that does not take what it is sent, or shows no token."""
        self.dropped += 1
        why = "does not read its answers" if session.is_admitted else "has not shown a token"
        LOGGER.warning("%s is disconnected: it %s", session.peer, why)
        if session.writer is not None:
            session.writer.transport.abort()

    def _metrics_text(self) -> str:
        snapshot = self.service.snapshot
        samples = [
            *snapshot.samples(),
            Sample("clients", len(self._sessions)),
            Sample("clients_dropped_total", self.dropped),
        ]
        return to_text(samples, snapshot.helps)

    def _find_illness(self) -> str:
        return self.service.find_illness()

    def _state(self) -> str:
        return f"STATUS=round {self.service.snapshot.round}: {self._find_illness() or 'healthy'}"

    # --- clients ---------------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new client, unless there are too many."""
        line = writer.get_extra_info("socket")
        is_unix = self.listen is not None and self.listen.path is not None
        session = Session(Peer.of(line) if is_unix else Peer(), writer, is_unix)
        if self._is_stopping:
            writer.transport.abort()
            return
        if len(self._sessions) >= MOST and not self._leave_stranger():
            error = BusyError(f"the service has {MOST} clients already: come again later")
            writer.write(encode(protocol.reject({}, error, self.service.snapshot.round)))
            writer.close()
            return
        LOGGER.info("client: %s", session.peer)
        self._sessions.add(session)
        session.task = self._loop.create_task(self._serve(session, reader, writer))

    def _leave_stranger(self) -> bool:
        """Leave who has waited longest without a token; return whether there is somebody."""
        strangers = [session for session in self._sessions if not session.is_admitted]
        if not strangers:
            return False
        first = min(strangers, key=lambda session: session.came_at)
        self._drop(first)
        self._sessions.discard(first)
        return True

    async def _serve(
        self, session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one client until it leaves."""
        lines, is_open = Lines(self.service.longest), True
        end = self._loop.time() + PATIENCE
        try:
            while is_open and not self._is_stopping:
                async with asyncio.timeout_at(None if session.is_admitted else end):
                    data = await reader.read(_CHUNK)
                session.is_idle = False
                is_open = await self._answer_lines(session, lines, data, writer)
                session.is_idle = True
        except TimeoutError:
            self._drop(session)
        except OSError:
            pass  # the client has left
        finally:
            self._release(session)
            session.is_subscriber = False
            try:
                writer.close()
                async with asyncio.timeout(PATIENCE):
                    await writer.wait_closed()
            except (OSError, TimeoutError):
                pass
            finally:
                writer.transport.abort()
                self._sessions.discard(session)

    async def _answer_lines(
        self, session: Session, lines: Lines, data: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer the lines that end in further bytes; return whether more may come."""
        for line in lines.take(data) if data or lines.is_empty else lines.end():
            writer.write(await self._exchange(session, line))
            if writer.transport.get_write_buffer_size():
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
            else:
                await asyncio.sleep(0)  # others are served between two lines of one client
            if not session.is_admitted or writer.transport.is_closing():
                return False
        return bool(data)

    def _pump(self) -> None:
        """Answer the client on standard input until its end; in a thread that waits for it."""
        session = Session(Peer(os.getppid()))
        lines, read = Lines(self.service.longest), _reader_of(self.source)
        try:
            data = b"\n"
            while data:
                data = read()
                with self._pipe:
                    for line in lines.take(data) if data or lines.is_empty else lines.end():
                        answer = asyncio.run_coroutine_threadsafe(
                            self._exchange(session, line), self._loop
                        )
                        self.target.write(answer.result())
                        self.target.flush()
        except BrokenPipeError:
            LOGGER.warning("the client has left")
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.target.fileno())
        finally:
            self.stop()

    # --- requests --------------------------------------------------------------------------------

    async def _exchange(self, session: Session, line: bytes | int) -> bytes:
        """Return the answer to a line; no line makes it raise.

        Args:
            session: of the client.
            line: or its size, if it is too long.
        """
        head: Answer = {}
        try:
            if isinstance(line, int):
                raise protocol.too_long(line, self.service.longest)
            request = protocol.parse(line, self.service.longest)
            head = protocol.take_id(request)
            self._admit(session, request)
            name, fields = protocol.check_keys(request, self._commands)
            if name in self.service.orders:
                self._lend(session, name)
                order = partial(self.service.carry_out, head, name, fields, session)
                return encode(await self._in_worker(order))
            return encode({"ok": True, **head, **self._read(session, name, fields)})
        except Exception as error:
            if not session.is_admitted and not isinstance(error, TokenError):
                error = TokenError(_TOKEN)
            return encode(protocol.reject(head, error, self.service.snapshot.round))

    def _admit(self, session: Session, request: Answer) -> None:
        """Raise unless a client over TCP has shown the token."""
        if session.is_admitted:
            return
        token = request.get("token")
        if request.get("do") != "hello" or not isinstance(token, str):
            raise TokenError(_TOKEN)
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token):
            LOGGER.warning("a client over TCP has shown a wrong token")
            raise TokenError("token must be that of the service, got another")
        session.is_admitted = True

    def _read(self, session: Session, name: str, fields: Answer) -> Answer:
        """Return what changes nothing, or concerns only this connection."""
        t = self.service.snapshot.round
        if name == "yield":
            self._release(session)
            return {"round": t}
        if name == "subscribe":
            if session.writer is None:
                protocol.refuse("subscribe must come over a socket, got standard input")
            session.is_subscriber = True
            return {"round": t, "heartbeat": self.heartbeat, **self.service.snapshot.now()}
        answer = self.service.read(name, fields)
        if name in ("hello", "status"):
            illness, writer = self.service.find_illness(), self._writer
            answer |= {"healthy": not illness, "illness": illness}
            answer["writer"] = None if writer is None else f"{writer.peer}, since {writer.since}"
            answer["is_writer"] = writer is session
        if name == "hello":
            answer["commands"] = list(self._commands)
        return answer

    def _lend(self, session: Session, name: str) -> None:
        """Let a client order something, or raise because another one writes."""
        writer, now = self._writer, time.monotonic()
        if writer is not session:
            if name == "retreat":  # an emergency waits for nobody
                LOGGER.warning("%s orders to retreat", session.peer)
                return
            if writer is not None and not self._is_silent(writer, now):
                raise BusyError(
                    f"another client writes since {writer.since} ({writer.peer}); this one may "
                    "read, and retreat"
                )
            self._writer, session.since = session, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            LOGGER.info("%s writes", session.peer)
        session.ordered_at = now

    def _is_silent(self, session: Session, now: float) -> bool:
        """Return whether a writer has ordered nothing for a deadline."""
        deadline = self.service.deadline
        return deadline is not None and session.is_idle and now - session.ordered_at > deadline

    def _release(self, session: Session) -> None:
        if self._writer is session:
            self._writer = None


_TOKEN = 'token must be shown first: {"do": "hello", "token": "..."}'


async def _let_run() -> None:
    """Let what the event loop has begun go on."""
    for _ in range(5):
        await asyncio.sleep(0)


def _reader_of(source: BinaryIO) -> Callable[[], bytes]:
    """Return a function that reads what is there, and waits for it without the lock of a file."""
    try:
        return partial(os.read, source.fileno(), _CHUNK)
    except OSError:  # it is no file of the system
        return partial(source.read, _CHUNK)


def _name(address: Any) -> str:
    """Return the address of a socket in words."""
    return address if isinstance(address, str) else f"{address[0]}:{address[1]}"

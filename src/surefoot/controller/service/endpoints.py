"""Where a service listens, and who may come in: paths, loopback addresses, a token, peers."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import re
import socket
import stat
import struct
from pathlib import Path
from typing import NamedTuple

from surefoot.core.errors import InUseError, InvalidValueError

__all__ = ["Address", "Peer", "read_token", "remove_own"]

SHORTEST_TOKEN = 32
"""Bytes of a token: nobody guesses 256 bits."""

_LONGEST_TOKEN = 4096
_ADDRESS = re.compile(r"\[?([^/\[\]]*?)\]?:([0-9]{1,5})")


class Address(NamedTuple):
    """Where a service listens: the path of a Unix socket, or a loopback address and a port.

    Attributes:
        path: None for a port.
        host: empty for a path.
        port: 0 for any that is free.
    """

    path: Path | None
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str, name: str) -> Address:
        """Return what a text says.

        Args:
            text: a path, or an address with a port.
            name: of the option, for the sentence.

        Example:
            >>> Address.parse("[::1]:9464", "metrics")
            Address(path=None, host='::1', port=9464)
        """
        match = _ADDRESS.fullmatch(text)
        if match is None:
            if not text or "\0" in text or len(os.fsencode(text)) > 107:  # of sun_path
                raise InvalidValueError(
                    f"{name} must be a path of 1 to 107 bytes or a loopback address with a port, "
                    f"got {text!r:.60}"
                )
            return cls(Path(text))
        host = "127.0.0.1" if match[1] == "localhost" else match[1]
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host).is_loopback and int(match[2]) < 1 << 16:
                return cls(None, host, int(match[2]))
        raise InvalidValueError(
            f"{name} must be a path or a loopback address such as 127.0.0.1:9464, got {text!r}: "
            "the protocol is not encrypted; use ssh -L or a proxy for other machines"
        )

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def listen(self) -> socket.socket:
        """Return a socket that listens here.

        A Unix socket is for its user and group only. That of a service that has ended is replaced.

        Raises:
            InUseError: if another service listens here.
            InvalidValueError: if nothing can listen here.
        """
        try:
            return self._listen_on_port() if self.path is None else self._listen_on_path(self.path)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InUseError(f"{self} is in use: another service listens there") from error
            words = error.strerror or str(error)
            raise InvalidValueError(f"{self} cannot be listened on: {words}") from error

    def connect(self, timeout: float) -> socket.socket:
        """Return a socket that is connected to a service here.

        Args:
            timeout: in seconds, of every operation on it.
        """
        if self.path is None:
            return socket.create_connection((self.host, self.port), timeout)
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.settimeout(timeout)
        try:
            line.connect(str(self.path))
        except OSError:
            line.close()
            raise
        return line

    def _listen_on_port(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        line = socket.socket(family, socket.SOCK_STREAM)
        try:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            line.bind((self.host, self.port))
            line.listen()
        except OSError:
            line.close()
            raise
        return line

    def _listen_on_path(self, path: Path) -> socket.socket:
        if os.path.lexists(path):
            self._remove_dead(path)
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o117)  # for its user and group from the first moment on
        try:
            line.bind(str(path))
            line.listen()
        except OSError:
            line.close()
            raise
        finally:
            os.umask(before)
        return line

    def _remove_dead(self, path: Path) -> None:
        """Remove the socket of a service that has ended: a connection to it is refused."""
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InvalidValueError(f"{self} is a file and no socket: it is not replaced")
        try:
            self.connect(1.0).close()
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:  # it is busy, or somebody else's
            raise InUseError(f"{self} is in use: {error.strerror or error}") from error
        raise InUseError(f"{self} is in use: another service listens there")


def remove_own(path: Path, inode: int) -> None:
    """Remove the socket of this service, unless another one has replaced it.

    Args:
        path: of the socket.
        inode: what it had when this service made it.
    """
    with contextlib.suppress(OSError):
        if path.lstat().st_ino == inode:
            path.unlink()


def read_token(path: Path) -> bytes:
    """Return the token of a file that nobody else can read."""
    try:
        mode = path.stat().st_mode  # to open a pipe is to wait for its other end
        token = path.read_bytes()[:_LONGEST_TOKEN].strip() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise InvalidValueError(
            f"token_file '{path}' cannot be read: {error.strerror or error}"
        ) from error
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise InvalidValueError(
            f"token_file '{path}' must be a file that only its user can read (mode 0600), "
            f"got mode {stat.S_IMODE(mode):04o}"
        )
    if len(token) < SHORTEST_TOKEN:
        raise InvalidValueError(
            f"token_file '{path}' must have at least {SHORTEST_TOKEN} bytes, got {len(token)}"
        )
    return token


class Peer(NamedTuple):
    """Who is at the other end.

    Attributes:
        process: the number of the process; 0 if unknown.
        user: the name of the user; empty if unknown.
    """

    process: int = 0
    user: str = ""

    @classmethod
    def of(cls, line: socket.socket) -> Peer:
        """Return the peer of a Unix socket; of another one nobody knows."""
        if line.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
            return cls()
        size = struct.calcsize("3i")
        process, user, _ = struct.unpack(
            "3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        )
        return cls(process, _user_name(user))

    def __str__(self) -> str:
        return f"process {self.process}, user {self.user}" if self.process else "a client over TCP"


def _user_name(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return str(number)

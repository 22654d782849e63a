"""A service in a thread, and clients that say things to it."""

import contextlib
import json
import socket
import threading
import time

from surefoot.controller.service import Address, Client, Daemon


class Served:
    """A service that runs in a thread of this process."""

    def __init__(self, service, folder, **options):
        self.service, self.path = service, folder / "s"
        options.setdefault("listen", Address.parse(str(self.path), "listen"))
        self.daemon = Daemon(service, **options)
        self.error = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.daemon.run()
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        place = self.daemon.listen
        wait_for(lambda: self.error or answers(place))
        if self.error is not None:
            self.thread.join()
            raise self.error
        return self

    def __exit__(self, *_):
        self.daemon.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error

    def client(self, **options):
        return Client(str(self.daemon.listen), **options)

    def raw(self):
        """A socket without a client around it."""
        return self.daemon.listen.connect(10.0)


def answers(place):
    with contextlib.suppress(OSError):
        place.connect(1.0).close()
        return True
    return False


def wait_for(happens, seconds=20.0):
    """Wait until something happens; fail if it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := happens():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{happens} did not happen in {seconds} s")


def lines_of(connection, count):
    """The next lines of a socket, as data."""
    with connection.makefile("rb") as file:
        return [json.loads(file.readline()) for _ in range(count)]


def free_port():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return line.getsockname()[1]

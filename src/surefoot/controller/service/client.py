"""A client of a service: for `surefoot ping`, for tests, and for hosts in Python."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any, Self

from surefoot.controller.service.endpoints import Address, read_token
from surefoot.controller.service.protocol import encode
from surefoot.core.errors import SurefootError

__all__ = ["Client", "NoServiceError"]


class NoServiceError(SurefootError, RuntimeError):
    """A service that cannot be reached, or has left."""


class Client:
    """A connection to a service, one request after the other.

    Args:
        place: the path of its socket, or a loopback address with a port.
        token_file: the file with the token, for an address.
        timeout: the seconds for each answer.

    Raises:
        NoServiceError: if nobody listens there, or the token is not the service's.
    """

    def __init__(
        self, place: str, *, token_file: str | Path | None = None, timeout: float = 30.0
    ) -> None:
        self.place = Address.parse(str(place), "place")
        token = None if token_file is None else read_token(Path(token_file)).decode()
        try:
            self._line = self.place.connect(timeout)
        except OSError as error:
            words = error.strerror or str(error)
            raise NoServiceError(f"nobody listens on {self.place}: {words}") from error
        self._answers = self._line.makefile("rb")
        self._events: deque[dict[str, Any]] = deque()
        if token is not None:
            answer = self.say(do="hello", token=token)
            if not answer["ok"]:
                self.close()
                raise NoServiceError(str(answer["error"]))

    def say(self, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        try:
            self._line.sendall(encode(request))
            while True:
                answer = self._next_line()
                if "event" not in answer:
                    return answer
                self._events.append(answer)
        except OSError as error:
            words = error.strerror or str(error)
            raise NoServiceError(f"{self.place} does not answer: {words}") from error

    def hear(self) -> dict[str, Any]:
        """Return the next event, as a subscriber."""
        return self._events.popleft() if self._events else self._next_line()

    def _next_line(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise NoServiceError(f"{self.place} has left")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Leave the service."""
        self._answers.close()
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Progress with rate and time left: a bar in a terminal, an occasional line in a pipe.

Progress goes to standard error, so that standard output has the results only.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surefoot.cli._output import duration, number, warn

if TYPE_CHECKING:
    from surefoot.experiments import Event

__all__ = ["Meter", "bar_of", "progress", "stage"]

FIRST, LATER, RARE = 1.0, 5.0, 30.0
"""Seconds until the first plain line, between the next ones, and after a few minutes."""


class Meter:
    """Rate and time left; cells from before the run do not count.

    Args:
        clock: seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._base: Event | None = None
        self.now: Event | None = None

    def note(self, moment: Event) -> None:
        """Record how far the run is."""
        if self._base is None:
            self._base = moment
        self.now = moment

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def rate(self) -> float:
        """Rounds per second; 0 before the first cell is done."""
        if self.now is None or self._base is None or self.elapsed <= 0:
            return 0.0
        return (self.now.rounds_done - self._base.rounds_done) / self.elapsed

    @property
    def share(self) -> float:
        """Cells done, of all cells."""
        return 0.0 if self.now is None else _share(self.now, None)

    @property
    def left(self) -> float | None:
        """Seconds until the end at this rate; None before the first cell is done."""
        if self.now is None or self._base is None:
            return None
        share = _share(self.now, self._base)
        return self.elapsed * (1 - share) / share if share > 0 else None

    def words(self) -> list[str]:
        """Return cells, rate and time left, the most important first."""
        if self.now is None:
            return ["starting"]
        words = [f"{self.now.done}/{self.now.total} cells"]
        if self.rate > 0:
            words.append(f"{number(self.rate)} rounds/s")
        if self.left is not None:
            words.append(f"{duration(self.left)} left")
        return words

    def line(self) -> str:
        """Return the same, and what was played last, as one line of any length."""
        label = self.now.label if self.now is not None else ""
        return ", ".join([*self.words(), *([label] if label else [])])


def _share(now: Event, before: Event | None) -> float:
    """Return the share of the work that is done, in all or since a moment.

    Between that of the cells, right if each takes as long (most of it may be compiling), and that
    of the rounds, right if each of those does.
    """
    done, rounds = (0, 0) if before is None else (before.done, before.rounds_done)
    cells = (now.done - done) / max(1, now.total - done)
    return math.sqrt(cells * (now.rounds_done - rounds) / max(1, now.rounds_total - rounds))


def bar_of(pace: Meter, width: int) -> str:
    """Return one line that fits: a bar, cells, rate, time left and what is being played.

    Args:
        pace: how far the run is.
        width: characters in a line.
    """
    now, share = pace.now, pace.share
    text = ""
    for word in pace.words():
        if len(text) + len(word) + 2 > width:
            break
        text += f"  {word}"
    room = width - len(text)
    if room >= 10:
        long = min(30, room - 6)
        filled = int(long * share)
        text = f"{'━' * filled}{'─' * (long - filled)} {share:>4.0%}{text}"
    if now is not None and now.label and width - len(text) >= 12:
        text += f"  {now.label}"
    text = text.strip()
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


@contextmanager
def progress() -> Iterator[Callable[[Event], None]]:
    """Show how far a run is while it lasts; call what is given with every news."""
    pace = Meter()
    with _live(lambda width: bar_of(pace, width)) if _rewrites() else _lines(pace.line):
        yield pace.note


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Show what is being done, if it takes a while and no rate is known.

    Args:
        what: a few words.
    """
    start = time.monotonic()

    def line(width: int = 1000) -> str:
        return f"{what}, {duration(time.monotonic() - start)}"[:width]

    with _live(line) if _rewrites() else _lines(line):
        yield


@contextmanager
def _lines(line: Callable[[], str]) -> Iterator[None]:
    """Print a plain line now and then, also while nothing changes."""
    over = threading.Event()

    def tell() -> None:
        pause, told = FIRST, 0
        while not over.wait(pause):
            warn(line())
            told += 1
            pause = LATER if told < 20 else RARE

    thread = threading.Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _live(line: Callable[[int], str]) -> Iterator[None]:
    """Show a line that is rewritten in place and removed at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)

    class Line:
        def __rich__(self) -> Text:
            return Text(line(console.width - 1), no_wrap=True, overflow="crop")

    with Live(Line(), console=console, refresh_per_second=8, transient=True):
        yield


def _rewrites() -> bool:
    """Return whether standard error is a terminal that can rewrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

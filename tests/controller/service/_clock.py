"""A clock that tests set: no test of a deadline depends on how busy the machine is."""

import time
from datetime import datetime, timedelta

from surefoot.controller import journal
from surefoot.controller.service import ages, serving, snapshot, views


class SetClock:
    """Stands for the module ``time`` in a service, and for the clock of its journal.

    Time passes by :meth:`pass_by` alone, and by hardly anything at each reading.
    """

    def __init__(self, monkeypatch):
        clock = self
        self.seconds = 0.0
        self.began = time.monotonic()

        class Datetime(datetime):
            @classmethod
            def now(cls, tz=None):
                clock.seconds += 1e-6
                return datetime(2026, 7, 10, tzinfo=tz) + timedelta(seconds=clock.seconds)

        for module in (serving, snapshot, views):
            monkeypatch.setattr(module, "time", self)
        for module in (ages, journal, views):
            monkeypatch.setattr(module, "datetime", Datetime)

    def monotonic(self):
        self.seconds += 1e-6
        return self.began + self.seconds

    def pass_by(self, seconds):
        self.seconds += seconds

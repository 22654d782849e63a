"""What readers see of one machine of a plant file, and what its service keeps to show it."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from surefoot.controller.explanation import Explanation, explain
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.machine import Machine, RoundEvent
from surefoot.controller.service.protocol import Answer
from surefoot.controller.service.snapshot import Sample, alarm_data, explanation_data
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.problems.plant import PlantDescription, plant_data

__all__ = ["AWAY", "HELPS", "LAST", "SERVICE", "Keeper", "MachineView", "deadline_of"]

LAST = 20
"""How many rounds of the history a reader gets unless it names another number."""

_HISTORY = 1_000
"""How many rounds readers may see again; all are in the journal."""
_MOST_ROUNDS = 2
"""How many rounds a deadline may last where a limit changes by itself."""
_MOST_MISSING = 1_000
"""How many rounds are taken as missing, one by one, after a time in which nobody counted."""
SERVICE = "the service"
AWAY = "it was away, and nobody counted the rounds in which limits changed"
"""Who lets a machine begin anew after that, and why."""
_LATE = 1.01
"""A round that is longer than so many of its lengths is late, where a limit changes by itself."""

HELPS = {
    "proved": ("gauge", "Whether the set points are proved, and for this moment."),
    "bound": ("gauge", "What is certified of g at the set points; at most 0 is feasible."),
    "reading": ("gauge", "The last reading of a limit, in its unit."),
    "limit": ("gauge", "The limit itself, in its unit."),
    "margin": ("gauge", "How far the last reading was within its limit, in its unit."),
    "violations_total": ("counter", "Rounds with a reading beyond a limit."),
    "recoveries_left": ("gauge", "How many times the plant may still recover."),
    "amendments_total": ("counter", "Amendments and recoveries since the service began."),
}
"""The type of each number of a machine, and what it is."""


@dataclass(frozen=True)
class MachineView:
    """A machine at one moment; nothing of it changes.

    Attributes:
        round: the current one.
        machine: what is known of it; amendments and recoveries replace it.
        sha256: of the description, as the journal has it.
        set_points: to use, by name; None while the context of the round is unknown.
        bound: what is certified of g at them; infinite if nothing is.
        run: what is played.
        loop: its state.
        amendments: how many there were since the service began.
        violations: how many rounds with a reading beyond a limit.
        ends_at: until when the set points are promised, by the monotonic clock; infinite for ever.
        rounds: the last rounds, the newest last.
    """

    round: int
    machine: Machine
    sha256: str
    set_points: Mapping[str, float] | None
    bound: float
    run: Run
    loop: LoopState
    amendments: int
    violations: int
    ends_at: float
    rounds: tuple[Answer, ...]

    @property
    def plant(self) -> PlantDescription:
        """The description."""
        return self.machine.plant

    @cached_property
    def explanation(self) -> Explanation:
        """Why the set points may be used; it takes a while."""
        return self.machine.explain(explain(self.run, self.loop))

    @property
    def is_proven(self) -> bool:
        """Whether the set points are certified."""
        return self.set_points is not None and self.bound <= 0.0

    @property
    def bounds(self) -> dict[str, float]:
        """What is certified of each limit, in its unit, by name; empty where nothing is."""
        return {} if self.set_points is None else self.machine.name_bounds(self.explanation)

    @property
    def last(self) -> Answer:
        """The last round; empty before the first."""
        return self.rounds[-1] if self.rounds else {}

    def now(self) -> Answer:
        """Return the set points, whether they are certified, and until when."""
        return {
            "round": self.round,
            "set_points": None if self.set_points is None else dict(self.set_points),
            "units": {each.name: each.unit for each in self.plant.actuators},
            **self.validity(),
        }

    def validity(self) -> Answer:
        """Return until when the set points are promised: as a time, and in seconds from now."""
        seconds = self.ends_at - time.monotonic()
        if seconds == math.inf:
            return {"valid_until": None, "valid_for": None, "proved": self.is_proven}
        # Computed from the present time, so that a clock that is set does not move the end.
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        words = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        left = round(max(0.0, seconds), 3)
        return {"valid_until": words, "valid_for": left, "proved": self.is_proven and seconds > 0}

    def status(self) -> Answer:
        """Return the plant, what it does and what is promised."""
        plant, why = self.plant, self.explanation
        return {
            "plant_sha256": self.sha256,
            "role": plant.role,
            "round_seconds": 60.0 * plant.round_minutes,
            **self.now(),
            "start": {each.name: each.start for each in plant.actuators},
            "limits": {
                each.name: {"unit": each.unit, each.sense: each.bound} for each in plant.limits
            },
            "contexts": {
                each.name: {"unit": each.unit, "range": [each.low, each.high]}
                for each in plant.contexts
            },
            "bounds": self.bounds,
            "last": self.last,
            "halted": why.halted,
            "recoveries_left": self.machine.left,
            "on_contradiction": plant.policy.on_contradiction,
            "guarantee": str(why.guarantee or why.unproved),
            "estimates": list(plant.estimates),
            "broken": [breach.sentence for breach in why.broken],
        }

    def explain(self) -> Answer:
        """Return why the set points may be used: in units, and in the numbers of the rule."""
        return {"bounds": self.bounds, **explanation_data(self.explanation)}

    def history(self, last: object) -> Answer:
        """Return the last rounds, the newest last."""
        number = checks.positive_int(last, "last")
        if number > _HISTORY:
            raise checks.invalid("last", f"at most {_HISTORY}", last)
        return {"rounds": list(self.rounds[-number:])}

    def samples(self, labels: Mapping[str, str]) -> Iterator[Sample]:
        """Yield the numbers for a monitor.

        Args:
            labels: that of the member, in a fleet.
        """
        yield Sample("proved", float(self.validity()["proved"]), labels)
        if self.bound < math.inf:
            yield Sample("bound", self.bound, labels)
        for limit in self.plant.limits:
            own = {**labels, "limit": limit.name}
            yield Sample("limit", limit.bound, own)
            reading = self.last.get("readings", {}).get(limit.name)
            if reading is not None:
                inside = limit.bound - reading
                yield Sample("reading", reading, own)
                yield Sample("margin", inside if limit.sense == "at_most" else -inside, own)
        yield Sample("violations_total", self.violations, labels)
        yield Sample("recoveries_left", self.machine.left, labels)
        yield Sample("amendments_total", self.amendments, labels)


def deadline_of(plant: PlantDescription) -> float:
    """Return after how many seconds a round that nobody reports counts as missing.

    Raises:
        InvalidValueError: if it is too long for a limit that changes by itself.
    """
    rounds = float(_MOST_ROUNDS)
    if plant.service.deadline is not None:
        rounds = plant.service.deadline / plant.round_minutes
    moves = any(limit.changes is not None and limit.changes.value for limit in plant.limits)
    if moves and rounds > _MOST_ROUNDS:
        raise InvalidValueError(
            f"service.deadline must be at most {_MOST_ROUNDS} rounds where a limit changes by "
            f"itself, got {rounds:.6g} rounds"
        )
    return rounds * 60.0 * plant.round_minutes


class Keeper:
    """What a service keeps of a machine: its last rounds, and since when a round lasts.

    Only the worker thread of a service calls it.

    Args:
        machine: what is known of it.
        t: the current round.
        age: the seconds since the round began; infinite if unknown.

    Attributes:
        deadline: the seconds after which a round that nobody reports counts as missing.
        is_missing: whether a round is being taken as missing.
    """

    def __init__(self, machine: Machine, t: int, age: float) -> None:
        self._history: deque[Answer] = deque(maxlen=_HISTORY)
        self._amendments = self._violations = 0
        self.is_missing = False
        self._learn(machine)
        # The set points may be those of a round that began before the service.
        self._begun = (t, time.monotonic() - min(age, self._length + self.deadline))

    def _learn(self, machine: Machine) -> None:
        """Keep what follows from the constants."""
        self._machine, self._length = machine, 60.0 * machine.plant.round_minutes
        self.deadline = deadline_of(machine.plant)
        self._drift = max(each.drift for each in machine.scaling.limits)
        text = json.dumps(plant_data(machine.plant), sort_keys=True)
        self._sha256 = hashlib.sha256(text.encode()).hexdigest()

    def find_lateness(self) -> str:
        """Return why the constants do not cover the round as it lasted; empty if they do."""
        lasted = self.lasted
        if not self._drift or lasted <= _LATE * self._length:
            return ""
        return (
            f"round {self._begun[0]} lasted {lasted:.3g} s, and the plant file says "
            f"{self._length:.3g} s: its limit may have changed by more than was allowed for"
        )

    def lost_count(self, age: float) -> bool:
        """Return whether nobody counted the rounds of a limit that changes by itself.

        Args:
            age: the seconds since the last one that was counted.
        """
        return self._drift > 0 and age > self._length + self.deadline

    @property
    def lasted(self) -> float:
        """The seconds since the round began."""
        return time.monotonic() - self._begun[1]

    @property
    def has_lost_count(self) -> bool:
        """Whether a round lasts so long that the service itself must have stood still."""
        return self.lost_count(self.lasted)

    def count_rounds(self) -> int:
        """Return how many rounds are missing if one is: as many as have passed under a drift."""
        lengths = int(self.lasted / self._length)
        return max(lengths, 1) if self._drift and not self.has_lost_count else 1

    def lead_to_start(
        self,
        age: float,
        begin_anew: Callable[[], None],
        miss: Callable[[], None],
        retreat: Callable[[str], None],
    ) -> None:
        """Let the machine begin anew where nobody counted its rounds.

        Where a ramp keeps it from its start, the rounds that have passed are missing ones, until it
        is there. If nobody knows how many those are, it is ordered to its start.

        Args:
            age: the seconds since the last round that was counted; infinite if unknown.
            begin_anew: lets it begin anew, or raises where it is not at its start.
            miss: takes a round as missing.
            retreat: orders it to its start.
        """
        passed = math.ceil(age / self._length) if age < math.inf else _MOST_MISSING + 1
        for _ in range(min(passed, _MOST_MISSING) if age < math.inf else 0):
            with suppress(InvalidValueError):
                begin_anew()
                return
            miss()
        try:
            begin_anew()
        except InvalidValueError:
            if passed > _MOST_MISSING:
                retreat(AWAY)

    def view(self, machine: Machine, run: Run, loop: LoopState) -> MachineView:
        """Return the machine as it is now.

        Args:
            machine: what is known of it.
            run: what is played.
            loop: its state.
        """
        if loop.round != self._begun[0]:
            self._begun = (loop.round, time.monotonic())
        if machine is not self._machine:
            self._amendments += 1
            self._learn(machine)
            self._begun = (loop.round, time.monotonic())  # what was read before counts no more
        bound = float(loop.bound(run))
        points = None if loop.awaits_context else machine.name_set_points(loop.x)
        return MachineView(
            loop.round,
            machine,
            self._sha256,
            points,
            bound,
            run,
            loop,
            self._amendments,
            self._violations,
            self._begun[1] + self._find_validity(machine.plant, points, bound),
            tuple(self._history),
        )

    def _find_validity(
        self, plant: PlantDescription, points: Mapping[str, float] | None, bound: float
    ) -> float:
        """Return for how many seconds of the round its set points are promised.

        For ever at the start, beyond which nothing is safer, and if limits neither change nor have
        contexts. Else until the round is over, and for one deadline more if nobody reports; under
        drift no longer than the bound allows.
        """
        if points is None:  # those of the round before stay, until the context is announced
            return self.deadline
        is_start = all(points[each.name] == each.start for each in plant.actuators)
        if is_start or (bound <= 0.0 and not (plant.contexts or self._drift)):
            return math.inf
        seconds = self._length + self.deadline
        if self._drift and bound < math.inf:
            rounds = math.floor(max(0.0, -bound) / self._drift)
            seconds = min(seconds, self._length * (1 + rounds))
        return seconds

    def hear(self, event: RoundEvent, machine: Machine) -> str:
        """Keep a round that is over, and return how it came about.

        Args:
            event: the round.
            machine: what is known after it.
        """
        how = "halted" if event.how in ("held", "retreated") else "step"
        how = "missing" if event.g is None else how
        how = "deadline" if self.is_missing else how
        how = "recovered" if machine.left < self._machine.left else how
        self._violations += any(
            event.readings[limit.name] > limit.bound
            if limit.sense == "at_most"
            else event.readings[limit.name] < limit.bound
            for limit in machine.plant.limits
        )  # also where a reading is not believed, and counts as none
        now = time.monotonic()
        if self.is_missing and self._drift:  # what has passed of the next one is not forgotten
            now = min(self._begun[1] + self._length, now)
        self._begun = (event.round + 1, now)
        readings = {name: None if g != g else g for name, g in event.readings.items()}
        self._history.append(
            {
                "round": event.round,
                "time": event.time,
                "how": how,
                "set_points": event.set_points,
                "readings": readings,
                "context": event.context,
                "proved": event.is_proven,
                "alarms": [alarm_data(alarm) for alarm in event.alarms],
            }
        )
        return how

"""The doors through which a case is played: a controller, or a member of a fleet."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Self

import numpy as np

from surefoot import Controller
from surefoot.controller import Alarm, Explanation, Fleet
from surefoot.controller.members import Solo
from surefoot.core.errors import InvalidValueError

__all__ = ["DOORS", "MemberDoor", "open_door"]

DOORS = ("controller", "fleet")
NAMES = ("one", "two")
_LISTS = ("within", "context", "drift")


class MemberDoor:
    """A member of a fleet with the calls of a controller; another member is told the same.

    The two are told in calls of their own, or in one, and must play the same.

    Args:
        player: what both play.
        start: the first action of both.
        journal: path of a new file.
        rotate: as for a fleet.
        durable_every: likewise.
        context: of the first round.
        on_contradiction: a policy; what a fleet does not have is "record".
        on_missing: likewise "hold".
    """

    def __init__(
        self,
        player: Any,
        start: Any,
        *,
        journal: Path,
        rotate: int | None,
        durable_every: int,
        on_contradiction: str,
        on_missing: str,
        context: Any = None,
    ) -> None:
        self.is_left_out = False
        reactions = {"raise": "record", "warn": "record"}
        reaction: Any = reactions.get(on_contradiction, on_contradiction)
        missing: Any = {"raise": "hold"}.get(on_missing, on_missing)
        self.fleet = Fleet(
            player,
            dict.fromkeys(NAMES, start),
            journal=journal,
            rotate=rotate,
            durable_every=durable_every,
            on_contradiction=reaction,
            on_missing=missing,
            context=None if context is None else [context] * 2,
            on_alarm=self._hear,
        )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Continue from a journal."""
        door = cls.__new__(cls)
        door.is_left_out = False
        door.fleet = Fleet.open(path, on_alarm=door._hear)
        return door

    def _hear(self, alarm: Alarm) -> None:
        """Notice a report that could not be used."""
        self.is_left_out = self.is_left_out or alarm.kind == "refused"

    @property
    def _now(self) -> tuple[Solo, None]:
        return Solo(*self.fleet._now[0].get("one")), None

    @property
    def round(self) -> int:
        """The round of both members."""
        assert len(set(self.fleet.rounds.values())) == 1
        return self.fleet.rounds["one"]

    @property
    def state(self) -> Any:
        """The state of the first member."""
        return self._now[0].loop.state

    @property
    def halted(self) -> str | None:
        """Why the first member is halted."""
        return self.fleet.halted.get("one")

    def ask(self) -> Any:
        """Return the action of the first member; the other must have the same."""
        one, two = self.fleet.ask()
        assert one.tobytes() == two.tobytes(), f"two members of one fleet: {one} and {two}"
        return one

    def tell(self, *, missing: bool = False, **told: Any) -> None:
        """Tell both members, in one call or in two."""
        self.is_left_out = False
        g = told.get("constraint_value")
        if missing or g is None:
            d, m = len(self.state.x), self._now[0].run.rows or 1
            rows = (m,) if self._now[0].run.needs.separately else ()
            told["constraint_value"] = np.full(rows, math.nan)
            told["constraint_subgradient"] = np.full((*rows, d), math.nan)
            for name in ("cost_gradient", "proposal"):
                told[name] = np.full(d, math.nan)
            first = self._now[0].run.first
            known = (first, "action", *_NEEDED, *_LISTS)
            told = {n: v for n, v in told.items() if n in known}
        elif np.isnan(g).any():  # of a fleet that is no wrong call but a missing one
            raise InvalidValueError("constraint_value must be finite, got nan")
        lists = {name: told.pop(name) for name in _LISTS if told.get(name) is not None}
        columns = {name: np.array([value]) for name, value in told.items() if value is not None}
        alone = {**columns, **{name: [value] for name, value in lists.items()}}
        both: dict[str, Any] = {name: np.repeat(part, 2, axis=0) for name, part in columns.items()}
        both |= {name: [value] * 2 for name, value in lists.items()}
        if self.fleet.rounds["one"] % 3:
            self.fleet.tell(**both)
            return
        for name in NAMES:
            self.fleet.tell(**alone, members=[name])

    def announce(self, *, context: Any) -> None:
        """Announce the context of both."""
        self.fleet.announce(context=[context] * 2)

    def explain(self) -> Explanation:
        """Return why the action of the first may be played."""
        return self.fleet.explain("one")

    def hold(self, reason: str) -> None:
        """Order both to hold, in two calls."""
        for name in NAMES:
            self.fleet.hold(reason, [name])

    def retreat(self, reason: str, speed: float | None = None) -> None:
        """Order both to retreat."""
        self.fleet.retreat(reason, speed=speed)

    def resume(self, reason: str, player: Any = None, start: Any = None) -> None:
        """Let both go on."""
        if start is not None:
            raise InvalidValueError("start must be None: members start where they began")
        self.fleet.resume(reason, player=player)

    def close(self) -> None:
        """Close the journal."""
        self.fleet.close()


_NEEDED = ("constraint_value", "constraint_subgradient")


def open_door(door: str) -> Any:
    """Return what is called as a controller is."""
    return {"controller": Controller, "fleet": MemberDoor}[door]

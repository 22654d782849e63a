"""What an operator orders between rounds: hold, retreat, resume, and a note."""

from __future__ import annotations

from typing import Any

from surefoot.controller._checks import (
    POLICIES,
    check_player,
    check_policies,
    check_text,
    checked_run,
    first_memory,
)
from surefoot.controller._deciding import unmeasured, way_to
from surefoot.controller._live import LiveLoop
from surefoot.controller._plain import to_plain
from surefoot.controller._records import REASONS, Memory, Run
from surefoot.controller._rows import boxed, plain_player
from surefoot.controller._ways import How
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array

__all__ = ["Ordered"]


class Ordered(LiveLoop):
    """A controller that an operator can hold, send back and let go on."""

    __slots__ = ()

    def hold(self, reason: str) -> None:
        """Keep the current action until :meth:`resume`; rounds are still told and journalled.

        For a fixed g that is proved to be safe for ever. Where g may drift, the controller holds
        while the bound allows it, and then takes the least way back.

        Args:
            reason: in words, for :meth:`explain` and the journal.
        """
        self._order("hold", reason, "held", None)

    def retreat(self, reason: str, speed: float | None = None) -> None:
        """Go back towards the first action, and stay there until :meth:`resume`: ask again.

        For a convex and fixed g every point of the way is feasible. Where g is not convex it need
        not be; where g may drift, :meth:`explain` says how long it is.

        Args:
            reason: in words, for :meth:`explain` and the journal.
            speed: the distance per round, the current one included; all of it at once unless given.
        """
        if speed is not None:
            checks.positive(speed=speed)
            speed = float(speed)
        self._order("retreat", reason, "retreated", speed)

    def note(self, text: str) -> None:
        """Write an operator's note to the journal; nothing else changes."""
        check_text(text, "text")
        if self._journal is None:
            raise InvalidValueError("note needs a journal, got a controller without one")
        self._journal.enter("note", {"text": text}, self._memory(), lambda: None)

    def resume(
        self, player: Any = None, *, start: Array = None, reason: str = "resumed", **given: Any
    ) -> None:
        """Go on after a hold, a retreat or a contradiction, in the same journal: ask again.

        Without a player the rule goes on from where it is, with its constants. With one, which
        may have other constants, that one starts from the first action of the run (or another
        start), whose slack it measures anew; contradictions of the player before are history.

        Args:
            player: as for a new controller; None for the same.
            start: its first action; that of the run unless given.
            reason: in words, for the journal.
            given: policies, as for a new controller.
        """
        check_text(reason, "reason")
        allowed = ("on_contradiction", "on_missing")
        if strangers := sorted(set(given) - set(allowed)):
            raise InvalidValueError(f"resume takes {', '.join(allowed)}, got {strangers[0]}")
        run, what = self._run, {"reason": reason, **given}
        if player is None and start is not None:
            raise InvalidValueError(f"start must come with a player, got start={start!r} alone")
        kept = {name: getattr(run, name) for name in allowed} | given
        x = run.start if self._anchor is None else self._anchor.x
        if player is None:
            check_policies(**{n: kept[n] for n in POLICIES})
            run = run._replace(**kept)
            check_player(run)
            memory = self._memory()._replace(halt=None)
        else:
            x = x if start is None else start
            run = checked_run(player, x, **kept, rotate=run.rotate)
            memory = first_memory(run)._replace(
                way=way_to(self._scene(), run.start, reason), cut=False
            )
        if player is not None or given:
            what["player"] = boxed(plain_player(run))
        self._between("resume", {**what, "fresh": player is not None}, run, memory)

    def _order(self, kind: str, reason: str, how: How, speed: float | None) -> None:
        """Do what an operator orders, and write it down."""
        check_text(reason, "reason")
        decision = unmeasured(self._scene_unmeasured(), reason, how, speed)
        memory = self._memory()._replace(
            state=decision.state, halt=decision.halt, way=decision.certificate, cut=False
        )
        self._between(kind, {"reason": reason, "speed": speed}, self._run, memory)

    def _between(self, kind: str, what: dict[str, Any], run: Run, memory: Memory) -> None:
        """Write an entry and have what follows from it."""

        def take() -> None:
            info = self._info
            refused = self._refused if memory.state is self._state else ()
            self._load(run, memory)
            self._refused = refused  # while the action is the one that it was seen at
            if memory.way is None:
                self._info = info  # the certificate of the action is still to be had
            self._asked = 0
            if self._journal is not None:
                self._journal.run = run

        if self._journal is None:
            take()
        else:
            way = None if memory.way is None else to_plain(memory.way, own=REASONS).text
            self._journal.enter(kind, what | {"way": way}, memory, take)

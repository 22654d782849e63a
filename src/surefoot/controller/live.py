"""One live loop, of one member or of many: a lock, a journal, orders by member, a listener.

A :class:`Controller` is a live loop with one member, a :class:`Fleet` one with any number. Both
only shape arguments: what follows from a round or an order is decided by member
(:mod:`surefoot.controller.decide`), and is in the journal before it changes the state.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from surefoot.controller import records
from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.journal import Journal, Position, Reader, bytes_in, now
from surefoot.controller.loop import POLICIES, LoopState, Run, check_text
from surefoot.controller.members import Members, Name, Solo, name_alarms, order_one
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.plain import Data, PlainTable, encode
from surefoot.core.types import ArrayLike, Player
from surefoot.guarantees import Guarantee, Tuned

__all__ = ["Amendment", "JournalWarning", "Live", "player_difference"]


class JournalWarning(UserWarning):
    """Warn that a journal ended in the middle of a record, or was written elsewhere."""


class Amendment(NamedTuple):
    """What changes what is known of a plant, for the journal.

    Attributes:
        run: what is played from then on, from its start.
        by: whose change it is.
        reason: in words.
        changes: the path of each key that changes, its old value and its new one.
    """

    run: Run
    by: str
    reason: str
    changes: tuple[tuple[str, Data, Data], ...]


class Live:
    """Players in a live loop: a report is in the journal before it changes the state.

    Attributes:
        on_alarm: a function that is called with every :class:`Alarm`, after the round is over.
    """

    __slots__ = ("__weakref__", "_asked", "_is_hint_named", "_journal", "_lock", "_now", "on_alarm")

    # All that changes: the members, and the position in the journal.
    _now: tuple[Any, Position | None]
    _journal: Journal | None

    def _set_up(self, members: Solo | Members, on_alarm: OnAlarm | None) -> None:
        if on_alarm is not None:
            checks.function(on_alarm=on_alarm)
        self._lock, self._journal = threading.RLock(), None
        self.on_alarm: OnAlarm | None = on_alarm
        self._asked: Any = 0  # the last round that was asked for; of many members, one for each
        self._is_hint_named = False  # whether the first invalid hint was reported
        self._now = (members, None)

    def _create(
        self, path: str | os.PathLike[str] | None, rotate: int | str | None, durable_every: int
    ) -> None:
        """Start a journal, if a path is given."""
        if isinstance(rotate, str):
            bytes_in(rotate)
        elif rotate is not None:
            rotate = checks.positive_int(rotate, "rotate")
        every = checks.positive_int(durable_every, "durable_every")
        members, _ = self._now
        if path is not None:
            header = records.header_of(members, rotate=rotate, durable_every=every)
            self._journal, at = Journal.create(path, header)
            self._now = (members, at)

    @property
    def round(self) -> int:
        """The current round; the first is 1."""
        raise NotImplementedError

    # --- members ---------------------------------------------------------------------------------

    def _check_context(self, run: Run, loop: LoopState) -> None:
        """Raise while the context of a round, and so its action, is unknown."""
        if loop.awaits_context:
            name = run.algorithm.knowledge.context.argument
            what = "drift until then" if name == "drift" else "context"
            raise InvalidValueError(
                f"round {loop.round} has no action before its {what} is known: "
                f"tell(..., {name}=...) or announce({name}=...)"
            )

    def _forget_asked(self, name: Name) -> None:
        """Let a member be asked again before it is told."""
        raise NotImplementedError

    def _order(
        self, kind: str, orders: Mapping[Name, PlainTable], runs: Mapping[Name, Run] | None = None
    ) -> None:
        """Write orders to members, or the contexts of their rounds, and apply them.

        Args:
            kind: which.
            orders: by member, the fields of its record.
            runs: by member, what is played from then on, if it changes.
        """
        changes, lines, alarms, error = {}, [], [], None
        with self._lock:
            members, _ = self._now
            for name, what in orders.items():
                run, loop = members.get(name)
                then = (runs or {}).get(name, run)
                decision = order_one(name, run, loop, {"kind": kind, **what}, then)
                after, error = decision.loop, decision.error
                head = {"kind": kind} if name is None else {"kind": kind, "member": name}
                head |= {"round": loop.round}
                if error is None:
                    more = {"loop": records.encode_loop(after)} if "player" in what else {}
                    lines.append(head | what | more | records.next_action(after))
                else:
                    lines.append(head | {"kind": "refused"} | records.refusal(after.refused))
                changes[name] = (then, after)
                alarms += name_alarms(name, decision.alarms)
            self._now = (members.put(changes), self._write(lines, kind="orders"))
            for name, what in orders.items():
                if kind != "resume" or name is not None or what.get("fresh"):
                    self._forget_asked(name)
            emit(alarms, self.on_alarm)
        if error is not None:
            raise error

    def _halt(self, kind: str, reason: str, names: Sequence[Name], **what: object) -> None:
        """Order members to hold or to retreat, until they are resumed."""
        check_text(reason, "reason")
        self._order(kind, {name: {"reason": reason, **what} for name in names})

    def _retreat(self, reason: str, names: Sequence[Name], speed: float | None) -> None:
        """Order members to go back towards their anchors, at a speed or at once."""
        if speed is not None:
            checks.positive(speed=speed)
            speed = float(speed)
        self._halt("retreat", reason, names, speed=speed)

    def _resume(
        self,
        names: Sequence[Name],
        player: Player | Tuned[Any] | None,
        start: ArrayLike | None,
        reason: str,
        policies: Mapping[str, str | None],
    ) -> None:
        """Let members go on, perhaps with another player, from a start of its own."""
        check_text(reason, "reason")
        if player is None and start is not None:
            raise InvalidValueError(f"start must come with a player, got only start={start!r}")
        with self._lock:
            members, _ = self._now
            orders, runs = {}, {}
            for name in names:
                before, loop = members.get(name)
                run = before.with_policies(**policies)
                if player is not None:
                    at = before.start if loop.anchor is None else loop.anchor.x
                    kept = {policy: getattr(run, policy) for policy in POLICIES}
                    run = Run.of(player, at if start is None else start, **kept)
                what: PlainTable = {"reason": reason}
                orders[name] = what
                if run is not before:
                    what |= {**records.player_of(run), "fresh": player is not None}
                    runs[name] = run
            self._order("resume", orders, runs)

    def _amend(self, amended: Mapping[Name, Amendment]) -> None:
        """Let members begin anew at their starts, by what is known of their plants now."""
        orders, runs = {}, {}
        with self._lock:
            for name, amendment in amended.items():
                what = amendment._asdict()
                runs[name] = what.pop("run")
                orders[name] = {**what, **records.player_of(runs[name]), "fresh": True}
            self._order("amend", orders, runs)

    # --- the journal -----------------------------------------------------------------------------

    def _write(
        self, lines: Sequence[PlainTable], steps: Sequence[PlainTable] = (), kind: str = "rounds"
    ) -> Position | None:
        """Write the records of a call, all or none of them.

        A new file or a snapshot may come before a round, unless the round needs details of the
        last step.

        Args:
            lines: the records, without a time.
            steps: the rounds of many members in columns.
            kind: the kind of the line, where it is about several members.
        """
        (members, at), journal = self._now, self._journal
        if journal is None or at is None:
            return None
        is_round = bool(steps) or lines[0]["kind"] == "round"
        if is_round and not any("played" in line for line in lines):
            at = self._save(journal, members, at)
        if len(lines) == 1 and not steps:
            record = _with_time(lines[0])
        else:
            record = {"kind": kind, "time": now()}
            record |= {"steps": list(steps)} if kind == "rounds" else {}
            record |= {"records": list(lines)}
        return journal.append(at, record, durable=not is_round)

    def _save(self, journal: Journal, members: Any, at: Position) -> Position:
        """Go on in a new file, or write a snapshot, if either is due."""
        if journal.is_full(at):
            writing = {"rotate": journal.rotate, "durable_every": journal.durable_every}
            header = records.header_of(members, **writing, rounds=self.round - 1)
            return journal.turn_over(at, header)
        if at.since < at.least:
            return at
        snapshot, journal.chunk = records.snapshot_of(members, journal.chunk)
        return journal.append(at, snapshot, durable=False)

    def note(self, text: str) -> None:
        """Write an operator's note to the journal; nothing else changes."""
        check_text(text, "text")
        with self._lock:
            members, at = self._now
            if at is None:
                raise InvalidValueError("note needs a journal, got none")
            note = {"kind": "note", "round": self.round, "text": text}
            self._now = (members, self._write([note]))

    def _say_opened(self, kind: str, sentence: str, *, loud: bool = True, **what: object) -> None:
        """Report what the end of a journal shows, also in the journal."""
        members, _ = self._now
        assert self._journal is not None
        record = {"kind": kind, "round": self.round, **what, "sentence": sentence}
        self._now = (members, self._write([record]))
        sentence = f"{self._journal.name}: {sentence}"
        emit([Alarm.of(self.round, "journal", sentence)], self.on_alarm)
        if loud:
            warn_caller(sentence, JournalWarning)

    def _go_on(
        self, journal: Journal, reader: Reader, end: tuple[Any, Position], on_alarm: Any
    ) -> None:
        """Go on from the end of a journal."""
        self._set_up(end[0], on_alarm)
        self._journal, self._now = journal, end
        journal.go_to(end[1].part)
        if reader.torn:
            t = reader.rounds + 1
            words = f"round {t} was being written; {t - 1} is the last certain round"
            self._say_opened("torn", words, bytes=reader.torn)

    def _name_engine(self, before: str, engine: str, is_rebuilt: bool) -> None:
        """Report in the journal that other code takes the steps, or took the last ones again.

        Args:
            before: what took the last steps.
            engine: what takes the next ones.
            is_rebuilt: whether actions were derived again with other last bits.
        """
        members, t = self._now[0], self.round
        if before != engine:
            words = f"steps are taken by {engine} from round {t} on, and were by {before}"
            more: PlainTable = {"engine": engine, **records.state_of(members)}
            self._say_opened("engine", words, loud=False, **more)
        elif is_rebuilt:
            words = f"the last rounds up to {t - 1} were derived again, with other last bits"
            self._say_opened("rebuilt", words, **records.state_of(members))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal, so that others can open it; without one nothing happens."""
        if self._journal is not None:
            self._journal.close(self._now[1])


def _with_time(record: PlainTable) -> PlainTable:
    """Return a record with the time, in the place where lines have it."""
    first = ("kind", "member", "round")
    head: PlainTable = {name: record[name] for name in first if name in record}
    return {**head, "time": now(), **record}


def player_difference(stored: Run, other: tuple[Any, Guarantee | None]) -> str:
    """Return in words how two players, each with its guarantee, differ; empty if they do not.

    All of their parts are compared, not their texts: the text of a long array is its shape.
    """
    first = (stored.algorithm, stored.guarantee)
    pairs = [[encode(part, leave_out=True) for part in parts] for parts in (first, other)]
    return next(filter(None, map(_find_difference, ("player", "guarantee"), *pairs)), "")


def _find_difference(name: str, one: Data, other: Data) -> str:
    """Return in words where two values first differ; empty if they do not."""
    if one == other:
        return ""
    there, here = (v.get("class", v) if isinstance(v, dict) else v for v in (one, other))
    parts: list[tuple[str, Data, Data]] = []
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = [(f"{name}[{i}]", *pair) for i, pair in enumerate(zip(one, other, strict=True))]
    elif isinstance(there, str) and isinstance(one, dict) and there == here:  # of one class
        parts = [(f"{name}.{key}", one[key], other[key]) for key in one]
    for part in parts:
        if difference := _find_difference(*part):
            return difference
    return f"{name} is {checks.repr_line(there)} there and {checks.repr_line(here)} here"

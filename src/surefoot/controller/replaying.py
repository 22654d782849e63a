"""Derive the states of a journal again, to go on from its end or to compare."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot import kernel
from surefoot.controller import records
from surefoot.controller.decide import decide
from surefoot.controller.journal import LostRoundsError, Position, Reader
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.members import (
    Members,
    Name,
    Report,
    Solo,
    begin_member,
    order_one,
)
from surefoot.controller.records import Steps
from surefoot.core.algorithm import move_to
from surefoot.core.errors import first_line
from surefoot.core.plain import NotPlainError, PlainTable, decode
from surefoot.core.types import Array

__all__ = ["Difference", "Part", "Replay", "Shadow", "read_tail", "replay", "restore"]

Part: TypeAlias = Literal["action", "row", "update", "certificate", "state"]
"""The next action; anything else of its line; the step itself, which rejected what was reported;
the certificate of the next action; the state in a snapshot."""

_CLOSE = 1e-12
"""How far actions may differ that another machine, or another engine, derived."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a journal differs from what it should be.

    Attributes:
        round: whose.
        part: what.
        stored: in the journal.
        derived: from the lines before.
        member: of a fleet, whose round it is; None in the journal of a controller.
    """

    round: int
    part: Part
    stored: Any
    derived: Any
    member: Name = None

    def __str__(self) -> str:
        where = f"round {self.round}"
        where = where if self.member is None else f"member {self.member}, {where}"
        if self.part == "row":
            return f"{where}: the line was changed after it was written"
        if self.part == "update":
            return f"{where}: what was reported is rejected: {self.derived}"
        return f"{where}: the {self.part} is {self.stored}, derived {self.derived}"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of replaying a journal; its ``str`` is one line.

    Attributes:
        path: of the journal.
        rounds: the number of its rounds.
        difference: the first, or None.
        is_torn: whether the record of one more round was being written when the writer ended.
        tolerance: how far actions may differ: 0, unless the journal says that they were derived
            elsewhere.
    """

    path: Path
    rounds: int
    difference: Difference | None
    is_torn: bool = False
    tolerance: float = 0.0

    @property
    def is_same(self) -> bool:
        """Whether every round is there and was derived again."""
        return self.difference is None

    def __str__(self) -> str:
        how = "exactly" if not self.tolerance else f"to {self.tolerance:g}"
        words = f"every action derived again, {how}"
        if self.difference is not None:
            words = str(self.difference)
        if self.is_torn:
            words += f"; round {self.rounds + 1} was being written"
        return f"journal '{self.path}', {self.rounds} rounds: {words}"


class End(NamedTuple):
    """The end of a journal, from which a live loop goes on.

    Attributes:
        members: what is played, and the states.
        at: where the next line goes.
        engine: what took the last steps.
        is_rebuilt: whether actions were derived again with other last bits.
    """

    members: Any
    at: Position
    engine: str
    is_rebuilt: bool


class Tail(NamedTuple):
    """The part of a journal that determines its end.

    Attributes:
        lines: from the oldest one on that has the newest state of a member, each with its number
            and the names of the members before it.
        newest: the number of the line with the newest state of each member.
        runs: what each member plays at its end.
        size: the bytes of the last line with a state.
        since: where in its file the lines after that begin.
        engine: what took the last steps.
    """

    lines: list[tuple[int, bytes, tuple[Name, ...]]]
    newest: dict[Name, int]
    runs: dict[Name, Run]
    size: int
    since: int
    engine: str


_STATES = tuple(b'{"kind":"%s"' % k for k in (b"journal", b"snapshot", b"rebuilt", b"engine"))
_CHANGES = (b'{"kind":"joined"', b'{"kind":"left"')


class _Reading:
    """What the lines of a journal say of players and actions, before any is played.

    Args:
        reader: of the journal.
        given: what could not be stored.
    """

    def __init__(self, reader: Reader, given: Mapping[str, object]) -> None:
        self.reader, self.given = reader, given
        self.players: dict[Name, Mapping[str, Any]] = {}
        self.runs: dict[Name, Run] = {}
        self.actions: dict[Name, Any] = {}
        self.kept: deque[tuple[int, bytes, tuple[Name, ...]]] = deque()
        self.newest: dict[Name, int] = {}
        self.count: dict[int, int] = {}  # by line, how many members have their newest state there
        self.pending: list[bytes] = []  # lines whose actions were not looked at
        self.engine, self.size, self.since, self.number = "", 0, 0, 0
        self.names: tuple[Name, ...] = ()

    def take(self, line: bytes) -> None:
        """Take the next line."""
        is_other = b'"kind":"amend"' in line
        is_other |= b',"player":' in line and b'"kind":"resume"' in line
        if line.startswith(_STATES) or line.startswith(_CHANGES) or is_other:
            self._look()
            self._take_state(line)
        else:
            self.pending.append(line)
            self.kept.append((self.number, line, self.names))
        self.number += 1

    def _take_state(self, line: bytes) -> None:
        """Take a line with a state, or one that changes who plays."""
        reader = self.reader
        record = reader.parse(line)
        names, kind = self.names, record["kind"]
        begins = not names
        if kind == "journal":
            self._take_header(record, len(line))
        elif kind == "left":
            self._leave(record["member"])
        elif kind == "joined":
            self._join(record, len(line))
        elif kind in ("resume", "amend", "orders"):
            self._take_players(record, len(line))
            self._take_actions(record)
        self.names = tuple(self.runs)
        self.kept.append((self.number, line, self.names if begins else names))
        if (found := self._find_states(record)) is not None:
            self._compare(record, found)
            self._name_newest(found)
            self.size, self.since = len(line), reader.size + len(line)
        self.engine = str(record.get("engine", self.engine))

    def _find_states(self, record: PlainTable) -> dict[Name, Any] | None:
        """Return the stored actions of the members whose state a line has; None for no state."""
        kind = record["kind"]
        if kind == "joined":
            return {record["member"]: record["start"]}
        if kind == "orders":
            records_ = [each for each in record["records"] if "loop" in each]
            return {each["member"]: each["loop"]["state"]["x"] for each in records_} or None
        if "loop" in record:
            return {record.get("member"): record["loop"]["state"]["x"]}
        if kind == "journal" and record["state"] is None:
            return dict(self.actions)
        if record.get("state") is None:
            return None
        state = record["state"]
        actions = {name: loop["state"]["x"] for name, loop in state["loops"].items()}
        d = len(next(iter(self.runs.values())).start)
        for rows in state["rows"]:
            blocks = decode(rows["blocks"])[:, :d].tolist()
            pairs = zip(rows["members"], blocks, strict=True)
            actions |= {self.names[i]: x for i, x in pairs}
        return actions

    def _name_newest(self, names: Iterable[Name]) -> None:
        """Let a line be the newest with the states of members, and drop what nobody needs."""
        for name in names:
            if (before := self.newest.get(name)) is not None:
                self.count[before] -= 1
            self.newest[name] = self.number
            self.count[self.number] = self.count.get(self.number, 0) + 1
        while self.kept and not self.count.get(self.kept[0][0]):
            if self.kept[0][0] == self.number:
                break
            self.kept.popleft()

    def _take_header(self, record: PlainTable, size: int) -> None:
        """Take the first line of a file: its players are those in force."""
        is_first = not self.runs
        names = record["members"]["names"] if "members" in record else [None]
        players = _players_in(record)
        if not is_first:
            for name in names:
                if name not in self.players or is_another(self.players[name], players[name]):
                    raise self._another()
            if len(names) != len(self.runs):
                raise self._another()
            return
        self.runs = records.runs_from(self.reader, record, self.given, size)
        self.players = players
        if record.get("state") is None and "members" in record:
            self.actions = {name: run.start.tolist() for name, run in self.runs.items()}

    def _another(self) -> Exception:
        where = f"the state after round {self.reader.rounds}"
        return self.reader.damaged(f"{where} is that of another player, without a resume")

    def _join(self, record: PlainTable, size: int) -> None:
        name = record["member"]
        if name in self.runs or None in self.runs or not isinstance(name, str):
            raise self.reader.damaged(f"member {name!r} joins, which it cannot")
        self.runs[name] = records.run_from(self.reader, record, self.given, size)
        self.players[name], self.actions[name] = record, record["start"]

    def _leave(self, name: Name) -> None:
        if name not in self.runs or name is None:
            raise self.reader.damaged(f"member {name!r} leaves, and is not there")
        del self.runs[name], self.players[name]
        self.actions.pop(name, None)
        if (before := self.newest.pop(name, None)) is not None:
            self.count[before] -= 1

    def _take_players(self, record: PlainTable, size: int) -> None:
        """Take the players that an order brings."""
        for name, each in records.expand(self.names, record):
            if "player" not in each:
                if each["kind"] == "amend":
                    raise NotPlainError("an amendment names no player")
                continue
            if is_another(self.players[name], each):
                raise self._another()
            self.runs[name] = records.run_from(self.reader, each, self.given, size)
            self.players[name] = each

    def _look(self) -> None:
        """Look at the lines so far for the actions at hand; of one member the last one counts."""
        if None in self.runs:
            lines = (line for line in reversed(self.pending) if b',"next":' in line)
            last = next(lines, None)
            self.pending = [] if last is None else [last]
        for line in self.pending:
            self._take_actions(self.reader.parse(line))
        self.pending = []

    def _take_actions(self, record: PlainTable) -> None:
        """Keep the next actions of a line."""
        names = self.names
        for table in record.get("steps", ()):
            steps = records.read_steps(names, table)
            for i, x in zip(steps.at.tolist(), steps.actions.tolist(), strict=True):
                self.actions[names[i]] = x
        if record["kind"] in ("rounds", "orders"):
            for each in record["records"]:
                if "next" in each:
                    self.actions[each["member"]] = each["next"]
        elif "next" in record:
            self.actions[record.get("member")] = record["next"]

    def _compare(self, record: PlainTable, stored: Mapping[Name, Any]) -> None:
        """Raise if a stored state has another action than the one at hand."""
        if "next" in record:
            self.actions[record.get("member")] = record["next"]
        for name, x in stored.items():
            if not self.actions and record["kind"] == "journal":
                self.actions = {name: record["start"]}
            at_hand = self.actions.get(name)
            if x != at_hand:
                where = f"the state after round {self.reader.rounds}"
                whose = "" if name is None else f" of member {name}"
                raise self.reader.damaged(
                    f"{where}{whose} has the action {x}, and the one at hand is {at_hand}"
                )


def _players_in(header: PlainTable) -> dict[Name, Mapping[str, Any]]:
    """Return the table of each member's player in a first line."""
    if "members" not in header:
        return {None: header}
    table = header["members"]
    starts = decode(table["starts"]).tolist()
    triples = zip(table["names"], table["players"], starts, strict=True)
    return {name: {**header["players"][i], "start": start} for name, i, start in triples}


def read_tail(reader: Reader, given: Mapping[str, object]) -> Tail:
    """Read a journal to its end; every digest is compared, also of lines that are not used.

    Every stored state must be that of the action at hand: opening goes on from the last one.
    """
    reading = _Reading(reader, given)
    for line in reader:
        with records.reading_back(reader.name, f"state after round {reader.rounds}"):
            reading.take(line)
    lines, newest = list(reading.kept), reading.newest
    return Tail(lines, newest, reading.runs, reading.size, reading.since, reading.engine)


def is_another(player: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Return whether a line has another player than before without a fresh start."""
    if "player" not in record or record.get("fresh"):
        return False
    names = ("player", "guarantee", "start", "plant")
    return any(record.get(name) != player.get(name) for name in names)


def restore(reader: Reader, given: Mapping[str, object], at_least: int = 0) -> End:
    """Read all files of a journal, and derive the states at its end from the last snapshots.

    Args:
        reader: of the journal.
        given: what could not be stored.
        at_least: the minimum number of rounds that the journal must contain.

    Raises:
        DamagedError: if something is not what was written; the files are unchanged.
    """
    tail = read_tail(reader, given)
    if reader.rounds < at_least:
        raise reader.damaged(f"round {at_least}, which must be there, is missing")
    shadows = _Shadows(reader, given, tail)
    for number, line, names in tail.lines:
        difference = shadows.take(number, reader.parse(line), len(line), names)
        if difference is not None:
            raise reader.damaged(f"its rounds lead elsewhere ({difference})")
    members = shadows.members
    if isinstance(members, Solo) and members.loop.round - 1 != reader.rounds:
        t = members.loop.round - 1
        raise reader.damaged(f"its {reader.rounds} rounds end in round {t}")
    at = reader.position(tail.since, tail.size)
    return End(members, at, tail.engine, shadows.is_rebuilt)


class _Shadows:
    """The members of a journal, each from the line with its newest state on.

    Args:
        reader: of the journal.
        given: what could not be stored.
        tail: of the journal.
    """

    def __init__(self, reader: Reader, given: Mapping[str, object], tail: Tail) -> None:
        self.reader, self.given, self.tail = reader, given, tail
        self.alone: Shadow | None = None
        self.many: Members | None = None
        self.ready: set[Name] = set()  # the members whose newest state was there
        self.is_rebuilt = False

    @property
    def members(self) -> Solo | Members:
        """The members at the end."""
        if self.alone is not None:
            return Solo(self.alone.run, self.alone.loop)
        assert self.many is not None
        return self.many

    def take(
        self, number: int, record: PlainTable, size: int, names: tuple[Name, ...]
    ) -> Difference | None:
        """Repeat a line; return the first difference from what it says follows.

        Args:
            number: of the line.
            record: what it says.
            size: its bytes.
            names: of the members before it.
        """
        fresh = [name for name, newest in self.tail.newest.items() if newest == number]
        with records.reading_back(self.reader.name, f"line of the kind {record['kind']}"):
            if None in self.tail.runs:
                return self._take_alone(record, size, bool(fresh))
            return self._take_many(record, size, names, fresh)

    def _take_alone(self, record: PlainTable, size: int, is_fresh: bool) -> Difference | None:
        if is_fresh:
            run = self.tail.runs[None]
            loop = records.loop_from(self.reader.name, record.get("loop"), run)
            self.alone = Shadow(self.reader, self.given, run, loop, _CLOSE)
            return None
        assert self.alone is not None
        difference = self.alone.take(record, size)
        self.is_rebuilt = self.alone.is_rebuilt
        return difference

    def _take_many(
        self, record: PlainTable, size: int, names: tuple[Name, ...], fresh: list[Name]
    ) -> Difference | None:
        runs, kind = self.tail.runs, record["kind"]
        if self.many is None:  # what has left by the end is never ready
            some = next(iter(runs.values()))
            everyone = [runs.get(name, some) for name in names]
            self.many = Members.begin(map(str, names), everyone, is_fresh=False)
        if kind == "joined":
            run = records.run_from(self.reader, record, self.given, size)
            self.many = self.many.join(record["member"], runs.get(record["member"], run))
        elif kind == "left":
            self.many = self.many.leave(record["member"])
            self.ready.discard(record["member"])
        elif kind in ("rounds", "orders") or "member" in record:
            for table in record.get("steps", ()):
                if (difference := self._step(records.read_steps(names, table))) is not None:
                    return difference
            without = {**record, "steps": ()} if "steps" in record else record
            if (difference := self._take_records(records.expand(names, without), size)) is not None:
                return difference
        if fresh:
            self._begin(record, fresh)
        return None

    def _begin(self, record: PlainTable, fresh: list[Name]) -> None:
        """Begin with the members whose newest state a line has."""
        assert self.many is not None
        # Others may have left since, or come back with another player.
        reader, runs = self.reader, {name: self.tail.runs[name] for name in fresh}
        loops: dict[Name, LoopState] = {}
        if record.get("state") is not None:
            loops = records.states_from(reader.name, record["state"], self.many.names, runs)
        for each in record.get("records", [record]):
            if "loop" in each and each["member"] in runs:
                name = each["member"]
                loops[name] = records.loop_from(reader.name, each["loop"], runs[name])
        stored = {name: (runs[name], loops.get(name) or begin_member(runs[name])) for name in fresh}
        self.many = self.many.put(stored)
        self.ready |= set(fresh)

    def _take_records(
        self, pairs: Iterator[tuple[Name, PlainTable]], size: int
    ) -> Difference | None:
        """Repeat the records of single members."""
        assert self.many is not None
        shadows: dict[Name, Shadow] = {}
        for name, record in pairs:
            if name not in self.many.place_of:
                raise NotPlainError(f"a record of {name!r}, who is no member")
            if name not in self.ready:
                continue
            if name not in shadows:
                run, loop = self.many.get(name)
                shadows[name] = Shadow(self.reader, self.given, run, loop, _CLOSE)
            if (difference := shadows[name].take(record, size)) is not None:
                return replace(difference, member=name)
        if shadows:
            self.many = self.many.put({name: (s.run, s.loop) for name, s in shadows.items()})
            self.is_rebuilt |= any(shadow.is_rebuilt for shadow in shadows.values())
        return None

    def _step(self, steps: Steps) -> Difference | None:
        """Repeat the rounds of members that were stepped at once; the recorded actions count."""
        before = self.many
        assert before is not None
        names = before.names
        is_ready = np.array([names[i] in self.ready for i in steps.at.tolist()])
        at, chosen = steps.at[is_ready], np.flatnonzero(is_ready).tolist()
        if not len(at):
            return None
        if other := np.flatnonzero(before.rounds[at] != steps.rounds[is_ready]).tolist():
            i = int(at[other[0]])
            stored = int(steps.rounds[is_ready][other[0]])
            return Difference(stored, "row", stored, int(before.rounds[i]), names[i])
        columns = {name: part[is_ready] for name, part in steps.columns.items()}
        outcome = before.tell(Report(at, columns))
        after, stored_next = outcome.members, steps.actions[is_ready]
        derived = after.actions[at]
        if stored_next.shape != derived.shape:
            return Difference(int(after.rounds[at[0]]), "action", stored_next, derived)
        differs = (stored_next != derived).any(axis=1)
        changes: dict[Name, tuple[Run, LoopState]] = {}
        for row in np.flatnonzero(differs).tolist():
            i, x = int(at[row]), stored_next[row]
            if not np.allclose(derived[row], x, _CLOSE, _CLOSE):
                t = int(after.rounds[i]) - 1
                return Difference(t, "action", x, derived[row], names[i])
            run, loop = after.get(names[i])
            proof = steps.certificates.certificate(chosen[row])
            state = move_to(run.algorithm, loop.state, x)
            changes[names[i]] = (run, loop._replace(state=state, proof=proof))
        self.is_rebuilt |= bool(changes)
        self.many = after.put(changes) if changes else after
        return None


class Shadow:
    """A loop that repeats the records of a journal.

    Args:
        reader: the file, for sentences.
        given: what could not be stored.
        run: what is played.
        loop: its state.
        tolerance: how far actions may differ; the recorded ones count.

    Attributes:
        player: the record that says what is played; None before one did.
        is_rebuilt: whether actions were derived again with other last bits.
    """

    def __init__(
        self,
        reader: Reader,
        given: Mapping[str, object],
        run: Run,
        loop: LoopState,
        tolerance: float = 0.0,
    ) -> None:
        self.reader, self.given, self.run, self.loop = reader, given, run, loop
        self.player: Mapping[str, Any] | None = None
        self.tolerance, self.is_rebuilt = tolerance, False

    def take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        """Repeat a record; return the first difference from what it says follows."""
        with records.reading_back(self.reader.name, f"record in round {self.loop.round}"):
            return self._take(record, size)

    def _take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        kind, t = record["kind"], self.loop.round
        if record.get("round", t) != t:
            return Difference(t, "row", record["round"], t)
        if self.player is not None and is_another(self.player, record):
            return Difference(t, "row", "another player without a fresh start", None)
        self.player = record if "player" in record else self.player
        if kind == "round":
            return self._take_round(record)
        if kind in ("announce", "hold", "retreat", "resume", "amend"):
            then = self.run
            if "player" in record:
                then = records.run_from(self.reader, record, self.given, size)
            decision = order_one(record.get("member"), self.run, self.loop, record, then)
            self.loop, self.run = decision.loop, then
            return self._compare_next(record)
        if kind == "refused":
            refused = tuple(decode(b, records.OWN) for b in record["breaches"])
            self.loop = self.loop._replace(refused=refused)
        elif kind == "snapshot" and "loop" in record and not self.tolerance:
            derived = records.encode_loop(self.loop)
            if derived != record["loop"]:
                return Difference(t, "state", record["loop"], derived)
        elif kind in ("rebuilt", "engine"):
            self.tolerance = _CLOSE
        return None

    def _take_round(self, record: Mapping[str, Any]) -> Difference | None:
        """Repeat a round, by the policy of its time."""
        policy, t = record.get("why", {}).get("policy"), self.loop.round
        reaction = policy if policy in ("hold", "retreat") else "record"
        policies = {"on_missing": policy} if "missing" in record else {"on_contradiction": reaction}
        run = self.run.with_policies(**policies)
        try:
            decision = decide(run, self.loop, records.input_of(run, self.loop, record))
        except (ValueError, TypeError, ArithmeticError) as error:
            return Difference(t, "update", None, first_line(error))
        if decision.error is not None:
            return Difference(t, "update", None, first_line(decision.error))
        self.loop = decision.loop
        return self._compare_next(record)

    def _compare_next(self, record: Mapping[str, Any]) -> Difference | None:
        """Compare the next action and its certificate; the recorded ones count."""
        t, derived = self.loop.round - 1, self.loop.x
        stored: Array = np.array(record["next"], dtype=np.float64)
        certificate = records.certificate_from(record["certificate"])
        mine = self.loop.certificate
        fits, close = stored.shape == derived.shape, self.tolerance
        same = fits and stored.tobytes() == derived.tobytes()
        if same and mine == certificate:
            return None
        self.is_rebuilt = True
        if not same and not (fits and close and np.allclose(derived, stored, close, close)):
            return Difference(t, "action", stored, derived)
        if not close:
            return Difference(t, "certificate", certificate, mine)
        state = move_to(self.run.algorithm, self.loop.state, stored)
        self.loop = self.loop._replace(state=state, proof=certificate)
        return None


def replay(path: str | os.PathLike[str], **given: object) -> Replay:
    """Derive every action of a journal again, from the start and what rounds reported.

    The journal is read, never written, also while it is in use. Other machines and versions may
    derive other last bits; the result names the first action that differs.

    Args:
        path: of the journal.
        given: what could not be stored, as for :meth:`Controller.open`.

    Returns:
        The number of rounds and the first difference.
    """
    reader, difference = Reader(path), None
    engine = reader.header.get("engine")
    with kernel.engine(engine) if engine in kernel.engines() else nullcontext():
        shadows = _first_shadows(reader, given)
        try:
            for line in reader:
                difference = _repeat(reader, given, shadows, reader.parse(line), len(line))
                if difference is not None:
                    break
        except LostRoundsError as error:
            difference = Difference(reader.rounds + 1, "row", str(error), None)
    tolerance = max((shadow.tolerance for shadow in shadows.values()), default=0.0)
    rounds = reader.rounds if difference is None else difference.round - 1
    return Replay(reader.first, rounds, difference, reader.torn > 0, tolerance)


def _first_shadows(reader: Reader, given: Mapping[str, object]) -> dict[Name, Shadow]:
    """Return the members of the first line."""
    header, name = reader.header, reader.name
    runs = records.runs_from(reader, header, given, reader.size)
    if None in runs:
        loops: dict[Name, LoopState] = {
            None: records.loop_from(name, header.get("loop"), runs[None])
        }
    elif header.get("state") is not None:
        names: Any = tuple(runs)
        loops = records.states_from(name, header["state"], names, runs)
    else:
        loops = {name: begin_member(run) for name, run in runs.items()}
    return {name: Shadow(reader, given, run, loops[name]) for name, run in runs.items()}


def _repeat(
    reader: Reader,
    given: Mapping[str, object],
    shadows: dict[Name, Shadow],
    record: PlainTable,
    size: int,
) -> Difference | None:
    """Repeat a line of any members; return the first difference from what it says follows."""
    with records.reading_back(reader.name, f"line of the kind {record['kind']}"):
        if record["kind"] == "joined":
            run = records.run_from(reader, record, given, size)
            shadows[record["member"]] = Shadow(reader, given, run, begin_member(run))
            return None
        if record["kind"] == "left":
            del shadows[record["member"]]
            return None
        for name, each in records.expand(tuple(shadows), record):
            if name is None and None not in shadows:
                continue  # of the whole fleet
            if (difference := shadows[name].take(each, size)) is not None:
                return replace(difference, member=name)
    return None

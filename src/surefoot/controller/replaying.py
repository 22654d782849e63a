"""Derive the states of a journal again, to go on from its end or to compare."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot import kernel
from surefoot.controller import records
from surefoot.controller.decide import apply_order, decide
from surefoot.controller.journal import LostRoundsError, Position, Reader
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.reading import read_one
from surefoot.core.algorithm import move_to
from surefoot.core.errors import first_line
from surefoot.core.plain import PlainTable, decode
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
    """

    round: int
    part: Part
    stored: Any
    derived: Any

    def __str__(self) -> str:
        if self.part == "row":
            return f"round {self.round}: the line was changed after it was written"
        if self.part == "update":
            return f"round {self.round}: what was reported is rejected: {self.derived}"
        return f"round {self.round}: the {self.part} is {self.stored}, derived {self.derived}"


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


class Tail(NamedTuple):
    """The part of a journal that determines its end.

    Attributes:
        player: the newest line that says what is played.
        state: the newest line with a state.
        size: the bytes of that line.
        since: where in its file the lines after it begin.
        after: these lines.
        engine: what took the last steps.
    """

    player: PlainTable
    state: PlainTable
    size: int
    since: int
    after: list[bytes]
    engine: str


_STATES = tuple(b'{"kind":"%s"' % k for k in (b"journal", b"snapshot", b"rebuilt", b"engine"))


def read_tail(reader: Reader) -> Tail:
    """Read a journal to its end; every digest is compared, also of lines that are not used.

    Every stored state must be that of the action at hand: opening goes on from the last one.
    """
    tail = Tail(reader.header, reader.header, 0, 0, [], "")
    for line in reader:
        is_other = line.startswith(b'{"kind":"resume"') and b',"player":' in line
        if not is_other and not line.startswith(_STATES):
            tail.after.append(line)
            continue
        record = reader.parse(line)
        _compare_state(reader, tail, record)
        player = record if "player" in record else tail.player
        engine = str(record.get("engine", tail.engine))
        tail = Tail(player, record, len(line), reader.size + len(line), [], engine)
    return tail


def _compare_state(reader: Reader, tail: Tail, record: PlainTable) -> None:
    """Raise if a stored state has another action than the one at hand, or another player."""
    if "fleet" in reader.header or record.get("loop") is None:
        return  # it is rejected when it is used
    with records.reading_back(reader.name, f"state after round {reader.rounds}"):
        stored, at_hand = record["loop"]["state"]["x"], _find_action(reader, tail, record)
        is_fresh = is_another(tail.player, record)
    where = f"the state after round {reader.rounds}"
    if stored != at_hand:
        raise reader.damaged(f"{where} has the action {stored}, and the one at hand is {at_hand}")
    if is_fresh:
        raise reader.damaged(f"{where} is that of another player, without a resume")


def _find_action(reader: Reader, tail: Tail, record: PlainTable) -> Any:
    """Return the action at hand when a state is stored.

    It is the ``next`` of the line itself, or of the last one before it that has one, or the action
    of the state before; of the first line it is the start.
    """
    if "next" in record:
        return record["next"]
    for line in reversed(tail.after):
        if b',"next":' in line:
            return reader.parse(line)["next"]
    return tail.state["loop"]["state"]["x"] if tail.size else record["start"]


def is_another(player: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Return whether a line has another player than before without a fresh start."""
    if "player" not in record or record.get("fresh"):
        return False
    return any(record[name] != player[name] for name in ("player", "guarantee", "start"))


def restore(reader: Reader, given: Mapping[str, object], at_least: int = 0) -> Shadow:
    """Read all files of a journal, and derive the state at its end from the last snapshot.

    Args:
        reader: of the journal.
        given: what could not be stored.
        at_least: the minimum number of rounds that the journal must contain.

    Raises:
        DamagedError: if something is not what was written; the files are unchanged.
    """
    tail = read_tail(reader)
    if reader.rounds < at_least:
        raise reader.damaged(f"round {at_least}, which must be there, is missing")
    shadow = Shadow(reader, given, tail.player, tail.state, tail.size, _CLOSE)
    for line in tail.after:
        difference = shadow.take(reader.parse(line), len(line))
        if difference is not None:
            raise reader.damaged(f"its rounds lead elsewhere ({difference})")
    if shadow.loop.round - 1 != reader.rounds:
        raise reader.damaged(f"its {reader.rounds} rounds end in round {shadow.loop.round - 1}")
    shadow.at, shadow.engine = reader.position(tail.since, tail.size), tail.engine
    return shadow


class Shadow:
    """A loop that repeats the records of a journal.

    Args:
        reader: the file, for sentences.
        given: what could not be stored.
        player: the record that says what is played.
        state: the record with the state.
        size: the bytes of that.
        tolerance: how far actions may differ; the recorded ones count.

    Attributes:
        player: the record that says what is played.
        run: what is played.
        loop: where it is.
        is_rebuilt: whether actions were derived again with other last bits.
        at: where the next line goes, after the last.
        engine: what took the last steps.
    """

    at: Position
    engine: str
    reader: Reader
    given: Mapping[str, object]
    player: Mapping[str, Any]
    run: Run
    loop: LoopState
    tolerance: float
    is_rebuilt: bool

    def __init__(
        self,
        reader: Reader,
        given: Mapping[str, object],
        player: Mapping[str, Any],
        state: Mapping[str, Any],
        size: int,
        tolerance: float = 0.0,
    ) -> None:
        self.reader, self.given, self.player = reader, given, player
        self.run = records.run_from(reader, player, given, size)
        self.loop = records.loop_from(reader.name, state.get("loop"), self.run)
        self.tolerance, self.is_rebuilt = tolerance, False

    def take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        """Repeat a record; return the first difference from what it says follows."""
        with records.reading_back(self.reader.name, f"record in round {self.loop.round}"):
            return self._take(record, size)

    def _take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        kind, t = record["kind"], self.loop.round
        if record.get("round", t) != t:
            return Difference(t, "row", record["round"], t)
        if is_another(self.player, record):
            return Difference(t, "row", "another player without a fresh start", None)
        self.player = record if "player" in record else self.player
        if kind == "round":
            return self._take_round(record)
        if kind in ("announce", "hold", "retreat", "resume"):
            then = self.run
            if "player" in record:
                then = records.run_from(self.reader, record, self.given, size)
            self.loop, self.run = apply_order(self.run, self.loop, record, then).loop, then
            return self._compare_next(record)
        if kind == "refused":
            refused = tuple(decode(b, records.OWN) for b in record["breaches"])
            self.loop = self.loop._replace(refused=refused)
        elif kind == "snapshot" and not self.tolerance:
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
    reader, difference = read_one(path), None
    engine = reader.header.get("engine")
    with kernel.engine(engine) if engine in kernel.engines() else nullcontext():
        shadow = Shadow(reader, given, reader.header, reader.header, reader.size)
        try:
            for line in reader:
                difference = shadow.take(reader.parse(line), len(line))
                if difference is not None:
                    break
        except LostRoundsError as error:
            difference = Difference(shadow.loop.round, "row", str(error), None)
    rounds = shadow.loop.round - 1
    return Replay(reader.first, rounds, difference, reader.torn > 0, shadow.tolerance)

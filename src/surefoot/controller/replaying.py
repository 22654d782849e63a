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
from surefoot.controller.decide import decide, order, resume
from surefoot.controller.journal import Position, Reader, parts_of, read_header
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.records import (
    OWN,
    certificate_from,
    encode_loop,
    loop_from,
    run_from,
    told_in,
    unreadable,
)
from surefoot.controller.way_back import How
from surefoot.core.errors import StoreError, SurefootError, first_line
from surefoot.core.plain import decode
from surefoot.core.types import Array

__all__ = ["Difference", "Ending", "Part", "Replay", "Shadow", "replay", "restore", "scan"]

Part: TypeAlias = Literal["action", "row", "update", "certificate", "state"]
"""The next action; anything else of its line; the step itself, which refused what was told; the
certificate of the next action; the state in a snapshot."""

_CLOSE = 1e-12
"""So far may actions be apart that another machine, or another engine, has derived."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a journal differs from what it should be.

    Attributes:
        round: whose.
        part: what.
        stored: in the journal.
        derived: from what was told before.
    """

    round: int
    part: Part
    stored: Any
    derived: Any

    def __str__(self) -> str:
        if self.part == "row":
            return f"round {self.round}: the line was changed after it was written"
        if self.part == "update":
            return f"round {self.round}: what was told is refused: {self.derived}"
        return f"round {self.round}: the {self.part} is {self.stored}, derived {self.derived}"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of replaying a journal; its ``str`` is one line.

    Attributes:
        path: of the journal.
        rounds: how many rounds it tells of.
        difference: the first, or None.
        is_torn: whether the record of one round more was being written when the writer ended.
        tolerance: how far actions were allowed to be apart: 0, unless the journal says that they
            were derived elsewhere.
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
        how = "bit for bit" if not self.tolerance else f"to {self.tolerance:g}"
        found = f"every action derived again, {how}"
        if self.difference is not None:
            found = str(self.difference)
        if self.is_torn:
            found += f"; round {self.rounds + 1} was being written"
        return f"journal '{self.path}', {self.rounds} rounds: {found}"


class Ending(NamedTuple):
    """Where a journal ends.

    Attributes:
        run: what is played.
        first: what it began with.
        loop: the state after its last line.
        at: where the next line goes.
        torn: the bytes of a write that was interrupted.
        is_rebuilt: whether its last actions were derived again with other last bits.
        engine: what took its last steps.
    """

    run: Run
    first: Run
    loop: LoopState
    at: Position
    torn: int
    is_rebuilt: bool
    engine: str


class Scan(NamedTuple):
    """One file of a journal, read from end to end.

    Attributes:
        reader: of the file.
        player: the newest line that says what is played, and its bytes.
        state: the newest line with a state, and its bytes.
        after: the lines after that one.
        since: where they begin.
        rounds: how many rounds the file has.
        is_continued: whether it says that another follows.
        engine: what took its last steps.
    """

    reader: Reader
    player: tuple[dict[str, Any], int]
    state: tuple[dict[str, Any], int]
    after: list[bytes]
    since: int
    rounds: int
    is_continued: bool
    engine: str


_STATES = (b'{"kind":"snapshot"', b'{"kind":"rebuilt"', b'{"kind":"engine"')


def scan(path: Path) -> Scan:
    """Read a file of a journal; every digest is compared, also of what is not looked at."""
    reader = Reader(path)
    player = state = (reader.header, reader.size)
    after: list[bytes] = []
    since, rounds, line, engine = reader.size, 0, b"", str(reader.header.get("engine"))
    for line in reader:
        rounds += line.startswith(b'{"kind":"round"')
        if line.startswith(b'{"kind":"resume"') and b',"player":' in line:
            player = state = (reader.parse(line), len(line))
        elif line.startswith(_STATES):
            state = (reader.parse(line), len(line))
            engine = str(state[0].get("engine", engine))
        else:
            after.append(line)
            continue
        after, since = [], reader.size + len(line)
    is_continued = line.startswith(b'{"kind":"continued"')
    return Scan(reader, player, state, after, since, rounds, is_continued, engine)


def restore(paths: list[Path], given: Mapping[str, object], at_least: int = 0) -> Ending:
    """Read all files of a journal, and derive the state at its end from the last snapshot.

    Args:
        paths: of its files.
        given: what could not be stored.
        at_least: so many rounds were told, as the caller knows.

    Raises:
        DamagedError: something is not what was written; the files are as they were.
    """
    told, digest, scans = 0, "", [scan(path) for path in paths]
    for part, one in enumerate(scans, start=1):
        if part > 1 and one.reader.header.get("after") != digest:
            raise one.reader.damaged("it does not continue the file before it", told)
        told, digest = told + one.rounds, one.reader.digest
        if one.reader.damage is not None:
            raise one.reader.damaged(one.reader.damage, told)
        if one.is_continued and part == len(scans):
            raise one.reader.damaged("the file that continues it is missing", told)
        if not one.is_continued and part < len(scans):
            raise one.reader.damaged("its end is missing, and another file follows it", told)
    if told < at_least:
        raise scans[-1].reader.damaged(f"round {at_least}, which was told, is missing", told)
    return _follow(scans[0], scans[-1], given, told, len(paths))


def _follow(begin: Scan, end: Scan, given: Mapping[str, object], told: int, part: int) -> Ending:
    """Return where a journal ends, from its first and its last file."""
    reader = end.reader
    writer = str(reader.header.get("surefoot"))
    data, _ = end.player
    run = run_from(reader.name, data, given, end.state[1], writer)
    first = run
    if data is not begin.reader.header:
        header = begin.reader.header
        first = run_from(begin.reader.name, header, given, end.state[1], writer)
    loop = loop_from(reader.name, end.state[0].get("loop"), run)
    shadow = Shadow(reader, given, run, loop, _CLOSE)
    for line in end.after:
        difference = shadow.take(reader.parse(line), len(line))
        if difference is not None:
            raise reader.damaged(f"what it tells leads elsewhere ({difference})", told)
    if shadow.loop.round - 1 != told:
        raise reader.damaged(f"round {told} is missing", shadow.loop.round - 1)
    at = Position(
        part, reader.size, reader.digest, end.rounds, reader.size - end.since, 10 * end.state[1]
    )
    return Ending(shadow.run, first, shadow.loop, at, reader.torn, shadow.is_rebuilt, end.engine)


class Shadow:
    """A loop that does again what the records of a journal say.

    Args:
        reader: the file, for sentences.
        given: what could not be stored.
        run: what is played.
        loop: the state.
        tolerance: how far actions may be apart; the recorded ones stand.

    Attributes:
        is_rebuilt: whether one was.
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
        self.tolerance, self.is_rebuilt = tolerance, False

    def take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        """Do what a record says; return where that differs from what it says follows."""
        t = self.loop.round
        try:
            return self._take(record, size)
        except StoreError:
            raise
        except (SurefootError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise unreadable(self.reader.name, f"record in round {t}", error) from error

    def _take(self, record: Mapping[str, Any], size: int) -> Difference | None:
        kind, t = record["kind"], self.loop.round
        if kind in _PLACED and record["round"] != t:
            return Difference(t, "row", record["round"], t)
        if kind == "round":
            return self._take_round(record)
        if kind in ("hold", "retreat"):
            how: How = "held" if kind == "hold" else "retreated"
            decided = order(self.run, self.loop, record["reason"], how, record.get("speed"))
            self.loop = decided.loop
            return self._compare_next(record)
        if kind == "resume":
            return self._resume(record, size)
        if kind == "refused":
            refused = tuple(decode(b, OWN) for b in record["breaches"])
            self.loop = self.loop._replace(refused=refused)
        elif kind == "snapshot":
            return self._compare_state(record)
        elif kind in ("rebuilt", "engine"):
            self.tolerance = _CLOSE
        return None

    def _take_round(self, record: Mapping[str, Any]) -> Difference | None:
        """Tell a round again, by the policy that it was told by."""
        policy, t = record.get("why", {}).get("policy"), self.loop.round
        reaction = policy if policy in ("hold", "retreat") else "record"
        policies = {"on_missing": policy} if "missing" in record else {"on_contradiction": reaction}
        run = self.run.with_policies(**policies)
        try:
            decision = decide(run, self.loop, told_in(run, self.loop, record))
        except (ValueError, TypeError, ArithmeticError) as error:
            return Difference(t, "update", None, first_line(error))
        if decision.error is not None:
            return Difference(t, "update", None, first_line(decision.error))
        self.loop = decision.loop
        return self._compare_next(record)

    def _resume(self, record: Mapping[str, Any], size: int) -> Difference | None:
        before, fresh = self.run, bool(record.get("fresh"))
        if "player" in record:
            writer = str(self.reader.header.get("surefoot"))
            self.run = run_from(self.reader.name, record, self.given, size, writer)
        self.loop = resume(self.run, self.loop, before, record["reason"], fresh=fresh).loop
        return self._compare_next(record)

    def _compare_next(self, record: Mapping[str, Any]) -> Difference | None:
        """Compare the next action and its certificate; what is recorded stands."""
        t, derived = self.loop.round - 1, self.loop.x
        stored: Array = np.array(record["next"], dtype=np.float64)
        certificate = certificate_from(record["certificate"])
        mine = self.loop.with_certificate()
        same = stored.shape == derived.shape and stored.tobytes() == derived.tobytes()
        if same and mine.certificate == certificate:
            self.loop = mine
            return None
        self.is_rebuilt = True
        if not same and not self._is_close(stored, derived):
            return Difference(t, "action", stored, derived)
        if not self.tolerance:
            return Difference(t, "certificate", certificate, mine.certificate)
        state: Any = self.loop.state
        self.loop = mine._replace(state=state._replace(x=stored), certificate=certificate)
        return None

    def _is_close(self, stored: Array, derived: Array) -> bool:
        if stored.shape != derived.shape or not self.tolerance:
            return False
        apart: Array = np.abs(stored - derived)
        return bool((apart <= self.tolerance * (1.0 + np.abs(stored))).all())

    def _compare_state(self, record: Mapping[str, Any]) -> Difference | None:
        derived = encode_loop(self.loop)
        if self.tolerance or derived == record["loop"]:
            return None
        return Difference(self.loop.round, "state", record["loop"], derived)


_PLACED = ("round", "refused", "snapshot", "hold", "retreat", "resume")
"""The kinds of records that belong to a round."""


def replay(path: str | os.PathLike[str], **given: object) -> Replay:
    """Derive every action of a journal again, from the start and what was told.

    The journal is read, never written, also while it is in use. Bits are those of the machine and
    the versions that wrote it; elsewhere the last of them may differ, and the first action that
    does is what is reported.

    Args:
        path: of the journal.
        given: what could not be stored, as for :meth:`Controller.open`.

    Returns:
        What was found: the number of rounds and the first difference.
    """
    header = read_header(path)
    known = kernel.engines()
    with kernel.engine(header["engine"]) if header.get("engine") in known else nullcontext():
        return _replay(path, given)


def _replay(path: str | os.PathLike[str], given: Mapping[str, object]) -> Replay:
    shadow: Shadow | None = None
    digest, paths, difference, is_torn = "", parts_of(path), None, False
    for part, one in enumerate(paths, start=1):
        reader = Reader(one)
        shadow = _shadow_in(reader, given, shadow)
        if part > 1 and reader.header.get("after") != digest:
            difference = Difference(shadow.loop.round, "row", reader.header.get("after"), digest)
            break
        difference = _compare(reader, shadow)
        digest = reader.digest
        if difference is not None:
            break
        is_torn = reader.torn > 0
    assert shadow is not None
    return Replay(paths[0], shadow.loop.round - 1, difference, is_torn, shadow.tolerance)


def _shadow_in(reader: Reader, given: Mapping[str, object], before: Shadow | None) -> Shadow:
    """Return the shadow at the beginning of a file."""
    if before is not None:
        before.reader = reader
        return before
    header, size = reader.header, reader.size
    run = run_from(reader.name, header, given, size, str(header.get("surefoot")))
    return Shadow(reader, given, run, loop_from(reader.name, header.get("loop"), run))


def _compare(reader: Reader, shadow: Shadow) -> Difference | None:
    """Follow a file to its end, or to the first difference."""
    for line in reader:
        if (found := shadow.take(reader.parse(line), len(line))) is not None:
            return found
    if reader.damage is not None:
        return Difference(shadow.loop.round, "row", reader.damage, None)
    return None

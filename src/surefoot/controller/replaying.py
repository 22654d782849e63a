"""Recompute the actions of a journal and compare."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot._sqlite import Store, from_bytes
from surefoot._sqlite.files import absolute
from surefoot.algorithms import PremiseWarning
from surefoot.controller._journal import link_of, parts
from surefoot.controller._plain import Plain
from surefoot.controller._records import JournalEntry, Round, Run, Write
from surefoot.controller._rows import (
    __version__,
    digest_of,
    each_write,
    open_for_replay,
    player_in,
    read_now,
    read_round,
    read_run,
    readable,
    recalled,
    remembered,
    row_of,
    unboxed,
)
from surefoot.controller._tail import Reader, Tail, tail_of
from surefoot.controller.controller import Controller
from surefoot.core.errors import first_line

__all__ = ["Difference", "Part", "Replay", "replay"]

Part: TypeAlias = Literal["action", "row", "update", "certificate", "state"]
"""The action played; anything else of its row; the update itself, which refused what was told; the
certificate of the next action; the state at the end."""


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
            return f"round {self.round}: the row was changed after it was written"
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
        loss: what is known about rounds that were completed and are missing, or None.
    """

    path: Path
    rounds: int
    difference: Difference | None
    loss: str | None = None

    @property
    def is_same(self) -> bool:
        """Whether every round is there and was recomputed bit for bit."""
        return self.difference is None and self.loss is None

    def __str__(self) -> str:
        found = "every action derived again, bit for bit"
        if self.difference is not None:
            found = str(self.difference)
        if self.loss is not None:
            found += f"; but {self.loss}"
        return f"journal '{self.path}', {self.rounds} rounds: {found}"


def replay(path: str | os.PathLike[str], **given: Any) -> Replay:
    """Derive every action of a journal again, from the start and what was told.

    The journal is read, never written, and must not be in use. Bits are those of the machine and
    the versions that wrote it; elsewhere the last of them may differ, and the first action that
    does is what is reported.

    Args:
        path: of the journal.
        given: what could not be stored, as for :meth:`Controller.open`.

    Returns:
        What was found: the number of rounds and the first difference.
    """
    rounds, shadow, chain = 0, None, b""
    for part in parts(path):
        with open_for_replay(part) as store:
            replaying = _Replaying(store, given, shadow, chain)
            difference = replaying.difference()
            rounds, tail = replaying.rounds, replaying.tail
            loss = None if tail is None or tail.loss is None else str(tail.loss)
            if difference is not None or loss is not None:
                break
            shadow, chain = replaying.shadow, replaying.reader.record.digest
    return Replay(absolute(path), rounds, difference, loss)


class _Replaying:
    """One file of a journal, on its way through a shadow of its controller.

    Args:
        store: the file.
        given: what could not be stored.
        shadow: the controller as the file before has left it; None for the first.
        chain: the digest that the file before ends with.
    """

    def __init__(
        self, store: Store, given: Mapping[str, Any], shadow: Controller | None, chain: bytes
    ) -> None:
        self.store, self.given, self.chain = store, given, chain
        self.run, of = read_run(store, given)
        self.reader, self.tail = Reader(store, of), None
        self.number, self.now, self.found = read_now(store)
        self.rounds = self.number - 1
        self.is_first = shadow is None
        with readable(store, "player"):
            self.shadow = shadow or self._begun()

    tail: Tail | None

    def _begun(self) -> Controller:
        run = self.run
        shadow = Controller(run.player, run.start, on_contradiction="record")
        link = link_of(self.store)
        if link is not None:  # a later file alone: from the state that it begins with
            plain = unboxed(link[1].contents["memory"])
            assert plain is not None
            shadow._load(shadow._run, recalled(self.store, plain, run))
            shadow._round = link[1].round
        return shadow

    def difference(self) -> Difference | None:
        """Replay up to the first difference, if there is one: first the file, then the mark."""
        for write in each_write(self.store):
            if (found := self._take(write)) is not None:
                return found
        if (found := self._end(self.number, self.now, self.found)) is not None:
            return found
        # Where the rows are not what was written, the mark cannot say more.
        self.tail = tail = tail_of(self.reader)
        self.rounds = tail.rounds
        for write in tail.writes:
            if (found := self._take(write)) is not None:
                return found
        return None if tail.now is None else self._end(*tail.now)

    def _take(self, write: Write) -> Difference | None:
        """Compare a row with the recomputed action, then tell its feedback; do what was entered."""
        shadow, t = self.shadow, self.shadow.round
        chain = self.reader.record.digest
        if isinstance(write, JournalEntry):
            found = digest_of(chain, write[:-1], is_entry=True)
            if found != write.digest or write.round != t:
                return Difference(t, "row", write.digest.hex(), found.hex())
            self.reader.take(write)
            return self._enter(write)
        x, stored = shadow.ask(), _array(write[1])
        if write[0] != t:
            return Difference(t, "row", write[0], t)
        if stored is None or stored.tobytes() != x.tobytes() or stored.shape != x.shape:
            return Difference(t, "action", stored, x)
        if (found := digest_of(chain, write[:-1])) != write[-1]:
            return Difference(t, "row", write[-1].hex(), found.hex())
        if not self.reader.record.number:  # of a file that was cut before its first row
            self.reader.rounds = t - 1
        self.reader.take(write)
        told = read_round(self.store, write)
        try:
            self._tell(told)
        except (ValueError, TypeError, ArithmeticError) as error:
            return Difference(t, "update", None, first_line(error))
        certificate = shadow.explain().certificate
        if row_of(x, told.seen, certificate) != row_of(x, told.seen, told.certificate):
            return Difference(t, "certificate", told.certificate, certificate)
        return None

    def _tell(self, told: Round) -> None:
        """Tell a round again, by the policy that it was told by."""
        shadow, seen, (_, played, why) = self.shadow, told.seen, told.more
        policy = why.get("policy")
        reaction = policy if policy in ("hold", "retreat") else "record"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PremiseWarning)
            if seen.cost_gradient is None and seen.cost_value is None:
                shadow._run = shadow._run._replace(on_missing=str(policy))
                shadow.tell(missing=True)
                return
            shadow._run = shadow._run._replace(on_contradiction=reaction)
            shadow.tell(
                constraint_value=seen.constraint_value,
                constraint_subgradient=seen.constraint_subgradient,
                cost_value=seen.cost_value,
                action=played,
                value_error=seen.value_error,
                within=why.get("within"),
                **{shadow._first_name: seen.cost_gradient},
            )

    def _enter(self, entry: JournalEntry) -> Difference | None:
        """Do again what was done between two rounds."""
        shadow, t = self.shadow, self.shadow.round
        with readable(self.store, f"entry {entry.number}"):
            what = entry.contents
            if entry.kind == "continued":
                memory = unboxed(what["memory"])
                assert memory is not None
                derived = remembered(shadow._memory())
                if memory != derived:
                    return Difference(t, "state", memory.text, derived.text)
                if not self.is_first and what["digest"] != self.chain.hex():
                    return Difference(t, "row", what["digest"], self.chain.hex())
            elif entry.kind == "hold":
                shadow.hold(what["reason"])
            elif entry.kind == "retreat":
                shadow.retreat(what["reason"], what["speed"])
            elif entry.kind == "resume":
                self._resume(what)
        return None

    def _resume(self, what: Mapping[str, Any]) -> None:
        policies = {n: what[n] for n in ("on_contradiction", "on_missing") if n in what}
        player = start = None
        if what["fresh"]:
            plain = unboxed(what["player"])
            assert plain is not None
            run = Run(**player_in(self.store, plain, self.given, __version__))
            player, start = run.player, run.start
        self.shadow.resume(player, start=start, reason=what["reason"], **policies)

    def _end(self, number: int, now: Plain, found: bytes) -> Difference | None:
        """Return where the end of the journal differs from what its rounds lead to."""
        shadow, chain = self.shadow, self.reader.record.digest
        derived = remembered(shadow._memory())
        is_same = number == shadow.round and now == derived
        if is_same and found == digest_of(chain, (number, *now)):
            return None
        return Difference(shadow.round, "state", (number, now.text), (shadow.round, derived.text))


def _array(data: bytes) -> np.ndarray | None:
    try:
        return from_bytes(data)
    except ValueError:
        return None

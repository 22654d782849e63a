"""Recompute the actions of a journal and compare."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot._sqlite import Store, StoreError, digest, from_bytes
from surefoot._sqlite.mark import Record
from surefoot.controller._journal import Tail, tail_of
from surefoot.controller._plain import Plain
from surefoot.controller._rows import (
    Run,
    each_row,
    open_for_replay,
    read_now,
    read_round,
    read_run,
    readable,
    recalled,
    remembered,
    row_of,
)
from surefoot.controller.controller import Controller
from surefoot.theory import Tuned

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
    with open_for_replay(path) as store:
        number, _, _ = read_now(store)
        run, of = read_run(store, given)
        difference, tail = _first_difference(store, run, of)
        loss = None
        if tail is not None:  # where the rows are not what was written, the mark cannot say more
            loss = None if tail.loss is None else str(tail.loss)
            number += len(tail.rows)
        return Replay(store.path, number - 1, difference, loss)


def _first_difference(store: Store, run: Run, of: bytes) -> tuple[Difference | None, Tail | None]:
    """Replay the rounds up to the first that differs, if one does: first the file, then the mark.

    Returns:
        The difference, and what the mark has where the file has none.
    """
    with readable(store, "player"):
        player = run.algorithm if run.guarantee is None else Tuned(run.algorithm, run.guarantee)
        shadow = Controller(player, run.start, on_contradiction="record")
    record = Record(of, 0, of)
    for row in each_row(store):
        difference = _difference_of(store, shadow, record.digest, row)
        if difference is not None:
            return difference, None
        record = Record(of, row[0], row[-1])
    difference = _difference_now(store, run, shadow, record.digest, read_now(store))
    if difference is not None:
        return difference, None
    tail, chain = tail_of(store, record), record.digest
    for row in tail.rows:
        difference = _difference_of(store, shadow, chain, row)
        if difference is not None:
            return difference, tail
        chain = row[-1]
    if tail.now is not None:
        difference = _difference_now(store, run, shadow, chain, tail.now)
    return difference, tail


def _difference_of(
    store: Store, shadow: Controller, chain: bytes, row: tuple[Any, ...]
) -> Difference | None:
    """Compare a row with the recomputed action, then tell its feedback."""
    t, x = shadow.round, shadow.ask()
    stored = _array(row[1])
    if row[0] != t:
        return Difference(t, "row", row[0], t)
    if stored is None or stored.tobytes() != x.tobytes() or stored.shape != x.shape:
        return Difference(t, "action", stored, x)
    if (found := digest(chain, *row[:-1])) != row[-1]:
        return Difference(t, "row", row[-1].hex(), found.hex())
    told = read_round(store, row)
    try:
        shadow.tell(
            cost_gradient=told.seen.cost_gradient,
            constraint_value=told.seen.constraint_value,
            constraint_subgradient=told.seen.constraint_subgradient,
            cost_value=told.seen.cost_value,
        )
    except (ValueError, TypeError, ArithmeticError) as error:
        return Difference(t, "update", None, str(error).splitlines()[0])
    certificate = shadow.explain().certificate
    # The text again from what was read: an older version may have called its class otherwise.
    if row_of(x, told.seen, certificate) != row_of(x, told.seen, told.certificate):
        return Difference(t, "certificate", told.certificate, certificate)
    return None


def _difference_now(
    store: Store, run: Run, shadow: Controller, chain: bytes, end: tuple[int, Plain, bytes]
) -> Difference | None:
    """Return where the end of the journal differs from what its rounds lead to."""
    number, now, found = end
    memory, stored = shadow._memory(), None
    with contextlib.suppress(StoreError):
        stored = recalled(store, now, run)
    if stored is not None and stored.cut is None:  # version 0.1.0 did not keep it
        memory = memory._replace(cut=None)
    derived = remembered(memory)
    same = stored is not None and remembered(stored) == derived
    if number == shadow.round and same and found == digest(chain, number, *now):
        return None
    return Difference(shadow.round, "state", (number, now.text), (shadow.round, derived.text))


def _array(data: bytes) -> np.ndarray | None:
    try:
        return from_bytes(data)
    except ValueError:
        return None

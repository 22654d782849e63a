"""Derive the actions of a journal again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot._sqlite import Store, digest, from_bytes
from surefoot.controller._journal import (
    each_row,
    open_for_replay,
    read_now,
    read_round,
    read_run,
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
    """The first place where a journal is not what it should be.

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
    """What replaying a journal found; ``str`` of it is one line.

    Attributes:
        path: of the journal.
        rounds: how many rounds it tells of.
        difference: the first, or None.
    """

    path: Path
    rounds: int
    difference: Difference | None

    @property
    def is_same(self) -> bool:
        """Whether everything was derived again, bit for bit."""
        return self.difference is None

    def __str__(self) -> str:
        found = "every action derived again, bit for bit"
        if self.difference is not None:
            found = str(self.difference)
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
        return Replay(store.path, number - 1, _first_difference(store, given))


def _first_difference(store: Store, given: dict[str, Any]) -> Difference | None:
    run, chain = read_run(store, given)
    player = run.algorithm if run.guarantee is None else Tuned(run.algorithm, run.guarantee)
    shadow = Controller(player, run.start, on_contradiction="record")
    for row in each_row(store):
        t, x = shadow.round, shadow.ask()
        stored = _array(row[1])
        if row[0] != t:
            return Difference(t, "row", row[0], t)
        if stored is None or stored.tobytes() != x.tobytes() or stored.shape != x.shape:
            return Difference(t, "action", stored, x)
        found = digest(chain, *row[:-1])
        if found != row[-1]:
            return Difference(t, "row", row[-1].hex(), found.hex())
        chain = found
        told = read_round(row)
        try:
            shadow.tell(
                cost_gradient=told.seen.cost_gradient,
                constraint_value=told.seen.constraint_value,
                constraint_subgradient=told.seen.constraint_subgradient,
                cost_value=told.seen.cost_value,
            )
        except ValueError as error:
            return Difference(t, "update", None, str(error))
        certificate = shadow.explain().certificate
        derived = row_of(x, told.seen, certificate)[-1]
        if derived != row[-2]:
            return Difference(t, "certificate", told.certificate, certificate)
    return _difference_now(store, shadow, chain)


def _difference_now(store: Store, shadow: Controller, chain: bytes) -> Difference | None:
    """Whether the journal ends where its rounds lead."""
    number, now, found = read_now(store)
    derived = remembered(shadow._memory())
    if number == shadow.round and now == derived and found == digest(chain, number, *now):
        return None
    return Difference(shadow.round, "state", (number, now.text), (shadow.round, derived.text))


def _array(data: bytes) -> np.ndarray | None:
    try:
        return from_bytes(data)
    except ValueError:
        return None

"""What a journal is made of: its tables, and what their rows say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot._sqlite import Kind
from surefoot.algorithms import Breach, Tuned
from surefoot.controller._plain import Plain, from_plain
from surefoot.controller._ways import Halt, How, WayBack
from surefoot.core.checks import repr_line
from surefoot.core.errors import InvalidTypeError
from surefoot.core.types import Feedback, RegretObserver
from surefoot.regions import Anchor

__all__ = [
    "JOURNAL",
    "OWN",
    "REASONS",
    "USUAL",
    "JournalEntry",
    "Memory",
    "More",
    "Round",
    "Row",
    "Run",
    "Write",
]

# run: the game. rounds: one row a round told, never changed again; its certificate is that of the
# next action; of a filter, cost_gradient is the proposal; of a round that nobody measured it is
# empty. more: what is not usual about a round. entries: what happened between rounds, before that
# of their column. now: the state after the last of them, whose action is the one at hand. A row's
# digest covers the row, with its row in more, and the digest before it, be that of a round or an
# entry, so that no row can be changed by itself.
# Columns of single numbers are ANY, because REAL would turn -0.0 into 0.
JOURNAL = Kind(
    noun="journal",
    application_id=0x53464A4C,  # "SFJL"
    version=4,
    schema=(
        """CREATE TABLE run (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            surefoot TEXT NOT NULL,
            created TEXT NOT NULL,
            player TEXT NOT NULL,
            arrays BLOB NOT NULL,
            start BLOB NOT NULL,
            digest BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE rounds (
            round INTEGER PRIMARY KEY,
            action BLOB NOT NULL,
            cost_gradient BLOB NOT NULL,
            constraint_value ANY,
            constraint_subgradient BLOB,
            cost_value ANY,
            certificate TEXT,
            digest BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE now (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            round INTEGER NOT NULL,
            state TEXT NOT NULL,
            arrays BLOB NOT NULL,
            digest BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE more (
            round INTEGER PRIMARY KEY,
            how TEXT NOT NULL,
            played BLOB,
            value_error ANY,
            why TEXT NOT NULL,
            arrays BLOB NOT NULL
        ) STRICT""",
        """CREATE TABLE entries (
            number INTEGER PRIMARY KEY,
            round INTEGER NOT NULL,
            kind TEXT NOT NULL,
            made TEXT NOT NULL,
            what TEXT NOT NULL,
            arrays BLOB NOT NULL,
            digest BLOB NOT NULL
        ) STRICT""",
    ),
    reopen="continue it with Controller.open",
    durable=False,  # the mark is, by the one sync of a round
    sealed=True,
)
USUAL = 6  # columns of a round in rounds, without its number and its digest

Row: TypeAlias = tuple[Any, ...]
"""A round: its number, the usual columns, those of more if there are any, its digest."""

REASONS = {"WayBack": WayBack}
OWN = {"Breach": Breach, "Anchor": Anchor, "Halt": Halt, **REASONS}


class Run(NamedTuple):
    """The part of a journal that does not change.

    Attributes:
        algorithm: the player.
        guarantee: what it was tuned for.
        on_contradiction: what to do when the data contradict a premise.
        start: the first action.
        on_missing: what to do in a round without a measurement.
        rotate: the number of rounds in a file, or its size; None for all.
    """

    algorithm: Any
    guarantee: Any
    on_contradiction: str
    start: np.ndarray
    on_missing: str = "hold"
    rotate: int | str | None = None

    @property
    def player(self) -> Any:
        """The algorithm, with its guarantee where it has one."""
        if self.guarantee is None:
            return self.algorithm
        return Tuned(self.algorithm, self.guarantee)


class Memory(NamedTuple):
    """What the next round needs: the algorithm's state, and what is stored beside it.

    Attributes:
        state: of the algorithm.
        broken: the premises that the data contradict.
        regret: the sums that bound the regret so far.
        cut: whether a half-space or a region changed the current action; None if unknown.
        anchor: the end of the way back; None before the first measurement.
        halt: why nothing moves until the controller is resumed.
        way: the certificate of the current action, where no step of the rule gave it.
    """

    state: Any
    broken: tuple[Breach, ...]
    regret: RegretObserver | None
    cut: bool | None = None
    anchor: Anchor | None = None
    halt: Halt | None = None
    way: WayBack | None = None


class More(NamedTuple):
    """What is not usual about a round.

    Attributes:
        how: the next action came about.
        played: the action that was really played; None if it was the one asked for.
        why: the policy that was followed, contradictions, what was announced, a new player.
    """

    how: How = "told"
    played: np.ndarray | None = None
    why: Mapping[str, Any] = {}

    @property
    def is_usual(self) -> bool:
        """Whether there is nothing to write."""
        return self.how == "told" and self.played is None and not self.why


class Round(NamedTuple):
    """A completed round.

    Attributes:
        number: of the round.
        action: that was asked for.
        seen: the feedback; of a filter, the gradient is the proposal; all None if nobody measured.
        certificate: of the next action.
        more: what is not usual about it.
    """

    number: int
    action: np.ndarray
    seen: Feedback
    certificate: Any
    more: More = More()


class JournalEntry(NamedTuple):
    """What happened between two rounds, as its row.

    Attributes:
        number: of the entry.
        round: that came next.
        kind: "note", "hold", "retreat", "resume", or "continued" in a file that another precedes.
        made: when.
        what: its contents as JSON, with its arrays.
        arrays: of that.
        digest: of the entry and of what came before it.
    """

    number: int
    round: int
    kind: str
    made: str
    what: str
    arrays: bytes
    digest: bytes

    @property
    def contents(self) -> dict[str, Any]:
        """What it says."""
        found = from_plain(Plain(self.what, self.arrays))
        if not isinstance(found, dict):
            raise InvalidTypeError(f"an entry is a mapping, got {repr_line(found)}")
        return found


Write: TypeAlias = Row | JournalEntry

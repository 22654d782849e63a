"""The journal of a controller: what was decided, what was seen, and why, durably."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from surefoot._sqlite import (
    Kind,
    Statement,
    Store,
    StoreError,
    create,
    digest,
    from_bytes,
    open_reader,
    open_writer,
    to_bytes,
)
from surefoot.controller._plain import NotPlainError, Plain, classes_in, from_plain, to_plain
from surefoot.controller._watch import Broken
from surefoot.types import Feedback, Observing, RegretObserver

__all__ = ["JOURNAL", "Journal", "Memory", "Round", "Run"]

# run: the game. rounds: one row a round told, never changed again; its certificate is that of the
# next action. now: the state after the last of them, whose action is the one at hand. A row's
# digest covers the row and the digest before it, so that no row can be changed by itself.
# Columns of single numbers are ANY, because REAL would turn -0.0 into 0.
JOURNAL = Kind(
    noun="journal",
    application_id=0x53464A4C,  # "SFJL"
    version=1,
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
    ),
    reopen="continue it with Controller.open",
)

_OWN = {"Broken": Broken}


class Run(NamedTuple):
    """What does not change.

    Attributes:
        algorithm: the player.
        guarantee: what it was tuned for.
        on_contradiction: what to do when the data contradict a premise.
        start: the first action.
    """

    algorithm: Any
    guarantee: Any
    on_contradiction: str
    start: np.ndarray


class Memory(NamedTuple):
    """What the next round needs: the algorithm's state, and what is kept beside it.

    Attributes:
        state: of the algorithm.
        broken: the premises that the data contradict.
        regret: the sums that bound the regret so far.
        cut: whether a half-space or a region changed the action at hand; None where not known.
    """

    state: Any
    broken: tuple[Broken, ...]
    regret: RegretObserver | None
    cut: bool | None = None


class Round(NamedTuple):
    """A round that was told: the action, what was seen, the certificate of the next action."""

    number: int
    action: np.ndarray
    seen: Feedback
    certificate: Any


class Journal:
    """An open journal, at the round whose action is at hand.

    Args:
        store: the file.
        run: what does not change.
        number: the round at hand.
        chain: the digest of the last row.
    """

    def __init__(self, store: Store, run: Run, number: int, chain: bytes) -> None:
        self.store = store
        self.run = run
        self._number = number
        self._chain = chain

    @classmethod
    def create(cls, path: str | os.PathLike[str], run: Run, memory: Memory) -> Journal:
        """A new journal that holds the first action."""
        player = to_plain(
            {
                "algorithm": run.algorithm,
                "guarantee": run.guarantee,
                "on_contradiction": run.on_contradiction,
            },
            may_leave_out=True,
        )
        columns = (
            version("surefoot"),
            datetime.now(UTC).isoformat(timespec="seconds"),
            *player,
            to_bytes(run.start),
        )
        chain = digest(*columns)
        now = remembered(memory)
        contents: list[Statement] = [
            ("INSERT INTO run VALUES (1, ?, ?, ?, ?, ?, ?)", (*columns, chain)),
            ("INSERT INTO now VALUES (1, 1, ?, ?, ?)", (*now, digest(chain, 1, *now))),
        ]
        store = create(path, JOURNAL, contents)
        try:
            store.begin()
        except BaseException:
            store.close()
            raise
        return cls(store, run, 1, chain)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], given: Mapping[str, Any]
    ) -> tuple[Journal, Memory, Round | None]:
        """A journal to go on with: it, what the next round needs, and the last one told."""
        store = open_writer(path, JOURNAL)
        try:
            store.check()
            run, chain = read_run(store, given)
            number, now, found = read_now(store)
            latest = list(store.rows("SELECT * FROM rounds ORDER BY round DESC LIMIT 2"))
            if (latest[0][0] if latest else 0) != number - 1:
                raise store.damaged(f"it ended in round {number} and the round before is missing")
            if len(latest) > 1:
                chain = latest[1][-1]
            if latest:
                chain = checked(store, chain, latest[0])
            if digest(chain, number, *now) != found:
                raise store.damaged("the last state is not what was written")
            memory = recalled(store, now, run)
            last = read_round(latest[0]) if latest else None
            store.begin()
            return cls(store, run, number, chain), memory, last
        except BaseException:
            store.close()
            raise

    def append(self, action: np.ndarray, seen: Feedback, certificate: Any, memory: Memory) -> None:
        """Write a round told and the action that follows, in one transaction."""
        columns = row_of(action, seen, certificate)
        chain = digest(self._chain, self._number, *columns)
        now = remembered(memory)
        number = self._number + 1
        self.store.write(
            [
                (
                    "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (self._number, *columns, chain),
                ),
                (
                    "UPDATE now SET round = ?, state = ?, arrays = ?, digest = ? WHERE round = ?",
                    (number, *now, digest(chain, number, *now), self._number),
                ),
            ]
        )
        self._number, self._chain = number, chain


def row_of(action: np.ndarray, seen: Feedback, certificate: Any) -> tuple[Any, ...]:
    """The columns of a round but for its number and digest."""
    gradient, g, s, cost = seen
    return (
        to_bytes(action),
        to_bytes(gradient),
        to_bytes(g) if isinstance(g, np.ndarray) else g,
        None if s is None else to_bytes(s),
        cost,
        None if certificate is None else to_plain(_of_python(certificate)).text,
    )


def _of_python(certificate: Any) -> Any:
    """A certificate with Python's numbers for NumPy's: its text is all that is stored."""
    return type(certificate)(*(v.item() if isinstance(v, np.generic) else v for v in certificate))


def read_round(row: tuple[Any, ...]) -> Round:
    """A round from its row, whose digest must have been found right."""
    number, action, gradient, g, s, cost, certificate, _ = row
    seen = Feedback(
        from_bytes(gradient),
        from_bytes(g) if isinstance(g, bytes) else g,
        None if s is None else from_bytes(s),
        cost,
    )
    reason = None if certificate is None else from_plain(Plain(certificate, b""))
    return Round(number, from_bytes(action), seen, reason)


def remembered(memory: Memory) -> Plain:
    """What the next round needs, as plain data."""
    own = _OWN | {"Memory": Memory} | classes_in((memory.state, memory.regret))
    try:
        return to_plain(memory, own=own)
    except NotPlainError as error:
        raise StoreError(f"the state of the algorithm cannot be journalled: {error}") from error


def recalled(store: Store, now: Plain, run: Run) -> Memory:
    """What the next round needs, from plain data."""
    regret = run.algorithm.observer() if isinstance(run.algorithm, Observing) else None
    own = _OWN | {"Memory": Memory} | classes_in((run.algorithm.init(run.start), regret))
    try:
        memory = from_plain(now, own=own)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise store.damaged(f"its state cannot be read ({error})") from error
    if not isinstance(memory, Memory):
        raise store.damaged("its state is none")
    return memory


def read_run(store: Store, given: Mapping[str, Any]) -> tuple[Run, bytes]:
    """What does not change, and its digest."""
    rows = list(store.rows("SELECT * FROM run"))
    if len(rows) != 1:
        raise store.damaged("it does not say what is played")
    _, *columns, found = rows[0]
    if digest(*columns) != found:
        raise store.damaged("what is played is not what was written")
    writer, _, text, arrays, start = columns
    try:
        player = from_plain(Plain(text, arrays), given=given)
    except NotPlainError as error:
        raise StoreError(f"{store.name} cannot be opened: {error}") from error
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise StoreError(
            f"{store.name} was written by Surefoot {writer}, whose player this one, "
            f"{version('surefoot')}, cannot make again: {error}"
        ) from error
    return Run(start=from_bytes(start), **player), found


def read_now(store: Store) -> tuple[int, Plain, bytes]:
    """The round at hand, its state, and the digest of both."""
    rows = list(store.rows("SELECT round, state, arrays, digest FROM now"))
    if len(rows) != 1:
        raise store.damaged("it does not say where it ended")
    number, text, arrays, found = rows[0]
    return number, Plain(text, arrays), found


def checked(store: Store, chain: bytes, row: tuple[Any, ...]) -> bytes:
    """The digest of a row, which must be that of its columns."""
    found: bytes = row[-1]
    if digest(chain, *row[:-1]) != found:
        raise store.damaged(f"the row of round {row[0]} is not what was written")
    return found


def each_row(store: Store) -> Iterator[tuple[Any, ...]]:
    """The rows of the rounds told, in order."""
    return store.rows("SELECT * FROM rounds ORDER BY round")


def open_for_replay(path: str | os.PathLike[str]) -> Store:
    """A journal that nobody writes to, checked page by page."""
    store = open_reader(path, JOURNAL)
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store

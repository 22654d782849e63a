"""The rows of a journal: write and read a run, its rounds and its state."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from surefoot import __version__, _check
from surefoot._convert import shown
from surefoot._sqlite import Kind, Store, StoreError, digest, from_bytes, open_reader, to_bytes
from surefoot.controller._plain import NotPlainError, Plain, classes_in, from_plain, to_plain
from surefoot.errors import InvalidTypeError
from surefoot.theory import Breach
from surefoot.types import Feedback, Observing, RegretObserver

__all__ = [
    "JOURNAL",
    "Memory",
    "Round",
    "Run",
    "__version__",
    "checked",
    "each_row",
    "open_for_replay",
    "read_now",
    "read_round",
    "read_run",
    "recalled",
    "remembered",
    "row_of",
]

# run: the game. rounds: one row a round told, never changed again; its certificate is that of the
# next action. now: the state after the last of them, whose action is the one at hand. A row's
# digest covers the row and the digest before it, so that no row can be changed by itself.
# Columns of single numbers are ANY, because REAL would turn -0.0 into 0.
JOURNAL = Kind(
    noun="journal",
    application_id=0x53464A4C,  # "SFJL"
    version=3,  # 1 had neither a mark nor a seal; the mark of 2 had no rounds
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
    durable=False,  # the mark is, by the one sync of a round
    sealed=True,
)

# Journals of 0.1.0 call a breach "Broken".
_OWN = {"Breach": Breach, "Broken": Breach}


class Run(NamedTuple):
    """The part of a journal that does not change.

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
    """What the next round needs: the algorithm's state, and what is stored beside it.

    Attributes:
        state: of the algorithm.
        broken: the premises that the data contradict.
        regret: the sums that bound the regret so far.
        cut: whether a half-space or a region changed the current action; None if unknown.
    """

    state: Any
    broken: tuple[Breach, ...]
    regret: RegretObserver | None
    cut: bool | None = None


class Round(NamedTuple):
    """A completed round: the action, the feedback, the certificate of the next action."""

    number: int
    action: np.ndarray
    seen: Feedback
    certificate: Any


def row_of(action: np.ndarray, seen: Feedback, certificate: Any) -> tuple[Any, ...]:
    """Return the columns of a round except its number and digest."""
    gradient, g, s, cost, _ = seen
    return (
        to_bytes(action),
        to_bytes(gradient),
        to_bytes(g) if isinstance(g, np.ndarray) else g,
        None if s is None else to_bytes(s),
        cost,
        None if certificate is None else to_plain(_of_python(certificate)).text,
    )


def _of_python(certificate: Any) -> Any:
    """Replace NumPy's numbers in a certificate by Python's: only its text is stored."""
    return type(certificate)(*(v.item() if isinstance(v, np.generic) else v for v in certificate))


def read_round(store: Store, row: tuple[Any, ...]) -> Round:
    """Return a round from its row; the digest must have been verified."""
    number, action, gradient, g, s, cost, certificate, _ = row
    with readable(store, f"round {number}"):
        seen = Feedback(
            from_bytes(gradient),
            from_bytes(g) if isinstance(g, bytes) else g,
            None if s is None else from_bytes(s),
            cost,
        )
        reason = None if certificate is None else from_plain(Plain(certificate, b""))
        if reason is not None and not (isinstance(reason, tuple) and hasattr(reason, "bound")):
            raise InvalidTypeError(f"a certificate has a bound, got {shown(reason)}")
        return Round(number, from_bytes(action), seen, reason)


@contextlib.contextmanager
def readable(store: Store, what: str) -> Iterator[None]:
    """Raise one sentence for stored data that cannot be read back.

    Digests are no signature: whoever writes a file can put anything into it.
    """
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise store.damaged(f"its {what} cannot be read ({why})") from error


def remembered(memory: Memory) -> Plain:
    """Return what the next round needs, as plain data."""
    own = _OWN | {"Memory": Memory} | classes_in((memory.state, memory.regret))
    try:
        return to_plain(memory, own=own)
    except NotPlainError as error:
        raise StoreError(f"the state of the algorithm cannot be journalled: {error}") from error


def recalled(store: Store, now: Plain, run: Run) -> Memory:
    """Return what the next round needs, from plain data."""
    with readable(store, "state"):
        start = run.algorithm.init(run.start)
        regret = run.algorithm.observer() if isinstance(run.algorithm, Observing) else None
        own = _OWN | {"Memory": Memory} | classes_in((start, regret))
        memory = from_plain(now, own=own)
    if isinstance(memory, Memory) and _is_kept(memory, start, regret):
        x = getattr(memory.state, "x", None)
        if isinstance(x, np.ndarray) and x.shape == start.x.shape:
            return memory
    raise store.damaged("its state is none")


def _is_kept(memory: Memory, start: Any, regret: Any) -> bool:
    """Return whether a memory has the parts that such a run stores."""
    kept: Any = memory
    if type(kept.state) is not type(start) or type(kept.regret) is not type(regret):
        return False
    if type(kept.broken) is not tuple or kept.cut not in (None, True, False):
        return False
    return all(isinstance(b, Breach) and type(b.constant) is str for b in kept.broken)


def read_run(store: Store, given: Mapping[str, Any]) -> tuple[Run, bytes]:
    """Return the unchanging part, and its digest."""
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
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(
            f"{store.name} was written by Surefoot {writer}, whose player this one, "
            f"{__version__}, cannot make again: {why}"
        ) from error
    with readable(store, "player"):
        return Run(start=_check.vector(from_bytes(start), "start"), **player), found


def read_now(store: Store) -> tuple[int, Plain, bytes]:
    """Return the current round, its state, and the digest of both."""
    rows = list(store.rows("SELECT round, state, arrays, digest FROM now"))
    if len(rows) != 1:
        raise store.damaged("it does not say where it ended")
    number, text, arrays, found = rows[0]
    return number, Plain(text, arrays), found


def checked(store: Store, chain: bytes, row: tuple[Any, ...]) -> bytes:
    """Return the digest of a row; raise unless it matches the columns."""
    found: bytes = row[-1]
    if digest(chain, *row[:-1]) != found:
        raise store.damaged(f"the row of round {row[0]} is not what was written")
    return found


def each_row(store: Store) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the completed rounds, in order."""
    return store.rows("SELECT * FROM rounds ORDER BY round")


def open_for_replay(path: str | os.PathLike[str]) -> Store:
    """Open a journal that nobody writes to, checked page by page; leave it unchanged."""
    store = open_reader(path, JOURNAL)
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store

"""The rows of a journal: write and read a run, its rounds and its state."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from surefoot import __version__
from surefoot._sqlite import Store, StoreError, digest, from_bytes, open_reader, to_bytes
from surefoot.algorithms import Breach
from surefoot.controller._checks import first_memory
from surefoot.controller._plain import NotPlainError, Plain, classes_in, from_plain, to_plain
from surefoot.controller._records import (
    JOURNAL,
    OWN,
    REASONS,
    USUAL,
    JournalEntry,
    Memory,
    More,
    Round,
    Row,
    Run,
    Write,
)
from surefoot.controller._ways import Halt, WayBack
from surefoot.core import checks
from surefoot.core.checks import repr_line
from surefoot.core.errors import InvalidTypeError, first_line
from surefoot.core.types import Feedback
from surefoot.regions import Anchor

__all__ = [
    "JOURNAL",
    "__version__",
    "boxed",
    "checked",
    "digest_of",
    "each_write",
    "open_for_replay",
    "plain_player",
    "player_in",
    "read_now",
    "read_round",
    "read_run",
    "readable",
    "recalled",
    "remembered",
    "row_of",
    "run_columns",
    "unboxed",
]


_SIZES = ("rows", "delay")  # fields of a player by which its state grows


def row_of(action: np.ndarray, seen: Feedback, certificate: Any, more: More | None = None) -> Row:
    """Return the columns of a round except its number and digest."""
    gradient, g, s, cost, error = seen[:5]
    columns = (
        to_bytes(action),
        b"" if gradient is None else to_bytes(gradient),
        to_bytes(g) if isinstance(g, np.ndarray) else g,
        None if s is None else to_bytes(s),
        cost,
        None if certificate is None else to_plain(_of_python(certificate), own=REASONS).text,
    )
    if error is None and (more is None or more.is_usual):
        return columns
    how, played, why = more or More()
    text, arrays = to_plain(dict(why))
    return (*columns, how, None if played is None else to_bytes(played), error, text, arrays)


def _of_python(certificate: Any) -> Any:
    """Replace NumPy's numbers in a certificate by Python's: only its text is stored."""
    return type(certificate)(*(v.item() if isinstance(v, np.generic) else v for v in certificate))


def read_round(store: Store, row: Row) -> Round:
    """Return a round from its row; the digest must have been verified."""
    number, action, gradient, g, s, cost, certificate, *unusual, _ = row
    with readable(store, f"round {number}"):
        error, more = None, More()
        if unusual:
            how, played, error, text, arrays = unusual
            why = from_plain(Plain(text, arrays))
            more = More(how, None if played is None else from_bytes(played), why)
        seen = Feedback(
            from_bytes(gradient) if gradient else None,
            from_bytes(g) if isinstance(g, bytes) else g,
            None if s is None else from_bytes(s),
            cost,
            error,
        )
        reason = None if certificate is None else from_plain(Plain(certificate, b""), own=REASONS)
        if reason is not None and not (isinstance(reason, tuple) and hasattr(reason, "bound")):
            raise InvalidTypeError(f"a certificate has a bound, got {repr_line(reason)}")
        return Round(number, from_bytes(action), seen, reason, more)


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
        why = first_line(error)
        raise store.damaged(f"its {what} cannot be read ({why})") from error


def remembered(memory: Memory) -> Plain:
    """Return what the next round needs, as plain data."""
    own = OWN | {"Memory": Memory} | classes_in((memory.state, memory.regret))
    try:
        return to_plain(memory, own=own)
    except NotPlainError as error:
        raise StoreError(f"the state of the algorithm cannot be journalled: {error}") from error


def recalled(store: Store, now: Plain, run: Run) -> Memory:
    """Return what the next round needs, from plain data."""
    with readable(store, "state"):
        start, _, regret, *_ = first_memory(run)
        own = OWN | {"Memory": Memory} | classes_in((start, regret))
        memory = from_plain(now, own=own)
    if isinstance(memory, Memory) and _is_kept(memory, start, regret):
        x = getattr(memory.state, "x", None)
        if isinstance(x, np.ndarray) and x.shape == start.x.shape:
            return memory
    raise store.damaged("its state is none")


def _is_kept(memory: Memory, start: Any, regret: Any) -> bool:
    """Return whether a memory has the parts that such a run stores."""
    kept: Any = memory
    return (
        type(kept.state) is type(start)
        and type(kept.regret) in (type(regret), type(None))
        and kept.cut in (None, True, False)
        and isinstance(kept.halt, Halt | None)
        and isinstance(kept.anchor, Anchor | None)
        and isinstance(kept.way, WayBack | None)
        and type(kept.broken) is tuple
        and all(isinstance(b, Breach) and type(b.constant) is str for b in kept.broken)
    )


def plain_player(run: Run) -> Plain:
    """Return what is played, and how, as plain data."""
    return to_plain(run._asdict(), may_leave_out=True)


def boxed(plain: Plain) -> dict[str, Any]:
    """Return plain data as a part of other plain data: of an entry, or of a round."""
    return {"text": plain.text, "arrays": np.frombuffer(plain.arrays, dtype=np.uint8)}


def unboxed(box: Any) -> Plain | None:
    """Return the plain data in a box; None where there is no box."""
    return None if box is None else Plain(box["text"], box["arrays"].tobytes())


def player_in(store: Store, plain: Plain, given: Mapping[str, Any], writer: str) -> dict[str, Any]:
    """Return what is played, and how, from plain data.

    Args:
        store: that has it.
        plain: the data.
        given: what could not be stored.
        writer: the version that wrote it.
    """
    try:
        found: dict[str, Any] = from_plain(plain, given=given)
    except NotPlainError as error:
        raise StoreError(f"{store.name} cannot be opened: {error}") from error
    except Exception as error:
        why = first_line(error)
        raise StoreError(
            f"{store.name} was written by Surefoot {writer}, whose player this one, "
            f"{__version__}, cannot make again: {why}"
        ) from error
    _check_sizes(store, found.get("algorithm"))
    return found


def _check_sizes(store: Store, part: Any) -> None:
    """Raise for a player whose state would be larger than the one in the file.

    Each row and round of delay has a byte of the state at least. Whoever writes a file can
    name any number of them, and to make the first state of such a player is what costs.
    """
    _, now, _ = read_now(store)
    for name in _SIZES:
        size = getattr(part, name, None)
        if isinstance(size, int) and size > len(now.text) + len(now.arrays):
            raise store.damaged(f"its state has no room for {name} = {size}")
    fields = getattr(part, "__dataclass_fields__", {})
    for piece in part if isinstance(part, tuple) else (getattr(part, n, None) for n in fields):
        if isinstance(piece, tuple) or is_dataclass(piece):
            _check_sizes(store, piece)


def run_columns(store: Store) -> tuple[list[Any], bytes]:
    """Return the columns of the unchanging part, and their digest, which they match."""
    rows = list(store.rows("SELECT * FROM run"))
    if len(rows) != 1:
        raise store.damaged("it does not say what is played")
    _, *columns, found = rows[0]
    if digest(*columns) != found:
        raise store.damaged("what is played is not what was written")
    return columns, found


def read_run(
    store: Store, given: Mapping[str, Any], newer: Plain | None = None
) -> tuple[Run, bytes]:
    """Return the unchanging part, and its digest.

    Args:
        store: the journal.
        given: what could not be stored.
        newer: a player that took the place of the first.
    """
    (writer, _, text, arrays, start), found = run_columns(store)
    player = player_in(store, newer or Plain(text, arrays), given, writer)
    with readable(store, "player"):
        return Run(**{"start": checks.to_vector(from_bytes(start), "start"), **player}), found


def read_now(store: Store) -> tuple[int, Plain, bytes]:
    """Return the current round, its state, and the digest of both."""
    rows = list(store.rows("SELECT round, state, arrays, digest FROM now"))
    if len(rows) != 1:
        raise store.damaged("it does not say where it ended")
    number, text, arrays, found = rows[0]
    return number, Plain(text, arrays), found


def checked(store: Store, chain: bytes, write: Write) -> bytes:
    """Return the digest of a row or entry; raise unless it matches the columns."""
    found: bytes = write[-1]
    is_entry = isinstance(write, JournalEntry)
    if digest_of(chain, write[:-1], is_entry=is_entry) != found:
        what = f"entry {write[0]}" if is_entry else f"the row of round {write[0]}"
        raise store.damaged(f"{what} is not what was written")
    return found


def digest_of(chain: bytes, columns: tuple[Any, ...], *, is_entry: bool = False) -> bytes:
    """Return the digest of a write: of its columns and of the digest before it."""
    return digest(chain, "entry", *columns) if is_entry else digest(chain, *columns)


def each_write(store: Store) -> Iterator[Write]:
    """Yield the rows of the completed rounds, and the entries between them, in order."""
    entries = deque(
        JournalEntry(*row) for row in store.rows("SELECT * FROM entries ORDER BY number")
    )
    query = (
        "SELECT rounds.*, how, played, value_error, why, arrays "
        "FROM rounds LEFT JOIN more USING (round) ORDER BY round"
    )
    for row in store.rows(query):
        while entries and entries[0].round <= row[0]:
            yield entries.popleft()
        *usual, chain = row[: USUAL + 2]
        yield (*usual, *(row[USUAL + 2 :] if row[USUAL + 2] is not None else ()), chain)
    yield from entries


def open_for_replay(path: str | os.PathLike[str]) -> Store:
    """Open a journal that nobody writes to, checked page by page; leave it unchanged."""
    store = open_reader(path, JOURNAL)
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store

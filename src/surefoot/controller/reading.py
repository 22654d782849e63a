"""Read a journal as a record for people: its rounds, notes and contradictions."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import _check
from surefoot._extras import need
from surefoot._sqlite import DamagedError, Store, StoreError, digest, from_bytes, snapshot
from surefoot._sqlite.files import absolute, beside, read_head
from surefoot._sqlite.mark import Mark, Record
from surefoot.controller._journal import tail_by
from surefoot.controller._plain import NotPlainError, Plain, as_data, constructed, from_plain
from surefoot.controller._rows import (
    JOURNAL,
    Round,
    checked,
    each_row,
    read_now,
    read_round,
    readable,
)
from surefoot.theory import Breach
from surefoot.types import Certificate

__all__ = ["JournalNote", "JournalRecord", "JournalRound", "is_journal", "read_journal"]


class JournalNote(NamedTuple):
    """A note by the operator.

    Attributes:
        round: the round that was current.
        text: of the note.
    """

    round: int
    text: str


class JournalRound(NamedTuple):
    """One decision of a journal: why the action could be played, the action, what was told.

    Attributes:
        round: its number.
        action: that was played.
        certificate: that showed it to be feasible before it was played; None where there is none.
        bound: on g by the certificate, known before the action was played; None without one.
        length: how far a step was certified; None without a certificate.
        g: the largest constraint value told; None if the constraint was not told.
        constraint_value: as it was told.
        constraint_subgradient: as it was told.
        cost_gradient: as it was told.
        cost_value: as it was told.
    """

    round: int
    action: np.ndarray
    certificate: Certificate | None
    bound: float | None
    length: float | None
    g: float | None
    constraint_value: Any
    constraint_subgradient: np.ndarray | None
    cost_gradient: np.ndarray | None
    cost_value: float | None

    def __str__(self) -> str:
        return "; ".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield why the action could be played, the action, and what came of it, in words."""
        action = np.array2string(self.action, precision=6, separator=", ", threshold=8)
        if self.certificate is not None:
            yield f"chosen by {self.certificate}"
        elif self.round == 1:
            yield "the start"
        else:
            yield "chosen without a certificate"
        yield f"round {self.round} played {action}"
        if self.g is None:
            yield "the constraint was not told"
        else:
            where = "feasible" if self.g <= 0 else "OUTSIDE"
            yield f"g = {self.g:.6g}, {where}"
        if self.bound is not None and self.g is not None:
            side = "below" if self.g <= self.bound else "ABOVE"
            yield f"{abs(self.bound - self.g):.3g} {side} the bound {self.bound:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What a journal says; its ``str`` is a summary of a few lines.

    Attributes:
        path: of the file.
        surefoot: the version that wrote it.
        created: when.
        player: the algorithm, in the form of its constructor.
        guarantee: what it was tuned for, in words; None without a guarantee.
        on_contradiction: the policy it was created with.
        start: the first action.
        action: the one at hand, whose outcome has not been told.
        certificate: of the action at hand; None where there is none.
        is_open: whether its writer has not closed it: it is being written, or was stopped.
        g: the largest constraint value of each round; NaN where it was not told.
        bounds: on g by the certificate of each round's action, before it was played; NaN without.
        lengths: certified, likewise.
        rounds: the decisions that were asked for; all of them unless told otherwise.
        breaches: the premises that the data contradict, each with its first round.
        notes: by the operator.
        loss: what is known about rounds that were told and are missing; None if nothing is.
    """

    path: Path
    surefoot: str
    created: str
    player: str
    guarantee: str | None
    on_contradiction: str
    start: np.ndarray
    action: np.ndarray
    certificate: Certificate | None
    is_open: bool
    g: np.ndarray
    bounds: np.ndarray
    lengths: np.ndarray
    rounds: tuple[JournalRound, ...]
    breaches: tuple[Breach, ...]
    notes: tuple[JournalNote, ...]
    loss: str | None

    @property
    def told(self) -> int:
        """The number of rounds told."""
        return len(self.g)

    @property
    def outside(self) -> int:
        """The number of rounds with g > 0."""
        return int((self.g > 0).sum())

    @property
    def worst(self) -> float | None:
        """The largest g of all rounds; None where no constraint was told."""
        return _extreme(self.g, np.nanmax)

    @property
    def margin(self) -> float | None:
        """The least distance of g below its certified bound: negative where a bound was wrong."""
        return _extreme(self.bounds - self.g, np.nanmin)

    @property
    def certified(self) -> int:
        """The number of rounds whose action had a certificate."""
        return int((~np.isnan(self.bounds)).sum())

    @property
    def status(self) -> str:
        """What the data leave of the guarantee, in words."""
        lost = {b.loses for b in self.breaches}
        if not lost:
            if self.guarantee is None and not self.certified and self.certificate is None:
                return "no guarantee was given"
            return "the data contradict nothing"
        if lost == {"regret"}:
            return "feasibility holds; the regret bound no longer applies"
        return "contradicted: feasibility is not guaranteed from the first contradiction on"

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds as columns of plain numbers and texts, by name.

        Actions, gradients and subgradients have one column for each entry; of separate
        constraints only the values and the largest are listed.
        """
        found: dict[str, list[Any]] = {"round": [], "g": [], "bound": [], "certified_length": []}
        for i, row in enumerate(self.rounds):
            parts: dict[str, Any] = {
                "round": row.round,
                "g": row.g,
                "bound": row.bound,
                "certified_length": row.length,
                **_entries("action", row.action),
                **_entries("cost_gradient", row.cost_gradient),
                **_entries("constraint_value", row.constraint_value),
                **_entries("constraint_subgradient", row.constraint_subgradient),
                "cost_value": row.cost_value,
                "certificate": None if row.certificate is None else str(row.certificate),
            }
            for name, value in parts.items():
                found.setdefault(name, [None] * i).append(value)
            for column in found.values():
                if len(column) == i:
                    column.append(None)
        return found

    def to_pandas(self) -> Any:
        """Return the rounds as a ``pandas.DataFrame``, one row each, indexed by the round."""
        pandas = need("pandas", "hosts", "a table of the journal")
        return pandas.DataFrame(self.columns()).set_index("round")

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def facts(self) -> dict[str, str]:
        """Return the summary: a few facts by name, in words."""
        facts = {
            "journal": f"{self.path}{' (not closed)' if self.is_open else ''}",
            "written by": f"Surefoot {self.surefoot}, created {self.created}",
            "player": self.player,
            "guarantee": self.guarantee or "none",
            "status": self.status,
            "rounds": f"{self.told}, {self.certified} with a certificate",
        }
        if self.worst is not None:
            facts["worst g"] = f"{self.worst:.6g}, {self.outside} rounds outside"
        if self.margin is not None:
            facts["least margin"] = f"{self.margin:.3g} between g and its certified bound"
        facts["contradictions"] = "; ".join(b.sentence for b in self.breaches) or "none"
        facts["notes"] = "; ".join(f"round {n.round}: {n.text}" for n in self.notes) or "none"
        if self.loss is not None:
            facts["lost rounds"] = self.loss
        return facts


def read_journal(
    path: str | os.PathLike[str],
    *,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord:
    """Read what a journal says, also while a controller writes it.

    Nothing is locked and nothing is written. Every row is compared with its digest. Functions and
    classes of your own need not be given again: nothing is played.

    Args:
        path: of the journal.
        first: the first round whose decision is returned.
        last: the last one; None for no limit.
        latest: return no more than so many, the latest; None for all.

    Raises:
        StoreError: if the file is not a journal, damaged or newer than this version.

    Example:
        >>> import tempfile
        >>> from surefoot import Ball, Controller
        >>> from surefoot.algorithms import CertifiedPFS
        >>> path = Path(tempfile.mkdtemp()) / "one.db"
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> controller = Controller(player, [0.0, 0.0], journal=path)
        >>> x = controller.ask()
        >>> controller.tell(
        ...     cost_gradient=[-1.0, -3.0],
        ...     constraint_value=-0.5,
        ...     constraint_subgradient=[0.0, 1.0],
        ... )
        >>> record = read_journal(path)  # the controller still has it open
        >>> record.told, record.worst, record.status, record.action.round(6)
        (1, -0.5, 'the data contradict nothing', array([0.158114, 0.25    ]))
        >>> print(record.rounds[0])
        the start; round 1 played [0., 0.]; g = -0.5, feasible
    """
    for name, value in (("first", first), ("last", last), ("latest", latest)):
        if value is not None:
            _check.whole(value, name)
    path = absolute(path)
    was_open = beside(path, "-wal").exists()
    try:
        return _read(path, _Rows(first, last, latest))
    except DamagedError:
        # A writer may have come while a closed file was read where it is.
        if was_open or not beside(path, "-wal").exists():
            raise
    return _read(path, _Rows(first, last, latest))


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a journal, by its first bytes; whether it is whole is not looked at.

    >>> is_journal(__file__)
    False
    """
    try:
        read_head(absolute(path), JOURNAL, whole=False)
    except StoreError:
        return False
    return True


def _read(path: Path, rows: _Rows) -> JournalRecord:
    marked = Mark.read(beside(path, "-mark"))
    with snapshot(path, JOURNAL) as store:
        store.check()
        of, run = _run(store)
        record = Record(of, 0, of)
        for row in each_row(store):
            if row[0] != record.number + 1:
                raise store.damaged(f"round {record.number + 1} is missing")
            record = Record(of, row[0], checked(store, record.digest, row))
            rows.add(read_round(store, row))
        number, now, found = read_now(store)
        if record.number != number - 1 or digest(record.digest, number, *now) != found:
            raise store.damaged("the last state is not what was written")
        loss = None
        # A mark that moves is that of a writer who is at work, and then the file has all of it.
        if marked == Mark.read(beside(path, "-mark")):
            tail = tail_by(marked, store, record)
            loss = None if tail.loss is None else str(tail.loss)
            for row in tail.rows:
                rows.add(read_round(store, row))
            if tail.now is not None:
                _, now, _ = tail.now
        with readable(store, "state"):
            memory = as_data(now, {"Breach": Breach, "Broken": Breach})
            action = np.asarray(memory["state"]["x"])
        return JournalRecord(
            path=path,
            **run,
            action=action,
            certificate=rows.certificate,
            is_open=not store.is_sealed,
            g=np.array(rows.g),
            bounds=np.array(rows.bounds),
            lengths=np.array(rows.lengths),
            rounds=tuple(rows.kept),
            breaches=tuple(memory["broken"]),
            notes=(),
            loss=loss,
        )


class _Rows:
    """The rounds while they are read: numbers of all, decisions of those that are wanted."""

    def __init__(self, first: int, last: int | None, latest: int | None) -> None:
        self.first, self.last = first, last
        self.g: list[float] = []
        self.bounds: list[float] = []
        self.lengths: list[float] = []
        self.kept: deque[JournalRound] = deque(maxlen=latest)
        self.certificate: Certificate | None = None  # of the next action

    def add(self, told: Round) -> None:
        """Take a round: its action was shown to be feasible by the certificate before it."""
        certificate = self.certificate
        value = told.seen.constraint_value
        # The region of a hull says how far as its room.
        length = getattr(certificate, "length", getattr(certificate, "room", None))
        row = JournalRound(
            told.number,
            told.action,
            certificate,
            None if certificate is None else float(certificate.bound),
            None if length is None else max(float(length), 0.0),
            None if value is None else float(np.max(value)),
            value,
            told.seen.constraint_subgradient,
            told.seen.cost_gradient,
            told.seen.cost_value,
        )
        self.certificate = told.certificate
        for column, part in (
            (self.g, row.g),
            (self.bounds, row.bound),
            (self.lengths, row.length),
        ):
            column.append(math.nan if part is None else part)
        if told.number >= self.first and (self.last is None or told.number <= self.last):
            self.kept.append(row)


def _run(store: Store) -> tuple[bytes, dict[str, Any]]:
    """Return the digest of what does not change, and what it says in words."""
    rows = list(store.rows("SELECT * FROM run"))
    if len(rows) != 1:
        raise store.damaged("it does not say what is played")
    _, *columns, found = rows[0]
    if digest(*columns) != found:
        raise store.damaged("what is played is not what was written")
    writer, created, text, arrays, start = columns
    with readable(store, "player"):
        player = Plain(text, arrays)
        try:
            made: Mapping[str, Any] = from_plain(player)
            algorithm, guarantee = repr(made["algorithm"]), made["guarantee"]
            promise = None if guarantee is None else str(guarantee)
        except NotPlainError:  # functions of the user's, which are not needed to read
            made = as_data(player, {})
            algorithm = constructed(made["algorithm"])
            promise = None if made["guarantee"] is None else str(made["guarantee"].get("name"))
        return found, {
            "surefoot": writer,
            "created": created,
            "player": algorithm,
            "guarantee": promise,
            "on_contradiction": made["on_contradiction"],
            "start": from_bytes(start),
        }


def _entries(name: str, value: Any) -> dict[str, Any]:
    """Return the numbers of a vector by name; of one number that number, of a matrix nothing."""
    if value is None or np.ndim(value) > 1:
        return {}
    if np.ndim(value) == 0:
        return {name: float(value)}
    return {f"{name}_{i}": float(v) for i, v in enumerate(value)}


def _extreme(values: np.ndarray, which: Any) -> float | None:
    return None if np.isnan(values).all() else float(which(values))

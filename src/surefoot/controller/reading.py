"""Read a journal as a record for people: its rounds, notes and contradictions."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.journal import HEAD, Reader
from surefoot.controller.records import OWN, certificate_from, reading_back
from surefoot.core import checks
from surefoot.core.errors import StoreError
from surefoot.core.optional import need
from surefoot.core.plain import NotPlainError, PlainTable, decode, describe
from surefoot.core.types import Certificate, Number
from surefoot.guarantees import Breach, Promises, promises_of, safety_of
from surefoot.guarantees.promise import NO_PROMISES

__all__ = ["JournalNote", "JournalRecord", "JournalRound", "is_journal", "read_journal"]


class JournalNote(NamedTuple):
    """A note by the operator, or an order: to hold, to retreat, to resume.

    Attributes:
        round: the round that was current.
        text: of the note; of an order, what it was and why.
    """

    round: int
    text: str


class JournalRound(NamedTuple):
    """One decision of a journal: the certificate, the action, and what the round reported.

    Attributes:
        round: its number.
        action: that was played.
        certificate: that proved it feasible before it was played; None without one.
        bound: on g by the certificate, known before the action was played; None without one.
        length: how far a step was certified; None without a certificate.
        g: the largest constraint value; None if the constraint was not reported.
        constraint_value: as it was reported.
        constraint_subgradient: as it was reported.
        cost_gradient: as it was reported.
        cost_value: as it was reported.
        proposal: as it was passed to a filter.
        played: the action that was really played, if it was not the one asked for.
        how: the next action came about: "stepped" by the rule; "held" or "retreated".
        error: by how much g may be off, as given or reported.
        time: when it was reported.
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
    proposal: np.ndarray | None = None
    played: np.ndarray | None = None
    how: str = "stepped"
    error: float = 0.0
    time: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether nothing was measured in the round."""
        values = (self.cost_gradient, self.proposal, self.constraint_value, self.cost_value)
        return all(value is None for value in values)

    def __str__(self) -> str:
        return "; ".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield why the action could be played, the action, and what came of it, in words."""
        action = _short(self.action)
        if self.certificate is not None:
            yield f"chosen by {self.certificate}"
        elif self.round == 1:
            yield "the start"
        else:
            yield "chosen without a certificate"
        if self.played is None:
            yield f"round {self.round} played {action}"
        else:
            yield f"round {self.round} asked for {action}, but {_short(self.played)} was played"
        if self.g is None:
            yield "nothing was measured" if self.is_missing else "the constraint was not reported"
        else:
            where = "feasible"
            if self.g > 0:
                where = "VIOLATION" if self.g > self.error else "above 0 within the given error"
            yield f"g = {self.g:.6g}, {where}"
        if self.bound is not None and self.g is not None:
            side = "below" if self.g <= self.bound else "ABOVE"
            yield f"{abs(self.bound - self.g):.3g} {side} the bound {self.bound:.3g}"
        if self.how != "stepped":
            yield f"then {self.how}, not by the rule"


_FIELDS = JournalRound._fields[6:12]
"""What a round reports, from ``constraint_value`` to ``played``."""


@dataclass(slots=True)
class JournalRecord:
    """What a journal says; its ``str`` is a summary of a few lines.

    Attributes:
        path: of the file.
        surefoot: the version that wrote it.
        created: when.
        player: the algorithm, in the form of its constructor.
        guarantee: what it was tuned for, or what its knowledge certifies, in words; None without.
        promises: what is promised, in three parts; nothing if your functions hide it.
        on_contradiction: the policy it was created with.
        action: the one at hand, whose outcome was not reported yet.
        certificate: of the action at hand; None without one.
        is_open: whether its writer has not closed it: it is being written, or was stopped.
        g: the largest constraint value of each round; NaN if it was not reported.
        bounds: on g by the certificate of each round's action, before it was played; NaN without.
        lengths: certified, likewise.
        errors: by how much each g may be off, as given or reported.
        missing: the number of rounds without a measurement.
        rounds: the decisions that were asked for; all of them unless limited.
        breaches: the premises that the data contradict, each with its first round.
        notes: by the operator, and about the journal itself.
    """

    path: Path
    surefoot: str
    created: str
    player: str
    guarantee: str | None
    on_contradiction: str
    action: np.ndarray
    certificate: Certificate | None = None
    is_open: bool = True
    g: Any = ()
    bounds: Any = ()
    lengths: Any = ()
    errors: Any = ()
    missing: int = 0
    rounds: tuple[JournalRound, ...] = ()
    breaches: tuple[Breach, ...] = ()
    notes: tuple[JournalNote, ...] = ()
    promises: Promises = NO_PROMISES

    @property
    def round_count(self) -> int:
        """The number of rounds."""
        return len(self.g)

    @property
    def violations(self) -> int:
        """The number of rounds with g > 0, by more than its error."""
        return int(np.sum(self.g > self.errors))

    @property
    def within_error(self) -> int:
        """The number of readings above 0 that their error explains; no violations."""
        return int(np.sum((self.g > 0) & (self.g <= self.errors)))

    @property
    def worst(self) -> float | None:
        """The largest g of all rounds; None if no constraint was reported."""
        return _extreme(self.g, np.nanmax)

    @property
    def margin(self) -> float | None:
        """The least distance of g below its certified bound; negative if a bound was wrong."""
        return _extreme(self.bounds - self.g, np.nanmin)

    @property
    def certified(self) -> int:
        """The number of rounds whose action had a certificate."""
        return int((~np.isnan(self.bounds)).sum())

    @property
    def status(self) -> str:
        """What the data leave of the guarantee, in words."""
        affects = {b.affects for b in self.breaches}
        if not affects:
            if self.guarantee is None and not self.certified and self.certificate is None:
                return "no guarantee was given"
            return "the data contradict nothing"
        if affects == {"regret"}:
            return "feasibility holds; the regret bound no longer applies"
        return "contradicted: feasibility is not guaranteed from the first contradiction on"

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds as columns of plain numbers and texts, by name.

        Actions, gradients and subgradients have one column for each entry; of separate
        constraints only the values and the largest are listed.
        """
        rows = [
            {"round": row.round, "g": row.g, "bound": row.bound, "certified_length": row.length}
            | {k: v for n in ("action", *_FIELDS) for k, v in _entries(n, getattr(row, n)).items()}
            | {"how": row.how, "time": row.time}
            | {"certificate": None if row.certificate is None else str(row.certificate)}
            for row in self.rounds
        ]
        first = ("round", "g", "bound", "certified_length")
        names = dict.fromkeys((*first, *(name for row in rows for name in row)))
        return {name: [row.get(name) for row in rows] for name in names}

    def to_pandas(self) -> Any:
        """Return the rounds as a ``pandas.DataFrame``, one row each, indexed by the round."""
        pandas = need("pandas", "export", "a table of the journal")
        return pandas.DataFrame(self.columns()).set_index("round")

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def _needs(self) -> str:
        """Return the premises of feasibility, in words."""
        promise = self.promises.feasibility
        return "nothing is known" if promise is None else "; ".join(promise.needs) or "nothing"

    def facts(self) -> dict[str, str]:
        """Return the summary: a few facts by name, in words."""
        facts = {
            "journal": f"{self.path}{' (not closed)' if self.is_open else ''}",
            "written by": f"Surefoot {self.surefoot}, created {self.created}",
            "player": self.player,
            "guarantee": self.guarantee or "none",
            **self.promises.theorems(),
            "needs": self._needs(),
            "status": self.status,
            "rounds": f"{self.round_count}, {self.certified} with a certificate",
        }
        if self.missing:
            facts["rounds"] += f", {self.missing} not measured"
        if self.worst is not None:
            word = "violation" if self.violations == 1 else "violations"
            facts["worst g"] = f"{self.worst:.6g}, {self.violations} {word}"
        if self.within_error:
            facts["worst g"] += f", {self.within_error} readings above 0 within the given error"
        if self.margin is not None:
            facts["least margin"] = f"{self.margin:.3g} between g and its certified bound"
        facts["contradictions"] = "; ".join(b.sentence for b in self.breaches) or "none"
        facts["notes"] = "; ".join(f"round {n.round}: {n.text}" for n in self.notes) or "none"
        return facts


def _short(action: np.ndarray) -> str:
    return np.array2string(action, precision=6, separator=", ", threshold=8)


def _entries(name: str, value: Any) -> PlainTable:
    """Return the numbers of a vector by name; of one number that number, of a matrix nothing."""
    if value is None or np.ndim(value) > 1:
        return {}
    if np.ndim(value) == 0:
        return {name: float(value)}
    return {f"{name}_{i}": float(v) for i, v in enumerate(value)}


def _extreme(values: np.ndarray, which: Callable[[np.ndarray], Any]) -> float | None:
    return None if np.isnan(values).all() else float(which(values))


def read_journal(
    path: str | os.PathLike[str],
    *,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord:
    """Read what a journal says, also while a controller writes it.

    Nothing is locked and nothing is written. Every row is compared with its digest. Your functions
    and classes need not be given again: nothing is played.

    Args:
        path: of the journal.
        first: the first round whose decision is returned.
        last: the last one; None for no limit.
        latest: the largest number of decisions to return, the latest; None for all.

    Raises:
        StoreError: if the file is not a journal, damaged or newer than this version.

    Example:
        >>> import tempfile
        >>> from surefoot import Ball, Controller
        >>> from surefoot.rules import CertifiedPFS
        >>> path = Path(tempfile.mkdtemp()) / "one.jsonl"
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> controller = Controller(player, [0.0, 0.0], journal=path)
        >>> x = controller.ask()
        >>> controller.tell(
        ...     cost_gradient=[-1.0, -3.0],
        ...     constraint_value=-0.5,
        ...     constraint_subgradient=[0.0, 1.0],
        ... )
        >>> record = read_journal(path)  # the controller still has it open
        >>> record.round_count, record.worst, record.status, record.action.round(6)
        (1, -0.5, 'the data contradict nothing', array([0.158114, 0.25    ]))
        >>> print(record.rounds[0])
        the start; round 1 played [0., 0.]; g = -0.5, feasible
    """
    for name, value in (("first", first), ("last", last), ("latest", latest)):
        if value is not None:
            checks.positive_int(value, name)
    reader = read_one(path)
    rows: deque[JournalRound] = deque(maxlen=latest)
    numbers: list[tuple[float | None, ...]] = []
    with reading_back(reader.name, "player"):
        record = _begin(reader)
    for line in reader:
        with reading_back(reader.name, f"line at byte {reader.size}"):
            row = _take(record, reader.parse(line))
        if row is not None:
            numbers.append((row.g, row.bound, row.length, row.error))
            if row.round >= first and (last is None or row.round <= last):
                rows.append(row)
    columns = np.array(numbers, dtype=np.float64).reshape(-1, 4).T
    record.g, record.bounds, record.lengths, record.errors = columns
    record.rounds = tuple(rows)
    return record


def read_one(path: str | os.PathLike[str]) -> Reader:
    """Return the reader of one controller's journal; that of a fleet has other lines."""
    reader = Reader(path)
    if "fleet" in reader.header:
        raise StoreError(f"{reader.name} is that of a fleet, which only Fleet.open reads")
    return reader


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a journal, by its first bytes; the rest is not checked.

    >>> is_journal(__file__)
    False
    """
    try:
        with Path(os.fspath(path)).open("rb") as file:
            return file.read(len(HEAD)) == HEAD
    except (OSError, ValueError):
        return False


def _begin(reader: Reader) -> JournalRecord:
    """Return the record of a journal before its first round."""
    header = reader.header
    try:
        algorithm, theorem = decode(header["player"]), decode(header["guarantee"])
        player, promises = repr(algorithm), promises_of(algorithm, theorem)
        statement = safety_of(algorithm) if theorem is None else theorem
        promise = None if statement is None else str(statement)
    except NotPlainError:  # the user's functions, which are not needed to read
        player, promise, promises = describe(header["player"]), None, NO_PROMISES
        if header["guarantee"] is not None:
            promise = str(header["guarantee"].get("class"))
    first = np.array(header["loop"]["state"]["x"], dtype=np.float64)
    about = (header["surefoot"], header["created"], player, promise, header["on_contradiction"])
    errors = _value_error_of(header["player"])
    return JournalRecord(reader.first, *about, first, errors=errors, promises=promises)


def _value_error_of(player: Any) -> float:
    """Return the error of values that an encoded player gives; 0 without one."""
    while isinstance(player, Mapping) and "base" in player:
        player = player["base"]
    for part in ("knowledge", "errors", "value"):
        player = player.get(part) if isinstance(player, Mapping) else None
    return float(player) if isinstance(player, (int, float)) else 0.0


def _take(so_far: JournalRecord, line: Mapping[str, Any]) -> JournalRound | None:
    """Take a line; return its round, if it is one.

    While lines are taken, ``errors`` is that of the player's values.
    """
    kind, note, row = line["kind"], None, None
    so_far.is_open = kind != "closed"
    if "player" in line:
        so_far.errors = _value_error_of(line["player"])
    if kind == "round":
        row = _round_in(so_far, line)
        so_far.missing += "missing" in line
        so_far.breaches += tuple(decode(b, OWN) for b in line.get("breaches", ()))
    elif kind in ("note", "torn", "rebuilt", "engine"):
        note = line["text" if kind == "note" else "sentence"]
    elif kind == "refused":
        note = f"rejected: {decode(line['breaches'][0], OWN).sentence}"
    elif kind in ("hold", "retreat", "resume"):
        note = f"{kind}: {line['reason']}"
        so_far.breaches = () if line.get("fresh") else so_far.breaches
    if note is not None:
        so_far.notes += (JournalNote(line["round"], note),)
    if "next" in line:
        so_far.action = np.array(line["next"], dtype=np.float64)
        so_far.certificate = certificate_from(line["certificate"])
    return row


def _round_in(so_far: JournalRecord, line: Mapping[str, Any]) -> JournalRound:
    """Return a round: the certificate before it proved its action feasible."""
    certificate = so_far.certificate
    bound = math.inf if certificate is None else float(certificate.bound)
    fields = {name: decode(line.get(name)) for name in _FIELDS}
    value: Number = fields["constraint_value"]
    return JournalRound(
        round=line["round"],
        action=so_far.action,
        certificate=certificate,
        bound=bound if bound < math.inf else None,
        length=_length_of(certificate),
        g=None if value is None else float(np.max(value)),
        **fields,
        how=line.get("how", "stepped"),
        error=line.get("value_error", so_far.errors),
        time=line["time"],
    )


def _length_of(certificate: Certificate | None) -> float | None:
    """Return how far a step was certified; the certificate of a hull calls it ``room``."""
    for name in ("length", "room"):
        if (length := getattr(certificate, name, None)) is not None:
            return max(float(length), 0.0)
    return None

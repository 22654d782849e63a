"""Read the journal of a controller or a fleet as a record for people, in one pass."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from surefoot.controller.journal import HEAD, Reader
from surefoot.controller.journal_record import (
    REPORTED,
    FleetRecord,
    JournalNote,
    JournalRecord,
    JournalRound,
)
from surefoot.controller.members import Name
from surefoot.controller.plant_record import PlantRecord, PlantVersion
from surefoot.controller.records import (
    OWN,
    Certificates,
    certificate_from,
    expand,
    read_steps,
    reading_back,
    unknown_member,
)
from surefoot.core import checks
from surefoot.core.plain import NotPlainError, PlainTable, decode, describe
from surefoot.core.types import Array, Certificate, FloatArray, Number
from surefoot.guarantees import Breach, Promises, explain_nothing, promises_of, safety_of
from surefoot.guarantees.promise import NO_PROMISES

__all__ = ["is_journal", "read_journal"]

_MOST = 50_000
"""Rounds that are kept beyond those that were asked for, before they are dropped."""


@overload
def read_journal(
    path: str | os.PathLike[str],
    *,
    member: str,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord: ...


@overload  # what it is depends on the file; nobody who knows the file should have to ask
def read_journal(
    path: str | os.PathLike[str],
    *,
    member: str | None = None,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord | Any: ...


def read_journal(
    path: str | os.PathLike[str],
    *,
    member: str | None = None,
    first: int = 1,
    last: int | None = None,
    latest: int | None = None,
) -> JournalRecord | FleetRecord:
    """Read what a journal says, also while a controller or a fleet writes it.

    Nothing is locked and nothing is written. Every row is compared with its digest. Your functions
    and classes need not be given again: nothing is played.

    Args:
        path: of the journal.
        member: of a fleet, the name of the one to read; its last run if the name came back. None
            for all.
        first: the first round whose decision is returned.
        last: the last one; None for no limit.
        latest: the largest number of decisions to return, the latest of each member; None for all.

    Returns:
        The record of a controller, or of one member; of a whole fleet a :class:`FleetRecord`.

    Raises:
        InvalidValueError: for a member that the journal does not have.
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
    reader = Reader(path)
    is_fleet = "members" in reader.header
    if member is not None and not is_fleet:
        raise checks.invalid("member", "left out for the journal of one controller", member)
    with reading_back(reader.name, "player"):
        reading = _Reading(
            reader, member, _Limits(first, math.inf if last is None else last, latest)
        )
    for line in reader:
        with reading_back(reader.name, f"line at byte {reader.size}"):
            reading.take(reader.parse(line))
    with reading_back(reader.name, "rounds"):
        records = reading.finish()
    if not is_fleet:
        return records[0]
    if member is None:
        header, notes = reader.header, tuple(reading.notes)
        about = (reader.first, header["surefoot"], header["created"])
        return FleetRecord(*about, tuple(records), reading.is_open, notes, reader.digest)
    named = [record for record in records if record.member == member]
    if not named:
        raise unknown_member(member, dict.fromkeys(str(record.member) for record in records))
    return named[-1]


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


# --- one pass over the lines ---------------------------------------------------------------------


class _Limits(NamedTuple):
    """Which rounds are kept.

    Attributes:
        first: the first.
        last: the last; infinite for no limit.
        latest: how many of each member, the latest; None for all.
    """

    first: int
    last: float
    latest: int | None

    def holds(self, rounds: Any) -> Any:
        """Return whether rounds may be kept."""
        return (rounds >= self.first) & (rounds <= self.last)


class _Rows(Protocol):
    """Rounds of members."""

    @property
    def at(self) -> Array:
        """The records that they belong to."""

    def round(self, row: int) -> JournalRound:
        """Return one of them."""

    def keep(self, mask: Array) -> "_Rows":
        """Return some of them."""


class _Single(NamedTuple):
    """Rounds that had a record each."""

    at: Array
    rows: Sequence[JournalRound]

    def round(self, row: int) -> JournalRound:
        """Return one of them."""
        return self.rows[row]

    def keep(self, mask: Array) -> "_Single":
        """Return some of them."""
        return _Single(self.at[mask], [self.rows[i] for i in np.flatnonzero(mask).tolist()])


class _Columns(NamedTuple):
    """Rounds of members that were stepped at once; each is made when it is asked for.

    Attributes:
        at: the records that they belong to.
        rounds: their numbers.
        actions: that were played.
        proofs: the certificates of these, or None.
        places: the rows there.
        numbers: g, its bound, the certified length and the error of g; NaN for none.
        reports: what the rounds reported, by name.
        time: when.
    """

    at: Array
    rounds: Array
    actions: Array
    proofs: Array
    places: Array
    numbers: Array
    reports: dict[str, Array]
    time: str

    def round(self, row: int) -> JournalRound:
        """Return one of them."""
        g, bound, length, error = self.numbers[row].tolist()
        proof = self.proofs[row]
        fields: dict[str, Any] = dict.fromkeys(REPORTED)
        fields |= {name: part[row] for name, part in self.reports.items()}
        return JournalRound(
            round=int(self.rounds[row]),
            action=self.actions[row],
            certificate=None if proof is None else proof.certificate(int(self.places[row])),
            bound=None if math.isnan(bound) else bound,
            length=None if math.isnan(length) else length,
            g=None if math.isnan(g) else g,
            **fields | {"constraint_value": g},
            error=error,
            time=self.time,
        )

    def keep(self, mask: Array) -> "_Columns":
        """Return some of them."""
        parts = (self.at, self.rounds, self.actions, self.proofs, self.places, self.numbers)
        at, rounds, actions, proofs, places, numbers = (part[mask] for part in parts)
        reports = {name: part[mask] for name, part in self.reports.items()}
        return _Columns(at, rounds, actions, proofs, places, numbers, reports, self.time)


class _Rounds(Sequence[JournalRound]):
    """The rounds of one member, each made when it is asked for.

    Args:
        blocks: of rounds.
        which: for each round, the number of its block.
        row: and its row there.
    """

    def __init__(self, blocks: Sequence[_Rows], which: Array, row: Array) -> None:
        self._blocks, self._which, self._row = blocks, which, row

    def __len__(self) -> int:
        return len(self._which)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        return self._blocks[self._which[place]].round(int(self._row[place]))


class _Reading:
    """What the lines so far say of members, each with a record; a controller's has no name.

    The rounds of one line in columns stay columns: of a large fleet few rounds are asked for.

    Args:
        reader: of the journal.
        member: the only one to read; None for all.
        limits: which rounds to keep.
    """

    def __init__(self, reader: Reader, member: str | None, limits: _Limits) -> None:
        header = reader.header
        self.reader, self.member, self.limits = reader, member, limits
        self.is_open, self.notes = True, list[JournalNote]()
        self.records: list[JournalRecord] = []
        self.place_of: dict[Name, int] = {}
        self.runs: dict[Name, int] = {}
        self.words: dict[str, tuple[float, tuple[str, str], Promises]] = {}
        # By record. The state of a member is here while `in_columns`, else in its record.
        self.in_columns = np.zeros(0, dtype=bool)
        self.wanted = np.zeros(0, dtype=bool)
        self.numbers = np.zeros((0, 3))  # the bound at hand, the certified length, the error of g
        self.actions = np.zeros((0, 0))
        self.proofs = np.zeros(0, dtype=object)
        self.places = np.zeros(0, dtype=np.int64)
        # What was read: of all rounds the numbers, of some the rounds.
        self.series: list[tuple[Array, Array]] = []
        self.blocks: list[_Rows] = []
        self.singles: list[tuple[float | None, ...]] = []
        self.rows: list[tuple[int, JournalRound]] = []
        self.kept = self.most = 0
        self._begin(header)

    # --- members ---------------------------------------------------------------------------------

    def _begin(self, header: PlainTable) -> None:
        """Begin with the members of the first line."""
        if "members" not in header:
            self._add([None], [header], [header["loop"]["state"]["x"]])
            record = self.records[0]
            record.halted, record.context = _halt_in(header["loop"]), _context_in(header["loop"])
            if header.get("rounds"):
                record.origin = "stepped"
            return
        table, starts = header["members"], decode(header["members"]["starts"])
        names, players = table["names"], [header["players"][int(i)] for i in table["players"]]
        self._add(names, players, starts)
        state = header["state"]
        if state is None:
            return
        for rows in state["rows"]:
            at = np.array(rows["members"], dtype=np.int64)
            self.actions[at] = decode(rows["blocks"])[:, : self.actions.shape[1]]
        for name, loop in state["loops"].items():
            i = self.place_of[name]
            record, self.actions[i] = self.records[i], decode(loop["state"]["x"])
            record.halted, record.context = _halt_in(loop), _context_in(loop)
            record.origin = "stepped"

    def _add(self, names: Sequence[Name], players: Sequence[PlainTable], actions: Any) -> None:
        """Add members that come."""
        header, first = self.reader.header, len(self.records)
        about = (self.reader.first, header["surefoot"], header["created"])
        x, errors = np.array(actions, dtype=np.float64), []
        for name, player, action in zip(names, players, x, strict=True):
            error, words, promises = self._describe(player)
            record = JournalRecord(*about, *words, player["on_contradiction"], action)
            record.errors, record.promises, record.member = error, promises, name
            record.run = self.runs[name] = self.runs.get(name, 0) + 1
            if "plant" in player:
                one_limit = name is not None and not _has_rows(player["player"])
                record.plant = PlantRecord.of(player["plant"], one_limit=one_limit)
            self.place_of[name] = len(self.records)
            self.records.append(record)
            errors.append(error)
        n = len(names)
        fresh = np.column_stack((np.full((n, 2), np.nan), errors))
        self.numbers = np.vstack((self.numbers, fresh))
        self.actions = np.vstack((self.actions, x)) if first else x.copy()
        self.in_columns = np.append(self.in_columns, np.ones(n, dtype=bool))
        self.proofs = np.append(self.proofs, np.full(n, None))
        self.places = np.append(self.places, np.zeros(n, dtype=np.int64))
        all_are = np.full(n, self.member is None)
        self.wanted = np.append(self.wanted, all_are | [name == self.member for name in names])

    def _describe(self, player: PlainTable) -> tuple[float, tuple[str, str], Promises]:
        """Return the error of a player's values, its words and what it promises."""
        key = json.dumps([player["player"], player["guarantee"]])
        if key not in self.words:
            self.words[key] = (_value_error_of(player["player"]), *_words_of(player))
        return self.words[key]

    def _to_columns(self, at: Array) -> None:
        """Take the state of members out of their records."""
        for i in at[~self.in_columns[at]].tolist():
            record = self.records[i]
            certificate = record.certificate
            self.numbers[i] = (*_numbers_of(certificate), record.errors)
            self.actions[i], self.proofs[i], self.places[i] = record.action, _One(certificate), 0
        self.in_columns[at] = True

    def _to_record(self, i: int) -> JournalRecord:
        """Return the record of a member, with its state."""
        record = self.records[i]
        if self.in_columns[i]:
            proof = self.proofs[i]
            record.action = self.actions[i].copy()
            place = int(self.places[i])
            record.certificate = None if proof is None else proof.certificate(place)
            self.in_columns[i] = False
        return record

    # --- lines -----------------------------------------------------------------------------------

    def take(self, line: PlainTable) -> None:
        """Take the next line."""
        kind, names = line["kind"], list(self.place_of)
        self.is_open = kind != "closed"
        if kind == "joined":
            self._add([line["member"]], [line], [line["start"]])
        for table in line.get("steps", ()):
            self._take_columns(names, table, line["time"])
        for name, record in expand(names, {**line, "steps": ()}):
            i = self.place_of.get(name)
            if i is None and name is not None:
                raise NotPlainError(f"a record of {name!r}, who is no member")
            if i is None:
                self.notes += _notes_in(record)
            elif self.wanted[i]:
                self._take_record(i, record)
        if kind == "left":
            self.records[self.place_of.pop(line["member"])].has_left = True

    def _take_record(self, i: int, record: PlainTable) -> None:
        row = _take(self._to_record(i), record)
        if row is None:
            return
        self.singles.append((i, row.g, row.bound, row.length, row.error))
        if self.limits.holds(row.round):
            self.rows.append((i, row))
            self._count(1)

    def _take_columns(self, names: Sequence[Name], table: PlainTable, time: str) -> None:
        steps = read_steps(names, table)
        if steps.certificates.size != len(steps.at):
            raise NotPlainError(
                f"{steps.certificates.size} certificates of {len(steps.at)} members"
            )
        places = np.fromiter(self.place_of.values(), dtype=np.int64, count=len(names))
        at = places[steps.at]
        if not (chosen := self.wanted[at]).any():
            return
        self._flush()
        self._to_columns(at[chosen])
        at = at[chosen]
        reports = {n: part[chosen] for n, part in steps.columns.items() if n in REPORTED}
        g = reports["constraint_value"].astype(np.float64)
        numbers = np.column_stack((g, self.numbers[at]))
        self.series.append((at, numbers))
        parts = (self.actions[at], self.proofs[at], self.places[at])
        rows = _Columns(at, steps.rounds[chosen], *parts, numbers, reports, time)
        may = self.limits.holds(rows.rounds)
        if may.any():
            self.blocks.append(rows if may.all() else rows.keep(may))
            self._count(int(may.sum()))
        self.actions[at], self.proofs[at] = steps.actions[chosen], steps.certificates
        self.places[at] = np.flatnonzero(chosen)
        self.numbers[at, :2] = _columns_of(steps.certificates, chosen)

    def _flush(self) -> None:
        """Let the rounds that had a record each be blocks, too."""
        if self.singles:
            array = np.array(self.singles, dtype=np.float64)
            self.series.append((array[:, 0].astype(np.int64), array[:, 1:]))
            self.singles = []
        if self.rows:
            at, rows = zip(*self.rows, strict=True)
            self.blocks.append(_Single(np.array(at), rows))
            self.rows = []

    def _count(self, more: int) -> None:
        """Drop rounds now and then that are not the latest of their member."""
        self.kept += more
        if self.limits.latest is None or self.kept < max(_MOST, 2 * self.most):
            return
        self._flush()
        order, edges = self._split([block.at for block in self.blocks])
        late = np.zeros(len(order), dtype=bool)
        ends = np.repeat(edges[1:], np.diff(edges))
        late[order] = np.arange(len(order)) >= ends - self.limits.latest
        sizes = np.cumsum([len(block.at) for block in self.blocks])[:-1]
        pairs = zip(self.blocks, np.split(late, sizes), strict=True)
        self.blocks = [block.keep(mask) for block, mask in pairs if mask.any()]
        self.kept = self.most = int(late.sum())

    def _split(self, parts: Sequence[Array]) -> tuple[Array, list[int]]:
        """Return the order in which rounds belong to one record after the other, and the ends."""
        at = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        order = np.argsort(at, kind="stable")
        edges: list[int] = np.searchsorted(at[order], np.arange(len(self.records) + 1)).tolist()
        return order, edges

    def finish(self) -> list[JournalRecord]:
        """Return the records, in the order in which members came."""
        self._flush()
        order, edges = self._split([at for at, _ in self.series])
        empty = np.zeros((0, 4))
        numbers = np.concatenate([empty, *(part for _, part in self.series)])[order]
        where, ends = self._split([block.at for block in self.blocks])
        sizes = [len(block.at) for block in self.blocks]
        which = np.repeat(np.arange(len(sizes)), sizes)[where]
        rows = np.concatenate([where[:0], *map(np.arange, sizes)])[where]
        for i, record in enumerate(self.records):
            self._to_record(i)
            record.is_open, record.digest = self.is_open, self.reader.digest
            if record.plant is not None:
                record.guarantee = str(record.plant.proof)
                record.promises = record.plant.promises
            part = numbers[edges[i] : edges[i + 1]].T
            record.g, record.bounds, record.lengths, record.errors = part
            latest = self.limits.latest or ends[i + 1]
            kept = slice(max(ends[i], ends[i + 1] - latest), ends[i + 1])
            rounds: Sequence[JournalRound] = _Rounds(self.blocks, which[kept], rows[kept])
            record.rounds = tuple(rounds) if record.member is None else rounds
        return self.records


class _One:
    """The certificate of one member, as that of a line in columns."""

    __slots__ = ("_certificate",)

    def __init__(self, certificate: Certificate | None) -> None:
        self._certificate = certificate

    def certificate(self, row: int) -> Certificate | None:
        """Return it."""
        return self._certificate


# --- parts of a line -----------------------------------------------------------------------------


def _words_of(player: PlainTable) -> tuple[tuple[str, str], Promises]:
    """Return what is played and its guarantee, in words, and what it promises."""
    try:
        algorithm, theorem = decode(player["player"]), decode(player["guarantee"])
        promises = promises_of(algorithm, theorem)
        statement = safety_of(algorithm) if theorem is None else theorem
        return (repr(algorithm), str(statement or explain_nothing(algorithm))), promises
    except NotPlainError:  # the user's functions, which are not needed to read
        guarantee = player["guarantee"]
        words = "not read: the player has parts of its user, which a journal does not store"
        words = words if guarantee is None else str(guarantee.get("class"))
        return (describe(player["player"]), words), NO_PROMISES


def _value_error_of(player: Any) -> float:
    """Return the error of values that an encoded player gives; 0 without one."""
    while isinstance(player, Mapping) and "base" in player:
        player = player["base"]
    for part in ("knowledge", "errors", "value"):
        player = player.get(part) if isinstance(player, Mapping) else None
    return float(player) if isinstance(player, (int, float)) else 0.0


def _context_in(loop: PlainTable) -> tuple[float, ...] | None:
    """Return the numbers of the context in a stored loop; None without one."""
    memory = loop["state"].get("memory")
    return _place_in(memory.get("context") if isinstance(memory, Mapping) else None)


def _place_in(context: object) -> tuple[float, ...] | None:
    """Return the numbers of an encoded context; None without one."""
    if not isinstance(context, Mapping):
        return None
    return tuple(np.asarray(decode(context["place"]), dtype=np.float64).tolist())


def _halt_in(loop: PlainTable) -> str | None:
    """Return why a stored loop is halted; None if it moves."""
    halt = loop.get("halt")
    return None if halt is None else str(halt["reason"])


_ORDERS = ("hold", "retreat", "resume", "amend", "joined", "left")


def _notes_in(line: Mapping[str, Any]) -> list[JournalNote]:
    """Return the note in a line, if there is one."""
    kind, note = line["kind"], None
    if kind in ("note", "torn", "rebuilt", "engine"):
        note = line["text" if kind == "note" else "sentence"]
    elif kind == "refused":
        note = f"rejected: {decode(line['breaches'][0], OWN).sentence}"
    elif kind in _ORDERS:
        note = f"{kind}: {line['reason']}"
    return [] if note is None else [JournalNote(line["round"], note)]


def _take(so_far: JournalRecord, line: Mapping[str, Any]) -> JournalRound | None:
    """Take a line; return its round, if it is one.

    While lines are taken, ``errors`` is that of the player's values.
    """
    kind, row = line["kind"], None
    if "player" in line:
        so_far.errors = _value_error_of(line["player"])
    if so_far.plant is not None and kind != "round":
        so_far.plant.take_line(line)
    if kind == "round":
        breaches = tuple(decode(b, OWN) for b in line.get("breaches", ()))
        row = _round_in(so_far, line, breaches)
        so_far.missing += row.missing
        so_far.breaches += breaches
        if "causes" in (why := line.get("why", {})) and why.get("policy") in ("hold", "retreat"):
            # One that was known before has no line of its own.
            known = [b.sentence for b in (*breaches, *so_far.breaches) if b.affects != "regret"]
            so_far.halted = known[0].partition(": ")[2] if known else "a contradiction"
    elif kind == "refused":
        so_far.rejected += 1
    elif kind in ("hold", "retreat"):
        so_far.halted, so_far.origin = line["reason"], _ORIGINS[kind]
    elif kind in ("resume", "amend"):
        so_far.halted = None
        if line.get("fresh"):
            so_far.breaches, so_far.context = (), None
            so_far.origin = _origin_of(line)
    elif kind == "announce":
        so_far.context = _place_in(line["context"])
    so_far.notes += tuple(_notes_in(line))
    if "next" in line:
        so_far.action = np.array(line["next"], dtype=np.float64)
        so_far.certificate = certificate_from(line["certificate"])
    return row


_ORIGINS = {"hold": "held", "retreat": "retreated"}


def _origin_of(line: Mapping[str, Any]) -> str:
    """Return how the first action of another player came about."""
    if line["kind"] == "resume":
        return "start"
    return "recovered" if PlantVersion.is_of_plant(line["by"]) else "amended"


def _round_in(
    so_far: JournalRecord, line: Mapping[str, Any], breaches: tuple[Breach, ...]
) -> JournalRound:
    """Return a round: the certificate before it proved its action feasible."""
    certificate = so_far.certificate
    bound, length = _numbers_of(certificate)
    fields = {name: decode(line.get(name)) for name in REPORTED}
    value: Number = fields["constraint_value"]
    row = JournalRound(
        round=line["round"],
        action=so_far.action,
        certificate=certificate,
        bound=None if math.isnan(bound) else bound,
        length=None if math.isnan(length) else length,
        g=None if value is None else float(np.max(value)),
        **fields,
        how=line.get("how", "stepped"),
        error=line.get("value_error", so_far.errors),
        time=line["time"],
        readings=_readings_in(line),
        context=so_far.context,
        missing="missing" in line,
        origin=so_far.origin,
    )
    if so_far.plant is not None:
        row = so_far.plant.take_round(row, breaches, line.get("why", {}).get("causes", ()))
    so_far.origin, so_far.context = row.how, _place_in(line.get("context"))
    return row


def _has_rows(player: Any) -> bool:
    """Return whether a player takes every one of several limits separately."""
    known = player.get("knowledge") if isinstance(player, Mapping) else None
    return isinstance(known, Mapping) and "rows" in known


def _readings_in(line: Mapping[str, Any]) -> FloatArray | None:
    """Return what meters showed in a round, NaN for nothing; None where there are none."""
    stored = decode(line.get("readings"))
    return None if stored is None else np.asarray(stored, dtype=np.float64)


def _numbers_of(certificate: Certificate | None) -> tuple[float, float]:
    """Return the bound on g of a certificate, and how far a step was certified; NaN for none.

    The certificate of a hull calls the length ``room``.
    """
    bound = math.inf if certificate is None else float(certificate.bound)
    lengths = (getattr(certificate, name, None) for name in _LENGTHS)
    length = next((max(float(part), 0.0) for part in lengths if part is not None), math.nan)
    return bound if bound < math.inf else math.nan, length


_LENGTHS = ("length", "room")


def _columns_of(certificates: Certificates, chosen: Array) -> Array:
    """Return the same of many certificates, in two columns."""
    bound = certificates.column("bound")
    length = next((part for n in _LENGTHS if (part := certificates.column(n)) is not None), None)
    if bound is None or length is None:
        rows = np.flatnonzero(chosen).tolist()
        return np.array([_numbers_of(certificates.certificate(row)) for row in rows])
    bounds = np.where(bound[chosen] < np.inf, bound[chosen], np.nan)
    return np.column_stack((bounds, np.maximum(length[chosen], 0.0)))

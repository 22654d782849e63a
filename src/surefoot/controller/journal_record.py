"""What a journal says, for people: its rounds, notes and contradictions, of one member or many."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.plant_record import PlantRecord
from surefoot.controller.plant_summary import describe_limits, list_facts
from surefoot.core.optional import need
from surefoot.core.plain import PlainTable
from surefoot.core.types import Certificate
from surefoot.guarantees import Breach, Promises
from surefoot.guarantees.promise import NO_PROMISES

__all__ = ["FleetRecord", "JournalNote", "JournalRecord", "JournalRound"]

_SHOWN = 20
"""Members up to which a summary has a line for each."""
_WORST = 10
"""How many have a line in the summary of more."""


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
        readings: of a plant, the value of each limit in its unit; NaN for none.
        context: the numbers of the context that it was played in; None without one.
        missing: whether it was told as a round without a measurement.
        origin: of the action: "start"; "stepped" by the rule, "held" or "retreated"; "amended" or
            "recovered", the start of a plant that began anew; of a plant as
            :class:`~surefoot.controller.plant_record.PlantRound` has it.
        wanted: of a plant, the set points that were wanted for this round, by name.
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
    readings: np.ndarray | None = None
    context: tuple[float, ...] | None = None
    missing: bool = False
    origin: str = "stepped"
    wanted: dict[str, float] | None = None

    @property
    def is_missing(self) -> bool:
        """Whether nothing was measured in the round."""
        if self.missing:
            return True
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


REPORTED = JournalRound._fields[6:12]
"""What a round reports, from ``constraint_value`` to ``played``."""
_FIRST = ("round", "g", "bound", "certified_length")


@dataclass(slots=True)
class JournalRecord:
    """What a journal says; its ``str`` is a summary of a few lines.

    Attributes:
        path: of the file.
        surefoot: the version that wrote it.
        created: when.
        player: the algorithm, in the form of its constructor.
        guarantee: what it was tuned for, what its knowledge certifies, or why nothing is promised,
            in words.
        promises: what is promised, in three parts; nothing if your functions hide it.
        member: of a fleet, the name; None of a controller's journal.
        run: 1; 2 for a name that left and came back, which is another member, and so on.
        has_left: whether the member is gone.
        halted: why nothing moves until the member or the controller is resumed; None if it moves.
        rejected: the number of reports that were rejected; a member's round is then not measured.
        plant: of a plant file, what the journal says in its units; None of a controller's.
        context: the numbers of the context of the action at hand; None without one.
        origin: of the action at hand, as a :class:`JournalRound` has it.
        digest: the SHA-256 of the last line, which covers all lines before it.
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
    guarantee: str
    on_contradiction: str
    action: np.ndarray
    certificate: Certificate | None = None
    is_open: bool = True
    g: Any = ()
    bounds: Any = ()
    lengths: Any = ()
    errors: Any = ()
    missing: int = 0
    rounds: Sequence[JournalRound] = ()
    breaches: tuple[Breach, ...] = ()
    notes: tuple[JournalNote, ...] = ()
    promises: Promises = NO_PROMISES
    member: str | None = None
    run: int = 1
    has_left: bool = False
    halted: str | None = None
    rejected: int = 0
    plant: PlantRecord | None = None
    context: tuple[float, ...] | None = None
    origin: str = "start"
    digest: str = ""

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
            if not any(self.promises) and not self.certified and self.certificate is None:
                return "nothing was promised that data could contradict"
            return "the data contradict nothing"
        if affects == {"regret"}:
            return "feasibility holds; the regret bound no longer applies"
        return "contradicted: feasibility is not guaranteed from the first contradiction on"

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds as columns of plain numbers and texts, by name.

        Actions, gradients and subgradients have one column for each entry; of separate
        constraints only the values and the largest are listed.
        """
        return _columns_of(_FIRST, map(_row_of, self.rounds))

    def to_pandas(self) -> Any:
        """Return the rounds as a ``pandas.DataFrame``, one row each, indexed by the round."""
        pandas = need("pandas", "export", "a table of the journal")
        return pandas.DataFrame(self.columns()).set_index("round")

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def _promise_facts(self) -> dict[str, str]:
        """Return the theorem of each part, and the premises of feasibility, in words."""
        promise = self.promises.feasibility
        if not any(self.promises):  # the guarantee says why
            return {}
        needs = "nothing" if promise is None else "; ".join(promise.needs) or "nothing"
        uncovered = "" if promise is None else "; ".join(promise.not_covered)
        more = {"not covered": uncovered} if uncovered else {}
        return {**self.promises.theorems(), "needs": needs, **more}

    def _member_facts(self) -> dict[str, str]:
        """Return which member it is, and whether it moves; nothing of a controller."""
        if self.member is None:
            return {}
        left = ", which has left" if self.has_left else ""
        return {"member": f"{self.label}{left}", "halted": self.halted or "no"}

    @property
    def label(self) -> str:
        """The name of the member, with the number of its run from the second on."""
        name = self.member or self.path.name
        return name if self.run == 1 else f"{name}, run {self.run}"

    def facts(self) -> dict[str, str]:
        """Return the summary: a few facts by name, in words."""
        facts = {
            "journal": f"{self.path}{' (not closed)' if self.is_open else ''}",
            "written by": f"Surefoot {self.surefoot}, created {self.created}",
            **self._member_facts(),
        }
        if self.plant is not None:
            return facts | dict(list_facts(self, self.plant))
        facts |= {
            "player": self.player,
            "guarantee": self.guarantee,
            **self._promise_facts(),
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


@dataclass(slots=True)
class FleetRecord:
    """What the journal of a fleet says; its ``str`` is a summary, with a line for each member.

    Of a large fleet the ``str`` has the members to look at first: those with contradictions or
    rejected reports, with violations, halted, and with the largest g.

    Attributes:
        path: of the file.
        surefoot: the version that wrote it.
        created: when.
        runs: the record of each member, in the order in which they came, also of those that left. A
            name that left and came back is another member, with rounds and a run of its own.
        is_open: whether its writer has not closed it: it is being written, or was stopped.
        notes: those that are about the whole fleet; a member's are in its own record.
        digest: the SHA-256 of the last line, which covers all lines before it.
        members: the records by name; of a name that came back the last one.
    """

    path: Path
    surefoot: str
    created: str
    runs: tuple[JournalRecord, ...]
    is_open: bool = True
    notes: tuple[JournalNote, ...] = ()
    digest: str = ""
    members: dict[str, JournalRecord] = field(init=False)

    def __post_init__(self) -> None:
        self.members = {str(record.member): record for record in self.runs}

    @property
    def is_of_plants(self) -> bool:
        """Whether every member is a plant, of which the journal speaks in its units."""
        return bool(self.runs) and all(record.plant is not None for record in self.runs)

    @property
    def round_count(self) -> int:
        """The number of rounds of all members."""
        return sum(record.round_count for record in self.runs)

    @property
    def violations(self) -> int:
        """The number of their rounds with g > 0, by more than its error."""
        return sum(record.violations for record in self.runs)

    @property
    def within_error(self) -> int:
        """The number of readings above 0 that their error explains; no violations."""
        return sum(record.within_error for record in self.runs)

    @property
    def missing(self) -> int:
        """The number of rounds without a measurement."""
        return sum(record.missing for record in self.runs)

    @property
    def rejected(self) -> int:
        """The number of reports that were rejected; their rounds are not measured."""
        return sum(record.rejected for record in self.runs)

    @property
    def certified(self) -> int:
        """The number of rounds whose action had a certificate."""
        return sum(record.certified for record in self.runs)

    @property
    def worst_member(self) -> JournalRecord | None:
        """The member with the largest g; None if no constraint was reported."""
        pairs = [(record.worst, record) for record in self.runs]
        measured = [(worst, record) for worst, record in pairs if worst is not None]
        return max(measured, key=lambda pair: pair[0])[1] if measured else None

    @property
    def worst(self) -> float | None:
        """The largest g of all rounds; None if no constraint was reported."""
        member = self.worst_member
        return None if member is None else member.worst

    @property
    def margin(self) -> float | None:
        """The least distance of g below its certified bound; negative if a bound was wrong."""
        margins = [record.margin for record in self.runs]
        return min((margin for margin in margins if margin is not None), default=None)

    @property
    def contradicted(self) -> tuple[JournalRecord, ...]:
        """The members whose data contradict a premise."""
        return tuple(record for record in self.runs if record.breaches)

    @property
    def halted(self) -> dict[str, str]:
        """The members that are halted and have not left, and why."""
        here = (record for record in self.runs if not record.has_left)
        return {str(record.member): record.halted for record in here if record.halted is not None}

    def by_need(self) -> list[JournalRecord]:
        """Return the members, first those that need a look.

        That is those with contradictions or reports that were rejected, then with violations, then
        halted, then by the largest g.
        """

        def need_of(record: JournalRecord) -> tuple[bool, int, bool, float]:
            worst = -math.inf if record.worst is None else record.worst
            is_halted = record.halted is not None and not record.has_left
            return bool(record.breaches or record.rejected), record.violations, is_halted, worst

        return sorted(self.runs, key=need_of, reverse=True)

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds of all members as columns, as :meth:`JournalRecord.columns`.

        The first columns are the member, and the run of its name.
        """
        rows = (
            {"member": record.member, "run": record.run, **_row_of(row)}
            for record in self.runs
            for row in record.rounds
        )
        return _columns_of(("member", "run", *_FIRST), rows)

    def to_pandas(self) -> Any:
        """Return the rounds as a ``pandas.DataFrame``, indexed by member, run and round."""
        pandas = need("pandas", "export", "a table of the journal")
        return pandas.DataFrame(self.columns()).set_index(["member", "run", "round"])

    def __str__(self) -> str:
        lines = [f"{name:<16}{value}" for name, value in self.facts().items()]
        few = self.runs if len(self.runs) <= _SHOWN else self.by_need()[:_WORST]
        which = "members:" if len(few) == len(self.runs) else f"the {_WORST} to look at first:"
        return "\n".join([*lines, which, *(f"  {describe_member(record)}" for record in few)])

    def facts(self) -> dict[str, str]:
        """Return the summary without the lines of members: a few facts by name, in words."""
        left, here = sum(record.has_left for record in self.runs), self.halted
        players = dict.fromkeys(record.player for record in self.runs)
        guarantees = dict.fromkeys(record.guarantee for record in self.runs)
        facts = {
            "journal": f"{self.path}{' (not closed)' if self.is_open else ''}",
            "written by": f"Surefoot {self.surefoot}, created {self.created}",
            "members": f"{len(self.runs) - left:,}" + (f", and {left:,} that left" if left else ""),
            "player": _of_many(players),
            "guarantee": _of_many(guarantees),
            "rounds": self._describe_rounds(),
        }
        if self.is_of_plants:
            outside = sum(r.plant.outside.total() for r in self.runs if r.plant is not None)
            facts["outside"] = (
                f"{outside:,} readings beyond a limit, by more than the meter's error"
            )
        elif (worst := self.worst_member) is not None:
            word = "violation" if self.violations == 1 else "violations"
            facts["worst g"] = f"{worst.worst:.6g} of {worst.label}, {self.violations:,} {word}"
            if within := self.within_error:
                facts["worst g"] += f", {within:,} readings above 0 within the given error"
        if (margin := self.margin) is not None and not self.is_of_plants:
            facts["least margin"] = f"{margin:.3g} between g and its certified bound"
        facts["contradictions"] = _of_members([record.label for record in self.contradicted])
        facts["halted"] = _of_members(list(here))
        facts["notes"] = "; ".join(f"round {n.round}: {n.text}" for n in self.notes) or "none"
        return facts

    def _describe_rounds(self) -> str:
        """Return how many rounds there are, and what is to be known of them."""
        words = f"{self.round_count:,}, {self.certified:,} with a certificate"
        if self.missing:
            words += f", {self.missing:,} not measured"
        if self.rejected:
            words += f", {self.rejected:,} of them reported what was rejected"
        return words


def describe_member(record: JournalRecord) -> str:
    """Return what a summary says of a member, on one line."""
    words = [f"{record.round_count:,} round{'' if record.round_count == 1 else 's'}"]
    if record.plant is not None:
        words += [f"{name} {text}" for name, text in describe_limits(record.plant)]
    elif record.worst is not None:
        word = "violation" if record.violations == 1 else "violations"
        words += [f"worst g {record.worst:.4g}", f"{record.violations:,} {word}"]
    if record.missing:
        words.append(f"{record.missing:,} not measured")
    if record.rejected:
        words.append(f"{record.rejected:,} rejected")
    words += [state for state in (state_of(record),) if state]
    return f"{record.label:<14}{', '.join(words)}"


def state_of(record: JournalRecord) -> str:
    """Return what a reader should know of a member first, in words; empty if there is nothing."""
    words = []
    if record.has_left:
        words.append("left")
    elif record.halted is not None:
        words.append(f"halted: {record.halted}")
    if record.breaches and (record.halted is None or record.has_left):
        words.append(f"contradicted: {record.breaches[0].sentence}")
    return "; ".join(words)


def _of_many(kinds: Iterable[str]) -> str:
    """Return what members have: the same, or the first of several."""
    first, *others = kinds
    return f"{first}, and {len(others):,} other{'s'[: len(others) - 1]}" if others else first


def _of_members(labels: Sequence[str]) -> str:
    """Return the names of members, of many the first ones."""
    more = f" and {len(labels) - 5:,} more" if len(labels) > 5 else ""
    count = f"{len(labels):,}: " if labels else "none"
    return f"{count}{'; '.join(labels[:5])}{more}"


def _row_of(row: JournalRound) -> PlainTable:
    """Return a round as a row of a table."""
    return {
        **{"round": row.round, "g": row.g, "bound": row.bound, "certified_length": row.length},
        **{k: v for n in ("action", *REPORTED) for k, v in _entries(n, getattr(row, n)).items()},
        **{"how": row.how, "time": row.time},
        "certificate": None if row.certificate is None else str(row.certificate),
    }


def _columns_of(first: Sequence[str], rows: Iterable[PlainTable]) -> dict[str, list[Any]]:
    """Return rows as columns; a row that lacks one has None there."""
    columns: dict[str, list[Any]] = {name: [] for name in first}
    for i, row in enumerate(rows):
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * i
            columns[name].append(value)
        for name in columns.keys() - row.keys():
            columns[name].append(None)
    return columns


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

"""Many live loops in one process, driven by arrays, with one durable line a call for all."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from surefoot.controller import records
from surefoot.controller.alarms import OnAlarm, emit
from surefoot.controller.configuring import reaction_of
from surefoot.controller.explanation import Explanation, explain
from surefoot.controller.feedback import check_unknown, read_array, read_context
from surefoot.controller.journal import Journal, Position
from surefoot.controller.live import Amendment, Live, player_difference
from surefoot.controller.loop import POLICIES, LoopState, Missing, Run, check_text
from surefoot.controller.members import Members, Name, Report
from surefoot.controller.replaying import restore
from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS, Reader
from surefoot.core.plain import encode
from surefoot.core.types import Array, ArrayLike, FloatArray, Player, Set
from surefoot.guarantees import Reaction, Tuned

__all__ = ["Fleet"]

_POLICIES = ("hold", "retreat", "record")


class Fleet(Live):
    """Many live loops, one for each member: you pass arrays, a row for each.

    A member is what a :class:`Controller` would be: it may have a player, constants, a start and
    policies of its own, and its rounds are its own. Members may come and leave. One whose round is
    missing (a NaN value), contradicted or halted does not stop the others: policies act by member.
    A member whose numbers cannot be used, such as a gradient that is not finite or a start that is
    not feasible, counts as not measured in that round, with an alarm. A call that raises has
    changed nothing. Calls from several threads are taken one after the other.

    Args:
        player: as for a :class:`Controller`: one for all members, or one for each by name.
        starts: the first actions: an array (n, d), whose members are called "0", "1" and so on, or
            one for each by name.
        journal: path of a new file, as for a :class:`Controller`; one line per call is durable
            there, for all members, before :meth:`tell` returns.
        on_contradiction: "retreat" or "hold" a member whose data contradict a constant, until
            :meth:`resume`; or "record" it and go on. Unless given it is "retreat", and "hold" for
            rules that cannot start from another action.
        on_missing: "hold" or "retreat" in a round without a measurement.
        rotate: as for a :class:`Controller`.
        durable_every: likewise, in calls.
        on_alarm: a function that is called with every :class:`Alarm`; the sentence begins with the
            member.
        context: those of the first round, one for each member, for knowledge of contexts.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import SafetyFilter
        >>> player = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> fleet = Fleet(player, {"north": [0.0], "south": [0.0], "west": [0.0]})
        >>> x = fleet.ask()
        >>> fleet.tell(  # in the west nothing was measured
        ...     proposal=[[1.0], [0.2], [1.0]],
        ...     constraint_value=[-0.5, -0.5, np.nan],
        ...     constraint_subgradient=[[1.0], [1.0], [1.0]],
        ... )
        >>> fleet.ask().round(6).tolist(), fleet.explain("west").is_proven
        ([[0.4], [0.2], [0.0]], False)
    """

    __slots__ = ()

    _now: tuple[Members, Position | None]

    def __init__(
        self,
        player: Player | Tuned[Any] | Mapping[str, Player | Tuned[Any]],
        starts: ArrayLike | Mapping[str, ArrayLike],
        *,
        journal: str | os.PathLike[str] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing = "hold",
        rotate: int | str | None = None,
        durable_every: int = 1,
        on_alarm: OnAlarm | None = None,
        context: Sequence[object] | None = None,
    ) -> None:
        runs = _runs_of(player, starts, on_contradiction, on_missing)
        self._set_up_runs(runs, on_alarm)
        places = None if context is None else self._read_contexts(None, context, None, current=True)
        self._create(journal, rotate, durable_every)
        if places is not None:
            self._order("announce", places)

    def _set_up_runs(self, runs: Mapping[Name, Run], on_alarm: OnAlarm | None) -> None:
        """Set up members before their first round."""
        self._set_up(Members.begin(map(str, runs), list(runs.values())), on_alarm)
        self._asked = np.zeros(len(runs), dtype=np.int64)

    @classmethod
    def of_runs(
        cls,
        runs: Mapping[str, Run],
        *,
        journal: str | os.PathLike[str] | None = None,
        rotate: int | str | None = None,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Return a fleet of runs by name: of a plant, whose file says what each member plays."""
        named: dict[Name, Run] = {}
        for name, run in runs.items():
            _check_name(name)
            named[name] = run
        _check_alike(list(runs.values()))
        self = cls.__new__(cls)
        self._set_up_runs(named, on_alarm)
        self._create(journal, rotate, 1)
        return self

    @classmethod
    def open(
        cls,
        journal: str | os.PathLike[str],
        *,
        at_least: int = 0,
        on_alarm: OnAlarm | None = None,
        **given: object,
    ) -> Self:
        """Continue from the journal of a fleet, as if nothing had happened.

        Args:
            journal: its first file.
            at_least: the minimum number of calls with rounds that the journal must contain.
            on_alarm: as for a new fleet.
            given: what could not be stored, as for :meth:`Controller.open`.
        """
        return cls._continue(journal, on_alarm, given, at_least)

    @classmethod
    def continue_runs(
        cls,
        path: str | os.PathLike[str],
        accept: Callable[[Mapping[str, Run]], None],
        *,
        at_least: int = 0,
        on_alarm: OnAlarm | None = None,
    ) -> Self:
        """Continue from a journal if what its members play is accepted: of a plant, by its file.

        Args:
            path: of the journal.
            accept: raises for other runs; the journal is unchanged then.
            at_least: as for :meth:`open`.
            on_alarm: likewise.
        """
        with Journal.opening(path, fleet=True) as (writer, reader):
            end, self = restore(reader, {}, at_least), cls.__new__(cls)
            members: Members = end.members
            accept(dict(zip(members.names, members.runs, strict=True)))
            self._go_on(writer, reader, (members, end.at), on_alarm)
            self._asked = np.zeros(len(members.names), dtype=np.int64)
            self._name_engine(end.engine, records.engine_of(members), end.is_rebuilt)
        return self

    @classmethod
    def open_or_create(
        cls,
        journal: str | os.PathLike[str],
        player: Player | Tuned[Any] | Mapping[str, Player | Tuned[Any]],
        starts: ArrayLike | Mapping[str, ArrayLike],
        *,
        given: Mapping[str, Any] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing = "hold",
        rotate: int | str | None = None,
        durable_every: int = 1,
        on_alarm: OnAlarm | None = None,
        context: Sequence[object] | None = None,
    ) -> Self:
        """Continue from the journal of a fleet if there is one at the path, else start one there.

        Args:
            journal: its first file.
            player: as for a new fleet; the members of the journal must be those that it began
                with, or those that it has now.
            starts: likewise.
            given: what could not be stored, as for :meth:`Controller.open`.
            on_contradiction: as for a new fleet; it must be that of the journal.
            on_missing: likewise.
            rotate: as for a new fleet; not used if there is a journal.
            durable_every: likewise.
            on_alarm: as for a new fleet.
            context: those of the first round; not used if there is a journal.

        Raises:
            InvalidValueError: if the journal is that of other players, of other members or of
                other policies; the journal is unchanged then.
        """
        if not os.path.lexists(journal):
            return cls(
                player,
                starts,
                journal=journal,
                on_contradiction=on_contradiction,
                on_missing=on_missing,
                rotate=rotate,
                durable_every=durable_every,
                on_alarm=on_alarm,
                context=context,
            )
        runs = _runs_of(player, starts, on_contradiction, on_missing)
        return cls._continue(journal, on_alarm, given or {}, 0, runs)

    @classmethod
    def _continue(
        cls,
        journal: str | os.PathLike[str],
        on_alarm: OnAlarm | None,
        given: Mapping[str, object],
        at_least: int,
        runs: Mapping[Name, Run] | None = None,
    ) -> Self:
        """Continue from a journal, which must be that of a fleet with these members."""
        with Journal.opening(journal, fleet=True) as (writer, reader):
            end, self = restore(reader, given, at_least), cls.__new__(cls)
            members: Members = end.members
            if runs is not None:
                first = records.runs_from(reader, reader.header, given, reader.size)
                now: dict[Name, Run] = dict(zip(members.names, members.runs, strict=True))
                other = _difference(first, runs)
                if other and _difference(now, runs):
                    raise InvalidValueError(
                        f"{reader.name} is that of another fleet: {other}; name that fleet, or "
                        "another journal"
                    )
            self._go_on(writer, reader, (members, end.at), on_alarm)
            self._asked = np.zeros(len(members.names), dtype=np.int64)
            self._name_engine(end.engine, records.engine_of(members), end.is_rebuilt)
        return self

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in the order of rows."""
        return self._now[0].names

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self._now[0].actions.shape[1])

    @property
    def limits(self) -> int | None:
        """How many limits each member reads by themselves; None if g is one number."""
        return _limits_of(self._now[0].runs[0])

    @property
    def round(self) -> int:
        """The current round of the member that is furthest; the first is 1."""
        return int(self._now[0].rounds.max())

    @property
    def rounds(self) -> dict[str, int]:
        """The current round of each member."""
        members = self._now[0]
        return dict(zip(members.names, members.rounds.tolist(), strict=True))

    @property
    def halted(self) -> dict[str, str]:
        """The members that are halted until :meth:`resume`, and why."""
        members = self._now[0]
        pairs = ((members.names[i], loop.halt) for i, loop in members.aside.items())
        return {name: halt.reason for name, halt in pairs if halt is not None}

    def __len__(self) -> int:
        return len(self._now[0].names)

    def ask(self) -> FloatArray:
        """Return the actions to play in this round, (n, d), as a read-only copy."""
        members = self._now[0]
        for i, loop in members.aside.items():
            self._check_context(members.runs[i], loop)
        self._asked = members.rounds.copy()
        actions: FloatArray = freeze(members.actions.copy())
        return actions

    def get(self, member: str) -> tuple[Run, LoopState]:
        """Return what a member plays, and its state."""
        return self._now[0].get(member)

    def amend(self, amended: Mapping[Name, Amendment]) -> None:
        """Let members begin anew; see :class:`~surefoot.controller.PlantFleet`."""
        self._amend(amended)

    def explain(self, member: str) -> Explanation:
        """Return why the action of a member may be played."""
        return explain(*self._now[0].get(member))

    def tell(
        self,
        *,
        cost_gradient: ArrayLike | None = None,
        constraint_value: ArrayLike | None = None,
        constraint_subgradient: ArrayLike | None = None,
        cost_value: ArrayLike | None = None,
        proposal: ArrayLike | None = None,
        action: ArrayLike | None = None,
        value_error: ArrayLike | None = None,
        slope_error: ArrayLike | None = None,
        within: Sequence[Set | None] | None = None,
        hint: ArrayLike | None = None,
        context: Sequence[object] | None = None,
        drift: Sequence[float] | None = None,
        readings: ArrayLike | None = None,
        members: Sequence[str] | None = None,
    ) -> None:
        """Report what was observed at the current actions, and advance members to the next.

        Every argument has an entry for each member that is told. A NaN in ``constraint_value`` is a
        round without a measurement; in what few rounds report, NaN or None is no report.

        Args:
            cost_gradient: a (sub)gradient of each member's cost, (n, d).
            constraint_value: g of each member, (n,); NaN if nothing was measured. Of m limits,
                (n, m), and one NaN is a round without a measurement.
            constraint_subgradient: one subgradient each, (n, d), or of m limits (n, m, d).
            cost_value: the costs, (n,), for the journal.
            proposal: the proposed next actions, for filters, instead of the cost.
            action: the actions that were really played, (n, d), where they are others.
            value_error: a bound on the error of each ``constraint_value``, (n,).
            slope_error: likewise of each ``constraint_subgradient``.
            within: a set announced for the next round of each.
            hint: a forecast of each next cost's gradient, (n, d), for rules that use one.
            context: that of the next round for each member, for knowledge of contexts; None for
                one that is announced later.
            drift: how far g of each may rise until then, for knowledge that takes it.
            readings: what the meters of each showed, (n, k), for the journal; NaN for none.
            members: the names of those that are told, in the order of rows; None for all.

        Raises:
            InvalidValueError: for a wrong call; nothing has changed then.
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        arguments = {
            "cost_gradient": cost_gradient,
            "constraint_value": constraint_value,
            "constraint_subgradient": constraint_subgradient,
            "cost_value": cost_value,
            "proposal": proposal,
            "action": action,
            "value_error": value_error,
            "slope_error": slope_error,
            "within": within,
            "hint": hint,
            "readings": readings,
        }
        with self._lock:
            before, at = self._now
            places = self._places(members)
            self._check_asked(places)
            contexts = None
            if context is not None or drift is not None:
                orders = self._read_contexts(members, context, drift)
                names = [before.names[i] for i in places.tolist()]
                contexts = [orders[name]["context"] if name in orders else None for name in names]
            columns = _read_columns(before, places, arguments) | {"context": contexts}
            report = Report(places, {n: part for n, part in columns.items() if part is not None})
            outcome = before.tell(report)
            if at is not None:
                others = records.describe_others(outcome)
                steps = records.describe_steps(outcome.members, outcome.steps, report)
                at = self._write(others, steps)
            self._now = (outcome.members, at)
        if outcome.alarms:
            emit(outcome.alarms, self.on_alarm)

    def announce(
        self,
        *,
        context: Sequence[object] | None = None,
        drift: Sequence[float] | None = None,
        unknown: bool = False,
        members: Sequence[str] | None = None,
    ) -> None:
        """Announce the contexts of the current round, as :meth:`Controller.announce`: ask again.

        Args:
            context: one for each member.
            drift: likewise.
            unknown: whether nobody knows them, as for :meth:`Controller.announce`.
            members: the names of those whose context it is; None for all.
        """
        with self._lock:
            if unknown:
                if context is not None or drift is not None:
                    raise checks.invalid("unknown", "False beside contexts", True)
                names = self._names(members)
                for name in names:
                    check_unknown(self._now[0].get(name)[0], None)
                self._order("announce", {name: {"context": None} for name in names})
                return
            self._order("announce", self._read_contexts(members, context, drift, current=True))

    # --- orders ----------------------------------------------------------------------------------

    def hold(self, reason: str, members: Sequence[str] | None = None) -> None:
        """Keep the actions of members until :meth:`resume`; of all unless named."""
        self._halt("hold", reason, self._names(members))

    def retreat(
        self, reason: str, members: Sequence[str] | None = None, speed: float | None = None
    ) -> None:
        """Let members go back to their anchors, and stay there until :meth:`resume`: ask again.

        Args:
            reason: in words, for :meth:`explain` and the journal.
            members: their names; None for all.
            speed: as for :meth:`Controller.retreat`.
        """
        self._retreat(reason, self._names(members), speed)

    def resume(
        self,
        reason: str,
        members: Sequence[str] | None = None,
        player: Player | Tuned[Any] | None = None,
    ) -> None:
        """Let members go on from where they are, or with another player from their anchors.

        Args:
            reason: in words, for the journal.
            members: their names; None for all.
            player: as for :meth:`Controller.resume`; None for the same.
        """
        if player is not None:
            _check_alike([self._now[0].runs[0], Run.of(player, self._now[0].runs[0].start)])
        self._resume(self._names(members), player, None, reason, {})

    def add(
        self,
        name: str,
        player: Player | Tuned[Any],
        start: ArrayLike,
        reason: str,
        *,
        on_contradiction: Reaction | None = None,
        on_missing: Missing = "hold",
    ) -> None:
        """Let a member come: its row is the last, and its first round is the next: ask again.

        Args:
            name: none that a member has.
            player: as for a new fleet.
            start: its first action.
            reason: in words, for the journal.
            on_contradiction: as for a new fleet.
            on_missing: likewise.
        """
        check_text(reason, "reason")
        _check_name(name)
        with self._lock:
            run = _runs_of(player, {name: start}, on_contradiction, on_missing)[name]
            self.add_run(name, run, reason)

    def add_run(self, name: str, run: Run, reason: str) -> None:
        """Let a member come that plays a run; see :meth:`add`."""
        check_text(reason, "reason")
        _check_name(name)
        with self._lock:
            members, _ = self._now
            if name in members.place_of:
                raise checks.invalid("name", "that of no member", name)
            _check_alike([members.runs[0], run])
            line = {"kind": "joined", "member": name, "round": 1, "reason": reason}
            at = self._write([line | records.player_of(run)])
            self._now = (members.join(name, run), at)
            self._asked = np.append(self._asked, 0)

    def remove(self, name: str, reason: str) -> None:
        """Let a member leave; the rows after its own move up: ask again.

        Args:
            name: of the member.
            reason: in words, for the journal.
        """
        check_text(reason, "reason")
        with self._lock:
            members, _ = self._now
            i = members.place(name)
            if len(members.names) == 1:
                raise checks.invalid("name", "that of one of several members", name)
            line = {"kind": "left", "member": name, "round": int(members.rounds[i])}
            self._now = (members.leave(name), self._write([line | {"reason": reason}]))
            self._asked = np.delete(self._asked, i)

    # --- members ---------------------------------------------------------------------------------

    def _names(self, names: Sequence[str] | None) -> list[Name]:
        """Return the names of members; raise for one that is none, or is there twice."""
        members = self._now[0]
        if names is None:
            return list(members.names)
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise checks.invalid("members", "a list of names", names)
        for name in names:
            members.place(name)
        if not names or len(set(names)) != len(names):
            raise checks.invalid("members", "a list of names, each of them once", names)
        return list(names)

    def _places(self, names: Sequence[str] | None) -> Array:
        """Return the places of members, rising."""
        members = self._now[0]
        if names is None:
            return np.arange(len(members.names))
        places = np.array([members.place(name) for name in self._names(names)])
        if (np.diff(places) <= 0).any():
            raise checks.invalid("members", "in the order of Fleet.names", list(names))
        return places

    def _check_asked(self, places: Array) -> None:
        """Raise unless the current round of members was asked for and not yet told."""
        members = self._now[0]
        late = places[self._asked[places] != members.rounds[places]]
        if not len(late):
            return
        i = int(late[0])
        t, whose = int(members.rounds[i]), f"member {members.names[i]}"
        if t == 1:
            raise InvalidValueError(
                f"tell must come after ask, got tell before the first ask of {whose}"
            )
        raise InvalidValueError(
            f"tell must come once after each ask, got a second tell for round {t - 1} of {whose}: "
            f"ask for the action of round {t} first"
        )

    def _forget_asked(self, name: Name) -> None:
        """Let a member be asked again before it is told."""
        self._asked[self._now[0].place(name)] = 0

    def _read_contexts(
        self, names: Sequence[str] | None, contexts: Any, drifts: Any, *, current: bool = False
    ) -> dict[Name, Any]:
        """Return the contexts of members in numbers, as plain data, as orders by name."""
        members, each = self._now[0], self._names(names)
        n, lists = len(each), {"context": contexts, "drift": drifts}
        lists = {name: [None] * n if part is None else part for name, part in lists.items()}
        for name, part in lists.items():
            if not isinstance(part, Sequence | np.ndarray) or len(part) != n:
                raise checks.invalid(name, f"a list of {n}, one for each member", part)
        orders: dict[Name, Any] = {}
        for name, context, drift in zip(each, *lists.values(), strict=True):
            run, loop = members.get(name)
            place = read_context(run, loop.state, context, drift, current=current)
            if place is None and current:
                raise InvalidValueError("context must be given for each member, got None")
            if place is not None:
                orders[name] = {"context": encode(place)}
        return orders

    def __repr__(self) -> str:
        members = self._now[0]
        players = {run.name for run in members.runs}
        what = players.pop() if len(players) == 1 else "players"
        return f"<Fleet of {len(self)} {what} in round {self.round}>"


def _runs_of(
    players: Any, starts: Any, on_contradiction: Reaction | None, on_missing: Missing
) -> dict[Name, Run]:
    """Return what every member plays, by name; reject what cannot be one fleet."""
    if on_contradiction is not None:
        checks.one_of(_POLICIES, on_contradiction=on_contradiction)
    checks.one_of(_POLICIES[:2], on_missing=on_missing)
    if not isinstance(starts, Mapping):
        rows = checks.to_array(starts, "starts")
        if rows.ndim != 2 or not rows.size:
            raise InvalidValueError(f"starts.shape must be (n, d), got {rows.shape}")
        starts = {str(i): row for i, row in enumerate(rows)}
    if not starts:
        raise checks.invalid("starts", "those of one member at least", starts)
    is_each = isinstance(players, Mapping)
    if is_each and set(players) != set(starts):
        other = sorted(set(players) ^ set(starts), key=str)
        raise checks.invalid("player", "one for each of the starts, by name", other[0])
    runs: dict[Name, Run] = {}
    made: dict[int, Run] = {}
    for name, start in starts.items():
        _check_name(name)
        player = players[name] if is_each else players
        reaction = reaction_of(player) if on_contradiction is None else on_contradiction
        if id(player) not in made:
            policies = {"on_contradiction": reaction, "on_missing": on_missing}
            made[id(player)] = Run.of(player, start, **policies)
        first = checks.to_vector(start, "start")
        runs[name] = made[id(player)].starting_at(first)
    _check_alike(list(runs.values()))
    return runs


def _check_name(name: object) -> None:
    """Raise unless a member may have a name."""
    check_text(name, "the name of a member")
    if not isinstance(name, str) or len(name) > 200 or not name.isprintable():
        raise checks.invalid("the name of a member", "at most 200 printable characters", name)


def _check_alike(runs: Sequence[Run]) -> None:
    """Raise unless members can be told by arrays of one form."""
    first = runs[0]
    for run in {id(run.algorithm): run for run in runs}.values():
        if run.needs.cost_values:
            raise InvalidValueError(
                "a fleet must have members with a cost gradient or proposal each, which its "
                "columns hold: open a Controller for each machine, got costs by value"
            )
        if run.needs.separately and run.rows is None:
            raise InvalidValueError(
                f"a fleet must have members that know how many limits they have, got {run.name}: "
                "open a Controller for each machine"
            )
        if _limits_of(run) != _limits_of(first):
            counts = sorted({_limits_of(run) or 1, _limits_of(first) or 1})
            raise InvalidValueError(
                "a fleet must have members with as many limits each, which its columns hold, got "
                f"{' and '.join(map(str, counts))}"
            )
        if run.first != first.first:
            raise InvalidValueError(
                f"a fleet must have members that all need {first.first}, got {run.name}, which "
                f"needs {run.first}"
            )
    for run in runs:
        if run.start.shape != first.start.shape:
            raise checks.invalid("starts", f"of one length, {len(first.start)}", run.start.shape[0])


def _difference(there: Mapping[Name, Run], here: Mapping[Name, Run]) -> str:
    """Return in words how the members of a journal differ from those of a fleet."""
    if list(there) != list(here):
        counts = f"it has {len(there)} members there and {len(here)} here"
        other = next((n for n in (*there, *here) if (n in there) != (n in here)), None)
        return counts if other is None else f"{counts}, among them {other!r} in one only"
    compared: set[tuple[int, int]] = set()
    for name, run in here.items():
        stored = there[name]
        pair = (id(stored.algorithm), id(run.algorithm))
        if pair not in compared:
            compared.add(pair)
            if difference := player_difference(stored, (run.algorithm, run.guarantee)):
                return difference
        for policy in POLICIES:
            one, other = getattr(stored, policy), getattr(run, policy)
            if one != other:
                return f"{policy} is {one!r} there and {other!r} here"
        if (stored.start != run.start).any():
            pair_of_starts = (stored.start.tolist(), run.start.tolist())
            one, other = map(checks.repr_line, pair_of_starts)
            return f"the start of {name} is {one} there and {other} here"
    return ""


def _limits_of(run: Run) -> int | None:
    """Return how many limits a run reads by themselves; None if g is one number."""
    return run.rows if run.needs.separately else None


def _shape_of(reader: Reader, d: int, limits: int | None) -> tuple[int, ...]:
    """Return the shape of a member's entry of a field of numbers."""
    several = () if limits is None or reader not in ("values", "slopes") else (limits,)
    return (*several, d) if reader in _VECTORS else several


_VECTORS = ("gradient", "slopes", "action", "hint")
"""The readers of fields with a vector for each member, or for each of its limits."""


def _read_columns(members: Members, places: Array, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what members report as arrays; reject shapes that do not fit."""
    run, (_, d) = members.runs[int(places[0])], members.actions.shape
    needed = {run.first}
    if run.needs.constraint_values:
        needed |= {"constraint_value"} | ({"constraint_subgradient"} if run.needs_slopes else set())
    columns: dict[str, Any] = {}
    for field in FIELDS:
        part = arguments.get(field.name)
        if field.name in ("cost_gradient", "proposal") and field.name != run.first:
            if part is not None:
                raise InvalidValueError(f"this fleet needs {run.first}, got {field.name}")
            continue
        if part is None and field.name not in needed:
            continue
        if field.reader == "set":
            if not isinstance(part, Sequence) or len(part) != len(places):
                raise checks.invalid(field.name, f"a list of {len(places)}", part)
            columns[field.name] = list(part)
            continue
        if field.reader == "readings":
            columns[field.name] = _read_readings(part, len(places))
            continue
        shape = (len(places), *_shape_of(field.reader, d, _limits_of(run)))
        columns[field.name] = read_array(part, field.name, shape, "an entry for each member")
    return columns


def _read_readings(value: Any, count: int) -> FloatArray:
    """Return what meters showed: a row for each member, NaN for no reading."""
    rule = f"an array with {count} rows, one for each member"
    rows: FloatArray = np.array(checks.to_numbers(value, "readings", rule), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != count:
        raise checks.invalid("readings", rule, rows.shape)
    return rows

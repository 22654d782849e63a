"""Many loops in one process, driven by arrays, with one durable line a round for all."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from surefoot.controller.alarms import Alarm, OnAlarm, emit
from surefoot.controller.configuring import reaction_of
from surefoot.controller.controller import Live, player_difference
from surefoot.controller.decide import Decision, apply_order, at_start, decide
from surefoot.controller.explanation import Explanation, explain
from surefoot.controller.feedback import read_array, read_context, read_feedback
from surefoot.controller.journal import Journal, Position, Reader
from surefoot.controller.loop import POLICIES, LoopState, Missing, Run, check_text
from surefoot.controller.records import encode_loop, loop_from, reading_back, run_from
from surefoot.controller.replaying import read_tail
from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.plain import PlainTable, decode, encode
from surefoot.core.types import Array, ArrayLike, FloatArray, Player
from surefoot.guarantees import Breach, Reaction, Tuned
from surefoot.kernel import compiled
from surefoot.kernel_bridge import KernelInfo, KernelState
from surefoot.knowledge import Anchor, EmptyRegionError

__all__ = ["Fleet"]

FILE = "fleet.jsonl"
_POLICIES = ("hold", "retreat", "record")


class FleetState(NamedTuple):
    """All that changes from round to round.

    Most members are usual: their state is a row of numbers that the kernel steps. A member that is
    halted, contradicted something or was not measured has its own loop. So has every member of a
    fleet that the kernel does not support.

    Attributes:
        round: the current one, of all members.
        actions: of all members, (n, d).
        blocks: the states of usual members, (n, size).
        outs: details of their last steps.
        values: the last values of g; NaN for none.
        anchors: the end of each member's return path: places, bounds on g there, rounds.
        aside: the loops of the other members.
    """

    round: int
    actions: Array
    blocks: Array
    outs: Array
    values: Array
    anchors: tuple[Array, Array, Array]
    aside: Mapping[int, LoopState]


class Fleet(Live):
    """Many controllers of one player: you pass arrays.

    A member whose round is missing (a NaN value), contradicted or halted does not stop the others:
    policies act by member. A member whose numbers cannot be used, such as a gradient that is not
    finite or a start that is not feasible, counts as not measured in that round, with an alarm.
    A call that raises has changed nothing. Calls from several threads are taken one after the
    other.

    Args:
        player: as for a :class:`Controller`; all members have the same.
        starts: the first actions, (n, d).
        journal: a folder; one line per round is durable there, for all members, before
            :meth:`tell` returns.
        on_contradiction: "retreat" or "hold" a member whose data contradict a constant, until
            :meth:`resume`; or "record" it and go on. Unless given it is "retreat", and "hold" for
            rules that cannot start from another action.
        on_missing: "hold" or "retreat" in a round without a measurement.
        rotate: as for a :class:`Controller`.
        on_alarm: a function that is called with every :class:`Alarm`; the sentence begins with the
            member.
        context: those of the first round, one for each member, for knowledge of contexts.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import SafetyFilter
        >>> player = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> fleet = Fleet(player, np.zeros((3, 1)))
        >>> x = fleet.ask()
        >>> fleet.tell(  # of the third nothing was measured
        ...     proposal=[[1.0], [0.2], [1.0]],
        ...     constraint_value=[-0.5, -0.5, np.nan],
        ...     constraint_subgradient=[[1.0], [1.0], [1.0]],
        ... )
        >>> fleet.ask().round(6).tolist(), fleet.explain(2).is_proven
        ([[0.4], [0.2], [0.0]], False)
    """

    __slots__ = ()

    _now: tuple[Run, FleetState, Position | None]

    def __init__(
        self,
        player: Player | Tuned[Any],
        starts: ArrayLike,
        *,
        journal: str | os.PathLike[str] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing = "hold",
        rotate: int | str | None = None,
        on_alarm: OnAlarm | None = None,
        context: Sequence[object] | None = None,
    ) -> None:
        if on_contradiction is None:
            on_contradiction = reaction_of(player)
        checks.one_of(_POLICIES, on_contradiction=on_contradiction)
        checks.one_of(_POLICIES[:2], on_missing=on_missing)
        first = checks.to_array(starts, "starts")
        if first.ndim != 2 or not first.size:
            raise InvalidValueError(f"starts.shape must be (n, d), got {first.shape}")
        run = Run.of(player, first[0], on_contradiction=on_contradiction, on_missing=on_missing)
        if run.needs.separately or run.needs.cost_values:
            what = "separate constraints" if run.needs.separately else "costs by value"
            raise InvalidValueError(
                f"a fleet must have one constraint and gradients of costs, got {what}"
            )
        self._set_up(run, _first_state(run, first), on_alarm)
        places = None if context is None else self._read_contexts(context, None, current=True)
        if journal is not None:
            folder = Path(os.fspath(journal))
            folder.mkdir(parents=True, exist_ok=True)
            journal = folder / FILE
        self._create(journal, rotate, 1)
        if places is not None:
            self._order("announce", context=places)

    @classmethod
    def open(
        cls, journal: str | os.PathLike[str], *, on_alarm: OnAlarm | None = None, **given: object
    ) -> Self:
        """Continue from the journal of a fleet, as if nothing had happened.

        Args:
            journal: its folder.
            on_alarm: as for a new fleet.
            given: what could not be stored, as for :meth:`Controller.open`.
        """
        return cls._continue(journal, on_alarm, given)

    @classmethod
    def open_or_create(
        cls,
        journal: str | os.PathLike[str],
        player: Player | Tuned[Any],
        starts: ArrayLike,
        *,
        given: Mapping[str, Any] | None = None,
        on_contradiction: Reaction | None = None,
        on_missing: Missing = "hold",
        rotate: int | str | None = None,
        on_alarm: OnAlarm | None = None,
        context: Sequence[object] | None = None,
    ) -> Self:
        """Continue from the journal of a fleet if there is one in the folder, else start one there.

        Args:
            journal: its folder.
            player: as for a new fleet; the journal must be that of the same.
            starts: likewise.
            given: what could not be stored, as for :meth:`Controller.open`.
            on_contradiction: as for a new fleet; it must be that of the journal.
            on_missing: likewise.
            rotate: as for a new fleet; not used if there is a journal.
            on_alarm: as for a new fleet.
            context: those of the first round; not used if there is a journal.

        Raises:
            InvalidValueError: if the journal is that of another player, of other members or of
                other policies; the journal is unchanged then.
        """
        if not os.path.lexists(Path(os.fspath(journal)) / FILE):
            return cls(
                player,
                starts,
                journal=journal,
                on_contradiction=on_contradiction,
                on_missing=on_missing,
                rotate=rotate,
                on_alarm=on_alarm,
                context=context,
            )
        fresh = cls(player, starts, on_contradiction=on_contradiction, on_missing=on_missing)
        return cls._continue(journal, on_alarm, given or {}, fresh)

    @classmethod
    def _continue(
        cls,
        journal: str | os.PathLike[str],
        on_alarm: OnAlarm | None,
        given: Mapping[str, object],
        fresh: Self | None = None,
    ) -> Self:
        """Continue from a journal, which must be that of a fleet that begins like ``fresh``."""
        with Journal.opening(Path(os.fspath(journal)) / FILE, fleet=True) as (writer, reader):
            header, tail = reader.header, read_tail(reader)
            run = run_from(reader, header, given, tail.size)
            with reading_back(reader.name, "records"):
                starts = np.array(header["fleet"], dtype=np.float64)
                state = _first_state(run, starts)
            if fresh is not None and (other := _difference(run, starts, fresh)):
                raise InvalidValueError(
                    f"{reader.name} is that of another fleet: {other}; name that fleet, or another "
                    "journal"
                )
            with reading_back(reader.name, "records"):
                for record in (tail.state, *map(reader.parse, tail.after)):
                    state = _follow(reader, run, state, record)
            self = cls.__new__(cls)
            at = reader.position(tail.since, tail.size)
            self._go_on(writer, reader, (run, state, at), on_alarm)
        return self

    # --- what a user asks ------------------------------------------------------------------------

    @property
    def halted(self) -> dict[int, str]:
        """The members that are halted until :meth:`resume`, and why."""
        aside = self._now[1].aside
        return {i: loop.halt.reason for i, loop in aside.items() if loop.halt is not None}

    def __len__(self) -> int:
        return len(self._now[1].actions)

    def ask(self) -> FloatArray:
        """Return the actions to play in this round, (n, d), as a read-only copy."""
        state = self._now[1]
        for loop in state.aside.values():
            self._check_context(loop)
        self._asked = state.round
        actions: FloatArray = freeze(state.actions.copy())
        return actions

    def explain(self, member: int) -> Explanation:
        """Return why the action of a member may be played."""
        run, state, _ = self._now
        return explain(run, _loop(run, state, self._member(member)))

    def tell(
        self,
        *,
        cost_gradient: ArrayLike | None = None,
        constraint_value: ArrayLike | None = None,
        constraint_subgradient: ArrayLike | None = None,
        proposal: ArrayLike | None = None,
        context: Sequence[object] | None = None,
        drift: Sequence[float] | None = None,
    ) -> None:
        """Report what was observed at the current actions, and advance all members to the next.

        Args:
            cost_gradient: a (sub)gradient of each member's cost, (n, d).
            constraint_value: g of each member, (n,); NaN if nothing was measured.
            constraint_subgradient: one subgradient each, (n, d).
            proposal: the proposed next actions, for filters, instead of the cost.
            context: that of the next round for each member, for knowledge of contexts.
            drift: how far g of each may rise until then, for knowledge that takes it.

        Raises:
            InvalidValueError: for a wrong call; nothing has changed then.
            StoreError: if the journal cannot be written; nothing has changed then.
        """
        arguments = locals()
        del arguments["self"], arguments["drift"]
        with self._lock:
            run, state, at = self._now
            self._check_asked()
            if context is not None or drift is not None:
                arguments["context"] = self._read_contexts(context, drift)
            arrays = _read(run, state, arguments)
            after, alarms = _decide(run, state, arrays)
            if at is not None:
                record = {n: p if n == "context" else encode(p) for n, p in arrays.items()}
                at = self._write("round", record | {"next": after.actions.tolist()})
            self._now = (run, after, at)
        emit(alarms, self.on_alarm)

    def announce(
        self, *, context: Sequence[object] | None = None, drift: Sequence[float] | None = None
    ) -> None:
        """Announce the contexts of the current round, as :meth:`Controller.announce`: ask again.

        Args:
            context: one for each member.
            drift: likewise.
        """
        with self._lock:
            self._order("announce", context=self._read_contexts(context, drift, current=True))

    def _read_contexts(self, contexts: Any, drifts: Any, *, current: bool = False) -> list[Any]:
        """Return contexts in numbers, as plain data, one for each member."""
        run, state, _ = self._now
        n, lists = len(state.actions), {"context": contexts, "drift": drifts}
        lists = {name: [None] * n if part is None else part for name, part in lists.items()}
        for name, part in lists.items():
            if not isinstance(part, Sequence | np.ndarray) or len(part) != n:
                raise checks.invalid(name, f"a list of {n}, one for each member", part)
        places = [
            read_context(run, _loop(run, state, i).state, *pair, current=current)
            for i, pair in enumerate(zip(*lists.values(), strict=True))
        ]
        if None in places:
            raise InvalidValueError("context must be given for each member or for none, got None")
        return [encode(place) for place in places]

    def _encode(self, run: Run, state: FleetState) -> PlainTable:
        record = {"round": state.round, "fleet": state.actions.tolist()}
        if state.round == 1:
            return record
        return record | {"loops": [encode_loop(_loop(run, state, i)) for i in range(len(self))]}

    # --- orders ----------------------------------------------------------------------------------

    def hold(self, reason: str, members: Iterable[int]) -> None:
        """Keep the actions of members until :meth:`resume`."""
        self._enter("hold", reason, members)

    def retreat(self, reason: str, members: Iterable[int]) -> None:
        """Let members go back to their anchors, and stay there until :meth:`resume`: ask again."""
        self._enter("retreat", reason, members)

    def resume(self, reason: str, members: Iterable[int]) -> None:
        """Let members go on from where they are."""
        self._enter("resume", reason, members)

    def _enter(self, kind: str, reason: str, members: Iterable[int]) -> None:
        check_text(reason, "reason")
        if not isinstance(members, Iterable):
            raise InvalidValueError(f"members must be a list of them, got {members!r}")
        self._order(kind, reason=reason, members=[self._member(i) for i in members])

    def _order(self, kind: str, **what: object) -> None:
        """Write an order, or contexts, and apply it."""
        with self._lock:
            run, state, _ = self._now
            after, alarms = _apply_to_members(run, state, {"kind": kind, **what})
            self._now = (run, after, self._write(kind, what))
            self._asked = 0
        emit(alarms, self.on_alarm)

    def _member(self, i: int) -> int:
        if type(i) not in (int, np.int64) or not 0 <= i < len(self):
            raise InvalidValueError(f"a member must be from 0 to {len(self) - 1}, got {i!r}")
        return int(i)

    def __repr__(self) -> str:
        return f"<Fleet of {len(self)} {self._now[0].name} in round {self.round}>"


def _difference(run: Run, starts: Array, fleet: Fleet) -> str:
    """Return in words how a journal differs from a fleet; empty if it does not."""
    mine, state, _ = fleet._now
    if difference := player_difference(run, (mine.algorithm, mine.guarantee)):
        return difference
    for name in POLICIES:
        there, here = getattr(run, name), getattr(mine, name)
        if there != here:
            return f"{name} is {there!r} there and {here!r} here"
    if starts.shape != state.actions.shape:
        return f"starts.shape is {starts.shape} there and {state.actions.shape} here"
    if (others := (starts != state.actions).any(axis=1)).any():
        i = int(others.argmax())
        pair = (starts[i].tolist(), state.actions[i].tolist())
        return "starts[{}] is {} there and {} here".format(i, *map(checks.repr_line, pair))
    return ""


_FIELDS = ("cost_gradient", "proposal", "constraint_value", "constraint_subgradient")


def _first_state(run: Run, starts: Array) -> FleetState:
    """Return the state of members before their first round."""
    rule, n = run.rule, len(starts)
    loops = [replace(run, start=x.copy()).begin()._replace(regret=None) for x in starts]
    blocks: list[Array] = [[] if rule is None else rule.block_of(loop.state) for loop in loops]
    outs = np.zeros((n, 0 if rule is None else rule.out))
    anchors = (starts.copy(), np.full(n, np.nan), np.zeros(n))
    # Before the first reading there is nothing that the kernel could go on from.
    aside = dict(enumerate(loops)) if rule is None else {}
    return FleetState(1, starts.copy(), np.array(blocks), outs, np.full(n, np.nan), anchors, aside)


def _follow(reader: Reader, run: Run, state: FleetState, record: Mapping[str, Any]) -> FleetState:
    """Return the state after a line."""
    kind = record["kind"]
    if "loops" in record:
        loops = [loop_from(reader.name, data, run) for data in record["loops"]]
        if len(loops) != len(state.actions):
            raise reader.damaged(f"it must have {len(state.actions)} states, got {len(loops)}")
        if other := [loop.round for loop in loops if loop.round != record["round"]]:
            raise reader.damaged(f"its states must be of round {record['round']}, got {other[0]}")
        actions = np.array([loop.x for loop in loops])
        aside = dict(enumerate(loops))
        return state._replace(round=record["round"], actions=actions, aside=aside)
    if kind == "round":
        arguments = {name: decode(record[name]) for name in _FIELDS if name in record}
        arguments["context"] = record.get("context")
        state, _ = _decide(run, state, _read(run, state, arguments))
        next_actions = np.array(record["next"])
        if not np.allclose(next_actions, state.actions, rtol=1e-12, atol=1e-12):
            raise reader.damaged("its rounds lead elsewhere")
    elif kind in ("announce", "hold", "retreat", "resume"):
        state, _ = _apply_to_members(run, state, record)
    return state


def _read(run: Run, state: FleetState, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what members report as arrays; reject shapes that do not fit."""
    n, d = state.actions.shape
    first = run.first
    shapes = {first: (n, d), "constraint_value": (n,), "constraint_subgradient": (n, d)}
    names = {*shapes, "context"}
    if strangers := [k for k, v in arguments.items() if v is not None and k not in names]:
        raise InvalidValueError(f"this fleet needs {first}, got {strangers[0]}")
    each = "an entry for each member"
    arrays = {
        name: read_array(arguments.get(name), name, shape, each) for name, shape in shapes.items()
    }
    if arguments.get("context") is not None:
        arrays["context"] = arguments["context"]
    return arrays


# --- deciding -------------------------------------------------------------------------------------


def _decide(run: Run, state: FleetState, arrays: dict[str, Any]) -> tuple[FleetState, list[Alarm]]:
    """Return the next state of all members: pure."""
    blocks, outs, stepped = _step_usual(run, state, arrays)
    g, t = arrays["constraint_value"], state.round
    places, bounds, since = (part.copy() for part in state.anchors)
    fresh = stepped & (np.isnan(bounds) | (places == state.actions).all(axis=1))
    errors = run.errors
    places[fresh], since[fresh] = state.actions[fresh], t
    bounds[fresh] = g[fresh] + errors.value + errors.evaluation
    actions = state.actions.copy()
    if stepped.any():
        actions[stepped] = blocks[stepped, : actions.shape[1]]
    aside, alarms = dict(state.aside), []
    for i in np.flatnonzero(~stepped).tolist():
        decision = _decide_one(run, _loop(run, state, i), arrays, i)
        aside[i] = loop = decision.loop
        alarms += _alarms_of(i, decision)
        actions[i] = loop.x
        info: Any = loop.info
        # A wrapper passes on the info of a rule that the kernel steps; its own state is no block.
        if run.rule is not None and _is_usual(loop) and isinstance(info, KernelInfo):
            blocks[i], outs[i] = info.after.block, info.out
            if loop.anchor is not None:
                places[i], bounds[i], since[i] = loop.anchor
            del aside[i]
    anchors = (places, bounds, since)
    return FleetState(t + 1, freeze(actions), blocks, outs, g, anchors, aside), alarms


def _step_usual(
    run: Run, state: FleetState, arrays: dict[str, Array]
) -> tuple[Array, Array, Array]:
    """Step all usual members at once; return blocks, outs, and which members stepped.

    A member that was not measured, contradicts something, or is not the kernel's does not step.
    """
    n = len(state.actions)
    stepped, rule, extension = np.zeros(n, dtype=bool), run.rule, compiled()
    if rule is None or extension is None or run.errors.drift:
        return state.blocks.copy(), state.outs.copy(), stepped
    blocks, outs = state.blocks.copy(), np.zeros_like(state.outs)
    g, s = arrays["constraint_value"], arrays["constraint_subgradient"]
    usual = np.isfinite(g) & ((g <= 0) | s.any(axis=1)) & _keeps_premises(run, state, arrays)
    usual[list(state.aside)] = False
    status = np.where(usual, 0.0, -1.0)
    proposal = arrays[run.first].ravel()
    gradients, proposals = (None, proposal) if run.first == "proposal" else (proposal, None)
    columns = (gradients, g, s.ravel(), proposals, outs.ravel(), status)
    if not extension.steps(rule.handle, n, blocks.ravel(), *columns):
        return state.blocks.copy(), state.outs.copy(), stepped
    stepped = (status == 0) & (outs[:, rule.at["alarms"]] == 0) & (outs[:, rule.at["kind"]] != 0)
    keep = stepped[:, None]
    return np.where(keep, blocks, state.blocks), np.where(keep, outs, state.outs), stepped


def _loop(run: Run, state: FleetState, i: int) -> LoopState:
    """Return the loop of a member."""
    if i in state.aside:
        return state.aside[i]
    rule = run.rule
    assert rule is not None
    after = KernelState(rule, state.blocks[i].copy())
    place, bound, since = (part[i] for part in state.anchors)
    g = float(state.values[i])
    loop = LoopState(state.round, after, value=None if np.isnan(g) else g)
    if np.isnan(bound):
        return loop._replace(state=after.unpack())
    info: Any = KernelInfo(after, after, Feedback(), state.outs[i])
    return loop._replace(info=info, anchor=Anchor(place, float(bound), int(since)))


def _apply_to_members(
    run: Run, state: FleetState, order: Mapping[str, Any]
) -> tuple[FleetState, list[Alarm]]:
    """Return the state after an order to members, or with the contexts of all.

    A member without a certified action in its context goes to its start.
    """
    aside, actions, alarms = dict(state.aside), state.actions.copy(), []
    for i in order.get("members", range(len(actions))):
        one = {**order, "context": order["context"][i]} if "context" in order else order
        decision = apply_order(run, _loop(run, state, i), one)
        if decision.error is not None:
            there = at_start(run, decision.loop, decode(one["context"]))
            decision = decision._replace(loop=there)
        aside[i], actions[i] = decision.loop, decision.loop.x
        alarms += _alarms_of(i, decision)
    return state._replace(aside=aside, actions=freeze(actions)), alarms


def _keeps_premises(run: Run, state: FleetState, arrays: dict[str, Array]) -> Array:
    """Return which members break no premise of the guarantee."""
    keeps = np.ones(len(state.actions), dtype=bool)
    if run.guarantee is None:
        return keeps
    proposal, g, s = list(arrays.values())[:3]
    with np.errstate(over="ignore", invalid="ignore"):  # too large numbers make no step
        sizes = (np.linalg.norm(proposal, axis=1), g, np.linalg.norm(s, axis=1))
    for premise in run.premises:
        observed, counts = premise.observe(float(state.round), *sizes)
        if observed is not None:
            keeps &= ~(np.asarray(counts) & premise.is_broken_by(observed))
    return keeps & (g <= 0)


def _decide_one(run: Run, loop: LoopState, arrays: dict[str, Any], i: int) -> Decision:
    """Return the decision of one member."""
    feedback = Feedback(**{name: part[i] for name, part in arrays.items()})
    feedback = feedback._replace(context=decode(feedback.context))
    nothing = Feedback(context=feedback.context)
    is_missing = bool(np.isnan(feedback.constraint_value))
    feedback = nothing if is_missing else feedback
    try:
        decision = decide(run, loop, read_feedback(run, loop.state, feedback, missing=is_missing))
    except ValueError as error:
        if is_missing:
            raise InvalidValueError(f"member {i}: {error}") from error
        return _leave_out(run, loop, feedback, error)
    if decision.error is None:
        return decision
    # If drift or a context leaves no certified action, the member goes on without its step.
    without = decide(run, decision.loop, read_feedback(run, loop.state, nothing, missing=True))
    return without._replace(alarms=decision.alarms)


def _leave_out(run: Run, loop: LoopState, feedback: Feedback, error: ValueError) -> Decision:
    """Return the decision of a member with unusable feedback, as if nothing were measured.

    If its value shows a violation, the action is no longer proved, and the member goes back as far
    as its rule can.
    """
    t, level = loop.round, logging.WARNING
    sentence = f"round {t}: {error}; this member's round is taken as if nothing were measured"
    is_infeasible = feedback.constraint_value - run.errors.value > 0
    if is_infeasible or isinstance(error, EmptyRegionError):
        loop = loop._replace(refused=(Breach(t, "reading", sentence, "feasibility"),))
        run = run if run.knowledge is None else run.with_policies(on_missing="retreat")
        level = logging.CRITICAL
    nothing = read_feedback(run, loop.state, Feedback(context=feedback.context), missing=True)
    alarm = Alarm.of(t, "refused", sentence, level)
    return decide(run, loop, nothing)._replace(alarms=(alarm,))


def _alarms_of(i: int, decision: Decision) -> list[Alarm]:
    return [a._replace(sentence=f"member {i}: {a.sentence}") for a in decision.alarms]


def _is_usual(loop: LoopState) -> bool:
    """Return whether a row of numbers holds all of a loop."""
    return loop.halt is None and not loop.breaches and loop.uncovered is None and not loop.refused

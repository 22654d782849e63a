"""The members of a fleet: most are rows of arrays, which the kernel steps at once.

A member is a loop of its own: its player, its constants, its start, its policies, its round. The
rounds of members that are *usual* are rows of arrays; a member that is halted, contradicted
something, was not measured or reports what few rounds report has its own
:class:`~surefoot.controller.loop.LoopState`, until a step of the kernel makes it usual again. Which
of the two a member is changes no bit of what it plays.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.controller.alarms import Alarm
from surefoot.controller.decide import Decision, apply_order, at_start, decide
from surefoot.controller.feedback import RoundInput, read_feedback
from surefoot.controller.loop import LoopState, Run
from surefoot.core.arrays import freeze
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS, Feedback
from surefoot.core.plain import decode
from surefoot.core.types import Array
from surefoot.guarantees import Breach
from surefoot.kernel import compiled
from surefoot.kernel_bridge import Rule, info_of_step, state_of_block
from surefoot.knowledge import Anchor, EmptyRegionError

__all__ = [
    "Changes",
    "Group",
    "Members",
    "Name",
    "Outcome",
    "Report",
    "Solo",
    "Step",
    "begin_member",
    "decide_one",
    "name_alarms",
    "order_one",
]

Name: TypeAlias = str | None
"""The name of a member; None of a controller's only one."""

Changes: TypeAlias = Mapping[Name, tuple[Run, LoopState]]
"""What members play, and their states, by name."""

_COLUMNS = ("constraint_value", "constraint_subgradient")
_AT_ONCE = ("cost_gradient", "proposal", *_COLUMNS)
"""The fields of a round that the kernel steps many members with."""


class Solo(NamedTuple):
    """The only member of a controller.

    Attributes:
        run: what it plays.
        loop: its state.
    """

    run: Run
    loop: LoopState

    def get(self, name: Name = None) -> tuple[Run, LoopState]:
        """Return what is played, and the state."""
        return self

    def put(self, changes: Changes) -> Solo:
        """Return the member after a change."""
        return Solo(*changes[None])


class Report(NamedTuple):
    """What a call reports of members.

    Attributes:
        at: the places of the members, rising.
        columns: the reported fields by name, one entry for each member.
    """

    at: Array
    columns: dict[str, Any]

    @property
    def at_once(self) -> list[str]:
        """The fields that members are stepped with at once."""
        return [name for name in _AT_ONCE if self.columns.get(name) is not None]

    def feedback(self, row: int) -> Feedback:
        """Return the report of one member: a NaN is no report, and so is None."""
        parts = {name: part[row] for name, part in self.columns.items()}
        for name, part in parts.items():
            if name not in _AT_ONCE and isinstance(part, np.ndarray | float):
                parts[name] = None if np.isnan(part).all() else part
        return Feedback(**parts)


class Group(NamedTuple):
    """Members that one rule of the kernel steps.

    Attributes:
        at: their places, rising.
        run: that of one of them; the others have other starts only.
        blocks: their states, one in each row.
        outs: details of their last steps.
    """

    at: Array
    run: Run
    blocks: Array
    outs: Array

    @classmethod
    def of(cls, run: Run, at: Array) -> Self:
        """Return a group with empty rows."""
        rule = run.rule
        assert rule is not None
        return cls(at, run, np.zeros((len(at), rule.size)), np.zeros((len(at), rule.out)))

    def copy(self) -> Self:
        """Return a copy whose rows may be written to."""
        return self._replace(blocks=self.blocks.copy(), outs=self.outs.copy())

    @property
    def rule(self) -> Rule:
        """The rule of the kernel."""
        rule = self.run.rule
        assert rule is not None
        return rule


class Step(NamedTuple):
    """Members that were stepped at once.

    Attributes:
        group: of them, after the step.
        rows: which rows of the group were stepped.
        told: the rows of the report.
    """

    group: Group
    rows: Array
    told: Array


class Outcome(NamedTuple):
    """What follows a report.

    Attributes:
        members: the next state of all.
        steps: who was stepped at once.
        decisions: what was decided for each of the others, with its input and its state before.
        alarms: those of all members.
    """

    members: Members
    steps: list[Step]
    decisions: list[tuple[str, LoopState, RoundInput, Decision]]
    alarms: list[Alarm]


class Members(NamedTuple):
    """All that changes from round to round.

    Attributes:
        names: of the members, in the order of rows.
        place_of: the place of each name.
        runs: what each plays.
        rounds: the current round of each.
        actions: those at hand, (n, d).
        values: the last values of g; NaN for none.
        anchors: the ends of the return paths: places, bounds on g there (NaN for none), rounds.
        groups: the members that the kernel steps at once.
        aside: the loops of the members that are not usual, by place.
    """

    names: tuple[str, ...]
    place_of: Mapping[str, int]
    runs: tuple[Run, ...]
    rounds: Array
    actions: Array
    values: Array
    anchors: tuple[Array, Array, Array]
    groups: tuple[Group, ...]
    aside: Mapping[int, LoopState]

    @classmethod
    def begin(cls, names: Iterable[str], runs: Sequence[Run], *, is_fresh: bool = True) -> Self:
        """Return members before their first round.

        Args:
            names: of the members.
            runs: what each plays.
            is_fresh: whether they are to be played; else each is put before it is.
        """
        starts, names = np.array([run.start for run in runs]), tuple(names)
        n = len(starts)
        loops = {i: begin_member(run) for i, run in enumerate(runs)} if is_fresh else {}
        by_key: dict[tuple[Any, ...], list[int]] = {}
        for i, run in enumerate(runs):
            if (key := _key(run)) is not None:
                by_key.setdefault(key, []).append(i)
        groups = []
        for at in by_key.values():
            group = Group.of(runs[at[0]], np.array(at))
            for row, i in enumerate(at if is_fresh else ()):
                group.blocks[row] = group.rule.block_of(loops.pop(i).state)
            groups.append(group)
        return cls(
            names=names,
            place_of={name: i for i, name in enumerate(names)},
            runs=tuple(runs),
            rounds=np.ones(n, dtype=np.int64),
            actions=freeze(starts.copy()),
            values=np.full(n, np.nan),
            anchors=(starts.copy(), np.full(n, np.nan), np.zeros(n)),
            groups=tuple(groups),
            aside=loops,
        )

    # --- one member ------------------------------------------------------------------------------

    def place(self, name: Name) -> int:
        """Return the place of a member."""
        place = self.place_of.get(name) if isinstance(name, str) else None
        if place is None:
            raise InvalidValueError(f"a member must be the name of one of this fleet, got {name!r}")
        return place

    def get(self, name: Name) -> tuple[Run, LoopState]:
        """Return what a member plays, and its state."""
        i = self.place(name)
        return self.runs[i], self.loop(i)

    def loop(self, i: int) -> LoopState:
        """Return the state of a member."""
        if i in self.aside:
            return self.aside[i]
        group, row = self._row(i)
        after = state_of_block(group.rule, group.blocks[row].copy())
        place, bound, since = (part[i] for part in self.anchors)
        g = float(self.values[i])
        loop = LoopState(int(self.rounds[i]), after, value=None if np.isnan(g) else g)
        if np.isnan(bound):
            return loop
        info = info_of_step(after, after, Feedback(), group.outs[row])
        return loop._replace(info=info, anchor=Anchor(place, float(bound), int(since)))

    def _row(self, i: int) -> tuple[Group, int]:
        """Return the group of a usual member, and its row there."""
        for group in self.groups:
            if (row := _row_of(group.at, i)) is not None:
                return group, row
        raise AssertionError("a member without a group is aside")

    def put(self, changes: Changes) -> Members:
        """Return the members with other players or states."""
        places = {self.place(name): pair for name, pair in changes.items()}
        return self._put(places)

    def _put(self, places: Mapping[int, tuple[Run, LoopState]]) -> Members:
        aside, runs, actions = dict(self.aside), list(self.runs), self.actions.copy()
        rounds, after = self.rounds.copy(), self
        for i, (run, loop) in places.items():
            if run is not runs[i]:
                runs[i] = run
                after = after._drop_row(i)._add_row(i, run)
            aside[i], actions[i], rounds[i] = loop, loop.x, loop.round
        return after._replace(aside=aside, actions=freeze(actions), rounds=rounds, runs=tuple(runs))

    def _drop_row(self, i: int) -> Members:
        """Return the members with one in no group."""
        groups = []
        for group in self.groups:
            rows = group.at != i
            parts = (part[rows] for part in (group.blocks, group.outs))
            groups.append(group if rows.all() else Group(group.at[rows], group.run, *parts))
        return self._replace(groups=tuple(group for group in groups if len(group.at)))

    def _add_row(self, i: int, run: Run) -> Members:
        """Return the members with an empty row for one, if the kernel steps its rule for many."""
        key, groups = _key(run), list(self.groups)
        if key is None:
            return self
        new = Group.of(run, np.array([i]))
        for j, group in enumerate(groups):
            if _key(group.run) == key:
                row = int(np.searchsorted(group.at, i))
                pairs = zip(
                    (group.at, group.blocks, group.outs), (i, new.blocks, new.outs), strict=True
                )
                at, blocks, outs = (np.insert(part, row, more, axis=0) for part, more in pairs)
                groups[j] = Group(at, group.run, blocks, outs)
                return self._replace(groups=tuple(groups))
        return self._replace(groups=(*groups, new))

    # --- members that come and leave -------------------------------------------------------------

    def join(self, name: str, run: Run) -> Members:
        """Return the members with a new one, the last."""
        n, new = len(self.names), Members.begin((name,), (run,))
        loop = begin_member(run)
        after = Members(
            names=(*self.names, name),
            place_of={**self.place_of, name: n},
            runs=(*self.runs, run),
            rounds=np.append(self.rounds, new.rounds),
            actions=freeze(np.vstack((self.actions, new.actions))),
            values=np.append(self.values, new.values),
            anchors=(
                np.vstack((self.anchors[0], new.anchors[0])),
                np.append(self.anchors[1], new.anchors[1]),
                np.append(self.anchors[2], new.anchors[2]),
            ),
            groups=self.groups,
            aside={**self.aside, n: loop},
        )
        return after._add_row(n, run)

    def leave(self, name: str) -> Members:
        """Return the members without one."""
        gone = self.place(name)
        keep = np.arange(len(self.names)) != gone
        places, bounds, since = self.anchors
        names = tuple(other for other in self.names if other != name)
        groups = [
            group._replace(at=group.at - (group.at > gone)) for group in self._drop_row(gone).groups
        ]
        loops = {i: loop for i, loop in self.aside.items() if i != gone}
        return Members(
            names=names,
            place_of={other: i for i, other in enumerate(names)},
            runs=tuple(run for i, run in enumerate(self.runs) if i != gone),
            rounds=self.rounds[keep],
            actions=freeze(self.actions[keep]),
            values=self.values[keep],
            anchors=(places[keep], bounds[keep], since[keep]),
            groups=tuple(groups),
            aside={i - (i > gone): loop for i, loop in loops.items()},
        )

    def _take_row(
        self, aside: dict[int, LoopState], values: Array, anchors: tuple[Array, ...], i: int
    ) -> None:
        """Write a usual loop into its row, and take it out of ``aside``."""
        loop: LoopState = aside[i]
        info = loop.info
        found = next((group for group in self.groups if _row_of(group.at, i) is not None), None)
        # A wrapper passes on the info of a rule that the kernel steps; its own state is no block.
        step: Any = None if info is None else info.kernel
        if found is None or not _is_usual(loop) or step is None:
            return
        row = _row_of(found.at, i)
        found.blocks[row], found.outs[row] = step.block, step.out
        values[i] = np.nan if loop.value is None else loop.value
        if loop.anchor is not None:
            for part, new in zip(anchors, loop.anchor, strict=True):
                part[i] = new
        del aside[i]

    # --- rounds ----------------------------------------------------------------------------------

    def tell(self, report: Report) -> Outcome:
        """Return what follows a report: pure."""
        rows = np.full(len(self.names), -1)
        rows[report.at] = np.arange(len(report.at))
        groups, steps = [], []
        actions, values = self.actions.copy(), self.values.copy()
        anchors = tuple(part.copy() for part in self.anchors)
        told = np.zeros(len(self.names), dtype=bool)
        is_aside = told.copy()
        is_aside[list(self.aside)] = True
        for group in self.groups:
            row = np.where(is_aside[group.at], -1, rows[group.at])
            step = _step_at_once(self.rounds[group.at], group, report, row)
            groups.append(step.group)
            if not len(step.rows):
                continue
            steps.append(step)
            at, g = group.at[step.rows], report.columns["constraint_value"][step.told]
            _move_anchors(anchors, at, self.actions[at], g, self.rounds[at], group.run)
            actions[at], values[at] = step.group.blocks[step.rows, : actions.shape[1]], g
            told[at] = True
        rounds = self.rounds.copy()
        rounds[report.at] += 1
        others = report.at[~told[report.at]].tolist()
        if others:  # who may become usual: no row of the state before is written to
            pairs = zip(groups, self.groups, strict=True)
            groups = [group.copy() if group is before else group for group, before in pairs]
        after = self._replace(
            rounds=rounds,
            actions=actions,
            values=values,
            anchors=anchors,
            groups=tuple(groups),
        )
        decisions, alarms = [], []
        aside = dict(self.aside)
        for i in others:
            run, loop, name = self.runs[i], self.loop(i), self.names[i]
            feedback = report.feedback(int(rows[i]))
            round_input, decision = decide_one(run, loop, feedback, name)
            decisions.append((name, loop, round_input, decision))
            alarms += name_alarms(name, decision.alarms)
            aside[i] = decision.loop
            actions[i] = decision.loop.x
            after._take_row(aside, values, anchors, i)
        freeze(actions)
        return Outcome(after._replace(aside=aside), steps, decisions, alarms)


def begin_member(run: Run) -> LoopState:
    """Return a member before its first round; no sums for a regret bound are kept."""
    return run.begin()._replace(regret=None)


def _key(run: Run) -> tuple[Any, ...] | None:
    """Return what runs that are stepped at once share; None if the kernel does not step many."""
    if run.rule is None or run.errors.drift or run.needs.separately:
        return None
    policies = (run.on_contradiction, run.on_missing)
    return (id(run.rule), id(run.algorithm), id(run.guarantee), *policies)


def _row_of(at: Array, i: int) -> int | None:
    """Return the row of a place; None if it is not there."""
    row = int(np.searchsorted(at, i))
    return row if row < len(at) and at[row] == i else None


def _is_usual(loop: LoopState) -> bool:
    """Return whether a row of numbers holds all of a loop."""
    return loop.halt is None and not loop.breaches and loop.uncovered is None and not loop.refused


def _step_at_once(rounds: Array, group: Group, report: Report, told: Array) -> Step:
    """Step the usual members of a group.

    A member that was not told or measured, contradicts something, reports what few rounds do, or is
    not the kernel's does not step.

    Args:
        rounds: of the members of the group.
        group: the members.
        report: what the call reports.
        told: the row of the report for each member of the group; -1 for one that does not step.
    """
    nobody = np.zeros(0, dtype=np.intp)
    rule, extension, run = group.rule, compiled(), group.run
    columns = report.columns
    if extension is None or not {run.first, _COLUMNS[0]} <= set(columns):
        return Step(group, nobody, nobody)
    if run.needs.constraint_subgradients and _COLUMNS[1] not in columns:
        return Step(group, nobody, nobody)  # what a round without a slope ends is decided by member
    is_all = len(told) == len(report.at) and bool((told == np.arange(len(told))).all())
    taken: list[Any] = [columns.get(name) for name in (run.first, *_COLUMNS)]
    proposal, g, s = (part if is_all or part is None else part[told] for part in taken)
    usual = np.isfinite(g) & (told >= 0)
    usual &= (g <= 0) if s is None else (g <= 0) | s.any(axis=1)
    usual &= _keeps_premises(rounds, run, proposal, g, s)
    usual &= ~_reports_seldom(columns)[told]
    if not usual.any():
        return Step(group, nobody, nobody)
    blocks, outs = group.blocks.copy(), group.outs.copy()
    status, flat = np.where(usual, 0.0, -1.0), proposal.ravel()
    gradients, proposals = (None, flat) if run.first == "proposal" else (flat, None)
    slopes = None if s is None else s.ravel()
    parts = (gradients, np.ascontiguousarray(g), slopes, proposals, outs.ravel(), status)
    if not extension.steps(rule.handle, len(group.at), blocks.ravel(), *parts):
        return Step(group, nobody, nobody)
    did = status == 0
    stepped = did & (outs[:, rule.at["alarms"]] == 0) & (outs[:, rule.kind_of_certificate] != 0)
    undone = did & ~stepped
    blocks[undone], outs[undone] = group.blocks[undone], group.outs[undone]
    rows = np.flatnonzero(stepped)
    return Step(Group(group.at, run, blocks, outs), rows, told[rows])


def _reports_seldom(columns: Mapping[str, Any]) -> Array:
    """Return which rows of a report have a field that the columns of a line do not have."""
    size = len(columns["constraint_value"])
    seldom = np.zeros(size, dtype=bool)
    for field in FIELDS:
        part = columns.get(field.name)
        if part is None or field.name in _AT_ONCE:
            continue
        if isinstance(part, np.ndarray):
            seldom |= ~np.isnan(part.reshape(size, -1)).all(axis=1)
        else:
            seldom |= np.array([entry is not None for entry in part])
    return seldom


def _keeps_premises(rounds: Array, run: Run, proposal: Array, g: Array, s: Array | None) -> Array:
    """Return which members break no premise of the guarantee."""
    keeps = np.ones(len(g), dtype=bool)
    if run.guarantee is None:
        return keeps
    with np.errstate(over="ignore", invalid="ignore"):  # too large numbers make no step
        steep = None if s is None else np.linalg.norm(s, axis=1)
        sizes = (np.linalg.norm(proposal, axis=1), g, steep)
    for premise in run.premises:
        observed, counts = premise.observe(rounds.astype(np.float64), *sizes)
        if observed is not None:
            keeps &= ~(np.asarray(counts) & premise.is_broken_by(observed))
    return keeps & (g <= 0)


def _move_anchors(
    anchors: tuple[Array, ...], at: Array, actions: Array, g: Array, rounds: Array, run: Run
) -> None:
    """Let the anchors of members that stepped be where they first were, as measured there."""
    places, bounds, since = anchors
    errors = run.errors
    fresh = np.isnan(bounds[at]) | (places[at] == actions).all(axis=1)
    new = at[fresh]
    places[new], since[new] = actions[fresh], rounds[fresh]
    bounds[new] = g[fresh] + errors.value + errors.evaluation


def decide_one(
    run: Run, loop: LoopState, feedback: Feedback, name: str
) -> tuple[RoundInput, Decision]:
    """Return what a member reported, as it was read, and the decision.

    A member whose numbers cannot be used counts as not measured; so does one that drift or a
    context leaves without a certified action.
    """
    feedback = feedback._replace(context=decode(feedback.context))
    nothing = _without_measurement(feedback)
    value = feedback.constraint_value
    is_missing = value is not None and bool(np.isnan(value).any())
    feedback = nothing if is_missing else feedback
    try:
        round_input = read_feedback(run, loop.state, feedback, missing=is_missing)
        decision = decide(run, loop, round_input)
    except ValueError as error:
        if is_missing:
            raise InvalidValueError(f"member {name}: {error}") from error
        return _leave_out(run, loop, feedback, error)
    if decision.error is None:
        return round_input, decision
    missing = read_feedback(run, loop.state, nothing, missing=True)
    without = decide(run, decision.loop, missing)
    return missing, without._replace(alarms=decision.alarms, refused=decision.loop.refused)


def _without_measurement(feedback: Feedback) -> Feedback:
    """Return the part of a report that a round without a measurement may have."""
    action, context, readings = feedback.action, feedback.context, feedback.readings
    return Feedback(action=action, context=context, readings=readings)


def _leave_out(
    run: Run, loop: LoopState, feedback: Feedback, error: ValueError
) -> tuple[RoundInput, Decision]:
    """Return the decision of a member with unusable feedback, as if nothing were measured.

    If its value shows a violation, or nobody knows which action was played, the action is no longer
    proved, and the member goes back as far as its rule can.
    """
    t, level = loop.round, logging.WARNING
    sentence = f"round {t}: {error}; this member's round is taken as if nothing were measured"
    refused: tuple[Breach, ...] = ()
    # Without the errors that it reports, which may be what is unusable.
    bounds = run.bound_reading(loop.state, Feedback(constraint_value=feedback.constraint_value))
    is_infeasible = bounds is not None and bounds[0] > 0
    try:
        read_feedback(run, loop.state, Feedback(action=feedback.action), missing=True)
    except ValueError:  # nobody knows what was played
        feedback, is_infeasible = feedback._replace(action=None), True
    if is_infeasible or isinstance(error, EmptyRegionError):
        refused = (Breach(t, "reading", sentence, "feasibility"),)
        loop = loop._replace(refused=refused)
        run = run if run.knowledge is None else run.with_policies(on_missing="retreat")
        level = logging.CRITICAL
    still = _without_measurement(feedback)
    nothing = read_feedback(run, loop.state, still, missing=True)
    alarm = Alarm.of(t, "refused", sentence, level)
    decision = decide(run, loop, nothing)
    return nothing, decision._replace(alarms=(alarm,), refused=refused)


def order_one(
    name: Name, run: Run, loop: LoopState, order: Mapping[str, Any], then: Run | None = None
) -> Decision:
    """Return the decision after an order to a member, or after the context of its round.

    A member of a fleet that has no certified action in its context goes to its start: nobody waits
    for an error of one of many.

    Args:
        name: of the member; None of the only one of a controller.
        run: what it plays.
        loop: its state.
        order: its kind, and the fields of its record.
        then: what is played from then on, if it changes.
    """
    decision = apply_order(run, loop, order, then)
    if decision.error is None or name is None:
        return decision
    start = at_start(run, decision.loop, decode(order["context"]))
    return decision._replace(loop=start, error=None)


def name_alarms(name: Name, alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return alarms that say whose they are."""
    if name is None:
        return list(alarms)
    return [alarm._replace(sentence=f"member {name}: {alarm.sentence}") for alarm in alarms]

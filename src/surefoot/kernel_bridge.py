"""Pair pairs in the kernel: how their constants and states are written as C has them.

A pair that the kernel has is *compiled* once per dimension: its constants become a rule of
``kernel/c/surefoot.h``, its state a flat block of doubles. :meth:`Rule.step` is the pure step,
which copies the block; :func:`step_in_place` changes it. Where the kernel does not have the pair,
the form of what was told, or refuses the round, the caller lets Python play, from the same state:
so there is one place that makes sentences, and an engine may change in the middle of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from surefoot import kernel
from surefoot.certified_pair import CertifiedState, Pair
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.plain import Packed
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Array, ArrayLike, Feedback, Info
from surefoot.guarantees.observers import CutCost
from surefoot.knowledge import (
    CertifiedLength,
    Curvature,
    CurvatureCertificate,
    CurvatureMemory,
    CurvatureRows,
    Errors,
    HullCertificate,
    HullMemory,
    LengthMemory,
    LipschitzHull,
    Projection,
    PullCertificate,
    Reading,
    StepCertificate,
)
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.certified_length import StepRule
from surefoot.knowledge.hull import RUNGS, Ladder
from surefoot.proposers.averaging import FAR, Averaging, AveragingNote, AveragingState
from surefoot.proposers.cuts import Cuts
from surefoot.proposers.descent import Descent, DescentNote, DescentState
from surefoot.proposers.leader import Leader, LeaderNote, LeaderState
from surefoot.proposers.proposals import Proposals
from surefoot.proposers.trust import Trust
from surefoot.sets import Ball, Box

__all__ = ["Compiled", "KernelInfo", "KernelState", "Rule", "describe_domain", "step_in_place"]

PROPOSERS: dict[type[Any], int] = {Proposals: 0, Leader: 1, Descent: 2, Averaging: 3}
KNOWLEDGE: dict[type[Any], int] = {
    LipschitzHull: 0,
    CertifiedLength: 1,
    Curvature: 2,
    CurvatureRows: 3,
}
"""What the kernel has."""
RULES: dict[int, StepRule] = {2: "slack", 3: "contraction", 4: "pulled", 5: "stayed"}
"""The words of :class:`StepCertificate` for what the kernel calls by numbers."""
VECTORS = ("centre", "lower", "upper", "middle", "beta")
PULL = 7
STATE = 6
"""What the kernel says of a state whose counts are none."""
OUT = 25
"""The numbers of an info, before its vectors."""
LONG = 4_000
"""Doubles of a block that is copied no further than it is used."""


# --- constants ------------------------------------------------------------------------------------


def describe(player: Pair, d: int) -> dict[str, Any] | None:
    """Return the fields of ``sf_rule`` in a dimension, for C to judge; None where it has none."""
    proposer, knowledge = player.proposer, player.knowledge
    if type(proposer) not in PROPOSERS or type(knowledge) not in KNOWLEDGE or player.ramp:
        return None
    fields = {"d": d, "rows": knowledge.row_count, "proposer": PROPOSERS[type(proposer)]}
    fields["knowledge"] = KNOWLEDGE[type(knowledge)]
    known = describe_domain(knowledge.domain, d)
    parts = [known, _knowledge(knowledge), _proposer(proposer, knowledge, d)]
    for part in parts:
        if part is None:
            return None
        fields |= part
    numbers = [value for name, value in fields.items() if name not in VECTORS]
    is_one = all(isinstance(value, (int, float)) for value in numbers)
    return fields if is_one else None


def describe_domain(domain: Any, d: int) -> dict[str, Any] | None:
    """Return the fields of a known set; None where the kernel has no such set."""
    if domain is None:
        return {"domain": 0}
    if type(domain) not in (Ball, Box) or domain.dimension not in (None, d):
        return None
    ball = domain if isinstance(domain, Ball) else domain.bounding_ball()
    if not isinstance(ball.radius, float):
        return None
    known = {"middle": ball.centre, "around": ball.radius, "diameter": bounded_diameter(domain)}
    if isinstance(domain, Box):
        return known | {"domain": 2, "lower": domain.lower, "upper": domain.upper}
    inner = float(ball._inner(np.zeros(d)))
    return known | {"domain": 1, "radius": ball.radius, "inner": inner, "centre": ball.centre}


def _knowledge(knowledge: Any) -> dict[str, Any] | None:
    errors = knowledge.errors
    if errors.drift and not knowledge.convex:
        return None  # the kernel pulls towards the anchor, which rests on convexity
    fields = {
        "reach": knowledge.reach,
        "value_error": errors.value,
        "slope_error": errors.slope,
        "drift": errors.drift,
        "evaluation_error": errors.evaluation,
    }
    if isinstance(knowledge, LipschitzHull):
        if knowledge.start_bound is not None:
            return None
        return fields | {"G_g": knowledge.G_g}
    if isinstance(knowledge, Curvature):
        one = isinstance(knowledge.beta, float)
        return fields | {"beta": np.array([knowledge.beta])} if one else None
    if isinstance(knowledge, CurvatureRows):
        return fields | {"beta": knowledge.each.beta[:, 0].copy()}
    sigma = 0.0 if knowledge.sigma is None else knowledge.sigma
    length = {"G_g": knowledge.G_g, "rho": knowledge.rho, "sigma": sigma}
    return fields | length | {"decreasing": int(knowledge.decreasing)}


def _proposer(proposer: Any, knowledge: Any, d: int) -> dict[str, Any] | None:
    if isinstance(proposer, Proposals):
        return {"as_steps": int(proposer.as_steps)}
    if isinstance(proposer, Descent):
        eta = 0.0 if proposer.eta is None else proposer.eta
        scale = math.sqrt(2.0) * proposer.radius
        return {"ratchet": int(proposer.ratchet), "scale": scale, "eta": eta}
    if isinstance(proposer, Averaging):
        eta, several = 0.0 if proposer.eta is None else proposer.eta, len(proposer.steps) > 1
        far = FAR if several else proposer.far or 0.0
        scale = {"scale": math.sqrt(0.5) * proposer.radius, "eta": eta}
        return scale | {"far": far * proposer.radius, "points": len(proposer.steps)}
    if proposer.leader is not None or proposer.domain != knowledge.domain:
        return None
    return {
        "cuts": proposer.slots(d),
        "strong_convexity": float(proposer.strong_convexity or 0.0),
    }


# --- states ---------------------------------------------------------------------------------------


def _memory_parts(memory: Any) -> list[ArrayLike]:
    """Return what was read, in the order of a block; :meth:`Rule.memory_of` reads it."""
    if isinstance(memory, HullMemory):
        spots = (memory.last, memory.anchor, memory.start)
        x, *numbers = memory.ladder
        rungs = np.column_stack([x, *numbers]).ravel()
        return [(memory.rounds,), *(part for spot in spots for part in (spot.x, spot[1:])), rungs]
    if isinstance(memory, CurvatureMemory):
        last, anchor = memory.last, memory.anchor or memory.last
        times = (memory.rounds, last.round, anchor.round)
        head = (*times, memory.depth, memory.curvature_seen, memory.slope_error or 0.0)
        seen = [last.x, np.ravel(last.value), np.ravel(memory.low)]
        return [head, *seen, anchor.x, np.ravel(anchor.value), memory.s.ravel()]
    read = (memory.rounds, memory.slack, memory.since, memory.read, memory.upper, memory.level)
    drawn = (memory.rho, memory.left, memory.distance, memory.target_level, memory.is_pulled)
    return [read, drawn, memory.anchor, memory.x, memory.s, memory.drawn, memory.target]


class Rule:
    """A pair in one dimension as the kernel has it, and its states as blocks of doubles.

    Args:
        player: the pair.
        fields: of ``sf_rule``.
        made: what the extension made of them: the rule, the doubles of a state, those before the
            learner's, and those of the scratch memory.
    """

    player: Pair
    fields: dict[str, Any]
    handle: Any
    size: int
    learner: int
    scratch: int
    d: Any
    cuts: Any
    rows: Any
    layout: tuple[int, ...]
    out: Any
    sizes: list[int]

    def __init__(
        self, player: Pair, fields: dict[str, Any], made: tuple[Any, int, int, int]
    ) -> None:
        self.player, self.fields = player, fields
        self.handle, self.size, self.learner, self.scratch = made
        self.d, self.cuts, self.rows = fields["d"], fields.get("cuts", 0), fields["rows"]
        self.leaders = fields.get("points") or (1 if fields.get("strong_convexity") else 4)
        kinds = (fields["proposer"], fields["knowledge"])
        self.layout = (*kinds, self.d, self.cuts, self.rows, self.leaders)
        self.out = OUT + 3 * self.d + self.rows
        self.sizes = self._part_sizes()

    def __reduce__(self) -> Any:
        return make_rule, (self.player, self.d)

    def step(self, state: Any, told: Feedback) -> tuple[Any, Any] | None:
        """Return the state after a round, and what the step knew; None where Python plays it."""
        block, out = self.block_of(state), np.empty(self.out)
        if block is None or not step_in_place(self, block, told, out):
            return None
        if not out[3]:  # nothing was read yet
            return state, Info(state.x, proposal=state.x)
        after = KernelState(self, block)
        return after, KernelInfo(state, after, told, out)

    def block_of(self, state: Any) -> Array | None:
        """Return a state as a block of its own; None where it has what the kernel has not.

        Raises:
            InvalidValueError: for parts of other sizes than the kernel has room for.
        """
        if type(state) is KernelState and (state.rule is self or state.rule.layout == self.layout):
            return self._copy(state.block)
        memory = state.memory
        is_one_row = self.layout[1] == KNOWLEDGE[Curvature]
        if is_one_row and memory.slope_error:
            return None
        try:
            parts = [state.x, *_memory_parts(memory), *self._learner_parts(state.learner)]
            flat = [np.ravel(np.asarray(part, dtype=np.float64)) for part in parts]
        except ValueError:  # rows of different lengths, or more cuts than there is room for
            flat = []
        if [len(part) for part in flat] != self.sizes:
            raise InvalidValueError(
                f"state must have parts of {self.sizes} numbers, as the kernel has them, got "
                f"{[len(part) for part in flat] or checks.repr_line(state)}"
            )
        return np.concatenate(flat, out=_room(self.size))

    def _part_sizes(self) -> list[int]:
        """Return how many numbers the parts of a block have, in its order."""
        d, m, n, K = self.d, self.rows, self.leaders, self.cuts
        memories = {
            LipschitzHull: [1, *(d, 2) * 3, RUNGS * (d + 2)],
            CertifiedLength: [6, 5, d, d, d, d, d],
            Curvature: [6, d, m, m, d, m, m * d],
            CurvatureRows: [6, d, m, m, d, m, m * d],
        }
        learners = {
            Proposals: [0],
            Leader: [10, d, d, d, n * d, n, n, n, n, n, K, K, n * K, K * d],
            Descent: [2],
            Averaging: [3, d, n * d, n * d, n, n, n, n],
        }
        known, learner = type(self.player.knowledge), type(self.player.proposer)
        return [d, *memories[known], *learners[learner]]

    def _copy(self, block: Array) -> Array:
        """Return a copy of a block; of a long one, without the normals that it has no cuts for."""
        if self.size < LONG or not self.cuts:
            return block.copy()
        used = self.size - (self.cuts - int(block[self.learner + 4])) * self.d
        copy = _room(self.size)
        copy[:used] = block[:used]
        return copy

    def _learner_parts(self, learner: Any) -> list[ArrayLike]:
        """Return what was learnt, in the order of a block; :meth:`learner_of` reads it."""
        if isinstance(learner, AveragingState):
            trust = learner.trust
            numbers = (learner.squares, learner.inverse_eta, trust.largest)
            sums = [learner.gradients.ravel(), learner.points.ravel()]
            return [numbers, learner.start, *sums, *trust[:4]]
        if not isinstance(learner, LeaderState):
            return [learner]
        cuts, trust = learner.cuts, learner.trust
        none = self.cuts - len(cuts.offsets)
        told = [learner.reach, learner.start_value, learner.depth, learner.deepened]
        told += [len(cuts.offsets), learner.squares, learner.lag]
        parts: list[ArrayLike] = [(*told, learner.worst_lag, learner.inverse_eta, trust.largest)]
        parts += [learner.start, learner.gradients, learner.Z, learner.points.ravel()]
        parts += [learner.outside, trust.weights, trust.logs, trust.squares, trust.rates]
        parts += [np.pad(part, (0, none)) for part in (cuts.offsets, cuts.inverses)]
        pulls = np.pad(cuts.pulls, ((0, 0), (0, none)))
        return [*parts, pulls, np.pad(cuts.normals, ((0, none), (0, 0)))]

    def memory_of(self, block: Array) -> Any:
        """Return what was read, from a block."""
        d = self.d
        if self.layout[1] == 0:
            at = d + 1
            spots = block[at : at + 3 * (d + 2)].reshape(3, d + 2)
            last, anchor, start = (Anchor(spot[:d], *spot[d:].tolist()) for spot in spots)
            at += 3 * (d + 2)
            rungs = block[at : at + RUNGS * (d + 2)].reshape(RUNGS, d + 2)
            ladder = Ladder(rungs[:, :d], rungs[:, d], rungs[:, d + 1])
            return HullMemory(float(block[d]), last, anchor, start, ladder)
        if self.layout[1] > 1:
            return self._curved_memory(block)
        numbers = block[d : d + 11].tolist()
        rounds, slack, since, read, upper, level, rho, left, distance, low, pulled = numbers
        at = d + 11
        anchor, x, s, drawn, target = (block[at + i * d : at + (i + 1) * d] for i in range(5))
        parts = (upper, level, s, rho, drawn, left, distance, target, low, bool(pulled))
        return LengthMemory(rounds, anchor, slack, since, x, read, *parts)

    def _curved_memory(self, block: Array) -> CurvatureMemory:
        d, m = self.d, self.rows
        rounds, read, since, depth, seen, tau = block[d : d + 6].tolist()
        ends = np.cumsum([d + 6, d, m, m, d, m, m * d])
        x, *levels, there, deep, s = np.split(block, ends)[1:7]
        value, low, deepest = (
            float(level[0]) if self.layout[1] == KNOWLEDGE[Curvature] else level[:, None]
            for level in (*levels, deep)
        )
        s = s if self.layout[1] == KNOWLEDGE[Curvature] else s.reshape(m, d)
        anchor = Anchor(there, deepest, since) if self.fields["drift"] else None
        last = Anchor(x, value, read)
        return CurvatureMemory(rounds, last, low, s, tau or None, anchor, depth, seen)

    def learner_of(self, block: Array) -> Any:
        """Return what was learnt, from a block."""
        at, d, K = self.learner, self.d, self.cuts
        if self.layout[0] == 0:
            return ()
        if self.layout[0] == 2:
            return DescentState(*block[at : at + 2].tolist())
        leaders, is_averaging = self.leaders, self.layout[0] == 3
        numbers = block[at : at + (3 if is_averaging else 10)].tolist()
        at += len(numbers)

        def take(*shape: int) -> Array:
            nonlocal at
            at += math.prod(shape)
            return block[at - math.prod(shape) : at].reshape(shape)

        if is_averaging:
            squares, scale, most = numbers
            start, gradients, points = take(d), take(leaders, d), take(leaders, d)
            trust = Trust(take(leaders), take(leaders), take(leaders), take(leaders), most)
            return AveragingState(start, gradients, points, trust, scale, squares)
        reach, start_value, depth, deepened, n, squares, lag, worst, scale, most = numbers
        count = int(n)
        start, gradients, Z, points = take(d), take(d), take(d), take(leaders, d)
        outside = take(leaders)
        trust = Trust(take(leaders), take(leaders), take(leaders), take(leaders), most)
        offsets, inverses, pulls = take(K)[:count], take(K)[:count], take(leaders, K)[:, :count]
        cuts = Cuts(take(count, d), offsets, inverses, pulls)
        learnt = (start, reach, start_value, cuts, points, outside, trust, Z, (), gradients)
        return LeaderState(*learnt, squares, lag, worst, scale, depth, deepened)


def _room(size: int) -> Array:
    """Return room for a block that begins with a line of the cache, where long rows are quicker."""
    room = np.empty(size + 7)
    address: int = room.__array_interface__["data"][0]
    first = -(address // 8) % 8
    return room[first : first + size]


def make_rule(player: Any, d: int) -> Rule | None:
    """Return the rule of a pair in a dimension; None where Python plays."""
    rule: Rule | None = player.compiled.rule(player, np.zeros(d))
    return rule


class _StateRow(NamedTuple):
    """What a :class:`KernelState` is made of: four fields, of which x alone is filled, and two."""

    x: Array
    memory: None
    learner: None
    plan: None
    rule: Rule
    block: Array


class KernelState(CertifiedState, Packed):
    """A ``CertifiedState`` whose parts are unpacked from a block when they are read.

    Args:
        rule: the rule that made it.
        block: the doubles, which nobody writes to any more.
    """

    rule, block = _StateRow.rule, _StateRow.block
    _parts: CertifiedState | None = None

    def __new__(cls, rule: Rule, block: Array) -> KernelState:
        """Return the state; of its fields only x is there from the beginning."""
        block.setflags(write=False)
        return tuple.__new__(cls, (block[: rule.d], None, None, None, rule, block))

    def unpack(self) -> CertifiedState:
        """Return the state as a named tuple."""
        if self._parts is None:
            rule, block = self.rule, self.block
            self._parts = CertifiedState(self.x, rule.memory_of(block), rule.learner_of(block))
        return self._parts

    @property
    def memory(self) -> Any:
        """What was read."""
        return self.unpack().memory

    @property
    def learner(self) -> Any:
        """What was learnt."""
        return self.unpack().learner

    def _replace(self, **changes: Any) -> CertifiedState:  # type: ignore[override]
        return self.unpack()._replace(**changes)

    def _asdict(self) -> dict[str, Any]:
        return self.unpack()._asdict()

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unpack())

    def __getitem__(self, i: Any) -> Any:
        return self.unpack()[i]

    def __eq__(self, other: object) -> bool:
        return self.unpack() == (other.unpack() if isinstance(other, KernelState) else other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return CertifiedState, tuple(self.unpack())

    def __repr__(self) -> str:
        return repr(self.unpack())


class _InfoRow(NamedTuple):
    """What a :class:`KernelInfo` is made of: six fields, of which x alone is filled, and more."""

    x: Array
    proposal: None
    region: None
    suspects: tuple[()]
    note: None
    round: None
    before: Any
    after: KernelState
    told: Feedback
    out: Array
    numbers: list[float]
    rule: Rule


class KernelInfo(Info):
    """An :class:`Info` whose numbers the kernel has found; words and regions are made when asked.

    Args:
        before: the state before the round.
        after: the state after it.
        told: what was told.
        out: what the extension wrote.
    """

    __slots__ = ()

    after, out, _numbers = _InfoRow.after, _InfoRow.out, _InfoRow.numbers
    _before, _told, _rule = _InfoRow.before, _InfoRow.told, _InfoRow.rule

    def __new__(cls, before: Any, after: KernelState, told: Feedback, out: Array) -> KernelInfo:
        """Return the info; of its fields only x is there from the beginning."""
        numbers = out[:OUT].tolist()
        row = (after.x, None, None, (), None, None, before, after, told, out, numbers, after.rule)
        return tuple.__new__(cls, row)

    @property
    def _at(self) -> Array:
        """The action that was played."""
        return self._before.x if self._told.action is None else self._told.action

    @property
    def proposal(self) -> Array:
        """Where the rule would like to be."""
        return self.out[OUT : OUT + self._rule.d]

    @property
    def bound(self) -> float:
        """At most this is g at the next action."""
        bound: float = self._numbers[0]
        return bound

    @property
    def alarms(self) -> int:
        """0, or bits of ``surefoot.h``: what was seen contradicts the constants."""
        return int(self._numbers[2])

    @property
    def cut(self) -> bool:
        """Whether the next action differs from the wish."""
        return bool(self._numbers[1])

    @property
    def errors(self) -> Errors:
        """What the round allows for."""
        errors: Errors = self._rule.player.knowledge.errors.of_round(self._told)
        return errors

    @property
    def region(self) -> Any:
        """The certified region that x was taken from."""
        return self._rule.player.knowledge.region(self.after.memory, self.errors)

    @property
    def note(self) -> Any:
        """What the rule's own bound on the regret wants to know of the step."""
        rule, numbers = self._rule, self._numbers
        if rule.layout[0] == PROPOSERS[Leader]:
            return LeaderNote(numbers[14], numbers[21 : 21 + rule.leaders], *numbers[15:20])
        proposer, knowledge, d, *_ = rule.layout
        if proposer == PROPOSERS[Proposals]:
            return None
        grad = self._told.cost_gradient
        at, radius = OUT + 2 * d, rule.player.proposer.radius
        separately = knowledge == KNOWLEDGE[CurvatureRows]
        held = self.out[at : at + rule.rows] if separately else float(self.out[at])
        found = Projection(self.out[OUT + d : at], held, numbers[20])
        if proposer == PROPOSERS[Averaging]:
            kept = self.out[at + rule.rows :]
            grad = np.zeros(d) if grad is None else grad
            point = self._before.learner.points[0]
            return AveragingNote(
                self._at, grad, radius, point, numbers[15], kept, numbers[16], found
            )
        if grad is None:
            return None
        cost = None
        if knowledge == KNOWLEDGE[CertifiedLength]:
            cost = CutCost(numbers[12], -0.5 * numbers[17])
        moves = bool(numbers[16])
        return DescentNote(numbers[14], numbers[15], self.proposal, moves, radius, found, cost)

    @property
    def certificate(self) -> Any:
        """Why the next action is feasible."""
        knowledge, numbers = self._rule.player.knowledge, self._numbers
        bound, cut, _, kind, _, t, value, anchor_value, anchor_round, share = numbers[:10]
        far, room, rho = numbers[10:13]
        if isinstance(knowledge, LipschitzHull):
            seen = (anchor_value, value, share, far, room, bound, float(knowledge.G_g))
            return HullCertificate(int(t), int(anchor_round), *seen, bool(cut), self.errors)
        if kind == PULL:
            way = (anchor_value, value, share, bound)
            return PullCertificate(int(t), int(anchor_round), *way, bool(cut), self.errors)
        if not isinstance(knowledge, CertifiedLength):
            row, beta = int(numbers[4]), self._rule.fields["beta"]
            bent = (value, numbers[13], far, bound, float(beta[row]), bool(cut))
            which = row if len(beta) > 1 else None
            slope = self.after.memory.slope_error  # that of the last reading
            errors = self.errors if slope is None else replace(self.errors, slope=slope)
            return CurvatureCertificate(int(t), *bent, which, errors)
        taken = (-value, rho, room, far, bound, float(knowledge.G_g))
        return StepCertificate(int(t), RULES[int(kind)], *taken, bool(cut), self.errors)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What is impossible if the constants are right, one sentence each."""
        return self._suspect() if self._numbers[2] else ()

    @property
    def suspects(self) -> tuple[Any, ...]:
        """A function that returns these sentences, where there are any."""
        return (self._suspect,) if self._numbers[2] else ()

    def _suspect(self) -> tuple[str, ...]:
        knowledge, told = self._rule.player.knowledge, self._told
        g, s = knowledge.read(self._at, told)
        reading = Reading(self._at, g, s, self.errors, told.age)
        found: tuple[str, ...] = knowledge.contradictions(self._before.memory, reading)
        return found

    def unpack(self) -> Info:
        """Return what the step knew as a named tuple."""
        return Info(self.x, self.proposal, self.region, self.suspects, self.note)

    def _replace(self, **changes: Any) -> Info:  # type: ignore[override]
        return self.unpack()._replace(**changes)

    def _asdict(self) -> dict[str, Any]:
        return self.unpack()._asdict()

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unpack())

    def __getitem__(self, i: Any) -> Any:
        return self.unpack()[i]

    def __reduce__(self) -> Any:
        return Info, tuple(self.unpack())

    def __repr__(self) -> str:
        return repr(self.unpack())


# --- steps ----------------------------------------------------------------------------------------


class Compiled:
    """The rules of a pair by dimension, made when they are first needed; never pickled."""

    def __init__(self) -> None:
        self.rules: dict[int, Rule | None] = {}

    def __reduce__(self) -> Any:
        return Compiled, ()

    def rule(self, player: Any, x: Any) -> Rule | None:
        """Return the rule for actions like one; None where Python plays."""
        extension = kernel.compiled()
        if extension is None or type(x) is not np.ndarray or x.ndim != 1:
            return None
        d = len(x)
        if d not in self.rules:
            fields = describe(player, d) if player.is_plain else None
            made = extension.make(fields or {})
            self.rules[d] = Rule(player, fields, made) if fields and made else None
        return self.rules[d]

    def step(self, player: Pair, state: Any, told: Feedback) -> tuple[Any, Any] | None:
        """Return the state after a round, and what the step knew; None where Python plays it."""
        rule = self.rule(player, state.x)
        return rule.step(state, told) if rule is not None and isinstance(told, Feedback) else None


KERNEL_READS = (
    "cost_gradient",
    "constraint_value",
    "constraint_subgradient",
    "value_error",
    "slope_error",
    "action",
    "age",
    "proposal",
)
"""What the kernel is told of a round."""
NOT_READ = ("cost_value", "direction", "hint")
"""What no pair that the kernel has reads: costs by value, and what only other rules count on."""


def step_in_place(rule: Rule, block: Array, told: Feedback, out: Array) -> bool:
    """Step a block in place; return whether the kernel did, and nothing has changed if not."""
    extension, age = kernel.compiled(), told.age
    if told.within is not None or told.context is not None:
        return False
    if extension is None or not isinstance(age, int):
        return False
    status: int = extension.step(
        rule.handle,
        block,
        told.cost_gradient,
        told.constraint_value,
        told.constraint_subgradient,
        told.proposal,
        told.action,
        told.value_error,
        told.slope_error,
        float(age) if age else None,
        out,
    )
    if status == STATE:
        raise InvalidValueError(
            "state must have a number of cuts that is whole and from 0 to "
            f"{rule.cuts}, got {block[rule.learner + 4]}"
        )
    return status == 0

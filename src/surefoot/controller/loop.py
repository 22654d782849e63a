"""The parts of a live loop: the run, which no round changes, and one state."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np

from surefoot.certified import Certified
from surefoot.certified_pair import CertifiedState
from surefoot.controller.return_path import Halt, ReturnPath
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, errors_of, observer_of
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Axes, PerRow, Span
from surefoot.core.plain import PlainTable
from surefoot.core.types import (
    Array,
    ArrayLike,
    Certificate,
    FloatArray,
    Info,
    Needs,
    Number,
    RegretObserver,
    State,
    needs_of,
)
from surefoot.guarantees import (
    Breach,
    Guarantee,
    Premise,
    Promises,
    Safety,
    Tuned,
    promises_of,
    safety_of,
    unpack,
)
from surefoot.guarantees.premise import Reaction
from surefoot.kernel_bridge import Rule
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.base import Estimate, Knowledge, find_knowledge
from surefoot.knowledge.errors import Errors

__all__ = ["POLICIES", "LoopState", "Missing", "Run", "check_text"]

Missing: TypeAlias = Literal["hold", "retreat", "raise"]
"""What to do in a round without a measurement."""

POLICIES = {"on_contradiction": get_args(Reaction), "on_missing": get_args(Missing)}
"""What may be done after a contradiction, and in a round without a measurement."""


@dataclass(frozen=True)
class Run:
    """What is played, and how; no round changes it.

    Attributes:
        algorithm: the player.
        guarantee: what it was tuned for.
        start: the first action.
        on_contradiction: what to do when the data contradict a premise.
        on_missing: what to do in a round without a measurement.
        plant: of a plant file, what it says (:mod:`surefoot.problems.plant`); None without one.
    """

    algorithm: Any
    guarantee: Guarantee | None
    start: FloatArray
    on_contradiction: str = "raise"
    on_missing: str = "hold"
    plant: PlainTable | None = None

    @classmethod
    def of(cls, player: Any, start: ArrayLike, **policies: str) -> Self:
        """Return the run of a player, from what a user gave."""
        algorithm, guarantee = unpack(player)
        run = cls(algorithm, guarantee, checks.to_vector(start, "start"))
        return run.with_policies(**policies)

    def with_policies(self, **policies: str | None) -> Self:
        """Return the run with other policies; None leaves one as it is."""
        changes: dict[str, Any] = {name: p for name, p in policies.items() if p is not None}
        for name, policy in changes.items():
            checks.one_of(POLICIES[name], **{name: policy})
            if policy == "retreat" and self.knowledge is None:
                raise InvalidValueError(
                    f"{name}='retreat' needs a rule that can start from another action, got "
                    f"{self.name}"
                )
        return replace(self, **changes) if changes else self

    def starting_at(self, start: FloatArray) -> Self:
        """Return the run of the same player from another start."""
        return replace(self, start=start)

    def begin(self, t: int = 1) -> LoopState:
        """Return the state before the first round; that of a new player may be a later one."""
        try:
            state = self.algorithm.init(self.start)
        except InvalidValueError as error:
            if not (words := str(error)).startswith("x1 "):
                raise
            raise InvalidValueError(f"start{words[2:]}") from error  # what a rule calls x1
        return LoopState(t, state, regret=observer_of(self.algorithm), anchor=self.standing)

    @cached_property
    def in_contexts(self) -> bool:
        """Whether the context of every round must be announced before it is played."""
        return isinstance(self.algorithm, Certified) and self.algorithm.knowledge.in_contexts

    @property
    def player(self) -> Any:
        """The algorithm, with its guarantee if it has one."""
        return self.algorithm if self.guarantee is None else Tuned(self.algorithm, self.guarantee)

    @cached_property
    def name(self) -> str:
        """The name that a user writes for the algorithm."""
        return type(self.algorithm).__name__

    @cached_property
    def engine(self) -> str:
        """What takes its steps: "kernel" or "python"."""
        return self.algorithm.engine if isinstance(self.algorithm, Algorithm) else "python"

    @cached_property
    def rule(self) -> Rule | None:
        """The player as the kernel has it; None if Python takes its steps."""
        player = self.algorithm
        return player.compiled.rule(player, self.start) if isinstance(player, Certified) else None

    @cached_property
    def needs(self) -> Needs:
        """What a round asks for."""
        return needs_of(self.algorithm)

    @cached_property
    def needs_slopes(self) -> bool:
        """Whether a round must report a slope: not where certificates are made of values."""
        asked = bool(self.needs.constraint_subgradients)
        return bool(getattr(self.algorithm, "needs_slopes", asked))

    @cached_property
    def first(self) -> str:
        """The first argument of a round, a gradient or a proposal; empty for costs by value."""
        proposal = "cost_gradient" if self.needs.cost_gradients else ""
        return "proposal" if self.needs.proposals else proposal

    def bound_reading(self, state: State, feedback: Feedback) -> tuple[float, float] | None:
        """Return the least and the largest that g may be where it was read; None if it was not.

        Args:
            state: in which the round was played.
            feedback: what it reported.
        """
        values, errors = feedback.constraint_value, self.errors.of_round(feedback)
        if values is None:
            return None
        knowledge = self.knowledge
        if knowledge is not None:
            low, high = knowledge.bound_reading(values, errors)
            if not knowledge.remembers:
                return low, high
            x = state.x if feedback.action is None else feedback.action
            memory: Any = getattr(state, "memory", None)
            below, above = knowledge.gap_of(memory, x)
            return low - below, high + above
        worst = float(np.max(values))
        return worst - errors.value, worst + errors.value + errors.evaluation

    @cached_property
    def errors(self) -> Errors:
        """The errors of readings; exact if the player gives none."""
        return errors_of(self.algorithm) or Errors()

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """What is known of g; None from rules that certify nothing."""
        return None if errors_of(self.algorithm) is None else self.algorithm.knowledge

    @cached_property
    def standing(self) -> Anchor | None:
        """The bound on g at the start in every round; None without one."""
        return None if self.knowledge is None else self.knowledge.standing(self.start)

    @cached_property
    def has_estimate(self) -> bool:
        """Whether a constant of g is estimated from readings, at the cost of some violations."""
        return self.knowledge is not None and self.knowledge.kind == "few violations"

    def estimate(self, state: State) -> Estimate | None:
        """Return what is known by now of a constant that was not given; None if all were."""
        if self.knowledge is None or not self.has_estimate or not isinstance(state, CertifiedState):
            return None
        return self.knowledge.estimate(state.memory)

    def keeps_promise(self, state: State) -> bool:
        """Return whether a state is still one that a regret bound in advance is about."""
        player = self.algorithm
        return not isinstance(player, Algorithm) or player.keeps_promise(state)

    def describe(self, state: State) -> str:
        """Return the player's state in words; empty for nothing to say."""
        player = self.algorithm
        return player.describe(state) if isinstance(player, Algorithm) else ""

    @cached_property
    def convex(self) -> bool:
        """Whether g is convex; assumed without knowledge."""
        knowledge = find_knowledge(self.algorithm)
        return knowledge is None or bool(knowledge.convex)

    @cached_property
    def has_ways(self) -> bool:
        """Whether points between two actions may be played: not between choices."""
        domain = getattr(find_knowledge(self.algorithm), "domain", None)
        return self.convex and bool(getattr(domain, "is_convex", True))

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the known set that holds every action."""
        return bool(self.algorithm.may_play(x)) if isinstance(self.algorithm, Algorithm) else True

    @cached_property
    def pace(self) -> float | None:
        """How far a return path may lead in a round: as far as the ramp; None for any distance."""
        ramp = getattr(self.algorithm, "ramp", None)
        return None if ramp is None else float(np.min(ramp))

    @cached_property
    def remembers(self) -> bool:
        """Whether readings depend on earlier actions: then one alone proves nothing."""
        return self.knowledge is not None and self.knowledge.remembers

    @cached_property
    def rows(self) -> int | None:
        """The number of separate constraints, if the player fixes it."""
        if self.knowledge is not None:
            return self.knowledge.row_count
        rows: int | None = getattr(self.algorithm, "rows", None)
        return rows

    @cached_property
    def safety(self) -> Safety | None:
        """What the knowledge of a rule without a theorem certifies; None without knowledge."""
        return safety_of(self.algorithm) if self.guarantee is None else None

    @cached_property
    def promises(self) -> Promises:
        """What is promised, in three parts."""
        return promises_of(self.algorithm, self.guarantee)

    @cached_property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of the guarantee."""
        return () if self.guarantee is None else self.guarantee.premises


class LoopState(NamedTuple):
    """All that changes from round to round.

    Attributes:
        round: the current one, whose outcome was not reported yet.
        state: of the algorithm; its ``x`` is the action at hand.
        info: details of the last step; None if no step led here.
        proof: the certificate of the action at hand, if no info has it.
        cut: whether the action differs from the proposal; None if unknown.
        value: g of the last round.
        regret: the sums that bound the regret so far.
        anchor: the end of the return path; None before the first measurement, unless a bound there
            holds in every round.
        halt: why nothing moves until the controller is resumed.
        breaches: the premises that the data contradict.
        uncovered: why the regret bound ended, though nothing was contradicted.
        remeasurement: the round in which the anchor is measured again, if that is announced.
        refused: the contradictions for which the current round was rejected.
    """

    round: Annotated[int, Span(1)]
    state: State
    info: Info | None = None
    proof: Certificate | None = None
    cut: bool | None = None
    value: Annotated[Number, PerRow] = None
    regret: RegretObserver | None = None
    anchor: Anchor | None = None
    halt: Halt | None = None
    breaches: Annotated[tuple[Breach, ...], Axes("breaches")] = ()
    uncovered: str | None = None
    remeasurement: int | None = None
    refused: Annotated[tuple[Breach, ...], Axes("refused")] = ()

    @property
    def x(self) -> Array:
        """The action at hand."""
        return self.state.x

    @property
    def awaits_context(self) -> bool:
        """Whether the context of the current round, and so its action, is still unknown."""
        state: Any = self.state
        if not isinstance(state, CertifiedState) or state.plan is None:
            return False
        return state.memory.context is None and not state.plan.is_unknown

    @property
    def has_no_context(self) -> bool:
        """Whether the context of the current round stays unknown: then no reading counts."""
        state: Any = self.state
        is_certified = isinstance(state, CertifiedState) and state.plan is not None
        return is_certified and bool(state.plan.is_unknown)

    @property
    def is_safe(self) -> bool:
        """Whether no premise of feasibility is contradicted."""
        return all(b.affects == "regret" for b in self.breaches)

    @property
    def is_refuted(self) -> bool:
        """Whether a reading contradicts a premise of feasibility, in this round or before."""
        return bool(self.refused) or not self.is_safe

    @property
    def certificate(self) -> Certificate | None:
        """Why the action at hand is feasible."""
        return self.proof if self.info is None or self.proof is not None else self.info.certificate

    def bound(self, run: Run) -> float:
        """Return the bound on g at the action at hand; infinite without one."""
        certificate = self.certificate
        if self.refused:
            return math.inf
        if isinstance(certificate, ReturnPath):
            return certificate.bound
        if not self.is_safe:
            return math.inf
        if certificate is not None:
            return float(certificate.bound)
        anchor = self.anchor
        if anchor is not None and not anchor.ages and (self.x == anchor.x).all():
            return float(anchor.value)  # the start, before anything was read
        if run.guarantee is not None:
            return float(run.guarantee.bounds(self.round).get("round", math.inf))
        return math.inf


def check_text(text: object, name: str) -> None:
    """Raise unless a text can be written to a journal, and shown again."""
    is_text = isinstance(text, str) and text.strip()
    if not is_text or any("\ud800" <= letter <= "\udfff" for letter in str(text)):
        raise InvalidValueError(f"{name} must be words that can be stored, got {text!r}")

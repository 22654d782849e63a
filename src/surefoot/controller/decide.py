"""Pure decision: loop state and round input in, next action out.

A round is one of four events; :class:`Round` has a method for each:

=============  ===================================  ============================================
event          g fixed                              g rises by at most v per round
=============  ===================================  ============================================
"stepped"      a step of the rule; where it         the same; after a contradiction only a start
               contradicts something, as the        with a ``start_bound`` is proved
               policy says: reject it, go on,
               hold or retreat
"missing"      hold: proved for good; or retreat    hold while the bound allows that, then the
                                                    shortest return path
"halted"       hold or retreat, as was ordered      the same
"violation"    from the user's own action that      the same, with the slack as it is now
               was measured with g > 0: back, for
               as many rounds as a ramp takes
=============  ===================================  ============================================

:mod:`surefoot.controller.return_path` proves holding and the return path.

**After a contradiction** of a premise of feasibility, no region is asked: it would use the constant
that was just refuted. What needs no constant still holds. For a fixed g that is the action, if it
was measured feasible in this round, up to the error of the meter. Otherwise it is the return path,
by convexity. If g drifts or has contexts, a reading without a constant says nothing of the next
round. Then only a start with a ``start_bound`` is certain
(:meth:`~surefoot.knowledge.Knowledge.standing`); without one nothing is proved.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surefoot.controller.alarms import Alarm
from surefoot.controller.feedback import RoundInput, refuse_unfinite
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.return_path import FallbackQuery, Halt, How, ReturnPath, risen
from surefoot.core import checks
from surefoot.core.algorithm import locate, move_to, rest
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.kernel_constants import ALARM_NOISES
from surefoot.core.plain import PlainTable, decode
from surefoot.core.types import Array, Context, Info, Number, State
from surefoot.guarantees import Breach, Guarantee, PremiseError
from surefoot.knowledge import (
    Anchor,
    CertificateError,
    EmptyRegionError,
)
from surefoot.knowledge.context import BEYOND_CHANGES
from surefoot.knowledge.contradictions import BALL_TOO_SMALL
from surefoot.knowledge.ramp import find_way

if TYPE_CHECKING:
    from surefoot.controller.plant_words import PlantWords

__all__ = ["Decision", "announce", "apply_order", "at_start", "decide"]

# The share of the anchor's slack that a return from a violation restores.
_HALF = 0.5
# A value above its bound by less than this share of the anchor's slack looks like noise.
_LITTLE = 0.1
# A halted loop that still violates raises its alarm again after this many rounds.
_REPEAT = 10


class Decision(NamedTuple):
    """The decision after a round or an order.

    Attributes:
        loop: the next state.
        how: its action came about.
        why: what the journal keeps of the reason.
        breaches: the contradictions that are new.
        warning: the warning for the caller; empty for none.
        alarms: the alarms to raise.
        error: why the round is rejected; then the loop stays in the same round.
        refused: why the report of a member of a fleet was rejected, though its round is over.
    """

    loop: LoopState
    how: How = "stepped"
    why: Mapping[str, Any] = {}
    breaches: tuple[Breach, ...] = ()
    warning: str = ""
    alarms: tuple[Alarm, ...] = ()
    error: Exception | None = None
    refused: tuple[Breach, ...] = ()


def decide(run: Run, loop: LoopState, round_input: RoundInput) -> Decision:
    """Return the decision after a round.

    Args:
        run: what is played.
        loop: the state in which the round was played.
        round_input: what the round reported.

    Raises:
        InvalidValueError: for feedback that the rule does not take.
        EmptyRegionError: if no next action is certified; a round of a drifting g is rejected
            instead.
        PremiseError: without a measurement, if the policy is "raise".
    """
    current = Round(run, loop, round_input)
    is_elsewhere = round_input.feedback.action is not None
    is_elsewhere = is_elsewhere or (loop.proof is not None and current.is_on_way)
    violates = is_elsewhere and current.own_bound > 0
    if not (round_input.is_missing or loop.halt is not None or violates):
        return current.step()
    refuse_unfinite(round_input.feedback)
    return current.return_from_violation() if violates and loop.halt is None else current.stay()


def take_step(run: Run, state: State, feedback: Feedback) -> tuple[State, Info]:
    """Take a step of the rule; no other function does."""
    step = None if run.rule is None else run.rule.step(state, feedback)
    if step is not None:
        return step
    refuse_unfinite(feedback)
    # Numbers may be of any size; an overflow is rejected, so NumPy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        after, info = run.algorithm.step(state, feedback)
    checks.refuse_unfinite(after.x, "the next action")
    return after, info


class Round:
    """One round and the decision after it.

    Args:
        run: what is played.
        loop: the state in which the round was played.
        round_input: what the round reported.
    """

    __slots__ = ("drift", "input", "loop", "run", "t")
    drift: Number
    input: RoundInput
    loop: LoopState
    run: Run
    t: int

    def __init__(self, run: Run, loop: LoopState, round_input: RoundInput) -> None:
        self.run, self.loop, self.input = run, loop, round_input
        self.t, self.drift = loop.round, run.errors.drift

    @property
    def words(self) -> PlantWords | None:
        """The words of a plant; None without one."""
        stored = self.run.plant
        if stored is None:
            return None
        from surefoot.controller.plant_words import PlantWords  # which loads every rule of plants

        return PlantWords(stored)

    # --- what was measured, and where ------------------------------------------------------------

    @property
    def is_on_way(self) -> bool:
        """Whether a certified rule is on a return path, at an action without a proof."""
        proof = self.loop.proof
        is_unproved = isinstance(proof, ReturnPath) and not proof.bound <= 0
        return is_unproved and self.run.knowledge is not None

    @property
    def here(self) -> State:
        """The state at the action that was played."""
        action, state = self.input.feedback.action, self.loop.state
        return state if action is None else move_to(self.run.algorithm, state, action)

    @property
    def reading(self) -> Feedback:
        """What was measured, with the action that it belongs to and its age."""
        return locate(self.run.algorithm, self.loop.state, self.input.feedback)

    @property
    def measurement(self) -> Anchor | None:
        """The action that was measured, with the bound on g there in its round."""
        reading = self.reading
        bounds = self.run.bound_reading(self.loop.state, reading)
        return None if bounds is None else Anchor(reading.action, bounds[1], self.t - reading.age)

    def bound_by_reading(self, otherwise: float) -> float:
        """Return the bound that a measurement gives at the action of the round, if it was there."""
        measurement = self.measurement
        if measurement is None or not (measurement.x == self.here.x).all():
            return otherwise
        return float(measurement.level(self.t, self.drift))

    @property
    def own_bound(self) -> float:
        """The bound at the user's own action; at most 0 if only the sum of g counts."""
        bound = self.bound_by_reading(0.0)
        if bound > 0 and self.run.remembers and (self._was_certified or self._stands):
            bound = 0.0  # what a reading that lags cannot show
        return self._judge(bound)

    @property
    def _stands(self) -> bool:
        """Whether the round was played at a start that is feasible in every round."""
        standing = self.run.standing
        return standing is not None and bool((self.here.x == standing.x).all())

    @property
    def _was_certified(self) -> bool:
        """Whether the user's own action was in the region of the action that was asked for."""
        loop, action = self.loop, self.input.feedback.action
        region = None if loop.info is None else loop.info.region
        if region is None or action is None or loop.is_refuted:
            return False
        return bool(region.contains(action))

    def _judge(self, bound: float) -> float:
        """Return the bound by which an action counts as a violation, where it is above 0."""
        knowledge = self.run.knowledge
        return bound if knowledge is None else knowledge.judge(bound)

    @property
    def anchor(self) -> Anchor | None:
        """The anchor after the round: the first that was measured, or a better one under drift."""
        anchor = self.loop.anchor
        if self.input.is_missing or (anchor is not None and self._leaves_as_is(anchor)):
            return anchor
        measurement = self.measurement
        if measurement is None or not self.run.may_play(measurement.x):
            return anchor
        if anchor is not None and self.run.remembers and not self.drift:
            return anchor  # the plant was at rest when it was measured
        value = measurement.level(self.t, self.drift)
        if anchor is None:
            return measurement if value < 0 else None
        if (measurement.x == anchor.x).all():  # the new value counts, better or worse
            return measurement
        return measurement if self.drift and value < anchor.level(self.t, self.drift) else anchor

    def _leaves_as_is(self, anchor: Anchor) -> bool:
        """Return whether no reading of the round changes an anchor, without asking for one.

        The bound of the anchor does not age, or g is fixed and the round was played elsewhere, as
        most rounds are.
        """
        if self.run.rule is not None and not self.drift:
            action = self.input.feedback.action
            x = self.loop.x if action is None else action
            if x[0] != anchor.x[0]:
                return True
        return not anchor.ages

    # --- a step of the rule ----------------------------------------------------------------------

    def step(self) -> Decision:
        """Return the decision after a step of the rule, with what it contradicts."""
        run, loop, feedback = self.run, self.loop, self.input.feedback
        if loop.proof is not None and feedback.action is None and self.is_on_way:
            # No step certified the action: the rule takes it as the user's own.
            feedback = feedback._replace(action=loop.x)
        try:
            state, info = take_step(run, loop.state, feedback)
        except CertificateError as error:
            sentence = f"round {self.t}: {error}"
            return self._refuse((Breach(self.t, "certificate", sentence, "feasibility"),), error)
        except EmptyRegionError as error:
            if not self.drift and not run.in_contexts:
                raise
            # Drift, or the next context, may make the action infeasible in the next round.
            what = "drift" if self.drift else "context"
            return self._refuse((Breach(self.t, what, str(error), "feasibility"),), error)
        breaches = self._find_breaches(info)
        if breaches and any(b.affects != "regret" for b in breaches):
            return self._react(state, info, breaches)
        return self._end_step(state, info, breaches, {})

    def _find_breaches(self, info: Info) -> list[Breach]:
        """Return the breaches of the round: of premises, of constants and by another action."""
        guarantee = self.run.guarantee
        breaches = [] if guarantee is None else self._broken_premises(guarantee)
        if sentences := info.contradictions:  # which stand for the premises on the constraint
            breaches = [b for b in breaches if b.constant not in ("G_g", "the bound on g")]
            breaches.append(Breach(self.t, "constants", sentences[0], "both"))
        elif self.run.in_contexts:  # a region that is asked again may state another bound
            breaches += self._refuted_bound()
        if self.input.feedback.action is not None:
            breaches.append(self._deviation(self.own_bound))
        return breaches

    def _end_step(
        self, state: State, info: Info, breaches: list[Breach], why: PlainTable
    ) -> Decision:
        loop, feedback = self.loop, self.input.feedback
        regret, uncovered = loop.regret, loop.uncovered
        if regret is not None:
            regret = regret.after(info) if feedback.action is None else None
            if regret is None and feedback.action is None:
                uncovered = uncovered or f"round {self.t}: the context of the next came later"
        if self._lacks_slope:
            uncovered = uncovered or f"round {self.t}: no slope was reported"
        fields = (regret, self.anchor, None, loop.breaches, uncovered)
        after = LoopState(self.t + 1, state, info, None, None, feedback.constraint_value, *fields)
        if not self.run.has_estimate and not breaches and not self.drift:  # the usual round
            return Decision(after, "stepped", why)
        now, before = self.run.estimate(state), self.run.estimate(loop.state)
        if now and before and now.outside != before.outside:
            why["violations"] = now.outside
        return self._finish(after, "stepped", breaches, why)

    @property
    def _lacks_slope(self) -> bool:
        """Whether the regret bound in advance needs a slope that the round did not report."""
        run, s = self.run, self.input.feedback.constraint_subgradient
        return s is None and run.needs.constraint_subgradients > 0 and bool(run.promises.in_advance)

    def _broken_premises(self, guarantee: Guarantee) -> list[Breach]:
        """Return the premises of the guarantee that the round is the first to break."""
        round_input, t, breaches = self.input, self.t, []
        sizes = (round_input.gradient, round_input.worst, round_input.slope_norm)
        for premise in self.run.premises:
            size, counts = premise.observe(t, *sizes)
            if counts and size is not None and premise.is_broken_by(size):
                breaches.append(premise.breach(t, size))
        if breaches:
            constants = {b.constant for b in self.loop.breaches}
            breaches = [b for b in breaches if b.constant not in constants]
        return breaches or self._broken_bound(guarantee, round_input.worst)

    def _broken_bound(self, guarantee: Guarantee, worst: float | None) -> list[Breach]:
        """Return a breach where g is above what the guarantee says of it."""
        if worst is None or worst <= 0 or not self.loop.is_safe:
            return []
        c, t = guarantee.constants, self.t
        # The bound is on g itself, of which a reading may err; and it is one of real arithmetic.
        bound = float(guarantee.bounds(t).get("round", math.inf)) + (c.value_error or 0.0)
        if not worst > bound + 1e-12 * (abs(bound) + (c.G_g or 0.0) * c.R):
            return []
        sentence = (
            f"round {t}: g = {worst:.6g} is above the bound {bound:.6g} of "
            f"{guarantee.name}: a constant is wrong, or g is not convex"
        )
        return [Breach(t, "the bound on g", sentence, "both")]

    def _react(self, state: State, info: Info, breaches: list[Breach]) -> Decision:
        """Return the decision of the policy after a contradiction of a premise of feasibility."""
        run, reading = self.run, self.reading
        anchor = self.anchor  # of the first round it is its own
        serious = tuple(b for b in breaches if b.affects != "regret")
        bound = math.inf
        if (reading.action == self.here.x).all():
            bound = self.loop._replace(refused=()).bound(run)
        policy = run.on_contradiction
        slack = 0.0 if anchor is None else -anchor.value
        if self.words is None:
            causes = self._find_causes(bound, slack, info, serious[0])
        else:
            named, causes = self.words.explain(run, self.loop, self.input.feedback, serious[0])
            breaches = [named if b is serious[0] else b for b in breaches]
            serious = (named, *serious[1:])
        sentence = serious[0].sentence
        if policy == "raise":
            words = ", ".join(f"({i}) {cause}" for i, cause in enumerate(causes, start=1))
            words = f"{sentence}; likely causes, most likely first: {words}"
            return self._refuse(serious, PremiseError(words, causes))
        why: PlainTable = {"causes": list(causes)}
        if policy not in ("hold", "retreat") or self.input.worst is None:
            return self._end_step(state, info, breaches, why)
        # An action that was not measured has no bound then, and is not held; nor is one whose
        # reading lags, by what the refuted constant said.
        bound = math.inf if run.remembers else self.bound_by_reading(math.inf)
        how: How = "held" if policy == "hold" and bound < math.inf else "retreated"
        halt = Halt(how, sentence.partition(": ")[2] or sentence, self.t, run.pace)
        breaches = [*breaches, *self._shifted_anchor()]
        return self._stand(halt, bound, breaches, why | {"policy": policy}, halt)

    def _find_causes(
        self, bound: float, slack: float, info: Info, breach: Breach
    ) -> tuple[str, ...]:
        """Return the likely causes of a contradiction, most likely first, with their numbers.

        Args:
            bound: on g where it was measured; infinite without one.
            slack: of the anchor, with which a difference is compared.
            info: details of the step.
            breach: the contradiction.
        """
        if breach.sentence.endswith(BALL_TOO_SMALL):
            ball = f"{BALL_TOO_SMALL}: R, the domain or reach"
            return (ball, "a sensor error (value_error) of more than the slack reported")
        if BEYOND_CHANGES in breach.sentence:
            return ("changes of that column is too small", "an error of the context")
        anchor, worst = self.loop.anchor, self.input.worst
        worst = -math.inf if worst is None else worst
        over = max(worst - bound, 0.0) if bound < math.inf else 0.0
        shift = 0.0  # of g at the anchor itself, since it was measured
        if anchor is not None and (self.reading.action == anchor.x).all():
            shift = max(worst - anchor.value, 0.0)
        is_steep, constant = self._suspect_constant(info)
        start, short = self._suspect_start(breach, worst)
        off = max(over, shift, short)
        noise = f"a sensor error (value_error) of {off:.3g} or more"
        unsettled = "the plant had not settled when g was read"
        reads_slopes = self.input.slope_norm is not None
        slope = ("an error of the subgradient (slope_error)",) if reads_slopes else ()
        shape = ("g is not convex",) if self.run.convex else ()
        drift = f"g has changed{f' by {over:.3g}' if over else ''}: drift, or another g"
        if start:
            return (start, noise, unsettled)
        if shift > _LITTLE * slack:
            drift = f"g has changed: its slack at the anchor fell by {shift:.3g}"
            return (drift, noise, unsettled, constant, *shape)
        if is_steep:
            return (constant, *slope, drift)
        if 0 < off <= _LITTLE * slack:
            return (noise, unsettled, constant, drift, *shape)
        if over > 0:
            return (constant, drift, noise, unsettled, *shape)
        return (constant, *slope, drift, *shape)

    def _suspect_start(self, breach: Breach, worst: float) -> tuple[str, float]:
        """Return which constant of the start is wrong, and by how much; empty for none.

        Args:
            breach: the contradiction.
            worst: the largest value of g that was read.
        """
        anchor, guarantee = self.loop.anchor, self.run.guarantee
        of_start = {p.constant: p.limit for p in self.run.premises if p.quantity == "start"}
        if guarantee is not None and breach.constant in of_start:
            slack = float(guarantee.constants.start_slack or of_start[breach.constant])
            return f"start_slack = {slack:.6g} is too large: {-worst:.6g} was read", slack + worst
        if anchor is None or anchor.ages or not (self.reading.action == anchor.x).all():
            return "", 0.0
        bounds = self.run.bound_reading(self.loop.state, self.reading)
        if bounds is None or not bounds[0] > anchor.value:
            return "", 0.0
        words = f"start_bound = {anchor.value:.6g} is too small: {worst:.6g} was read"
        return words, worst - float(anchor.value)

    def _suspect_constant(self, info: Info) -> tuple[bool, str]:
        """Return whether a slope is longer than G_g, and which constant is probably too small."""
        knowledge, steep = self.run.knowledge, self.input.slope_norm or 0.0
        constants = {} if knowledge is None else knowledge.constants
        if steep > constants.get("G_g", math.inf):
            return True, f"G_g = {constants['G_g']:.6g} is too small: {steep:.6g} was reported"
        curvature = 0.0 if info.region is None else info.region.curvature_seen
        if curvature > constants.get("beta", math.inf):
            return False, f"beta = {constants['beta']:.6g} is too small: {curvature:.6g} fits"
        names = list(constants)
        context = getattr(knowledge, "context", None)
        if context is not None and context.bounds:
            if (factor := self._factor_that_fits()) > 1.0:
                name, G_c = next(iter(context.bounds.items()))
                if len(context.bounds) > 1:
                    each = " or ".join(context.bounds)
                    return False, f"{each} is too small: {factor:.3g} times as much fits"
                return False, f"{name} = {G_c:.6g} is too small: {factor * G_c:.6g} fits"
            names += context.bounds
        if getattr(knowledge, "start_bound", None) is not None:
            names.append("start_bound")
        *first, last = names or ["a constant"]
        which = f"{', '.join(first)} or {last}" if first else last
        return False, f"{which} is too small, or the start is not what it was"

    def _factor_that_fits(self) -> float:
        """Return the factor on constants of contexts that explains two readings of one action.

        It is 0 without two, and where a part of the change is known exactly.
        """
        info, worst = self.loop.info, self.input.worst
        region = None if info is None else info.region
        if region is None or region.read_place is None or worst is None:
            return 0.0
        state: Any = self.loop.state
        known: Any = self.run.knowledge
        if len(known.context.bounds) < len(region.read_place):
            return 0.0
        allowed = float(known.context.rise(region.read_place, state.memory.context.place))
        if not allowed > 0 or not (region.x == self.here.x).all():
            return 0.0
        return float((worst - self.run.errors.value - float(region.upper)) / allowed)

    def _refuse(self, breaches: tuple[Breach, ...], error: Exception) -> Decision:
        """Reject the round: its action is no longer proved."""
        words = (
            f"{breaches[0].sentence}; that round was rejected, and its action is no longer proved: "
            "retreat, or resume with a player"
        )
        alarm = Alarm.of(self.t, "refused", words)
        return Decision(self.loop._replace(refused=breaches), alarms=(alarm,), error=error)

    # --- without a step of the rule --------------------------------------------------------------

    def stay(self) -> Decision:
        """Return the decision after a round without a measurement, or of a halted loop."""
        run, loop, is_missing = self.run, self.loop, self.input.is_missing
        if is_missing and run.on_missing == "raise" and loop.halt is None:
            raise PremiseError(f"round {self.t}: nothing was measured, and on_missing is 'raise'")
        # The user's own action has no bound but its reading.
        before = loop.bound(run) if self.input.feedback.action is None else math.inf
        bound, policy = self.bound_by_reading(before), run.on_missing
        if run.remembers:
            bound = math.inf if loop.is_refuted else min(bound, before)
        # An action that assumes an estimate may violate, and is not held without a reading.
        guessed = bound > 0 and run.estimate(loop.state) is not None
        unproved = self.input.feedback.action is not None or self.is_on_way
        goes_back = policy == "retreat" or guessed or (unproved and not bound < math.inf)
        how: How = "retreated" if goes_back else "held"
        halt = loop.halt or Halt(how, "no measurement", self.t, run.pace)
        uncovered = f"round {self.t}: {'nothing was measured' if is_missing else 'halted'}"
        why: PlainTable = {"policy": policy if is_missing else "halted"}
        breaches = self._shifted_anchor() or self._refuted_bound()
        return self._stand(halt, bound, breaches, why, loop.halt, uncovered)

    def return_from_violation(self) -> Decision:
        """Return the decision after the user's own action violated: the return path."""
        upper = self.own_bound
        if self.loop.anchor is None:
            raise InvalidValueError(
                "the first action must be strictly feasible, or there is no return path, "
                f"got g = {upper:g}"
            )
        breaches, reason = [], f"g may be {upper:.3g} on the return path, which goes on"
        if self.input.feedback.action is not None:
            breaches = [self._deviation(upper)]
            reason = breaches[0].sentence.partition(": ")[2]
        halt = Halt("held", reason, self.t, self.run.pace)
        return self._stand(halt, upper, breaches, {"policy": "violation"}, None)

    def _stand(
        self,
        order: Halt,
        bound: float,
        breaches: list[Breach],
        why: PlainTable,
        halt: Halt | None,
        uncovered: str | None = None,
    ) -> Decision:
        """Return the decision after a round in which the rule takes no step.

        In contexts g differs between rounds: to hold is to stay as near as the next context
        allows, and the return path leads to the start. After a contradiction no region is asked,
        and the fallback is the start; so it is where a return path has no certified action, as
        somebody's own action may be further from all of them than a ramp reaches.

        Args:
            order: to hold or to return, and why.
            bound: on g at the action that was played.
            breaches: what the round contradicts.
            why: what the journal keeps of the reason.
            halt: why nothing moves until the controller is resumed.
            uncovered: why the regret bound ends.
        """
        run, loop, feedback = self.run, self.loop, self.input.feedback
        here: Any = self.here
        anchor, level = self.anchor, risen(bound, self.drift)
        keep = 0.0 if self.input.is_missing else _HALF
        refuted = loop.is_refuted or any(b.affects != "regret" for b in breaches)
        spot = _fallback_query(run, self.t, here.x, level, anchor, order)._replace(refuted=refuted)
        if not run.may_play(here.x):  # the user's own action is neither held nor proved
            order = order._replace(how="retreated", speed=None)
            spot = spot._replace(bound=math.inf)
        goal, way = spot.follow(order, keep)
        state: Any = rest(run.algorithm, here, goal)
        knowledge = run.knowledge
        if knowledge is not None and knowledge.kind == "cumulative":  # no region counted the round
            before: Any = loop.state  # the user's own first action may have started anew
            value = None if self.measurement is None else float(self.measurement.value)
            memory = knowledge.count(state.memory, before.memory, bound, value)
            state = state._replace(memory=memory)
        proof = None if run.in_contexts else way
        fields = (None, anchor, halt, loop.breaches, loop.uncovered or uncovered)
        after = LoopState(self.t + 1, state, None, proof, False, feedback.constraint_value, *fields)
        fallback: tuple[Alarm, ...] = ()
        if run.in_contexts and feedback.context is not None:
            # What the round contradicts counts for the next action already.
            every = (*loop.breaches, *breaches)
            refuted_loop = after._replace(breaches=every, refused=loop.refused)
            try:
                after = _in_context(run, refuted_loop, feedback.context)
                after = after._replace(breaches=loop.breaches)
            except (CertificateError, EmptyRegionError) as error:
                returns = order.how == "retreated" or (bound > 0 and run.pace is not None)
                if not (loop.refused or returns):
                    breach = Breach(self.t, "context", str(error), "feasibility")
                    return self._refuse((breach,), error)
                after = at_start(run, refuted_loop, feedback.context)
                after = after._replace(breaches=loop.breaches)
                if not self.is_on_way:  # said already
                    words = f"round {self.t + 1}: the return path leads to the start: {error}"
                    fallback = (Alarm.of(self.t + 1, "context", words),)
        decision = self._finish(after, way.how, breaches, why)
        return decision._replace(alarms=(*decision.alarms, *fallback))

    def _shifted_anchor(self) -> list[Breach]:
        """Return a breach if the slack of the anchor, measured again, has shrunk.

        Drift since then and the errors of both values may explain some of that.
        """
        t, errors, anchor, reading = self.t, self.run.errors, self.loop.anchor, self.reading
        bounds = self.run.bound_reading(self.loop.state, reading)
        if anchor is None or bounds is None or not (reading.action == anchor.x).all():
            return []
        if self.run.in_contexts and anchor.ages:
            return []  # g differs between contexts
        slack = 0.0 - float(np.max(reading.constraint_value))
        most = anchor.level(t - reading.age, errors.drift) + errors.evaluation
        if bounds[0] <= most + 1e-12 * abs(anchor.value):
            return []
        before = f"and was {-anchor.value:.6g} in round {int(anchor.round)}"
        why = "g is not the same, or drifts faster than was given"
        if not anchor.ages:
            before = f"less than the {-anchor.value:.6g} that was given for every round"
            why = "start_bound is too small"
            if self.words and (words := self.words.explain_start(t, self.input.feedback)):
                return [Breach(t, "anchor", words, "both", slack, -most)]
        sentence = f"round {t}: the slack of the anchor is {slack:.6g}, {before}: {why}"
        return [Breach(t, "anchor", sentence, "both", slack, -most)]

    def _refuted_bound(self) -> list[Breach]:
        """Return a breach if g, or a row of it, was read above what its certificate states."""
        run, loop, feedback = self.run, self.loop, self.input.feedback
        knowledge, bound = run.knowledge, loop.bound(run)
        if self.input.worst is None or knowledge is None or not bound <= 0 or loop.is_refuted:
            return []
        is_other = feedback.action is not None or self.reading.age > 0
        if is_other or run.has_estimate or knowledge.kind == "cumulative":
            return []
        values, bounds, kinds = [self.input.worst], [bound], [knowledge]
        state: Any = loop.state
        memories, errors = [getattr(state, "memory", None)], [run.errors]
        if parts := getattr(loop.certificate, "rows", ()):
            together: Any = knowledge
            values = np.atleast_1d(feedback.constraint_value).tolist()
            bounds, kinds = [float(part.bound) for part in parts], list(together.rows)
            memories, errors = list(state.memory.rows), [row.errors for row in together.rows]
        each = zip(values, bounds, kinds, memories, errors, strict=True)
        for value, most, kind, memory, own in each:
            error = own.of_round(feedback).value
            if kind.remembers:
                error += kind.gap_of(memory, loop.x)[0]
            noise = ALARM_NOISES * float(np.max(kind.noise(len(loop.x))))
            if value - error > most + noise:
                halted = ", in a loop that is halted" if loop.halt is not None else ""
                words = f"g = {value:.6g} is above its certified bound {most:.3g}{halted}"
                sentence = f"round {self.t}: {words}: a constant is wrong"
                return [Breach(self.t, "constants", sentence, "both", value, most)]
        return []

    def _deviation(self, upper: float) -> Breach:
        """Return the breach of an action that was not the one asked for.

        Args:
            upper: a bound on g there, by its reading; 0 without one.
        """
        t, loop, action = self.t, self.loop, self.input.feedback.action
        away = float(np.linalg.norm(action - loop.x))
        words = f"round {t}: an action {away:.3g} away from the one asked for was played"
        if self.words is not None:
            words = f"round {t}: {self.words.describe_others(loop.x, action)}"
        region = None if loop.info is None else loop.info.region
        if upper <= 0 and region is not None and region.contains(action):
            return Breach(t, "action", f"{words}, which was certified too", "regret")
        if upper > 0:
            words += f", where g may be {upper:.3g}: the return path begins"
        else:
            words += ", which was not certified"
        return Breach(t, "action", words, "regret", away, 0.0)

    # --- the end of a round ----------------------------------------------------------------------

    def _finish(
        self, after: LoopState, how: How, breaches: list[Breach], why: PlainTable
    ) -> Decision:
        """Return the decision with its new breaches, warnings and alarms."""
        before = self.loop.breaches
        constants = {b.constant for b in before}
        new = tuple(b for b in breaches if b.constant not in constants)
        after = after._replace(breaches=(*before, *new))
        if self._is_remeasurement_due(after):
            why["remeasure"] = remeasurement = after.round + 1
            after = after._replace(remeasurement=remeasurement)
        # Certified deviations are logged without a warning.
        loud = any(b.limit is not None or b.constant != "action" for b in new)
        loud = loud and self.run.on_contradiction != "record"
        warning = "; ".join(b.sentence for b in new) if loud else ""
        return Decision(after, how, why, new, warning, tuple(self._list_alarms(after, new, why)))

    def _is_remeasurement_due(self, after: LoopState) -> bool:
        """Return whether the anchor is to be measured again, before drift uses it up."""
        if not self.drift or after.info is None:
            return False
        region = after.info.region
        return region is not None and bool(region.remeasurement_due)

    def _list_alarms(
        self, after: LoopState, new: tuple[Breach, ...], why: PlainTable
    ) -> Iterator[Alarm]:
        """Yield the alarms of a round that is over, those of its new breaches first."""
        t = self.t
        yield from map(_alarm_of, new)
        if self.input.is_missing:
            yield Alarm.of(t, "missing", f"round {t}: nothing was measured")
        if "violations" in why:
            estimate = self.run.estimate(after.state)
            yield Alarm.of(t, "violation", f"round {t}: {self._describe_worst()}; {estimate}")
        if violation := self._halted_violation(after):
            yield Alarm.of(t, "violation", violation)
        if after.remeasurement is not None:
            words = "the anchor is measured again, before drift uses it up"
            yield Alarm.of(t, "remeasure", f"round {after.remeasurement}: {words}")

    def _halted_violation(self, after: LoopState) -> str:
        """Return the alarm of a halted loop that violates; empty for none.

        It is raised in the first violation, and in every tenth round while that lasts.
        """
        halt, worst, before = after.halt, self.input.worst, self.loop.value
        if halt is None or worst is None or not self._judge(worst) > 0:
            return ""
        feedback = self.input.feedback
        least = self.run.bound_reading(self.loop.state, feedback)
        earlier = self.run.bound_reading(
            self.loop.state, feedback._replace(constraint_value=before)
        )
        was_violation = self.loop.halt is not None and earlier is not None and earlier[0] > 0
        since = self.t - halt.round
        if least is None or least[0] <= 0 or (was_violation and since % _REPEAT):
            return ""
        return f"round {self.t}: halted since round {halt.round}, and {self._describe_worst()}"

    def _describe_worst(self) -> str:
        """Return the largest g that was read; of a plant the limits that are violated."""
        words = "" if self.words is None else self.words.describe_violation(self.input.feedback)
        return words or f"g = {self.input.worst:.3g}"


def _alarm_of(breach: Breach) -> Alarm:
    kind = "deviation" if breach.constant == "action" else "contradiction"
    level = logging.WARNING if breach.affects == "regret" else None
    if breach.constant == "action" and breach.limit is None:
        level = logging.INFO
    return Alarm.of(breach.round, kind, breach.sentence, level)


# --- between rounds ------------------------------------------------------------------------------


def _in_context(run: Run, loop: LoopState, context: Context) -> LoopState:
    """Return the state with the context of its round, and the action that is certified in it.

    A loop that is halted after a contradiction goes to the start and asks no region.
    """
    if loop.halt is not None and loop.is_refuted:
        return at_start(run, loop, context)
    state, info = run.algorithm.announce(loop.state, context)
    return loop._replace(state=state, info=info, proof=None, cut=None, refused=())


def at_start(run: Run, loop: LoopState, context: Context | None) -> LoopState:
    """Return the state at the start, in any context; proved if its bound holds in every round.

    A start that was measured above its bound is not proved. Without a bound, fall back to the
    start. A ramp may need several rounds: they are proved by the return path of Theorem R, unless
    what it rests on was contradicted.
    """
    anchor, drift, state = loop.anchor, run.errors.drift, loop.state
    before: Any = state
    reason = "no region is asked" if context is not None else "the context is unknown"
    reason = reason if loop.halt is None else loop.halt.reason
    is_above = any(b.constant == "anchor" for b in loop.breaches)
    start = Anchor(loop.x, math.inf, 0) if anchor is None else anchor
    plan, ramp, knowledge = before.plan, run.algorithm.ramp, run.algorithm.knowledge
    way = find_way(knowledge, plan.origin, start, ramp, plan.origin_holds)
    if way.share < 1.0 and not (context is not None or is_above or loop.is_refuted):
        drift = knowledge.speed  # what was certified in the last context rises by as much
    elif way.share < 1.0 or anchor is None or anchor.ages or is_above:
        way = way._replace(bound=math.inf)
    proof = None
    if way.share < 1.0 or way.bound < math.inf:
        slack = -float(start.value)
        proof = ReturnPath(
            loop.round - 1, "retreated", reason, way.share, 0, slack, drift, way.bound
        )
    after = run.algorithm.stand_at(state, way.point, context, holds=way.bound <= 0.0)
    return loop._replace(state=after, info=None, proof=proof, cut=False, refused=())


def _fallback_query(
    run: Run, t: int, x: Array, bound: float, anchor: Anchor | None, halt: Halt
) -> FallbackQuery:
    """Return the query for a fallback action.

    In contexts the next g is unbounded until its context is announced. The goal is the point of
    the path that the speed allows, and the region of the context decides.
    """
    drift = run.errors.drift
    bound, drift = (math.inf, 0.0) if run.in_contexts else (bound, drift)
    convex = run.has_ways or run.in_contexts
    return FallbackQuery(t, x, bound, anchor, drift, halt.reason, convex, pace=run.pace)


def announce(run: Run, loop: LoopState, context: Context | None) -> Decision:
    """Return the decision after the context of the current round is announced, or again.

    In an unknown context the start is played, as its bound is for every one, or the way to it.
    """
    if context is None:
        after = at_start(run, loop, None)
        is_on_way = isinstance(after.proof, ReturnPath) and after.proof.share < 1.0
        what = "the return path is taken" if is_on_way else "the start is played"
        words = f"round {loop.round}: its context is unknown, and {what}"
        return Decision(after, alarms=(Alarm.of(loop.round, "context", words),))
    try:
        return Decision(_in_context(run, loop, context))
    except (CertificateError, EmptyRegionError) as error:
        breach = Breach(loop.round - 1, "context", str(error), "feasibility")
        words = "not proved: announce another context, or retreat and announce this one again"
        alarm = Alarm.of(loop.round, "refused", f"{error}; the action at hand is {words}")
        if loop.halt is not None and loop.halt.how == "retreated":
            return Decision(at_start(run, loop, context), alarms=(alarm,))
        doubted = loop._replace(state=run.algorithm.doubt(loop.state), refused=(breach,))
        return Decision(doubted, alarms=(alarm,), error=error)


def apply_order(
    run: Run, loop: LoopState, order: Mapping[str, Any], then: Run | None = None
) -> Decision:
    """Return the decision after an order, or after the context of the current round.

    Args:
        run: what is played.
        loop: the state.
        order: its kind, and what a line of the journal has of it.
        then: what is played from then on, if it changes.
    """
    kind, t = order["kind"], loop.round
    if kind == "announce":
        return announce(run, loop, decode(order["context"]))
    reason, level = order["reason"], None
    if kind in ("resume", "amend"):
        after, level = _resume(run, loop, order, then or run), logging.INFO
        what = "resumed" if kind == "resume" else f"amended by {order['by']}"
        how: How = "stepped"
        if after.is_refuted:
            reason, level = f"{reason}; what was contradicted still is: nothing is proved", None
    else:
        how, what = "held" if kind == "hold" else "retreated", f"ordered to {kind}"
        halt = Halt(how, reason, t, order.get("speed"), is_order=True)
        after = _halt(run, loop, halt)._replace(halt=halt)
    alarm = Alarm.of(t, "order", f"round {t}: {what}: {reason}", level)
    return Decision(after, how, alarms=(alarm,))


def _halt(run: Run, loop: LoopState, halt: Halt) -> LoopState:
    """Return the state after an order to hold or to retreat."""
    if halt.speed is not None and not run.has_ways and not run.in_contexts:
        where = "between choices" if run.convex else "where g is not convex"
        rule = f"None {where}: nothing between here and the anchor may be played"
        raise checks.invalid("speed", rule, halt.speed)
    # A rejected round leaves no bound.
    spot = _fallback_query(run, loop.round - 1, loop.x, loop.bound(run), loop.anchor, halt)
    spot = spot._replace(refuted=loop.is_refuted)
    is_unknown = not spot.bound < math.inf and not spot.drift
    # An order to hold is applied, proved or not.
    x, way = spot.stay() if halt.how == "held" and is_unknown else spot.follow(halt)
    if not run.in_contexts:
        after = loop._replace(info=None, proof=way, cut=False)
        if (x == loop.x).all():
            return after
        return after._replace(state=move_to(run.algorithm, loop.state, x), refused=())
    # The goal changes from now on.
    state: Any = run.algorithm.want(loop.state, x)
    after, context = loop._replace(state=state, halt=halt), state.memory.context
    if context is None or (halt.how == "held" and not loop.is_refuted):
        return after
    try:
        return _in_context(run, after, context)
    except (CertificateError, EmptyRegionError):
        return at_start(run, after, context)


def _resume(run: Run, loop: LoopState, order: Mapping[str, Any], then: Run) -> LoopState:
    """Return the state of a loop that goes on, or of a new player at its start."""
    if not order.get("fresh"):
        halt, reason = loop.halt, "what was contradicted still is"
        stands = run.plant is not None and run.on_contradiction == "retreat" and loop.is_refuted
        if stands and halt is not None and halt.is_order:  # the order ends, and nothing else
            return loop._replace(halt=Halt("retreated", reason, loop.round, run.pace))
        return loop._replace(halt=None)
    t, drift, anchor, slack, bound = loop.round, run.errors.drift, loop.anchor, 0.0, math.inf
    if order["kind"] == "amend" and then.standing is not None:
        # What was read before counts no more; the new start is declared safe in every round.
        drift, anchor = then.errors.drift, then.standing
    # It may start there because it is the anchor, or because the user says so.
    since = 0
    if anchor is not None and anchor.ages and run.in_contexts:
        anchor = None  # g differs between contexts
    if anchor is not None and (then.start == anchor.x).all():
        since, bound = int(anchor.round), anchor.level(t, drift)
        slack = -bound
    way = ReturnPath(t - 1, "retreated", order["reason"], 1.0, since, slack, drift, bound)
    halt = loop.halt
    stands = order["kind"] == "amend" and halt is not None and halt.is_order
    halt = halt._replace(how="retreated", speed=None) if stands and halt is not None else None
    after = then.begin(t)
    if then.remembers:
        after = after._replace(state=_unsettle(run, then, after.state))
    return after._replace(proof=way, cut=False, halt=halt)


def _unsettle(run: Run, then: Run, state: Any) -> Any:
    """Return the first state of a player whose plant comes from what was played before.

    Args:
        run: what played before.
        then: what plays from now on.
        state: its state at its start.
    """
    known, reach = then.knowledge, getattr(run.knowledge, "reach", None)
    if known is None or reach is None:
        raise InvalidValueError(
            f"player must come after one that knows how far its actions reach, because readings "
            f"of {then.name} lag behind the action, got {run.name} before it"
        )
    return state._replace(memory=known.unsettle(state.memory, float(np.max(reach))))

"""Decide what is played next: pure, from the state of a loop and what its round was told.

A round is one of four events, each with a method of its own of :class:`Round`:

=============  ===================================  ============================================
event          g fixed                              g rises by at most v per round
=============  ===================================  ============================================
"stepped"      a step of the rule; where it         the same; a contradiction that is held at is
               contradicts something, as the        held at while the bound + k v is at most 0,
               policy says: refuse it, go on,       and then the least way back is taken
               hold or retreat
"missing"      hold: proved for ever; or retreat    hold while the bound allows that, then the
                                                    least way back
"halted"       hold or retreat, as was ordered      the same
"outside"      from an action of one's own that     the same, with the slack as it is now
               was measured with g > 0: back
=============  ===================================  ============================================

Holding and the way back are proved in :mod:`surefoot.controller.way_back`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import Breach, PremiseError
from surefoot.controller.alarms import Alarm, AlarmKind
from surefoot.controller.causes import causes_of
from surefoot.controller.feedback import Told
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.way_back import Halt, How, Spot, Stand, WayBack, risen
from surefoot.core import checks
from surefoot.core.algorithm import locate, rest
from surefoot.core.errors import InvalidValueError
from surefoot.core.plain import PlainTable
from surefoot.core.types import Array, Certificate, Context, Feedback, Info, State
from surefoot.regions import Anchor, EmptyRegionError, StandingAnchor

__all__ = ["Decision", "announce", "at_start", "decide", "order", "resume"]

# Of the anchor's slack, what a way back from outside restores.
_HALF = 0.5


class Decision(NamedTuple):
    """What follows a round, an order, or a round that is refused.

    Attributes:
        loop: the next state.
        how: its action came about.
        why: what the journal keeps of the reason.
        breaches: the contradictions that are new.
        warnings: what the caller is warned of.
        alarms: what somebody should hear.
        error: why the round is refused; then the loop is in the same round.
    """

    loop: LoopState
    how: How = "stepped"
    why: Mapping[str, Any] = {}
    breaches: tuple[Breach, ...] = ()
    warnings: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    error: Exception | None = None


def decide(run: Run, loop: LoopState, told: Told) -> Decision:
    """Return what follows a round.

    Args:
        run: what is played.
        loop: the state in which the round was played.
        told: what it was told.

    Raises:
        InvalidValueError: for feedback that the rule does not take.
        EmptyRegionError: where no next action is certified; a drifting g is refused instead.
        PremiseError: without a measurement, if the policy is "raise".
    """
    decided = Round(run, loop, told)
    if told.is_missing:
        return decided.go_without()
    if loop.halt is not None:
        return decided.stay_halted(loop.halt)
    if told.feedback.action is not None and (decided.upper or 0.0) > 0:
        return decided.return_from_outside()
    return decided.step()


def take_step(run: Run, state: State, feedback: Feedback) -> tuple[State, Info]:
    """Take a step of the rule: the one place where that is done."""
    if run.compiled is not None:
        found = run.compiled.step(run.algorithm, state, feedback)
        if found is not None:
            return found[0], found[1]
    # Numbers may be of any size; what overflows is refused, so NumPy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        after, info = run.algorithm.step(state, feedback)
    checks.refuse_unfinite(after.x, "the next action")
    return after, info


class Round:
    """A round that is decided.

    Args:
        run: what is played.
        loop: the state in which the round was played.
        told: what it was told.
    """

    __slots__ = ("drift", "loop", "run", "t", "told")

    def __init__(self, run: Run, loop: LoopState, told: Told) -> None:
        self.run, self.loop, self.told = run, loop, told
        self.t, self.drift = loop.round, run.errors.drift

    # --- what was measured, and where ------------------------------------------------------------

    @property
    def here(self) -> LoopState:
        """The state at the action that was played."""
        played, state = self.told.feedback.action, self.loop.state
        if played is None:
            return self.loop
        moved: Any = state
        return self.loop._replace(state=moved._replace(x=played))

    @property
    def read(self) -> Feedback:
        """What was measured, with the action that it belongs to and its age."""
        return locate(self.run.algorithm, self.loop.state, self.told.feedback)

    @property
    def measured(self) -> Anchor | None:
        """The action that was measured, with the bound on g there in its round."""
        read, errors = self.read, self.run.errors
        if read.constraint_value is None:
            return None
        error = errors.value if read.value_error is None else read.value_error
        upper = float(np.max(read.constraint_value) + error + errors.evaluation)
        return Anchor(read.action, upper, self.t - read.age)

    @property
    def upper(self) -> float | None:
        """The largest that g can have been at the action played; None if not measured."""
        found = self.measured
        is_there = found is not None and (found.x == self.told.feedback.action).all()
        return float(found.value) if found is not None and is_there else None

    def bound_by_reading(self, otherwise: float) -> float:
        """Return the bound that a measurement gives at the action of the round, if it was there."""
        found = self.measured
        if found is None or not (found.x == self.here.x).all():
            return otherwise
        return float(found.level(self.t, self.drift))

    @property
    def anchor(self) -> Anchor | None:
        """The anchor with the round added: the first that was measured, or, under drift, better."""
        anchor, played = self.loop.anchor, self.told.feedback.action
        if self.told.is_missing or isinstance(anchor, StandingAnchor):
            return anchor
        if anchor is not None and self.run.compiled is not None and not self.drift:
            x = self.loop.x if played is None else played
            if x[0] != anchor.x[0]:  # most rounds of a fixed g are told elsewhere
                return anchor
        found = self.measured
        if found is None:
            return anchor
        value = found.level(self.t, self.drift)
        if anchor is None:
            return found if value < 0 else None
        if (found.x == anchor.x).all():  # measured anew: what is true now counts, better or worse
            return found
        return found if self.drift and value < anchor.level(self.t, self.drift) else anchor

    # --- a step of the rule ----------------------------------------------------------------------

    def step(self) -> Decision:
        """Return what follows a step of the rule, and what it contradicts."""
        run, loop, seen = self.run, self.loop, self.told.feedback
        try:
            state, info = take_step(run, loop.state, seen)
        except EmptyRegionError as error:
            if not self.drift and not run.in_contexts:
                raise
            # Drift, or the next context, may have taken the action outside by the next round.
            what = "drift" if self.drift else "context"
            return self._refuse((Breach(self.t, what, str(error), "feasibility"),), error)
        found = self._broken_premises()
        if sentences := info.contradictions:  # which stand for the premises on the constraint
            found = [b for b in found if b.constant not in ("G_g", "the bound on g")]
            found.append(Breach(self.t, "constants", sentences[0], "both"))
        if seen.action is not None:
            found.append(self._deviation(self.upper))
        if any(b.affects != "regret" for b in found):
            return self._contradicted(state, info, found)
        return self._stepped(state, info, found, {})

    def _stepped(self, state: State, info: Info, found: list[Breach], why: PlainTable) -> Decision:
        loop, seen = self.loop, self.told.feedback
        regret = loop.regret
        if regret is not None:
            regret = None if seen.action is not None else regret.after(info)
        known = (regret, self.anchor, None, loop.breaches, loop.uncovered)
        after = LoopState(self.t + 1, state, info, None, None, seen.constraint_value, *known)
        outside = self._count_outside(state)
        if not found and not self.drift and not outside:  # the usual round
            return Decision(after, "stepped", why)
        return self._finish(after, "stepped", found, why | outside)

    def _count_outside(self, state: State) -> dict[str, int]:
        """Return how many rounds were outside, if this one was and the player knows of that."""
        after, before = self.run.estimate(state), self.run.estimate(self.loop.state)
        if after is None or before is None or after.outside == before.outside:
            return {}
        return {"outside": after.outside}

    def _broken_premises(self) -> list[Breach]:
        """Return the premises of the guarantee that the round breaks, and none did before."""
        guarantee, told, t = self.run.guarantee, self.told, self.t
        if guarantee is None:
            return []
        gone, found = {b.constant for b in self.loop.breaches}, []
        for premise in self.run.premises:
            if premise.constant not in gone:
                seen, counts = premise.observe(float(t), told.gradient, told.worst, told.steepness)
                if counts and seen is not None and premise.is_broken_by(seen):
                    found.append(premise.breach(t, seen))
        if found or told.worst is None or told.worst <= 0 or not self.loop.is_safe:
            return found
        c = guarantee.constants
        # The bound is on g itself, of which a reading may err; and it is one of real arithmetic.
        bound = float(guarantee.bounds(t).get("round", math.inf)) + (c.value_error or 0.0)
        if told.worst > bound + 1e-12 * (abs(bound) + (c.G_g or 0.0) * c.R):
            sentence = (
                f"round {t}: g = {told.worst:.6g} is above the bound {bound:.6g} of "
                f"{guarantee.name}: a constant is wrong, or g is not convex"
            )
            found.append(Breach(t, "the bound on g", sentence, "both"))
        return found

    def _contradicted(self, state: State, info: Info, found: list[Breach]) -> Decision:
        """Return what the policy says after a contradiction that feasibility rests on."""
        run, read, anchor = self.run, self.read, self.anchor  # of the first round it is its own
        serious = tuple(b for b in found if b.affects != "regret")
        bound = math.inf
        if (read.action == self.here.x).all():
            bound = self.loop._replace(refused=()).bound(run)
        sentence, policy = serious[0].sentence, run.on_contradiction
        slack = 0.0 if anchor is None else -anchor.value
        causes = causes_of(run.knowledge, read, bound, self.loop.anchor, slack, info, sentence)
        if policy == "raise":
            words = ", ".join(f"({i}) {cause}" for i, cause in enumerate(causes, start=1))
            words = f"{sentence}; the likely causes, the likeliest first: {words}"
            return self._refuse(serious, PremiseError(words, causes))
        why: PlainTable = {"causes": list(causes)}
        if policy not in ("hold", "retreat") or self.told.worst is None:
            return self._stepped(state, info, found, why)
        how: How = "retreated" if policy == "retreat" else "held"
        halt = Halt(how, sentence.partition(": ")[2] or sentence, self.t)
        if run.in_contexts:
            return self._stand_in_context(how, found, why | {"policy": policy}, halt)
        # Of an action that was not measured nothing is known then.
        spot = self._spot(self.bound_by_reading(math.inf), anchor, halt.reason)
        stand = spot.back() if how == "retreated" else spot.held(_HALF)
        return self._stand(stand, found, why | {"policy": policy}, halt)

    def _refuse(self, broken: tuple[Breach, ...], error: Exception) -> Decision:
        """Return the same round, refused: what was known of its action does not stand."""
        words = (
            f"{broken[0].sentence}; that round was refused, and its action is not proved any more: "
            "retreat, or resume with a player"
        )
        alarm = Alarm.of(self.t, "refused", words)
        return Decision(self.loop._replace(refused=broken), alarms=(alarm,), error=error)

    # --- without a step of the rule --------------------------------------------------------------

    def go_without(self) -> Decision:
        """Return what follows a round that nobody measured."""
        policy, loop = self.run.on_missing, self.loop
        if policy == "raise" and loop.halt is None:
            raise PremiseError(f"round {self.t}: nothing was measured, and on_missing is 'raise'")
        # An action that rests on a guess may be outside, and is not held unseen.
        bound = loop.bound(self.run)
        guessed = self.run.estimate(loop.state) is not None and bound > 0
        how: How = "retreated" if policy == "retreat" or guessed else "held"
        halt = loop.halt or Halt(how, "no measurement", self.t)
        lost = f"round {self.t}: nothing was measured"
        if self.run.in_contexts:
            why: PlainTable = {"policy": policy}
            return self._stand_in_context(halt.how, [], why, loop.halt, lost, halt.speed)
        spot = self._spot(bound, loop.anchor, halt.reason)
        stand = spot.back(halt.speed) if halt.how == "retreated" else spot.held()
        return self._stand(stand, [], {"policy": policy}, loop.halt, lost)

    def stay_halted(self, halt: Halt) -> Decision:
        """Return what follows a round of a loop that nothing moves, or only back."""
        lost, why = f"round {self.t}: halted", {"policy": "halted"}
        if self.run.in_contexts:
            return self._stand_in_context(halt.how, [], why, halt, lost, halt.speed)
        bound = self.bound_by_reading(self.loop.bound(self.run))
        spot = self._spot(bound, self.anchor, halt.reason)
        stand = spot.back(halt.speed) if halt.how == "retreated" else spot.held(_HALF)
        return self._stand(stand, self._shifted_anchor(), why, halt, lost)

    def return_from_outside(self) -> Decision:
        """Return the way back from an action of one's own that is not feasible."""
        upper, anchor = self.upper, self.loop.anchor
        assert upper is not None
        if anchor is None:
            raise InvalidValueError(
                "the first action must be strictly feasible, or there is no way back, "
                f"got g = {upper:g}"
            )
        own = self._deviation(upper)
        if self.run.in_contexts:
            why: PlainTable = {"policy": "outside"}
            return self._stand_in_context("held", [own], why, self.loop.halt)
        stand = self._spot(upper, anchor, own.sentence.partition(": ")[2]).held(_HALF)
        return self._stand(stand, [own], {"policy": "outside"}, self.loop.halt)

    def _spot(self, bound: float, anchor: Anchor | None, reason: str) -> Spot:
        """Return where the next action is looked for."""
        place = (self.t, self.here.x, risen(bound, self.drift), anchor)
        return Spot(*place, self.drift, reason, self.run.convex)

    def _stand(
        self,
        stand: Stand,
        found: list[Breach],
        why: PlainTable,
        halt: Halt | None,
        lost: str | None = None,
    ) -> Decision:
        """Return what follows a round after which the rule takes no step."""
        (x, way), loop = stand, self.loop
        state = rest(self.run.algorithm, self.here.state, x)
        known = (None, self.anchor, halt, loop.breaches, loop.uncovered or lost)
        value = self.told.feedback.constraint_value
        after = LoopState(self.t + 1, state, None, way, False, value, *known)
        return self._finish(after, way.how, found, why)

    def _stand_in_context(
        self,
        how: How,
        found: list[Breach],
        why: PlainTable,
        halt: Halt | None,
        lost: str | None = None,
        speed: float | None = None,
    ) -> Decision:
        """Return the same where g is another one in the next round.

        To hold is to stay as near as its context allows, and the way back leads to the start.
        """
        loop, here, seen = self.loop, self.here, self.told.feedback
        goal = here.x if how == "held" else _way_home(loop, here.x, speed)
        after = loop._replace(state=rest(self.run.algorithm, here.state, goal))
        known = (None, self.anchor, halt, loop.breaches, loop.uncovered or lost)
        after = LoopState(self.t + 1, after.state, None, None, False, seen.constraint_value, *known)
        if seen.context is not None:
            try:
                after = _in_context(self.run, after, seen.context)
            except EmptyRegionError as error:
                if not loop.refused:
                    broken = Breach(self.t, "context", str(error), "feasibility")
                    return self._refuse((broken,), error)
                after = at_start(self.run, after, seen.context)
        return self._finish(after, how, found, why)

    def _shifted_anchor(self) -> list[Breach]:
        """Return a breach if the slack of the anchor, measured anew, is not what it was.

        It may be smaller by the drift since then, and by the errors of both values.
        """
        t, errors, anchor, read = self.t, self.run.errors, self.loop.anchor, self.read
        if anchor is None or read.constraint_value is None or not (read.action == anchor.x).all():
            return []
        slack = 0.0 - float(np.max(read.constraint_value))
        error = errors.value if read.value_error is None else read.value_error
        least = -anchor.level(t - read.age, errors.drift) - error - errors.evaluation
        if slack >= least - 1e-12 * abs(anchor.value):
            return []
        sentence = (
            f"round {t}: the slack of the anchor is {slack:.6g}, and was {-anchor.value:.6g} in "
            f"round {anchor.round}: g is not the same, or drifts faster than was told"
        )
        return [Breach(t, "anchor", sentence, "both", slack, least)]

    def _deviation(self, upper: float | None) -> Breach:
        """Return what is to be said of an action that was not the one asked for.

        Args:
            upper: g there at most; None where it was not told.
        """
        t, loop, played = self.t, self.loop, self.told.feedback.action
        away = float(np.linalg.norm(played - loop.x))
        words = f"round {t}: an action {away:.3g} away from the one asked for was played"
        region = None if loop.info is None else loop.info.region
        if region is not None and region.contains(played):
            return Breach(t, "action", f"{words}, which was certified too", "regret")
        if upper is not None and upper > 0:
            words += f", where g may be {upper:.3g}: the way back begins"
        else:
            words += ", which was not certified"
        return Breach(t, "action", words, "regret", away, 0.0)

    # --- the end of a round ----------------------------------------------------------------------

    def _finish(self, after: LoopState, how: How, found: list[Breach], why: PlainTable) -> Decision:
        """Return the decision with its new breaches, warnings and alarms."""
        loop, t = self.loop, self.t
        known = {b.constant for b in loop.breaches}
        new = tuple(b for b in found if b.constant not in known)
        after = after._replace(breaches=(*loop.breaches, *new))
        alarms = [_alarm_of(b) for b in new]
        if self.told.is_missing:
            alarms.append(Alarm.of(t, "missing", f"round {t}: nothing was measured"))
        if "outside" in why:
            left = self.run.estimate(after.state)
            alarms.append(Alarm.of(t, "outside", f"round {t}: g = {self.told.worst:.3g}; {left}"))
        region = None if after.info is None else after.info.region
        if self.drift and region is not None and region.visit_due:
            why["visit"] = visit = after.round + 1
            after = after._replace(visit=visit)
            words = (
                f"round {visit}: the anchor is visited, to be measured again before drift uses it "
                "up"
            )
            alarms.append(Alarm.of(t, "visit", words))
        # An action that was certified too is written down, and no more.
        loud = any(b.limit is not None or b.constant != "action" for b in new)
        warnings: tuple[str, ...] = ()
        if loud and self.run.on_contradiction != "record":
            warnings = ("; ".join(b.sentence for b in new),)
        return Decision(after, how, why, new, warnings, tuple(alarms))


def _alarm_of(breach: Breach) -> Alarm:
    kind: AlarmKind = "deviation" if breach.constant == "action" else "contradiction"
    level = logging.WARNING if breach.affects == "regret" else None
    if breach.constant == "action" and breach.limit is None:
        level = logging.INFO
    return Alarm.of(breach.round, kind, breach.sentence, level)


# --- between rounds ------------------------------------------------------------------------------


def _in_context(run: Run, loop: LoopState, context: Context) -> LoopState:
    """Return the state with the context of its round, and the action that is certified in it."""
    state, info = run.algorithm.announce(loop.state, context)
    return loop._replace(state=state, info=info, certificate=None, cut=None, refused=())


def at_start(run: Run, loop: LoopState, context: Context) -> LoopState:
    """Return the state where nothing is proved in its context: the start is what is least wrong."""
    state: Any = loop.state
    memory = run.algorithm.knowledge.announce(state.memory, context)
    state = state._replace(x=_way_home(loop, loop.x, None), memory=memory)
    return loop._replace(state=state, info=None, certificate=None, cut=False)


def _way_home(loop: LoopState, x: Array, speed: float | None) -> Array:
    """Return the point of the way from x to the start that is so far along it."""
    start = x if loop.anchor is None else loop.anchor.x
    far = float(np.linalg.norm(start - x))
    return start if speed is None or far <= speed else x + (speed / far) * (start - x)


def announce(run: Run, loop: LoopState, context: Context) -> Decision:
    """Return what follows when the context of the current round is told, or told anew."""
    try:
        return Decision(_in_context(run, loop, context))
    except EmptyRegionError as error:
        found = Breach(loop.round - 1, "context", str(error), "feasibility")
        words = f"{error}; the action at hand is not proved: retreat, or announce another context"
        alarm = Alarm.of(loop.round, "refused", words)
        return Decision(loop._replace(refused=(found,)), alarms=(alarm,), error=error)


def _order_in_context(
    run: Run, loop: LoopState, reason: str, how: How, speed: float | None
) -> Decision:
    """Return what follows an order where contexts are told: what is wanted is another action."""
    state: Any = loop.state
    goal = loop.x if how == "held" else _way_home(loop, loop.x, speed)
    after = loop._replace(state=state._replace(plan=state.plan._replace(wish=goal)))
    if how == "retreated" and state.memory.context is not None:
        try:
            after = _in_context(run, after, state.memory.context)
        except EmptyRegionError:
            after = at_start(run, after, state.memory.context)
    after = after._replace(halt=Halt(how, reason, loop.round, speed))
    words = f"round {loop.round}: ordered to {'hold' if how == 'held' else 'retreat'}: {reason}"
    return Decision(after, how, alarms=(Alarm.of(loop.round, "order", words),))


def order(run: Run, loop: LoopState, reason: str, how: How, speed: float | None) -> Decision:
    """Return what follows an operator's order to hold or to retreat."""
    if run.in_contexts:
        return _order_in_context(run, loop, reason, how, speed)
    # Nothing is known where a round was refused.
    if speed is not None and not run.convex:
        raise InvalidValueError(
            "speed rests on the convexity of g: between here and the anchor nothing is known, "
            f"got {speed!r} and convex = False"
        )
    bound, drift = loop.bound(run), run.errors.drift
    spot = Spot(loop.round - 1, loop.x, bound, loop.anchor, drift, reason, run.convex)
    x, way = spot.held() if how == "held" else spot.back(speed)
    after = loop._replace(info=None, certificate=way, cut=False)
    if not (x == loop.x).all():
        state: Any = loop.state
        after = after._replace(state=state._replace(x=x), refused=())
    after = after._replace(halt=Halt(how, reason, loop.round, speed))
    words = f"round {loop.round}: ordered to {'hold' if how == 'held' else 'retreat'}: {reason}"
    return Decision(after, how, alarms=(Alarm.of(loop.round, "order", words),))


def resume(run: Run, loop: LoopState, before: Run, reason: str, *, fresh: bool) -> Decision:
    """Return what follows an order to go on.

    Args:
        run: what is played from now on.
        loop: the state.
        before: what was played.
        reason: in words.
        fresh: whether the player is a new one, which starts at the start of the run.
    """
    after = loop._replace(halt=None)
    if fresh:
        way = _way_to(before, loop, run.start, reason)
        after = run.begin(loop.round)._replace(certificate=way, cut=False)
    words = f"round {loop.round}: resumed: {reason}"
    alarm = Alarm.of(loop.round, "order", words, logging.INFO)
    return Decision(after, alarms=(alarm,))


def _way_to(run: Run, loop: LoopState, x: Array, reason: str) -> Certificate:
    """Return why a new player may start at x: it is the anchor, or the user says so."""
    t, drift, anchor = loop.round, run.errors.drift, loop.anchor
    moves = run.in_contexts and not isinstance(anchor, StandingAnchor)
    if anchor is None or moves or not (x == anchor.x).all():
        return WayBack(t - 1, "retreated", reason, 1.0, 0, 0.0, drift, math.inf)
    slack = -anchor.level(t, drift)
    return WayBack(t - 1, "retreated", reason, 1.0, int(anchor.round), slack, drift, -slack)

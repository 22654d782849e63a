"""Decide what is played next: pure, from the state of a loop and what its round was told.

A round is one of four events, each with a function of its own:

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
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.algorithms import Breach, PremiseError
from surefoot.controller.alarms import Alarm, AlarmKind
from surefoot.controller.causes import causes_of
from surefoot.controller.feedback import Told
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.way_back import Halt, How, Spot, WayBack, risen
from surefoot.core import checks
from surefoot.core.algorithm import locate, rest
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Certificate, Feedback, Info, State
from surefoot.regions import Anchor, EmptyRegionError, StandingAnchor

__all__ = ["Decision", "decide", "order", "resume"]

Event: TypeAlias = Literal["stepped", "missing", "halted", "outside"]

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
    return EVENTS[_event_of(run, loop, told)](run, loop, told)


def _event_of(run: Run, loop: LoopState, told: Told) -> Event:
    if told.is_missing:
        return "missing"
    if loop.halt is not None:
        return "halted"
    if told.feedback.action is not None:
        upper = _upper_at_action(run, loop, told)
        if upper is not None and upper > 0:
            return "outside"
    return "stepped"


# --- a step of the rule --------------------------------------------------------------------------


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


def decide_step(run: Run, loop: LoopState, told: Told) -> Decision:
    """Return what follows a step of the rule, and what it contradicts."""
    try:
        state, info = take_step(run, loop.state, told.feedback)
    except EmptyRegionError as error:
        if not run.errors.drift:
            raise
        # Drift may have taken the action outside by the next round.
        breach = Breach(loop.round, "drift", str(error), "feasibility")
        return _refuse(loop, (breach,), error)
    found = _contradictions(run, loop, told, info)
    played = told.feedback.action
    if played is not None:
        found.append(_deviation(loop, played, _upper_at_action(run, loop, told)))
    if any(b.affects != "regret" for b in found):
        return _decide_contradiction(run, loop, told, state, info, found)
    return _stepped(run, loop, told, state, info, found, {})


def _stepped(
    run: Run,
    loop: LoopState,
    told: Told,
    state: State,
    info: Info,
    found: list[Breach],
    why: dict[str, Any],
) -> Decision:
    regret, seen = loop.regret, told.feedback
    if regret is not None:
        regret = None if seen.action is not None else regret.after(info)
    anchor = _anchor_after(run, loop, told)
    known = (loop.breaches, loop.uncovered)
    after = LoopState(
        loop.round + 1, state, info, None, None, seen.constraint_value, regret, anchor, None, *known
    )
    if not found and not run.errors.drift:  # the usual round
        return Decision(after, "stepped", why)
    return _finish(run, loop, told, after, "stepped", found, why)


def _contradictions(run: Run, loop: LoopState, told: Told, info: Info) -> list[Breach]:
    """Return what a step contradicts: what the rule says itself stands for the constraint's."""
    found = _broken_premises(run, loop, told)
    if sentences := info.contradictions:
        found = [b for b in found if b.constant not in ("G_g", "the bound on g")]
        found.append(Breach(loop.round, "constants", sentences[0], "both"))
    return found


def _broken_premises(run: Run, loop: LoopState, told: Told) -> list[Breach]:
    """Return the premises of the guarantee that a round breaks, and were not broken before."""
    guarantee, t = run.guarantee, loop.round
    if guarantee is None:
        return []
    gone, found = {b.constant for b in loop.breaches}, []
    for premise in run.premises:
        if premise.constant not in gone:
            seen, counts = premise.observe(float(t), told.gradient, told.worst, told.steepness)
            if counts and seen is not None and premise.is_broken_by(seen):
                found.append(premise.breach(t, seen))
    if found or told.worst is None or told.worst <= 0 or not loop.is_safe:
        return found
    c = guarantee.constants
    # The bound is on g itself, of which a reading may err; and it is one of real arithmetic.
    bound = float(guarantee.bounds(t).get("round", math.inf)) + (c.value_error or 0.0)
    if told.worst > bound + 1e-12 * (abs(bound) + (c.G_g or 0.0) * c.R):
        sentence = (
            f"round {t}: g = {told.worst:.6g} is above the bound {bound:.6g} of {guarantee.name}: "
            "a constant is wrong, or g is not convex"
        )
        found.append(Breach(t, "the bound on g", sentence, "both"))
    return found


def _decide_contradiction(
    run: Run, loop: LoopState, told: Told, state: State, info: Info, found: list[Breach]
) -> Decision:
    """Return what the policy says after a contradiction that feasibility rests on."""
    serious = tuple(b for b in found if b.affects != "regret")
    here = _at_action(loop, told)
    read, known = _locate(run, loop, told), loop._replace(refused=())
    bound = known.bound(run) if (read.action == here.x).all() else math.inf
    anchor = anchor_after(run, loop, read)  # the first round is its own
    sentence, policy = serious[0].sentence, run.on_contradiction
    slack = 0.0 if anchor is None else -anchor.value
    causes = causes_of(run.knowledge, read, bound, loop.anchor, slack, info, sentence)
    if policy == "raise":
        words = ", ".join(f"({i}) {cause}" for i, cause in enumerate(causes, start=1))
        words = f"{sentence}; the likely causes, the likeliest first: {words}"
        return _refuse(loop, serious, PremiseError(words, causes))
    why: dict[str, Any] = {"causes": list(causes)}
    if policy not in ("hold", "retreat") or told.worst is None:
        return _stepped(run, loop, told, state, info, found, why)
    # Of an action that was not measured nothing is known then.
    reason = sentence.partition(": ")[2] or sentence
    how: How = "retreated" if policy == "retreat" else "held"
    spot = _spot(run, here, _bound_by(run, loop, told, math.inf), anchor, reason)
    stand = spot.back() if how == "retreated" else spot.held(_HALF)
    halt = Halt(how, reason, loop.round)
    return _stand(run, loop, told, stand, found, why | {"policy": policy}, halt)


def _refuse(loop: LoopState, broken: tuple[Breach, ...], error: Exception) -> Decision:
    """Return the same round, refused: what was known of its action does not stand."""
    after = loop._replace(refused=broken)
    words = (
        f"{broken[0].sentence}; that round was refused, and its action is not proved any more: "
        "retreat, or resume with a player"
    )
    return Decision(after, alarms=(Alarm.of(loop.round, "refused", words),), error=error)


# --- without a step of the rule ------------------------------------------------------------------


def decide_missing(run: Run, loop: LoopState, told: Told) -> Decision:
    """Return what follows a round that nobody measured."""
    policy, t = run.on_missing, loop.round
    if policy == "raise" and loop.halt is None:
        raise PremiseError(f"round {t}: nothing was measured, and on_missing is 'raise'")
    how: How = "retreated" if policy == "retreat" else "held"
    halt = loop.halt or Halt(how, "no measurement", t)
    spot = _spot(run, loop, loop.bound(run), loop.anchor, halt.reason)
    stand = spot.back(halt.speed) if halt.how == "retreated" else spot.held()
    lost = f"round {t}: nothing was measured"
    return _stand(run, loop, told, stand, [], {"policy": policy}, loop.halt, lost)


def decide_halted(run: Run, loop: LoopState, told: Told) -> Decision:
    """Return what follows a round of a loop that nothing moves, or only back."""
    read, halt = _locate(run, loop, told), loop.halt
    assert halt is not None
    found = _shifted_anchor(run, loop, read)
    anchor = anchor_after(run, loop, read)
    bound = _bound_by(run, loop, told, loop.bound(run))
    spot = _spot(run, _at_action(loop, told), bound, anchor, halt.reason)
    stand = spot.back(halt.speed) if halt.how == "retreated" else spot.held(_HALF)
    lost = f"round {loop.round}: halted"
    return _stand(run, loop, told, stand, found, {"policy": "halted"}, halt, lost)


def decide_outside(run: Run, loop: LoopState, told: Told) -> Decision:
    """Return the way back from an action of one's own that is not feasible."""
    upper = _upper_at_action(run, loop, told)
    assert upper is not None
    if loop.anchor is None:
        raise InvalidValueError(
            "the first action must be strictly feasible, or there is no way back, "
            f"got g = {upper:g}"
        )
    own = _deviation(loop, told.feedback.action, upper)
    reason = own.sentence.partition(": ")[2]
    stand = _spot(run, _at_action(loop, told), upper, loop.anchor, reason).held(_HALF)
    return _stand(run, loop, told, stand, [own], {"policy": "outside"}, loop.halt)


EVENTS: dict[Event, Callable[[Run, LoopState, Told], Decision]] = {
    "stepped": decide_step,
    "missing": decide_missing,
    "halted": decide_halted,
    "outside": decide_outside,
}


def _spot(run: Run, loop: LoopState, bound: float, anchor: Anchor | None, reason: str) -> Spot:
    """Return where the next action is looked for after a round."""
    drift = run.errors.drift
    return Spot(loop.round, loop.x, risen(bound, drift), anchor, drift, reason, run.convex)


def _stand(
    run: Run,
    loop: LoopState,
    told: Told,
    stand: tuple[Array, WayBack],
    found: list[Breach],
    why: dict[str, Any],
    halt: Halt | None,
    lost: str | None = None,
) -> Decision:
    """Return what follows a round after which the rule takes no step."""
    x, way = stand
    state = rest(run.algorithm, _at_action(loop, told).state, x)
    after = LoopState(loop.round + 1, state, None, way, False, told.feedback.constraint_value)
    anchor, uncovered = _anchor_after(run, loop, told), loop.uncovered or lost
    after = after._replace(anchor=anchor, halt=halt, breaches=loop.breaches, uncovered=uncovered)
    return _finish(run, loop, told, after, way.how, found, why)


def _finish(
    run: Run,
    loop: LoopState,
    told: Told,
    after: LoopState,
    how: How,
    found: list[Breach],
    why: dict[str, Any],
) -> Decision:
    """Return the decision with its new breaches, warnings and alarms."""
    known = {b.constant for b in loop.breaches}
    new = tuple(b for b in found if b.constant not in known)
    after = after._replace(breaches=(*loop.breaches, *new))
    alarms = [_alarm_of(b) for b in new]
    if told.is_missing:
        alarms.append(Alarm.of(loop.round, "missing", f"round {loop.round}: nothing was measured"))
    if (visit := _visit_after(run, after)) is not None:
        after = after._replace(visit=visit)
        why["visit"] = visit
        words = (
            f"round {visit}: the anchor is visited, to be measured again before drift uses it up"
        )
        alarms.append(Alarm.of(loop.round, "visit", words))
    warnings: tuple[str, ...] = ()
    if new:
        sentences = [b.sentence for b in new]
        # An action that was certified too is written down, and no more.
        loud = any(b.limit is not None or b.constant != "action" for b in new)
        if loud and run.on_contradiction != "record":
            warnings = ("; ".join(sentences),)
    return Decision(after, how, why, new, warnings, tuple(alarms))


def _alarm_of(breach: Breach) -> Alarm:
    kind: AlarmKind = "deviation" if breach.constant == "action" else "contradiction"
    level = logging.WARNING if breach.affects == "regret" else None
    if breach.constant == "action" and breach.limit is None:
        level = logging.INFO
    return Alarm.of(breach.round, kind, breach.sentence, level)


def _visit_after(run: Run, after: LoopState) -> int | None:
    """Return the round in which the anchor is to be visited, announced a round before."""
    if not run.errors.drift or after.info is None or after.info.region is None:
        return None
    return after.round + 1 if after.info.region.visit_due else None


# --- what was measured, and where ----------------------------------------------------------------


def _at_action(loop: LoopState, told: Told) -> LoopState:
    """Return the state at the action that was played."""
    played = told.feedback.action
    if played is None:
        return loop
    state: Any = loop.state
    return loop._replace(state=state._replace(x=played))


def _locate(run: Run, loop: LoopState, told: Told) -> Feedback:
    """Return what was measured, with the action that it belongs to and its age."""
    return locate(run.algorithm, loop.state, told.feedback)


def upper_bound(run: Run, read: Feedback) -> float:
    """Return what the true g is at most, where it was read."""
    error = run.errors.value if read.value_error is None else read.value_error
    return float(np.max(read.constraint_value) + error + run.errors.evaluation)


def _measured(run: Run, loop: LoopState, read: Feedback) -> Anchor | None:
    """Return the action that was measured, with the bound on g there in its round."""
    if read.constraint_value is None:
        return None
    return Anchor(read.action, upper_bound(run, read), loop.round - read.age)


def _bound_by(run: Run, loop: LoopState, told: Told, otherwise: float) -> float:
    """Return the bound that a measurement gives at the action of the round, if it was there."""
    found = _measured(run, loop, _locate(run, loop, told))
    if found is None or not (found.x == _at_action(loop, told).x).all():
        return otherwise
    return float(found.level(loop.round, run.errors.drift))


def _upper_at_action(run: Run, loop: LoopState, told: Told) -> float | None:
    """Return the largest that g can have been at the action played; None if not measured."""
    read = _locate(run, loop, told)
    if read.constraint_value is None or not (read.action == told.feedback.action).all():
        return None
    return upper_bound(run, read)


def _anchor_after(run: Run, loop: LoopState, told: Told) -> Anchor | None:
    """Return the anchor with a round added; most rounds of a fixed g are told elsewhere."""
    anchor = loop.anchor
    if told.is_missing:
        return anchor
    if anchor is not None and run.compiled is not None and not run.errors.drift:
        x = loop.x if told.feedback.action is None else told.feedback.action
        if x[0] != anchor.x[0]:
            return anchor
    return anchor_after(run, loop, _locate(run, loop, told))


def anchor_after(run: Run, loop: LoopState, read: Feedback) -> Anchor | None:
    """Return the anchor with a round added: the first that was measured, or, under drift, better.

    Args:
        run: what is played.
        loop: before the round is over.
        read: what was measured, and at which action.
    """
    anchor, found, drift = loop.anchor, _measured(run, loop, read), run.errors.drift
    if found is None or isinstance(anchor, StandingAnchor):
        return anchor
    if anchor is not None and not drift and not (found.x == anchor.x).all():
        return anchor
    value = found.level(loop.round, drift)
    if anchor is None:
        return found if value < 0 else None
    if (found.x == anchor.x).all():  # measured anew: what is true now counts, for better or worse
        return found
    return found if value < anchor.level(loop.round, drift) else anchor


def _shifted_anchor(run: Run, loop: LoopState, read: Feedback) -> list[Breach]:
    """Return a breach if the slack of the anchor, measured anew, is not what it was.

    It may be smaller by the drift since then, and by the errors of both values.
    """
    t, errors, anchor = loop.round, run.errors, loop.anchor
    if anchor is None or read.constraint_value is None or not (read.action == anchor.x).all():
        return []
    slack = 0.0 - float(np.max(read.constraint_value))
    error = errors.value if read.value_error is None else read.value_error
    least = -anchor.level(t - read.age, errors.drift) - error - errors.evaluation
    if slack >= least - 1e-12 * abs(anchor.value):
        return []
    sentence = (
        f"round {t}: the slack of the anchor is {slack:.6g}, and was {-anchor.value:.6g} in round "
        f"{anchor.round}: g is not the same, or drifts faster than was told"
    )
    return [Breach(t, "anchor", sentence, "both", slack, least)]


def _deviation(loop: LoopState, played: Array, upper: float | None) -> Breach:
    """Return what is to be said of an action that was not the one asked for.

    Args:
        loop: in which it was played.
        played: the action.
        upper: g there at most; None where it was not told.
    """
    away = float(np.linalg.norm(played - loop.x))
    words = f"round {loop.round}: an action {away:.3g} away from the one asked for was played"
    region = None if loop.info is None else loop.info.region
    if region is not None and region.contains(played):
        return Breach(loop.round, "action", f"{words}, which was certified too", "regret")
    if upper is not None and upper > 0:
        words += f", where g may be {upper:.3g}: the way back begins"
    else:
        words += ", which was not certified"
    return Breach(loop.round, "action", words, "regret", away, 0.0)


# --- between rounds ------------------------------------------------------------------------------


def order(run: Run, loop: LoopState, reason: str, how: How, speed: float | None) -> Decision:
    """Return what follows an operator's order to hold or to retreat."""
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
    if anchor is None or not (x == anchor.x).all():
        return WayBack(t - 1, "retreated", reason, 1.0, 0, 0.0, drift, math.inf)
    slack = -anchor.level(t, drift)
    return WayBack(t - 1, "retreated", reason, 1.0, int(anchor.round), slack, drift, -slack)

"""Decide what is played next where the rule alone does not: a stated policy for each event.

=========================  ===============================  ====================================
event                      g fixed                          g rises by at most v per round
=========================  ===============================  ====================================
no measurement             hold: proved for ever            hold while the bound + k v is at most
                                                            0, then the least way back
contradiction, g <= 0      hold or retreat                  the same
contradiction, g > 0       the way back, then as above      the same, with the slack as it is now
an action of one's own,    the way back                     the same
measured with g > 0
=========================  ===============================  ====================================

Holding and the way back are proved in :mod:`surefoot.controller._ways`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import Breach
from surefoot.controller._records import Run
from surefoot.controller._watch import Watch
from surefoot.controller._ways import Halt, How, Spot, Stand, WayBack, risen
from surefoot.core.algorithm import rest
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback
from surefoot.regions import Anchor, Errors

__all__ = [
    "Decision",
    "Scene",
    "after_contradiction",
    "anchor_after",
    "bound_of",
    "deviation",
    "on_the_way",
    "outside",
    "shifted",
    "unmeasured",
    "upper_bound",
    "way_to",
]

# Of the anchor's slack, what a way back from outside restores, and a wider rule starts with.
_HALF = 0.5


class Scene(NamedTuple):
    """What a decision is made from.

    Attributes:
        t: the round that is told.
        run: what is played, and how.
        state: of the rule.
        errors: what it allows for.
        anchor: the end of the way back, or None.
        halt: why nothing moves, or None.
        bound: on g at the action of the round; infinite where nothing is known.
    """

    t: int
    run: Run
    state: Any
    errors: Errors
    anchor: Anchor | None
    halt: Halt | None
    bound: float

    def spot(self, bound: float, reason: str, played: int = 1) -> Spot:
        """Return where the next action is looked for, after the round or, with 0, before it."""
        t = self.t - 1 + played
        return Spot(t, self.state.x, bound, self.anchor, self.errors.drift, reason)

    def measured(self, seen: Feedback) -> Anchor | None:
        """Return the action that was measured, with the bound on g there in its round."""
        if seen.constraint_value is None:
            return None
        return Anchor(seen.action, upper_bound(self.errors, seen), self.t - seen.age)

    def bound_by(self, seen: Feedback, otherwise: float) -> float:
        """Return the bound on g that a measurement gives at the action of the round.

        Args:
            seen: what was measured, and at which action.
            otherwise: the bound where that is another one.
        """
        found = self.measured(seen)
        if found is None or not (found.x == self.state.x).all():
            return otherwise
        return float(found.level(self.t, self.errors.drift))


class Decision(NamedTuple):
    """What follows a round that is not usual.

    Attributes:
        state: whose action is next.
        certificate: of that action, where no step of the rule has one.
        how: it came about.
        halt: why nothing moves from now on.
        why: what the journal keeps of the reason.
    """

    state: Any
    certificate: Any
    how: How
    halt: Halt | None = None
    why: Mapping[str, Any] = {}


def on_the_way(scene: Scene, seen: Feedback | None, missing: str | None = None) -> Decision:
    """Return what follows where nothing moves, or only back: halted, or not measured.

    Args:
        scene: what it is decided from.
        seen: what was measured, and at which action; None for nothing.
        missing: the policy for a round without a measurement, where the rule is not halted.
    """
    errors, halt = scene.errors, scene.halt
    bound = scene.bound if seen is None else scene.bound_by(seen, scene.bound)
    if halt is None:
        how: How = "retreated" if missing == "retreat" else "held"
        halt = Halt(how, "no measurement", scene.t)
    spot = scene.spot(risen(bound, errors.drift), halt.reason)
    if halt.how == "retreated":
        stand = spot.back(halt.speed)
    else:
        stand = spot.held(keep=0.0 if seen is None else _HALF)
    return _standing(scene, stand, scene.halt)


def unmeasured(scene: Scene, reason: str, how: How, speed: float | None) -> Decision:
    """Return what follows an operator's order between two rounds."""
    spot = scene.spot(scene.bound, reason, played=0)
    stand = spot.held() if how == "held" else spot.back(speed)
    return _standing(scene, stand, Halt(how, reason, scene.t, speed), played=False)


def way_to(scene: Scene, x: Array, reason: str) -> WayBack:
    """Return why a new player may start at x: it is the anchor, or the user says so."""
    t, _, _, errors, anchor, _, _ = scene
    if anchor is None or not (x == anchor.x).all():
        return WayBack(t - 1, "retreated", reason, 1.0, 0, 0.0, errors.drift, math.inf)
    slack = -anchor.level(t, errors.drift)
    return WayBack(t - 1, "retreated", reason, 1.0, int(anchor.round), slack, errors.drift, -slack)


def outside(scene: Scene, upper: float, reason: str) -> Decision:
    """Return the way back from an action that was played and is not feasible."""
    if scene.anchor is None:
        raise InvalidValueError(
            "the first action must be strictly feasible, or there is no way back, "
            f"got g = {upper:g}"
        )
    stand = scene.spot(risen(upper, scene.errors.drift), reason).held(_HALF)
    return _standing(scene, stand, scene.halt)


def after_contradiction(scene: Scene, sentence: str, seen: Feedback) -> Decision:
    """Return what follows a contradiction by the policy "hold" or "retreat".

    Of an action that was not measured nothing is known then.
    """
    upper = risen(scene.bound_by(seen, math.inf), scene.errors.drift)
    reason = sentence.partition(": ")[2] or sentence
    how: How = "retreated" if scene.run.on_contradiction == "retreat" else "held"
    spot = scene.spot(upper, reason)
    stand = spot.back() if how == "retreated" else spot.held(_HALF)
    return _standing(scene, stand, Halt(how, reason, scene.t))


def _standing(scene: Scene, stand: Stand, halt: Halt | None, *, played: bool = True) -> Decision:
    x, way = stand
    state = scene.state
    if played:
        state = rest(scene.run.algorithm, state, x)
    elif not (x == state.x).all():
        state = state._replace(x=x)
    return Decision(state, way, way.how, halt)


def upper_bound(errors: Errors, seen: Feedback) -> float:
    """Return what the true g is at most, where it was read."""
    error = errors.value if seen.value_error is None else seen.value_error
    return float(np.max(seen.constraint_value) + error + errors.evaluation)


def anchor_after(scene: Scene, seen: Feedback) -> Anchor | None:
    """Return the anchor with a round added: the first that was measured, or, under drift, better.

    Args:
        scene: what is known.
        seen: what was measured, and at which action.
    """
    t, _, _, errors, anchor, _, _ = scene
    found = scene.measured(seen)
    if found is None:
        return anchor
    value = found.level(t, errors.drift)
    if anchor is None:
        return found if value < 0 else None
    if (found.x == anchor.x).all():  # measured anew: what is true now counts, for better or worse
        return found
    return found if errors.drift and value < anchor.level(t, errors.drift) else anchor


def shifted(scene: Scene, seen: Feedback) -> list[Breach]:
    """Return a breach if the slack of the anchor, measured anew, is not what it was.

    It may be smaller by the drift since then, and by the errors of both values.
    """
    t, _, _, errors, anchor, _, _ = scene
    if anchor is None or seen.constraint_value is None or not (seen.action == anchor.x).all():
        return []
    slack = 0.0 - float(np.max(seen.constraint_value))
    error = errors.value if seen.value_error is None else seen.value_error
    least = -anchor.level(t - seen.age, errors.drift) - error - errors.evaluation
    if slack >= least - 1e-12 * abs(anchor.value):
        return []
    sentence = (
        f"round {t}: the slack of the anchor is {slack:.6g}, and was {-anchor.value:.6g} in round "
        f"{anchor.round}: g is not the same, or drifts faster than was told"
    )
    return [Breach(t, "anchor", sentence, "both", slack, least)]


def deviation(
    scene: Scene, asked: Array, played: Array, upper: float | None, info: Any, certificate: Any
) -> Breach:
    """Return what is to be said of an action that was not the one asked for.

    Args:
        scene: what is known.
        asked: the action that was asked for.
        played: the one that was played.
        upper: g there at most; None where it was not told.
        info: what the step before knew, where this process took it.
        certificate: of the action asked for.
    """
    away = float(np.linalg.norm(played - asked))
    words = f"round {scene.t}: an action {away:.3g} away from the one asked for was played"
    if is_certified(asked, played, away, info, certificate):
        return Breach(scene.t, "action", f"{words}, which was certified too", "regret")
    if upper is not None and upper > 0:
        words += f", where g may be {upper:.3g}: the way back begins"
    else:
        words += ", which was not certified"
    return Breach(scene.t, "action", words, "regret", away, 0.0)


def is_certified(asked: Array, played: Array, away: float, info: Any, certificate: Any) -> bool:
    """Return whether an action is certified by what certified the one asked for."""
    if info is not None and info.region is not None:
        return bool(info.region.contains(played))
    G_g = getattr(certificate, "G_g", None)
    return G_g is not None and bool(certificate.bound + G_g * away <= 0)


def bound_of(certificate: Any, watch: Watch, t: int, *, is_safe: bool) -> float:
    """Return the bound on g at the action of a round, infinite where there is none."""
    if isinstance(certificate, WayBack):
        return certificate.bound
    if not is_safe:
        return math.inf
    if certificate is not None:
        return float(certificate.bound)
    if watch.guarantee is not None:
        return float(watch.guarantee.bounds(t).get("round", math.inf))
    return math.inf

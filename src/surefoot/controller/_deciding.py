"""Decide what is played next where the rule alone does not: a stated policy for each event.

=========================  ===============================  ====================================
event                      g fixed                          g rises by at most v per round
=========================  ===============================  ====================================
no measurement             hold: proved for ever            hold while the bound + k v is at most
                                                            0, then the least way back
contradiction, g <= 0      hold, retreat or widen           the same
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

from surefoot.controller._budget import Budget
from surefoot.controller._causes import Cause, Evidence
from surefoot.controller._records import Run
from surefoot.controller._rows import boxed, plain_player
from surefoot.controller._stepping import moved
from surefoot.controller._watch import Watch
from surefoot.controller._ways import Anchor, Halt, How, Spot, Stand, WayBack, risen
from surefoot.controller._widening import widened
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import region_in, value_in
from surefoot.core.types import Array, Feedback
from surefoot.theory import Breach

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
        budget: the errors that it allows for.
        anchor: the end of the way back, or None.
        halt: why nothing moves, or None.
        bound: on g at the action of the round; infinite where nothing is known.
    """

    t: int
    run: Run
    state: Any
    budget: Budget
    anchor: Anchor | None
    halt: Halt | None
    bound: float

    def spot(self, bound: float, reason: str, played: int = 1) -> Spot:
        """Return where the next action is looked for, after the round or, with 0, before it."""
        t = self.t - 1 + played
        return Spot(t, self.state.x, bound, self.anchor, self.budget.drift, reason)


class Decision(NamedTuple):
    """What follows a round that is not usual.

    Attributes:
        state: whose action is next.
        certificate: of that action, where no step of the rule has one.
        how: it came about.
        halt: why nothing moves from now on.
        run: another player, or None.
        why: what the journal keeps of the reason.
    """

    state: Any
    certificate: Any
    how: How
    halt: Halt | None = None
    run: Run | None = None
    why: Mapping[str, Any] = {}


def on_the_way(scene: Scene, seen: Feedback | None, missing: str | None = None) -> Decision:
    """Return what follows where nothing moves, or only back: halted, or not measured.

    Args:
        scene: what it is decided from.
        seen: what was measured; None for nothing.
        missing: the policy for a round without a measurement, where the rule is not halted.
    """
    budget, bound = scene.budget, scene.bound
    if seen is not None and seen.constraint_value is not None:
        bound = budget.above(float(np.max(seen.constraint_value)), seen.value_error)
    halt = scene.halt
    if halt is None:
        how: How = "retreated" if missing == "retreat" else "held"
        halt = Halt(how, "no measurement", scene.t)
    spot = scene.spot(risen(bound, budget.drift), halt.reason)
    if halt.how == "retreated":
        stand = spot.back(halt.speed)
    else:
        stand = spot.held(keep=0.0 if seen is None else _HALF)
    return _standing(scene, stand, scene.halt)


def unmeasured(scene: Scene, reason: str, how: How, speed: float | None) -> Decision:
    """Return what follows an operator's order between two rounds."""
    spot = scene.spot(scene.bound, reason, played=0)
    stand = spot.held() if how == "held" else spot.back(speed)
    return _standing(scene, stand, Halt(how, reason, scene.t, speed), missed=0)


def way_to(scene: Scene, x: Array, reason: str) -> WayBack:
    """Return why a new player may start at x: it is the anchor, or the user says so."""
    t, _, _, budget, anchor, _, _ = scene
    if anchor is None or not (x == anchor.x).all():
        return WayBack(t - 1, "retreated", reason, 1.0, 0, 0.0, budget.drift, math.inf)
    slack = anchor.slack_in(t, budget.drift)
    return WayBack(t - 1, "retreated", reason, 1.0, anchor.round, slack, budget.drift, -slack)


def outside(scene: Scene, upper: float, reason: str) -> Decision:
    """Return the way back from an action that was played and is not feasible."""
    if scene.anchor is None:
        raise InvalidValueError(
            "the first action must be strictly feasible, or there is no way back, "
            f"got g = {upper:g}"
        )
    stand = scene.spot(risen(upper, scene.budget.drift), reason).held(_HALF)
    return _standing(scene, stand, scene.halt)


def after_contradiction(
    scene: Scene, sentence: str, seen: Feedback, evidence: Evidence, causes: tuple[Cause, ...]
) -> Decision:
    """Return what follows a contradiction by the policy "hold", "retreat" or "widen"."""
    run, budget = scene.run, scene.budget
    assert seen.constraint_value is not None
    upper = budget.above(float(np.max(seen.constraint_value)), seen.value_error)
    upper = risen(upper, budget.drift)
    reason = sentence.partition(": ")[2] or sentence
    if run.on_contradiction == "widen":
        try:
            return _wider(scene, upper, reason, evidence, causes)
        except InvalidValueError:
            reason += ", and there is no constant to widen"
    how: How = "retreated" if run.on_contradiction == "retreat" else "held"
    spot = scene.spot(upper, reason)
    stand = spot.back() if how == "retreated" else spot.held(_HALF)
    return _standing(scene, stand, Halt(how, reason, scene.t))


def _wider(
    scene: Scene, upper: float, reason: str, evidence: Evidence, causes: tuple[Cause, ...]
) -> Decision:
    """Return a rule with wider constants, at a point that has half of the anchor's slack."""
    run = scene.run
    if scene.anchor is None:
        raise InvalidValueError("constants cannot be widened before the first measurement")
    algorithm, guarantee, new = widened(
        run.algorithm, run.guarantee, causes[0], evidence, run.widen_by
    )
    words = ", ".join(f"{name} = {value:.6g}" for name, value in new.items())
    reason = f"{reason}; widened to {words}"
    # The new rule starts with half of the anchor's slack, whatever is left here.
    x, way = scene.spot(upper, reason).held(_HALF, _HALF)
    wider = run._replace(algorithm=algorithm, guarantee=guarantee, start=x)
    why = {"player": boxed(plain_player(wider)), "values": new}
    return Decision(algorithm.init(x), way._replace(how="widened"), "widened", None, wider, why)


def _standing(scene: Scene, stand: Stand, halt: Halt | None, missed: int = 1) -> Decision:
    x, way = stand
    state = moved(scene.run.algorithm, scene.state, x, missed)
    return Decision(state, way, way.how, halt)


def anchor_after(scene: Scene, x: Array, seen: Feedback) -> Anchor | None:
    """Return the anchor with a round added: the first that was measured, or, under drift, better.

    Args:
        scene: what is known.
        x: the action that was played.
        seen: what was measured there.
    """
    t, _, _, budget, anchor, _, _ = scene
    if seen.constraint_value is None:
        return anchor
    slack = 0.0 - budget.above(float(np.max(seen.constraint_value)), seen.value_error)
    if anchor is None:
        return Anchor(x, slack, t) if slack > 0 else None
    if (x == anchor.x).all():  # measured anew: what is true now counts, for better or worse
        return Anchor(anchor.x, slack, t)
    if budget.drift and slack > anchor.slack_in(t, budget.drift):
        return Anchor(x, slack, t)
    return anchor


def shifted(scene: Scene, x: Array, seen: Feedback) -> list[Breach]:
    """Return a breach if the slack of the anchor, measured anew, is not what it was.

    It may be smaller by the drift since then, and by the errors of both values.
    """
    t, _, _, budget, anchor, _, _ = scene
    if anchor is None or seen.constraint_value is None or not (x == anchor.x).all():
        return []
    slack = 0.0 - float(np.max(seen.constraint_value))
    error = budget.value_error if seen.value_error is None else seen.value_error
    least = anchor.slack_in(t, budget.drift) - error - budget.evaluation_error
    if slack >= least - 1e-12 * abs(anchor.slack):
        return []
    sentence = (
        f"round {t}: the slack of the anchor is {slack:.6g}, and was {anchor.slack:.6g} in round "
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
    region = region_in(info)
    if region is not None:
        nearest = region.nearest(played)
        return nearest is played or bool((nearest == played).all())
    G_g = value_in(certificate, "G_g")
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

"""Say what probably lies behind a contradiction, the most likely first."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.types import Feedback, Info
from surefoot.regions import Anchor, Knowledge
from surefoot.regions.checks import BALL_TOO_SMALL

__all__ = ["causes_of"]

# A value above its bound by less than this share of the anchor's slack looks like noise.
_LITTLE = 0.1


def causes_of(
    knowledge: Knowledge | None,
    read: Feedback,
    bound: float,
    anchor: Anchor | None,
    slack: float,
    info: Info,
    sentence: str,
) -> tuple[str, ...]:
    """Return the causes in the order of their likelihood, each with the number that explains it.

    Args:
        knowledge: what is known of g, whose constants may be wrong; None where nothing is.
        read: what was measured, and at which action.
        bound: on g there, infinite where there was none.
        anchor: the end of the way back, before the round.
        slack: of the anchor, with which a difference is compared.
        info: what the step knew.
        sentence: the contradiction.
    """
    if sentence.endswith(BALL_TOO_SMALL):
        ball = f"{BALL_TOO_SMALL}: R, the domain or reach"
        return (ball, "a sensor error (value_error) of more than the slack told")
    g = read.constraint_value
    worst = -math.inf if g is None else float(np.max(g))
    over = max(worst - bound, 0.0) if bound < math.inf else 0.0
    shift = 0.0  # of g at the anchor itself, since it was measured
    if anchor is not None and (read.action == anchor.x).all():
        shift = max(worst - anchor.value, 0.0)
    is_steep, known = _suspect_constant(knowledge, read, info)
    off = max(over, shift)
    noise = f"a sensor error (value_error) of {off:.3g} or more"
    slope = "an error of the subgradient (slope_error)"
    shape = ("g is not convex",) if knowledge is None or knowledge.convex else ()
    drift = f"g has changed{f' by {over:.3g}' if over else ''}: drift, or another g"
    if shift > _LITTLE * slack:
        drift = f"g has changed: its slack at the anchor fell by {shift:.3g}"
        return (drift, noise, known, *shape)
    if is_steep:
        return (known, slope, drift)
    if 0 < off <= _LITTLE * slack:
        return (noise, known, drift, *shape)
    if over > 0:
        return (known, drift, noise, *shape)
    return (known, slope, drift, *shape)


def _suspect_constant(knowledge: Knowledge | None, read: Feedback, info: Info) -> tuple[bool, str]:
    """Return whether a slope was steeper than G_g, and which constant is probably too small."""
    constants = {} if knowledge is None else knowledge.constants
    s = read.constraint_subgradient
    steepness = 0.0 if s is None else max(float(norm(row)) for row in np.atleast_2d(s))
    if steepness > constants.get("G_g", math.inf):
        return True, f"G_g = {constants['G_g']:.6g} is too small: {steepness:.6g} was seen"
    curvature = 0.0 if info.region is None else info.region.curvature_seen
    if curvature > constants.get("beta", math.inf):
        return False, f"beta = {constants['beta']:.6g} is too small: {curvature:.6g} fits"
    names = " or ".join(constants) or "a constant"
    return False, f"{names} is too small, or the start is not what it was"

"""Say what probably lies behind a contradiction, the most likely first."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.arrays import norm
from surefoot.core.types import Array, Feedback, Info
from surefoot.regions import Anchor, Knowledge
from surefoot.regions.checks import BALL_TOO_SMALL

__all__ = ["Cause", "Evidence", "causes_of", "evidence_of"]

CauseKind: TypeAlias = Literal["ball", "noise", "constant", "drift", "slope", "convexity"]

# A value above its bound by less than this share of the anchor's slack looks like noise.
_LITTLE = 0.1


class Cause(NamedTuple):
    """One explanation of a contradiction.

    Attributes:
        kind: which.
        sentence: in words, with the number that would explain it.
    """

    kind: CauseKind
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Evidence(NamedTuple):
    """What was seen in the round of a contradiction.

    Attributes:
        over: by how much g is above its bound; 0 where it is not, or there was none.
        steepness: the norm of the longest subgradient; 0 where none was told.
        curvature: the least that explains this round and the one before; 0 where unknown.
        shift: by how much g at the anchor itself has changed since it was measured.
    """

    over: float = 0.0
    steepness: float = 0.0
    curvature: float = 0.0
    shift: float = 0.0


def evidence_of(
    x: Array, seen: Feedback, bound: float, anchor: Anchor | None, info: Info | None
) -> Evidence:
    """Return what a round shows beside the sentence of its contradiction."""
    g, s = seen.constraint_value, seen.constraint_subgradient
    worst = -math.inf if g is None else float(np.max(g))
    steep = 0.0 if s is None else max(float(norm(row)) for row in np.atleast_2d(s))
    shift = 0.0
    if anchor is not None and (x == anchor.x).all():
        shift = max(worst - anchor.value, 0.0)
    over = max(worst - bound, 0.0) if bound < math.inf else 0.0
    region = None if info is None else info.region
    return Evidence(over, steep, 0.0 if region is None else region.curvature_seen, shift)


def causes_of(
    knowledge: Knowledge | None, seen: Evidence, slack: float, sentence: str = ""
) -> tuple[Cause, ...]:
    """Return the causes in the order of their likelihood.

    Args:
        knowledge: what is known of g, whose constants may be wrong; None where nothing is.
        seen: the evidence.
        slack: of the anchor, with which a difference is compared.
        sentence: the contradiction.
    """
    if sentence.endswith(BALL_TOO_SMALL):
        ball = Cause("ball", f"{BALL_TOO_SMALL}: R, the domain or reach")
        return (ball, Cause("noise", "a sensor error (value_error) of more than the slack told"))
    constants = {} if knowledge is None else knowledge.constants
    steep = seen.steepness > constants.get("G_g", math.inf)
    size = f" by {seen.over:.3g}" if seen.over else ""
    off = max(seen.over, seen.shift)
    noise = Cause("noise", f"a sensor error (value_error) of {off:.3g} or more")
    if steep:
        known = Cause(
            "constant", f"G_g = {constants['G_g']:.6g} is too small: {seen.steepness:.6g} was seen"
        )
    elif seen.curvature > constants.get("beta", math.inf):
        known = Cause(
            "constant", f"beta = {constants['beta']:.6g} is too small: {seen.curvature:.6g} fits"
        )
    else:
        names = " or ".join(constants) or "a constant"
        known = Cause("constant", f"{names} is too small, or the start is not what it was")
    slope = Cause("slope", "an error of the subgradient (slope_error)")
    drift = Cause("drift", f"g has changed{size}: drift, or another g")
    shape = Cause("convexity", "g is not convex")
    if seen.shift > _LITTLE * slack:
        drift = Cause("drift", f"g has changed: its slack at the anchor fell by {seen.shift:.3g}")
        return (drift, noise, known, shape)
    if steep:
        return (known, slope, drift)
    if 0 < off <= _LITTLE * slack:
        return (noise, known, drift, shape)
    if seen.over > 0:
        return (known, drift, noise, shape)
    return (known, slope, drift, shape)

"""Why a next action is feasible, in numbers and words; and what cannot have been seen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from surefoot.core.arrays import dot, norm
from surefoot.core.types import Array
from surefoot.regions._errors import Errors, allowed, causes

__all__ = [
    "BALL_TOO_SMALL",
    "CurvatureCertificate",
    "HullCertificate",
    "HullOfBallsCertificate",
    "above_quadratic",
    "beyond_reach",
]

BALL_TOO_SMALL = "the ball around the feasible set is too small"
"""How a sentence on a feasible action ends that is outside of what was said to hold all of them."""


class HullCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        anchor_round: the round in which the anchor was played; 1 is the start.
        anchor_value: g at the anchor; with errors or drift, the bound on the next g there.
        value: the same at the action that was played.
        share: of the action in the centre, (1 - share) anchor + share action.
        distance: from the centre to the next action.
        room: how far from the centre is certified; at least the distance.
        bound: the next g is at most this; never above 0.
        G_g: the constant that it rests on.
        cut: whether the region changed the action that was wanted.
        errors: what the bounds allow for; None for exact values of a fixed g.
    """

    round: int
    anchor_round: int
    anchor_value: float
    value: float
    share: float
    distance: float
    room: float
    bound: float
    G_g: float
    cut: bool = False
    errors: Errors | None = None

    def __str__(self) -> str:
        if self.errors is not None:
            seen = (
                f"g is at most {self.anchor_value:.3g} where round {self.anchor_round} was and "
                f"{self.value:.3g} here{allowed(self.errors)}; {self.share:.3g} of the way"
            )
        elif self.share == 1.0:
            seen = f"g = {self.value:.3g} was seen"
        elif self.share == 0.0:
            seen = f"g = {self.anchor_value:.3g} was seen in round {self.anchor_round}"
        else:
            seen = (
                f"g = {self.anchor_value:.3g} was seen in round {self.anchor_round} and "
                f"{self.value:.3g} now; {self.share:.3g} of the way between them"
            )
        return (
            f"round {self.round}: {seen}, and g rises by at most G_g = {self.G_g:g} per unit of "
            f"length: {self.room:.3g} is certified, {self.distance:.3g} was taken; "
            f"the next g is at most {self.bound:.3g}"
        )


class CurvatureCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        value: g at the action that was played; with errors or drift, the bound on the next g there.
        slope: the product of the slope there with the step.
        length: the length of the step.
        bound: the next g is at most this; never above 0.
        beta: the curvature that it rests on.
        cut: whether the region changed the action that was wanted.
        row: which of several constraints has the largest bound; None where there is one.
        errors: what the bound allows for; None for exact values of a fixed g.
    """

    round: int
    value: float
    slope: float
    length: float
    bound: float
    beta: float
    cut: bool = False
    row: int | None = None
    errors: Errors | None = None

    def __str__(self) -> str:
        name = "g" if self.row is None else f"g[{self.row}]"
        seen, bent = f"{name} = {self.value:.3g}", 0.5 * self.beta * self.length**2
        if self.errors is not None:
            seen = f"the next {name} here is at most {self.value:.3g}{allowed(self.errors)}"
            bent += self.errors.slope * self.length
        if self.length == 0.0:
            stays = f"{seen} stays" if self.errors is None else seen
            return f"round {self.round}: nothing moves, and {stays}"
        return (
            f"round {self.round}: {seen}{' was seen' if self.errors is None else ''}, and its "
            f"curvature is at most {self.beta:g}: {self.value:.3g} + ({self.slope:.3g}) along the "
            f"slope + {bent:.3g} for the {self.length:.3g} moved; "
            f"the next {name} is at most {self.bound:.3g}"
        )


def beyond_reach(t: int, x: Array, upper: float, reach: float) -> tuple[str, ...]:
    """Return a sentence if an action is feasible, and longer than any feasible point can be.

    Args:
        t: the round.
        x: the action that was played.
        upper: what g is at most there.
        reach: the largest norm of a feasible point, as it was told.

    Example:
        >>> import numpy as np
        >>> print(*beyond_reach(2, np.array([0.6, 0.8]), -0.1, 0.5))
        round 2: |x| = 1 and g is at most -0.1, but no feasible point is longer than 0.5: the ball
        around the feasible set is too small
    """
    size = float(norm(x))
    if not (upper <= 0 and size > reach * (1 + 1e-12)):
        return ()
    return (
        f"round {t}: |x| = {size:.6g} and g is at most {upper:.3g}, but no feasible point is "
        f"longer than {reach:.6g}: {BALL_TOO_SMALL}",
    )


def above_quadratic(
    t: int, old: Any, new: Any, beta: float, noise: float, name: str = "g"
) -> tuple[str, ...]:
    """Return a sentence if one of two rounds is above the quadratic bound of the other."""
    v = new.x - old.x
    squared = dot(v, v)
    if not squared > 0:
        return ()
    # The bounds on g have their errors and a round of drift in them; only slopes err besides.
    rise, fall = new.low - old.g - dot(old.s, v), old.low - new.g + dot(new.s, v)
    over = max(rise, fall)
    if new.errors is not None:
        over -= new.errors.slope * math.sqrt(squared)
    if not over > 0.5 * beta * squared + noise:
        return ()
    return (
        f"round {t}: {name} = {new.g:.6g} is above its quadratic bound "
        f"{new.g - (over - 0.5 * beta * squared):.6g}: the curvature is at least "
        f"{2 * (over - noise) / squared:.6g}, more than "
        + causes(new.errors, f"beta = {beta:.6g}", convex=False).replace("or g ", f"or {name} "),
    )


class HullOfBallsCertificate(NamedTuple):
    """Why a point between two certified balls is feasible, with the numbers.

    Attributes:
        round: the round that was played.
        first_value: g where the first ball was seen.
        second_value: g where the second was.
        share: of the second.
        bound: the next g is at most this; never above 0.
        beta: the curvature that it rests on.
        cut: whether the region changed the action that was wanted.
    """

    round: int
    first_value: float
    second_value: float
    share: float
    bound: float
    beta: float
    cut: bool = False

    def __str__(self) -> str:
        return (
            f"round {self.round}: g = {self.first_value:.3g} and {self.second_value:.3g} were "
            f"seen, its curvature is at most {self.beta:g}, and it is convex: {self.share:.3g} of "
            f"the way between two certified balls, the next g is at most {self.bound:.3g}"
        )

"""Why a next action is feasible, in numbers and words; and what cannot have been seen."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.core.arrays import norm
from surefoot.core.types import Array
from surefoot.regions.errors import Errors, describe_errors, list_causes

__all__ = [
    "BALL_TOO_SMALL",
    "CurvatureCertificate",
    "HullCertificate",
    "PullCertificate",
    "StepCertificate",
    "check_quadratic",
    "check_reach",
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
        errors: what the bounds allow for.
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
    errors: Errors = Errors()

    def __str__(self) -> str:
        if not self.errors.is_exact:
            seen = (
                f"g is at most {self.anchor_value:.3g} where round {self.anchor_round} was and "
                f"{self.value:.3g} here{describe_errors(self.errors)}; {self.share:.3g} of the way"
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
        errors: what the bound allows for.
    """

    round: int
    value: float
    slope: float
    length: float
    bound: float
    beta: float
    cut: bool = False
    row: int | None = None
    errors: Errors = Errors()

    def __str__(self) -> str:
        name = "g" if self.row is None else f"g[{self.row}]"
        seen, bent = f"{name} = {self.value:.3g}", 0.5 * self.beta * self.length**2
        if not self.errors.is_exact:
            seen = f"the next {name} here is at most {self.value:.3g}{describe_errors(self.errors)}"
            bent += self.errors.slope * self.length
        if self.length == 0.0:
            stays = f"{seen} stays" if self.errors.is_exact else seen
            return f"round {self.round}: nothing moves, and {stays}"
        return (
            f"round {self.round}: {seen}{' was seen' if self.errors.is_exact else ''}, and its "
            f"curvature is at most {self.beta:g}: {self.value:.3g} + ({self.slope:.3g}) along the "
            f"slope + {bent:.3g} for the {self.length:.3g} moved; "
            f"the next {name} is at most {self.bound:.3g}"
        )


def check_reach(t: int, x: Array, upper: float, reach: float) -> tuple[str, ...]:
    """Return a sentence if an action is feasible, and longer than any feasible point can be.

    Args:
        t: the round.
        x: the action that was played.
        upper: what g is at most there.
        reach: the largest norm of a feasible point, as it was told.

    Example:
        >>> import numpy as np
        >>> print(*check_reach(2, np.array([0.6, 0.8]), -0.1, 0.5))
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


class PullCertificate(NamedTuple):
    """Why a point on the way back to the anchor is feasible: g is convex.

    Attributes:
        round: the round that was played.
        anchor_round: the round in which the anchor was read.
        anchor_value: the bound on the next g at the anchor.
        value: that at the action that was read last.
        share: of the way from there to the anchor.
        bound: the next g is at most this; never above 0.
        cut: whether something else was wanted.
        errors: what the bounds allow for.
    """

    round: int
    anchor_round: int
    anchor_value: float
    value: float
    share: float
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        return (
            f"round {self.round}: g is at most {self.value:.3g} here and {self.anchor_value:.3g} "
            f"where round {self.anchor_round} was{describe_errors(self.errors)}, and it is convex: "
            f"{self.share:.3g} of the way back the next g is at most {self.bound:.3g}"
        )


def check_quadratic(
    t: int,
    g: float,
    length: float,
    over: float,
    beta: float,
    noise: float,
    errors: Errors,
    name: str = "g",
) -> tuple[str, ...]:
    """Return a sentence if one of two readings is above the quadratic bound of the other.

    Args:
        t: the round of the newer.
        g: its value.
        length: how far apart they are.
        over: by how much one is above the linear bound of the other, their errors taken off.
        beta: the curvature.
        noise: their rounding.
        errors: what was allowed for.
        name: of the constraint.
    """
    squared = length * length
    if not over > 0.5 * beta * squared + noise or not squared > 0:
        return ()
    return (
        f"round {t}: {name} = {g:.6g} is above its quadratic bound "
        f"{g - (over - 0.5 * beta * squared):.6g}: the curvature is at least "
        f"{2 * (over - noise) / squared:.6g}, more than "
        + list_causes(errors, f"beta = {beta:.6g}", convex=False).replace("or g ", f"or {name} "),
    )


class StepCertificate(NamedTuple):
    """Why the next action is feasible, with the numbers, all known before it is played.

    Attributes:
        round: the round that was played.
        rule: "slack" where the action was inside the tightened set and g rises by at most G_g per
            unit of length; "contraction" where the half-space brought it back towards that set;
            "pulled" where errors left too little room and it went towards the anchor; "stayed"
            where no step above the rounding level was certified and nothing moved.
        slack: -g at the action played.
        rho: the tightening of the round.
        length: r, how far from the drawn-back action is certified.
        taken: how far from it the next action is, never more than ``length``.
        bound: the next g is at most this; never above 0.
        G_g: the constant that the certificate rests on.
        cut: whether the region changed the action that was wanted.
        errors: what the certificate allows for.
    """

    round: int
    rule: str
    slack: float
    rho: float
    length: float
    taken: float
    bound: float
    G_g: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        step = f"step {self.taken:.3g}" + (", cut" if self.cut else "")
        why = {
            "slack": f"slack {self.slack:.3g} and g rises by at most G_g = {self.G_g:g}",
            "contraction": f"slack {self.slack:.3g} below rho = {self.rho:.3g}, moving back",
            "pulled": f"slack {self.slack:.3g} leaves too little room, going to the anchor",
            "stayed": f"no room above rounding at slack {self.slack:.3g}, so nothing moved",
        }[self.rule]
        return (
            f"round {self.round}: {why}{describe_errors(self.errors)}: "
            f"certified length {max(self.length, 0.0):.3g}, {step}; "
            f"the next g is at most {self.bound:.3g}"
        )

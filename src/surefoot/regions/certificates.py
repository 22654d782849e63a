"""Why a next action is feasible, in numbers and words; and what cannot have been seen."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.regions.errors import Errors, describe_errors

__all__ = [
    "CurvatureCertificate",
    "HullCertificate",
    "PointCertificate",
    "PullCertificate",
    "StepCertificate",
]


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

    @property
    def seen(self) -> str:
        """What was measured, and where between two measured actions the centre is, in words."""
        if not self.errors.is_exact:
            return (
                f"g is at most {self.anchor_value:.3g} where round {self.anchor_round} was and "
                f"{self.value:.3g} here{describe_errors(self.errors)}; "
                f"from {self.share:.3g} of the way"
            )
        if self.share == 1.0:
            return f"g = {self.value:.3g} now"
        then = f"g = {self.anchor_value:.3g} in round {self.anchor_round}"
        if self.share == 0.0:
            return then
        return f"{then} and {self.value:.3g} now; from {self.share:.3g} of the way between them"

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.seen}, and g rises by at most G_g = {self.G_g:g} per unit "
            f"of length: {self.room:.3g} is certified, {self.distance:.3g} was taken; "
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


class PointCertificate(NamedTuple):
    """Why the one action that is left is feasible.

    Attributes:
        round: the round that was played.
        reason: in words.
        bound: the next g is at most this.
        cut: whether something else was wanted.
        errors: what the bound allows for.
    """

    round: int
    reason: str
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        return (
            f"round {self.round}: {self.reason}{describe_errors(self.errors)}; "
            f"the next g is at most {self.bound:.3g}"
        )

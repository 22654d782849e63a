"""Why a step of certified length is feasible, in numbers and words."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.regions import Errors, allowed

__all__ = ["StepCertificate"]


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
        length: r, the longest step that is certified.
        wanted: the length of the step that was proposed.
        taken: the length of the step that was taken, never more than ``length``.
        cut: whether the half-space then moved it.
        bound: the next g is at most this; never above 0.
        G_g: the constant that the certificate rests on.
        errors: what the certificate allows for; None for exact values of a fixed g.
    """

    round: int
    rule: str
    slack: float
    rho: float
    length: float
    wanted: float
    taken: float
    cut: bool
    bound: float
    G_g: float
    errors: Errors | None = None

    @property
    def shortened(self) -> bool:
        """Whether the step taken is shorter than the one proposed."""
        return self.taken < self.wanted

    def __str__(self) -> str:
        step = f"step {self.taken:.3g}"
        if self.shortened:
            step += f" of {self.wanted:.3g} wanted"
        if self.cut:
            step += ", then cut by the half-space"
        why = {
            "slack": f"slack {self.slack:.3g} and g rises by at most G_g = {self.G_g:g}",
            "contraction": f"slack {self.slack:.3g} below rho = {self.rho:.3g}, moving back",
            "pulled": f"slack {self.slack:.3g} leaves too little room, going to the anchor",
            "stayed": f"no room above rounding at slack {self.slack:.3g}, so nothing moved",
        }[self.rule]
        return (
            f"round {self.round}: {why}{allowed(self.errors)}: "
            f"certified length {max(self.length, 0.0):.3g}, {step}; "
            f"the next g is at most {self.bound:.3g}"
        )

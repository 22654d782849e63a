"""What a live loop sees, held against what its guarantee rests on."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

from surefoot.theory import Guarantee, Premise
from surefoot.theory.guarantee import ROUNDING

__all__ = ["Broken", "Limits", "Loss", "Watch"]

Loss: TypeAlias = Literal["feasibility", "regret", "both"]
"""The bound that no longer applies."""


class Broken(NamedTuple):
    """A premise that the data contradict.

    Attributes:
        round: the first round that did.
        constant: the name of what was wrong; "constants" where an algorithm found it out itself.
        sentence: what was seen, and what no longer applies.
        loses: which bound that is.
    """

    round: int
    constant: str
    sentence: str
    loses: Loss

    def __str__(self) -> str:
        return self.sentence


class Limits(NamedTuple):
    """What a round is compared with, at little cost; one within all of them breaks nothing.

    Attributes:
        gradient: on the squared norm of a cost gradient, from above.
        slope: on the squared norm of a subgradient, from above.
        near: from this g on ``steep`` counts.
        steep: on the squared norm of a subgradient there, from below.
        last: the last round.
    """

    gradient: float
    slope: float
    near: float
    steep: float
    last: float


class Watch(NamedTuple):
    """The premises that still hold.

    Attributes:
        guarantee: what is watched.
        still: its premises that have not been broken.
        limits: a round beyond one of them, or with a positive g, is looked at closely
            (:meth:`look`).
        bounded: whether the guarantee's bound on g itself is watched.
    """

    guarantee: Guarantee | None
    still: tuple[Premise, ...]
    limits: Limits
    bounded: bool

    @classmethod
    def of(
        cls, guarantee: Guarantee | None, broken: tuple[Broken, ...], watched_itself: float | None
    ) -> Watch:
        """The watch on what is left of a guarantee.

        Args:
            guarantee: one, or None.
            broken: what has been found so far, and is not looked for again.
            watched_itself: the G_g that the algorithm watches by itself, with its bounds on g,
                if it does.
        """
        gone = {b.constant for b in broken}
        premises = () if guarantee is None else guarantee.premises
        still = tuple(
            p
            for p in premises
            if p.constant not in gone
            and not (p.quantity == "constraint subgradient" and p.limit == watched_itself)
        )
        limits = {p.quantity: p.limit for p in still}
        levels = [p.level for p in still if p.quantity == "subgradient near the boundary"]

        # Within half of the rounding that the premise, whose comparison is the exact one, allows.
        def squared(limit: float, share: float) -> float:
            return (1 + share * ROUNDING) * limit * limit

        cheap = Limits(
            squared(limits.get("cost gradient", math.inf), +1),
            squared(limits.get("constraint subgradient", math.inf), +1),
            -levels[0] if levels else math.inf,
            squared(limits.get("subgradient near the boundary", 0.0), -1),
            limits.get("horizon", math.inf),
        )
        kept = guarantee is not None and all(b.loses == "regret" for b in broken)
        kept = kept and watched_itself is None
        return cls(guarantee, still, cheap, kept)

    def look(self, t: int, gradient: float, g: float | None, slope: float | None) -> list[Broken]:
        """What a round breaks.

        Args:
            t: the round.
            gradient: norm of the cost gradient.
            g: the largest constraint; None where it was not told.
            slope: norm of the longest subgradient, likewise.
        """
        found = []
        for premise in self.still:
            seen = _seen(premise, t, gradient, g, slope)
            if seen is not None and premise.broken(seen):
                sentence = premise.sentence(t, seen)
                found.append(Broken(t, premise.constant, sentence, _loses(premise)))
        if not found and self.bounded and g is not None and g > 0:
            found += self._beyond_bound(t, g)
        return found

    def _beyond_bound(self, t: int, g: float) -> list[Broken]:
        """A g above the bound of the guarantee, whose premises seemed to hold."""
        assert self.guarantee is not None
        bound = float(self.guarantee.bounds(t).get("round", math.inf))
        c = self.guarantee.constants
        # Bounds are statements of real arithmetic.
        if g <= bound + 1e-12 * (abs(bound) + (c.G_g or 0.0) * c.R):
            return []
        sentence = (
            f"round {t}: g = {g:.6g} is above the bound {bound:.6g} of {self.guarantee.name}: "
            "a constant is wrong, or g is not convex"
        )
        return [Broken(t, "the bound on g", sentence, "both")]


def _seen(
    premise: Premise, t: int, gradient: float, g: float | None, slope: float | None
) -> float | None:
    """The number that a premise speaks of, where the round has one."""
    if premise.quantity == "cost gradient":
        return gradient
    if premise.quantity == "constraint subgradient":
        return slope
    if premise.quantity == "subgradient near the boundary":
        return slope if g is not None and g >= -premise.level else None
    if premise.quantity == "start":
        return -g if t == 1 and g is not None else None
    return float(t)


def _loses(premise: Premise) -> Loss:
    """Which bounds rest on a premise; its sentence says the same."""
    if premise.only_regret or premise.quantity == "horizon":
        return "regret"
    if premise.quantity in ("constraint subgradient", "start"):
        return "feasibility"
    return "both"

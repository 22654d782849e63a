"""Compare what a live loop sees with the premises of its guarantee."""

from __future__ import annotations

import math
from typing import NamedTuple

from surefoot.algorithms import Breach, Guarantee, Premise

__all__ = ["Watch"]


class Watch(NamedTuple):
    """The premises that still hold.

    Attributes:
        guarantee: what is watched.
        still: its premises that have not been broken.
        bounded: whether the guarantee's bound on g itself is watched.
    """

    guarantee: Guarantee | None
    still: tuple[Premise, ...]
    bounded: bool

    @classmethod
    def of(cls, guarantee: Guarantee | None, broken: tuple[Breach, ...]) -> Watch:
        """Return the watch on what is left of a guarantee.

        Args:
            guarantee: one, or None.
            broken: what has been found so far, and is not looked for again.
        """
        gone = {b.constant for b in broken}
        premises = () if guarantee is None else guarantee.premises
        still = tuple(p for p in premises if p.constant not in gone)
        kept = guarantee is not None and all(b.loses == "regret" for b in broken)
        return cls(guarantee, still, kept)

    def look(self, t: int, gradient: float, g: float | None, slope: float | None) -> list[Breach]:
        """Return what a round breaks.

        Args:
            t: the round.
            gradient: norm of the cost gradient.
            g: the largest constraint; None where it was not told.
            slope: norm of the longest subgradient, likewise.
        """
        found = []
        for premise in self.still:
            seen, counts = premise.observe(float(t), gradient, g, slope)
            if counts and seen is not None and premise.broken(seen):
                found.append(premise.breach(t, seen))
        if not found and self.bounded and g is not None and g > 0:
            found += self._beyond_bound(t, g)
        return found

    def _beyond_bound(self, t: int, g: float) -> list[Breach]:
        """Return a breach for g above the guarantee's bound while its premises seemed to hold."""
        assert self.guarantee is not None
        c = self.guarantee.constants
        # The bound is on g itself, of which a reading may err.
        bound = float(self.guarantee.bounds(t).get("round", math.inf)) + (c.value_error or 0.0)
        # Bounds are statements of real arithmetic.
        if g <= bound + 1e-12 * (abs(bound) + (c.G_g or 0.0) * c.R):
            return []
        sentence = (
            f"round {t}: g = {g:.6g} is above the bound {bound:.6g} of {self.guarantee.name}: "
            "a constant is wrong, or g is not convex"
        )
        return [Breach(t, "the bound on g", sentence, "both")]

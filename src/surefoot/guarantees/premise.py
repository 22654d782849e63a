"""Premises, the assumptions of a guarantee on the rounds played, and their breaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    Literal,
    NamedTuple,
    TypeAlias,
)

from surefoot.core.errors import SurefootError
from surefoot.core.types import Array, Number

__all__ = [
    "ROUNDING",
    "Affected",
    "Breach",
    "Policy",
    "Premise",
    "PremiseError",
    "PremiseWarning",
    "Quantity",
    "Reaction",
]

Quantity: TypeAlias = Literal[
    "cost gradient",
    "constraint subgradient",
    "subgradient near the boundary",
    "start",
    "horizon",
    "curvature",
]
"""What a premise limits: the norm of the cost gradients; of the constraint subgradients; of those
where g is near 0, from below; the slack of the first action, from below; the number of rounds; the
smoothness constant of the constraints, which is 0 for linear ones."""

Affected: TypeAlias = Literal["feasibility", "regret", "both"]
"""The bounds that assume a premise, and no longer apply if it breaks."""

Policy: TypeAlias = Literal["raise", "warn", "record"]
"""What to do at a breach: raise; record it and warn; or only record it."""

Reaction: TypeAlias = Literal["raise", "warn", "record", "hold", "retreat"]
"""What a live loop does at a breach: a :data:`Policy`; or record it and hold; or record it and
retreat to the last certain point."""

# A computed norm errs by a few (d u), u = 2^-53; 1e-12 covers d up to several thousand and is far
# below any difference that matters to a bound.
ROUNDING = 1e-12

_WORDS: dict[Affected, str] = {
    "feasibility": "the feasibility guarantee no longer applies",
    "regret": "the regret bound no longer applies; feasibility does not assume it",
    "both": "the regret bound and the feasibility guarantee no longer apply",
}


class PremiseWarning(UserWarning):
    """A premise of the guarantee does not hold for the rounds played."""


class PremiseError(SurefootError, ValueError):
    """A premise of the guarantee does not hold, and the policy is to stop.

    Attributes:
        causes: likely causes, most likely first, one phrase each.
    """

    def __init__(self, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.causes = causes


@dataclass(frozen=True, slots=True)
class Premise:
    """One inequality that a guarantee assumes and that can be watched.

    Attributes:
        quantity: what is observed.
        constant: the name of the constant that limits it.
        limit: the constant's value.
        level: for subgradients near the boundary, the epsilon in "where g >= -epsilon".
        only_regret: whether only the regret bound assumes it.

    Example:
        >>> premise = Premise("cost gradient", "G_f", 3.0, only_regret=True)
        >>> premise.is_broken_by(2.5), premise.is_broken_by(3.5), premise.affects
        (False, True, 'regret')
    """

    quantity: Quantity
    constant: str
    limit: float
    level: float = 0.0
    only_regret: bool = False

    @property
    def is_upper(self) -> bool:
        """Whether the limit is an upper bound."""
        return self.quantity not in ("subgradient near the boundary", "start")

    @property
    def affects(self) -> Affected:
        """The bounds that assume the premise."""
        if self.only_regret or self.quantity == "horizon":
            return "regret"
        if self.quantity in ("constraint subgradient", "start"):
            return "feasibility"
        return "both"

    def is_broken_by(self, observed: Number) -> Array:
        """Return whether an observed value breaks the premise; entry by entry for arrays."""
        # The limit may be negative: an infeasible start has a slack below 0.
        margin = ROUNDING * abs(self.limit)
        if self.is_upper:
            return observed > self.limit + margin
        return observed < self.limit - margin

    def observe(
        self, t: Number, gradient: Number, g: Number, subgradient: Number, curvature: Number = None
    ) -> tuple[Number, Array]:
        """Return the value that the premise limits, and whether it applies to the round.

        Args:
            t: the round; or an array of rounds, with arrays for the others.
            gradient: norm of the cost gradient.
            g: the largest constraint; None if it was not reported.
            subgradient: norm of the longest constraint subgradient, likewise.
            curvature: the smoothness constant of the constraints; None if unknown.
        """
        match self.quantity:
            case "cost gradient":
                return gradient, True
            case "constraint subgradient":
                return subgradient, True
            case "subgradient near the boundary":
                return subgradient, g is not None and g >= -self.level
            case "start":
                return None if g is None else -g, t == 1
            case "horizon":
                return t, True
            case "curvature":
                return curvature, t == 1

    def breach(self, t: int, observed: float, run: int = 0) -> Breach:
        """Return the record of a round that breaks the premise."""
        sentence = self.sentence(t, observed)
        return Breach(t, self.constant, sentence, self.affects, observed, self.limit, run)

    @property
    def requirement(self) -> str:
        """The assumption in words, with its purpose."""
        aim = " (for the regret bound only)" if self.only_regret else ""
        return f"{self.condition}{aim}"

    @property
    def condition(self) -> str:
        """The assumption in words."""
        limit = f"{self.constant} = {self.limit:.6g}"
        return {
            "cost gradient": f"no cost gradient is longer than {limit}",
            "constraint subgradient": f"no subgradient of g is longer than {limit}",
            "subgradient near the boundary": (
                f"no subgradient of g is shorter than {limit} where g >= -{self.level:g}"
            ),
            "start": f"the slack of the start is at least {limit}",
            "horizon": f"no more rounds are played than {limit}",
            "curvature": "every constraint is linear",
        }[self.quantity]

    def sentence(self, t: int, observed: float) -> str:
        """Return a breach in words: what was observed, and what no longer applies."""
        if self.quantity == "curvature":
            return f"round {t}: the constraints are not known to be linear: {_WORDS[self.affects]}"
        what = {
            "start": "the slack -g(x_1)",
            "horizon": "the round",
            "cost gradient": "|grad f|",
        }.get(self.quantity, "|s|")
        consequence = _WORDS[self.affects]
        if not self.only_regret and self.quantity == "start":
            consequence = "the feasibility guarantee does not apply"
        if not self.only_regret and self.quantity == "horizon":
            consequence = "the bounds were tuned for fewer rounds"
        relation = "exceeds" if self.is_upper else "is below"
        if self.quantity == "subgradient near the boundary":
            relation = f"where g >= -{self.level:g} {relation}"
        return (
            f"round {t}: {what} = {observed:.6g} {relation} "
            f"{self.constant} = {self.limit:.6g}: {consequence}"
        )


class Breach(NamedTuple):
    """The first round of a run in which a premise did not hold.

    Attributes:
        round: the round.
        constant: the name of the wrong constant; "constants" if an algorithm reports the breach.
        sentence: what was observed, and what no longer applies.
        affects: the bounds that no longer apply.
        observed: the observed number, if it is one.
        limit: the number to compare it with.
        run: the index of the run, if several were played.
    """

    round: int
    constant: str
    sentence: str
    affects: Affected
    observed: float | None = None
    limit: float | None = None
    run: int = 0

    def __str__(self) -> str:
        return self.sentence

"""What is left of a guarantee where readings are noisy, or feedback comes late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.convert import shown
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.theory.guarantee import EveryRound, Guarantee, Kind, Measure
from surefoot.theory.watching import Premise

__all__ = ["InTurns", "WithProbability"]


@final
@dataclass(frozen=True)
class WithProbability(Guarantee):
    r"""Feasible in every round with a probability, from noisy readings of g.

    With probability :math:`1 - \delta`, over the noise of all rounds together, the true g has
    :math:`g(x_t) \le 0` in every round. No bound is certain, so that none is watched; nor is a
    regret bound claimed. The proof is in docs/noise.md.

    Args:
        constants: those of the guarantee for exact readings.
        exact: that guarantee, which must be one for every round.
        failure: :math:`\delta`.
    """

    kind: ClassVar[Kind] = "every round"
    violation_exponent: ClassVar[None] = None
    regret_exponent: ClassVar[float] = 1.0

    constants: Constants
    exact: Guarantee
    failure: float = 0.01

    def __post_init__(self) -> None:
        _every_round(self.exact)
        checks.positive(failure=self.failure)

    @property
    def name(self) -> str:
        """The theorem for exact readings, and the probability."""
        return f"{self.exact.name}, with probability {1 - self.failure:g}"

    @property
    def horizon(self) -> int | None:  # type: ignore[override]
        """That of the theorem for exact readings."""
        return self.exact.horizon

    @property
    def changing(self) -> bool:
        """Whether the constraint may differ from round to round."""
        return self.exact.changing

    def regret_bound(self, t: Any) -> Array:
        """Return :math:`2RG_fT`, by which costs of feasible points differ; inf without G_f."""
        return self._at_worst(t)

    def bounds(self, t: Any) -> dict[Measure, Array]:
        """Return no bound: none holds for certain."""
        return {}

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Those on slopes, gradients and rounds: a reading of g is not g."""
        seen = ("constraint subgradient", "cost gradient", "horizon")
        return tuple(p for p in self.exact.premises if p.quantity in seen)


@final
@dataclass(frozen=True)
class InTurns(EveryRound):
    r"""Feedback that is k rounds late: k + 1 copies that play in turn.

    Each copy plays every (k+1)-th round, and knows the feedback of its last one by then. So each
    has its theorem for its own rounds, and

    .. math:: \mathrm{Reg}_T \le (k+1)\,\overline{\mathrm{Reg}}(\lceil T/(k+1)\rceil) .

    Args:
        constants: those of the guarantee of one copy.
        each: that guarantee, which must be one for every round.
        delay: k.
    """

    constants: Constants
    each: Guarantee
    delay: int

    def __post_init__(self) -> None:
        _every_round(self.each)
        checks.whole(self.delay, "delay")

    @property
    def name(self) -> str:
        """The theorem of one copy, and how many there are."""
        return f"{self.each.name}, {self.delay + 1} copies in turn"

    @property
    def horizon(self) -> int | None:  # type: ignore[override]
        """The rounds of all copies together."""
        return None if self.each.horizon is None else (self.delay + 1) * self.each.horizon

    @property
    def changing(self) -> bool:
        """Whether the constraint may differ from round to round."""
        return self.each.changing

    @property
    def regret_exponent(self) -> float | None:
        """That of one copy."""
        return self.each.regret_exponent

    def regret_bound(self, t: Any) -> Array:
        """Return the sum of the bounds of the copies."""
        n = self.delay + 1
        return n * self.each.regret_bound(np.ceil(np.asarray(t, dtype=np.float64) / n))

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Those of one copy; the horizon is that of all."""
        return self._and_horizon(*(p for p in self.each.premises if p.quantity != "horizon"))


def _every_round(guarantee: Any) -> None:
    if not isinstance(guarantee, Guarantee) or guarantee.kind != "every round":
        said = str(guarantee) if isinstance(guarantee, Guarantee) else shown(guarantee)
        raise InvalidValueError(f"the guarantee must be one for every round, got {said}")

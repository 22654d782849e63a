"""What is promised to a rule that is told values of g and no slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory._from_start import StrictStart

__all__ = ["ValuesAndCurvature", "ValuesOnly"]


@dataclass(frozen=True)
class _FromValues(StrictStart):
    """No regret bound, but that the costs of two feasible points differ by at most 2R G_f."""

    regret_exponent: ClassVar[float] = 1.0
    needed: ClassVar[tuple[str, ...]]

    constants: Constants
    horizon: int | None = None

    def __post_init__(self) -> None:
        self._check_start(*self.needed)

    @final
    def regret_bound(self, t: Any) -> Array:
        """Return :math:`2RG_fT`; inf where G_f is not known."""
        return self._at_worst(t)


@final
@dataclass(frozen=True)
class ValuesOnly(_FromValues):
    r"""Values alone: feasible in every round, from G_g and a strictly feasible start.

    .. math:: g(x_t) \le 0 \ \forall t .

    The hull of balls that certifies an action is made of values and G_g, and no slope enlarges it
    (Theorem E of docs/certified.md), so that estimates of slopes may steer and never certify. No
    regret bound is claimed: in advance no more is known than that the costs of two feasible points
    differ by at most :math:`2RG_f`. docs/noise.md has the statement and what was measured.

    Args:
        constants: needs R, G_g, start_slack; G_f for the number above.
        horizon: the number of rounds meant, if there is one.
    """

    name: ClassVar[str] = "Values only"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_g")


@final
@dataclass(frozen=True)
class ValuesAndCurvature(_FromValues):
    r"""Values and a bound on curvature: feasible in every round for a convex g.

    Slopes are measured by differences at actions that are played, with the error that curvature
    leaves them; every action, of a probe or not, is certified with that error. docs/noise.md has
    the proof. No regret bound is claimed beyond :math:`2RG_fT`.

    Args:
        constants: needs R, beta, G_g (for the slope at the start alone) and start_slack.
        horizon: the number of rounds meant, if there is one.
    """

    name: ClassVar[str] = "Values and curvature"
    needed: ClassVar[tuple[str, ...]] = ("R", "beta", "G_g")

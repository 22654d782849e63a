"""Corollary 1 without a horizon, by doubling it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from surefoot.core.constants import Constants
from surefoot.core.types import Array
from surefoot.theory.guarantee import EveryRound
from surefoot.theory.polyak import Corollary1, Theorem1
from surefoot.theory.watching import Premise

__all__ = ["DoublingHorizon"]


@final
@dataclass(frozen=True)
class DoublingHorizon(EveryRound):
    r"""Corollary 1 repeated for 1, 2, 4, ... rounds, each time from the start.

    No horizon is needed, every round is feasible, and for every T

    .. math::
        \mathrm{Reg}_T \le \frac{\sqrt2}{\sqrt2 - 1}\,C\sqrt T \le 3.42\,C\sqrt T

    with :math:`C\sqrt T` the bound of Corollary 1. Proof: each phase begins at a strictly feasible
    point with parameters of its own, and Corollary 1 speaks of it alone. Against one comparator
    for all rounds the regrets of the phases add up; the last, if it is cut short, has at most
    Theorem 1's bound for as many rounds. With :math:`2^K \le T`,
    :math:`\sum_{k \le K} C2^{k/2} \le C2^{K/2}\sqrt2/(\sqrt2 - 1)`.

    :meth:`regret_bound` is the sum itself, which is smaller.

    Args:
        constants: as for Corollary 1: R, G_f, G_g, sigma, epsilon, start_slack.

    Example:
        >>> c = Constants(R=1.0, G_f=2.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.25)
        >>> known = Corollary1(c, 1023).regret_bound(1023)
        >>> float((DoublingHorizon(c).regret_bound(1023) / known).round(2))
        2.34
    """

    name: ClassVar[str] = "Corollary 1, doubling"
    regret_exponent: ClassVar[float] = 0.5

    constants: Constants
    horizon: None = None

    def __post_init__(self) -> None:
        _ = self._first

    @cached_property
    def _first(self) -> Theorem1:
        """Corollary 1 for one round; the other phases' parameters are multiples of its own."""
        return Corollary1(self.constants, 1).theorem

    @property
    def rho(self) -> float:
        """The tightening of the first phase."""
        return self._first.rho

    @property
    def eta(self) -> float:
        """The step size of the first phase."""
        return self._first.eta

    def regret_bound(self, t: Any) -> Array:
        """Sum Corollary 1 of the phases that have ended and Theorem 1 of the one going on."""
        t = np.asarray(t, dtype=np.float64)
        # t = mantissa 2^exponent with a mantissa in [1/2, 1): exact, as a logarithm is not.
        length = np.exp2(np.frexp(t)[1] - 1.0)
        root = np.sqrt(length)
        whole = self._first.regret_bound(1.0)
        at_once = self._first.regret_bound(0.0)  # 2R^2/eta, which does not grow with the rounds
        ended = whole * (root - 1) / (math.sqrt(2) - 1)
        return ended + at_once * root + (whole - at_once) / root * (t - length + 1)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Corollary 1 except the horizon."""
        return tuple(p for p in self._first.premises if p.quantity != "horizon")

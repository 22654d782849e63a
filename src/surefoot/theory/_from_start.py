"""Shared by theorems that rest on sigma, or on the slack and reach of the start."""

from __future__ import annotations

import math
from typing import final

from surefoot.core.constants import polyak_rate
from surefoot.core.errors import InvalidValueError
from surefoot.theory.guarantee import EveryRound
from surefoot.theory.watching import Premise

__all__ = ["FromStart", "StrictStart"]


class StrictStart(EveryRound):
    """One that rests on a strictly feasible start."""

    @final
    def _check_start(self, *needed: str) -> None:
        """Raise if constants are missing, or the start has no slack."""
        self.constants.require(*needed, "start_slack", by=self.name)
        (slack,) = self.constants.require("start_slack", by=self.name)
        if not slack > 0:
            raise InvalidValueError(
                f"{self.name} needs a strictly feasible start: start_slack = -g(x_1) must be > 0, "
                f"got {slack:g}"
            )

    @property
    def premises(self) -> tuple[Premise, ...]:
        """G_g and the start; G_f only for the regret bound; the horizon if one was used."""
        c = self.constants
        G_g, slack = c.require("G_g", "start_slack", by=self.name)
        return self._and_rest(
            Premise("constraint subgradient", "G_g", G_g),
            Premise("start", "the slack counted on", slack),
        )


class FromStart(EveryRound):
    r"""A theorem that rests on sigma, or on the start if sigma is unknown or smaller.

    A sigma that is known holds for every tightening up to :math:`\epsilon`. The start alone gives
    :math:`\sigma_\rho = (\alpha - \rho)/D_0` for every tightening up to :math:`\rho < \alpha`
    (:meth:`surefoot.core.constants.Constants.local_sigma`). The larger counts.
    """

    @property
    @final
    def level(self) -> float:
        r"""The largest tightening allowed: :math:`\min(\alpha, \epsilon)`.

        :math:`\alpha/2` where no sigma is known but that of the start.
        """
        c = self.constants
        (slack,) = c.require("start_slack", by=self.name)
        if c.sigma is None:
            return 0.5 * slack
        (epsilon,) = c.require("epsilon", by=self.name)
        return min(slack, epsilon)

    @property
    @final
    def sigma(self) -> float:
        """The larger of the known sigma and the start's, at this level."""
        c = self.constants
        slack, G_g = c.require("start_slack", "G_g", by=self.name)
        found = [] if c.sigma is None else [c.sigma]
        if self.level < slack:
            found.append(c.local_sigma(self.level))
        return min(G_g, max(found))

    @property
    @final
    def xi(self) -> float:
        r"""The share of a distance that a feasibility step removes, :math:`\xi`."""
        (G_g,) = self.constants.require("G_g", by=self.name)
        return polyak_rate(self.sigma, G_g)

    @property
    @final
    def cost(self) -> float:
        r"""How far the best action moves per unit of tightening, :math:`\kappa`.

        :math:`1/\sigma` by Lemma 1, or :math:`D_0/\alpha` towards the start; the smaller.
        """
        c = self.constants
        (slack,) = c.require("start_slack", by=self.name)
        known = math.inf if c.sigma is None else 1 / c.sigma
        return min(known, c.reach / slack)

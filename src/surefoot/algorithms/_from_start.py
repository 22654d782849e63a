"""Shared by theorems on Polyak feasibility steps: which sigma counts, and room for rounding."""

from __future__ import annotations

import math
from typing import final

from surefoot.core.constants import polyak_rate
from surefoot.theory import EveryRound

__all__ = ["SHRINK", "FromStart"]


# Where a corollary lets an action come to rest exactly on the boundary (gamma = 0: one half-space,
# or d = 1), rounding could leave g at +1e-17. Steps shorter by this share leave a slack of
# 1e-9 rho, which is above the rounding of a step, about 24 (d + 8) 2^-53 G_g R, as long as
# rho > 3e-6 (d + 8) G_g R. Where gamma > 0 the contraction itself leaves far more.
SHRINK = 1.0 - 1e-9


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

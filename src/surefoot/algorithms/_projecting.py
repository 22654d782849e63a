"""What rules share that project onto the feasible set in every round."""

from __future__ import annotations

from surefoot.core.algorithm import COSTS_ONLY, CostsOnly, S
from surefoot.core.parameters import positive, projectable
from surefoot.core.types import Real, Region

__all__ = ["Projecting"]


class Projecting(CostsOnly[S]):
    """A rule with a step size that projects onto the feasible set and asks nothing else of it."""

    needs = COSTS_ONLY._replace(projections=1)

    eta: Real = positive()
    domain: Region = projectable()

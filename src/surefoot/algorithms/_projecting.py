"""What rules share that project onto the feasible set in every round."""

from __future__ import annotations

from surefoot.algorithms._rule import COSTS_ONLY, CostsOnly, Positive, S
from surefoot.core.types import Region

__all__ = ["Projecting"]


class Projecting(CostsOnly[S]):
    """A rule with a step size that projects onto the feasible set and asks nothing else of it."""

    needs = COSTS_ONLY._replace(projections=1)

    eta: Positive
    domain: Region

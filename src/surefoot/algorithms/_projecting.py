"""What rules share that project onto the feasible set in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms._rule import COSTS_ONLY, Positive, Rule
from surefoot.types import Needs, Region

__all__ = ["Projecting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Projecting(Rule):
    """A rule with a step size that projects onto the feasible set and asks nothing else of it."""

    needs: ClassVar[Needs] = COSTS_ONLY._replace(projections=1)

    eta: Positive
    domain: Region

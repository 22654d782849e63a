"""What rules share that project onto the feasible set in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot import _check
from surefoot.algorithms._start import check_domain
from surefoot.types import Needs, Number, Region

__all__ = ["Projecting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Projecting:
    """A rule with a step size that projects onto the feasible set and asks nothing else of it."""

    needs: ClassVar[Needs] = Needs(
        constraint_values=0, constraint_subgradients=0, projections=1, domain="feasible"
    )

    eta: Number
    domain: Region

    def __post_init__(self) -> None:
        _check.parameters(self, "eta")
        check_domain(self.domain)

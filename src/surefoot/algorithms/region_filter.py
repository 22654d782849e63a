"""A filter that takes any proposal to the nearest action that is certainly feasible."""

from __future__ import annotations

from typing import Any, ClassVar

from surefoot.algorithms.certified import Certified, Name, Proposals
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import parameters_of
from surefoot.core.types import Region as Set
from surefoot.core.types import Source
from surefoot.regions import Errors, Knowledge, LipschitzHull
from surefoot.sets import Ball

__all__ = ["RegionFilter"]


class RegionFilter(Name):
    r"""Takes any proposal to the nearest point that is certainly feasible.

    .. math:: x_{t+1} = \text{the point of the certified region nearest to the proposal } z_t

    What is known about g is one object of :mod:`surefoot.regions`: a bound on the subgradients
    (:class:`~surefoot.regions.LipschitzHull`), on the curvature, or rows apart. Feasibility never
    depends on the proposal. There is no regret bound; that is the proposer's affair.

    It has nothing to tune, and moves slowly along a face: an action on the boundary has no ball of
    its own, and gets ahead by way of the inside. :class:`~surefoot.algorithms.SafetyFilter`, which
    keeps a margin rho, is quicker there if rho is chosen well.

    Args:
        knowledge: what is known about g, with the errors and drift to allow for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
        >>> state, info = safe.step(state, seen)
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)
    """

    source = Source("Surefoot", "derived here")
    constructors: ClassVar[tuple[str, ...]] = ("default",)
    parts = (Proposals, Knowledge)

    def __new__(cls, *, knowledge: Knowledge) -> Certified:  # type: ignore[misc]
        """Return the pair."""
        return Certified(proposer=Proposals(), knowledge=knowledge)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Return the declared parameter: what is known."""
        return {"knowledge": parameters_of(Certified)["knowledge"]}

    @classmethod
    def default(cls, constants: Constants, domain: Set | None = None) -> Certified:
        """Return the filter that G_g, the set around the feasible set and g's rounding allow."""
        (G_g,) = as_constants(constants).require("G_g", by="the filter")
        hull = LipschitzHull(
            G_g=G_g,
            domain=Ball(constants.R) if domain is None else domain,
            errors=Errors.of(constants),
        )
        return Certified(proposer=Proposals(), knowledge=hull)

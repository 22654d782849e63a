"""Filters from any proposed next action to one that is certainly feasible."""

from typing import Any, ClassVar

from surefoot import regions
from surefoot.algorithms.certified import Certified, Name, Parts, Proposals, by_slope_bound
from surefoot.algorithms.certified_pfs import margin
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import Parameter, parameters_of
from surefoot.core.types import Needs, Region

__all__ = ["RegionFilter", "SafetyFilter"]


class SafetyFilter(Name):
    r"""A filter from any proposed next action to one that is certainly feasible.

    The way there is shortened to the certified length and cut by the half-space:

    .. math::
        y_t     &= x_t + \min(1, r_t/\|z_t - x_t\|)(z_t - x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{\text{domain}}(p_t)

    for a proposal :math:`z_t` from momentum, Adam, a person: feasibility never depends on it.
    There is no regret bound; that is the proposer's affair. The parameters are those of
    :class:`~surefoot.regions.CertifiedLength`, and the errors to allow for.

    Example:
        >>> from surefoot import Ball
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
        >>> safe.update(state, seen).x.round(6)  # of the slack of 0.5, rho keeps 0.1
        array([0. , 0.4])
    """

    needs: ClassVar[Needs] = Needs(cost_gradients=0, proposals=1)
    constructors: ClassVar[tuple[str, ...]] = ("default",)
    parts: ClassVar[Parts] = (Proposals, regions.CertifiedLength)

    @classmethod
    def pair(cls, **parameters: Any) -> Certified:
        """Return the pair; proposals are ends of steps, which keep the margin."""
        return super().pair(**{"as_steps": True} | parameters)

    @classmethod
    def default(cls, constants: Constants, domain: Region | None = None) -> Certified:
        r"""Return a filter with nothing to choose: :math:`\rho_t = \tfrac12\sqrt{\alpha G_gR/t}`.

        The margin is that of ``CertifiedPFS.default``.
        :meth:`surefoot.algorithms.RegionFilter.default` has none, and is slower along a face.

        Args:
            constants: needs R, G_g and start_slack; uses the errors and the drift.
            domain: a set that holds the feasible set; the ball around 0 of radius R unless given.

        Example:
            >>> SafetyFilter.default(Constants(R=1.0, G_g=1.0, start_slack=0.25)).knowledge.rho
            0.25
        """
        as_constants(constants).require("R", "G_g", "start_slack", by="SafetyFilter.default")
        known = by_slope_bound(constants, domain)
        return cls.pair(rho=margin(constants), decreasing=True, **known)


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
        ramp: how far an action may be from the last one; None for any distance.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.regions import LipschitzHull
        >>> safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = safe.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
        >>> state, info = safe.step(state, seen)
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)
    """

    constructors: ClassVar[tuple[str, ...]] = ("default",)
    parts: ClassVar[Parts] = (Proposals, regions.Knowledge)

    def __new__(cls, *, knowledge: regions.Knowledge, ramp: Any = None) -> Certified:  # type: ignore[misc]
        """Return the pair."""
        return Certified(proposer=Proposals(), knowledge=knowledge, ramp=ramp)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the declared parameters: what is known, and the ramp."""
        return {n: kind for n, kind in parameters_of(Certified).items() if n != "proposer"}

    @classmethod
    def default(cls, constants: Constants, domain: Region | None = None) -> Certified:
        """Return the filter that G_g, the set around the feasible set and g's rounding allow."""
        as_constants(constants).require("G_g", by="the filter")
        hull = regions.LipschitzHull(**by_slope_bound(constants, domain))
        return Certified(proposer=Proposals(), knowledge=hull)

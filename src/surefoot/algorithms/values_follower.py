"""A leader and a certified follower that are told values of g, and no slopes."""

from __future__ import annotations

from typing import Any, ClassVar, final

from surefoot.algorithms.bounds import StrictStart
from surefoot.algorithms.certified import Name
from surefoot.algorithms.guarantee import PossibleHorizon, Tuned
from surefoot.algorithms.leader_follower import LeaderFollower
from surefoot.algorithms.probing import Probing
from surefoot.algorithms.under_errors import tune_by_slope_bound
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import parameters_of
from surefoot.core.types import Array, Needs, Number, Source
from surefoot.core.types import Region as Set

__all__ = ["ValuesFollower", "ValuesOnly"]


class ValuesFollower(Name):
    r"""Leader and follower from values of g alone: safe from G_g, no slopes needed.

    It is :class:`~surefoot.algorithms.LeaderFollower` in
    :class:`~surefoot.algorithms.Probing`, which measures slopes by differences where the leader is
    out of reach. The parameters are those of both; no slope is told, so that none can err.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = ValuesFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(np.array([0.0, -4.0]), -0.5)
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0. , 0.5])
    """

    needs = Needs(constraint_subgradients=0, work="K d", numpy_only=True, one_run=True)
    source = Source("Surefoot", "derived here")
    parts = LeaderFollower.parts

    @classmethod
    def fits(cls, algorithm: Any) -> bool:
        """Return whether an algorithm is leader and follower with probes."""
        return isinstance(algorithm, Probing) and LeaderFollower.fits(algorithm.base)

    @classmethod
    def pair(cls, **parameters: Any) -> Probing:  # type: ignore[override]
        """Return leader and follower with their probes."""
        if "slope_error" in parameters:
            raise InvalidValueError("ValuesFollower has no slope_error: no slope is told")
        own = {n: parameters.pop(n) for n in OWN if n in parameters}
        return Probing(base=LeaderFollower.pair(**parameters), **own)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Return the declared parameters of leader, follower and probes, and the errors."""
        kinds = parameters_of(Probing)
        both = LeaderFollower.parameters() | {name: kinds[name] for name in OWN}
        return {name: kind for name, kind in both.items() if name != "slope_error"}

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Probing]:
        """Return the rule for costs that have a distribution; no horizon needed.

        Uses R, G_g and the start; the horizon is taken so that all tunings are called alike.
        """
        return tune_by_slope_bound(cls, ValuesOnly(constants), domain, lazy=True)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Probing]:
        """Return the rule for costs that change: a leader that descends from where it is."""
        return tune_by_slope_bound(cls, ValuesOnly(constants), domain, lazy=False)


OWN = ("probe", "doubt", "near")
"""The parameters of :class:`Probing` beside its base."""


class FromValues(PossibleHorizon, StrictStart):
    """No regret bound, but that the costs of two feasible points differ by at most 2R G_f."""

    regret_exponent: ClassVar[float] = 1.0

    def regret_bound(self, t: Number) -> Array:
        """Return :math:`2RG_fT`; inf where G_f is not known."""
        return self._at_worst(t)


@final
class ValuesOnly(FromValues):
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

"""Dual averaging onto a certified region, from values of g and a bound on its curvature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, final

from surefoot.algorithms.certified import NameWithKnowledge
from surefoot.algorithms.certified_dual_averaging import Averaging
from surefoot.algorithms.guarantee import Tuned
from surefoot.algorithms.measuring import Measuring
from surefoot.algorithms.values_follower import FromValues
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants
from surefoot.core.parameters import parameters_of
from surefoot.core.types import Needs, Source
from surefoot.core.types import Region as Set
from surefoot.regions import Curvature, Errors

__all__ = ["ValuesAndCurvature", "ValuesAveraging"]


class ValuesAveraging(NameWithKnowledge):
    r"""Dual averaging from values and a bound on curvature: slopes are measured, with their error.

    It is :class:`~surefoot.algorithms.CertifiedDualAveraging` in
    :class:`~surefoot.algorithms.Measuring`, which measures a slope where the region cuts the step
    and the slope is not known well enough. The parameters are those of both.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> known = Curvature(beta=2.0, reach=1.0)
        >>> player = ValuesAveraging(knowledge=known, radius=1.0, start_slope=2.0)
        >>> state = player.init(np.zeros(2))
        >>> for _ in range(300):  # the limit is |x|^2 <= 0.25
        ...     value = float(state.x @ state.x) - 0.25
        ...     state = player.update(state, Feedback(np.array([-0.6, -0.8]), value))
        >>> state.x.round(2)
        array([0.3, 0.4])
    """

    needs = Needs(constraint_subgradients=0, numpy_only=True, one_run=True)
    source = Source("Surefoot", "derived here")
    parts = (Averaging, (Curvature,))

    @classmethod
    def fits(cls, algorithm: Any) -> bool:
        """Return whether an algorithm is dual averaging with measurements."""
        return isinstance(algorithm, Measuring) and super().fits(algorithm.base)

    @classmethod
    def pair(cls, **parameters: Any) -> Measuring:  # type: ignore[override]
        """Return dual averaging with its measurements."""
        own = {n: parameters.pop(n) for n in OWN if n in parameters}
        return Measuring(base=super().pair(**parameters), **own)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Return the declared parameters of dual averaging and of the measurements."""
        kinds = parameters_of(Measuring)
        return super().parameters() | {name: kinds[name] for name in OWN}

    @classmethod
    @tuning(listed=False)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Measuring]:
        """Return the rule for the constants of a problem; G_g bounds the slope at the start.

        Args:
            constants: needs R, beta, G_g, start_slack; uses the errors of values.
            horizon: not used.
            domain: a known set that holds every action.
        """
        theorem = ValuesAndCurvature(constants)
        R, beta, G_g = constants.require("R", "beta", "G_g", by=theorem.name)
        errors = replace(Errors.of(constants), slope=0.0, drift=0.0)
        known = Curvature(beta=beta, reach=R, domain=domain, errors=errors)
        return Tuned(cls.pair(knowledge=known, radius=R, start_slope=G_g), theorem)


OWN = ("start_slope", "share", "length")
"""The parameters of :class:`Measuring` beside its base."""


@final
class ValuesAndCurvature(FromValues):
    r"""Values and a bound on curvature: feasible in every round for a convex g.

    Slopes are measured by differences at actions that are played, with the error that curvature
    leaves them; every action, of a probe or not, is certified with that error. docs/noise.md has
    the proof. No regret bound is claimed beyond :math:`2RG_fT`.

    Args:
        constants: needs R, beta, G_g (for the slope at the start alone) and start_slack.
        horizon: the number of rounds meant, if there is one.
    """

    name: ClassVar[str] = "Values and curvature"
    needed: ClassVar[tuple[str, ...]] = ("R", "beta", "G_g")

"""A leader that learns and is never played; a certified follower that goes after it."""

from __future__ import annotations

from typing import Any

from surefoot.algorithms.certified import Certified, Name
from surefoot.algorithms.leader import Leader
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.types import Needs, Source
from surefoot.core.types import Region as Set
from surefoot.regions import Errors, LipschitzHull
from surefoot.theory import TheoremG, Tuned, under_errors

__all__ = ["LeaderFollower"]


class LeaderFollower(Name):
    r"""Learn with a leader, play a follower: safe from G_g alone, with the regret of the leader.

    The leader, never played, runs dual averaging on all half-spaces seen so far
    (:class:`~surefoot.algorithms.Leader` has the formulas). The follower, which is played, goes
    after it inside the convex hull of two balls that are certainly feasible
    (:class:`~surefoot.regions.LipschitzHull`). Safety is that hull alone, whatever the leader does.

    The parameters are those of the two, with one ``domain`` for both, a set that contains the
    feasible set and holds every action, and the errors to allow for: ``value_error``,
    ``slope_error``, ``drift`` and ``evaluation_error``.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball, Feedback
        >>> player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-3.0, -4.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # shorter than the slack of 0.5: off the cut
        array([0.323498, 0.336064])
    """

    needs = Needs(work="K d", numpy_only=True, one_run=True)
    source = Source("Surefoot", "derived here")
    parts = (Leader, LipschitzHull)

    @classmethod
    def pair(cls, **parameters: Any) -> Certified:
        """Return the pair; the hull keeps the start's ball for the careful mode."""
        careful = parameters.get("gradient_bound") is not None
        return super().pair(**{"keep_start": careful} | parameters)

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Return the rule for costs that have a distribution; no horizon needed.

        Uses R, G_g and the start; G_f only for the regret bound, and the horizon not at all.
        """
        return cls._with(TheoremG(as_constants(constants)), domain)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        """Return the rule for costs that change: a leader that descends from where it is."""
        return cls._with(TheoremG(as_constants(constants), in_advance=False), domain, lazy=False)

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Certified]:
        r"""Return the rule whose A starts at :math:`G_f^2T/2`, the step of a known horizon."""
        (G_f,) = as_constants(constants).require("G_f", by=TheoremG.name)
        theorem = TheoremG(as_constants(constants), checks.horizon(horizon), in_advance=False)
        return cls._with(theorem, domain, expected=0.5 * G_f * G_f * horizon)

    @classmethod
    @tuning
    def strongly_convex(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        r"""Return the rule for H-strongly convex costs, with :math:`\eta_t = 2/(Ht)`."""
        (H,) = as_constants(constants).require("strong_convexity", by=TheoremG.name)
        theorem = TheoremG(as_constants(constants), in_advance=False)
        return cls._with(theorem, domain, lazy=False, strong_convexity=H)

    @classmethod
    def _with(cls, theorem: TheoremG, domain: Set | None, **parameters: Any) -> Tuned[Certified]:
        (G_g,) = theorem.constants.require("G_g", by=theorem.name)
        promise = under_errors(theorem)
        if promise is theorem and theorem.in_advance and theorem.constants.G_f is not None:
            parameters["gradient_bound"] = theorem.constants.G_f
        errors = Errors.of(theorem.constants)
        return Tuned.of(cls.pair, promise, domain, G_g=G_g, errors=errors, **parameters)

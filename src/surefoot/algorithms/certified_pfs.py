"""PFS with certified steps: feasible in every round from G_g alone."""

from __future__ import annotations

import math
from typing import Any

from surefoot.algorithms._start import check_domain
from surefoot.algorithms.certified import Certified, Name
from surefoot.algorithms.descent import Descent
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.constants import Constants, as_constants
from surefoot.core.points import bounded_diameter
from surefoot.core.types import Needs, Source
from surefoot.core.types import Region as Set
from surefoot.regions import CertifiedLength, Errors
from surefoot.sets import Ball
from surefoot.theory import TheoremD, Tuned, under_errors

__all__ = ["CertifiedPFS", "margin"]


class CertifiedPFS(Name):
    r"""Polyak feasibility steps, each no longer than what is certified before it is taken.

    .. math::
        r_t        &= \rho_t/G_g - B_t \\
        1/\eta_t   &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), \|\nabla_t\|/r_t) \\
        y_t        &= x_t - \eta_t \nabla_t \\
        p_t        &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho_t \le 0\}(y_t) \\
        x_{t+1}    &= \Pi_{\text{domain}}(p_t)

    with :math:`S_t = \sum_{s \le t}\|\nabla_s\|^2` and :math:`B_t` the distance to the tightened
    set that is left after the half-space projection (:mod:`surefoot.regions.certified_length`).

    The parameters are those of :class:`~surefoot.algorithms.Descent` and
    :class:`~surefoot.regions.CertifiedLength`, ``decreasing`` unless said otherwise, with the
    radius of the domain, and the errors to allow for.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0.158114, 0.25    ])
    """

    needs = Needs()
    source = Source("Surefoot", "derived here")
    parts = (Descent, CertifiedLength)

    @classmethod
    def pair(cls, **parameters: Any) -> Certified:
        """Return the pair; the radius of the descent is half the diameter of the domain."""
        domain = parameters.get("domain")
        if domain is not None and "radius" not in parameters:
            check_domain(domain)
            is_ball = isinstance(domain, Ball)
            parameters["radius"] = domain.radius if is_ball else 0.5 * bounded_diameter(domain)
        return super().pair(**{"decreasing": True} | parameters)

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Certified]:
        r"""Tune by Theorem D, :math:`\rho_t = \min(\alpha/2, \sqrt{\alpha G_gR/(4t)})`; no horizon.

        Uses R, G_g and the start; G_f only for the number in the regret bound, and the horizon
        not at all: all tunings take one. The margin is chosen for costs whose mean stays.
        """
        return cls._with(TheoremD(constants, margin(constants)), domain)

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Certified]:
        r"""Tune by Theorem D, the fixed :math:`\rho = \min(\alpha/2, \sqrt{\alpha G_gR/(4T)})`."""
        rho = margin(constants) / math.sqrt(checks.horizon(horizon))
        return cls._with(TheoremD(constants, rho, decreasing=False, horizon=horizon), domain)

    @classmethod
    def _with(cls, theorem: TheoremD, domain: Set | None) -> Tuned[Certified]:
        _, G_g = theorem.constants.require("R", "G_g", by=theorem.name)
        shared = ("rho", "decreasing", "eta")
        errors = Errors.of(theorem.constants)
        promise = under_errors(theorem)
        parameters = {name: getattr(theorem, name) for name in shared}
        return Tuned.of(cls.pair, promise, domain, G_g=G_g, errors=errors, **parameters)


def margin(constants: Constants) -> float:
    r"""Return the c of :math:`\rho_t = c/\sqrt t`: :math:`\tfrac12\sqrt{\alpha G_gR}`.

    A margin costs :math:`(D_1/\alpha)\sum\rho_t` in regret, and its short steps
    :math:`2R^2G_gL/\rho_T`: they balance where :math:`\rho \sim \sqrt{\alpha G_gR/T}`.
    """
    R, G_g, slack = as_constants(constants).require("R", "G_g", "start_slack", by="Theorem D")
    return 0.5 * math.sqrt(max(slack, 0.0) * G_g * R) or 1.0  # Theorem D refuses such a slack

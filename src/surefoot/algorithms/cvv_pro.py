"""Velocities instead of projections: only violated constraints matter (Kolev et al.)."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import EachConstraint, tuning
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.flow import run_by_run
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Needs, Number, Real, Region, Source
from surefoot.sets import Ball
from surefoot.sets._active_set import project_halfspaces
from surefoot.theory import Tuned
from surefoot.theory.cvv_pro import CVVProTheorem

__all__ = ["CVVPro", "CVVProState"]


class CVVProState(NamedTuple):
    """The action to play, and the round."""

    x: Array
    t: Number = 1.0


class CVVPro(EachConstraint[CVVProState]):
    r"""A step along the velocity nearest to the descent that reduces every violation.

    With the ball as row 0, :math:`g_0 = \tfrac12(\|x\|^2 - R^2)`, and I the rows with
    :math:`g_i(x_t) \ge 0`,

    .. math::
        v_t     &= \arg\min_v \tfrac12\|v + \nabla_t\|^2 \quad\text{such that}\quad
                   \nabla g_i(x_t)^\top v \le -\alpha g_i(x_t),\ i \in I \\
        x_{t+1} &= x_t + \frac{v_t}{\alpha\sqrt{t + 15}}.

    Actions may leave the ball by the factor 1.71 on the way. NumPy only.

    Args:
        alpha: how fast violations must fall, :math:`G_f/R` by the theorem.
        radius: R, of a ball around 0 that holds a point feasible in all rounds.

    Example:
        >>> from surefoot import Feedback
        >>> player = CVVPro(alpha=0.4, radius=5.0)
        >>> state = player.init(np.array([0.6, 0.1]))
        >>> seen = Feedback(np.array([-1.0, 0.3]), np.array([0.1]), np.array([[1.0, 0.0]]))
        >>> player.update(state, seen).x.round(9)
        array([ 0.575 , -0.0875])

    Reference: Kolev, Martius and Muehlebach, "Online learning under adversarial nonlinear
    constraints", NeurIPS 2023. Constants derived here; theirs are larger.
    """

    state = CVVProState
    needs = Needs(apart=True, work="m d", numpy_only=True)
    source = Source("Kolev, Martius and Muehlebach, NeurIPS 2023")

    alpha: Real = positive()
    radius: Real = positive()

    @property
    def domain(self) -> Ball:
        """The ball whose own row keeps the actions near."""
        return Ball(self.radius)

    def init(self, x1: Array) -> CVVProState:
        """Start at x1, a point of the ball."""
        x1 = checks.action(x1)
        if float(np.max(np.sum(x1 * x1, axis=-1) - np.asarray(self.radius) ** 2)) > 0:
            raise InvalidValueError(f"x1 must be in the ball of radius {self.radius!r}, got {x1!r}")
        return self.first_state(x1)

    def next_state(self, state: CVVProState, gradient: Array, g: Array, s: Array) -> CVVProState:
        x, t = state
        v = run_by_run(_velocity, (x, gradient, g, s), self.alpha, self.radius)
        return CVVProState(x + v / (self.alpha * (t + 15.0) ** 0.5), t + 1.0)

    @classmethod
    @tuning
    def tuned(cls, constants: Constants, horizon: int, domain: Region | None = None) -> Tuned[Self]:
        """Tune for regret O(T^(1/2)) under any convex constraints; violations are not bounded.

        G_f must hold on the ball of radius 2.71 R, which is row 0. The bounds are for any number
        of rounds.
        """
        return cls._by(CVVProTheorem(constants), horizon)

    @classmethod
    @tuning
    def fixed(cls, constants: Constants, horizon: int, domain: Region | None = None) -> Tuned[Self]:
        """Tune for fixed smooth rows: regret O(T^(1/2)), violations O(t^(-1/2)) per round.

        As :meth:`tuned`, with the curvature beta among the constants, and G_g as G_f.
        """
        return cls._by(CVVProTheorem(constants, smooth=True), horizon)

    @classmethod
    def _by(cls, theorem: CVVProTheorem, horizon: int) -> Tuned[Self]:
        checks.horizon(horizon)
        return Tuned(cls(alpha=theorem.alpha, radius=theorem.constants.R), theorem)


def _velocity(x: Array, gradient: Array, g: Array, s: Array, alpha: float, radius: float) -> Array:
    """Return the nearest velocity to -gradient that the violated rows allow."""
    ball = 0.5 * (float(x @ x) - radius * radius)
    values, slopes = np.append(g, ball), np.vstack([s, x])
    violated = values >= 0
    if not violated.any():
        return -gradient
    rows = slopes[violated]
    sizes = np.linalg.norm(rows, axis=1)
    if not (sizes > 0).all():
        raise InvalidValueError(
            "a violated constraint must have a gradient that is not 0: there is no feasible point"
        )
    # In units of length, so that rows of any scale are solved to the same accuracy.
    excess = (rows @ -gradient + alpha * values[violated]) / sizes
    if excess.max() <= 0:
        return -gradient
    scale = float(np.abs(excess).max())
    way = project_halfspaces(excess / scale, rows / sizes[:, None], 1e-12, 1e12)
    if way is None:
        raise InvalidValueError(
            "the violated constraints must have a common feasible point, got none that a "
            f"velocity leads to at {x!r}"
        )
    return -gradient + scale * way[0]

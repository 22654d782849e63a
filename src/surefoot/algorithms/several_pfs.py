r"""Certified steps with several constraints, each cut by its own half-space.

Every :math:`H_{t,i} = \{p : g_i(x_t) + s_{t,i}^\top(p - x_t) + \rho_t \le 0\}` holds the tightened
set :math:`X_\rho` of all constraints together. So a product of projections onto them, and the
projection onto all of them at once, do not expand and leave :math:`X_\rho` where it is; and if the
product begins with the largest constraint, or all of them are met, :math:`x_t` comes as much closer
to :math:`X_\rho` as by that constraint alone. That is all that the certificate
(:mod:`surefoot.algorithms.certificate`) and Theorem D ask of the projection onto one half-space.
Which of the projections is used, and in which order after the first, may depend on anything known
in the round: the estimate holds for each of them, hence for the one taken.

What is gained: where faces meet, one half-space lets a step out through the others, and the next
rounds must bring it back. With all of them a step ends in the tightened set, exactly where faces
are flat and across each other, and the room of the next round is the whole :math:`\rho/G_g`.

Rounding. With :math:`k = m + 1` projections, each within :math:`\epsilon = 24(d+8)uR` of the true
one, a step is off by :math:`k\epsilon` in all. Half-spaces are moved outwards by
:math:`\tau = G_gk\epsilon`, and the certificate counts on neither: then an intersection that is
known only up to :math:`\tau`, as the answer of :mod:`surefoot.sets._active_set` is, still holds
:math:`X_\rho`.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from surefoot.algorithms._length import CertifiedLength
from surefoot.algorithms.certificate import CertifiedStep
from surefoot.algorithms.certified_pfs import CertifiedPFS, CertifiedState, gradient_size
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, tuning
from surefoot.core.arrays import combine, dot, largest, namespace, record, rows_dot
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.flow import in_turn
from surefoot.core.parameters import flag
from surefoot.core.types import Array, Feedback, Needs, Number, Source
from surefoot.regions import ERRORS
from surefoot.sets import Ball, project_halfspace
from surefoot.sets._active_set import project_halfspaces
from surefoot.theory import Tuned

__all__ = ["SeveralPFS"]

_UNIT = 2.0**-53


class SeveralPFS(Algorithm):
    r"""Certified Polyak feasibility steps that cut by every constraint, not by the largest alone.

    .. math::
        y_t     &= x_t - \eta_t \nabla_t \\
        p_t     &= \Pi_m \cdots \Pi_2\Pi_1\Pi_{i^*}(y_t),
                   \quad\text{or } \Pi_{H_1\cap\dots\cap H_m}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    with :math:`\Pi_i` the projection onto the half-space of constraint i, :math:`i^*` the largest
    constraint, and :math:`\eta_t` as the certificate allows: as safe as :class:`CertifiedPFS`, and
    with longer steps where constraints meet.

    Args:
        base: the rule whose steps are taken; its G_g is of the maximum of all constraints.
        exact: whether the half-spaces are projected onto all at once, by a method of active sets
            whose every answer is checked; where none passes the check, one after the other. For
            few constraints and NumPy only.

    Example:
        >>> base = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2, decreasing=False, eta=0.5)
        >>> player = SeveralPFS(base=base)
        >>> state = player.init(np.array([0.0, 0.0]))  # x[0] <= 0.5, x[1] <= 0.4
        >>> seen = Feedback(np.array([-0.6, -0.8]), np.array([-0.5, -0.4]), np.eye(2))
        >>> player.update(state, seen).x.round(6)  # 0.4 along the slope, cut at x[1] = 0.2
        array([0.24, 0.2 ])
    """

    needs = Needs(apart=True, work="m d", row_loop=True)
    source = Source("Surefoot", "derived here")

    base: CertifiedPFS
    exact: bool = flag(default=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, CertifiedPFS):
            raise InvalidValueError(f"base must be a CertifiedPFS, got {self.base!r}")
        for name in ERRORS:
            if getattr(self.base, name):
                raise InvalidValueError(
                    f"base must be told no {name}, which half-spaces of several rows do not allow "
                    f"for, got {getattr(self.base, name)!r}"
                )
        for name in ERRORS:
            if getattr(self.base, name) is not None:
                raise InvalidValueError(
                    f"base.{name} must be None, got {getattr(self.base, name)!r}: several rows "
                    "with errors are for CertifiedOGD with CurvatureRows"
                )

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        return self.base.init(x1)

    def moved(self, state: CertifiedState, x: Array, missed: int = 0) -> CertifiedState:
        """Return the state that starts from another action, as :class:`CertifiedPFS` does."""
        found: CertifiedState = self.base.moved(state, x, missed)
        return found

    def update(self, state: CertifiedState, feedback: Feedback) -> CertifiedState:
        """Return the state after a round: the lines of the docstring."""
        return self.step(state, feedback)[0]

    def step(  # type: ignore[override]
        self, state: CertifiedState, feedback: Feedback
    ) -> tuple[CertifiedState, CertifiedStep]:
        """Return the state after a round and what the step knew."""
        x, start, rounds, _, distance, inverse_eta, squares, since = state
        base = self.base
        grad, g, s = checks.feedback_apart(x, feedback)
        if feedback[4] is not None:
            raise InvalidValueError(
                f"value_error must be None, for it is not allowed for here, got {feedback[4]!r}"
            )
        if self.exact and namespace(x) is not np:
            raise InvalidValueError(f"exact must be False but for NumPy arrays, got {type(x)!r}")
        cuts = _Cuts(x, g, s, base.G_g, base.domain.reach_from_origin, self.exact)
        worst, steepest = cuts.worst, cuts.steepest
        length = base.certified_length(*state[:5], worst, steepest, rounding=2 * cuts.error)
        squared, size = gradient_size(grad)
        squares = squares + squared
        wanted, inverse_eta, eta = base.step_size(length, inverse_eta, squares, size)
        y = x - eta * grad
        p, excess = cuts.project(y, length)
        new, near = base.landed(x, rounds, length, p, eta * size)
        slack = length.start_slack
        after = (new, start, rounds + 1.0, slack, near, inverse_eta, squares, since)
        known = (base.G_g, rounds, worst, steepest, distance, length, size, wanted, inverse_eta)
        return (record(CertifiedState, after), record(CertifiedStep, (*known, excess, p, new)))

    @classmethod
    @tuning(exact=flag())
    def default(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Ball | None = None,
        *,
        exact: bool = False,
    ) -> Tuned[Self]:
        """Tune by Theorem D as :meth:`CertifiedPFS.default` does; the horizon is not used."""
        return cls._with(CertifiedPFS.default(constants, horizon, domain), exact)

    @classmethod
    @tuning(exact=flag())
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Ball | None = None, *, exact: bool = False
    ) -> Tuned[Self]:
        """Tune by Theorem D as :meth:`CertifiedPFS.known_horizon` does."""
        return cls._with(CertifiedPFS.known_horizon(constants, horizon, domain), exact)

    @classmethod
    def _with(cls, tuned: Tuned[CertifiedPFS], exact: bool) -> Tuned[Self]:
        return Tuned(cls(base=tuned.algorithm, exact=exact), tuned.guarantee)


class _Cuts:
    """The half-spaces of a round, at the action x.

    Attributes:
        worst: the largest constraint, a number.
        steepest: the subgradient of that one.
        error: what all the projections together may be rounded by.
    """

    def __init__(
        self, x: Array, g: Array, s: Array, G_g: Number, reach: Number, exact: bool
    ) -> None:
        self.x, self.g, self.s, self.reach, self.exact = x, g, s, reach, exact
        self.error = (g.shape[-1] + 1) * 24 * (x.shape[-1] + 8) * _UNIT * reach
        self.tolerance = G_g * self.error
        self.worst, index = largest(g)
        self.first = index if isinstance(index, int) else None
        if self.first is not None:
            self.steepest = s[self.first]
            return
        xp = namespace(g)
        here = xp.arange(g.shape[-1]) == (index if g.ndim == 1 else index[:, None])
        self.steepest = combine(xp.where(here, xp.ones_like(g), xp.zeros_like(g)), s)

    def project(self, y: Array, length: CertifiedLength) -> tuple[Array, Number]:
        """Return where y goes, in turn or all at once, and by how much it exceeds a half-space."""
        offset = length.rho - length.noise + self.tolerance
        if self.first is None and not self.exact:
            return self._in_turn(y, offset), math.nan  # of many runs nobody asks
        excess = self.g + rows_dot(self.s, y - self.x) + offset
        most, _ = largest(excess)
        if self.first is not None:
            way = self._at_once(excess)[0] if self.exact else None
            return (self._in_turn_live(y, excess, offset) if way is None else y + way), most
        points = self._in_turn(y, offset)
        for run, way in enumerate(self._at_once(excess)):
            if way is not None:
                points[run] = y[run] + way
        return points, most

    def _in_turn(self, z: Array, offset: Number) -> Array:
        """Return z after all projections, that of the largest constraint first."""
        one = self.x.ndim == 1
        z = project_halfspace(
            z, self.worst + dot(self.steepest, z - self.x) + offset, self.steepest
        )

        def cut(i: Any, z: Array) -> Array:
            g, s = self.g[i] if one else self.g[:, i][:, None], self.s[..., i, :]
            return project_halfspace(z, g + dot(s, z - self.x) + offset, s)

        return in_turn(self.g.shape[-1], cut, z)

    def _in_turn_live(self, z: Array, excess: Array, offset: float) -> Array:
        """Return the same for one NumPy run, skipping constraints that hold."""
        for i in (self.first, *range(len(self.g))):
            if not -math.inf < excess[i] <= 0:
                z = project_halfspace(z, float(excess[i]), self.s[i])
                excess = self.g + self.s @ (z - self.x) + offset
        return z

    def _at_once(self, excess: Array) -> list[Array | None]:
        """Return each run's move to the intersection; None if it is not certain."""
        runs = 1 if excess.ndim == 1 else len(excess)
        rows = np.reshape(self.s, (runs, *self.s.shape[-2:]))
        numbers = [np.broadcast_to(n, (runs, 1))[:, 0] for n in (self.tolerance, self.reach)]
        each = zip(np.reshape(excess, (runs, -1)), rows, *numbers, strict=True)
        # Half of the tolerance is left for the rounding of the check itself. Multipliers that add
        # up to more than 8 R come from rows that nearly cancel, and are not trusted.
        found = [project_halfspaces(e, s, 0.5 * float(t), 8 * float(R)) for e, s, t, R in each]
        return [None if way is None else way[0] for way in found]

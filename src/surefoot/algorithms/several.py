r"""Certified steps with several constraints, each cut by a half-space of its own.

Every :math:`H_{t,i} = \{p : g_i(x_t) + s_{t,i}^\top(p - x_t) + \rho_t \le 0\}` holds the tightened
set :math:`X_\rho` of all constraints together. So every product of projections onto them, in any
order, and the projection onto all of them at once, does not expand and leaves :math:`X_\rho` where
it is: all that the certificate (:mod:`surefoot.algorithms._certify`) and Theorem D ask of the
projection onto one half-space. What is gained is the distance that is left,

* one after the other: each projection brings every point of :math:`X_\rho` closer, so that with
  :math:`d_1, d_2, \dots` the lengths by which they move :math:`x_t`,
  :math:`B = \sqrt{A^2 - \sum_j d_j^2}`;
* all at once: :math:`B = \sqrt{A^2 - d^2}` with d the distance from :math:`x_t` to the
  intersection.

With one half-space alone d is that of the largest constraint; in a corner where k faces meet this
is only the share :math:`1/\sqrt k` of the way back. Which of the projections is used, and in which
order, may depend on anything known in the round: the estimate holds for each, hence for the one
taken.

Rounding. Let :math:`k = m + 1` projections be taken, :math:`\epsilon = 24(d+8)uR` and
:math:`\tau = G_gk\epsilon`. Each computed projection is within :math:`\epsilon` of the true one, so
that :math:`\sum_j d_j^2` loses at most :math:`4k\epsilon A + 3(k\epsilon)^2`, with
:math:`A \le \rho/G_g`, and a step is off by :math:`2k\epsilon` more than with one half-space. All
half-spaces are moved outwards by :math:`\tau`, so that an intersection that is known up to
:math:`\tau` only still holds :math:`X_\rho`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot import _check
from surefoot._array import combine, dot, largest, maximum, namespace, rows_dot, sqrt
from surefoot.algorithms._certify import Certificate, Room, stay_unless
from surefoot.algorithms.certified import CertifiedPFS, CertifiedState
from surefoot.constants import Constants
from surefoot.sets import Ball, project_halfspace
from surefoot.sets._active_set import project_halfspaces
from surefoot.theory import Tuned
from surefoot.types import Array, Feedback, Needs, Number

__all__ = ["SeveralPFS"]

_UNIT = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralPFS:
    r"""Certified Polyak feasibility steps that cut by every constraint, not by the largest alone.

    .. math::
        y_t     &= x_t - \eta_t \nabla_t \\
        p_t     &= \Pi_m \cdots \Pi_2\Pi_1\Pi_{i^*}(y_t),
                   \quad\text{or } \Pi_{H_1\cap\dots\cap H_m}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    with :math:`\Pi_i` the projection onto the half-space of constraint i, :math:`i^*` the largest
    constraint, and :math:`\eta_t` as the certificate allows: as safe as :class:`CertifiedPFS`, with
    longer steps where constraints meet.

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

    needs: ClassVar[Needs] = Needs(apart=True, work="m d")
    tunings: ClassVar[tuple[str, ...]] = ("default", "known_horizon")

    base: CertifiedPFS
    exact: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.base, CertifiedPFS):
            raise ValueError(f"base must be a CertifiedPFS, got {self.base!r}")

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        return self.base.init(x1)

    def update(self, state: CertifiedState, feedback: Feedback) -> CertifiedState:
        """One round: the lines of the docstring."""
        x, start, rounds, _, _, inverse_eta, squares = state
        base = self.base
        grad, cuts, room = self._judge(state, feedback)
        squared = dot(grad, grad)
        squares = squares + squared
        inverse_eta, eta, taken = base.step(room, inverse_eta, squares, sqrt(squared))
        p = cuts.project(x - eta * grad, room.rho, room.noise)
        return CertifiedState(
            stay_unless(room, base.domain.project(p), x),
            start,
            rounds + 1.0,
            room.start_slack,
            base.distance_after(room, rounds, taken),
            inverse_eta,
            squares,
        )

    def certificate(
        self, before: CertifiedState, feedback: Feedback, after: CertifiedState
    ) -> Certificate:
        """Why the action of ``after`` is feasible: the numbers of one run's update."""
        grad, cuts, room = self._judge(before, feedback)
        found, y = self.base.explained(before, after, room, grad, cuts.worst)
        excess = cuts.excess(y, room.rho, room.noise)
        return found._replace(cut=room.length > 0 and bool(excess.max() > 0))

    def wrong_constants(self, before: CertifiedState, feedback: Feedback) -> list[str]:
        """What a round of one run shows to be wrong with the constants; empty if nothing."""
        _, cuts, room = self._judge(before, feedback)
        return self.base.contradictions(
            room, before.rounds, before.distance, cuts.worst, cuts.steepest
        )

    def _judge(self, state: CertifiedState, feedback: Feedback) -> tuple[Array, _Cuts, Room]:
        x, base = state.x, self.base
        grad, g, s = _check.feedback_apart(x, feedback)
        if self.exact and type(x) is not np.ndarray:
            raise ValueError(f"exact must be False but for NumPy arrays, got {type(x)!r}")
        cuts = _Cuts(x, g, s, base.G_g, base.domain.reach_from_origin, self.exact)
        room = base.room(
            *state[:5], cuts.worst, cuts.steepest, rounding=2 * cuts.error, cuts=cuts.moved
        )
        return grad, cuts, room

    @classmethod
    def default(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Ball | None = None,
        *,
        exact: bool = False,
    ) -> Tuned[SeveralPFS]:
        """Theorem D as for :meth:`CertifiedPFS.default`; the horizon is not used."""
        return cls._with(CertifiedPFS.default(constants, horizon, domain), exact)

    @classmethod
    def known_horizon(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        exact: bool = False,
    ) -> Tuned[SeveralPFS]:
        """Theorem D as for :meth:`CertifiedPFS.known_horizon`."""
        return cls._with(CertifiedPFS.known_horizon(constants, horizon, domain), exact)

    @classmethod
    def _with(cls, tuned: Tuned[CertifiedPFS], exact: bool) -> Tuned[SeveralPFS]:
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
        self.x, self.g, self.s, self.G_g, self.reach, self.exact = x, g, s, G_g, reach, exact
        self.count = g.shape[-1] + 1
        self.error = self.count * 24 * (x.shape[-1] + 8) * _UNIT * reach
        self.tolerance = G_g * self.error
        self.worst, index = largest(g)
        self.first = index if type(index) is int else None
        if self.first is not None:
            self.steepest = s[self.first]
            return
        xp = namespace(g)
        here = xp.arange(g.shape[-1]) == (index if g.ndim == 1 else index[:, None])
        self.steepest = combine(xp.where(here, xp.ones_like(g), xp.zeros_like(g)), s)

    def excess(self, z: Array, rho: Number, noise: Number) -> Array:
        """By how much z exceeds each half-space."""
        return self.g + rows_dot(self.s, z - self.x) + (rho - noise + self.tolerance)

    def project(self, y: Array, rho: Number, noise: Number) -> Array:
        """The point of the half-spaces that y goes to: in turn, or all at once."""
        if not self.exact:
            return self._in_turn(y, rho, noise)[0]
        ways = self._at_once(self.excess(y, rho, noise))
        if y.ndim == 1:
            return self._in_turn(y, rho, noise)[0] if ways[0] is None else y + ways[0][0]
        points = self._in_turn(y, rho, noise)[0]
        for run, way in enumerate(ways):
            if way is not None:
                points[run] = y[run] + way[0]
        return points

    def moved(self, rho: Number, noise: Number) -> Number:
        """How far they move x, as far as that is certain."""
        if not self.exact:
            squares = self._in_turn(self.x, rho, noise)[1]
            blur = 4 * self.error * rho / self.G_g + 3 * self.error * self.error
            return sqrt(maximum(squares - blur, 0.0 * squares))
        found = self._distances(self.excess(self.x, rho, noise))
        return found[0] if self.x.ndim == 1 else np.array(found)[:, None]

    def _in_turn(self, z: Array, rho: Number, noise: Number) -> tuple[Array, Number]:
        """Where z is after all projections, that of the largest first; their squared lengths."""
        offset = rho - noise + self.tolerance
        if self.first is not None:
            return self._in_turn_live(z, offset, self.first)
        squares = 0.0 * self.worst
        one = self.x.ndim == 1
        for i in range(-1, self.count - 1):
            if i < 0:
                g, s = self.worst, self.steepest
            else:
                g, s = self.g[i] if one else self.g[:, i : i + 1], self.s[..., i, :]
            new = project_halfspace(z, g + dot(s, z - self.x) + offset, s)
            step = new - z
            z, squares = new, squares + dot(step, step)
        return z, squares

    def _in_turn_live(self, z: Array, offset: float, first: int) -> tuple[Array, float]:
        """The same for one NumPy run, passing over those that hold."""
        squares = 0.0
        excess = self.g + self.s @ (z - self.x) + offset
        for i in (first, *range(self.count - 1)):
            if -math.inf < excess[i] <= 0:
                continue
            new = project_halfspace(z, float(excess[i]), self.s[i])
            step = new - z
            z, squares = new, squares + dot(step, step)
            excess = self.g + self.s @ (z - self.x) + offset
        return z, squares

    def _at_once(self, excess: Array) -> list[tuple[Array, Array] | None]:
        """Of each run, the way to the intersection and its multipliers; None if not certain."""
        return [
            # Half of the tolerance is left for the rounding of the check itself. Multipliers that
            # add up to more than 8 R come from rows that nearly cancel, and are not trusted.
            project_halfspaces(e, s, 0.5 * tolerance, 8 * reach)
            for e, s, tolerance, reach in self._each(excess, self.tolerance, self.reach)
        ]

    def _each(self, excess: Array, *numbers: Number) -> Iterator[tuple[Any, ...]]:
        """Excess, rows and numbers of each run."""
        runs = 1 if excess.ndim == 1 else len(excess)
        columns = [np.broadcast_to(n, (runs, 1))[:, 0].tolist() for n in numbers]
        rows = np.reshape(self.s, (runs, *self.s.shape[-2:]))
        return zip(np.reshape(excess, (runs, -1)), rows, *columns, strict=True)

    def _distances(self, excess: Array) -> list[float]:
        r"""Of each run a lower bound on the distance to the intersection.

        Whatever multipliers :math:`z \ge 0` are found, all points of it are in the half-space
        :math:`\sum_i z_i(v_i + s_i^\top(p - x) - \tau) \le 0`.
        """
        bounds = []
        found = zip(self._at_once(excess), self._each(excess, self.tolerance), strict=True)
        for way, (e, s, tolerance) in found:
            over, length = 0.0, 0.0
            if way is not None:
                z = way[1]
                sizes = float(z @ np.sqrt(np.vecdot(s, s)))
                length = float(np.linalg.norm(z @ s)) + 4 * (len(z) + len(s[0])) * _UNIT * sizes
                over = float(z @ (e - 2 * tolerance))  # twice: the excess is rounded too
            bounds.append(max(over, 0.0) / length if length > 0 else 0.0)
        return bounds

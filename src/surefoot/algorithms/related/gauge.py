r"""Shared by methods with a gauge oracle: the action, the surrogate gradient, their theorems.

A learner on the ball chooses w; the action is w itself, or w shrunk to the boundary of K. The
surrogate gradient makes the learner's regret on the ball a bound on that of the actions.

In the theorems, the feasible set K holds the ball :math:`r\mathbb{B}` and lies in
:math:`R\mathbb{B}`; :math:`\kappa = R/r`, and :math:`D_0` bounds the distance from the first point
to any other (``start_reach``; 2R where not known, R for a start at 0). For u in K let
:math:`\rho_t = \langle\nabla_t, x_t - u\rangle` and
:math:`q_t = \langle\tilde g_t, w_t - u\rangle - \rho_t`. Then

.. math:: 0 \le q_t \le (1 + \kappa)G_fR, \qquad \|\tilde g_t\| \le (1 + \kappa)G_f.

Proof. In a corrected round :math:`\langle\tilde g, w\rangle = 0` and
:math:`q = -\langle\nabla, x\rangle(1 - \langle s, u\rangle)`; there
:math:`\langle\nabla, x\rangle < 0` and :math:`\langle s, u\rangle \le 1`. In another round with w
outside, :math:`q = \langle\nabla, w - x\rangle \ge 0` because x is a part of w and the product is
not negative. The norm: :math:`|\langle\nabla, x\rangle| \le G_fR` and :math:`\|s\| \le 1/r`. An
oracle that is off by ``error`` adds at most :math:`G_fR` times that to each round.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms.bounds import as_floats
from surefoot.algorithms.inside import AroundBall, ForHorizon
from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, NOTHING, CostsOnly, S
from surefoot.core.arrays import dot, freeze, minimum, where
from surefoot.core.parameters import anything, nonnegative, projectable
from surefoot.core.types import Array, Feedback, Info, Number
from surefoot.sets import Ball
from surefoot.sets.gauge import Gauge

__all__ = ["Gauged", "GaugedForHorizon", "GaugedTheorem", "Shrunk"]


_UNIT = 2.0**-53


class Shrunk(NamedTuple):
    """A learner's point, and the action played for it.

    Attributes:
        x: the action, a point of the feasible set.
        w: the learner's point, anywhere in the ball.
        gamma: the gauge of w.
        s: a subgradient of the gauge at w.
    """

    x: Array
    w: Array
    gamma: Number
    s: Array


class Gauged(CostsOnly[S]):
    """A rule with a gauge, whose state begins as :class:`Shrunk`.

    Its ``next_state`` is told the surrogate gradient.
    """

    needs = COSTS_ONLY._replace(gauges=1)

    gauge: Gauge = anything("the gauge of the feasible set")
    domain: Ball = projectable()

    def step(self, state: S, feedback: Feedback) -> tuple[S, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        point: Any = state
        grad = checks.read_gradient(state.x, feedback)
        return self.next_state(state, surrogate(grad, Shrunk(*point[:4]))), NOTHING

    def _shrunk(self, w: Array) -> Shrunk:
        """Return the point of the set that is played for a point of the ball."""
        return shrink(self.gauge, w, self.domain.radius)


def shrink(gauge: Gauge, w: Array, reach: Number) -> Shrunk:
    r"""Query the gauge once, and shrink w into the set: :math:`x = w\min(1, 1/\gamma(w))`.

    A computed row product of d entries errs by at most :math:`(d+4)u|a||x|`, which is
    :math:`(d+4)u\kappa` of its limit; the action is drawn in by a multiple of that, so that it is
    inside as computed too.
    """
    gamma, s = gauge(w)
    kappa = reach / gauge.inner_radius
    inner = 1.0 - 16 * (w.shape[-1] + 8) * _UNIT * kappa
    share = minimum(inner / where(gamma > 0, gamma, 1.0), 0.0 * gamma + 1.0)
    # w itself where it is inside: a state owns its arrays, and no copy is made.
    return Shrunk(freeze(where(share >= 1.0, w, share * w)), w, gamma, s)


def surrogate(gradient: Array, point: Shrunk) -> Array:
    r"""Return :math:`\nabla - \langle\nabla, x\rangle s` where w was outside and ∇ points outwards.

    Outwards: :math:`\langle\nabla, w\rangle < 0`, so that a step against the gradient would leave
    the set further; there :math:`\langle\tilde g, w\rangle = 0`.
    """
    x, w, gamma, s = point
    outwards = (gamma > 1.0) & (dot(gradient, w) < 0)
    return gradient - where(outwards, dot(gradient, x), 0.0 * gamma) * s


class GaugedTheorem(AroundBall):
    """Shared by the theorems: the surrogate's slope, the cost of an inexact oracle."""

    error: float = nonnegative()

    @property
    def slope(self) -> float:
        r"""The largest norm of a surrogate gradient, :math:`(1 + \kappa)G_f`."""
        return (1 + self.kappa) * self._G_f

    def _inexact(self, t: Number) -> Array:
        return self.error * self._G_f * self.constants.R * as_floats(t)


class GaugedForHorizon(GaugedTheorem, ForHorizon):
    """One that is tuned for a number of rounds."""

    regret_exponent: ClassVar[float] = 0.5

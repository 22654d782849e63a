"""Projected gradient descent that knows the feasible set through curvature bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from surefoot.algorithms._curved import (
    Curved,
    CurvedStep,
    curvature_of,
    finite_square,
)
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import maximum, number_like, owned, sqrt, where
from surefoot.core.constants import Constants, as_constants
from surefoot.core.parameters import flag
from surefoot.core.types import Array, Feedback, Number, Region, Source
from surefoot.regions import (
    Curvature,
    CurvatureRegion,
    CurvatureRows,
    Found,
    RowsRegion,
)
from surefoot.theory import ObservedCuts, TheoremC, Tuned, under_errors

__all__ = ["CertifiedOGD", "CertifiedOGDState", "DescentStep"]

_ROOT_2 = math.sqrt(2)


class CertifiedOGDState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        seen: what the certified region remembers.
        inverse_eta: 1/eta of the last step, which never falls.
        squares: the sum of the squared norms of the cost gradients.
    """

    x: Array
    seen: Any
    inverse_eta: Number
    squares: Number


class _Descent(NamedTuple):
    region: CurvatureRegion | RowsRegion
    rounds: Number
    wanted: Array
    found: Found
    size: Number
    inverse_eta: Number
    moves: Any
    radius: Number


class DescentStep(CurvedStep, _Descent):
    """What a step into a certified region knew; nothing is computed until a property is read.

    Attributes:
        region: the certified region of the round.
        rounds: how many rounds had been played before.
        wanted: the action that was wanted.
        found: the certified one that was taken for it.
        size: the norm of the cost gradient.
        inverse_eta: 1/eta of the step.
        moves: whether there was a step to take.
        radius: R, of a ball that contains the feasible set.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedOGD(Curved[CertifiedOGDState]):
    r"""Gradient descent whose steps are cut where the curvature no longer proves feasibility.

    .. math::
        1/\eta_t &= \max(1/\eta_{t-1}, \sqrt{S_t}/(\sqrt2 R), 2\beta\|\nabla_t\|/\nu_t), \qquad
                    \nu_t^2 = \|s_t\|^2 - 2\beta g_t \\
        y_t      &= x_t - \eta_t\nabla_t \\
        x_{t+1}  &= y_t - \mu_ts_t, \quad \mu_t \ge 0 \text{ the least with }
                    g_t + s_t^\top(x_{t+1}-x_t) + \tfrac\beta2\|x_{t+1}-x_t\|^2 \le 0

    No G_g, no margin, no horizon, and a g that is not convex stays feasible too. With several
    constraints, all of which are seen, and with a known set, y is projected onto all half-spaces
    and the set together, each half-space moved by what the curvature adds over the step
    (:class:`surefoot.regions.CurvatureRows`).

    Args:
        known: the curvature of one constraint, or of several, the known set, and the errors and
            drift to allow for.
        radius: R, the radius of a ball that contains the feasible set.
        eta: a fixed limit on the step size instead of :math:`\sqrt2R/\sqrt{S_t}`.
        ratchet: whether the step size never rises again, which the regret bound needs.

    Example:
        >>> import numpy as np
        >>> player = CertifiedOGD(known=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, -3.0]), -0.5, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)
        array([0.223607, 0.396424])
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    tunings: ClassVar[tuple[str, ...]] = ("default",)

    known: Curvature | CurvatureRows
    radius: Number
    eta: Number | None = None
    ratchet: bool = True

    def __post_init__(self) -> None:
        self._check_known()
        if self.eta is not None:
            checks.positive(eta=self.eta)
            checks.plain(self, "eta")

    def init(self, x1: Array) -> CertifiedOGDState:
        """Start at x1, strictly feasible; its slack comes with the first feedback."""
        x1 = checks.action(x1)
        zero = number_like(x1, 0.0)
        return CertifiedOGDState(x1, self.known.init(x1), zero, zero)

    def step(
        self, state: CertifiedOGDState, feedback: Feedback, within: Region | None = None
    ) -> tuple[CertifiedOGDState, DescentStep]:
        """Return the state after a round and what the step knew.

        Args:
            state: the last one.
            feedback: what was seen at its action.
            within: a set that was announced for the next round, which holds the next action.
        """
        x, seen, inverse_eta, squares = state
        grad, after, region = self._see(x, seen, feedback, within)
        squared = finite_square(grad)
        squares, size = squares + squared, sqrt(squared)
        if self.eta is None:
            inverse = sqrt(squares) / (_ROOT_2 * self.radius)
        else:
            inverse = where(squares > 0, 1 / self.eta, 0.0 * squares)
        longest = region.longest
        moves = longest > 0
        # Where rounding leaves no ball nothing moves, and the step size is not frozen by it.
        inverse = maximum(inverse, where(moves, size / where(moves, longest, 1.0), 0.0 * size))
        if self.ratchet:
            inverse = maximum(inverse, inverse_eta)
        going = moves & (inverse > 0)
        wanted = x - 1.0 / where(going, inverse, math.inf) * grad
        found = region.cut(wanted)
        new = CertifiedOGDState(owned(found.point), after, inverse, squares)
        info = DescentStep(region, seen.rounds, wanted, found, size, inverse, moves, self.radius)
        return new, info

    def observer(self) -> ObservedCuts | None:
        """Return Theorem C's sums; None without the ratchet, which the regret proof needs."""
        return ObservedCuts() if self.ratchet else None

    @classmethod
    @tuning(exact=flag())
    def default(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Region | None = None,
        *,
        exact: bool = False,
    ) -> Tuned[CertifiedOGD]:
        r"""Tune by Theorem C, from the curvature of each constraint, R and the start; no horizon.

        Args:
            constants: the constants of the problem.
            horizon: not used.
            domain: the ball that holds the feasible set, or a known set in it.
            exact: whether several rows are projected onto by active sets; one NumPy run only.
        """
        theorem = TheoremC(constants, int(as_constants(constants).rows or 1))
        (R,) = constants.require("R", by=theorem.name)
        player = cls(known=curvature_of(constants, domain, exact=exact), radius=R)
        return Tuned(player, under_errors(theorem))

"""Certified Polyak feasibility steps that remember the half-spaces of earlier rounds."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from surefoot.algorithms._rule import OnBase
from surefoot.algorithms.certificate import CertifiedStep
from surefoot.algorithms.certified_pfs import CertifiedPFS, CertifiedState
from surefoot.algorithms.several_pfs import SeveralPFS
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import ndarray, rows_dot
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Needs, Source
from surefoot.sets import Ball
from surefoot.theory import Tuned

__all__ = ["RememberingPFS", "RememberingState"]

_UNIT = 2.0**-53
_EMPTY = -1e300  # no half-space at all


class RememberingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the certified steps.
        slopes: subgradients of earlier rounds, a row per slot; 0 in an empty one.
        offsets: o in g + s'(p - x) = s'p + o, one per slot; far below 0 in an empty one.
    """

    x: Array
    base: CertifiedState
    slopes: Array
    offsets: Array


class RememberingPFS(OnBase):
    r"""Certified Polyak feasibility steps that cut by the half-spaces of earlier rounds too.

    .. math::
        y_t     &= x_t - \eta_t\nabla_t \\
        p_t     &= \Pi\{p : g_i + s_i^\top(p - x_i) + \rho_t \le 0 \ \forall i \in I_t\}(y_t),
                   \qquad t \in I_t \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    with the certified step size of :class:`CertifiedPFS`. The intersection is closed and convex,
    holds every point with :math:`g \le -\rho_t` and lies in the half-space of the round, which is
    all that the proof of Theorem D uses; so the theorem holds as it is. Steps are not pushed back
    and forth between faces that were seen before.

    Args:
        base: the certified steps, for exact values of a g that does not change.
        cuts: how many half-spaces are remembered, at least 1; 2d, but at most 64, unless given.
            Where all slots are in use, the one furthest below the rest at the action is replaced.

    Example:
        >>> base = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2, decreasing=False, eta=0.5)
        >>> player = RememberingPFS(base=base, cuts=2)
        >>> state = player.init(np.array([0.0, 0.0]))  # x[0] <= 0.5, x[1] <= 0.4
        >>> seen = Feedback(np.array([-0.6, -0.8]), -0.4, np.array([0.0, 1.0]))
        >>> player.update(state, seen).x.round(6)  # 0.4 along the slope, cut at x[1] = 0.2
        array([0.24, 0.2 ])
    """

    needs = Needs(work="K d^2", numpy_only=True)
    source = Source("Surefoot", "derived here")

    base: CertifiedPFS
    cuts: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, CertifiedPFS):
            raise InvalidValueError(f"base must be a CertifiedPFS, got {self.base!r}")
        if self.cuts is not None:
            checks.whole(self.cuts, "cuts")
        SeveralPFS(base=self.base, exact=True)  # which refuses errors and drift

    def init(self, x1: Array) -> RememberingState:
        """Start at x1; its slack comes with the first feedback."""
        base = self.base.init(x1)
        x = base.x
        if type(x) is not ndarray:
            raise InvalidValueError(f"x1 must be a NumPy array, got {type(x)!r}")
        slots = min(2 * x.shape[-1], 64) if self.cuts is None else self.cuts
        many = (*x.shape[:-1], slots)
        return RememberingState(x, base, np.zeros((*many, x.shape[-1])), np.full(many, _EMPTY))

    def update(self, state: RememberingState, feedback: Feedback) -> RememberingState:
        """Return the state after a round: the lines of the docstring."""
        return self.step(state, feedback)[0]

    def step(  # type: ignore[override]
        self, state: RememberingState, feedback: Feedback
    ) -> tuple[RememberingState, CertifiedStep]:
        """Return the state after a round and what the step knew."""
        x, base, slopes, offsets = state
        grad, g, s = checks.feedback(x, feedback)
        # A remembered value may be rounded up, and must not be: it bounds g from below.
        unit = 4 * (x.shape[-1] + 4) * _UNIT * self.G_g * self.domain.reach_from_origin
        values = np.minimum(rows_dot(slopes, x) + offsets - unit, g)
        first = np.reshape(g, (*x.shape[:-1], 1))
        rows = np.concatenate([s[..., None, :], slopes], axis=-2)
        told = Feedback(grad, np.concatenate([first, values], axis=-1), rows, None, feedback[4])
        after, info = SeveralPFS(base=self.base, exact=True).step(base._replace(x=x), told)
        kept = _kept(slopes, offsets, values, s, first - np.vecdot(s, x)[..., None])
        return RememberingState(after.x, after, *kept), info

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune by Theorem D as :meth:`CertifiedPFS.default` does; the horizon is not used."""
        tuned = CertifiedPFS.default(constants, horizon, domain)
        return Tuned(cls(base=tuned.algorithm), tuned.guarantee)

    @classmethod
    @tuning
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Tune by Theorem D as :meth:`CertifiedPFS.known_horizon` does."""
        tuned = CertifiedPFS.known_horizon(constants, horizon, domain)
        return Tuned(cls(base=tuned.algorithm), tuned.guarantee)


def _kept(
    slopes: Array, offsets: Array, values: Array, s: Array, offset: Array
) -> tuple[Array, Array]:
    """Return the memory with a half-space added: one of the same slope stays the deeper one."""
    same = (slopes == s[..., None, :]).all(axis=-1)
    # In this order: the slot of the same slope, an empty one, the one furthest from mattering.
    order = np.where(same, -np.inf, np.where(offsets == _EMPTY, _EMPTY, values))
    here = np.arange(offsets.shape[-1]) == order.argmin(axis=-1)[..., None]
    here = here & s.any(axis=-1)[..., None] & ~(same & (offsets >= offset))
    return (np.where(here[..., None], s[..., None, :], slopes), np.where(here, offset, offsets))

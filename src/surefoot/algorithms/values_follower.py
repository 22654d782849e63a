"""A leader and a certified follower that are told values of g, and no slopes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from surefoot.algorithms._allowing import errors_in
from surefoot.algorithms._cuts import Cuts, way_length
from surefoot.algorithms._following import FollowInfo, LeaderFollowerState
from surefoot.algorithms._rule import OnBase
from surefoot.algorithms.leader_follower import LeaderFollower
from surefoot.core import checks
from surefoot.core.algorithm import tuning
from surefoot.core.arrays import (
    certainly,
    constant,
    dot,
    maximum,
    minimum,
    namespace,
    norm,
    number_like,
    owned,
    record,
    rows_dot,
    where,
)
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Needs, Number, Source
from surefoot.regions import HullRegion
from surefoot.sets import Ball
from surefoot.theory import Tuned, under_errors
from surefoot.theory.values import ValuesOnly

__all__ = ["ValuesFollower", "ValuesFollowerState"]

NEGLIGIBLE = 1e-7
"""Slack below this share of the start's is not worth a probe."""


class ValuesFollowerState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of leader and follower.
        probing: the entry of the action that is moved by a probe, from 0; -1 outside of a probe.
        origin: the action that the probes differ from.
        value: g there.
        length: how far a probe goes.
        slopes: the differences so far.
    """

    x: Array
    base: LeaderFollowerState
    probing: Number
    origin: Array
    value: Number
    length: Number
    slopes: Array


class ValuesInfo(FollowInfo):
    """What a step knew; no slope was observed that could contradict anything."""

    __slots__ = ()

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What is impossible if the constants and the leader are right, one sentence each."""
        found = self.region._replace(s=None).contradictions
        return (*found, self.lost_leader) if self.lost_leader else found


class ValuesFollower(OnBase):
    r"""Leader and follower from values of g alone: safe from G_g, no slopes needed.

    Certificates of :class:`~surefoot.algorithms.LeaderFollower` are made of values, and slopes only
    steer it. Here slopes are differences of values at actions that are played: where the leader is
    out of reach, the action is close to the boundary and the cuts known so far do not say why, the
    next d rounds go to

    .. math:: x_0 + \delta e_i, \quad i = 1, \dots, d, \qquad
              \hat s_i = (g(x_0 + \delta e_i) - g(x_0))/\delta, \qquad \delta = p\,r,

    with r the radius of the certified ball of :math:`x_0`. Then :math:`\hat s`, no longer than
    :math:`G_g`, is a cut like any other; a probe that the region moves by half of :math:`\delta` or
    more says nothing, and the entry stays as it was. All of these rounds count, all of their
    actions are taken from the certified region, and all of their cost gradients reach the leader.
    A cut that an action has passed was wrong, and is moved to that action. Feasibility rests on
    none of this.

    A probe begins if the leader is beyond the certified ball, the slack is less than `near` times
    the largest so far, and

    .. math:: g_t - \max_i\big(g_i + \hat s_i^\top(x_t - x_i)\big) > q\,(-g_t) .

    Args:
        base: leader and follower, with all that they know.
        probe: p, the length of a probe relative to the radius of the certified ball; below 1/2.
        doubt: q, which part of the slack may be unexplained without a probe.
        near: how close to the boundary probes begin, relative to the deepest action.

    Example:
        >>> import numpy as np
        >>> player = ValuesFollower(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)))
        >>> state = player.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> seen = Feedback(np.array([0.0, -4.0]), -0.5, None)
        >>> player.update(state, seen).x.round(6)  # as far as the slack of 0.5 reaches
        array([0. , 0.5])
    """

    needs = Needs(constraint_subgradients=0, work="K d")
    source = Source("Surefoot", "derived here")

    base: LeaderFollower
    probe: Number = 0.01
    doubt: Number = 0.5
    near: Number = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.base, LeaderFollower):
            raise InvalidValueError(f"base must be a LeaderFollower, got {self.base!r}")
        checks.parameters(self, "probe", nonnegative=("doubt", "near"))
        if np.any(np.asarray(self.probe) >= 0.5):
            raise InvalidValueError(f"probe must be below 1/2, got {self.probe!r}")

    @property
    def value_error(self) -> Number | None:
        """The bound on the error of an observed g."""
        return self.base.value_error

    @property
    def slope_error(self) -> None:
        """None: no slope is observed."""

    @property
    def drift(self) -> Number | None:
        """The bound on the change of g from one round to the next."""
        return self.base.drift

    def init(self, x1: Array) -> ValuesFollowerState:
        """Start at x1; its slack comes with the first feedback."""
        base = self.base.init(x1)
        zero = number_like(base.x, 0.0)
        return ValuesFollowerState(base.x, base, zero - 1.0, base.x, zero, zero, 0.0 * base.x)

    def moved(self, state: ValuesFollowerState, x: Array, missed: int = 0) -> ValuesFollowerState:
        """Return the state that starts from another action; a probe that was begun is dropped."""
        base = self.base.moved(state.base, x, missed)
        return state._replace(x=base.x, base=base, probing=0.0 * state.probing - 1.0)

    def update(self, state: ValuesFollowerState, feedback: Feedback) -> ValuesFollowerState:
        """Return the state after a round."""
        return self.step(state, feedback)[0]

    def step(  # type: ignore[override]
        self, state: ValuesFollowerState, feedback: Feedback
    ) -> tuple[ValuesFollowerState, ValuesInfo]:
        """Return the state after a round and what the step knew: the lines of the docstring."""
        x, base, probing, origin, value, length, slopes = state
        d = x.shape[-1]
        grad, g = checks.cost_gradient(x, feedback), checks.constraint_value(feedback[1], x)
        # The probe that was just played, if there was one and the region has not moved it.
        on, axis = probing >= 0, _axis(x, probing)
        seen = on & (norm(x - origin - length * axis) < 0.5 * length)
        slope = (g - value) / where(seen, dot(x - origin, axis), 1.0)
        slopes = where(seen & (axis > 0), slope, slopes)
        steep = norm(slopes)
        share = minimum(self.G_g / where(steep > 0, steep, 1.0), number_like(x, 1.0))
        s = where(on & (probing == d - 1), share, 0.0 * share) * slopes
        X = x - base.start
        told = Feedback(grad, g, s, None, feedback[4])
        base, info = self.base.step(base._replace(x=x, cuts=_passed(base.cuts, X)), told)
        # The next one.
        region = info.region
        begin = (probing < 0) & self._doubts(base, region, X, g)
        going = on & (probing < d - 1)
        probing = where(begin, 0.0 * probing, where(going, probing + 1.0, 0.0 * probing - 1.0))
        origin, value = where(begin, x, origin), where(begin, g, value)
        length = where(begin, self._length(region), length)
        new = base.x
        if not certainly(probing < 0):
            probe = region.nearest(origin + length * _axis(x, probing))
            new = owned(where(probing >= 0, probe, new))
        after = (new, base, probing, origin, value, length, slopes)
        return record(ValuesFollowerState, after), record(ValuesInfo, (new, *info[1:]))

    def _doubts(self, base: LeaderFollowerState, region: HullRegion, X: Array, g: Number) -> Any:
        """Return whether the leader is out of reach for a reason that no cut tells."""
        r, xp = region.radius, namespace(X)
        normals, offsets, inverses, *_ = base.cuts
        over = (rows_dot(normals, X) - offsets) / where(inverses > 0, inverses, math.nan)
        over = where(inverses > 0, over, -math.inf)
        known = xp.max(over, axis=-1, keepdims=X.ndim > 1)
        negligible = NEGLIGIBLE * -base.start_value
        if region.errors is not None:
            negligible = negligible + 2 * region.errors.value
        found = (way_length(base.leader - X) > r) & (r > 0) & (r < self.near * region.depth)
        found = found & (g - known > self.doubt * -g + negligible)
        return bool(found) if type(g) is float else found

    def _length(self, region: HullRegion) -> Number:
        """Return how far a probe goes: further where values err, but never far."""
        r = maximum(region.radius, 0.0)
        if region.errors is None:
            return self.probe * r
        return maximum(self.probe * r, minimum(8 * region.errors.value / self.G_g, 0.25 * r))

    def observer(self) -> None:
        """Return nothing: no regret bound is claimed."""

    @classmethod
    @tuning
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Return the rule for costs that have a distribution; no horizon needed.

        Uses R, G_g and the start; the horizon is taken so that all tunings are called alike.
        """
        return cls._with(constants, domain, lazy=True)

    @classmethod
    @tuning
    def changing(
        cls, constants: Constants, horizon: int | None = None, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Return the rule for costs that change: a leader that descends from where it is."""
        return cls._with(constants, domain, lazy=False)

    @classmethod
    def _with(cls, constants: Constants, domain: Ball | None, lazy: bool) -> Tuned[Self]:
        theorem = ValuesOnly(as_constants(constants))
        R, G_g = theorem.constants.require("R", "G_g", by=theorem.name)
        allowed: dict[str, Any] = errors_in(constants)
        base = LeaderFollower(
            G_g=G_g,
            domain=Ball(R) if domain is None else domain,
            lazy=lazy,
            evaluation_error=constants.evaluation_error or None,
            **allowed,
        )
        return Tuned(cls(base=base), under_errors(theorem))


def _axis(x: Array, index: Number) -> Array:
    """Return the unit vector of an entry; 0 for none."""
    here = constant(np.arange(float(x.shape[-1])), x) == index
    return where(here, 1.0 + 0.0 * x, 0.0 * x)


def _passed(cuts: Cuts, X: Array) -> Cuts:
    """Move cuts that an action has passed to that action: it is feasible."""
    return cuts._replace(offsets=maximum(cuts.offsets, rows_dot(cuts.normals, X)))

r"""Any rule with knowledge of g that is not round: by direction, and by row.

Constants are round: one :math:`G_g` or one :math:`\beta` for all directions, and for all rows that
g is the maximum of. Where more is known, other units make it round.

*By direction.* With :math:`z = Lx` and :math:`h(z) = g(L^{-1}z)`

.. math:: \nabla h = L^{-\top}\nabla g, \qquad \nabla^2h = L^{-\top}\,\nabla^2g\,L^{-1},

so that :math:`\nabla^2g \preceq B = L^\top L` is a curvature of at most 1 for h, and
:math:`\|L^{-\top}s\| \le 1` for all subgradients s of g a slope of at most 1. Costs are linear in z
where they are in x, :math:`\nabla^\top(x - u) = (L^{-\top}\nabla)^\top(z - Lu)`: a rule that plays
z has the same regret in x.

*By row.* If row i has no subgradient longer than :math:`G_i`, :math:`h = \max_i g_i/G_i` has the
same feasible set, is convex, and has none longer than 1; the ball that its value certifies has the
radius :math:`\min_i -g_i/G_i`, where one :math:`G_g = \max_i G_i` for all leaves
:math:`\min_i -g_i/\max_i G_i`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, move_to, rest
from surefoot.core.arrays import freeze, round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import matrix, parameters_of, vector
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Certificate, Feedback, Info, Needs, Number, needs_of
from surefoot.guarantees.guarantee import Guarantee
from surefoot.guarantees.premise import Premise
from surefoot.knowledge.base import find_knowledge
from surefoot.knowledge.grid import Grid
from surefoot.knowledge.region import OnePoint, Recertified, Region
from surefoot.knowledge.together import Together
from surefoot.rules.wrappers.wrapper import FromBase, Wrapper

__all__ = ["EvenCertificate", "EvenRows", "InOtherUnits", "Stretched"]

_MOST = 1e-8
"""Of the share that rounding takes from a point; at a condition of L of about a million."""


class OtherUnits(Wrapper):
    """A rule whose base, its constants and its knowledge are in other units."""

    steps_base: ClassVar[Literal["every round", "some rounds"]] = "every round"
    is_one_run: ClassVar[bool] = True

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; this one only hands them on."""
        return counts_rounds(self.base)

    @property
    def knowledge(self) -> None:
        """Nothing; what the base knows is in other units."""
        return None

    def __post_init__(self) -> None:
        super().__post_init__()
        if counts_rounds(self.base):
            raise InvalidValueError(
                f"{type(self).__name__} must have a base that is told of the round at hand, got "
                f"{checks.repr_line(self.base)}: wrap {type(self).__name__} in it instead"
            )

    def inherit(self, each: Guarantee) -> Guarantee:
        """Return the guarantee of the base, whose constants are those of its units."""
        return InOtherUnits(each.constants, each)


class StretchedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the base, which plays z.
    """

    x: Array
    base: Any


class Stretched(OtherUnits):
    r"""A rule that plays :math:`z = Lx`; its constants, sets and errors are those of z.

    The base is told :math:`L^{-\top}\nabla_t`, g and :math:`L^{-\top}s_t` at :math:`z_t`, and
    :math:`x_t = L^{-1}z_t` is played. Whatever the base certifies is feasible: h is another convex
    function with the same values. For :math:`\nabla^2g \preceq B` take
    ``np.linalg.cholesky(B).T`` and ``Curvature(beta=1.0)``; for a set that is thin in known
    directions, one that makes it round.

    Rounding. With X the computed inverse, :math:`Lx` is off from z by at most
    :math:`\epsilon\|z\|`, :math:`\epsilon = \|LX - I\| + 2(n+4)u\||L||X|\|` in Frobenius norms:
    the residual as computed, and what its rounding and that of x may add. The margins of the base
    are several times :math:`(n+8)u` times its reach and cover the rounding of g, which here scales
    with :math:`|L||X|` as well: the reach is multiplied by :math:`4 + 4\epsilon/((n+8)u)`.

    Args:
        base: a certified rule.
        stretch: L, a matrix; ``np.diag`` of how far each entry is stretched.

    Example:
        >>> from surefoot import CertifiedDualAveraging
        >>> from surefoot.knowledge import Curvature
        >>> B = np.array([[300.0, 0.0], [0.0, 1.0]])  # g(x) = x'Bx/2 - 1/2, whose limit is thin
        >>> base = CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0)
        >>> player = Stretched(base=base, stretch=np.linalg.cholesky(B).T)
        >>> state, pull = player.init(np.zeros(2)), np.array([0.0, -1.0])
        >>> state = player.update(state, Feedback(pull, -0.5, np.zeros(2)))
        >>> state.x.round(3)  # with beta = 300 it would be 0.058
        array([0.   , 0.701])
    """

    stretch: Array = matrix()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({*np.shape(self.stretch)}) > 1 or not self._lost < _MOST:
            rule = "a square matrix with an inverse that has digits"
            raise checks.invalid("stretch", rule, self.stretch)
        if self.errors is None:
            raise checks.invalid("base", "a certified rule", self.base)
        if isinstance(getattr(find_knowledge(self.base), "domain", None), Grid):
            rule = "a rule without a Grid, whose points would be those of z"
            raise checks.invalid("base", rule, self.base)
        _ = self._each

    @cached_property
    def _inverse(self) -> Array:
        try:
            return np.linalg.inv(self.stretch)
        except np.linalg.LinAlgError:
            return np.full_like(self.stretch, np.nan)

    @cached_property
    def _lost(self) -> float:
        r"""The share :math:`\epsilon` that rounding takes from a point."""
        L, X = self.stretch, self._inverse
        rounding = 2 * (len(L) + 4) * UNIT * np.linalg.norm(abs(L) @ abs(X))
        return float(np.linalg.norm(L @ X - np.eye(len(L))) + rounding)

    @cached_property
    def _each(self) -> Any:
        """The base, with the rounding of the map in its margins."""
        return _with_reach(self.base, 4 + 4 * self._lost / ((len(self.stretch) + 8) * UNIT))

    def init(self, x1: Array) -> StretchedState:
        """Start at x1."""
        x1 = checks.to_action(x1)
        if np.shape(x1) != self.stretch.shape[:1]:
            rule = f"a vector of {len(self.stretch)} numbers, as stretch is"
            raise checks.invalid("x1", rule, x1)
        return StretchedState(x1, self._each.init(self.stretch @ x1))

    def step(self, state: StretchedState, feedback: Feedback) -> tuple[StretchedState, Info]:
        """Return the state after a round and what the step of the base knew."""
        seen, back = self.locate(state, feedback), self._inverse
        if seen.within is not None:
            raise InvalidValueError(
                f"within must not be announced to a rule in other units, got {seen.within!r}"
            )
        steep = seen.slope_error
        told = seen._replace(
            action=self._stretch(state, seen.action),
            cost_gradient=_pull_back(seen, "cost_gradient", back),
            constraint_subgradient=_pull_back(seen, "constraint_subgradient", back),
            slope_error=None if steep is None else steep * float(np.linalg.norm(back, 2)),
            proposal=None if seen.proposal is None else self.stretch @ seen.proposal,
        )
        base, info = self._each.step(state.base, told)
        x, proposal = back @ base.x, info.proposal
        if (base.x == state.base.x).all():
            x = state.x
        region = None if info.region is None else _as_stretched(info.region, x, base.x)
        after = StretchedState(freeze(x), base)
        proposal = (
            None if proposal is None else x if (proposal == base.x).all() else back @ proposal
        )
        return after, info._replace(x=after.x, proposal=proposal, region=region)

    def move_to(self, state: StretchedState, x: Array) -> StretchedState:
        """Return the state, of the same round, whose action is x, and z with it."""
        x = freeze(np.array(x))
        return StretchedState(x, move_to(self._each, state.base, self._stretch(state, x)))

    def rest(self, state: StretchedState, x: Array) -> StretchedState:
        """Return the state after a round in which nothing was read and x is kept for the next."""
        x = freeze(np.array(x))
        return StretchedState(x, rest(self._each, state.base, self._stretch(state, x)))

    def may_play(self, x: Array) -> bool:
        """Return whether z of an action is in the known set of the base."""
        return bool(self.base.may_play(self.stretch @ x))

    def _stretch(self, state: StretchedState, x: Array) -> Array:
        """Return z of an action: that of the base, bit by bit, where it is its own."""
        own: Array = state.base.x
        return own if (x == state.x).all() else self.stretch @ x


def _as_stretched(inner: Region, x: Array, z: Array) -> Region:
    """Return the point x alone, whose reason is that of z, with lengths as the base measures."""
    point = OnePoint(inner.round, x, inner.upper, inner.errors, "")
    region = Recertified(point, lambda why: inner.certificate(z, why.cut))
    region.remeasurement_due = inner.remeasurement_due
    return region


def _pull_back(seen: Feedback, name: str, back: Array) -> Array | None:
    """Return slopes as those of z; rows of them one by one."""
    slope = seen._asdict()[name]
    if slope is None:
        return None
    if np.shape(slope)[-1:] != np.shape(back)[:1]:
        raise InvalidValueError(
            f"{name}.shape must end in {len(back)}, as that of the action, got {np.shape(slope)}"
        )
    return np.asarray(slope, dtype=np.float64) @ back


def _with_reach(algorithm: Any, times: float) -> Any:
    """Return a certified rule whose margins are those of a larger set."""
    if isinstance(algorithm, Wrapper):
        return algorithm.with_base(_with_reach(algorithm.base, times))
    known = algorithm.knowledge
    if isinstance(known, Together):
        rows = tuple(replace(row, reach=times * row.reach) for row in known.rows)
        return algorithm.of(algorithm.proposer, replace(known, rows=rows), algorithm.ramp)
    if "reach" not in parameters_of(type(known)):
        raise InvalidValueError(
            "base must be a rule whose knowledge has a reach of its own, "
            f"got {type(known).__name__}"
        )
    further = replace(known, reach=times * known.reach)
    return algorithm.of(algorithm.proposer, further, algorithm.ramp)


class EvenCertificate(NamedTuple):
    r"""Why the next action is feasible for every row, in the units of the rows.

    Attributes:
        round: the round that was played.
        even: why, for :math:`\max_i g_i/G_i`.
        bound: the next g of every row is at most this.
        cut: whether the region changed the action that was wanted.
    """

    round: int
    even: Certificate
    bound: float
    cut: bool = False

    @classmethod
    def of(cls, even: Certificate, slopes: Array) -> EvenCertificate:
        r"""Return the reason with the bound on :math:`g_i \le G_i b`, whatever the row."""
        b: Any = even.bound
        bound = float(round_up(b * (slopes.max() if b > 0 else slopes.min())))
        return cls(even.round, even, bound, bool(even.cut))

    def __str__(self) -> str:
        why = str(self.even).partition(": ")[2]
        return (
            f"round {self.round}: for the largest g_i/G_i: {why}; so no row of g is above "
            f"{self.bound:.3g}"
        )


class EvenRows(OtherUnits):
    r"""A rule for one constraint that sees m rows, each with its own bound on the slopes.

    The base is told :math:`\max_i g_i/G_i` and the slope :math:`s_i/G_i` of that row; its
    :math:`G_g` is 1. What it certifies is feasible for every row, as the sign of no row changes. A
    ``value_error`` or a ``slope_error`` of a round is that of every row.

    Args:
        base: a certified rule for one constraint.
        slopes: :math:`G_i`, one for each row.

    Example:
        >>> from surefoot import Ball, LeaderFollower
        >>> player = EvenRows(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), slopes=[1.0, 30.0])
        >>> state = player.init(np.zeros(2))  # the limits are x[0] <= 0.5 and 30 x[1] <= 15
        >>> seen = Feedback(np.array([-1.0, 0.0]), np.array([-0.5, -15.0]), np.diag([1.0, 30.0]))
        >>> bool(player.update(state, seen).x[0] > 0.2)  # with G_g = 30 it would be 0.017 at most
        True
    """

    slopes: Array = vector()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.asarray(self.slopes) > 0).all():
            raise checks.invalid("slopes", "above 0", self.slopes)
        if self.errors is None or needs_of(self.base).separately or not self.errors.is_exact:
            # An error, or a drift, has the unit of its row.
            rule = "a certified rule for one constraint, without errors and drift"
            raise checks.invalid("base", rule, self.base)

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """What the base asks for, of every row."""
        needs = super().needs
        return needs._replace(separately=True, work=f"m {needs.work}")

    @property
    def rows(self) -> int:
        """How many rows are seen."""
        return len(self.slopes)

    def init(self, x1: Array) -> Any:
        """Return the first state of the base."""
        return self.base.init(x1)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round and what the step of the base knew."""
        seen = self.locate(state, feedback)
        if seen.constraint_value is not None:
            seen = self._make_even(seen)
        after, info = self.base.step(state, seen)
        if info.region is None:
            return after, info
        certify = partial(EvenCertificate.of, slopes=self.slopes)
        return after, info._replace(region=Recertified(info.region, certify))

    def _make_even(self, seen: Feedback) -> Feedback:
        """Return the row with the least way left, as the base is told it."""
        g, s, G = seen.constraint_value, seen.constraint_subgradient, self.slopes
        if np.shape(g) != G.shape or (s is not None and len(s) != len(G)):
            raise InvalidValueError(
                f"constraint_value and constraint_subgradient must have {len(G)} rows, got {g!r}"
            )
        i = int(np.argmax(g / G))
        least = float(G.min())
        value, slope = (e if e is None else e / least for e in (seen.value_error, seen.slope_error))
        return seen._replace(
            constraint_value=float(g[i] / G[i]),
            constraint_subgradient=None if s is None else s[i] / G[i],
            value_error=value,
            slope_error=slope,
        )

    def move_to(self, state: Any, x: Array) -> Any:
        """Return the base's state, of the same round, whose action is x."""
        return move_to(self.base, state, x)

    def rest(self, state: Any, x: Array) -> Any:
        """Return the state after a round in which nothing was read and x is kept for the next."""
        return rest(self.base, state, x)


class InOtherUnits(FromBase):
    """A theorem about g in other units: the same bounds, since the costs are the same.

    Args:
        constants: those of the guarantee, which are those of its own units.
        each: the guarantee, one for every round.
    """

    @property
    def name(self) -> str:
        """The theorem of the base."""
        return f"{self.each.name}, in other units"

    def regret_bound(self, t: Number) -> Array:
        """Return the bound of the base, where it has one in advance."""
        if self.each.promises.in_advance is None:
            return self._at_worst(t)
        return self.each.regret_bound(t)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The horizon; what has a unit cannot be watched in another."""
        return tuple(p for p in self.each.premises if p.quantity == "horizon")

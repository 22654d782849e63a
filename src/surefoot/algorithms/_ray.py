r"""The careful mode of :class:`surefoot.algorithms.LeaderFollower`, which has a bound in advance.

The leader stays within D, ascends along the newest cut alone, before the gradient is added, and has
the step :math:`\eta_t = D/(9\kappa^2L\sqrt t)`; the follower goes along the ray from the first
action to the leader, as far as the hull of their two certified balls allows. Theorem G of
docs/certified.md bounds its regret before the first round.
"""

from __future__ import annotations

from typing import Any

from surefoot.algorithms._cuts import Cuts, in_use, slope_over, within
from surefoot.algorithms._following import LeaderFollowerState
from surefoot.core.arrays import combine, maximum, sqrt, where
from surefoot.core.flow import in_turn
from surefoot.core.types import Array, Number
from surefoot.regions import HullRegion, LipschitzHull

__all__ = ["careful_follower", "careful_leader", "careful_round", "careful_scale", "is_late"]

HALVINGS = 52


def is_late(energy: Number, rounds: Number, kappa: Number, bound: Number) -> Any:
    r"""Return whether :math:`2A_t > 81\kappa^4L^2t`: when the careful mode begins."""
    return 2 * energy > 81 * kappa**4 * bound * bound * rounds


def careful_scale(rounds: Number, kappa: Number, bound: Number, D: Number) -> Number:
    r"""Return :math:`1/\eta_t = 9\kappa^2L\sqrt t/D`."""
    return 9 * kappa * kappa * bound * sqrt(rounds) / D


def careful_leader(
    cuts: Cuts, newest: Any, Z: Array, theta: Array, D: Number, before: Number, scale: Number
) -> tuple[Array, Array]:
    """Return the multipliers and the leader: one exact step of the newest cut, then the gradient.

    Args:
        cuts: with the cut of the round.
        newest: its slot.
        Z: the leader before the round.
        theta: the sum of the gradients, including the round's.
        D: the leader's limit.
        before: 1/eta of the last round; 0 before there is one.
        scale: 1/eta of this one.
    """
    normals, _, _, _, mu = in_use(cuts)
    mu = mu + slope_over(cuts, newest, Z)
    mu = mu * (before / scale)
    return mu, within(-(1.0 / scale) * theta - combine(mu, normals), D)


def careful_follower(region: HullRegion, start: Array, Z: Array) -> Array:
    """Return the certified point of the segment from the start to the leader that is furthest.

    A segment meets a convex set in a segment, and its beginning is certified: bisection.
    """
    share = 0.0 * region.anchor_radius

    def halve(i: Any, share: Number) -> Number:
        longer = share + 0.5 ** (i + 1.0)
        return where(region.contains(start + longer * Z), longer, share)

    share = in_turn(HALVINGS, halve, share)
    share = where(region.contains(start + Z), 1.0 + 0.0 * share, share)
    return region.nearest(start + maximum(share, 0.0 * share) * Z)


def careful_round(
    careful: Number,
    usual: tuple[Array, Array, Array],
    cuts: Cuts,
    newest: Any,
    state: LeaderFollowerState,
    theta: Array,
    scale: Number,
    region: HullRegion,
    known: LipschitzHull,
) -> tuple[Array, Array, Array]:
    """Return multipliers, leader and follower in the runs where the careful mode has begun."""
    begun, start = careful > 0, state.start
    slow = where(begun, scale, 1.0 + 0.0 * scale)
    mu, z = careful_leader(cuts, newest, state.leader, theta, state.reach, state.inverse_eta, slow)
    seen = region.memory
    value = where(seen.rounds == 1, seen.last_value, state.start_value)
    seen = seen._replace(anchor=start, anchor_value=value, anchor_round=0.0 * careful + 1.0)
    hull = known.region(seen, region.before, region.s, region.g, region.errors)
    x = careful_follower(hull, start, z)
    return tuple(where(begun, a, b) for a, b in zip((mu, z, x), usual, strict=True))

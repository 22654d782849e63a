"""What is known before a certified step: its length, and the way back where values err."""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot.core.types import Array, Number
from surefoot.regions import Errors

__all__ = ["Anchored", "CertifiedLength"]


class Anchored(NamedTuple):
    """What rule N of docs/noise.md adds to a length, with errors or under drift.

    Attributes:
        errors: what is allowed for.
        upper: the upper bound on g at the action.
        limit: what no reading can be above.
        anchor: the anchor.
        seen_slack: its slack when it was seen.
        since: the round of that.
        target: where the action is pulled to.
        pulled: whether it is, in place of a step.
        stays: whether staying is certified.
    """

    errors: Errors
    upper: Number
    limit: Number
    anchor: Array
    seen_slack: Number
    since: Number
    target: Array
    pulled: Any
    stays: Any


class CertifiedLength(NamedTuple):
    """What is known before a move.

    Attributes:
        start_slack: alpha, the slack of the first action, or of the anchor in this round.
        rho: the tightening of this round.
        distance: A, a bound on the distance to the tightened set.
        distance_after_cut: B, a bound on that distance after the half-space projection; a negative
            number is a depth inside the set.
        max_step: r, the longest step that is certified; 0 or less if there is none.
        noise: delta, the bound on the evaluation error of g.
        error: e, the bound on the rounding of a step.
        squared: the squared norm of s, where it was needed; else None.
        less: what is taken off the observed g in the half-space; 0 for exact values.
        anchored: the rest where values err or g drifts; None for exact values of a fixed g.
    """

    start_slack: Number
    rho: Number
    distance: Number
    distance_after_cut: Number
    max_step: Number
    noise: Number
    error: Number
    squared: Number | None
    less: Number
    anchored: Anchored | None

r"""The certified length where values and slopes err or g drifts: rule N of docs/noise.md.

With :math:`g^+ = \hat g + \nu`, or the bound that was certified before the action was played where
that is smaller, :math:`g^- = \hat g - \nu`, and :math:`x_a` the anchor, with slack :math:`\alpha`
in this round (the start; under drift the deepest action, aged by v per round):

.. math::
    A   &= \min\big(A, \tfrac{g^++\rho}{g^++\alpha}\|x-x_a\|\big), \qquad
    d   = [g^- + \rho - \tau A]_+/\|\hat s\|, \qquad B = \sqrt{A^2 - d^2}, \\
    H   &= \{p : g^- + \hat s^\top(p-x) + \rho - \tau A \le 0\}, \qquad
    r   = (\rho - v)/G_g - B .

The nearest point of :math:`X_\rho` is within A of x, hence in H: that is all that the certificate
of :mod:`surefoot.algorithms.certificate` needs. Where :math:`g^+ \le -\rho`, A is 0 and
:math:`B = (g^++\rho)/G_g` as there.

Where r is below :math:`\rho/(5G_g)` the step would be too short to be of use, and for a while all
others too: the action is *pulled* into :math:`X_{\max(\rho, v)}` instead, by the share
:math:`\theta = (g^++\max(\rho,v))/(g^++\alpha)` of the way to the anchor, which convexity alone
certifies. An anchor of which drift may have used half the slack is visited and so measured again.
A fixed g may stay where it is; under drift that needs :math:`g^+ + v \le 0`. Where nothing is
certified, :class:`surefoot.regions.EmptyRegionError` is raised; a run of a batch becomes NaN.
"""

from __future__ import annotations

import math
from typing import Any

from surefoot.algorithms._length import Anchored, CertifiedLength
from surefoot.core.arrays import (
    dot,
    maximum,
    minimum,
    namespace,
    ndarray,
    norm,
    owned,
    raised,
    sqrt,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number
from surefoot.regions import EmptyRegionError, Errors, causes

__all__ = [
    "distance_under_errors",
    "length_under_errors",
    "settled",
    "wrong_under_errors",
]


def length_under_errors(
    rule: Any,
    x: Array,
    anchor: Array,
    rounds: Number,
    seen_slack: Number,
    distance: Number,
    since: Number,
    g: Number,
    s: Array,
    errors: Errors,
) -> CertifiedLength:
    """Return how long the next step may be, and where to go instead, by the formulas above.

    Args:
        rule: with G_g, domain, sigma and ``tightening``.
        x: the action played.
        anchor: the anchor so far.
        rounds: how many rounds were played before.
        seen_slack: the slack of the anchor, when it was seen.
        distance: A as the last round left it.
        since: the round in which the anchor was seen.
        g: the value observed.
        s: the subgradient observed.
        errors: what is allowed for.
    """
    G_g, (nu, tau, v) = rule.G_g, errors
    noise, error, kappa = rule.kept_rounding(x.shape[-1])
    first, t, zero = rounds == 0, rounds + 1.0, 0.0 * g
    upper = g + (nu + noise)
    aged = seen_slack
    if rule.drift is not None:
        # Outwards: where the anchor is visited this is its slack from now on.
        aged = -raised(raised(v * (t - since)) - seen_slack)
    aged = where(first, -upper, aged)
    if first is True and not aged > 0:
        raise InvalidValueError(
            f"the start must be strictly feasible, by more than the error of g, got g(x_1) = {g:g}"
        )
    before = rule.tightening(t, aged)
    limit = where(first, math.inf + zero, G_g * distance - before + noise)
    upper = minimum(upper, limit)
    fresh, slack = first, aged
    if rule.drift is not None:
        visited = namespace(x).all(x == anchor, axis=-1, keepdims=x.ndim > 1)
        visited = bool(visited) if type(x) is ndarray and x.ndim == 1 else visited
        fresh = first | visited | (-upper > aged)
        slack = where(fresh, maximum(aged, -upper), aged)
    seen_slack = where(fresh, slack, seen_slack)
    anchor = where(fresh, x, anchor)
    since = where(fresh, t, since)
    rho = rule.tightening(t, slack)
    # --- the length -------------------------------------------------------------------------------
    excess, rise = upper + rho, upper + slack
    known = where(rho > before, math.inf + zero, distance + zero)
    near = maximum(excess, zero) / where(rise > 0, rise, 1.0) * norm(x - anchor)
    if rule.sigma is not None:
        near = minimum(near, maximum(excess, zero) / rule.sigma)
    A, inside = minimum(near, known), upper <= -rho
    less = nu + where(inside, zero, tau * A)
    squared = dot(s, s)
    cut = maximum(g - less + rho - 2 * noise, zero) / where(squared > 0, sqrt(squared), math.inf)
    root = sqrt(maximum(A - cut, zero) * (A + cut) + kappa * A * A)
    left = where(inside, excess / G_g, root)
    room = (rho - v) / G_g - left - error
    # --- the way back -----------------------------------------------------------------------------
    level = maximum(rho, v + zero) + G_g * error
    share = (upper + level) / where(rise > 0, rise, 1.0)
    cramped = (room < 0.2 * rho / G_g) & (upper > -rho)
    stale = room != room
    if rule.drift is not None:
        cramped = cramped | (room <= 0)
        stale = (v * (t + 1.0 - since) >= 0.5 * seen_slack) & (slack > v + G_g * error)
        stale = stale & (-upper < slack)
    pulled = (cramped & (share >= 0) & (level <= slack)) | stale
    target = where(stale, anchor, x + where(pulled, share, zero) * (anchor - x))
    stays = (upper + v <= 0) if rule.drift is not None else room == room
    room = where(pulled, zero, room)
    known = (errors, upper, limit, anchor, seen_slack, since, target, pulled, stays)
    length = (slack, rho, A, left, room, noise, error, squared, less)
    return CertifiedLength(*length, Anchored(*known))


def settled(
    length: CertifiedLength, known: Anchored, moved: Array, x: Array, rounds: Number
) -> Array:
    """Return the next action: the step, the pull, or the same; raise where none is certified."""
    certain = (length.max_step > 0) | known.pulled | known.stays
    certain = certain & (length.start_slack > 0)
    if certain is False:
        v = known.errors.drift
        raise EmptyRegionError.of_drift(rounds + 1, known.anchor, v - length.start_slack, v)
    # Not "> 0": where the length is NaN so is the moved action, which the game must see.
    kept = where(known.pulled, known.target, where(length.max_step <= 0, x, moved))
    return owned(where(certain, kept, math.nan))


def distance_under_errors(
    rule: Any, length: CertifiedLength, known: Anchored, rounds: Number, taken: Number, new: Array
) -> Number:
    r"""Return A of the next round.

    For the nearest w of :math:`X_\rho`, the point :math:`w + v(x_a-w)/(\alpha-\rho)` has
    :math:`g \le -\rho - v` in this round and :math:`-\rho` in the next.
    """
    v, zero = known.errors.drift, 0.0 * length.rho
    going = length.max_step > 0
    reached = length.distance_after_cut + taken + length.error
    if rule.drift is not None:
        reached = maximum(reached, zero)
    reached = where(known.pulled, zero, where(going, reached, length.distance))
    slack = length.start_slack - v
    if rule.drift is not None:
        deep = length.start_slack - length.rho
        rate = (norm(new - known.anchor) + reached) / where(deep > 0, deep, math.inf)
        if rule.sigma is not None:
            rate = minimum(rate, 1.0 / rule.sigma + zero)
        reached = reached + v * rate
    nearer = maximum(length.rho - rule.tightening(rounds + 2.0, slack), zero)
    return maximum(reached - nearer / rule.G_g, zero)


def wrong_under_errors(step: Any, known: Anchored) -> tuple[str, ...]:
    """Return what one step has seen that is impossible if the constants are right."""
    length, G_g, t, g = step.length, float(step.G_g), int(step.rounds) + 1, float(step.g)
    nu, tau, _ = known.errors
    steepness, found = math.sqrt(length.squared), []
    if steepness > G_g * (1 + 1e-12) + tau:
        found.append(f"round {t}: |s| = {steepness:.6g} exceeds G_g = {G_g:.6g}")
    if g - nu > known.limit + length.noise:
        why = causes(known.errors, f"G_g = {G_g:.6g} is too small")
        found.append(
            f"round {t}: g = {g:.6g} is above its certified bound {known.limit:.3g}: {why}"
        )
    cut = max(g - length.less + length.rho - length.noise, 0.0)
    cut = cut / steepness if steepness > 0 else 0.0
    too_far = cut > length.distance * (1 + 1e-7) + length.error
    if too_far and known.upper > -length.rho:
        why = causes(known.errors, "G_g, sigma or the start is wrong")
        found.append(
            f"round {t}: the cut moves by {cut:.6g}, more than the distance "
            f"{length.distance:.6g} to the tightened set: {why}"
        )
    return tuple(found)

r"""The certified point nearest to a proposal in the metric of the optimiser that made it.

An adaptive optimiser proposes :math:`p = x - \eta D^{-1}m`, with m its estimate of the gradient and
D a diagonal. The point of a region nearest to p in Euclid's metric is x itself where
:math:`-D^{-1}m` is normal to the region, and a solution needs that of :math:`-m`: so a safe run
comes to rest at a wrong point. Theorem Metric (docs/hosts.md) has the cure, which needs no more
than the region's own answers:

*Let K be closed and convex, x in it, and* :math:`x^+` *the best, in*
:math:`\|y-p\|_D`\ *, of any points of K of which one is*
:math:`\Pi_K(x - \theta D(x-p)/\max D)` *with* :math:`0<\theta\le1`\ *. Then* :math:`x^+=x` *if and
only if -m is normal to K at x, and* :math:`m^\top(x^+-x)\le-\frac1{2\eta}\|x^+-x\|_D^2`\ *.*

Here these points are answers of the filter itself, certified as every other. Where its region is
given by curvatures and no known set cuts, it is the answer to the nearest point in the metric,
which Newton's method finds. Else one is that of the theorem (a
:class:`~surefoot.rules.SafetyFilter` shortens a step to a share :math:`\theta`, and K is its
half-space), one is Euclid's, and the others, 20 with the first, are those of accelerated projected
descent of :math:`\frac12\|y-p\|_D^2`, begun anew where it turns back (FISTA with restarts).
*Safety does not depend on the metric*, nor on how good any of these searches is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.types import Array, Info
from surefoot.knowledge.nearest import Bounds

Step: TypeAlias = tuple[Any, Info]
"""A state of the filter after a round, with its details."""

MOST = 20
"""How many answers of the filter a search in a metric may take."""
ENDED = 1e-12
"""The share of the proposed step below which the search has ended."""
EXACT = 1e-9
"""The share of the proposed step by which a filter may move the nearest point, by rounding."""
GOLDEN = 0.5 * (1.0 + math.sqrt(5.0))
"""The second weight of an accelerated descent."""
WIDEST = 1e-100
"""The least entry of a metric, as a share of the largest."""
TURNS = 40
"""How often the multipliers of the exact solution are changed, at most."""
NOISE = 1e-12
"""The share of the dual function that its rounding may take."""
HALVINGS = 40
"""How often a change of them is halved, at most."""


def check_metric(metric: Array, d: int) -> Array:
    """Return the entries of a metric, the largest of them 1; reject what is none.

    Args:
        metric: the diagonal D.
        d: how many entries it must have.

    Example:
        >>> check_metric(np.array([1.0, 4.0]), 2)
        array([0.25, 1.  ])
    """
    if metric.shape != (d,):
        raise checks.invalid("metric.shape", f"({d},), one entry per number", metric.shape)
    if not (np.isfinite(metric) & (metric > 0)).all():
        raise checks.invalid("metric", "positive and finite in every entry", metric)
    return np.maximum(metric / metric.max(), WIDEST)


def take_in_metric(
    take: Callable[[Array], Step], near: Step, x: Array, target: Array, metric: Array
) -> Step:
    """Return the best answer of a filter in a metric.

    Args:
        take: the filter's step for a proposal, in one and the same round.
        near: its step for the target.
        x: the action that was played.
        target: the proposal.
        metric: as :func:`check_metric` returns it.
    """
    region, tolerance = near[1].region, norm(target - x)
    bounds = None if region is None else region.base.as_bounds()
    if bounds is not None and not bounds.tau.any():
        u, is_found = solve_in_metric(target - region.x, metric, bounds)
        if is_found and norm(u) < math.inf:  # a point without a finite square is no proposal
            exact = take(region.x + u)
            if norm(exact[0].x - region.x - u) <= EXACT * tolerance:
                return exact
    best = take(x - metric * (x - target))
    first = point = best[0].x
    least = _distance(first, target, metric)

    def keep(step: Step) -> None:
        nonlocal best, least
        distance = _distance(step[0].x, target, metric)
        if distance < least:
            best, least = step, distance

    keep(near)
    v, weight = first, GOLDEN
    for _ in range(MOST - 1):
        step = take(v - metric * (v - target))
        keep(step)
        new = step[0].x
        if (new - point) @ (v - new) > 0:
            v, weight = new, 1.0
        else:
            after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * weight * weight))
            v, weight = new + (weight - 1.0) / after * (new - point), after
        moved, point = norm(new - point), new
        if moved <= ENDED * tolerance:
            break
    return best


def _distance(point: Array, target: Array, metric: Array) -> float:
    """Return half the squared distance in a metric."""
    off = point - target
    return 0.5 * float(off @ (metric * off))


@np.errstate(all="ignore")
def solve_in_metric(q: Array, metric: Array, bounds: Bounds) -> tuple[Array, bool]:
    r"""Return the point of bounds that is nearest to q in a metric, and whether it was found.

    By Newton's method for the multipliers: those of bounds with slopes S and curvatures
    :math:`\beta` lead to :math:`u = (Dq - S^\top\lambda)/(D + \beta^\top\lambda)`, and the dual
    function rises along the bounds there. It is found where no bound is above its ``close``, and
    those with a multiplier above 0 are no further from 0.

    Args:
        q: the point.
        metric: the diagonal D.
        bounds: without errors of their slopes.

    Example:
        >>> one = np.ones(1)
        >>> disc = Bounds(-0.5 * one, np.zeros((1, 2)), one, 0.0 * one, 1e-12 * one)
        >>> solve_in_metric(np.array([3.0, 2.0]), np.array([1.0, 4.0]), disc)[0].round(5)
        array([0.4..., 0.8...])
    """
    lam = np.zeros(len(bounds.up))
    u, over, value = _lead(lam, q, metric, bounds)
    for _ in range(TURNS):
        off = np.where(lam > 0, abs(over), over)
        if (off <= bounds.close).all():
            return u, True
        free = np.flatnonzero((lam > 0) | (over > 0))
        N = bounds.s[free] + bounds.beta[free, None] * u
        H = (N / (metric + float(lam @ bounds.beta))) @ N.T
        if not np.isfinite(H).all():
            break
        if len(free) == 1:
            # Newton's method for the inverse of the slope's length, which is nearly straight.
            squared, change = float(N[0] @ N[0]), over[free] / H[0]
            end = math.sqrt(max(squared - 2.0 * float(bounds.beta[free[0]] * over[free[0]]), 0.0))
            change *= 2.0 * squared / (end * (math.sqrt(squared) + end)) if end > 0 else 1.0
        else:
            change = np.linalg.lstsq(H, over[free])[0]
        share = 1.0
        for _ in range(HALVINGS):
            trial = lam + 0.0
            trial[free] = np.maximum(lam[free] + share * change, 0.0)
            led = _lead(trial, q, metric, bounds)
            if led[2] >= value - NOISE * abs(value):
                break
            share *= 0.5
        if (trial == lam).all():
            break
        lam, (u, over, value) = trial, led
    return u, False


def _lead(lam: Array, q: Array, metric: Array, bounds: Bounds) -> tuple[Array, Array, float]:
    """Return where multipliers lead to, the bounds there, and the dual function."""
    u = (metric * q - lam @ bounds.s) / (metric + float(lam @ bounds.beta))
    over = bounds.values(u)
    return u, over, _distance(u, q, metric) + float(lam @ over)

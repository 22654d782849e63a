"""Knowledge from numbers: several limits, each with constants of its own, and the set of actions.

Whoever describes a plant has numbers, and names no kind of knowledge: :class:`LimitConstants` has
those of one limit, and :func:`certify_limits` chooses the kind that certifies by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from surefoot.core.errors import InvalidValueError
from surefoot.core.points import reach_of
from surefoot.core.types import Set
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.context import Column
from surefoot.knowledge.context_hull import ContextHull
from surefoot.knowledge.curvature import Curvature
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.together import Together

__all__ = ["LimitConstants", "certify_limits"]


class LimitConstants(NamedTuple):
    """What is known of one limit g <= 0.

    Attributes:
        G_g: its Lipschitz constant; None where ``beta`` is given.
        start_bound: g at the start is at most this, in every round and context; None if unknown.
        value_error: how wrong a reported g may be.
        evaluation_error: how wrong its computation may be beyond that.
        drift: how much g may change from round to round.
        columns: what is known of each number of a context; empty without contexts.
        beta: its smoothness constant; None where ``G_g`` is given.
        is_convex: whether it is convex; it must be where ``G_g`` is given.
        slope_error: how wrong a reported slope may be; of ``beta`` alone.
    """

    G_g: float | None
    start_bound: float | None
    value_error: float = 0.0
    evaluation_error: float = 0.0
    drift: float = 0.0
    columns: tuple[Column, ...] = ()
    beta: float | None = None
    is_convex: bool = True
    slope_error: float = 0.0


def certify_limits(limits: Sequence[LimitConstants], domain: Set) -> Knowledge:
    """Return the knowledge of limits on a set of actions: of several, a row for each.

    Args:
        limits: what is known of each.
        domain: the set that contains every action.

    Example:
        >>> from surefoot.sets import Box
        >>> heat, load = LimitConstants(1.0, -0.5), LimitConstants(20.0, -3.0, value_error=0.1)
        >>> box = Box([0.0, 0.0], [1.0, 1.0])
        >>> type(certify_limits([heat], box)).__name__
        'LipschitzHull'
        >>> [row.errors.value for row in certify_limits([heat, load], box).parts]
        [0.0, 0.1]
    """
    if len(limits) == 1:
        return _certify_one(limits[0], {"domain": domain})
    rows = tuple(_certify_one(limit, {"reach": reach_of(domain)}) for limit in limits)
    return Together(rows=rows, domain=domain)


def _certify_one(limit: LimitConstants, place: dict[str, Any]) -> Knowledge:
    """Return the knowledge of one limit, with a domain or a reach."""
    errors = Errors(value=limit.value_error, drift=limit.drift, evaluation=limit.evaluation_error)
    if limit.beta is not None:
        if limit.columns or limit.drift:
            raise InvalidValueError(
                "beta must be that of a limit that neither drifts nor has contexts, in which no "
                f"bound at the start stands by a smoothness constant, got beta = {limit.beta:.6g}: "
                "give G_g"
            )
        errors = replace(errors, slope=limit.slope_error)
        return Curvature(beta=limit.beta, errors=errors, convex=limit.is_convex, **place)
    if limit.G_g is None:
        raise InvalidValueError("a limit must have G_g or beta, got neither")
    if limit.slope_error:
        raise InvalidValueError(
            f"slope_error must be 0 where G_g certifies by values, got {limit.slope_error:.6g}"
        )
    if not limit.is_convex:
        raise InvalidValueError(
            f"G_g must be that of a convex limit, got {limit.G_g:.6g} of one that is not: means of "
            "actions are certified by it; give beta"
        )
    if not limit.columns:
        return LipschitzHull(G_g=limit.G_g, start_bound=limit.start_bound, errors=errors, **place)
    return ContextHull(
        G_g=limit.G_g,
        start_bound=limit.start_bound,
        errors=errors,
        context=limit.columns,
        **place,
    )

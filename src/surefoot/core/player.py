"""What a player can do and what it is made of: layers above ask here, and guess no attributes.

A player is an algorithm (``init`` and ``update``) or a filter (``init`` and ``admit``). Beside
these it may say what its steps knew, start from another action, know something about g, hold
another rule, or see several constraints apart.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from surefoot.core.types import Algorithm, Explaining, Filtering, Moving, Needs, Number, needs_of

__all__ = [
    "can_explain",
    "can_filter",
    "can_move",
    "can_play",
    "known_in",
    "needs_in",
    "parts_of",
    "region_in",
    "rows_in",
    "rows_known",
    "takes",
    "takes_value_error",
    "value_in",
]


def can_play(player: Any) -> TypeGuard[Algorithm[Any]]:
    """Return whether it is told costs: an algorithm, not its class."""
    return _does(player, "init", "update")


def can_filter(player: Any) -> TypeGuard[Filtering]:
    """Return whether proposals are told rather than costs.

    Example:
        >>> from surefoot import Ball, OGD, SafetyFilter
        >>> can_filter(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)), can_filter(SafetyFilter)
        (True, False)
        >>> can_filter(OGD(eta=0.1, domain=Ball(1.0)))
        False
    """
    return _does(player, "init", "admit")


def can_explain(player: Any) -> TypeGuard[Explaining[Any]]:
    """Return whether its steps say what they knew; some rules have a number called ``step``."""
    return _does(player, "init", "update", "step")


def can_move(player: Any) -> TypeGuard[Moving]:
    """Return whether it can start from another action than its own."""
    return _does(player, "moved")


def takes(method: Callable[..., Any], name: str) -> bool:
    """Return whether a function has an argument of a name."""
    return name in inspect.signature(method).parameters


def known_in(player: Any) -> Any:
    """Return what a player knows about g: its ``known``, or itself where it has the constants."""
    return getattr(player, "known", player)


def value_in(part: Any, name: str) -> Number | None:
    """Return what a player or a part of it holds under a name; None where it holds nothing.

    Args:
        part: of :func:`parts_of`.
        name: of a constant, an error or a set: "G_g", "beta", "drift", "domain", ...

    Example:
        >>> from surefoot import Ball, SafetyFilter
        >>> safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
        >>> value_in(safe, "G_g"), value_in(safe, "beta")
        (1.0, None)
    """
    value = getattr(part, name, None)
    return None if callable(value) else value


def parts_of(player: Any) -> Iterator[tuple[str, Any]]:
    """Yield the player and what it is made of, each with the path of fields that leads there.

    Example:
        >>> from surefoot.algorithms import RegionFilter
        >>> from surefoot.regions import Curvature, Together
        >>> rows = Together(rows=(Curvature(beta=1.0, reach=1.0), Curvature(beta=0.0, reach=1.0)))
        >>> [path for path, _ in parts_of(RegionFilter(known=rows))]
        ['', 'known', 'known.rows.0', 'known.rows.1']
    """
    yield "", player
    for name in ("known", "base"):
        part = getattr(player, name, None)
        if part is not None:
            yield name, part
            rows = getattr(part, "rows", None)
            if isinstance(rows, tuple):
                yield from ((f"{name}.rows.{i}", row) for i, row in enumerate(rows))


def region_in(info: Any) -> Any:
    """Return the certified region that a step took its action from; None where it had none."""
    return getattr(info, "region", None)


def takes_value_error(player: Any) -> bool:
    """Return whether a round may come with a bound on the error of its own value."""
    return any(hasattr(part, "value_error") for _, part in parts_of(player))


def rows_in(player: Any) -> int | None:
    """Return the number of constraints that are seen apart, if the player fixes it.

    Example:
        >>> from surefoot.regions import CurvatureRows
        >>> rows_in(CurvatureRows(beta=(1.0, 0.0), reach=1.0))
        2
    """
    for part in (player, known_in(player)):
        rows = getattr(part, "rows", None)
        if rows is not None:
            return len(rows) if isinstance(rows, tuple) else int(rows)
    return None


def rows_known(player: Any) -> tuple[Any, ...]:
    """Return what is known about each row by itself; all that is known where it is one object."""
    known = known_in(player)
    rows = getattr(known, "rows", None)
    return rows if isinstance(rows, tuple) else (known,)


def needs_in(player: Any) -> Needs:
    """Return what a round asks for; of a filter, a proposal in place of a gradient."""
    if not can_filter(player) or isinstance(getattr(player, "needs", None), Needs):
        return needs_of(player)
    return Needs(cost_gradients=0, apart=(rows_in(player) or 1) > 1)


def _does(player: Any, *methods: str) -> bool:
    """Return whether an object, which is no class, has methods of these names."""
    return not isinstance(player, type) and all(
        callable(getattr(player, name, None)) for name in methods
    )

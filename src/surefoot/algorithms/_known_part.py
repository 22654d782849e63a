"""Find the part of a rule that knows about errors."""

from __future__ import annotations

from typing import Any

__all__ = ["known_part"]


def known_part(rule: Any) -> Any:
    """Return the part of a rule that has the bounds on errors: ``known``, ``base`` or itself.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.algorithms import LeaderFollower, ValuesFollower
        >>> base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> known_part(ValuesFollower(base=base)) is base
        True
    """
    for part in (getattr(rule, "known", None), getattr(rule, "base", None)):
        if part is not None and hasattr(part, "drift"):
            return part
    return rule

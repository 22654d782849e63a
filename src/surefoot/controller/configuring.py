"""Which rules a controller can play, and what they do if no Python program supervises them."""

from typing import Any

from surefoot.core.algorithm import (
    Algorithm,
    errors_of,
)
from surefoot.core.plain import known_classes
from surefoot.core.types import needs_of
from surefoot.guarantees.premise import Reaction
from surefoot.guarantees.tuning import unpack

__all__ = ["reaction_of", "rules_by_name"]


def reaction_of(player: Any) -> Reaction:
    """Return the default policy of a fleet or a service after a contradiction.

    It is to retreat: no caller catches an error, and the return path needs no contradicted
    constant. A rule that cannot start from another action holds.

    Args:
        player: as for a controller.
    """
    algorithm = unpack(player)[0]
    can_move = errors_of(algorithm) is not None and algorithm.knowledge is not None
    return "retreat" if can_move else "hold"


def rules_by_name() -> dict[str, type[Algorithm]]:
    """Return every rule, filter and wrapper that one controller can play."""
    classes = known_classes().items()
    rules = {n: k for n, k in classes if issubclass(k, Algorithm)}
    return {n: k for n, k in rules.items() if not needs_of(k).agents}

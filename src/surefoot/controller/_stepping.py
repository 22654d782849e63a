"""The step that a controller takes with a rule or a filter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import can_explain, can_filter, can_move, takes
from surefoot.core.types import Array, Feedback, Info
from surefoot.theory import Guarantee, Tuned, unpack
from surefoot.theory.guarantee import instead

__all__ = ["Step", "moved", "player_of", "step_of"]

Step: TypeAlias = Callable[..., tuple[Any, Info | None]]


def player_of(player: Any) -> tuple[Any, Guarantee | None]:
    """Return the rule or filter of a player, and its guarantee where it has one."""
    algorithm, guarantee = player if isinstance(player, Tuned) else (player, None)
    if can_filter(algorithm):
        return algorithm, guarantee
    try:
        return unpack(player)
    except InvalidValueError as error:
        raise InvalidValueError(
            "player must be an algorithm with init and update, a filter with init and admit, "
            f"or a Tuned, got {instead(player)}"
        ) from error


def step_of(algorithm: Any) -> Step:
    """Return the step of a rule, or its update where it does not say what it knew.

    Raises:
        InvalidValueError: if its class overrides ``update`` but not the ``step`` behind it, which
            would be another rule.
    """
    if can_filter(algorithm):
        per_round = takes(algorithm.admit, "value_error")
        return partial(_admit_with_error if per_round else _admit, algorithm.admit)
    if not can_explain(algorithm):
        return partial(_update_alone, algorithm)
    for kind in type(algorithm).__mro__:
        if "step" in vars(kind):
            break
        if "update" in vars(kind):
            raise InvalidValueError(
                "a rule that overrides update must override step, whose first half update is, "
                f"got {kind.__name__} with the step of another class"
            )
    return partial(_step, algorithm.step)


def moved(algorithm: Any, state: Any, x: Array, missed: int = 0) -> Any:
    """Return the state that starts from another action, after rounds that nobody measured.

    Raises:
        InvalidValueError: if the rule has no such state and the action is another.
    """
    same = x is state.x or bool((x == state.x).all())
    if can_move(algorithm) and (missed or not same):
        return algorithm.moved(state, x, missed)
    if same:
        return state
    raise InvalidValueError(
        f"action must be the one asked for, because {type(algorithm).__name__} cannot start from "
        f"another, got {x!r}"
    )


def _admit(admit: Any, state: Any, seen: Feedback, **announced: Any) -> tuple[Any, Info]:
    after, info = admit(state, seen[0], seen[1], seen[2], **announced)
    return after, info


def _admit_with_error(admit: Any, state: Any, seen: Feedback, **announced: Any) -> Any:
    return admit(state, seen[0], seen[1], seen[2], value_error=seen[4], **announced)


def _step(step: Any, state: Any, seen: Feedback, **announced: Any) -> tuple[Any, Info]:
    after, info = step(state, seen, **announced)
    checks.refuse_unfinite(after.x, "the next action")
    return after, info


def _update_alone(algorithm: Any, state: Any, seen: Feedback) -> tuple[Any, None]:
    after = algorithm.update(state, seen)
    checks.refuse_unfinite(after.x, "the next action")
    return after, None

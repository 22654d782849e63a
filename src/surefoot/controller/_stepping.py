"""The step that a controller takes with a rule or a filter, and what each can do beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, TypeAlias

from surefoot import _check
from surefoot.errors import InvalidValueError
from surefoot.theory import Guarantee, Tuned, unpack
from surefoot.theory.guarantee import instead
from surefoot.types import Array, Explaining, Feedback, Info, Needs, needs_of

__all__ = ["Step", "is_filter", "moved", "needs_in", "player_of", "rows_in", "step_of", "takes"]

Step: TypeAlias = Callable[..., tuple[Any, Info | None]]


def player_of(player: Any) -> tuple[Any, Guarantee | None]:
    """Return the rule or filter of a player, and its guarantee where it has one."""
    algorithm, guarantee = player if isinstance(player, Tuned) else (player, None)
    if is_filter(algorithm):
        return algorithm, guarantee
    try:
        return unpack(player)
    except InvalidValueError as error:
        raise InvalidValueError(
            "player must be an algorithm with init and update, a filter with init and admit, "
            f"or a Tuned, got {instead(player)}"
        ) from error


def is_filter(algorithm: Any) -> bool:
    """Return whether proposals are told rather than costs."""
    methods = [getattr(algorithm, name, None) for name in ("init", "admit")]
    return not isinstance(algorithm, type) and all(map(callable, methods))


def needs_in(algorithm: Any) -> Needs:
    """Return what a round asks for; of a filter, a proposal in place of a gradient."""
    if not is_filter(algorithm) or isinstance(getattr(algorithm, "needs", None), Needs):
        return needs_of(algorithm)
    rows = getattr(getattr(algorithm, "known", None), "rows", 1)
    several = len(rows) > 1 if isinstance(rows, tuple) else rows > 1
    return Needs(cost_gradients=0, apart=several)


def rows_in(algorithm: Any) -> int | None:
    """Return the number of separate constraints, if the rule fixes it."""
    for part in (algorithm, getattr(algorithm, "known", None)):
        rows = getattr(part, "rows", None)
        if rows is not None:
            return len(rows) if isinstance(rows, tuple) else rows
    return None


def step_of(algorithm: Any) -> Step:
    """Return the step of a rule, or its update where it does not say what it knew.

    Raises:
        InvalidValueError: if its class overrides ``update`` but not the ``step`` behind it, which
            would be another rule.
    """
    if is_filter(algorithm):
        per_round = takes(algorithm.admit, "value_error")
        return partial(_admit_with_error if per_round else _admit, unguarded(algorithm.admit))
    # Some rules have a number of this name.
    if not (isinstance(algorithm, Explaining) and callable(algorithm.step)):
        return partial(_update_alone, algorithm)
    for kind in type(algorithm).__mro__:
        if "step" in vars(kind):
            break
        if "update" in vars(kind):
            raise InvalidValueError(
                "a rule that overrides update must override step, whose first half update is, "
                f"got {kind.__name__} with the step of another class"
            )
    step: Step = unguarded(algorithm.step)
    return step


def unguarded(method: Any) -> Any:
    """Return a method without the layer that explains arguments of a wrong kind.

    A controller has checked what it passes on, and calls one in every round.
    """
    if hasattr(method, "is_told") and isinstance(method, MethodType):
        return MethodType(inspect.unwrap(method.__func__), method.__self__)
    return method


def takes(function: Any, name: str) -> bool:
    """Return whether a function has an argument of a name."""
    return name in inspect.signature(function).parameters


def moved(algorithm: Any, state: Any, x: Array, missed: int = 0) -> Any:
    """Return the state that starts from another action, after rounds that nobody measured.

    Raises:
        InvalidValueError: if the rule has no such state and the action is another.
    """
    move = getattr(algorithm, "moved", None)
    same = x is state.x or bool((x == state.x).all())
    if same and not (missed and callable(move)):
        return state
    if callable(move):
        return move(state, x, missed)
    raise InvalidValueError(
        f"action must be the one asked for, because {type(algorithm).__name__} cannot start from "
        f"another, got {x!r}"
    )


def _admit(admit: Any, state: Any, seen: Feedback, **announced: Any) -> tuple[Any, Info]:
    after, info = admit(state, seen[0], seen[1], seen[2], **announced)
    return after, info


def _admit_with_error(admit: Any, state: Any, seen: Feedback, **announced: Any) -> Any:
    return admit(state, seen[0], seen[1], seen[2], value_error=seen[4], **announced)


def _update_alone(algorithm: Any, state: Any, seen: Feedback) -> tuple[Any, None]:
    after = algorithm.update(state, seen)
    _check.refuse_unfinite(after.x, "the next action")
    return after, None

"""The step that a controller takes with a rule, whether or not the rule says what it knew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from surefoot import _check
from surefoot.errors import InvalidValueError
from surefoot.types import Explaining, Feedback, Info

__all__ = ["Step", "step_of"]

Step: TypeAlias = Callable[[Any, Feedback], tuple[Any, Info | None]]


def step_of(algorithm: Any) -> Step:
    """Return the step of a rule, or its update where it does not say what it knew.

    Raises:
        InvalidValueError: if its class overrides ``update`` but not the ``step`` behind it, which
            would be another rule.
    """
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
    return algorithm.step


def _update_alone(algorithm: Any, state: Any, seen: Feedback) -> tuple[Any, None]:
    after = algorithm.update(state, seen)
    _check.refuse_unfinite(after.x, "the next action")
    return after, None

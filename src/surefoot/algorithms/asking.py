"""Ask a learner that anybody wrote for its next point: what is no point is refused or left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.checks import repr_line
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.types import Array, Feedback


def start_learner(learner: Any, x1: Array, role: str) -> Any:
    """Return the first state of a learner.

    Args:
        learner: an algorithm.
        x1: where it starts.
        role: what it is called in sentences: "leader" or "proposer".
    """
    return _check_answer(learner, x1, role, lambda: learner.init(x1))


def ask_learner(
    learner: Any, state: Any, feedback: Feedback, point: Array, t: float, role: str
) -> tuple[Any, Array, tuple[str, ...]]:
    """Step a learner from a point: its state, its next point, a sentence if that is not finite.

    A round without a gradient of the cost leaves it as it is.

    Args:
        learner: an algorithm.
        state: its state.
        feedback: what was seen.
        point: where it is when it learns.
        t: the round.
        role: what it is called in sentences.
    """
    if feedback.cost_gradient is None:
        return state, point, ()
    here = state._replace(x=point)
    after = _check_answer(learner, point, role, lambda: learner.step(here, feedback)[0])
    if np.isfinite(after.x).all():
        return after, after.x, ()
    bad = after.x[~np.isfinite(after.x)][0]
    sentence = (
        f"round {int(t)}: the {role} {type(learner).__name__} must return a finite point, "
        f"got {bad!r}: its last one is followed"
    )
    return state, point, (sentence,)


def _check_answer(learner: Any, point: Array, role: str, ask: Callable[[], Any]) -> Any:
    """Return a learner's answer; refuse one that is no state with a point like its last."""
    name = f"the {role} {type(learner).__name__}"
    try:
        state = ask()
    except SurefootError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise InvalidValueError(f"{name} must return a state, got {text}") from error
    found: Any = getattr(state, "x", None) if hasattr(state, "_replace") else None
    if getattr(found, "shape", None) != point.shape or found.dtype != point.dtype:
        wanted = f"a named tuple whose x is an array of shape {point.shape} of float64"
        got = repr_line(state if found is None else found)
        raise InvalidValueError(f"{name} must return {wanted}, got {got}")
    return state

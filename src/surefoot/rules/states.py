"""States that several rules share; each begins with the action to play."""

from typing import NamedTuple

from surefoot.core.forms import Counts
from surefoot.core.types import Array, Number


class ActionState(NamedTuple):
    """Only the action to play."""

    x: Array


class RoundState(NamedTuple):
    """The action to play, and the round."""

    x: Array
    t: Counts = 1.0


class QueueState(NamedTuple):
    """The action to play, and the queue of violations."""

    x: Array
    queue: Number = 0.0


class DualState(NamedTuple):
    """The action to play, and a multiplier for each constraint, ``(m,)`` or ``(B, m)``."""

    x: Array
    multipliers: Array

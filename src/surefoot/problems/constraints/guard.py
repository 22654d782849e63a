"""The paper's feedback model, enforced: a constraint that answers at the played action only."""

from __future__ import annotations

from typing import final

import numpy as np

from surefoot.core.arrays import is_concrete, to_numpy
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, Wrapper

__all__ = ["PeekingError", "PlayedOnly"]


class PeekingError(SurefootError, RuntimeError):
    """An algorithm queried the constraint elsewhere than at the action played."""


def _line(x: Array) -> str:
    """Return an action as one line of text."""
    return " ".join(str(x).split())


@final
class PlayedOnly(Wrapper):
    """A constraint that refuses to be asked anywhere but at the action just played.

    Put it into a problem, and give it to an algorithm that holds its own oracle: a game of the
    loop or the batch says which action is played, and every other question raises. The region and
    the constants are those of the constraint: the feedback model does not bind the comparator.

    Example:
        >>> from surefoot.problems.constraints import LinfNorm
        >>> g = PlayedOnly(LinfNorm(0.5, 2))
        >>> g.allow(np.array([0.25, 0.0]))
        >>> g.value(np.array([0.25, 0.0]))
        -0.25
        >>> g.value(np.array([0.5, 0.0]))
        Traceback (most recent call last):
        surefoot.problems.constraints.guard.PeekingError: the constraint answers at the action
        played, [0.25 0.  ], and was asked at [0.5 0. ]
    """

    __slots__ = ("_played", "constraint")

    def __init__(self, constraint: Constraint) -> None:
        if not isinstance(constraint, Constraint):
            raise InvalidValueError(f"constraint must be a Constraint, got {constraint!r}")
        self.constraint = constraint
        self._played: Array | None = None

    def allow(self, x: Array) -> None:
        """Answer at x from now on."""
        if not is_concrete(x):
            raise InvalidValueError(
                "a constraint that answers at the action played alone must be played by the loop "
                "or the batch, got a compiled game, which shows no actions"
            )
        self._played = np.array(to_numpy(x))

    def _refuse_elsewhere(self, x: Array) -> None:
        # A run that was lost plays NaN, and is asked there.
        if self._played is None or not np.array_equal(to_numpy(x), self._played, equal_nan=True):
            raise PeekingError(
                f"the constraint answers at the action played, {_line(self._played)}, "
                f"and was asked at {_line(to_numpy(x))}"
            )

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the constraint's answer, if x is the action played."""
        self._refuse_elsewhere(x)
        return self.constraint.query(x)

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return the constraint's answer, if x is the action played."""
        self._refuse_elsewhere(x)
        return self.constraint.query_all(x)

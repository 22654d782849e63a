"""Multipliers of m separate constraints, as Lagrangian methods carry them."""

from __future__ import annotations

import math

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, EachConstraint, S
from surefoot.core.arrays import constant, maximum
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import count
from surefoot.core.types import Array, Feedback, Info, Number

__all__ = ["Multiplying", "positive_part"]


class Multiplying(EachConstraint[S]):
    """A rule with a multiplier, or a queue, for each of ``rows`` constraints."""

    rows: int = count()

    def step(self, state: S, feedback: Feedback) -> tuple[S, Info]:
        """Return the state after a round: the lines of the class's docstring.

        The constraints must be as many as the rows: one multiplier would broadcast against any
        number of values.
        """
        grad, g, s = checks.feedback_apart(state.x, feedback)
        if g.shape[-1] != self.rows:
            raise InvalidValueError(
                f"constraint_value.shape must end in {self.rows}, the rows of the algorithm, "
                f"got {tuple(g.shape)}"
            )
        return self.next_state(state, grad, g, s), NOTHING

    def _zeros(self, x1: Array) -> Array:
        """Return multipliers of 0, ``(m,)`` for one run and ``(B, m)`` for a batch."""
        # From x1 rather than from a shape, as in number_like.
        return x1[..., :1] * 0.0 + constant(np.zeros(self.rows), x1)


def positive_part(multipliers: Number) -> Number:
    """Return the larger of 0 and each entry.

    A NaN of one run is refused here, in the round that brought it; a batch keeps it, and the game
    tells of the run.
    """
    result = maximum(multipliers, 0.0)
    if type(result) is float:
        worst = result
    elif type(result) is np.ndarray and result.ndim == 1:
        worst = float(result.max())
    else:
        return result
    if not worst < math.inf:
        raise InvalidValueError(
            "constraint_value and constraint_subgradient must be finite, "
            f"got a multiplier of {worst!r}"
        )
    return result

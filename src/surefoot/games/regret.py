"""Regret, always with its comparator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.core.display import after_rounds, format_bracket, of_runs
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.hindsight import Comparator

__all__ = ["Regret", "regret_of"]


class Regret(NamedTuple):
    r"""Regret after t rounds, for each t of the comparator.

    Attributes:
        rounds: the t's, ``(n,)``.
        upper: :math:`\sum_{s \le t} f_s(x_s)` less the lower bound on the comparator's cost,
            ``(n,)`` or ``(n, B)``; regret is never more.
        lower: the same less the upper bound; regret is never less.
        comparator: the best actions themselves.
    """

    rounds: Array
    upper: Array
    lower: Array
    comparator: Comparator

    def __repr__(self) -> str:
        if not len(self.rounds):
            return "<Regret of no round>"
        upper, ends = self.upper[-1], format_bracket(self.upper[-1], self.lower[-1])
        return f"<Regret{of_runs(upper)}{after_rounds(self.rounds)}: {ends}>"

    @property
    def gap(self) -> Array:
        """The distance between the two bounds: 0 for an exact comparator."""
        return self.upper - self.lower


def regret_of(cost_sums: Array, comparator: Comparator) -> Regret:
    """Return the regret from summed costs ``(n,)`` or ``(n, B)`` at the comparator's rounds."""
    sums = np.asarray(cost_sums, dtype=np.float64)
    value, lower = comparator.value, comparator.lower
    if sums.shape[: value.ndim] != value.shape or sums.ndim > 2:
        raise InvalidValueError(
            f"cost_sums.shape must be that of the comparator's values, {value.shape}, or have one "
            f"axis of runs more where it has none, got {sums.shape}"
        )
    if sums.ndim > value.ndim:  # all runs share one cost stream
        value, lower = value[:, None], lower[:, None]
    return Regret(comparator.rounds, sums - lower, sums - value, comparator)

"""Shared by Lagrangian methods: multipliers of m constraints; the constants of their theorems."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import NOTHING, EachConstraint
from surefoot.core.arrays import convert_like, maximum
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, count
from surefoot.core.types import Array, Info, Number
from surefoot.guarantees.bounds import as_floats
from surefoot.guarantees.guarantee import Kind, KnownHorizon, Measure, Summed


class Multiplying(Declared, EachConstraint):
    """A rule with a multiplier, or a queue, for each of ``rows`` constraints."""

    rows: int = count()

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring.

        The constraints must be as many as the rows: one multiplier would broadcast against any
        number of values.
        """
        grad, g, s = checks.read_feedback_separately(state.x, feedback)
        if g.shape[-1] != self.rows:
            raise InvalidValueError(
                f"constraint_value.shape must end in {self.rows}, the rows of the algorithm, "
                f"got {tuple(g.shape)}"
            )
        return self.next_state(state, grad, g, s), NOTHING

    def _zeros(self, x1: Array) -> Array:
        """Return multipliers of 0, ``(m,)`` for one run and ``(B, m)`` for a batch."""
        # From x1 rather than from a shape, as in number_like.
        return x1[..., :1] * 0.0 + convert_like(np.zeros(self.rows), x1)


def positive_part(multipliers: Number) -> Number:
    """Return the larger of 0 and each entry.

    A NaN of one run is refused here, in the round that brought it; a batch keeps it, and the game
    tells of the run.
    """
    result = maximum(multipliers, 0.0)
    is_one_run = isinstance(result, float) or (isinstance(result, np.ndarray) and result.ndim == 1)
    if is_one_run and not (worst := float(np.max(result))) < math.inf:
        raise InvalidValueError(
            "constraint_value and constraint_subgradient must be finite, "
            f"got a multiplier of {worst!r}"
        )
    return result


class Lagrangian(Summed):
    """A theorem about a method that moves an action and a multiplier."""

    needed: ClassVar[tuple[str, ...]] = ("R", "G_f", "G_g")

    @property
    def _D_0(self) -> float:
        """Return how far the best action may be from the first; 2R if unknown."""
        return self.constants.reach

    @property
    def _D(self) -> float:
        """Return how far two points of the ball may be from each other."""
        return 2 * self.constants.R

    @property
    def _F(self) -> float:
        """Return by how much a cost may be larger at the best action than at the one played.

        Where not known it is 2R G_f: a convex cost falls by at most its slope at the higher point
        times the distance, so G_f must then hold at every point of the ball.
        """
        c = self.constants
        return 2 * c.R * self._G_f if c.F is None else c.F

    def _budget(self, t: Number) -> Array:
        """Return what t rounds can pay for violations: F in each, and the bound on the regret."""
        return self._F * as_floats(t) + self.regret_bound(t)

    @property
    def _G(self) -> float:
        """Return the one G of theorems that have one for costs and constraints."""
        return max(self._G_f, self._G_g)

    @property
    def _D_g(self) -> float:
        """Return the largest absolute value of a constraint on the ball."""
        return self.constants.require("D_g", by=self.name)[0]

    @property
    def rows(self) -> int:
        """The number m of constraints."""
        return int(self.constants.require("rows", by=self.name)[0])


class EachRow(Lagrangian):
    """A promise for the sum of each constraint by itself."""

    kind: ClassVar[Kind] = "cumulative"
    needed: ClassVar[tuple[str, ...]] = ("rows",)

    @abstractmethod
    def _row_bound(self, t: Number) -> Array:
        r"""Bound every :math:`[\sum_{s \le t} g_i(x_s)]_+`, and the Euclidean norm of all m."""

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the bound on the sum of g for one constraint, of each constraint for several.

        The sum of the largest constraint is not bounded by the constraints' own sums: two that
        are violated in turn may each sum to 0.
        """
        return {"positive_sum" if self.rows == 1 else "rows": self._row_bound(t)}


class RowsApart(KnownHorizon, EachRow):
    """One about the sum of each constraint, with a bound that does not grow with the rounds."""

    regret_exponent: ClassVar[float] = 0.5
    needed: ClassVar[tuple[str, ...]] = ("D_g",)

    @property
    @abstractmethod
    def _limit(self) -> float:
        """Return the bound on the sum of each constraint."""

    def _row_bound(self, t: Number) -> Array:
        return np.full_like(as_floats(t), self._limit)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the bound on the sum of each constraint; of the maximum if there is one."""
        each: dict[Measure, Array] = {"rows": self._row_bound(t)}
        return each | super().bounds(t)

"""Linear costs: given beforehand, or chosen by an adversary who has seen the action."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from surefoot.core.arrays import convert_like, dot
from surefoot.core.parameters import Declared, count, function, positive, rounds
from surefoot.core.types import Array, Index, Number
from surefoot.problems.costs.stream import ArrayCosts
from surefoot.sets import Ball

__all__ = ["Adversarial", "Linear"]


@final
class Linear(ArrayCosts, kw_only=False):
    r"""Costs :math:`f_t(x) = c_t^\top x`.

    Args:
        slopes: :math:`c_t`, ``(T, d)``, or ``(T, B, d)`` for B runs with their own slopes.

    Example:
        >>> Linear([[1.0, -2.0]]).value(0, np.array([3.0, 1.0]))
        1.0
    """

    series = ("slopes",)

    slopes: Array

    def value(self, t: Index, x: Array) -> Number:
        r"""Return :math:`c_t^\top x`."""
        return dot(x, convert_like(self.slopes[t], x))

    def gradient(self, t: Index, x: Array) -> Array:
        r"""Return :math:`c_t`, repeated for each run."""
        c = convert_like(self.slopes[t], x)
        # A shared slope still has to be an array per run, so that feedback has one shape.
        return c if c.ndim == x.ndim else c + 0.0 * x

    def sum_at(self, x: Array) -> tuple[float, Array]:
        """Return the sum over all rounds, and its gradient."""
        total = self.slopes.sum(axis=0)
        return float(total @ x), total

    def value_bound(self, domain: Ball) -> float:
        r"""Bound the values over a ball by :math:`\max_t\|c_t\|` times its reach."""
        return self.gradient_bound() * float(domain.reach_from_origin)

    def gradient_bound(self, domain: Ball | None = None) -> float:
        r"""Return the largest gradient norm, :math:`\max_t\|c_t\|`; the same on every ball."""
        return float(np.linalg.norm(self.slopes, axis=-1).max())

    @property
    def strong_convexity(self) -> float:
        """Zero: the costs are linear."""
        return 0.0


class Adversarial(Declared, kw_only=False):
    r"""Linear costs whose slope is chosen after the action is seen: :math:`c_t = r(t, x_t)`.

    The strongest opponent the theorems allow. In hindsight the stream is the linear one it
    turned into, :meth:`realise`, so regret needs every action of the game.

    Args:
        rule: :math:`r`, from a round (from 0) and the action or actions to the slope or slopes.
        horizon: number of rounds.
        dimension: length of an action.
        bound: the largest norm of a slope.
        first: the round, in the rule's count, at which this stream starts.
    """

    rule: Callable[[Index, Array], Array] = function()
    horizon: int = rounds()
    dimension: int = count()
    bound: float = positive()
    first: int | np.int64 = 0

    @property
    def runs(self) -> None:
        """None: every run meets the same rule."""
        return

    def value(self, t: Index, x: Array) -> Number:
        r"""Return :math:`r(t, x)^\top x`."""
        return dot(x, self.gradient(t, x))

    def gradient(self, t: Index, x: Array) -> Array:
        r"""Return :math:`r(t, x)`."""
        return self.rule(self.first + t, x)

    def gradient_bound(self, domain: Ball | None = None) -> float:
        """Return the bound given."""
        return self.bound

    def rounds(self, start: int, stop: int) -> Adversarial:
        """Return the stream of the rounds from start to stop - 1."""
        # NumPy's integer, which a compiled scan takes as data: a Python int would be compiled in.
        first = np.int64(self.first + start)
        return Adversarial(self.rule, stop - start, self.dimension, self.bound, first)

    def run(self, index: Index) -> Adversarial:
        """Return the same rule: it has no streams to choose from."""
        return self

    def realise(self, actions: Array) -> Linear:
        """Return the linear costs that the given actions, ``(T, d)`` or ``(T, B, d)``, met."""
        return Linear(np.stack([self.gradient(t, x) for t, x in enumerate(actions)]))

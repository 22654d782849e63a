"""Quadratic costs around a moving target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import _check
from surefoot._array import constant, dot, same_fields
from surefoot.costs._stream import check_stream, pick_run, runs_of
from surefoot.sets import Ball
from surefoot.types import Array, Number

__all__ = ["Quadratic"]


@dataclass(frozen=True, slots=True)
class Quadratic:
    r"""Costs :math:`f_t(x) = \tfrac{h}{2}\|x - v_t\|^2`.

    Args:
        targets: :math:`v_t`, ``(T, d)``, or ``(T, B, d)`` for B runs with targets of their own.
        curvature: :math:`h > 0`; also the modulus of strong convexity.

    Example:
        >>> costs = Quadratic([[1.0, 0.0], [0.0, 2.0]], curvature=6.0)
        >>> costs.value(1, np.array([0.0, 1.0])), costs.gradient(1, np.array([0.0, 1.0]))
        (3.0, array([ 0., -6.]))
    """

    targets: Array
    curvature: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", check_stream(self.targets, "targets"))
        _check.positive(curvature=self.curvature)

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    @property
    def horizon(self) -> int:
        """How many rounds there are."""
        return int(self.targets.shape[0])

    @property
    def runs(self) -> int | None:
        """How many runs have targets of their own."""
        return runs_of(self.targets)

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self.targets.shape[-1])

    def value(self, t: Any, x: Array) -> Number:
        r""":math:`\tfrac{h}{2}\|x - v_t\|^2`."""
        away = x - constant(self.targets[t], x)
        return 0.5 * self.curvature * dot(away, away)

    def gradient(self, t: Any, x: Array) -> Array:
        r""":math:`h(x - v_t)`."""
        return self.curvature * (x - constant(self.targets[t], x))

    def gradient_bound(self, domain: Ball) -> float:
        r"""The largest gradient norm over a ball: :math:`h(\max_t\|v_t - c\| + R)`, attained."""
        centre = 0.0 if domain.centre is None else domain.centre
        farthest = np.linalg.norm(self.targets - centre, axis=-1).max()
        return float(self.curvature * (farthest + domain.radius))

    def rounds(self, start: int, stop: int) -> Quadratic:
        """The stream of rounds start to stop - 1."""
        return Quadratic(self.targets[start:stop], self.curvature)

    def run(self, index: Any) -> Quadratic:
        """The stream of one run, or of the runs of a slice or an array of indices."""
        return Quadratic(pick_run(self.targets, index), self.curvature)

"""Set-points nearest to a wish that are certainly feasible, from measurements alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from surefoot.core.types import Array
from surefoot.regions import CurvatureRows, EmptyRegionError, Reading
from surefoot.sets import Box

__all__ = ["CertifiedRows"]

M = TypeVar("M")


@dataclass(slots=True)
class CertifiedRows(ABC, Generic[M]):
    """A rule with a bound on the curvature of each limit and an announced box from 0 up.

    Where no point of the box is certified from the last measurement, the first one certifies.

    Args:
        curvatures: one per limit.

    Attributes:
        restarts: how often the first measurement was needed.
    """

    curvatures: Array
    restarts: int = field(default=0, init=False)
    _known: CurvatureRows | None = field(default=None, init=False, repr=False)
    _memory: Any = field(default=None, init=False, repr=False)
    _weights: Any = field(default=None, init=False, repr=False)
    _first: Any = field(default=None, init=False, repr=False)

    @abstractmethod
    def _knowledge(self, moment: M) -> CurvatureRows:
        """Return what is known at the first moment."""

    @abstractmethod
    def _wanted(self, moment: M) -> Array:
        """Return what would be set if there were no limits."""

    def __call__(self, moment: M) -> Array:
        """Return what to set at a moment."""
        now: Any = moment
        x, g, s = now.action, now.values, now.slopes
        wanted = self._wanted(moment)
        if self._known is None:
            self._known = self._knowledge(moment)
            self._memory, self._weights = self._known.init(x), 0.0 * g
        errors = self._known.errors
        self._memory = self._known.observe(self._memory, Reading(x, g, s, errors))
        region = self._known.region(self._memory, errors)
        if self._first is None:
            self._first = region
        box = Box(np.zeros_like(x), now.upper)
        try:
            found = region.within(box).find_nearest(wanted, self._weights)
        except EmptyRegionError:
            self.restarts += 1
            found = self._first.within(box).find_nearest(wanted, 0.0 * g)
        # Multipliers of the last moment that had some: the next search starts from them.
        self._weights = found.weights if found.weights.any() else self._weights
        point: Array = found.point
        return point

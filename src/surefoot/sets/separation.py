"""Separation oracles: a half-space that contains a set but not a given point outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, function
from surefoot.core.types import Array, Number, Region
from surefoot.sets.box import Box
from surefoot.sets.polytope import Polytope, rows_of

__all__ = ["ConstraintSeparation", "RowSeparation", "Separation", "SetSeparation", "separation_of"]


@runtime_checkable
class Separation(Protocol):
    """An oracle that separates points from a convex set; one NumPy run."""

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        r"""Return None for a point of the set, else a cut.

        A cut is a depth c >= 0 and a normal a with
        :math:`\langle a, y - z\rangle \ge c` for every z of the set; c = 0 where only the
        direction is known.
        """
        ...


class ConstraintSeparation(Declared, kw_only=False):
    r"""Separation from :math:`\{g \le 0\}` by a subgradient: :math:`a \in \partial g(y)`, c = g(y).

    Args:
        query: a function that gives g and one subgradient at a point.

    Example:
        >>> oracle = ConstraintSeparation(lambda x: (float(x[0] - 0.5), np.array([1.0, 0.0])))
        >>> oracle(np.array([0.75, 3.0]))
        (0.25, array([1., 0.]))
        >>> oracle(np.array([0.5, 3.0])) is None
        True
    """

    query: Callable[[Array], tuple[Number, Array]] = function()

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        """Return g and its subgradient where g > 0."""
        g, s = self.query(y)
        if float(g) <= 0:
            return None
        if not float(g) > 0:
            raise InvalidValueError(f"a separation oracle must have a number, got g = {float(g)}")
        if not np.any(s):
            raise InvalidValueError(
                f"a separation oracle must answer with a normal, got 0 where g = {float(g):g}"
            )
        return float(g), s


class SetSeparation(Declared, kw_only=False):
    """Separation from a set that can project; costs one projection per answer.

    Example:
        >>> from surefoot.sets import Box
        >>> SetSeparation(Box([-1.0, -1.0], [1.0, 1.0]))(np.array([1.5, 0.0]))
        (0.25, array([0.5, 0. ]))
    """

    region: Region

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        """Return the way from the nearest point, and its squared length as the depth."""
        if self.region.contains(y):
            return None
        a = y - self.region.project(y)
        return float(a @ a), a


class RowSeparation(Declared, kw_only=False):
    """Separation from a polytope by its most violated row.

    Args:
        A: rows, ``(m, d)``.
        b: limits, ``(m,)``.

    Example:
        >>> RowSeparation(np.eye(2), np.ones(2))(np.array([0.5, 3.0]))
        (2.0, array([0., 1.]))
    """

    A: Array
    b: Array

    def __call__(self, y: Array) -> tuple[float, Array] | None:
        """Return the largest excess and its row, where it is positive."""
        excess = self.A @ y - self.b
        i = int(excess.argmax())
        return None if excess[i] <= 0 else (float(excess[i]), self.A[i])


def separation_of(region: object) -> Separation:
    """Return the separation oracle of a set: by rows for boxes and polytopes.

    Example:
        >>> from surefoot.sets import Box
        >>> separation_of(Box([-1.0, -1.0], [1.0, 1.0]))(np.array([1.5, 0.0]))
        (0.5, array([1., 0.]))
    """
    if isinstance(region, (Box, Polytope)):
        return RowSeparation(*rows_of(region))
    if isinstance(region, Region):
        return SetSeparation(region)
    if isinstance(region, Separation) and not isinstance(region, type):
        return region
    raise InvalidValueError(f"the feasible set must separate or project, got {region!r}")

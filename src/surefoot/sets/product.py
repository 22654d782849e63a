"""The Cartesian product of sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from operator import and_

from surefoot.core import checks
from surefoot.core.arrays import namespace
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.points import (
    check_length,
    clean,
    diameter_of,
    dimension_of,
    nan_where_invalid,
    snap_inside,
)
from surefoot.core.types import Array, Region

__all__ = ["Product"]


class Product(Declared, kw_only=False):
    r"""The product :math:`X_1 \times \dots \times X_n`: each set owns the next few entries.

    Args:
        sets: :math:`X_1, \dots, X_n`.
        sizes: how many entries each of them takes; those of the sets that know their own
            dimension unless given.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Ball, Simplex
        >>> both = Product([Simplex(2), Ball(1.0)], sizes=[2, 3])
        >>> both.project(np.array([3.0, 2.5, 0.0, -4.0, 3.0])).round(12)
        array([ 0.75,  0.25,  0.  , -0.8 ,  0.6 ])
    """

    sets: tuple[Region, ...]
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sets = tuple(self.sets)
        if not sets:
            raise InvalidValueError("sets must be at least one set, got none")
        for one in sets:
            if not isinstance(one, Region):
                raise InvalidValueError(f"sets must be sets, got {one!r}")
        object.__setattr__(self, "sets", sets)
        known = [dimension_of(one) for one in sets]
        sizes: list[int | None] = list(self.sizes) or known
        if None in sizes:
            name = type(sets[sizes.index(None)]).__name__
            raise InvalidValueError(
                f"sizes must be given, got a {name} without a dimension of its own"
            )
        if len(sizes) != len(sets):
            raise InvalidValueError(
                f"sizes must be one for each set, got {len(sizes)} for {len(sets)}"
            )
        for one, size, own in zip(sets, sizes, known, strict=True):
            if own is not None and size != own:
                raise InvalidValueError(
                    f"sizes must be {own} for this {type(one).__name__}, got {size!r}"
                )
        whole = tuple(checks.positive_int(size, "each of sizes") for size in sizes)
        object.__setattr__(self, "sizes", whole)

    @property
    def dimension(self) -> int:
        """The length of a point."""
        return sum(self.sizes)

    @property
    def diameter(self) -> float:
        """The root of the sum of the squared diameters."""
        return math.hypot(*map(diameter_of, self.sets))

    def project(self, x: Array) -> Array:
        """Project each part onto its own set."""
        x = clean(x, self.dimension)
        parts = [one.project(part) for one, part in self._split(x)]
        return namespace(x).concat(parts, axis=-1)

    def snap_inside(self, x: Array) -> Array:
        """Move each part back into its own set if rounding put it outside."""
        parts = [snap_inside(one, part) for one, part in self._split(x)]
        return namespace(x).concat(parts, axis=-1)

    def contains(self, x: Array) -> Array:
        """Return whether each part is in its own set."""
        x = check_length(x, self.dimension)
        parts = self._split(nan_where_invalid(x))
        return reduce(and_, (one.contains(part) for one, part in parts))

    def minimize_linear(self, c: Array) -> Array:
        """Minimise over each part's own set."""
        c = clean(c, self.dimension, "c")
        parts = [one.minimize_linear(part) for one, part in self._split(c)]
        return namespace(c).concat(parts, axis=-1)

    def _split(self, x: Array) -> Iterator[tuple[Region, Array]]:
        start = 0
        for one, size in zip(self.sets, self.sizes, strict=True):
            yield one, x[..., start : start + size]
            start += size

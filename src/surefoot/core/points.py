"""Input checks and reductions shared by all sets."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from surefoot.core import checks, kernel_constants
from surefoot.core.arrays import (
    convert_like,
    is_concrete,
    is_sparse,
    loop_in_turn,
    namespace,
    norm,
    where,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.types import Array, Number, Set

UNIT = kernel_constants.UNIT


def check_length(x: Array, dimension: int | None, name: str = "the point") -> Array:
    """Return the point as float64; raise if its dimension is not that of the set."""
    x = checks.to_floats(x, name)
    if dimension is not None and x.shape[-1:] != (dimension,):
        raise InvalidValueError(f"{name} must have {dimension} entries, got shape {tuple(x.shape)}")
    return x


def clean(x: Array, dimension: int | None, name: str = "the point to project") -> Array:
    """Return the point; raise, or make it NaN, if it is not finite.

    One NumPy run raises. A run of a batch, or of another backend, cannot: all its entries become
    NaN, which every later step keeps and the game reports.
    """
    x = check_length(x, dimension, name)
    if isinstance(x, np.ndarray) and x.ndim == 1:
        checks.refuse_unfinite(x, name)
        return x
    return nan_where_invalid(x)


def nan_where_invalid(x: Array) -> Array:
    """Return the point, all NaN if an entry is not finite: no set contains NaN."""
    xp = namespace(x)
    return xp.where(xp.all(xp.isfinite(x), axis=-1, keepdims=True), x, xp.nan)


def keep_nan(x: Array, result: Array) -> Array:
    """Return the result, with NaN where :func:`clean` made x NaN."""
    xp = namespace(x)
    return xp.where(xp.isnan(x), xp.nan, result)


def sum_entries(x: Array) -> Number:
    """Return the sum of the entries: a float for one NumPy run, a column for a batch."""
    return _to_python(namespace(x).sum(x, axis=-1, keepdims=x.ndim > 1))


def all_entries(condition: Array) -> Array:
    """Return whether a condition holds at every entry: a bool for one run, a column for a batch."""
    if isinstance(condition, np.ndarray) and condition.ndim == 1:
        return bool(condition.all())
    return _to_python(namespace(condition).all(condition, axis=-1, keepdims=condition.ndim > 1))


def _to_python(value: Array) -> Array:
    """Return a NumPy number as Python's, on which a set may branch; arrays unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def only_entry(index: Array, value: Array, like: Array) -> Array:
    """Return a point that is 0 except at one entry, whose index :func:`.find_largest` gave."""
    if isinstance(like, np.ndarray) and like.ndim == 1:
        x = np.zeros_like(like)
        x[index] = value[index] if isinstance(value, np.ndarray) and value.ndim else value
        return x
    xp = namespace(like)
    places = convert_like(np.arange(like.shape[-1]), like)
    is_chosen = places == (index if like.ndim == 1 else index[:, None])
    return xp.where(is_chosen, value + xp.zeros_like(like), xp.zeros_like(like))


def common_dimension(parts: Iterable[object], rule: str) -> int | None:
    """Return the common dimension of the parts that know theirs; raise for two."""
    dimensions = {d for part in parts if (d := dimension_of(part)) is not None}
    if len(dimensions) > 1:
        raise InvalidValueError(f"{rule}, got {' and '.join(map(str, sorted(dimensions)))}")
    return next(iter(dimensions), None)


def subtract_centre(x: Array, centre: Array | None) -> Array:
    """Return x - centre; None is 0."""
    return x if centre is None else x - convert_like(centre, x)


def add_centre(q: Array, centre: Array | None) -> Array:
    """Return q + centre; None is 0."""
    return q if centre is None else convert_like(centre, q) + q


def dimension_of(owner: object) -> int | None:
    """Return the length of a point, if a set or a constraint knows it."""
    dimension = getattr(owner, "dimension", None)
    return None if dimension is None else int(dimension)


def to_dense(A: Array) -> Array:
    """Return a NumPy matrix for one that may be SciPy's sparse."""
    return A.toarray() if is_sparse(A) else A


def row_norms(A: Array) -> Array:
    """Return the norm of each row of a matrix, dense or sparse without an empty row."""
    if is_sparse(A):
        return np.sqrt(np.add.reduceat(A.data**2, A.indptr[:-1]))
    return np.linalg.norm(A, axis=1)


def row_terms(A: Array) -> int:
    """Return the largest number of terms of a row: its inner products round that often."""
    return int(np.diff(A.indptr).max() if is_sparse(A) else A.shape[1])


def divide_rows(A: Array, by: Array) -> Array:
    """Return a matrix, dense or sparse, with each row divided by a number."""
    if not is_sparse(A):
        return A / by[:, None]
    scaled = A.copy()
    scaled.data = A.data / np.repeat(by, np.diff(A.indptr))
    return scaled


def snap_inside(region: Set, x: Array) -> Array:
    """Return a mean of points of a set, moved back into the set if rounding put it outside.

    This is not a projection of an arbitrary point, so a set without a cheap projection can have a
    ``snap_inside``. The point is returned unchanged if the set has none.
    """
    snap = getattr(region, "snap_inside", None)
    return x if snap is None else snap(x)


@runtime_checkable
class Bounded(Protocol):
    """A set with a bounding ball."""

    def bounding_ball(self) -> Any:
        """Return a ball that contains the set."""


class ConvexSet(Declared, kw_only=False):
    """A set that projects in closed form: a membership test and a nearest point."""

    def contains(self, x: Array) -> Array:
        """Return whether x is in the set: a bool, or a column of bools."""
        raise NotImplementedError

    def _nearest(self, x: Array, inside: Array) -> Array:
        """Return the nearest point of the set, for points that are not all inside."""
        raise NotImplementedError

    def project(self, x: Array) -> Array:
        """Return the nearest point; a point of the set is returned unchanged."""
        x = clean(x, dimension_of(self))
        inside = self.contains(x)
        if inside is True:
            return x
        return where(inside, x, keep_nan(x, self._nearest(x, inside)))

    def snap_inside(self, x: Array) -> Array:
        """Return the point itself, or the nearest point of the set if rounding put it outside."""
        return self.project(x)


def reach_of(region: Set | None) -> Number:
    """Return an upper bound on the norms of the points of a set; raise if it is unbounded.

    The rounding of the set's points scales with it.

    >>> from surefoot.sets import Box
    >>> round(reach_of(Box([0.0, 0.0], [3.0, 4.0])), 9)
    5.0
    """
    if region is None:
        raise checks.invalid("reach", "a finite number > 0 unless domain is given", None)
    if isinstance(region, Bounded):
        return region.bounding_ball().reach_from_origin
    dimension = dimension_of(region)
    near = 0.0 if dimension is None else norm(region.project(np.zeros(dimension)))
    return near + bounded_diameter(region)


def reach_from(region: Set, point: Array) -> float:
    """Return an upper bound on the distance from a point of a set to another.

    >>> from surefoot.sets import Simplex
    >>> round(reach_from(Simplex(3), np.array([1.0, 0.0, 0.0])), 6)
    1.414214
    """
    if not isinstance(region, Bounded):
        return bounded_diameter(region)
    return min(float(region.bounding_ball().reach(point)), diameter_of(region))


def bounded_diameter(domain: object) -> float:
    """Return the diameter of a set; raise if it is unknown or infinite."""
    diameter = getattr(domain, "diameter", None)
    if diameter is None or not diameter < math.inf:
        raise InvalidValueError(
            f"domain must be bounded, got {domain!r} with diameter {diameter!r}"
        )
    return float(diameter)


def diameter_of(domain: object) -> float:
    """Return the diameter of a set; inf if it is unknown or infinite."""
    try:
        return bounded_diameter(domain)
    except InvalidValueError:  # a polytope raises if it is unbounded
        return math.inf


def repeat(step: Callable[[Array], Array], value: Array, times: int) -> Array:
    """Apply a step many times, or until it changes only the last digits.

    Compiled code cannot stop early; it loops, because unrolled steps would be long.
    """
    if not is_concrete(value):
        return loop_in_turn(times, lambda _, last: step(last), value)
    for _ in range(times):
        before, value = value, step(value)
        xp = namespace(value)
        if not bool(xp.any(xp.asarray(abs(value - before) > 8 * UNIT * abs(value)))):
            break
    return value

"""Checks for constraints and costs, yours too: what they declare about themselves is true.

A theorem is only as good as the subgradients it is given. A wrong sign or a gradient taken at
another point shows at pairs of points, where a convex function may not be below its cuts::

    check_constraint(my_constraint, rng.normal(size=(100, d)))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, CostStream
from surefoot.problems.constraints import Constraint
from surefoot.sets import Ball

__all__ = ["check_constraint", "check_costs"]

# Pairs are compared in blocks of this many, so that memory does not grow with their number.
_BLOCK = 4_000_000
# How far on the way to another point a close one is: far above rounding, far below curvature.
_NEAR = 1e-4


def check_constraint(
    constraint: Constraint,
    points: Array,
    *,
    domain: Ball | None = None,
    batch: bool = True,
    tolerance: float = 1e-9,
) -> None:
    r"""Check a constraint at points and all pairs of them.

    - Values are finite numbers and subgradients finite vectors of the action's length.
    - The subgradient inequality :math:`g(y) \ge g(x) + s_x^\top(y - x)` holds for all pairs, and
      close to each point.
    - No subgradient in the domain is longer than ``subgradient_bound`` declares.
    - No subgradient where :math:`g \ge -\epsilon` is shorter than the sigma of ``exact_sigma``.
    - ``interior`` is strictly feasible; ``region`` holds the feasible points and no others.
    - A batch gives the values of its actions one by one, and subgradients that pass too.

    Points on kinks and ties find more than random ones.

    Args:
        constraint: the constraint.
        points: actions ``(n, d)``, of which all n^2 pairs are compared.
        domain: the ball in which ``subgradient_bound`` is to hold; else around 0 and all points.
        batch: whether to query batches; False for functions that take one action only.
        tolerance: what rounding may do, as a share of the numbers compared.

    Raises:
        AssertionError: at the first breach, in a sentence with the points and the amount.

    Example:
        >>> from surefoot.problems.constraints import FunctionConstraint
        >>> wrong = FunctionConstraint(lambda x: float(abs(x).sum()) - 1, lambda x: np.ones(2))
        >>> check_constraint(wrong, [[1.0, 0.0], [-1.0, 0.0]], batch=False)
        Traceback (most recent call last):
        ...
        AssertionError: the subgradient inequality must hold, got g(y) = 0 below
        g(x) + s'(y - x) = 2 by 2 at x = [-1.0, 0.0], y = [1.0, 0.0]
    """
    X = _points(points)
    domain = _around(X) if domain is None else domain
    values, subgradients = _one_by_one(constraint.query, X, "g(x)", "s")
    convexity = _Convexity("subgradient", "g", "s", tolerance)
    convexity.all_pairs(X, values, subgradients)
    convexity.near_pairs(constraint.query, X, values, subgradients)
    _not_longer(X, subgradients, constraint.subgradient_bound(domain), domain, "subgradient", "G_g")
    exact = constraint.exact_sigma(None)
    if exact is not None:
        _not_shorter(X, values, subgradients, *exact, tolerance)
    _geometry(constraint, X, values, tolerance)
    if batch:
        together, s = _together(constraint.query, X, "g", "s")
        _same(X, values, together, "g", tolerance)
        # At a tie a batch may take another of the subgradients.
        convexity.all_pairs(X, values, s)


def check_costs(
    costs: CostStream,
    points: Array,
    *,
    rounds: Sequence[int] | None = None,
    domain: Ball | None = None,
    batch: bool = True,
    tolerance: float = 1e-9,
) -> None:
    r"""Check convex costs at points and all pairs of them, in some rounds and runs.

    - Values are finite numbers and gradients finite vectors of the action's length.
    - The gradient inequality
      :math:`f_t(y) \ge f_t(x) + \nabla_x^\top(y - x) + \tfrac\mu2\|y - x\|^2` holds for all
      pairs and close to each point, with the modulus :math:`\mu` that ``strong_convexity``
      declares, else 0.
    - No gradient in the domain is longer than ``gradient_bound`` declares.
    - A batch gives the values of its actions one by one, and gradients that pass too.

    Args:
        costs: the stream.
        points: actions ``(n, d)``, of which all n^2 pairs are compared.
        rounds: rounds to check, from 0; else at most 20, evenly spread.
        domain: the ball in which ``gradient_bound`` is to hold; else around 0 and all points.
        batch: whether to query batches; False for functions that take one action only.
        tolerance: what rounding may do, as a share of the numbers compared.

    Raises:
        AssertionError: at the first breach, in a sentence with the round, the points and the
            amount.

    Example:
        >>> from surefoot.problems.costs import Quadratic
        >>> check_costs(Quadratic([[1.0, -2.0]], curvature=3.0), [[0.0, 1.0], [4.0, -1.0]])
    """
    X = _points(points)
    domain = _around(X) if domain is None else domain
    if rounds is None:
        rounds = np.unique(np.linspace(0, costs.horizon - 1, 20).astype(int)).tolist()
    for stream, run in _runs(costs):
        bound = stream.gradient_bound(domain) if hasattr(stream, "gradient_bound") else None
        modulus = float(getattr(stream, "strong_convexity", 0.0))
        for t in rounds:
            where = f" in round {t + 1}" + ("" if run is None else f" of run {run}")

            def query(x: Array, stream: Any = stream, t: int = t) -> tuple[Any, Any]:
                return stream.value(t, x), stream.gradient(t, x)

            values, gradients = _one_by_one(query, X, "f(x)", "the gradient", where)
            convexity = _Convexity("gradient", "f", "grad", tolerance, modulus, where)
            convexity.all_pairs(X, values, gradients)
            convexity.near_pairs(query, X, values, gradients)
            _not_longer(X, gradients, bound, domain, "gradient", "G_f", where)
            if batch:
                together, gradients = _together(query, X, "f", "the gradient", where)
                _same(X, values, together, "f", tolerance, where)
                convexity.all_pairs(X, values, gradients)


def _runs(costs: CostStream) -> Iterator[tuple[Any, int | None]]:
    """Return the stream of one run, or of the first and the last of several."""
    if costs.runs is None:
        yield costs, None
    else:
        for run in sorted({0, costs.runs - 1}):
            yield costs.run(run), run


def _points(points: Any) -> Any:
    X = np.asarray(points, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape or not np.isfinite(X).all():
        raise InvalidValueError(f"points must be finite, of shape (n, d), got shape {X.shape}")
    return X


def _around(X: Any) -> Ball:
    farthest = float(np.linalg.norm(X, axis=1).max())
    return Ball(farthest * (1 + 2.0**-40) if farthest > 0 else 1.0)


def _one_by_one(query: Any, X: Any, value: str, slope: str, where: str = "") -> tuple[Any, Any]:
    """Return values ``(n,)`` and slopes ``(n, d)``, from one query per point."""
    values, slopes = np.empty(len(X)), np.empty_like(X)
    for i, x in enumerate(X):
        g, s = query(x)
        if np.ndim(g) or not np.isfinite(g):
            raise AssertionError(
                f"{value} must be a finite number, got {g!r} at x = {x.tolist()}{where}"
            )
        if np.shape(s) != x.shape or not np.isfinite(s).all():
            raise AssertionError(
                f"{slope} must be a finite vector of shape {x.shape}, got {s!r} "
                f"at x = {x.tolist()}{where}"
            )
        values[i], slopes[i] = g, s
    return values, slopes


def _together(query: Any, X: Any, value: str, slope: str, where: str = "") -> tuple[Any, Any]:
    """Return values and slopes from one query of all points as a batch."""
    g, s = query(X)
    for name, got, shape in ((value, g, (len(X), 1)), (slope, s, X.shape)):
        if np.shape(got) != shape:
            raise AssertionError(
                f"{name} of a batch must have shape {shape}, got {np.shape(got)}{where}"
            )
    return np.asarray(g)[:, 0], np.asarray(s)


class _Convexity(NamedTuple):
    """The inequality that slopes of a convex function satisfy, and the words for a breach."""

    kind: str
    value: str
    slope: str
    tolerance: float
    modulus: float = 0.0
    where: str = ""

    def all_pairs(self, X: Any, values: Any, slopes: Any) -> None:
        """Check that no value is below the cut of another point."""
        for part in _parts(len(X)):
            self._compare(X[part], values[part], slopes[part], X, values)

    def near_pairs(self, query: Any, X: Any, values: Any, slopes: Any) -> None:
        """Check the same close by, where curvature cannot hide a wrong slope.

        Close by on the way to the points where the cut is highest and lowest, so that nothing
        outside the hull of the points is asked for.
        """
        for part in _parts(len(X)):
            rise = slopes[part] @ X.T
            for j in (rise.argmax(axis=1), rise.argmin(axis=1)):
                Y = X[part] + _NEAR * (X[j] - X[part])
                near = np.array([float(query(y)[0]) for y in Y])
                for i, (y, f) in enumerate(zip(Y, near, strict=True)):
                    k = slice(part.start + i, part.start + i + 1)
                    self._compare(X[k], values[k], slopes[k], y[None], np.array([f]))

    def _compare(self, X: Any, values: Any, slopes: Any, Y: Any, others: Any) -> None:
        """Compare the values at all Y with the cuts of all X."""
        lengths, squares = np.linalg.norm(slopes, axis=1), np.vecdot(Y, Y)
        farthest = float(np.sqrt(squares.max()))
        cuts = (values - np.vecdot(slopes, X))[:, None] + slopes @ Y.T
        # The terms that cancel in a cut are what its rounding is a share of.
        sizes = abs(values) + lengths * (np.linalg.norm(X, axis=1) + farthest)
        if self.modulus:
            apart = np.vecdot(X, X)[:, None] + squares - 2 * X @ Y.T
            cuts += 0.5 * self.modulus * np.maximum(apart, 0.0)
            sizes += 2 * self.modulus * farthest**2
        below = cuts - others - self.tolerance * (1.0 + sizes[:, None] + abs(others))
        i, j = np.unravel_index(int(below.argmax()), below.shape)
        if below[i, j] > 0:
            f, curved = self.value, f" + {self.modulus / 2:g} |y - x|^2" if self.modulus else ""
            raise AssertionError(
                f"the {self.kind} inequality must hold, got {f}(y) = {others[j]:g} below "
                f"{f}(x) + {self.slope}'(y - x){curved} = {cuts[i, j]:g} by "
                f"{cuts[i, j] - others[j]:g} at x = {X[i].tolist()}, y = {Y[j].tolist()}"
                f"{self.where}"
            )


def _parts(n: int) -> Iterator[slice]:
    block = max(1, _BLOCK // n)
    return (slice(low, min(low + block, n)) for low in range(0, n, block))


def _not_longer(
    X: Any, slopes: Any, bound: float | None, domain: Ball, kind: str, name: str, where: str = ""
) -> None:
    """Check that no slope in the domain is longer than declared."""
    if bound is None:
        return
    inside = np.asarray(domain.contains(X))[:, 0]
    lengths = np.where(inside, np.linalg.norm(slopes, axis=1), 0.0)
    i = int(lengths.argmax())
    if lengths[i] > bound * (1 + 2.0**-40):
        raise AssertionError(
            f"no {kind} in the domain may be longer than {name} = {bound:g}, got one of "
            f"{lengths[i]:g} at x = {X[i].tolist()}{where}"
        )


def _not_shorter(
    X: Any, values: Any, slopes: Any, sigma: float, epsilon: float, tolerance: float
) -> None:
    """Check that no subgradient above the level is shorter than declared."""
    lengths = np.where(values >= -epsilon, np.linalg.norm(slopes, axis=1), np.inf)
    i = int(lengths.argmin())
    if lengths[i] < sigma * (1 - tolerance):
        raise AssertionError(
            f"no subgradient where g >= -{epsilon:g} may be shorter than sigma = {sigma:g}, got "
            f"one of {lengths[i]:g} where g = {values[i]:g} at x = {X[i].tolist()}"
        )


def _geometry(constraint: Constraint, X: Any, values: Any, tolerance: float) -> None:
    """Check that the interior point and the region agree with g."""
    point = constraint.interior
    if point is not None and not constraint.value(np.asarray(point)) < 0:
        raise AssertionError(
            f"interior must be strictly feasible, got g = {constraint.value(np.asarray(point)):g} "
            f"at {np.asarray(point).tolist()}"
        )
    region = constraint.region
    if region is None:
        return
    inside = np.asarray(region.contains(X))[:, 0]
    margin = tolerance * (1.0 + abs(values))
    wrong = (inside & (values > margin)) | (~inside & (values < -margin))
    if wrong.any():
        i = int(wrong.argmax())
        raise AssertionError(
            f"region must hold the points with g <= 0 alone, got g = {values[i]:g} at a point "
            f"{'inside' if inside[i] else 'outside'}, x = {X[i].tolist()}"
        )


def _same(
    X: Any, values: Any, together: Any, value: str, tolerance: float, where: str = ""
) -> None:
    """Check that a batch gives the values of its actions."""
    apart = abs(values - together) - tolerance * (1.0 + abs(values))
    i = int(apart.argmax())
    if not apart[i] <= 0:
        raise AssertionError(
            f"{value} of a batch must be that of its actions one by one, got {together[i]:g} "
            f"instead of {values[i]:g} at x = {X[i].tolist()}{where}"
        )

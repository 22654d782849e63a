r"""Several constraints with a bound on the curvature of each, and a known set beside them.

All of them must be seen in every round: the maximum of smooth functions is not smooth, so that the
curvature of the largest one alone certifies nothing. The region is the intersection of the balls
and half-spaces :math:`U_i(p) = g_i + s_i^\top(p-x) + \frac{\beta_i}2\|p-x\|^2 \le 0`
(:mod:`surefoot.regions.curvature`), and of a closed convex set K that is known from the beginning,
or announced before the round. They are projected onto together: a point that is projected onto the
balls first and onto K then leaves the balls in a quarter of the cases.

Whatever the search returns is checked in float64, row by row with half of the margin, and by K's
own ``contains``; if that fails, the way there from a point that passes is shortened until it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import constant, minimum, namespace, number_like, raised, where
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Number, Region
from surefoot.regions._anchor import DriftAnchor
from surefoot.regions._ball import curvature_margin, kept
from surefoot.regions._errors import Errors, check_errors, error_of
from surefoot.regions._known import known_set
from surefoot.regions._quadratics import row_norms
from surefoot.regions._rows_region import RowsMemory, RowsRegion

__all__ = ["CurvatureRows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvatureRows:
    r"""Knowledge that each of several constraints curves upwards by at most :math:`\beta_i`.

    Args:
        beta: one number for all rows, or one per row; 0 for a row that is affine.
        rows: how many constraints there are; as many as there are curvatures unless given.
        reach: M, the largest norm of a feasible point, which rounding scales with.
        domain: a known closed convex set that holds every action, projected onto jointly with what
            is certified; NumPy only. None where nothing is known.
        sweeps: how often each row has its turn in a search, at most.
        exact: whether cuts by half-spaces are solved by active sets; one NumPy run without a
            known set only.
        evaluation_error: bound on the error of the g that is observed; rounding unless given.
        value_error: bound on the error of an observed g that is no rounding: a sensor's.
        slope_error: bound on the distance of an observed slope to the true one.
        drift: bound on the change of any row, at any point, from one round to the next.

    Example:
        >>> from surefoot.sets import Box
        >>> known = CurvatureRows(beta=(1.0, 0.0), reach=1.5, domain=Box([0.0, 0.0], [0.2, 1.0]))
        >>> x = np.array([0.1, 0.1])
        >>> g, s = np.array([-0.5, -0.3]), np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> memory, region = known.see(known.init(x), x, g, s)
        >>> region.nearest(np.array([2.0, 2.0])).round(6)  # the box, and x[0] + x[1] <= 0.5
        array([0.2, 0.3])
    """

    beta: Number | tuple[float, ...]
    reach: Number
    rows: int = 0
    domain: Region | None = None
    sweeps: int = 16
    exact: bool = False
    evaluation_error: Number | None = None
    value_error: Number | None = None
    slope_error: Number | None = None
    drift: Number | None = None

    def __post_init__(self) -> None:
        if isinstance(self.beta, (tuple, list, np.ndarray)) and np.ndim(self.beta) == 1:
            beta = checks.vector(self.beta, "beta")
            for i, value in enumerate(beta):
                checks.nonnegative(**{f"beta[{i}]": value})
            object.__setattr__(self, "beta", tuple(float(b) for b in beta))
            if self.rows not in (0, len(beta)):
                raise InvalidValueError(
                    f"rows must be {len(beta)}, one per curvature in beta, got {self.rows!r}"
                )
            object.__setattr__(self, "rows", len(beta))
        else:
            checks.nonnegative(beta=self.beta)
            checks.plain(self, "beta")
            checks.whole(self.rows, "rows", "the number of constraints where beta is one number")
        checks.positive(reach=self.reach)
        checks.plain(self, "reach")
        checks.whole(self.sweeps, "sweeps")
        if self.domain is not None:
            known_set(self.domain, "domain")
        if self.evaluation_error is not None:
            checks.nonnegative(evaluation_error=self.evaluation_error)
            checks.plain(self, "evaluation_error")
        check_errors(self)

    def rates(self, like: Array) -> Number:
        """Return the curvatures in a form that broadcasts with the values."""
        if type(self.beta) is not tuple:
            return self.beta
        if all(type(b) is float for b in self.beta):
            return constant(np.array(self.beta), like)
        return namespace(like).stack([0.0 * like[..., 0] + b for b in self.beta], axis=-1)

    @property
    def rate_of_one(self) -> Number:
        """The curvature of the only row."""
        return self.beta[0] if type(self.beta) is tuple else self.beta

    def of_run(self, i: int, rates: Array) -> CurvatureRows:
        """Return the same for one run of a batch, with its curvatures."""
        numbers = {f.name: getattr(self, f.name) for f in fields(self)}
        own = {n: float(v[i, 0]) for n, v in numbers.items() if isinstance(v, np.ndarray)}
        return self.changed(**{**own, "beta": tuple(rates.tolist())})

    def without_domain(self) -> CurvatureRows:
        """Return the same without the known set."""
        return self.changed(domain=None, exact=False)

    def changed(self, **values: Any) -> CurvatureRows:
        """Return the same with some fields replaced by values that need no check."""
        made = object.__new__(type(self))
        for f in fields(self):
            object.__setattr__(made, f.name, values.get(f.name, getattr(self, f.name)))
        return made

    def init(self, x1: Array) -> RowsMemory:
        """Return the memory before the first round; a start outside the known set is refused."""
        if self.domain is not None:
            known_set(self.domain, "domain", holds=x1)
        zero = number_like(x1, 0.0)
        columns = namespace(x1).zeros_like(x1[..., :1]) + constant(np.zeros(self.rows), x1)
        anchor = None if self.drift is None else DriftAnchor(x1, columns, zero)
        return RowsMemory(zero, x1, columns, columns[..., None] * x1[..., None, :], columns, anchor)

    def see(
        self, memory: RowsMemory, x: Array, g: Array, s: Array, value_error: Number | None = None
    ) -> tuple[RowsMemory, RowsRegion]:
        """Return the memory with the round added, and the region for the next action."""
        if s.ndim == x.ndim:  # one constraint, told as one number
            g = np.array([g]) if type(g) is float else namespace(s).reshape(g, (*s.shape[:-1], 1))
            s = s[..., None, :]
        if g.shape[-1] != self.rows:
            raise InvalidValueError(
                f"constraint_value must have {self.rows} entries, one per constraint, "
                f"got shape {tuple(g.shape)}"
            )
        g, s, errors = kept(g), kept(s), error_of(self, value_error)
        upper = low = g
        if errors is not None:
            upper, low = self._bounds(memory, x, g, errors)
        rounds = memory.rounds + 1.0
        after = RowsMemory(rounds, x, upper, s, low)
        region = self.region(after, memory, errors)
        worst = upper + region.margin
        if memory.anchor is not None:
            anchor = memory.anchor.or_deeper(x, worst, rounds, self.drift)
            after = after._replace(anchor=anchor)
            region = region._replace(anchor=anchor.aged(rounds + 1.0, self.drift))
        if type(g) is np.ndarray and g.ndim == 1:
            checks.refuse_unfinite(g, "constraint_value")
            checks.refuse_unfinite(s, "constraint_subgradient")
            if memory.rounds == 0.0 and not (worst < 0).all():
                i = int(worst.argmax())
                raise InvalidValueError(
                    "the start must be strictly feasible, by more than the error of g, "
                    f"got g(x_1) = {float(g[i]):g} in row {i}"
                )
            return after, region
        xp = namespace(g)
        first = (memory.rounds == 0) & xp.any(worst >= 0, axis=-1, keepdims=g.ndim > 1)
        lost = first | ~xp.all(xp.isfinite(g), axis=-1, keepdims=g.ndim > 1)
        return after, region._replace(x=where(lost, math.nan, x))

    def _bounds(
        self, memory: RowsMemory, x: Array, g: Array, errors: Errors
    ) -> tuple[Array, Array]:
        """Return the bounds on each row at the action played: the reading's, and those certified.

        A row's bound belongs to a point at which all rows had bounds of at most 0.
        """
        before, xp = self.region(memory, memory, errors).bounds(x), namespace(g)
        certified = xp.all(before <= 0, axis=-1, keepdims=g.ndim > 1) & (memory.rounds > 0)
        upper = g + errors.value
        return xp.where(certified, minimum(upper, before), upper), g - errors.value

    def region(
        self, memory: RowsMemory, before: RowsMemory, errors: Errors | None = None
    ) -> RowsRegion:
        """Return the region that a memory stands for."""
        _, x, g, s, low, _ = memory
        margin = curvature_margin(
            g, row_norms(s), self.rates(g), self.reach, x.shape[-1], self.evaluation_error
        )
        if self.drift is not None:
            g = raised(g + self.drift)
        return RowsRegion(self, x, g, s, margin, before, None, low, errors)

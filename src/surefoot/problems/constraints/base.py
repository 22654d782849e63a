"""The base of every constraint: a convex g with its value and a subgradient."""

import math
from abc import ABC, abstractmethod
from typing import final

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import namespace
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import check_length, dimension_of
from surefoot.core.types import Array, Number, Set
from surefoot.sets import Ball

__all__ = ["Constraint", "level_below"]


class Constraint(ABC):
    r"""A convex constraint :math:`g(x) \le 0`.

    A new one implements :meth:`query`, and what its structure gives of the rest:
    :meth:`subgradient_bound`, :meth:`exact_sigma`, :attr:`region`, :attr:`interior`,
    :meth:`evaluation_error`, :meth:`curvature`; a field or property ``dimension`` if the length
    of an action is fixed. The largest of several constraints returns each separately in
    :meth:`query_all` and :meth:`row_curvatures`.
    """

    @abstractmethod
    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the value of g and one subgradient, both at x, for one action or a batch."""

    @final
    def value(self, x: Array) -> Number:
        """Return the value of g at x."""
        return self.query(point(x, None))[0]

    @final
    def subgradient(self, x: Array) -> Array:
        """Return one subgradient of g at x."""
        return self.query(point(x, None))[1]

    @property
    def region(self) -> Set | None:
        """The feasible set, if it is a set that can be projected onto; else None."""
        return None

    def subgradient_bound(self, domain: Ball) -> float | None:
        """Return the smallest known bound G_g on subgradients over the domain; None if unknown."""
        return None

    def exact_sigma(self, epsilon: float | None) -> tuple[float, float] | None:
        """Return (sigma, epsilon) of Assumption 4, epsilon as requested or by default.

        None if the structure does not give it.
        """
        return None

    @property
    def interior(self) -> Array | None:
        """A strictly feasible point, if the structure gives one; else None."""
        return None

    def query_all(self, x: Array) -> tuple[Array, Array]:
        """Return all m constraints of which this one is the maximum; m = 1 by default.

        Returns:
            Values ``(m,)`` and subgradients ``(m, d)``; ``(B, m)`` and ``(B, m, d)`` for a batch.
        """
        g, s = self.query(x)
        if isinstance(g, float):
            return np.array([g]), s[None]
        xp = namespace(s)
        return xp.reshape(g, (*s.shape[:-1], 1)), xp.expand_dims(s, axis=-2)

    @property
    def rows(self) -> int:
        """The number of constraints that :meth:`query_all` returns."""
        return 1

    def value_bound(self, domain: Ball, point: Array) -> float | None:
        r"""Return the largest absolute value of any row on the domain; None if unknown.

        From any point, :math:`\max_i |g_i| + G_g D` with D its largest distance to the domain,
        unless the structure gives a better bound.
        """
        G_g = self.subgradient_bound(domain)
        if G_g is None:
            return None
        return float(np.abs(self.query_all(point)[0]).max()) + G_g * domain.reach(point)

    def evaluation_error(self, domain: Ball) -> float | None:
        r"""Bound the rounding of g on the domain; None if it is unknown.

        Returns:
            A number e such that, for all x and y of the domain and the :math:`\hat g, \hat s`
            that :meth:`query` computes at x, :math:`|\hat g - g(x)| \le e` and
            :math:`g(y) \ge \hat g + \hat s^\top(y - x) - e`; at least one rounding of the
            largest :math:`|g|`.
        """
        return None

    def curvature(self, domain: Ball | None = None) -> float | None:
        r"""Bound the curvature of g on the domain, or everywhere; None if it is unknown.

        Returns:
            A number :math:`\beta \ge 0` with
            :math:`g(y) \le g(x) + s^\top(y - x) + \frac\beta2\|y - x\|^2` for all x and y of
            the domain and the subgradient s at x. None if g has a kink there: the maximum of
            several smooth functions has no such bound, its rows have (:meth:`row_curvatures`).
        """
        return None

    def row_curvatures(self, domain: Ball | None = None) -> Array:
        """Bound the curvature of each row of :meth:`query_all`, ``(m,)``; inf if unknown."""
        beta = self.curvature(domain) if self.rows == 1 else None
        return np.full(self.rows, math.inf if beta is None else beta, dtype=np.float64)

    @final
    def constants(
        self, domain: Ball, start: Array | None = None, epsilon: float | None = None
    ) -> Constants:
        r"""Return R, G_g, sigma, epsilon and the slack of the start, as far as g gives them.

        sigma comes from the structure of g if that gives it exactly, else from the start by
        the local form (*) at :math:`\epsilon = \alpha/2`: half of the slack for the level, half
        for the slope (see ``Constants.local_sigma``).

        Args:
            domain: a ball that contains the feasible set.
            start: the first action, if it is to be strictly feasible.
            epsilon: the level of Assumption 4, if not the default.
        """
        constants = Constants(R=float(domain.radius))
        constants = constants.with_origin("derived", G_g=self.subgradient_bound(domain))
        if start is not None:
            x1 = checks.to_vector(start, "start", length=dimension_of(self))
            slack = -float(self.value(x1))
            # The reach is rounded up: it bounds a distance from above.
            reach = domain.reach(x1) * (1 + 2.0**-50)
            constants = constants.with_origin("derived", start_slack=slack, start_reach=reach)
        exact = self.exact_sigma(epsilon)
        if exact is not None:
            return constants.with_origin("derived", sigma=exact[0], epsilon=exact[1])
        if constants.start_slack is not None and constants.start_slack > 0:
            level = level_below(constants.start_slack, epsilon, "slack of the start")
            sigma = constants.local_sigma(level)
            return constants.with_origin("local", sigma=sigma, epsilon=level)
        if epsilon is not None:
            raise InvalidValueError(
                "epsilon must come with a strictly feasible start where the structure of g gives "
                f"no sigma, got epsilon = {epsilon!r} with start_slack = {constants.start_slack!r}"
            )
        return constants


def gamma(operations: float) -> float:
    r"""Return :math:`\gamma_k = ku/(1 - ku)`, u = 2^-53: k roundings in a row, as a share.

    An inner product of k terms, in any order, errs by at most :math:`\gamma_k` of the sum of the
    terms' sizes. Underflow adds 2^-1074 for each term, which is negligible for all scales that
    constructors accept.
    """
    return operations * 2.0**-53 / (1 - operations * 2.0**-53)


def bound_above(value: float, operations: int) -> float:
    """Return an upper bound on a number whose computation rounded this often, by u = 2^-53 each."""
    return value * (1 + (operations + 8) * 2.0**-53)


def bound_below(value: float, operations: int) -> float:
    """Return a lower bound on a number whose computation rounded this often."""
    return value * (1 - (operations + 8) * 2.0**-53)


def level_below(
    depth: float, epsilon: float | None, whose: str = "depth of the constraint"
) -> float:
    """Return a level for Assumption 4; raise if it is at or below the minimum of g.

    Half of the depth unless given: far from the minimum, where subgradients may vanish, and as
    in the paper's experiment.
    """
    if epsilon is None:
        return 0.5 * depth if np.isfinite(depth) else 1.0
    if not 0 < epsilon < depth:
        raise checks.invalid("epsilon", f"> 0 and below {depth:g}, the {whose}", epsilon)
    return float(epsilon)


def some_entry(**arrays: Array) -> None:
    """Raise if all entries of all arrays are 0: g would be a constant."""
    if not any(array.any() for array in arrays.values()):
        raise InvalidValueError(
            f"{' or '.join(arrays)} must have an entry that is not 0, got zeros"
        )


def point(x: Array, dimension: int | None) -> Array:
    """Return an action as float64; reject one of another length, which might broadcast."""
    return check_length(x, dimension, "x")

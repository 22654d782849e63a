r"""Limits of linear models on an audit set, with constants that are proved from it.

A linear head scores a row z with :math:`w^\top z`; the last entry of w is the intercept, and
the last of z is 1, which is added here. What a regulator or an owner asks of it is a number
computed on a fixed *audit set*: the difference of two groups (:class:`Parity`), the change of
scores since the last version (:class:`Churn`), a covariance (:class:`Covariance`). How much such a
number curves depends on the audit set alone, so that no constant has to be guessed::

    limit = Parity(features, group, at_most=0.05)
    filter = RegionFilter(knowledge=limit.knowledge(reach=10.0))
    values, slopes = limit.read(w)      # one row per side of the limit, at the weights w

They hold for heads, and for the last layer on features that stay fixed. The curvature of a network
is not known: :meth:`surefoot.rules.RegionFilter.unknown_curvature`.

**Curvatures.** Let :math:`S = \frac1n\sum_i z_iz_i^\top`, of a group A or B where one is named.

* *Parity*, :math:`h(w) = \frac1{|A|}\sum_A\sigma(w^\top z) - \frac1{|B|}\sum_B\sigma(w^\top z)`\ :
  the curvature of h and of -h is at most :math:`\kappa\lambda_{\max}(S_A + S_B)`,
  :math:`\kappa = 1/(6\sqrt3)`. *Proof.* :math:`v^\top\nabla^2h\,v =
  \frac1{|A|}\sum_A\sigma''(w^\top z)(v^\top z)^2 - \frac1{|B|}\sum_B\ldots`, which is at most
  :math:`\sup|\sigma''|\,v^\top(S_A + S_B)v`. With p the sigmoid, :math:`\sigma'' =
  p(1-p)(1-2p)`, whose derivative :math:`1 - 6p + 6p^2` is 0 at :math:`p = \frac12 \pm
  \frac{\sqrt3}6`; there :math:`p(1-p) = \frac16` and :math:`|1-2p| = \frac1{\sqrt3}`. ∎
* *Churn*, :math:`\frac1n\sum_i(z_i^\top(w-w_0))^2`\ : its Hessian is 2S, so
  :math:`2\lambda_{\max}(S)`.
* *Covariance*, :math:`\frac1n\sum_i(b_i - \bar b)z_i^\top w`\ : it is linear, so 0.

**Eigenvalues, rounded up.** With u = 2^-53 and :math:`\gamma_k = ku/(1 - ku)`, every entry of the
computed S is a sum of n products, a quotient, and a sum of two groups: it errs by at most
:math:`\gamma_{n+2}` of the same sum of absolute values, and the norm of all these errors is at most
:math:`\gamma_{n+2}\,\mathrm{tr}\,S`. A number :math:`\lambda` is sought for which the Cholesky
factors of :math:`A = \lambda I - S` exist in floating point. Then :math:`R^\top R = A + E`,
:math:`|E| \le \gamma_{d+1}|R|^\top|R|` (Higham, *Accuracy and Stability*, Theorem 10.3), so
:math:`\|R\|_F^2 = \mathrm{tr}(A + E)` is at most :math:`\mathrm{tr}\,A/(1 - \gamma_{d+1})`, and no
eigenvalue of A is below :math:`-\frac{\gamma_{d+1}}{1 - \gamma_{d+1}}\mathrm{tr}\,A`. The
diagonal of A rounds by :math:`u\lambda`. So no solver of eigenvalues is trusted.

**Evaluation.** ``read`` computes in float64. With Z the longest row, M the reach and k the entries
of a row: a score errs by :math:`\gamma_kZM`, a sigmoid by a quarter of that and 10u (its
hyperbolic tangent by at most 8 units in the last place), its derivative by :math:`\kappa\gamma_kZM`
and 11u, a mean over n rows by :math:`\gamma_{n+1}` of its terms' absolute mean. So a group adds
:math:`\frac14\gamma_kZM + 10u + \gamma_{n+1}` to the error of h, and
:math:`(\kappa\gamma_kZM + 11u + \frac14\gamma_{n+2})Z` to that of its slope. The square of a
change of at most :math:`C = Z(M + \|w_0\|)` errs by :math:`3\gamma_{k+1}C^2`, its slope by
:math:`2\gamma_{k+1}CZ`. A region multiplies its ``evaluation`` by four, for two
readings and the slope over the reach (:mod:`surefoot.knowledge.curvature`), so that it is given the
error of h and M times that of the slope, twice for products of errors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import freeze
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.points import UNIT
from surefoot.core.types import Array, ArrayLike
from surefoot.knowledge import Knowledge
from surefoot.problems.constraints.base import gamma
from surefoot.rules.certified.arguments import curvature_knowledge
from surefoot.sets import Ball

__all__ = ["KAPPA", "Audit", "Churn", "Covariance", "Parity"]

KAPPA = 0.09622504486493763
r"""The largest curvature of the sigmoid, :math:`1/(6\sqrt3)`."""
_ABOVE = 1 + 2.0**-48
"""More than what the last products and sums of a bound round by."""


@dataclass(frozen=True, eq=False)
class Audit(ABC):
    """A limit on the weights of a linear model, measured on a fixed audit set.

    Args:
        features: one row per example, as the model gets them, after any scaling.

    Attributes:
        origin: of the constants.
        convex: whether every row of the limit is convex in the weights.
        row_count: how many rows it has.
        beta: a bound on the curvature of every row, rounded up.
    """

    features: ArrayLike
    _rows: Array = field(init=False, repr=False)

    origin: ClassVar[str] = "proved"
    convex: ClassVar[bool] = True
    row_count: ClassVar[int] = 2

    def __post_init__(self) -> None:
        features = checks.to_matrix(self.features, "features")
        rows = freeze(np.column_stack([features, np.ones(len(features))]))
        if not math.isfinite(float((rows * rows).sum())):
            raise InvalidValueError("features must have a finite sum of squares")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "_rows", rows)

    @property
    @abstractmethod
    def beta(self) -> float:
        """A bound on the curvature of every row, rounded up."""

    @abstractmethod
    def read(self, w: ArrayLike) -> tuple[Array, Array]:
        """Return the values and the slopes at the weights, the intercept last, in float64."""

    @abstractmethod
    def evaluation_error(self, reach: float) -> float:
        """Return a bound on the rounding of a reading at weights of at most this norm."""

    @property
    def size(self) -> int:
        """How many weights there are, with the intercept."""
        return int(self._rows.shape[1])

    @property
    def longest(self) -> float:
        """The largest norm of a row, with its 1 for the intercept, rounded up."""
        squares = np.einsum("ij,ij->i", self._rows, self._rows)
        return math.sqrt(float(squares.max())) * (1 + gamma(self.size + 2))

    def knowledge(self, reach: float) -> Knowledge:
        """Return what certifies weights in a ball: the curvature, and the rounding of readings.

        Args:
            reach: the radius of a ball around 0 that every weight vector is kept in.
        """
        checks.positive(reach=reach)
        constants = Constants(
            R=float(reach),
            beta=self.beta,
            rows=self.row_count,
            evaluation_error=self.evaluation_error(float(reach)),
            convex=self.convex,
        )
        known: Knowledge = curvature_knowledge(constants, Ball(float(reach)), "a limit on weights")
        return known

    def _weights(self, w: ArrayLike) -> Array:
        """Return weights as a vector of the right length; reject rounded ones."""
        return checks.to_vector(checks.to_exact(w, "w"), "w", length=self.size)


@dataclass(frozen=True, eq=False)
class _OfGroups(Audit):
    """A limit that compares two groups."""

    group: ArrayLike
    at_most: float
    _in_group: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(at_most=self.at_most)
        group = np.asarray(self.group)
        if group.shape != (len(self._rows),):
            rule = f"({len(self._rows)},), one entry per row of features"
            raise checks.invalid("group.shape", rule, group.shape)
        if not bool(np.isin(group, (0, 1)).all()):
            raise checks.invalid("group", "true or false, or 1 or 0, in each row", group)
        inside = freeze(group.astype(bool))
        if inside.all() or not inside.any():
            which = "true" if inside.all() else "false"
            raise InvalidValueError(f"group must have rows of both kinds, got {which} in each")
        object.__setattr__(self, "_in_group", inside)

    @property
    def _both(self) -> tuple[Array, Array]:
        return self._rows[self._in_group], self._rows[~self._in_group]

    def _two_sided(self, value: float, slope: Array) -> tuple[Array, Array]:
        return np.array([value, -value]) - self.at_most, np.stack([slope, -slope])


@dataclass(frozen=True, eq=False)
class Parity(_OfGroups):
    r"""The mean probabilities of two groups differ by at most a number; not convex, two rows.

    .. math:: \Big|\frac1{|A|}\sum_A\sigma(w^\top z) - \frac1{|B|}\sum_B\sigma(w^\top z)\Big|
              \le \text{at\_most}

    Weights of 0 satisfy it, with all of the slack.

    Args:
        features: one row per example, without a column for the intercept.
        group: which rows are of the group A; the others are of B.
        at_most: the limit, above 0.

    Example:
        >>> limit = Parity([[0.0], [2.0]], [True, False], at_most=0.05)
        >>> values, slopes = limit.read([0.0, 0.0])
        >>> values.tolist(), slopes.tolist()
        ([-0.05, -0.05], [[-0.5, 0.0], [0.5, -0.0]])
        >>> round(limit.beta / KAPPA, 6)  # of S_A + S_B = [[4, 2], [2, 2]], 3 + sqrt 5
        5.236068
        >>> limit.knowledge(reach=10.0).convex
        False
    """

    convex: ClassVar[bool] = False

    @property
    def beta(self) -> float:
        r""":math:`\kappa\lambda_{\max}(S_A + S_B)`, rounded up."""
        return KAPPA * _ABOVE * _largest_eigenvalue(*self._both)

    def read(self, w: ArrayLike) -> tuple[Array, Array]:
        """Return both sides of the limit, with a slope each."""
        weights = self._weights(w)
        value, slope = 0.0, np.zeros(self.size)
        for rows, sign in zip(self._both, (1.0, -1.0), strict=True):
            p = 0.5 * (1.0 + np.tanh(0.5 * (rows @ weights)))
            value += sign * float(p.mean())
            slope += sign * ((p * (1.0 - p)) @ rows) / len(rows)
        return self._two_sided(value, slope)

    def evaluation_error(self, reach: float) -> float:
        """Return a bound on the rounding of a reading at weights of at most this norm."""
        Z, sizes = self.longest, [len(rows) for rows in self._both]
        score = gamma(self.size) * Z * reach
        value = sum(0.25 * score + 10 * UNIT + gamma(n + 1) for n in sizes)
        slope = sum((KAPPA * score + 11 * UNIT + 0.25 * gamma(n + 2)) * Z for n in sizes)
        return 2 * (value + 4 * UNIT * (1 + self.at_most) + reach * slope)


@dataclass(frozen=True, eq=False)
class Churn(Audit):
    r"""The scores change little against a deployed model, in the mean square; convex, one row.

    .. math:: \frac1n\sum_i\big(z_i^\top(w - w_0)\big)^2 \le \text{at\_most}

    It is a limit on scores, not on decisions: near a score of 0 a small change flips a decision.
    The deployed weights satisfy it, with all of the slack.

    Args:
        features: one row per example, without a column for the intercept.
        deployed: :math:`w_0`, the intercept last.
        at_most: the limit, above 0.

    Example:
        >>> limit = Churn([[3.0], [1.0]], deployed=[0.5, 0.0], at_most=0.1)
        >>> value, slope = limit.read([0.6, 0.0])  # (0.3^2 + 0.1^2)/2 - 0.1
        >>> round(float(value), 12), slope.round(12).tolist()
        (-0.05, [1.0, 0.4])
        >>> round(limit.beta, 6)  # S = [[5, 2], [2, 1]], 2 (3 + sqrt 8)
        11.656854
    """

    row_count: ClassVar[int] = 1

    deployed: ArrayLike
    at_most: float
    _deployed: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(at_most=self.at_most)
        deployed = checks.to_vector(self.deployed, "deployed", length=self.size)
        object.__setattr__(self, "deployed", deployed)
        object.__setattr__(self, "_deployed", deployed)

    @property
    def beta(self) -> float:
        r""":math:`2\lambda_{\max}(S)`, rounded up."""
        return 2 * _ABOVE * _largest_eigenvalue(self._rows)

    def read(self, w: ArrayLike) -> tuple[Array, Array]:
        """Return the value, one number, and its slope."""
        change = self._rows @ (self._weights(w) - self._deployed)
        slope = 2.0 * (change @ self._rows) / len(change)
        return np.float64(change @ change / len(change) - self.at_most), slope

    def evaluation_error(self, reach: float) -> float:
        """Return a bound on the rounding of a reading at weights of at most this norm."""
        Z, n = self.longest, len(self._rows)
        largest = Z * (reach + float(np.linalg.norm(self._deployed)))
        error = gamma(self.size + 1)
        value = (3 * error + gamma(n + 2)) * largest**2 + 2 * UNIT * self.at_most
        slope = 2 * (error + gamma(n + 2)) * largest * Z
        return 2 * (value + reach * slope)

    def knowledge(self, reach: float) -> Knowledge:
        """Return what certifies weights in a ball: the curvature, and the rounding of readings.

        Args:
            reach: the radius of a ball around 0 that every weight vector is kept in; it must hold
                the deployed one.
        """
        checks.positive(reach=reach)
        norm = float(np.linalg.norm(self._deployed))
        if not norm <= reach:
            raise checks.invalid("reach", f"at least {norm:.6g}, the deployed weights' norm", reach)
        return super().knowledge(reach)


@dataclass(frozen=True, eq=False)
class Covariance(_OfGroups):
    r"""The covariance of the scores with a group is small; convex, two rows.

    .. math:: \Big|\frac1n\sum_i(b_i - \bar b)z_i^\top w\Big| \le \text{at\_most}

    **It does not bound parity.** It is the difference of the groups' mean *scores* times
    :math:`\bar b(1 - \bar b)`; the mean *probabilities* may differ by anything. With one feature,
    -1 and 1 in the group and 0 and 0 outside of it, every weight has a covariance of 0, and with
    the intercept b the parity is :math:`\frac12(\sigma(b + w) + \sigma(b - w)) - \sigma(b)`, which
    for b = -4 and w = 8 is 0.473. For parity take :class:`Parity`.

    Args:
        features: one row per example, without a column for the intercept.
        group: which rows are of the group.
        at_most: the limit, above 0.

    Example:
        >>> rows, group = [[-1.0], [1.0], [0.0], [0.0]], [True, True, False, False]
        >>> Covariance(rows, group, at_most=0.02).read([8.0, -4.0])[0].tolist()
        [-0.02, -0.02]
        >>> print(Parity(rows, group, at_most=0.02).read([8.0, -4.0])[0].max().round(3))
        0.453
    """

    @property
    def slope(self) -> Array:
        """The covariance of the group with each feature, and 0 for the intercept."""
        member = self._in_group.astype(np.float64)
        slope = ((member - member.mean()) @ self._rows) / len(member)
        slope[-1] = 0.0
        return slope

    @property
    def beta(self) -> float:
        """0: it is linear."""
        return 0.0

    def read(self, w: ArrayLike) -> tuple[Array, Array]:
        """Return both sides of the limit, with a slope each."""
        slope = self.slope
        return self._two_sided(float(slope @ self._weights(w)), slope)

    def evaluation_error(self, reach: float) -> float:
        """Return a bound on the rounding of a reading at weights of at most this norm."""
        Z, n = self.longest, len(self._rows)
        slope = gamma(n + 5) * Z
        value = slope * reach + gamma(self.size) * Z * reach + 2 * UNIT * self.at_most
        return 2 * (value + reach * slope)


def _largest_eigenvalue(*groups: Array) -> float:
    r"""Return a number that :math:`\lambda_{\max}` of the sum of all groups' S does not exceed.

    Args:
        groups: rows; S is their mean of products.

    Example:
        >>> _largest_eigenvalue(np.array([[3.0, 1.0], [1.0, 1.0]])) - (3 + 8**0.5) < 1e-11
        True
    """
    S = sum((rows.T @ rows) / len(rows) for rows in groups)
    assert isinstance(S, np.ndarray)
    d, trace = len(S), float(np.trace(S))
    error = gamma(max(len(rows) for rows in groups) + 2) * trace
    top, excess = float(np.linalg.eigvalsh(S)[-1]), 2.0**-40
    while True:
        bound = top * (1 + excess)
        shifted = bound * np.eye(d) - S
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            excess *= 2
            continue
        below = 2 * gamma(d + 1) * float(np.trace(shifted)) + 2 * UNIT * bound
        return (bound + below + error) * _ABOVE

"""Conditional value at risk of a linear loss over scenarios."""

import numpy as np

from surefoot.core.arrays import convert_like, dot, namespace
from surefoot.core.parameters import Declared, matrix, number, share
from surefoot.core.types import Array, Number
from surefoot.problems.constraints.base import Constraint, bound_above, gamma, point, some_entry
from surefoot.sets import Ball

__all__ = ["CVaR"]


class CVaR(Constraint, Declared, kw_only=False):
    r"""The mean loss in the worst cases, :math:`g(x) = \mathrm{CVaR}_\beta(Lx) - \lambda`.

    Of S equally likely scenarios with losses :math:`\ell_j^\top x`, the mean over the worst
    :math:`k = (1 - \beta)S` of them; the scenario on the edge of the tail counts with the
    remaining fraction. With the losses in falling order,

    .. math:: \mathrm{CVaR}_\beta = \frac1k \sum_j \min(1, [k - j + 1]_+)\, \ell_{(j)}^\top x,

    and the same weights on the rows give the subgradient. Scenarios that tie count in the order
    of their rows; there rows of the tail may cancel, so that sigma is the local one. The tail has
    too many combinations of scenarios for a region with a list of faces.

    Args:
        losses: L, ``(S, d)``: row j holds scenario j's loss for one unit of each entry of x.
        level: :math:`\beta`, strictly between 0 and 1; 0.95 is the mean of the worst 5 %.
        limit: :math:`\lambda`, the accepted loss.

    Example:
        >>> losses = [[1.0, 0.0], [-1.0, 4.0], [2.0, 2.0], [0.0, -6.0]]
        >>> g = CVaR(losses, level=0.625, limit=3.0)  # the worst 1.5 scenarios of 4
        >>> g.query(np.array([3.0, 0.0]))  # losses 3, -3, 6, 0: (6 + 3/2)/1.5 - 3
        (2.0, array([1.66666667, 1.33333333]))
    """

    losses: Array = matrix()
    level: Number = share()
    limit: Number = number()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.losses, np.ndarray):
            some_entry(losses=self.losses)

    def query(self, x: Array) -> tuple[Number, Array]:
        """Return the mean of the tail minus the limit, and the mean of the tail's rows."""
        x = point(x, self.losses.shape[-1])
        L = convert_like(self.losses, x)
        weights = self._weights(x)
        xp = namespace(x)
        loss = L @ x if x.ndim == 1 else x @ L.T
        # The place of each scenario in falling order; its weight goes with the place.
        place = xp.argsort(xp.argsort(-loss, axis=-1, stable=True), axis=-1, stable=True)
        w = xp.reshape(xp.take(weights, xp.reshape(place, (-1,)), axis=0), place.shape)
        return dot(loss, w) - self.limit, w @ L

    def _weights(self, x: Array) -> Array:
        """Return the weights of the losses in descending order; they sum to 1."""
        scenarios = self.losses.shape[0]
        tail = (1.0 - self.level) * scenarios
        places = convert_like(np.arange(scenarios, dtype=np.float64), x)
        return namespace(x).clip(tail - places, 0.0, 1.0) / tail

    @property
    def dimension(self) -> int:
        """The length of an action."""
        return int(self.losses.shape[1])

    @property
    def interior(self) -> Array | None:
        """0, which loses nothing, if the limit is positive."""
        return np.zeros(self.dimension) if self.limit > 0 else None

    def subgradient_bound(self, domain: Ball) -> float:
        r"""Return the smaller of the tail mean of the rows' norms and :math:`\|L\|_2/\sqrt k`.

        A subgradient is :math:`L^\top w` with weights :math:`0 \le w_j \le 1/k` of sum 1. So
        its norm is at most :math:`\sum_j w_j\|\ell_j\|`, at most the CVaR of the norms; and at
        most :math:`\|L\|_2\|w\|`, where :math:`\|w\|^2 \le \max_j w_j = 1/k` (at most 1).
        """
        L = self.losses
        norms = -np.sort(-np.linalg.norm(L, axis=1))
        by_rows = float(self._weights(norms) @ norms)
        tail = max((1.0 - float(self.level)) * len(L), 1.0)
        gram = L @ L.T if len(L) < L.shape[1] else L.T @ L
        by_spectrum = float(np.sqrt(np.linalg.eigvalsh(gram)[-1] / tail))
        return bound_above(min(by_rows, by_spectrum), 16 * sum(L.shape))

    def evaluation_error(self, domain: Ball) -> float:
        r"""Return :math:`\gamma_{d+k+24}(\ell(M + 2R) + |\lambda|)`, :math:`\ell` the longest row.

        Each loss errs by :math:`\gamma_d\ell M`, and the tail mean by no more, whichever scenarios
        it takes for the worst; the weights err by :math:`8u` together, the mean over the tail
        by :math:`\gamma_{k+2}`; the subgradient by as much, over a distance of 2R.
        """
        longest = float(np.linalg.norm(self.losses, axis=1).max())
        tail = min(int((1.0 - float(self.level)) * len(self.losses)) + 2, len(self.losses))
        terms = longest * (float(domain.reach_from_origin) + domain.diameter)
        return gamma(self.dimension + tail + 24) * (terms + abs(float(self.limit)))

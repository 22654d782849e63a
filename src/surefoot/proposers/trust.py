r"""How far each of several leaders is trusted: weights that follow what each would have cost.

Adapt-ML-Prod (Gaillard, Stoltz and van Erven, COLT 2014), here without a bound on the losses that
is known beforehand. With :math:`r_i = \sum_jw_jl_j - l_i`, what leader i would have saved, R the
largest :math:`|r_i|` so far and :math:`p_i` the first weights:

.. math::
    \epsilon_i \leftarrow \min\Big(\epsilon_i, \frac1{2R},
        \sqrt{\frac{1 + \ln(1/p_i)}{R^2 + \sum r_i^2}}\Big), \qquad
    W_i \leftarrow \big(W_i(1 + \epsilon_ir_i)\big)^{\epsilon_i'/\epsilon_i}, \qquad
    w_i \propto p_i\epsilon_i'W_i

with :math:`\epsilon'` the rate after the round, and :math:`W_i = 1` at first.

After t rounds none is trusted less than :math:`p_i/(t + 1)`. One that would be begins anew there,
:math:`\sum r_i^2 = 0` and :math:`\epsilon_i = 1/(2R)`: what it has lost is not held against it once
the costs change. While nothing changes that moves little of the trust, the (t + 1)-th part.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from surefoot.core.forms import Span
from surefoot.core.kernel_constants import EQUAL, LEAST_SAVING, MOST_SAVING
from surefoot.core.types import Array


class Trust(NamedTuple):
    """Weights, and what they follow from; an entry for each leader.

    Attributes:
        weights: w_i, with sum 1.
        logs: ln W_i.
        squares: the sum of r_i^2.
        rates: epsilon_i.
        largest: R.
    """

    weights: Annotated[Array, Span(0)]
    logs: Array
    squares: Annotated[Array, Span(0)]
    rates: Annotated[Array, Span(0)]
    largest: float

    @classmethod
    def first(cls, initial_weights: Array) -> Trust:
        """Return the trust before the first round."""
        none = np.zeros_like(initial_weights)
        return cls(initial_weights, none, none, np.full_like(initial_weights, math.inf), 0.0)


def reweigh(trust: Trust, losses: Array, initial_weights: Array, t: float) -> Trust:
    """Return the trust after a round.

    Args:
        trust: that before it.
        losses: what each leader would have cost.
        initial_weights: the first weights.
        t: how many rounds there were, this one included.

    Example:
        >>> half = np.array([0.5, 0.5])
        >>> after = reweigh(Trust.first(half), np.array([0.0, 1.0]), half, 1)
        >>> after.weights.round(6)  # r = 1/2, -1/2; rate 1: W = 3/4, 1/4
        array([0.75, 0.25])
    """
    saved = float(trust.weights @ losses) - losses
    saved = np.where(np.abs(saved) > EQUAL * np.abs(losses).max(), saved, 0.0)
    largest = max(trust.largest, float(np.abs(saved).max()))
    if not LEAST_SAVING < largest < MOST_SAVING:  # its square would not be a double
        return trust
    before = np.minimum(trust.rates, 0.5 / largest)
    logs = trust.logs * np.where(trust.rates < math.inf, before / trust.rates, 1.0)
    logs = logs + np.log1p(before * saved)
    squares = trust.squares + saved * saved
    rates = np.minimum(
        before, np.sqrt((1.0 - np.log(initial_weights)) / (largest * largest + squares))
    )
    logs = logs * (rates / before)
    weights = initial_weights * rates * np.exp(logs - logs.max())
    total = float(weights.sum())
    weights, least = weights / total, initial_weights / (t + 1.0)
    anew = weights < (1.0 - EQUAL) * least
    if anew.any():
        rate = 0.5 / largest
        squares, rates = np.where(anew, 0.0, squares), np.where(anew, rate, rates)
        logs = np.where(anew, logs.max() + math.log(total / (rate * (t + 1.0))), logs)
        weights = np.where(anew, least, weights)
        weights = weights / weights.sum()
    return Trust(weights, logs, squares, rates, largest)

r"""A portfolio whose risk is limited every day: real returns, and conditional value at risk.

Weights x of 20 shares sum to at most 1, the rest is cash. The cost of a day is minus the growth of
wealth, :math:`f_t(x) = -\log(1 + r_t^\top x)`. The mean loss on the worst 5 % of the days of a
reference period may not exceed a limit; the risk department tells its value and one slope for the
portfolio that is held, and not the scenarios.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine, CVaR, max_of
from surefoot.problems.costs import LogPortfolio
from surefoot.problems.problem import Problem
from surefoot.problems.ready import Draws
from surefoot.sets import Ball

__all__ = ["risk_portfolio", "share_returns"]

REFERENCE = 504
"""Days of the reference period: the first two years."""


@cache
def share_returns() -> Array:
    """Return the daily returns of 20 shares from 1990 to 2022, and of cash as the last column.

    They are skfolio's: adjusted prices, for examples only.
    """
    from skfolio import datasets

    prices = datasets.load_sp500_dataset().to_numpy(dtype=np.float64)
    returns = prices[1:] / prices[:-1] - 1.0
    with_cash = np.column_stack([returns, np.zeros(len(returns))])
    with_cash.setflags(write=False)
    return with_cash


def risk_portfolio(
    limit: float = 0.015, *, horizon: int, trials: int | None = None, streams: int | None = None
) -> Problem:
    r"""Return the portfolio as a problem; what is not invested is cash.

    The constraint is the largest of CVaR at 95 % minus the limit, of minus each weight, and of the
    excess of their sum over 1, each scaled to slopes of at most 1.

    Args:
        limit: of the mean loss on the worst days, as a share of wealth.
        horizon: days after the reference period; the first comes again after the last.
        trials: runs, which begin on different days.
        streams: seed of these beginnings; without it the first run begins with the first day.

    Example:
        >>> p = risk_portfolio(horizon=100)  # doctest: +SKIP
        >>> p.costs.dimension, p.constraint.rows  # doctest: +SKIP
        (20, 22)
    """
    checks.positive(limit=limit)
    returns = share_returns()[:, :-1]
    days = returns[REFERENCE:]

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        begin = source.integers(len(days), size=lead[1:])
        begin = begin if streams is not None else begin - np.ravel(begin)[0]
        rounds = np.arange(horizon).reshape(-1, *[1] * (len(lead) - 1))
        return days[(begin + rounds) % len(days)]

    d = returns.shape[1]
    risk = _scaled_risk(returns[:REFERENCE], limit)
    faces = Affine(np.vstack([-np.eye(d), np.full(d, d**-0.5)]), np.append(np.zeros(d), d**-0.5))
    start = np.full(d, 0.3 / d)
    if not risk.value(start) < 0:
        raise InvalidValueError(f"limit must leave the start some slack, got {limit!r}")
    worst = -float(days.min())
    return Problem.of(
        LogPortfolio(Draws(horizon, trials, streams).draw(draw)),
        max_of(risk, faces),
        Ball(1.0 + 1e-9),
        start,
        # On the simplex growth is at least 1 - the worst loss of a share.
        G_f=float(np.linalg.norm(days, axis=1).max()) / (1.0 - worst),
        name="risk-limited portfolio",
    )


def _scaled_risk(returns: Array, limit: float) -> CVaR:
    steepest = CVaR(-returns, 0.95, limit).subgradient_bound(Ball(1.0))
    return CVaR(-returns / steepest, 0.95, limit / steepest)

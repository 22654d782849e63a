"""The portfolio: risk is the mean of the worst days, and stays within its limit every day."""

import numpy as np
import pytest

from cases.portfolio import risk_portfolio, share_returns
from cases.portfolio.__main__ import play_all
from surefoot.games import play
from surefoot.rules import LeaderFollower

pytestmark = pytest.mark.cases


def test_risk_is_the_mean_loss_on_the_worst_days_and_slopes_are_at_most_one():
    p = risk_portfolio(0.02, horizon=10)
    x = np.full(20, 0.04)
    losses = np.sort(-(share_returns()[:504, :20] @ x))[::-1]
    tail = (losses[:25].sum() + 0.2 * losses[25]) / 25.2
    g = p.constraint.parts[0].value(x)
    assert g / p.constraint.parts[0].limit == pytest.approx((tail - 0.02) / 0.02)
    assert p.constants.G_g <= 1.0 + 1e-9


def test_a_limit_that_the_start_exceeds_is_refused():
    with pytest.raises(ValueError, match="must leave the start some slack"):
        risk_portfolio(0.001, horizon=10)


def test_wealth_grows_and_the_limit_holds():
    p = risk_portfolio(horizon=1_000)
    trace = play(LeaderFollower.default(p.constants), p)
    assert trace.violations.largest.max() <= 0
    held = -np.log1p(share_returns()[504:1504, :20] @ p.start).sum()
    assert trace.total_cost < held


def test_all_portfolios_of_certified_rules_stay_inside():
    runs = play_all(True)
    assert [run.outside for run in runs if run.certified] == [0, 0]
    assert {run.rule: run.outside for run in runs}["skfolio's MeanRisk, fitted once"] == 0

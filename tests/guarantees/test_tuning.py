"""The parameters that minimise Theorem 1's own bound, and the search behind them."""

import math

import pytest
from tests.rules.test_tightening import Promise

from surefoot import Constants
from surefoot.rules import Corollary2, TheoremD, Tightened, tightened_constants, tune_polyak
from surefoot.rules.pfs import _step_size, minimise_bracketed

SIGMA = {"sigma": 0.05, "epsilon": 0.5}
START = {"start_reach": 1.25}
KNOWN = {"R": 1.0, "G_f": 3.0, "G_g": 2.0, "start_slack": 0.5}


def test_the_better_of_the_two_sources_of_sigma_is_taken():
    both, flat, start = (
        tune_polyak(Constants(**KNOWN, **more), 1_000) for more in (SIGMA | START, SIGMA, START)
    )
    assert float(start.regret_bound(1_000)) < float(flat.regret_bound(1_000))
    assert float(both.regret_bound(1_000)) == float(start.regret_bound(1_000))


def test_tightening_towards_the_start_costs_its_reach_over_its_slack():
    assert tune_polyak(Constants(**KNOWN, **START), 1_000).tightening_cost == 1.25 / 0.5


def test_a_step_is_never_longer_than_is_useful():
    assert _step_size(1.0, 3.0, 2.0, 1.0, 1e3, 100) == 2 / (3 * 10)


def test_a_valley_within_the_last_cell_of_a_logarithmic_grid_is_found():
    def valleys(x):
        return min(abs(x - 0.3), 1_000 * abs(x - 0.99) - 1)

    assert minimise_bracketed(valleys, 1e-9, 1.0) == pytest.approx(0.99, rel=1e-8)


def test_corollary_2_promises_the_sum_at_the_horizon_alone():
    c = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=1.0, epsilon=0.5)
    found = Corollary2(c, 400)
    assert found.is_cumulative
    assert found.bounds(400)["positive_sum"] == 0
    assert "positive_sum" not in found.bounds(399)
    assert "positive_sum" not in found.bounds([399, 400])


def test_the_bound_of_certified_steps_with_a_fixed_limit_by_hand():
    c = Constants(R=1.0, G_f=3.0, G_g=2.0, start_slack=0.5, start_reach=1.25)
    xi = 1 - math.sqrt(1 - (0.25 / 1.25 / 2) ** 2)
    first = 2 * max(1 / 0.01, 2 * 3 / xi / 0.1)
    by_hand = first + 0.01 / 2 * 9 * 100 + 1.25 * 0.1 / 0.5 * 3 * 100
    found = TheoremD(c, rho=0.1, decreasing=False, eta=0.01).regret_bound(100)
    assert float(found) == pytest.approx(by_hand, rel=1e-12)


def test_a_tightening_is_rounded_up():
    c = Constants(R=1.0, G_f=3.0, D_g=1.0, start_slack=1.0, start_reach=2.5)
    base = Promise(tightened_constants(c, 0.5), 100, (("positive_sum", 1.5),))
    assert Tightened(c, 100, base).rho > 15 / 100


def test_sigma_says_nothing_of_a_tightening_beyond_its_epsilon():
    c = Constants(
        R=1.0, G_f=3.0, D_g=1.0, sigma=1.25, epsilon=0.1, start_slack=1.0, start_reach=2.5
    )
    base = Promise(tightened_constants(c, 0.5), 100, (("positive_sum", 1.5),))
    bound = Tightened(c, 100, base)
    assert bound.rho > 0.1
    assert bound.tightening_cost == 2.5

"""The grid: certified set points keep every limit, and bad input is one sentence."""

import numpy as np
import pytest

pytestmark = [pytest.mark.cases, pytest.mark.filterwarnings("ignore")]

from cases.grid import rules  # noqa: E402
from cases.grid.network import Day, draw_day, make_network  # noqa: E402
from surefoot.adapters.pandapower import Limits  # noqa: E402
from surefoot.guarantees import PremiseError  # noqa: E402


@pytest.fixture(scope="module")
def constants():
    return rules.estimate_constants()


def test_no_certified_round_is_outside_and_the_limit_binds(constants):
    day = draw_day(0, 8, make_network())
    record = rules.certified(day, *constants)
    assert max(record.g) <= 0 < max(rules.uncontrolled(day).g)
    assert record.unused[-1] < 0.5 * record.unused[0]


def test_over_voltages_are_concave_in_the_set_points(constants):
    beta, drift = constants
    voltages = len(Limits(make_network()).over)
    assert beta[:voltages].max() < 1e-3 < beta[voltages:].max()
    assert 0.01 < drift < 0.1


def test_loads_that_jump_by_more_than_was_said_stop_the_run(constants):
    day = draw_day(0, 8, make_network())
    jump = Day(day.loads - 0.3 * (np.arange(8) > 4)[:, None], day.plants)
    with pytest.raises(PremiseError):
        rules.certified(jump, *constants)


def test_a_round_without_a_power_flow_is_missing_and_the_rest_holds(constants):
    day = draw_day(0, 8, make_network())
    day.loads[5] = 40.0  # more than the lines can carry to them
    record = rules.certified(day, *constants)
    assert np.flatnonzero(np.isnan(record.g)).tolist() == [5]
    assert np.nanmax(record.g) <= 0


def test_days_are_the_same_for_the_same_seed_and_reach_no_rating():
    net = make_network()
    day, again = draw_day(3, 12, net), draw_day(3, 12, net)
    assert (day.loads == again.loads).all()
    assert 0 <= day.plants.min() <= day.plants.max() <= 1

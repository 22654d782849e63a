"""Water: certified speeds hold, the limit binds, and nothing is invented where EPANET fails."""

import numpy as np
import pytest
from wntr.epanet.exceptions import EpanetException

from cases.water.plant import NET3, NoSteadyState, Plant, make_day
from cases.water.play import Known, certify, control, estimate, follow

pytestmark = pytest.mark.cases
KNOWN = Known(beta=np.full(59, 0.3), drift=np.full(59, 0.114), value=0.07 / 30, bent=(0, 0, 0))


@pytest.fixture(scope="module")
def net3():
    return Plant(NET3)


def test_certified_speeds_are_never_outside_where_pi_is(net3):
    day = make_day(net3.usual, 1)
    _, rule = certify(net3, day, KNOWN)
    g, power = follow(net3, day, rule, 60)
    theirs, _ = follow(net3, day, control(net3, 0.0), 60)
    assert g.max() <= 0
    assert (theirs > 0).sum() > 10
    assert power[-1] < 0.6 * power[0]


def test_past_days_say_that_g_is_concave_in_the_common_speed(net3):
    known = estimate(net3, 20)
    assert known.bent[0] == 0
    assert 0 < known.drift.max() < 0.12
    assert known.beta.max() < 0.3


def test_a_slope_is_what_two_far_runs_say(net3):
    x, step, demand = np.array([0.7, 0.8]), np.array([0.01, 0.0]), net3.usual[40]
    slopes = net3.differentiate(x, demand)
    up, down = net3.run(x + step, demand), net3.run(x - step, demand)
    assert slopes.pressure[:, 0] == pytest.approx((up.pressure - down.pressure) / 0.02, rel=0.01)
    assert slopes.power[:, 0] == pytest.approx((up.power - down.power) / 0.02, rel=0.01)


def test_rounds_without_a_steady_state_are_missing_and_the_rest_holds(net3, monkeypatch):
    day = list(make_day(net3.usual, 1))  # so that a round's demand is one object
    controller, rule = certify(net3, day, KNOWN)
    run, rounds = net3.run, []

    def fail_sometimes(action, demand):
        if demand is day[20] or demand is day[21]:
            raise NoSteadyState
        return run(action, demand)

    def watch(t, x, read):
        after = rule(t, x, read)
        rounds.append((read is None, controller.round))
        return after

    monkeypatch.setattr(net3, "run", fail_sometimes)
    g, power = follow(net3, day, watch, 40)
    assert np.flatnonzero(np.isnan(g)).tolist() == [20, 21]
    assert np.isnan(power[20:22]).all()
    assert np.nanmax(g) <= 0
    assert [missing for missing, _ in rounds].count(True) == 2
    assert rounds[-1][1] == 41  # a missing round is a round


def test_an_error_of_epanet_is_no_steady_state(net3, monkeypatch):
    def fail():
        raise EpanetException(110)

    monkeypatch.setattr(net3._epanet, "ENrunH", fail)
    with pytest.raises(NoSteadyState):
        net3.differentiate(NET3.start, net3.usual[0])


def test_an_unbalanced_answer_is_no_steady_state(net3, monkeypatch):
    def warn():
        net3._epanet.errcode = 1

    monkeypatch.setattr(net3._epanet, "ENrunH", warn)
    with pytest.raises(NoSteadyState, match="code 1"):
        net3.run(NET3.start, net3.usual[0])

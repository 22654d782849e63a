"""Admission: the queue is what its formulas say, and no window is over under any errors."""

import numpy as np
import pytest

from cases import admission
from cases.admission import CAPS, WORK
from cases.admission.__main__ import play_all

SERVER = admission.AdmissionServer(seconds=150)


def reading(rule, shift, server=SERVER):
    """The rule, told the true value with a fixed error and the true slope with one towards 0."""

    def shifted(window):
        t = max(window.number - 1, 0)
        slope = server.slope(t, window.action)
        slope *= 1 - np.sign(-shift) * SERVER.slope_error / np.linalg.norm(slope)
        value = server.value(t, window.action) + shift
        return rule(window._replace(value=value, slope=slope))

    return shifted


def test_the_percentile_is_that_of_the_queue_and_at_its_limit_where_the_room_is_k():
    first = np.eye(6)[0]
    x = np.array([0.3, 0.0, 0.25, 0.0, 0.0, 0.0])  # 0.6 of work: u = 0.4 = 2 k
    assert SERVER.value(0, x) == pytest.approx(-0.5)
    assert SERVER.value(0, x + 0.2 * first) == pytest.approx(0.0)
    assert SERVER.value(0, x + 0.3 * first) == pytest.approx(1.0)  # where the tangent is
    assert SERVER.value(0, x + 0.4 * first) == pytest.approx(3.0)  # 4/k times 0.1 more
    assert SERVER.value(900, x) == pytest.approx(0.2 / 0.3 - 1)  # the lowest speed is 0.9


def test_slope_curvature_and_drift_are_as_told():
    rng, k = np.random.default_rng(0), SERVER.knee
    for _ in range(200):
        t, x, y = int(rng.integers(3600)), rng.uniform(0, 0.25, 6), rng.uniform(0, 0.25, 6)
        g, s = SERVER.value(t, x), SERVER.slope(t, x)
        gap = SERVER.value(t, y) - g - s @ (y - x)
        assert gap >= -1e-12
        if max(g, SERVER.value(t, y)) <= 0:
            assert gap <= 0.5 * SERVER.beta * (y - x) @ (y - x)
        assert abs(SERVER.value(t + 1, x) - g) <= SERVER.drift
        step = 1e-6 * rng.normal(size=6)
        ahead = SERVER.value(t, x + step) - SERVER.value(t, x - step)
        assert ahead == pytest.approx(2 * s @ step, rel=1e-3, abs=1e-9)
    # At the limit the curvature along w is the bound itself.
    edge = (1 - k) / sum(WORK) * np.ones(6)
    w, h = np.array(WORK) / np.linalg.norm(WORK), 1e-4
    values = [SERVER.value(0, edge + i * h * w) for i in (-1, 0, 1)]
    assert (values[0] - 2 * values[1] + values[2]) / h**2 == pytest.approx(SERVER.beta, rel=1e-3)


def test_demand_is_within_the_caps_and_the_same_for_the_same_seed():
    a = admission.tenant_demand(400, seed=3)
    assert ((a > 0) & (a <= CAPS)).all()
    np.testing.assert_array_equal(a, admission.tenant_demand(400, seed=3))
    np.testing.assert_array_equal(a[:50], admission.tenant_demand(50, seed=3))
    assert (a != admission.tenant_demand(400, seed=4)).any()


@pytest.mark.slow
def test_no_window_of_certified_regions_is_over_and_they_admit_more_than_what_is_safe_without():
    rule = admission.CertifiedAdmission(SERVER)
    done, best = SERVER.run(rule), SERVER.run(admission.by_value_per_work(SERVER))
    assert done.over == best.over == rule.idle == 0
    assert done.weighted <= best.weighted
    assert done.weighted > 0.9 * best.weighted
    assert done.weighted > SERVER.run(admission.fixed_rates(SERVER)).weighted
    assert SERVER.run(admission.admit_everything).over > 30
    assert SERVER.run(admission.additive_increase()).over > 0


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-0.02, 0.02])
def test_no_window_is_over_where_every_reading_errs_to_the_same_side(shift):
    assert SERVER.run(reading(admission.CertifiedAdmission(SERVER), shift)).over == 0


@pytest.mark.slow
def test_an_error_that_was_not_told_puts_windows_over():
    exact = admission.AdmissionServer(seconds=150, value_error=0.0, slope_error=0.0)
    assert exact.run(reading(admission.CertifiedAdmission(exact), -0.05, exact)).over > 0


def test_more_than_the_demand_and_a_server_without_room_are_refused():
    with pytest.raises(ValueError, match="the rates of second 0 must be from 0 to the demand"):
        SERVER.run(lambda window: window.demand + 1e-9)
    with pytest.raises(ValueError, match=r"knee \+ swing must be below 1"):
        admission.AdmissionServer(knee=0.9, swing=0.2)


@pytest.mark.slow
def test_nothing_is_lost_where_demand_falls_at_once():
    rule, x, rng = admission.CertifiedAdmission(SERVER), np.zeros(6), np.random.default_rng(0)
    for t in range(40):  # half of the tenants leave in every second
        demand = rng.uniform(0, 0.45, 6) * (rng.uniform(size=6) < 0.5)
        before = max(t - 1, 0)
        seen = admission.Window(t, demand, x, SERVER.value(before, x), SERVER.slope(before, x))
        x = rule(seen)
        assert SERVER.value(t, x) <= 0
        assert (x <= demand).all()
    assert rule.lowered > 0
    assert rule.idle == 0


@pytest.mark.slow
def test_all_rules_are_played_and_the_certified_one_has_no_window_over():
    runs = play_all(True)
    assert [run.outside for run in runs if run.certified] == [0]
    assert runs[0].outside > 0
    assert runs[-1].outside == 0

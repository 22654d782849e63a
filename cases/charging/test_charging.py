"""Charging: the networks are acnportal's, the counts are exact, and certified currents hold."""

import sys
import types

import numpy as np
import pytest

from cases.charging import MOST, ChargingNetwork, ChargingSite, charging_site, ev_charging
from cases.charging.rules import (
    as_fast_as_possible,
    certified_charging,
    certified_in_contexts,
    equal_share,
    least_laxity_first,
)
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import Affine
from surefoot.testing import check_constraint

A, B, C = (np.exp(1j * np.deg2rad(angle)) for angle in (30.0, -90.0, 150.0))


def tiny(*sessions, minutes=6, ratings=(20.0,)):
    """Two chargers on one line, in phase; sessions are arrival, departure, ampere-minutes, j."""
    arrival, departure, request, charger = (np.array(x) for x in zip(*sessions, strict=True))
    return ChargingSite(
        "tiny",
        ChargingNetwork(np.array([[1.0, 1.0]]) * A, np.array(ratings)),
        {
            "arrival": arrival,
            "departure": departure,
            "request": request * 208.0 / 60.0,
            "charger": charger,
        },
        np.zeros(minutes),
    )


def test_a_line_in_phase_adds_up_and_its_g_is_the_excess_near_the_rating():
    network = tiny((0, 1, 1.0, 0)).network
    assert network.values(np.array([8.0, 12.0])) == pytest.approx([0.0])
    g, s = network.measure(np.array([8.0, 14.0]))
    assert g == pytest.approx([(22.0**2 - 20.0**2) / 40.0])
    assert s == pytest.approx(np.array([[1.1, 1.1]]))
    assert network.curvatures == pytest.approx([2.0 / 20.0])
    assert network.equal_share() == pytest.approx(10.0)


def test_energy_of_a_hand_worked_day():
    # Car 0 asks for 40 ampere-minutes and stays 4; car 1 asks for 100 and stays 2.
    site = tiny((0, 4, 40.0, 0), (1, 3, 100.0, 1))
    done = site.run(equal_share(site))
    # 10 A each, less what the building may take: 4 minutes and 2 minutes.
    assert done.delivered == pytest.approx((1 - 2 * MOST) ** 0.5 * 60.0 * 208 / 60e3)
    assert done.asked == pytest.approx(140.0 * 208 / 60e3)
    assert (done.values <= 0).all()
    free = site.run(as_fast_as_possible).values
    assert (free > 0).sum() == 3  # 32 A; then 8 + 32; then car 1 alone
    assert free.max() == pytest.approx((40.0**2 - 400.0) / 40.0)


def test_currents_beyond_what_was_announced_are_refused():
    site = tiny((0, 4, 40.0, 0))
    with pytest.raises(InvalidValueError, match="within the announced"):
        site.run(lambda minute: minute.upper + 1.0)


def test_the_known_network_is_used_up_but_not_exceeded():
    site = tiny((0, 6, 100.0, 0), (0, 3, 100.0, 1))
    done = site.run(least_laxity_first(site))
    assert (done.values <= 0).all()
    assert done.values[:3] == pytest.approx(0.0, abs=1e-9)
    seen = []
    lax = least_laxity_first(site)
    site.run(lambda minute: seen.append(lax(minute)) or seen[-1])
    assert seen[0] == pytest.approx([0.0, 20.0])  # car 1 leaves first


@pytest.mark.parametrize(("site", "rows"), [("caltech", 8), ("jpl", 24)])
def test_the_slopes_and_curvatures_of_the_sites_are_right(site, rows):
    network = charging_site(site, days=1).network
    assert len(network.ratings) == rows
    draw = np.random.default_rng(1)
    x, y = draw.uniform(0, 32, (2, network.matrix.shape[1]))
    g, s = network.measure(x)
    bound = g + s @ (y - x) + 0.5 * network.curvatures * ((y - x) @ (y - x))
    assert (network.values(y) <= bound).all()
    assert (network.values(y) >= g + s @ (y - x) - 1e-9).all()
    assert network.values(np.full(len(x), 8.0)).max() < 0
    assert network.values(np.full(len(x), 32.0)).max() > 0
    assert (network.values(np.full(len(x), network.leave(0.0).equal_share())) <= 0).all()


def test_the_case_as_a_problem_keeps_its_promises_and_begins_with_the_first_car():
    p = ev_charging(horizon=30)
    assert p.costs.targets[0].any()
    assert p.constants.rows == 62
    points = np.random.default_rng(0).uniform(0, 0.4, (6, 54))
    check_constraint(p.constraint, points, domain=p.domain, batch=False)
    assert isinstance(p.constraint.parts[1], Affine)


def test_a_month_without_sessions_is_refused():
    with pytest.raises(InvalidValueError, match="one with sessions"):
        charging_site("caltech", "2020-09")
    with pytest.raises(InvalidValueError, match="as 2019-10, got 'May'"):
        charging_site("caltech", "May")


@pytest.mark.cases
@pytest.mark.filterwarnings("ignore:Downcasting:FutureWarning")  # of pandas, in acnportal
@pytest.mark.parametrize("name", ["caltech", "jpl"])
def test_the_networks_are_those_of_acnportal(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "pkg_resources", types.ModuleType("pkg_resources"))
    sites = pytest.importorskip("acnportal.acnsim.network.sites")
    theirs = getattr(sites, f"{name}_acn")()
    mine = charging_site(name, days=1).network
    x = np.random.default_rng(3).uniform(0, 32, mine.matrix.shape[1])
    current = np.abs(np.asarray(theirs.constraint_current(x[:, None])[:, 0], dtype=complex))
    np.testing.assert_allclose(abs(mine.matrix @ x), current, rtol=1e-12)
    np.testing.assert_allclose(mine.ratings, np.asarray(theirs.magnitudes, dtype=float))


def test_the_load_lowers_what_is_left_of_the_ratings():
    site = tiny((0, 1, 1.0, 0))
    x = np.array([8.0, 8.0])
    assert site.network.values(x, 0.18) == pytest.approx([0.0])  # 16 A of 0.8 * 20 A
    left = site.network.leave(0.18)
    assert left.ratings == pytest.approx([16.0])
    assert (site.network.values(x * left.equal_share() / 8.0, 0.18) <= 0).all()
    load = charging_site("jpl", days=1).load
    assert 0.0 <= load.min() < 0.01 < 0.13 < load.max() <= MOST


@pytest.mark.cases
@pytest.mark.parametrize("name", ["caltech", "jpl"])
def test_certified_currents_exceed_nothing_and_are_more_than_an_equal_share(name):
    site = charging_site(name, days=1)
    rules = (equal_share, certified_in_contexts, certified_charging, least_laxity_first)
    done = [site.run(rule(site), 600) for rule in rules]
    assert [int((one.values > 0).sum()) for one in done] == [0, 0, 0, 0]
    share, context, certified, known = (one.delivered for one in done)
    assert certified > 1.2 * share
    assert context > 0.9 * share  # one bound on all slopes is slow in 52 dimensions
    assert certified > 0.85 * known

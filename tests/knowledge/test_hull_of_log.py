"""The hull of a log: certified without a constant, and nothing more can be."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import Ball, Controller, Feedback
from surefoot.certified import Certified
from surefoot.knowledge import Errors, HullOfLog, LipschitzHull, Reading
from surefoot.knowledge.mean_ball import find_mean_ball
from surefoot.proposers import Descent
from surefoot.rules import RegionFilter


def region_of(log, x1):
    return log.region(log.init(np.array(x1, dtype=float)), log.errors)


def test_the_way_to_a_logged_violation_is_certified_by_hand_and_nothing_beyond():
    log = HullOfLog(points=[[0.0], [1.0]], values=[-1.0, 1.0])
    region = region_of(log, [0.0])
    np.testing.assert_allclose(region.nearest(np.array([0.9])), [0.5], rtol=1e-14)
    np.testing.assert_allclose(region.nearest(np.array([-0.1])), [0.0], atol=1e-15)
    # max(2x - 1, M(2x - 1), M(-x) - 1) has the same values, and is above 0 on both sides.
    for p, steep in ((0.5 + 1e-6, 1.0), (-1e-6, 2e6)):
        limit = max(2 * p - 1, -steep * p - 1)
        assert limit > 0
        assert not region.contains(np.array([p]))


def test_weights_of_a_certificate_are_a_mean_of_the_log():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(30, 3))
    values = np.linalg.norm(points, axis=1) - 1.8  # some are outside
    log = HullOfLog(points=points, values=values, G_g=1e3)
    region = region_of(log, points[values.argmin()])
    assert 3 < (values > 0).sum() < 27
    i, j = (part.ravel() for part in np.meshgrid(*2 * [np.arange(30)]))
    i, j = (part[(values[i] <= 0) & (values[j] > 0)] for part in (i, j))
    share = values[i] / (values[i] - values[j])
    pairs = points[i] + share[:, None] * (points[j] - points[i])
    corners = np.vstack([points[values <= 0], pairs])
    corners = corners + log.back * (points[values.argmin()] - corners)
    for proposal in rng.normal(scale=3.0, size=(50, 3)):
        x = region.nearest(proposal)
        found = region.certificate(x)
        weights, used = np.array(found.weights), list(found.points)
        assert (weights > 0).all()
        np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-14)
        np.testing.assert_allclose(weights @ points[used], x, atol=1e-12)
        assert weights @ values[used] <= found.bound <= 0
        assert np.linalg.norm(x) <= 1.8
        # Nearest: no vertex of K is on the far side of the plane through x.
        assert ((corners - x) @ (proposal - x)).max() <= 1e-9


@pytest.mark.parametrize("separately", [1e-12, 1e-10, 1e-8])
def test_a_certificate_is_that_of_the_action_where_logged_points_are_nearly_the_same(separately):
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, size=(25, 3))
    points = np.vstack([points, points + separately * rng.normal(size=points.shape)])
    values = 0.8 * (points**2).sum(axis=1) - 0.6
    log = HullOfLog(points=points, values=values, G_g=1e3)
    for proposal in 2 * rng.normal(size=(60, 3)):
        region = region_of(log, points[values.argmin()])
        x = region.nearest(proposal)
        why = region.certificate(x)
        weights = np.array(why.weights)
        assert np.linalg.norm(x - weights @ points[list(why.points)]) <= log.rounding
        assert weights @ values[list(why.points)] <= 0
        assert region.contains(x)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (2, 5), (40, 2), (200, 6)])
def test_the_nearest_mean_is_a_mean_and_the_nearest(n, d):
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, d))
    points[n // 2 :] = points[n // 2 :].round()  # ties, and points that are there twice
    for w in rng.normal(scale=2.0, size=(20, d)):
        weights = find_mean_ball(w, points, np.zeros(n), np.ones(n))
        x = weights @ points
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-14)
        assert ((points - x) @ (w - x)).max() <= 1e-9 * (1 + w @ w)


def test_the_margin_and_what_is_certified_with_it_by_hand():
    # Evaluations err by 0.01: means are kept below -0.02, by 0.02/2 of the way to the deepest.
    exact = Errors(evaluation=0.01)
    log = HullOfLog(points=[[1.0], [5.0]], values=[-2.0, 2.0], G_g=1.0, errors=exact)
    region = region_of(log, [1.0])
    x = region.nearest(np.array([9.0]))
    assert x == pytest.approx(1 + 2 * 0.99)
    found = region.certificate(x)
    assert found.weights == pytest.approx((0.505, 0.495))
    assert found.bound == pytest.approx(0.0, abs=1e-12)
    found = region.certificate(np.array([2.0]))  # a quarter of the way
    assert (found.points, found.weights) == ((0, 1), pytest.approx((0.75, 0.25)))
    assert found.bound == pytest.approx(-1.0 + 0.02)
    assert region.certificate(np.array([1.0])).points == (0,)
    # Values that err by 1/2 count as -1.5 and 2.5.
    log = HullOfLog(points=[[1.0], [5.0]], values=[-2.0, 2.0], errors=Errors(value=0.5))
    assert region_of(log, [1.0]).nearest(np.array([9.0])) == pytest.approx(1 + 4 * 1.5 / 4)
    with pytest.raises(ValueError, match=r"below 0 by more than its error, got -0\.01"):
        HullOfLog(points=[[1.0], [5.0]], values=[-0.01, 2.0], G_g=1.0, errors=exact)


def test_rounding_is_allowed_for_by_the_module_s_formula():
    # e = 16(n + 8)uM and m = 2 delta + G_g e; the largest norm is 5, and not that of a column.
    points = [[3.0, 4.0], [3.0, -3.0], [0.0, 0.0]]
    log = HullOfLog(points=points, values=[-1.0, -0.5, 0.5], G_g=1e10)
    e = 16 * 10 * 2.0**-53 * 5.0
    assert (log.reach, log.rounding) == (5.0, pytest.approx(e, rel=1e-12))
    assert log.noise(2) == pytest.approx(1e10 * e, rel=1e-12)
    region = region_of(log, points[0])
    for proposal in np.random.default_rng(3).normal(scale=9.0, size=(20, 2)):
        found = region.certificate(region.nearest(proposal))
        weights = [Fraction(w) for w in found.weights]
        values = [Fraction([-1.0, -0.5, 0.5][i]) for i in found.points]
        mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
        assert mean <= -3 * Fraction(10**10) * Fraction(e)
    free = HullOfLog(points=points, values=[-1.0, -0.5, 0.5], errors=Errors(evaluation=0.25))
    assert (free.noise(2), free.margin) == (0.25, 0.5)
    assert free.rise(np.ones(2), 0.5) == np.inf
    assert log.rise(np.ones(2), 0.5) == 5e9


def test_what_is_remembered_and_what_contradicts_by_hand():
    # Half of the way from -1 to 1 is at most 0; outside of the hull nothing is said.
    log = HullOfLog(points=[[0.0], [4.0]], values=[-1.0, 1.0], G_g=1.0, errors=Errors(value=0.125))
    memory = log.init(np.zeros(1))
    seen = Reading(np.array([1.0]), -0.75, None, log.errors)
    assert log.observe(memory, seen) == (1.0, np.array([1.0]), -0.625)
    region = log.region(log.observe(memory, seen), log.errors)
    assert (region.round, region.upper) == (1.0, -0.625)

    def contradicts(x, g):
        return bool(log.contradictions(memory, Reading(np.array([x]), g, None, log.errors)))

    # -0.875 and 1.125 at most: -0.375 at 1, and readings may be 0.125 above that.
    assert [contradicts(1.0, -0.25 + more) for more in (-1e-10, 1e-10)] == [False, True]
    assert not contradicts(3.0, 9.0)
    with pytest.raises(ValueError, match="constraint_value must be finite"):
        log.observe(memory, seen._replace(g=np.nan))
    (said,) = log.contradictions(memory._replace(rounds=4.0), seen._replace(g=0.5))
    assert said.startswith("round 5: ")


def test_half_of_the_rounding_beyond_the_hull_is_certified_and_no_more():
    far = 2.0**20
    log = HullOfLog(points=[[0.0], [far]], values=[-1.0, -1.0])
    region, e = region_of(log, [0.0]), 16 * 9 * 2.0**-53 * far
    for beyond, is_in in ((0.25, True), (0.75, False)):
        w = np.array([far + beyond * e])
        assert region.contains(w) is is_in
        assert region.nearest(w)[0] == (w[0] if is_in else far)
    with pytest.raises(ValueError, match="the wanted action"):
        region.nearest(np.array([np.nan]))
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        HullOfLog(points=log.points, values=log.values, domain=Ball(1.0)).init(np.array([2.0]))


@pytest.mark.parametrize(
    ("slack", "w", "weights"),
    [
        ((-1.0, 0.5), 0.0, (1 / 3, 2 / 3)),  # the mean slack is 0
        ((-1.0, 0.5), 0.8, (0.2, 0.8)),
        ((-1.0, 0.5), 1.2, (0.0, 1.0)),
        ((-1.0, 0.0), 0.0, (0.0, 1.0)),  # no slack, and no way to the other
        ((-1.0, 0.0), 1.2, (0.0, 1.0)),
        ((0.0, 0.0), 0.25, (0.75, 0.25)),
    ],
)
def test_a_mean_of_two_points_by_hand(slack, w, weights):
    points = np.array([[0.0], [1.0]])
    found = find_mean_ball(np.array([w]), points, np.zeros(2), np.array(slack))
    assert found == pytest.approx(weights, abs=1e-12)


def test_the_slack_of_a_mean_is_at_least_0_in_rationals():
    rng, at_zero = np.random.default_rng(19), 0
    for _ in range(100):
        n, d = int(rng.integers(4, 12)), int(rng.integers(6, 25))
        points, slack = rng.normal(size=(n, d)), rng.uniform(-1.0, 0.1, size=n)
        slack[0] = 0.1
        found = find_mean_ball(9.0 * rng.normal(size=d), points, np.zeros(n), slack)
        exact = sum(Fraction(w) * Fraction(s) for w, s in zip(found, slack, strict=True))
        assert exact >= 0
        at_zero += exact < 1e-12
    assert at_zero > 50


def test_descent_in_the_hull_has_the_regret_of_a_known_set():
    rng = np.random.default_rng(7)
    angles = rng.uniform(0, 2 * np.pi, size=12)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    log = HullOfLog(points=points, values=np.zeros(12), G_g=None)
    player = Certified(proposer=Descent(radius=1.0), knowledge=log)
    state, costs = player.init(points.mean(axis=0)), rng.normal([0.3, -0.1], 1.0, size=(800, 2))
    paid = 0.0
    for cost in costs:
        paid += cost @ state.x
        state = player.update(state, Feedback(cost, -0.1, None))
    regret = paid - (points @ costs.sum(axis=0)).min()
    assert regret <= 2.0 * np.sqrt(2 * np.sum(costs**2))


def test_readings_above_what_convexity_allows_are_a_contradiction():
    log = HullOfLog(points=[[0.0, 0.0], [1.0, 0.0]], values=[-1.0, -0.5], errors=Errors(value=0.1))
    player = RegionFilter(knowledge=log)
    state, x = player.init(np.array([0.5, 0.0])), np.array([0.5, 0.0])
    for g, is_wrong in ((-0.56, False), (-0.5, True)):  # at most -0.65, and each errs by 0.1
        state, info = player.step(state, Feedback(None, g, None, proposal=x))
        assert bool(info.contradictions) == is_wrong
    assert "a value of the log is wrong" in info.contradictions[0]


def test_a_journal_of_a_hull_of_a_log_is_opened_again(tmp_path):
    log = HullOfLog(points=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], values=[-1.0, -0.1, 0.3])
    path = tmp_path / "plant.jsonl"
    controller = Controller(RegionFilter(knowledge=log), start=[0.1, 0.1], journal=path)
    controller.ask()
    controller.tell(constraint_value=-0.8, proposal=[0.9, 0.9])
    x = controller.ask()
    controller.close()
    again = Controller.open(path)
    np.testing.assert_array_equal(again.ask(), x)
    assert again.algorithm.knowledge == log
    assert "of logged point" in str(again.explain())


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"values": [-1.0]}, "values must be 2, one per point, got 1"),
        ({"values": [0.5, 1.0]}, "the least of values must be below 0 by more"),
        ({"values": [-1.0, np.nan]}, "values must be finite|values must"),
        ({"points": [0.0, 1.0]}, "points.shape must be"),
        ({"G_g": 0.0}, "G_g must be"),
        ({"errors": Errors(drift=0.1)}, "drift must be 0 for HullOfLog, got"),
        ({"errors": Errors(value=3.0)}, "by more than its error"),
        ({"convex": False}, "HullOfLog assumes a convex g"),
    ],
)
def test_bad_input_is_one_sentence(told, sentence):
    with pytest.raises(ValueError, match=sentence):
        HullOfLog(**{"points": [[0.0], [1.0]], "values": [-1.0, -0.5], **told})


@pytest.mark.parametrize(
    ("x1", "sentence"),
    [([2.0], "the start must be in the hull of the log"), ([0.0, 0.0], "x1 must be of 1 entries")],
)
def test_a_start_that_is_not_certified_is_refused(x1, sentence):
    with pytest.raises(ValueError, match=sentence):
        HullOfLog(points=[[0.0], [1.0]], values=[-1.0, -0.5]).init(np.array(x1))


@pytest.mark.slow
@pytest.mark.parametrize("G_g", [1e3, None])
def test_attacked_for_20_000_rounds_in_all_g_is_at_most_0_or_rounding(G_g):
    worst = attack(np.random.default_rng(17), 10_000, G_g)
    assert worst <= 0 if G_g else 0 < worst < 1e-14


def attack(rng, rounds, G_g):
    """Return the largest g at actions of hulls of logs, many on the boundary, wished anywhere."""
    worst, left = -np.inf, rounds
    while left > 0:
        d, turns = int(rng.integers(1, 6)), min(left, 500)
        centre, half = rng.normal(size=d), rng.uniform(0.1, 2.0, size=d)

        def limit(x, centre=centre, half=half):  # a box: g is at most 0 in it, exactly
            return float(np.max(np.abs(x - centre) / half)) - 1.0

        points = centre + half * rng.choice([-1.0, -0.5, 0.3, 1.0, 1.5], size=(25, d))
        values = np.array([limit(p) for p in points])
        points, values = np.append(points, [centre], axis=0), np.append(values, -1.0)
        log = HullOfLog(points=points, values=values, G_g=G_g and G_g / half.min())
        region = region_of(log, centre)
        for proposal in centre + half * rng.normal(size=(turns, d)) * 10.0 ** rng.uniform(-1, 1):
            worst = max(worst, limit(region.nearest(proposal)))
        left -= turns
    return worst


def test_a_rough_bound_on_slopes_certifies_far_less_by_itself():
    points, values = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([-1.0, -0.5])
    hull = LipschitzHull(G_g=1e3, domain=Ball(2.0))
    player, proposal = RegionFilter(knowledge=hull), np.array([0.9, 0.0])
    x = player.update(player.init(points[0]), Feedback(None, -1.0, None, proposal=proposal)).x
    assert x[0] < 0.01
    log = HullOfLog(points=points, values=values, G_g=1e3)
    assert (region_of(log, [0.0, 0.0]).nearest(proposal) == proposal).all()


def test_rounding_contradicts_no_log_that_has_no_bound_on_the_slopes():
    points = np.random.default_rng(2).uniform(0.0, 0.3, size=(20, 2))
    known = HullOfLog(points=points, values=points @ [0.6, 0.9] - 0.5)
    for x in points:  # read again, and summed up in another order
        again = 0.9 * x[1] - 0.5 + 0.6 * x[0]
        assert known.contradictions(known.init(x), Reading(x, again, None, known.errors)) == ()


def test_readings_at_both_ends_of_their_error_contradict_no_log_of_one_point():
    rng = np.random.default_rng(5)
    for true, error in zip(-rng.uniform(0.5, 1, 40), rng.uniform(0.05, 0.3, 40), strict=True):
        errors = Errors(value=error)
        log = HullOfLog(points=[[0.0]], values=[true - error], G_g=1e3, errors=errors)
        reading = Reading(np.zeros(1), true + error, None, errors)
        assert log.contradictions(log.init(np.zeros(1)), reading) == ()

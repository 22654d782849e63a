"""Certified rules whose values and slopes err, or whose constraint drifts."""

import numpy as np
import pytest
from benchmarks.soak_errors import FLAT, KINDS, LIVE, attack

from surefoot import PFS, Ball, Constants, Controller
from surefoot.core.feedback import Feedback
from surefoot.guarantees import TheoremN
from surefoot.knowledge import EmptyRegionError, Errors
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    TheoremC,
    TheoremD,
)
from surefoot.sets import Box

UP = np.array([0.0, 1.0])
KNOWN = Constants(R=0.9, start_reach=0.9, start_slack=0.4, G_g=1.45, beta=1.6, G_f=1.6)
NOISY = KNOWN.with_origin("given", value_error=0.05, slope_error=0.1, drift=1e-4)


def test_one_step_by_hand_with_a_value_error():
    # g+ = -0.5 + 0.1 is below -rho = -0.2: B = -0.2, r = 0.2 + 0.2; the slope 3 is cut back to the
    # half-space -0.5 - 0.1 + p[1] + 0.2 <= 0, which p[1] = 0.4 touches.
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(1.0), rho=0.2, decreasing=False, eta=1.0, value_error=0.1
    )
    state, info = player.step(player.init(np.zeros(2)), Feedback(-3 * UP, -0.5, UP))
    assert state.x == pytest.approx(0.4 * UP, abs=1e-9)
    assert info.certificate.length == pytest.approx(0.4)
    assert info.certificate.bound == pytest.approx(0.0, abs=1e-9)
    assert "for values off by up to 0.1" in str(info.certificate)


def test_one_step_by_hand_that_is_pulled_under_drift():
    # g+ = 0 with alpha = 0.5 - 0.1 in round 2: no room, and 0.1/0.4 of the way leads to -0.1.
    player = CertifiedPFS(G_g=1.0, domain=Ball(2.0), rho=0.05, decreasing=False, drift=0.1)
    state = player.update(player.init(np.zeros(2)), Feedback(-UP, -0.5, UP))
    after, info = player.step(state, Feedback(-UP, 0.0, UP, action=0.4 * UP))
    assert info.certificate.rule == "pulled"
    assert after.x == pytest.approx(0.4 * UP * (1 - 0.1 / 0.4), abs=1e-9)
    assert info.certificate.bound == 0.0


def test_where_drift_leaves_nothing_a_rule_says_so():
    told = {"G_g": 1.0, "domain": Ball(1.0), "drift": 0.1}
    for player in (CertifiedPFS(rho=0.1, **told), LeaderFollower(**told)):
        state = player.init(np.zeros(2))
        with pytest.raises(EmptyRegionError, match="round 1: no next action is certified"):
            player.step(state, Feedback(-UP, -0.05, UP))
    X = np.zeros((2, 2))
    batch = CertifiedPFS(rho=0.1, **told)
    after = batch.update(batch.init(X), Feedback(X - UP, np.array([[-0.05], [-0.5]]), X + UP))
    assert np.isnan(after.x).all(axis=1).tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_true_g_is_never_above_0_at_the_bounds_and_is_at_three_times_them(factor):
    found = []
    for i, kind in enumerate(KINDS):
        runs, played = (60, 60) if kind in FLAT else (30, 24)
        runs, played = (1, 18) if kind in LIVE else (runs, played)
        found.append(attack(50_000 + i, kind, runs, played, factor))
    outside = sum(o.violations for o in found)
    if factor > 1:
        assert outside > 100
    else:
        assert (outside, sum(o.alarms for o in found)) == (0, 0)


def heat_at(x):
    return 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2, np.array([1.6 * x[0], x[1]])


def loop(error, falls, errors=True):
    """README's live loop with a sensor that errs, a known box and a limit that may fall."""
    known = KNOWN.with_origin(
        "given", value_error=0.05 if errors else None, drift=falls if falls else None
    )
    rule = CertifiedOGD.default(known, domain=Box([0.0, 0.0], [0.9, 0.9]))
    controller = Controller(rule, start=[0.0, 0.0])
    rng, income, hottest = np.random.default_rng(3), 0.0, -np.inf
    for t, price in enumerate(rng.uniform([0.2, 0.6], [0.8, 1.3], size=(2_000, 2))):
        x = controller.ask()
        assert (x >= 0).all()
        assert (x <= 0.9).all()
        heat, slope = heat_at(x)
        g = heat - 0.4 + falls * t
        income, hottest = income + price @ x, max(hottest, g)
        reading = g + (error(rng) if errors else 0.0)
        controller.tell(
            cost_gradient=-price, constraint_value=reading, constraint_subgradient=slope
        )
    assert str(controller.explain()).endswith("the data contradict nothing")
    assert hottest <= 0
    return income


@pytest.mark.slow
@pytest.mark.parametrize("falls", [0.0, 1e-4])
def test_the_live_loop_earns_four_fifths_with_a_sensor_that_errs(falls):
    exact = loop(None, falls, errors=False)
    # Read too high in every round it is a set that is smaller by twice the error.
    assert loop(lambda rng: 0.05, falls) >= 0.8 * exact
    assert loop(lambda rng: rng.uniform(-0.05, 0.05), falls) >= 0.99 * exact


def test_tunings_take_the_errors_of_the_constants():
    told = Errors(value=0.05, slope=0.1, drift=1e-4)
    for tuned, theorem in (
        (CertifiedPFS.default, TheoremD),
        (LeaderFollower.default, object),
        (CertifiedOGD.default, TheoremC),
        (CertifiedDualAveraging.default, object),
    ):
        player, promise = tuned(NOISY)
        assert player.errors == told
        assert type(promise) is TheoremN
        assert promise.in_advance is None
        assert float(promise.regret_bound(10)) == 2 * NOISY.R * NOISY.G_f * 10
        assert promise.changing
        assert type(tuned(KNOWN).guarantee) is not TheoremN
        assert isinstance(tuned(KNOWN).guarantee, theorem)
    for filtered in (
        SafetyFilter.default(NOISY),
        RegionFilter.default(NOISY),
    ):
        assert filtered.errors == told


def test_the_premises_of_theorem_n_are_those_of_readings():
    limits = {p.constant: p.limit for p in LeaderFollower.default(NOISY).guarantee.premises}
    assert limits == {"the slack counted on": pytest.approx(0.35), "G_g": pytest.approx(1.55)}
    curved = CertifiedOGD.default(NOISY).guarantee.premises
    assert [p.constant for p in curved] == ["the slack counted on"]


def test_no_regret_is_claimed_that_is_not_proved():
    assert CertifiedPFS.default(NOISY).algorithm.observer() is None
    assert LeaderFollower.default(NOISY).algorithm.observer() is None
    assert CertifiedPFS.default(KNOWN).algorithm.observer() is not None


@pytest.mark.parametrize("kind", [CertifiedPFS, LeaderFollower, CertifiedOGD])
def test_a_journal_keeps_errors_and_certificates(kind, tmp_path):
    path = tmp_path / "run.journal"
    rng = np.random.default_rng(0)
    with Controller(kind.default(NOISY), start=[0.0, 0.0], journal=path) as controller:
        for _ in range(4):
            heat, slope = heat_at(controller.ask())
            controller.tell(
                cost_gradient=-rng.uniform(0, 1, 2),
                constraint_value=heat - 0.4 + 0.05,
                constraint_subgradient=slope,
            )
        last = controller.ask()
        said = str(controller.explain())
    with Controller.open(path) as again:
        assert again.ask().tolist() == last.tolist()
        assert str(again.explain()) == said
        assert again.algorithm.errors.value == 0.05
    assert "values off by up to 0.05" in said


def test_a_round_may_have_an_error_of_its_own():
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    state = player.init(np.zeros(2))
    exact = player.update(state, Feedback(-UP, -0.5, np.array([1.0, 0.0]))).x
    own = Feedback(-UP, -0.5, np.array([1.0, 0.0]), value_error=0.3)
    noisy = player.update(state, own).x
    assert np.linalg.norm(noisy) <= 0.2 + 1e-9 < np.linalg.norm(exact)
    safe = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
    own = Feedback(None, -0.5, UP, value_error=0.3, proposal=9 * UP)
    after = safe.update(safe.init(np.zeros(2)), own)
    assert after.x[1] == pytest.approx(0.2, abs=1e-9)


def test_certified_rules_take_errors_that_pfs_noisy_refuses():
    with pytest.raises(ValueError, match="tightening"):
        PFS.noisy(KNOWN, 10_000, value_error=0.05, subgradient_error=0.1)
    assert CertifiedPFS.default(NOISY).algorithm.errors.value == 0.05


def test_an_error_of_slopes_does_not_keep_the_follower_far_from_the_faces():
    # |x_i| <= 0.5, and the best action is the corner; slopes are turned by up to 0.1.
    rng, paid = np.random.default_rng(3), 0.0
    player = LeaderFollower(G_g=1.0, domain=Ball(0.75), slope_error=0.1)
    state = player.init(np.zeros(2))
    for _ in range(200):
        x = state.x
        at, way = int(abs(x).argmax()), rng.normal(size=2)
        g, s = float(abs(x).max()) - 0.5, np.sign(x[at] or 1.0) * np.eye(2)[at]
        assert g <= 0
        cost = -np.array([1.0, 0.6]) + 0.3 * rng.normal(size=2)
        paid += 0.8 + float(x @ [-1.0, -0.6])
        s = s + 0.1 * way / np.linalg.norm(way)
        state = player.update(state, Feedback(cost, g, s))
    assert paid < 13.0  # 21 where it keeps off the loosened cuts


def drifting(rho, drift, eta):
    """The rule from 0, where g is -2, to a second round whose slack drift has shortened."""
    player = CertifiedPFS(
        G_g=1.0, domain=Ball(4.0), rho=rho, decreasing=False, eta=eta, drift=drift
    )
    return player, player.update(player.init(np.zeros(2)), Feedback(-UP, -2.0, UP))


def test_under_drift_a_step_is_taken_although_the_action_may_not_stay():
    # g_1 = p[1] - 2, and 0.15 more in round 2: it has -0.05 there and may have 0.1 in round 3. From
    # the half-space at the depth rho = 0.2 a step of (0.2 - 0.15)/G_g = 0.05 is certified.
    player, state = drifting(rho=0.2, drift=0.15, eta=3.0)
    assert state.x == pytest.approx([0.0, 1.8], abs=1e-9)
    state, info = player.step(state, Feedback(np.array([-5.0, 0.0]), -0.05, UP))
    assert info.certificate.rule != "pulled"
    assert state.x == pytest.approx([0.05, 1.65], abs=1e-6)


def test_under_drift_an_action_inside_that_may_neither_step_nor_stay_is_pulled():
    # In round 2 its g is -0.12: below -rho = -0.1, and above -v = -0.15. The anchor has -1.85.
    player, state = drifting(rho=0.1, drift=0.15, eta=1.83)
    assert state.x == pytest.approx([0.0, 1.83], abs=1e-12)
    state, info = player.step(state, Feedback(-UP, -0.12, UP))
    assert info.certificate.rule == "pulled"
    # (0.15 - 0.12)/(1.85 - 0.12) of the way back leads to -v.
    assert state.x == pytest.approx([0.0, 1.83 * (1 - 0.03 / 1.73)], abs=1e-9)

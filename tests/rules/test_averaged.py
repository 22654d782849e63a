"""Noisy readings: the windows, their bounds, the start, feasibility, a live loop, bad input."""

import math

import numpy as np
import pytest
from benchmarks.noise import at_most, attack, draw
from hypothesis import given, settings, strategies as st

from surefoot import Ball, Constants, Feedback, play
from surefoot.controller import Controller
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import NoClaim, Tuned
from surefoot.knowledge import (
    Curvature,
    CurvatureRows,
    EmptyRegionError,
    Errors,
    LipschitzHull,
    PointCertificate,
)
from surefoot.problems import binding_toy, paper_toy
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm
from surefoot.rules import (
    OGD,
    Averaged,
    CertifiedOGD,
    Delayed,
    LeaderFollower,
    RegionFilter,
    ValuesAveraging,
    ValuesFollower,
    WithProbability,
)
from surefoot.rules.wrappers.averaged import empty_windows
from surefoot.sets import Box

SEEDS = st.integers(0, 2**32 - 1)
BASE = LeaderFollower(G_g=1.0, domain=Ball(1.0))


def bounds(windows, X, s, when, **known):
    usual = {"sigma": 1e-300, "failure": 0.05, "slope_error": 0.0, "G_g": math.inf, "drift": 0.0}
    return windows.bounds(X, s, float(when), **(usual | known))


def holds_beyond(x):
    """Return g, whose slope is 1 at feasible points and 30 at others, and a subgradient."""
    g = float(x[0]) - 0.5
    return (g, np.array([1.0, 0.0])) if g <= 0 else (30.0 * g, np.array([30.0, 0.0]))


def radius(sigma, failure, t, windows, k):
    return sigma * math.sqrt(2 * math.log(2 * t * (t + 1) * windows / failure) / k)


# --- the windows ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 70))
def test_windows_are_those_of_the_last_rounds(seed, rounds):
    rng = np.random.default_rng(seed)
    X, g, s = rng.normal(size=(rounds, 3)), rng.normal(size=rounds), rng.normal(size=(rounds, 3))
    windows = empty_windows(3, 16)
    for t in range(rounds):
        windows = windows.add(X[t], float(g[t]), s[t], t + 1.0)
    low, high = bounds(windows, X[-1], s[-1], rounds, sigma=0.1, slope_error=0.2, drift=0.01)
    # The same from the definition.
    t, lows, highs = rounds, [], []
    many = min(int(math.log2(t)) + 1, 5)
    for j in range(many):
        k = 2**j + t % 2**j
        x_, g_, s_ = X[t - k :], g[t - k :], s[t - k :]
        far = math.sqrt(np.mean(((X[-1] - x_) ** 2).sum(axis=1)))
        spread = radius(0.1, 0.05, t, many, k) + 0.2 * far + 0.01 * (k - 1) / 2
        highs.append(np.mean(g_) + s[-1] @ (X[-1] - x_.mean(axis=0)) + spread)
        lows.append(np.mean(g_) + np.mean(((X[-1] - x_) * s_).sum(axis=1)) - spread)
    assert low == pytest.approx(max(lows), abs=1e-6)
    assert high == pytest.approx(min(highs), abs=1e-6)
    # Rounding goes to the careful side, but for its own.
    assert low <= max(lows) + 1e-12
    assert high >= min(highs) - 1e-12


def test_one_round_by_hand():
    windows = empty_windows(2, 4).add(np.zeros(2), -0.5, np.array([0.0, 1.0]), 1.0)
    low, high = bounds(windows, np.zeros(2), np.array([0.0, 1.0]), 1, sigma=0.1)
    c = 0.1 * math.sqrt(2 * math.log(80))  # 2 t (t + 1) m/failure = 4/0.05
    assert (low, high) == (pytest.approx(-0.5 - c), pytest.approx(-0.5 + c))


def test_convexity_carries_readings_to_the_last_action_whatever_the_path():
    # Exact readings of a convex g: every window bounds g by itself, however far actions jump.
    g_of, rng, windows = L2Norm(0.5), np.random.default_rng(4), empty_windows(3, 64)
    for t in range(200):
        x = rng.normal(size=3)
        g, s = g_of.query(x)
        windows = windows.add(x, g, s, t)
        low, high = bounds(windows, x, s, t)
        assert low <= g <= high
        slopeless = bounds(windows, x, None, t, G_g=1.0)
        assert slopeless[0] <= g <= slopeless[1]


@pytest.mark.parametrize("error", [0.0, 0.3])
def test_readings_with_and_without_slopes_are_one_average(error):
    # A missing slope is not a slope of 0: every window bounds g whichever readings have one.
    g_of, rng, windows = L2Norm(0.5), np.random.default_rng(6), empty_windows(3, 64)
    known = {"slope_error": error, "G_g": 1.0}
    for t in range(300):
        x = rng.normal(size=3)
        g, s = g_of.query(x)
        way = rng.normal(size=3)
        slope = s + error * way / np.linalg.norm(way) if rng.random() < 0.6 else None
        windows = windows.add(x, g, slope, t)
        for last in (slope, None):
            low, high = bounds(windows, x, last, t, **known)
            assert low <= g <= high


# --- the start, the rest -------------------------------------------------------------------------


def test_the_start_is_measured_before_anything_moves_and_no_gradient_is_lost():
    sigma, slope = 0.1, np.array([0.0, 1.0])
    player = Averaged(base=BASE, sigma=sigma, warm=0.25)
    state, told = player.init(np.zeros(2)), []
    for t in range(1, 1000):
        before = state
        told.append(np.array([-1.0, 0.1 * t]))
        state, info = player.step(state, Feedback(told[-1], -0.5, slope))
        error = 0.5 * (state.high.value - state.low)
        if state.waited < 0:
            break
        assert error > 0.25 * 0.5
        assert (state.x == 0).all()
        assert info.cut is False
        assert isinstance(info.certificate, PointCertificate)
        assert info.certificate.bound == min(state.high.value, 0.0)
        assert "the action stays" in str(info.certificate)
    assert 1 < t < 100
    assert error <= 0.25 * 0.5
    # The base is told the sum of the gradients, and what g is to within what.
    total = Feedback(np.sum(told, axis=0), -0.5, slope, value_error=error)
    after = BASE.update(before.base, total)
    np.testing.assert_allclose(state.x, after.x, atol=1e-12)
    assert state.waited == -1
    # Later rounds are told at once.
    g = float(state.x[1]) - 0.5
    state, info = player.step(state, Feedback(np.array([-1.0, 0.0]), g, slope))
    told_error = 0.5 * (state.high.value - state.low)
    assert info.certificate.errors.value == pytest.approx(told_error)
    assert info.certificate.round == t + 1


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_attacks_with_the_true_sigma_do_not_lead_outside(seed):
    found = attack(seed, failure=1e-6, played=60)
    assert not found.violated
    assert not found.uncovered


def test_an_attack_comes_close_and_told_a_fifth_of_sigma_it_goes_outside():
    found = [attack(n, told=0.2, played=80) for n in range(12)]
    assert sum(f.violated for f in found) >= 4
    assert max(f.way for f in found) > 0.9


@pytest.mark.slow
def test_the_share_of_runs_with_a_violation_is_at_most_what_was_asked_for():
    found = [attack(n, failure=0.05, played=80) for n in range(64)]
    lost = sum(f.violated for f in found)
    assert at_most(lost, len(found)) <= 0.05
    assert max(f.worst for f in found) > -0.05  # not because nothing moved


def test_the_noises_are_sub_gaussian():
    rng = np.random.default_rng(1)
    for kind in ("normal", "two points", "rare and large"):
        seen = np.array([draw(kind, 2.0, rng) for _ in range(5_000)])
        assert abs(seen.mean()) < 0.1
        for k in (-1.0, 0.5, 1.0):
            assert np.exp(k * seen / 2.0).mean() <= math.exp(0.5 * k * k) * 1.05


def test_under_drift_an_action_stays_only_while_that_is_certified():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=0.01)
    player = Averaged(base=base, sigma=0.2)
    falling = Feedback(np.ones(2), -0.1, np.array([0.0, 1.0]))  # faster than it can be measured
    with pytest.raises(InvalidValueError, match="the start must be strictly feasible"):
        player.update(player.init(np.zeros(2)), falling)
    still = Averaged(base=BASE, sigma=0.2)
    assert still.update(still.init(np.zeros(2)), falling).waited == 1


def test_a_limit_that_falls_is_kept_with_noisy_readings():
    drift, sigma, rng = 3e-4, 0.01, np.random.default_rng(5)
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=drift)
    player = Averaged(base=base, sigma=sigma)
    state = player.init(np.zeros(2))
    for t in range(300):
        cube = LinfNorm(0.5 - drift * t, 2)
        g, s = cube.query(state.x)
        assert g <= 0
        reading = float(g) + sigma * float(rng.normal())
        state = player.update(state, Feedback(np.array([-1.0, -0.5]), reading, s))
    assert state.x[0] > 0.25


def test_curvature_and_values_alone_take_averages_too():
    rng, sigma = np.random.default_rng(2), 0.02
    smooth = CertifiedOGD(knowledge=Curvature(beta=2.0, reach=1.0), radius=1.0)
    for base in (smooth, ValuesFollower(G_g=1.0, domain=Ball(1.0))):
        player = Averaged(base=base, sigma=sigma)
        state = player.init(np.zeros(2))
        for _ in range(150):
            x = state.x
            g, s = float(x @ x) - 0.25, 2 * x
            if base is not smooth:
                g, s = float(np.linalg.norm(x)) - 0.5, None
            assert g <= 0
            seen = Feedback(np.array([-1.0, 0.3]), g + sigma * float(rng.normal()), s)
            state = player.update(state, seen)
        assert np.linalg.norm(state.x) > 0.3


def test_readings_age_with_rounds_that_were_missed_and_with_later_ones():
    fresh, older = empty_windows(2, 8), empty_windows(2, 8)
    x, slope = np.zeros(2), np.array([0.0, 1.0])
    for t, g in enumerate((-0.5, -0.4, -0.6)):
        fresh = fresh.add(x, g, slope, t)
        older = older.add(x, g, slope, t if t < 2 else t + 4)
    one = bounds(fresh, x, slope, 2, sigma=1e-9, drift=0.01)
    two = bounds(older, x, slope, 6, sigma=1e-9, drift=0.01)
    # The mean of all three is -0.5; they are 1 and 11/3 rounds old on average.
    assert one[0] == pytest.approx(-0.51)
    assert two[0] == pytest.approx(-0.5 - 0.01 * 11 / 3)
    # One that comes after a later one: 3 rounds on average from both to the latest, 6 from there.
    late = empty_windows(2, 8).add(x, -0.5, slope, 10.0).add(x, -0.5, slope, 4.0)
    low, high = bounds(late, x, slope, 4, sigma=1e-9, drift=0.01)
    assert (low, high) == (pytest.approx(-0.5 - 0.09), pytest.approx(-0.5 + 0.09))


def test_a_round_without_a_reading_is_waited_out_or_a_step_of_the_base():
    slope = np.array([0.0, 1.0])
    player = Averaged(base=BASE, sigma=0.05)
    state = player.init(np.zeros(2))
    state, info = player.step(state, Feedback(-slope))
    assert info.certificate is None  # nothing is known yet
    assert state.waited == 1
    state = player.update(state, Feedback(-slope, -0.5, slope))
    state, info = player.step(state, Feedback(-slope))
    assert isinstance(info.certificate, PointCertificate)
    assert state.gradients.tolist() == [0.0, -3.0]
    while state.waited >= 0:
        state = player.update(state, Feedback(-slope, -0.5, slope))
    before = state
    state, info = player.step(state, Feedback(-slope))
    assert info.certificate.bound <= 0
    assert state.windows is before.windows
    assert state.rounds == before.rounds + 1
    rested = player.rest(state, np.array([0.1, 0.0]))
    assert rested.x.tolist() == [0.1, 0.0]
    assert rested.base.memory.rounds == state.base.memory.rounds + 1


def test_under_drift_a_start_that_nobody_measures_is_not_held_for_ever():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=0.02)
    player, slope = Averaged(base=base, sigma=0.01, warm=0.01), np.array([0.0, 1.0])
    state = player.update(player.init(np.zeros(2)), Feedback(-slope, -0.1, slope))
    bound = state.high.value
    assert -0.08 < bound < -0.06
    for age in (2, 3):
        state, info = player.step(state, Feedback(-slope))
        assert info.certificate.bound == pytest.approx(bound + age * 0.02)
    with pytest.raises(EmptyRegionError, match="no next action is certified"):
        player.step(state, Feedback(-slope))


def test_while_it_waits_an_announced_set_must_hold_the_start():
    player, slope = Averaged(base=BASE, sigma=0.1), np.array([0.0, 1.0])
    state, seen = player.init(np.zeros(2)), Feedback(-slope, -0.5, slope)
    state, _ = player.step(state, seen._replace(within=Box([-1.0, -1.0], [1.0, 1.0])))
    assert (state.x == 0).all()
    with pytest.raises(EmptyRegionError):
        player.step(state, seen._replace(within=Box([0.1, 0.1], [1.0, 1.0])))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_beyond_the_limit_G_g_carries_no_reading(share):
    # Somebody's own actions are infeasible, where g is 30 times as steep as G_g.
    rng, windows = np.random.default_rng(5), empty_windows(2, 32)
    carried = 0
    for t in range(1, 401):
        x = np.array([rng.uniform(-0.5, 0.7), rng.uniform(-0.1, 0.1)])
        g, slope = holds_beyond(x)
        s = slope if rng.random() < share else None
        after = windows.add(x, g, s, t, is_beyond=True)
        if bounds(after, x, s, t, G_g=1.0)[1] <= 0:
            after = windows.add(x, g, s, t)
        windows = after
        low, high = bounds(windows, x, s, t, G_g=1.0)
        assert low <= g <= high
        # With noise other windows count: what they carry to a feasible action is right, too.
        low, high = bounds(windows, x, s, t, G_g=1.0, sigma=0.1)
        assert low <= g <= high
        carried += high < g + radius(0.1, 0.05, t, min(int(math.log2(t)) + 1, 6), 1) - 1e-9
    assert carried > 20, carried


@pytest.mark.parametrize("slopes", ["all", "some", "none", "wrong"])
def test_a_filter_may_have_noisy_readings(slopes):
    errors = Errors(slope=math.inf if slopes == "wrong" else 0.0)
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=Ball(1.0), errors=errors))
    player, rng = Averaged(base=safe, sigma=0.01), np.random.default_rng(3)
    state, told = player.init(np.zeros(2)), {"all": 1.0, "some": 0.5, "none": 0.0, "wrong": 1.0}
    assert not player.needs_slopes
    for _ in range(60):
        assert state.x[1] <= 0.5
        reading = float(state.x[1]) - 0.5 + 0.01 * float(rng.normal())
        slope = np.array([0.0, -1.0 if slopes == "wrong" else 1.0])
        s = slope if rng.random() < told[slopes] else None
        state, info = player.step(state, Feedback(None, reading, s, proposal=np.array([0.0, 9.0])))
        assert info.contradictions == ()
    assert state.x[1] > 0.4


def test_what_is_read_outside_of_the_domain_is_in_no_average():
    # There g is ten times as steep as G_g: carried by G_g, its values would contradict the others.
    player = Averaged(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), sigma=0.01)
    state, suspects = player.init(np.zeros(2)), []
    for t in range(40):
        x = np.array([0.0, 3.0]) if t % 8 == 5 else state.x
        g = float(x[1]) - 0.5 + 10.0 * max(float(np.linalg.norm(x)) - 1.0, 0.0)
        seen = Feedback(np.array([0.0, -1.0]), g, None, action=x)
        state, info = player.step(state, seen)
        suspects += info.contradictions
    assert suspects == []
    assert 0.3 < state.x[1] <= 0.5


def test_a_controller_asks_for_no_slope_where_values_carry_readings():
    player = Averaged(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), sigma=0.01)
    rng, worst = np.random.default_rng(8), -1.0
    with Controller(player, [0.0, 0.0]) as loop:
        for t in range(60):
            g = float(loop.ask()[1]) - 0.5
            worst = max(worst, g)
            slope = {"constraint_subgradient": [0.0, 1.0]} if t % 3 else {}
            loop.tell(cost_gradient=[0.0, -1.0], constraint_value=g + 0.01 * rng.normal(), **slope)
    assert -0.1 < worst <= 0.0
    by_slopes = Averaged(
        base=CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0), sigma=0.1
    )
    assert by_slopes.needs_slopes


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("outside", [True, False])
def test_noisy_readings_may_be_late(copies, outside):
    k, sigma, drift, rng = 2, 0.01, 3e-4, np.random.default_rng(4)
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), drift=drift)
    if outside:
        noisy = Averaged(base=base, sigma=sigma)
        player = Delayed(base=noisy, delay=k, copies=copies, late=True)
    else:
        player = Averaged(base=Delayed(base=base, delay=k, copies=copies, late=True), sigma=sigma)
    state, told = player.init(np.zeros(2)), []
    for t in range(150):
        g, s = LinfNorm(0.5 - drift * t, 2).query(state.x)
        assert g <= 0
        told.append(Feedback(np.array([-1.0, -0.5]), float(g) + sigma * float(rng.normal()), s))
        lost = t < k or t % 11 == 5
        state, info = player.step(state, Feedback() if lost else told[t - k])
        assert info.contradictions == ()
    assert state.x[0] > 0.1


# --- guarantee, live loop, bad input -------------------------------------------------------------


def test_several_trials_are_played_one_by_one():
    toy = paper_toy(horizon=20, trials=3)
    player = Averaged.of(LeaderFollower.default(toy.constants, 20, toy.domain), sigma=0.01)
    trace = play(player, toy)
    assert trace.engine == "loop"
    assert trace.engine_note.endswith("with Averaged, which plays one at a time")
    assert (trace.violations.largest <= 0).all()
    with pytest.raises(InvalidValueError, match="Averaged is written for one run"):
        play(player, toy, engine="batch")


def test_the_guarantee_says_with_which_probability():
    c = Constants(R=1.0, G_g=1.0, G_f=2.0, start_slack=0.5, start_reach=1.0)
    promise = Averaged.of(LeaderFollower.default(c), sigma=0.1, failure=0.02).guarantee
    assert isinstance(promise, WithProbability)
    assert promise.name == "Theorem E (hulls of certified balls), with probability 0.98"
    assert promise.kind == "every round"
    assert promise.bounds(10) == {}
    assert promise.regret_bound(10) == 2 * 2.0 * 10
    # A reading is not g: the start's slack is not watched, slopes and gradients are.
    assert [p.constant for p in promise.premises] == ["G_g", "G_f"]


def test_a_controller_goes_on_from_the_averages_of_its_journal(tmp_path):
    path, rng = tmp_path / "noisy.journal", np.random.default_rng(8)
    c = Constants(R=9.0, G_g=1.0, start_slack=0.5, start_reach=9.0)
    player = Averaged.of(LeaderFollower.default(c), sigma=0.05, longest=64)
    wall = Affine([[0.0, 1.0]], [0.5])

    def tell(loop, noise):
        x = loop.ask()
        g, s = wall.query(x)
        loop.tell(cost_gradient=[-0.6, -0.8], constraint_value=g + noise, constraint_subgradient=s)

    noises = [float(0.05 * rng.normal()) for _ in range(40)]
    with Controller(player, np.zeros(2), journal=path) as loop:
        tell(loop, 0.08)
        assert "the action stays" in str(loop.explain().certificate)
        for noise in noises:
            tell(loop, noise)  # some of these readings are above 0, and nothing is wrong
        tell(loop, 0.12)
        state = loop.state
    with Controller.open(path) as again:
        assert (again.ask() == state.x).all()
        np.testing.assert_array_equal(again.state.windows.full, state.windows.full)
        tell(again, 0.0)


def test_readings_that_contradict_each_other_are_named():
    player = Averaged(base=BASE, sigma=1e-4)
    state, slope = player.init(np.zeros(2)), np.array([0.0, 1.0])
    state = player.update(state, Feedback(np.zeros(2), -0.5, slope))
    _, info = player.step(state, Feedback(np.zeros(2), -0.4, slope))
    assert any("sigma is too small" in sentence for sentence in info.contradictions)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sigma": 0.0}, "sigma must be a finite number > 0, got 0.0"),
        ({"failure": 1.0}, "failure must be strictly between 0 and 1, got 1.0"),
        ({"longest": 100}, "longest must be a power of 2, got 100"),
        ({"longest": 0}, "longest must be a whole number >= 1, got 0"),
        ({"warm": -1.0}, "warm must be a finite number >= 0, got -1.0"),
        ({"base": OGD(eta=0.1, domain=Ball(1.0))}, "base must be a certified rule, which allows"),
        (
            {
                "base": CertifiedOGD(
                    knowledge=CurvatureRows(beta=1.0, rows=2, reach=1.0), radius=1.0
                )
            },
            "base must be a rule for one limit, because an average is",
        ),
        (
            {
                "base": ValuesAveraging(
                    knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0, start_slope=1.0
                )
            },
            "base must be told slopes, or have a G_g, by which readings",
        ),
        (
            {"base": LeaderFollower(G_g=1.0, domain=Ball(1.0), value_error=0.1)},
            "base must be without a value_error, which Averaged estimates: leave one",
        ),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(options, sentence):
    with pytest.raises(InvalidValueError) as error:
        Averaged(**{"base": BASE, "sigma": 0.1, **options})
    assert str(error.value).startswith(sentence)


def test_bad_rounds_are_refused_with_one_sentence():
    player, slope = Averaged(base=BASE, sigma=0.1), np.array([0.0, 1.0])
    state = player.init(np.zeros(2))
    with pytest.raises(InvalidValueError, match="constraint_value must be a finite number"):
        player.update(state, Feedback(np.ones(2), math.nan, slope))
    with pytest.raises(
        InvalidValueError, match="value_error is not used by Averaged: leave it out"
    ):
        player.update(state, Feedback(np.ones(2), -0.5, slope, value_error=0.1))
    with pytest.raises(InvalidValueError, match="x1 must be one NumPy vector"):
        player.init(np.zeros((3, 2)))
    with pytest.raises(InvalidValueError, match="must be one for every round"):
        Averaged.of(Tuned(BASE, NoClaim(Constants(R=1.0))), sigma=0.1)
    with pytest.raises(InvalidValueError, match="player must have a guarantee"):
        Averaged.of(BASE, sigma=0.1)


def test_between_two_faces_noise_does_not_send_the_follower_to_and_fro():
    problem = binding_toy(horizon=400, trials=1, streams=3)
    costs, rng = problem.costs.run(0), np.random.default_rng(14)
    player = Averaged(base=LeaderFollower(G_g=1.0, domain=problem.domain), sigma=0.05)
    state, ways = player.init(problem.start), []
    for t in range(costs.horizon):
        g, s = problem.constraint.query(state.x)
        assert g <= 0
        before, told = state.x, float(g) + 0.05 * float(rng.normal())
        state = player.update(state, Feedback(costs.gradient(t, before), told, s))
        ways.append(float(np.linalg.norm(state.x - before)))
    # 0.06 where the follower went to the outer ends of the readings at the other face
    assert np.mean(ways[200:]) < 0.02


# --- ramps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift", [0.0, 1e-3])
@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_an_average_keeps_the_ramp_of_its_rule(drift, seed):
    rng, r = np.random.default_rng(seed), 0.05
    moving = {"drift": drift, "start_bound": -0.2} if drift else {}
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0), ramp=r, **moving)
    loop = Controller(Averaged(base=base, sigma=0.005, failure=1e-9), [0.0, 0.0])
    limit, last, way = 0.5, None, np.array([-0.6, -0.8])
    for t in range(120):
        x = loop.ask()
        assert x[1] <= limit
        assert last is None or np.linalg.norm(x - last) <= r * (1 + 1e-9)
        last = x
        way = rng.normal(size=2) if rng.random() < 0.1 else way
        reading = float(x[1]) - limit + 0.005 * float(rng.choice([-1.0, 1.0]))
        if rng.random() < 0.05 and not drift:
            loop.tell(missing=True)
        else:
            loop.tell(
                cost_gradient=way, constraint_value=reading, constraint_subgradient=[0.0, 1.0]
            )
        limit -= drift * (1.0 if t % 100 < 60 else -1.0)
    assert np.linalg.norm(last) > 0.1

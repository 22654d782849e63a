"""Section 5, on the published streams: generator seed 0, 30 trials, mean over trials."""

import math

import numpy as np
import pytest

from surefoot import PFS, play
from surefoot.problems import SETTINGS, paper_toy

# All tests here share games of 20,000 rounds: some three seconds.
pytestmark = pytest.mark.slow

HORIZONS = (2_000, 10_000, 20_000)

# Regret, sum of g, and max g, at the three horizons.
PUBLISHED = {
    "as plotted": ((87.80, 191.06, 267.19), (-90.8, -231.6, -349.1), -0.0055),
    "as written": ((112.03, 249.78, 352.81), (-83.2, -210.4, -316.0), -0.0007),
    "as released": ((1030.03, 2469.34, 3501.63), (-544.1, -1548.4, -2268.0), -0.0070),
    "as the assumptions demand": (
        (1030.03, 2469.34, 3501.44),
        (-544.1, -1548.4, -2265.0),
        -0.0018,
    ),
    "tuned": ((155.31, 328.28, 454.96), (-153.3, -381.3, -560.6), -0.0139),
    "Corollary 3": ((49.60, 111.00, 156.71), (-43.8, -127.4, -205.5), 0.0092),
}


@pytest.fixture(scope="module")
def traces():
    """Every setting at every horizon, all 600 runs in one batch."""
    toy = paper_toy()
    players = {}
    for setting in SETTINGS:
        for T in HORIZONS:
            eta, rho = setting.parameters(T)
            players[setting.name, T] = PFS(eta=eta, rho=rho, domain=toy.domain)
    corollaries = {
        "as the assumptions demand": PFS.anytime,
        "tuned": PFS.tuned,
        "Corollary 3": PFS.nearly,
    }
    for name, make in corollaries.items():
        for T in HORIZONS:
            players[name, T] = make(toy.constants, T)
    on_set = toy.constants.with_origin("given", G_f=6 * 1.5 * math.sqrt(2))
    players["as demanded on X", 20_000] = PFS.anytime(on_set, 20_000)
    players["tuned on X", 20_000] = PFS.tuned(on_set, 20_000)
    kept = {"every": None, "keep_actions": False, "watch": "off"}
    return {(name, T): play(p, toy, horizon=T, **kept) for (name, T), p in players.items()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_regret(traces, name):
    found = [float(traces[name, T].final_regret().mean()) for T in HORIZONS]
    # Published to the hundredth; with the same streams there is no other error.
    assert found == pytest.approx(PUBLISHED[name][0], abs=5.1e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_cumulative_violation(traces, name):
    found = [float(traces[name, T].violations.sum.mean()) for T in HORIZONS]
    assert found == pytest.approx(PUBLISHED[name][1], abs=0.051)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_largest_violation_of_all_trials_and_horizons(traces, name):
    largest = max(float(traces[name, T].violations.largest.max()) for T in HORIZONS)
    assert largest == pytest.approx(PUBLISHED[name][2], abs=5.1e-5)
    assert (largest < 0) == (name != "Corollary 3")


def test_corollary_3_violates_a_little_and_less_with_the_horizon(traces):
    hard = [float(traces["Corollary 3", T].violations.sum_positive.mean()) for T in HORIZONS]
    assert hard == pytest.approx([0.137, 0.171, 0.171], abs=5.1e-4)
    worst = [float(traces["Corollary 3", T].violations.largest.max()) for T in HORIZONS]
    assert worst[0] > worst[1] > worst[2] > 0
    assert worst[2] == pytest.approx(0.0029, abs=5e-5)


@pytest.mark.parametrize("name", ["as the assumptions demand", "tuned", "Corollary 3"])
def test_no_trial_exceeds_the_bounds_of_what_the_assumptions_allow(traces, name):
    for T in HORIZONS:
        trace = traces[name, T]
        assert (trace.final_regret() <= trace.guarantee.regret_bound(T)).all()
        assert (trace.violations.largest <= np.max(trace.guarantee.bounds(1)["round"])).all()


def test_optimising_the_bound_is_worth_a_factor_of_seven(traces):
    # The same promise, g <= 0 in every round under the same premises.
    demanded, tuned = traces["as the assumptions demand", 20_000], traces["tuned", 20_000]
    assert demanded.guarantee.kind == tuned.guarantee.kind == "every round"
    assert round(float(tuned.final_regret().mean())) == 455
    assert demanded.final_regret().mean() > 7 * tuned.final_regret().mean()


@pytest.mark.parametrize(("name", "regret"), [("as demanded on X", 3077), ("tuned on X", 407)])
def test_the_gradient_bound_of_the_set_saves_an_eighth(traces, name, regret):
    # Remark 2: G_f = 12.73 on X instead of 14.49 on the ball.
    trace = traces[name, 20_000]
    assert round(float(trace.final_regret().mean())) == regret
    assert (trace.violations.largest < 0).all()

"""Section 5's rivals on the published streams: 30 trials, mean over trials."""

from dataclasses import replace

import pytest

from surefoot import play
from surefoot.problems import paper_toy
from surefoot.problems.constraints import Affine
from surefoot.rules import DPP, ScalarDPP, Tighten

pytestmark = pytest.mark.slow

HORIZONS = (2_000, 10_000, 20_000)
CUBE = Affine([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [0.5] * 4)


def tightening(name, T):
    """The published scripts, and the text with epsilon = 0.25."""
    return {"script": 0.45 * min(1, 20 / T**0.5), "text": min(0.25, 20 / T**0.5)}[name]


def played(players, problem, names):
    kept, each = {"every": None, "keep_actions": False, "watch": "off"}, iter(players)
    return {
        name: [play(next(each), problem, horizon=T, **kept) for T in HORIZONS] for name in names
    }


@pytest.fixture(scope="module")
def traces():
    """One queue on both generators, four queues, and one queue tightened in both ways."""
    toy, other = paper_toy(), paper_toy(seed=1)

    def one(T):
        return ScalarDPP(V=T**0.5, alpha=float(T), domain=toy.domain)

    four = [DPP(V=T**0.5, alpha=float(T), rows=4, domain=toy.domain) for T in HORIZONS]
    ways = ("script", "text")
    tight = [Tighten(base=one(T), rho=tightening(name, T)) for name in ways for T in HORIZONS]
    return (
        played([one(T) for T in HORIZONS], toy, ["one queue"])
        | played([one(T) for T in HORIZONS], other, ["one queue, seed 1"])
        | played(four, replace(toy, constraint=CUBE), ["four queues"])
        | played(tight, toy, ways)
    )


# Regret, sum of g, sum of [g]_+ at the three horizons.
PUBLISHED = {
    "one queue": ((45.27, 102.21, 143.51), (11.45, 12.84, 12.48), (43.1, 124.9, 203.7)),
    "four queues": ((46.18, 103.15, 144.34), (38.6, 134.5, 227.4), (60.8, 202.2, 339.4)),
    "script": ((332.26, 519.33, 599.08), (-275.8, -765.9, -1138.6), (2.27, 5.35, 7.81)),
    "text": ((484.52, 2054.59, 2246.94), (-344.1, -1707.8, -2534.7), (1.68, 1.70, 2.71)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_regret(traces, name):
    found = [float(trace.final_regret().mean()) for trace in traces[name]]
    # To the hundredth; with the same streams there is no other error.
    assert found == pytest.approx(PUBLISHED[name][0], abs=5.1e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_mean_sums_of_g(traces, name):
    total = [float(trace.violations.sum.mean()) for trace in traces[name]]
    assert total == pytest.approx(PUBLISHED[name][1], abs=0.051)
    hard = [float(trace.violations.sum_positive.mean()) for trace in traces[name]]
    assert hard == pytest.approx(PUBLISHED[name][2], abs=0.051)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("one queue", (11.45, 12.84, 12.57)), ("one queue, seed 1", (9.67, 11.67, 11.47))],
)
def test_the_mean_violation_of_figure_1b(traces, name, expected):
    # The mean of [sum g]_+, not [mean of sums]_+. The figure itself shows about 15, 31 and 37,
    # which the published scripts do not give either.
    found = [float(trace.violations.positive_sum.mean()) for trace in traces[name]]
    assert found == pytest.approx(expected, abs=5.1e-3)


def test_violations_that_one_queue_keeps_in_check_grow_with_four(traces):
    one, four = (
        [float(trace.violations.sum.mean()) for trace in traces[name]]
        for name in ("one queue", "four queues")
    )
    assert one[2] < 1.2 * one[0]
    assert four[2] > 5 * four[0]


def test_a_tightened_sum_is_negative_in_every_trial_though_rounds_are_not_feasible(traces):
    for name in ("script", "text"):
        for trace in traces[name]:
            assert (trace.violations.sum < 0).all()
            assert (trace.violations.count > 0).all()

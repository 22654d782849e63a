"""Methods without projections: every number of their theorems worked by hand, as printed."""

from dataclasses import replace
from math import ceil, log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import (
    AdaptiveGaugeTheorem,
    BlockBanditTheorem,
    BlockedTheorem,
    GaugeNewtonTheorem,
    GaugeTheorem,
    SmoothedBanditTheorem,
    StronglyConvexGauge,
)

from ._numbers import assert_nothing_outside, assert_number

KNOWN = Constants(
    R=3.0, G_f=7.0, start_reach=2.0, diameter=4.5, cost_bound=11.0, strong_convexity=0.4
)
FAR = replace(KNOWN, start_reach=5.0)
VAGUE = Constants(R=3.0, G_f=7.0)  # D_0 = D = 6
# r = 0.75, so kappa = 4 and (1 + kappa) G_f = 35; an error of 0.125 costs 0.125 * 7 * 3 a round.
ERROR = 2.625

GAUGE = GaugeTheorem(KNOWN, 25, 0.75, 0.125)  # eta = 2/(35 * 5)
CONVEX = StronglyConvexGauge(KNOWN, 0.75, 0.125)
ADAPTIVE = AdaptiveGaugeTheorem(KNOWN, 32, 0.75, 0.125)
COVERING = 2 * sqrt(2) / (sqrt(2) - 1)
NEWTON = GaugeNewtonTheorem(KNOWN, 20, 0.75, 0.125, 5)
LONG = GaugeNewtonTheorem(KNOWN, 2_000, 0.75, 0.125, 5)
L, LONG_L = 1 + 5 * log(5), 1 + 5 * log(401)
LONG_BETA = sqrt(LONG_L / 4_000) / (7 * 4.875)

# b = 5 = the root of 17 rounded up; eta = 4.5/(7 sqrt(85)), and eta b G_f = c.
BLOCKED = BlockedTheorem(KNOWN, 17, 4.5)
ETA, CLOSE = 4.5 / (7 * sqrt(85)), 4.5 * sqrt(5 / 17)
RATE = ETA / 2 * 5 * 49 + CLOSE * 7

# d F_0 = 55 and (2 + kappa) G_f = 42; delta is r/2 = 0.375 in short games.
SMOOTHED = SmoothedBanditTheorem(KNOWN, 32, 0.75, 5, 4.5)  # sigma = 1/4
ETA_S = 3 / 4 * 1 / 8 * 4.5 * 0.375 / 55
LATER = SmoothedBanditTheorem(KNOWN, 10**5, 0.75, 5, 4.5)  # sigma = 1/100
DELTA_L = sqrt(2 / 3 * 4.5 * 55 / 42) / 10
ETA_L = 3 / 4 / 1_000 * 4.5 * DELTA_L / 55
BLOCK = BlockBanditTheorem(KNOWN, 17, 0.75, 5, 4.5)
V = (55 / 0.375) ** 2 + 5 * 49
ETA_B = 4.5 / sqrt(17 * V)
GAP = 4.5**2 / (2 * sqrt(17))
LATE = BlockBanditTheorem(KNOWN, 10**4, 0.75, 5, 4.5)
DELTA_B = sqrt(4.5 * 55 / 42) / 10
V_LATE = (55 / DELTA_B) ** 2 + 100 * 49
ETA_LATE = 4.5 / sqrt(10**4 * V_LATE)


@pytest.mark.parametrize(
    ("theorem", "what", "at", "wanted"),
    [
        (GAUGE, "kappa", None, 4.0),
        (GAUGE, "slope", None, 35.0),
        (GAUGE, "eta", None, 2 / 175),
        (GAUGE, "regret_bound", 25, 175 + 175 + 25 * ERROR),
        (GAUGE, "regret_bound", 4, 175 + 28 + 4 * ERROR),
        (GAUGE, "interval_bound", 4, 2 * 9 * 175 / 2 + 28 + 4 * ERROR),
        (GAUGE, "interval_bound", 9, 2 * 9 * 175 / 2 + 63 + 9 * ERROR),
        (GaugeTheorem(VAGUE, 25, 0.75, 0.0), "eta", None, 6 / 175),
        (GaugeTheorem(VAGUE, 25, 0.75, 0.0), "regret_bound", 4, 525 + 84),
        (CONVEX, "eta", None, 2.5),
        (CONVEX, "regret_bound", 3, 36.2**2 / 0.8 * (1 + log(3)) + 3 * ERROR),
        (CONVEX, "regret_bound", 50, 36.2**2 / 0.8 * (1 + log(50)) + 50 * ERROR),
        (ADAPTIVE, "slope", None, 35.0),
        *(
            (ADAPTIVE, what, n**2, COVERING * 105 * n * (2 + 4 * sqrt(log(64))) + n**2 * ERROR)
            for what in ("regret_bound", "interval_bound")
            for n in (3, 5)
        ),
        (NEWTON, "log_term", None, L),
        (NEWTON, "diameter", None, 4.5 + 3 * 0.125),
        (NEWTON, "beta", None, 1 / (35 * 3)),  # D_0 = 2 < R
        (NEWTON, "regret_bound", 20, L * 105 / 2 + 34.125**2 / 105 * 20 + 20 * ERROR),
        (NEWTON, "regret_bound", 6, L * 105 / 2 + 34.125**2 / 105 * 6 + 6 * ERROR),
        (GaugeNewtonTheorem(FAR, 20, 0.75, 0.0, 5), "beta", None, 1 / (35 * 5)),
        (LONG, "beta", None, LONG_BETA),
        (LONG, "regret_bound", 7, LONG_L / (2 * LONG_BETA) + (LONG_BETA * 34.125**2 + ERROR) * 7),
        (GaugeNewtonTheorem(VAGUE, 20, 0.75, 0.125, 5), "diameter", None, 6.375),
        (BLOCKED, "block", None, 5),
        (BLOCKED, "eta", None, ETA),
        (BLOCKED, "closeness", None, CLOSE),
        (BLOCKED, "linear_minimisations", None, 3 * (1 + ceil(2 * 17 / 5 * log(2)))),
        (BLOCKED, "regret_bound", 17, 4.5**2 / (2 * ETA) + RATE * 17),
        (BLOCKED, "regret_bound", 17, 2 * 4.5 * 7 * sqrt(85)),
        (BLOCKED, "regret_bound", 4, 4.5**2 / (2 * ETA) + RATE * 4),
        *(
            (BLOCKED, "interval_bound", n, (4.5 + CLOSE) ** 2 / (2 * ETA) + RATE * n + 2 * 35 * 4.5)
            for n in (4, 13)
        ),
        *(
            (
                BLOCKED,
                "dynamic_bound",
                (t, P),
                ((4.5 + CLOSE) ** 2 + 2 * (4.5 + CLOSE) * P) / (2 * ETA) + RATE * t + 35 * P,
            )
            for t, P in ((4, 1.5), (13, 20.0))
        ),
        (SMOOTHED, "step_size", None, 0.25),
        (SMOOTHED, "radius", None, 0.375),
        (SMOOTHED, "shrink", None, 0.5),
        (SMOOTHED, "eta", None, ETA_S),
        *(
            (
                SMOOTHED,
                "regret_bound",
                t,
                31.5
                + 4.5**2 / (2 * ETA_S)
                + (ETA_S / 2 * 55**2 / 0.375**2 + 2 * 31.5 / 2 + 42 * 0.375) * t,
            )
            for t in (4, 32)
        ),
        (LATER, "step_size", None, 0.01),
        (LATER, "radius", None, DELTA_L),
        (LATER, "shrink", None, DELTA_L / 0.75),
        (LATER, "eta", None, ETA_L),
        (
            LATER,
            "regret_bound",
            900,
            31.5
            + 4.5**2 / (2 * ETA_L)
            + (ETA_L / 2 * 55**2 / DELTA_L**2 + 2 * 31.5 / 10 + 42 * DELTA_L) * 900,
        ),
        (BLOCK, "block", None, 5),
        (BLOCK, "radius", None, 0.375),
        (BLOCK, "eta", None, ETA_B),
        (BLOCK, "gap", None, GAP),
        (BLOCK, "linear_minimisations", None, 3 * (ceil(8 * sqrt(17)) + 2)),
        *(
            (
                BLOCK,
                "regret_bound",
                t,
                31.5 + 4.5**2 / (2 * ETA_B) + (ETA_B / 2 * V + 7 * sqrt(2 * GAP) + 42 * 0.375) * t,
            )
            for t in (4, 17)
        ),
        (LATE, "radius", None, DELTA_B),
        (LATE, "shrink", None, DELTA_B / 0.75),
        (LATE, "eta", None, ETA_LATE),
        (LATE, "gap", None, 4.5**2 / 200),
        (
            LATE,
            "regret_bound",
            900,
            31.5
            + 4.5**2 / (2 * ETA_LATE)
            + (ETA_LATE / 2 * V_LATE + 7 * 4.5 / 10 + 42 * DELTA_B) * 900,
        ),
    ],
)
def test_the_numbers_are_those_of_the_statement(theorem, what, at, wanted):
    assert_number(theorem, what, at, wanted)


@pytest.mark.parametrize("theorem", [GAUGE, CONVEX, ADAPTIVE, NEWTON, BLOCKED, SMOOTHED, BLOCK])
def test_nothing_is_outside(theorem):
    assert_nothing_outside(theorem)

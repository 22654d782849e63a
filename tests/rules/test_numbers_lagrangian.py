"""Lagrangian methods and velocities: numbers worked by hand that their own tests leave open."""

from dataclasses import replace
from math import log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import (
    CVVProTheorem,
    DriftPlusPenalty,
    JenattonStronglyConvex,
    JenattonTradeOff,
    MahdaviBalanced,
    MahdaviLinearBalanced,
    MahdaviNoViolation,
)

from ._numbers import assert_number

# Here G_g, not G_f, is the G of theorems that have one for both.
KNOWN = Constants(
    R=3.0,
    start_reach=2.5,
    G_f=2.0,
    G_g=7.0,
    sigma=1.25,
    epsilon=0.8,
    F=11.0,
    D_g=4.0,
    rows=3,
    strong_convexity=0.5,
)
VAGUE = replace(KNOWN, start_reach=None, F=None)  # D_0 = 6, F = 2 * 3 * 2 = 12

# eta_1 = 3/7, theta_1 = 6 * 49 * 3/7 = 126. Sums of s^-1/4 and s^-3/4, by integrals: 1 + 7/0.75
# and 1 + 1/0.25 up to 16, 1 + 26/0.75 and 1 + 2/0.25 up to 81.
JENATTON = JenattonTradeOff(KNOWN, 0.25)
REGRET_16 = 2 * 3 * 7 * 2 + 7 * 3 * (31 / 3) + 16 / 126 * 5
REGRET_81 = 2 * 3 * 7 * 3 + 7 * 3 * (107 / 3) + 16 / 126 * 9
STRONG = JenattonStronglyConvex(KNOWN, 0.25)  # theta_1 = 6 * 49/0.5
STRONG_16 = 98 * (1 + log(16)) + 16 / 588 * 5
STRONG_81 = 98 * (1 + log(81)) + 16 / 588 * 9

# (m + 1) G^2 = 196, 2 m D_g^2 = 96, or 6 * 4.8^2 = 138.24 with D_g + epsilon
MAHDAVI = MahdaviBalanced(KNOWN, 400)
ETA = 2.5 / (sqrt(292) * 20)
DELTA = 2 * 196 / (1 + sqrt(1 - 8 * 196 * ETA**2))
NONE = MahdaviNoViolation(KNOWN, 400, 0.3)
ETA_N = 2.5 / (sqrt(334.24) * 20)
DELTA_N = 2 * 196 / (1 + sqrt(1 - 8 * 196 * ETA_N**2))


def regret(eta, squares, t):
    return 2.5**2 / (2 * eta) + eta * t / 2 * squares


def row(eta, delta, squares, t):
    return sqrt(2 * (11 * t + regret(eta, squares, t)) * (delta * eta * t + 1 / eta))


LINEAR = MahdaviLinearBalanced(KNOWN, 10**6)  # eta = (2.5/2)/100 < 1/(sqrt(2) sqrt(3) 7)
SHORT = MahdaviLinearBalanced(KNOWN, 8, operator_norm=1.7)  # eta = 1/(sqrt(2) 1.7) < 1.25/2
ETA_A = 1 / (sqrt(2) * 1.7)

# B = 4 + 2 * 3 * 7 = 46. V = 8 is above the root of 16: alpha = 8 * 4.
QUEUE = DriftPlusPenalty(replace(KNOWN, start_slack=1.5), 16, weight=8.0, window=3)
C_0 = 8 * 11 + 64 * 4 / (4 * 32) + 46**2 / 2
WINDOW = 46 * 4 * 2
RATE = 8 * 4 / (4 * 32) + 46**2 / (2 * 8) + WINDOW / (2 * 8)
GROWING = sqrt(2 * 32 * 2.5**2 + (2 * C_0 + WINDOW) * 9)
SETTLED = sqrt((C_0 / 1.5) ** 2 + 2 * 32 * 6**2 + 2 * C_0)
LIGHT = DriftPlusPenalty(replace(KNOWN, epsilon=None, sigma=None), 16, 3, weight=2.0)
C_L = 2 * 11 + 4 * 4 / (4 * 16) + 3 * 46**2 / 2

SMOOTH = replace(KNOWN, beta=5.0, start_slack=0.4)
ROUGH = replace(KNOWN, beta=0.1)


@pytest.mark.parametrize(
    ("theorem", "what", "at", "wanted"),
    [
        (JENATTON, "eta", None, 3 / 7),
        (JENATTON, "theta", None, 126.0),
        (JENATTON, "regret_bound", 16, REGRET_16),
        (JENATTON, "regret_bound", 81, REGRET_81),
        (JENATTON, "positive_sum", 16, sqrt(2 * (11 * 16 + REGRET_16) * 126 * (31 / 3 + 1))),
        (JENATTON, "positive_sum", 81, sqrt(2 * (11 * 81 + REGRET_81) * 126 * (107 / 3 + 1))),
        (
            JenattonTradeOff(VAGUE, 0.25),
            "positive_sum",
            16,
            sqrt(2 * (12 * 16 + REGRET_16) * 126 * (31 / 3 + 1)),
        ),
        (STRONG, "eta", None, 2.0),
        (STRONG, "theta", None, 588.0),
        (STRONG, "regret_bound", 16, STRONG_16),
        (STRONG, "regret_bound", 81, STRONG_81),
        (STRONG, "positive_sum", 16, sqrt(2 * (11 * 16 + STRONG_16) * 588 * (31 / 3 + 1))),
        (STRONG, "positive_sum", 81, sqrt(2 * (11 * 81 + STRONG_81) * 588 * (107 / 3 + 1))),
        (MAHDAVI, "a", None, 2.5 * sqrt(292)),
        (MAHDAVI, "eta", None, ETA),
        (MAHDAVI, "delta", None, DELTA),
        *((MAHDAVI, "regret_bound", t, regret(ETA, 292, t)) for t in (36, 400)),
        *((MAHDAVI, "rows", t, row(ETA, DELTA, 292, t)) for t in (36, 400)),
        (
            MahdaviBalanced(replace(KNOWN, start_reach=0.1), 1),
            "delta",
            None,
            2 * 196 / (1 + sqrt(1 - 8 * 196 * 0.01 / 292)),
        ),
        (NONE, "a", None, 2.5 * sqrt(334.24)),
        (NONE, "eta", None, ETA_N),
        (NONE, "delta", None, DELTA_N),
        (NONE, "gamma", None, 0.3),
        *(
            (NONE, "regret_bound", t, regret(ETA_N, 334.24, t) + 2 / 1.25 * 0.3 * t)
            for t in (36, 400)
        ),
        *((NONE, "rows", t, row(ETA_N, DELTA_N, 334.24, t) - 0.3 * t) for t in (36, 400)),
        (LINEAR, "eta", None, 0.0125),
        (LINEAR, "regret_bound", 36, 6.25 / 0.025 + 0.0125 * 4 * 36),
        (LINEAR, "regret_bound", 900, 6.25 / 0.025 + 0.0125 * 4 * 900),
        (LINEAR, "rows", 36, sqrt(2 * 11 * 36 / 0.0125 + 6.25 / 0.0125**2 + 2 * 4 * 36)),
        (LINEAR, "rows", 900, sqrt(2 * 11 * 900 / 0.0125 + 6.25 / 0.0125**2 + 2 * 4 * 900)),
        (MahdaviLinearBalanced(KNOWN, 8), "eta", None, 1 / (sqrt(6) * 7)),
        (SHORT, "eta", None, ETA_A),
        (SHORT, "regret_bound", 5, 6.25 / (2 * ETA_A) + ETA_A * 4 * 5),
        (SHORT, "rows", 5, sqrt(2 * 11 * 5 / ETA_A + 6.25 / ETA_A**2 + 2 * 4 * 5)),
        (MahdaviLinearBalanced(VAGUE, 10**6), "eta", None, 0.03),
        (QUEUE, "V", None, 8.0),
        (QUEUE, "alpha", None, 32.0),
        (QUEUE, "slack", None, 1.5),
        (QUEUE, "regret_bound", 9, 32 * 2.5**2 / 8 + RATE * 9),
        (QUEUE, "regret_bound", 10**6, 32 * 2.5**2 / 8 + RATE * 10**6),
        (QUEUE, "queue_bound", 9, GROWING),
        (QUEUE, "queue_bound", 10**6, SETTLED),
        (QUEUE, "positive_sum", 9, (1 + 49 * 9 / 64) * GROWING + 7 * 2 * 8 * 9 / 64),
        (QUEUE, "positive_sum", 10**6, (1 + 49 * 10**6 / 64) * SETTLED + 7 * 2 * 8 * 10**6 / 64),
        (QUEUE, "regret_exponent", None, 0.5),
        (QUEUE, "violation_exponent", None, 0.5),
        (LIGHT, "alpha", None, 16.0),
        (LIGHT, "slack", None, 0.0),
        (LIGHT, "regret_bound", 9, 16 * 6.25 / 2 + (2 * 4 / 64 + 3 * 46**2 / 4) * 9),
        (
            LIGHT,
            "rows",
            9,
            (1 + sqrt(3) * 49 * 9 / 32) * sqrt(2 * 16 * 6.25 + 2 * C_L * 9) + 14 * 2 * 9 / 32,
        ),
        (LIGHT, "regret_exponent", None, 0.75),  # V = 16^(1/4)
        (LIGHT, "violation_exponent", None, 0.625),
        (CVVProTheorem(KNOWN), "alpha", None, 2 / 3),
        (CVVProTheorem(KNOWN), "regret_bound", 10, 29.1 * 2 * 3 * 5),
        (CVVProTheorem(SMOOTH, smooth=True), "regret_bound", 1, 29.1 * 2 * 3 * 4),
        # Each entry of the maximum in turn; a start of unknown slack may have g = 2 R G_g.
        (CVVProTheorem(SMOOTH, smooth=True), "round", 1, 8 / 7 * 11.1 * 5 * 9 / 4),
        (CVVProTheorem(SMOOTH, smooth=True), "round", 10, 8 / 7 * 11.1 * 5 * 9 / 5),
        (CVVProTheorem(replace(ROUGH, start_slack=30.0), smooth=True), "round", 10, 4.86 * 21 / 5),
        (CVVProTheorem(replace(ROUGH, start_slack=-30.0), smooth=True), "round", 1, 30.0),
        (CVVProTheorem(replace(ROUGH, start_slack=-30.0), smooth=True), "round", 10, 4 * 30 / 5),
        (CVVProTheorem(ROUGH, smooth=True), "round", 10, 4 * 2 * 3 * 7 / 5),
    ],
)
def test_the_numbers_are_those_of_the_statement(theorem, what, at, wanted):
    assert_number(theorem, what, at, wanted)


def test_velocities_rest_on_slopes_only_where_violations_are_bounded():
    assert [(p.constant, p.limit) for p in CVVProTheorem(SMOOTH).premises] == [("G_f", 2.0)]
    bounded = CVVProTheorem(SMOOTH, smooth=True)
    assert [(p.constant, p.limit) for p in bounded.premises] == [("G_f", 2.0), ("G_g", 7.0)]
    assert CVVProTheorem(SMOOTH).bounds(9) == {}

"""Tracking, with and without a penalty: every number worked from the statements."""

from math import log, sqrt

from surefoot import Constants
from surefoot.rules import TrackingPenaltyTheorem, TrackingTheorem

from ._worked import assert_worked

R, G_f, G_g, T = 1.7, 2.3, 0.6, 50


def test_the_numbers_of_tracking():
    D = 2.6
    blocks = (8, 5, 4, 3, 2, 2, 1)  # the roots of 50, 25, 12.5, ... rounded up, while 2^i <= 100
    experts = [(b, D * sqrt(2**i / (b * T)) / G_f, D / sqrt(b)) for i, b in enumerate(blocks)]
    rate = sqrt(8 * log(7) / T) / (G_f * D)
    table = {"rate": rate, "regret_exponent": 0.75} | {
        ("experts", i, j): v for i, e in enumerate(experts) for j, v in enumerate(e)
    }

    def bound(t, P):
        each = [
            ((D + c) ** 2 + 2 * (D + c) * P) / (2 * eta)
            + (eta * b * G_f**2 / 2 + c * G_f) * t
            + b * G_f * P
            for b, eta, c in experts
        ]
        return each.index(min(each)), min(each) + log(7) / rate + rate / 8 * (G_f * D) ** 2 * t

    chosen = set()
    for t, P in ((7, 0.0), (50, 0.0), (7, 3.7), (50, 3.7), (50, 90.0)):
        i, value = bound(t, P)
        chosen.add(i)
        table["dynamic_bound", t, P] = value
        if P == 0:
            table |= {("regret_bound", t): value, ("round", t): 0.0}
    theorem = TrackingTheorem(Constants(R=R, G_f=G_f), T, D)
    assert_worked(theorem, table)
    assert len(theorem.experts) == 7
    assert len(chosen) >= 3


def test_the_numbers_of_tracking_under_a_penalty():
    D, N = 3.4, 5  # the root of 101 is 2^3.33
    weights = [G_f * sqrt(T) / (D * sqrt(1.36)) / 2**i for i in range(N)]
    rate = sqrt(8 * log(N) / T) / (G_f * D)
    table = {"rate": rate, "regret_exponent": 0.5, "violation_exponent": 0.5}
    for i, a in enumerate(weights):
        table |= {("experts", i, 0): sqrt(a), ("experts", i, 1): a * 1.36 / 2}

    def each(t, P):
        return [a * 1.36 / 2 * (D**2 + 2 * D * P) + G_f**2 * t / (2 * a) for a in weights]

    chosen = set()
    for t, P in ((7, 0.0), (50, 0.0), (7, 3.7), (50, 3.7)):
        B = each(t, P)
        chosen.add(B.index(min(B)))
        regret = min(B) + log(N) / rate + rate / 8 * (G_f * D) ** 2 * t
        table["dynamic_bound", t, P] = regret
        if P == 0:
            hard = sum(sqrt(2 * (G_f * D * t + b) / a) for a, b in zip(weights, B, strict=True))
            table |= {
                ("regret_bound", t): regret,
                ("sum_positive", t): hard,
                ("positive_sum", t): hard,
            }
    known = Constants(R=R, G_f=G_f, G_g=G_g)
    theorem = TrackingPenaltyTheorem(known, T)
    assert_worked(theorem, table)
    # The roots of 61, 65 and 101, against 2^3 and 2^4.
    assert [len(TrackingPenaltyTheorem(known, n).experts) for n in (30, 32, T)] == [4, 5, N]
    assert len(chosen) >= 3

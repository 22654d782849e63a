"""Descent on smooth sets: every number worked from the statements, at lopsided constants."""

from math import log, sqrt

from surefoot import Constants
from surefoot.rules import LevyKrauseStronglyConvex, LevyKrauseTheorem

from ._worked import assert_worked

G_f, mu, D, D_0, beta, depth, T = 2.3, 0.45, 2.6, 1.9, 1.3, 0.4, 50
KNOWN = Constants(R=1.7, G_f=G_f, strong_convexity=mu)
K = 1 + 1.3 * 3.61 / 0.8


def test_the_numbers_of_smooth_sets():
    eta = D / (G_f * sqrt(K * T))
    table = {"growth": K, "eta": eta, "regret_exponent": 0.5}
    for t in (7, 50):
        table |= {
            ("regret_bound", t): D**2 / (2 * eta) + eta / 2 * K * G_f**2 * t,
            ("round", t): 0.0,
        }
    assert_worked(LevyKrauseTheorem(KNOWN, T, D, D_0, beta, depth), table)


def test_the_numbers_of_smooth_sets_and_strongly_convex_costs():
    table = {"growth": K, "eta": 1 / mu, "regret_exponent": 0.0}
    for t in (7, 50):
        table |= {("regret_bound", t): K * G_f**2 / (2 * mu) * (1 + log(t)), ("round", t): 0.0}
    assert_worked(LevyKrauseStronglyConvex(KNOWN, D_0, beta, depth), table)

"""Agents on a network: every number worked from the statements, at lopsided constants."""

from math import log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import NetworkStronglyConvex, NetworkTheorem

from ._worked import assert_worked

R, G_f, G_g, F, mu = 1.7, 2.3, 0.6, 5.1, 0.45
KNOWN = Constants(R=R, G_f=G_f, G_g=G_g, F=F, strong_convexity=mu)
LOOSE = Constants(R=R, G_f=G_f, G_g=G_g, strong_convexity=mu)


def two_agents(rate):
    """Return the matrix whose second singular value is the rate."""
    near, far = (1 + rate) / 2, (1 - rate) / 2
    return [[near, far], [far, near]]


def convex(F, rate, c):
    alpha, gamma, a = 3.4 / (sqrt(2) * G_f), 1 / 1.44, rate / (1 - rate)
    table = {"alpha": alpha, "gamma": gamma}
    table |= {"regret_exponent": max(c, 1 - c), "violation_exponent": 1 - c / 2}
    for t in (7, 50):
        A = alpha * t ** (1 - c) / (1 - c)
        assert sum(alpha / s**c for s in range(1, t + 1)) < A
        first = 3.4**2 * t**c / (2 * alpha)
        own = first + G_f**2 * A
        H = sqrt(4 / (3 * gamma) * (F * t + own) * A)
        hard = H + sqrt(2) * G_g * a * (G_f * A + gamma * G_g * H)
        table |= {
            ("own_regret_bound", t): own,
            ("own_violation_bound", t): H,
            ("regret_bound", t): first + (1 + a / sqrt(2)) ** 2 * G_f**2 * A,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    return table


def strong(F):
    table = {"alpha": 1 / mu, "eta": 1 / mu, "gamma": 1 / 1.44}
    table |= {"regret_exponent": 0.0, "violation_exponent": 0.5}
    for t in (7, 50):
        h = 1 + log(t)
        hard = sqrt(4 * 1.44 / (3 * mu) * (F * t + G_f**2 / mu * h) * h)
        table |= {
            ("regret_bound", t): G_f**2 / mu * h,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    return table


@pytest.mark.parametrize(
    ("theorem", "table"),
    [
        (NetworkTheorem(KNOWN, 50, two_agents(0.3), 0.35), convex(F, 0.3, 0.35)),
        (NetworkTheorem(LOOSE, 50, two_agents(0.8), 0.7), convex(2 * R * G_f, 0.8, 0.7)),
        (NetworkTheorem(LOOSE, 50, two_agents(0.8)), convex(2 * R * G_f, 0.8, 0.5)),
        (NetworkStronglyConvex(KNOWN, two_agents(0.3)), strong(F)),
        (NetworkStronglyConvex(LOOSE, two_agents(0.3)), strong(2 * R * G_f)),
    ],
)
def test_the_numbers_of_a_network(theorem, table):
    assert_worked(theorem, table)


@pytest.mark.parametrize(
    ("rate", "c", "sentence"),
    [
        (1.0, 0.5, "the network must connect all agents in every round: .* got 1"),
        (0.5, 1.0, "c must be strictly between 0 and 1, got 1.0"),
    ],
)
def test_a_network_that_does_not_mix_is_refused(rate, c, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        NetworkTheorem(KNOWN, 50, two_agents(rate), c)

"""RECOO: every number worked from the statement, its sums by their first terms and integrals."""

from math import log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import RecooTheorem

from ._worked import assert_worked

R, G_f, G_g, mu = 1.7, 2.3, 0.6, 0.45
REGRET = {
    False: lambda t, D: sqrt(2) * G_f * D * sqrt(t),
    True: lambda t, D: G_f**2 / (2 * mu) * (1 + log(t)),
}


def alpha(strong, D, s):
    return mu * s / 2 if strong else G_f / (sqrt(2) * D) * sqrt(s)


def total(p, t):
    """The first term of the sum of s^-p and the integral of the others."""
    return 1 + (log(t) if p == 1 else (1 - t ** (1 - p)) / (p - 1))


def fixed(strong, D, F, first, t):
    p, a = (1.0 if strong else 0.5), alpha(strong, D, 1)
    exact = sum(
        (F + G_f**2 / (4 * alpha(strong, D, s)) + alpha(strong, D, s) * D**2) / s ** (p + 1.5)
        for s in range(1, t)
    )
    bound = 0.0
    if t > 1:
        bound = F * total(p + 1.5, t - 1) + G_f**2 / (4 * a) * total(2 * p + 1.5, t - 1)
        bound += a * D**2 * total(1.5, t - 1)
    assert exact <= bound * (1 + 1e-15) <= 2 * exact
    return first + bound


def changing(strong, D, F, t):
    p, a = (1.0 if strong else 0.5), alpha(strong, D, 1)
    moves = total(p, t)  # alpha_1 times the sum of 1/alpha_s
    B = F * t + G_f**2 / (2 * a) * moves + (0.0 if strong else alpha(strong, D, t) * D**2)
    if strong:  # B_s/s^2, of which (1 + ln s)/s^2 sums to 2.59 at most
        parts = F * total(1, t) + 2.59 * G_f**2 / (2 * a)
    else:  # B_s/(2 s^1.5), where the sum in B_s is at most 2 sqrt s
        parts = F / 2 * total(0.5, t) + (G_f**2 / (2 * a) + a * D**2 / 2) * total(1, t)
    bound = B / t**p + parts + G_g * sqrt(2 * B * moves / a)

    def budget(s):
        each = sum(G_f**2 / (2 * alpha(strong, D, k)) for k in range(1, s + 1))
        return F * s + each + (0.0 if strong else alpha(strong, D, s) * D**2)

    exact = budget(t) / t**p
    exact += sum(budget(s) * (1 / s**p - 1 / (s + 1) ** p) for s in range(1, t))
    exact += G_g * sqrt(2 * budget(t) * sum(1 / alpha(strong, D, s) for s in range(1, t + 1)))
    assert exact <= bound <= 2.5 * exact
    return bound


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize(
    ("known", "D", "F", "first"),
    [
        ({"F": 5.1, "start_slack": -0.35}, 2.6, 5.1, 0.35),
        ({"F": 5.1, "start_slack": 0.35}, 2.6, 5.1, 0.0),
        ({}, 3.4, 3.4 * G_f, 0.6 * 3.4),
    ],
)
def test_the_numbers_of_recoo(strong, varies, known, D, F, first):
    constants = Constants(R=R, G_f=G_f, G_g=G_g, strong_convexity=mu, **known)
    theorem = RecooTheorem(constants, strong, varies, None if D == 2 * R else D)
    table = {
        "alpha": alpha(strong, D, 1),
        "power": 1.0 if strong else 0.5,
        "growth": 0.0 if varies else 1.5,
        "floor": 1.0,
        "regret_exponent": 0.0 if strong else 0.5,
        "violation_exponent": 0.0 if not varies else 0.5 if strong else 0.75,
    }
    for t in (1, 2, 7, 50):
        hard = changing(strong, D, F, t) if varies else fixed(strong, D, F, first, t)
        table |= {
            ("regret_bound", t): REGRET[strong](t, D),
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    assert_worked(theorem, table)

"""Yuan and Lamperski: every number worked from the statements, at lopsided constants."""

from math import log, pi, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import YuanStronglyConvex, YuanTradeOff

from ._worked import assert_worked

R, H, T = 1.7, 0.45, 50


@pytest.mark.parametrize(
    ("known", "D_0", "G", "F"),
    [
        ({"G_f": 2.3, "G_g": 3.1, "start_reach": 2.9, "F": 5.1}, 2.9, 3.1, 5.1),
        ({"G_f": 2.3, "G_g": 0.6}, 3.4, 2.3, 3.4 * 2.3),
    ],
)
@pytest.mark.parametrize(("alpha", "beta"), [(0.2, 0.7), (0.9, 0.4), (0.5, 0.5)])
def test_the_numbers_of_yuan_and_lamperski(known, D_0, G, F, alpha, beta):
    constants = Constants(R=R, rows=3, strong_convexity=H, **known)
    eta, c = D_0 / (G * 2 * T**beta), 4 * G**2 / (2 * H)
    theta = 4 * G**2 / (2 * (1 - alpha)) * eta
    convex, strong = {"eta": eta, "theta": theta}, {"eta": 1 / H, "theta": 4 * G**2 / H}
    convex |= {"regret_exponent": max(beta, 1 - beta), "violation_exponent": 1 - beta}
    strong |= {"regret_exponent": 0.0, "violation_exponent": 0.5}
    for t in (7, 50):
        regret = D_0**2 / (2 * eta) + eta * t / 2 * 4 * G**2
        squared = theta / alpha * (F * t + regret)
        convex |= {
            ("regret_bound", t): regret,
            ("sum_squared", t): squared,
            ("sum_positive", t): sqrt(t * squared),
            ("positive_sum", t): sqrt(t * squared),
        }
        h = 1 + log(t)
        hard = sqrt(4 * c * (F * t + c * h) * h)
        strong |= {
            ("regret_bound", t): c * h,
            ("sum_squared", t): 4 * c * (F * h + pi**2 / 6 * c),
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    choice = {} if beta == 0.5 else {"beta": beta, "alpha": alpha}
    assert_worked(YuanTradeOff(constants, T, **choice), convex)
    assert_worked(YuanStronglyConvex(constants), strong)

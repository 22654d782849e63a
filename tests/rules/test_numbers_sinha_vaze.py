"""Sinha and Vaze: every number worked from the statements, with G_g above G_f."""

from math import log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import SinhaVazeConvex, SinhaVazeStronglyConvex

from ._worked import assert_worked

R, G_f, G_g, H, T = 1.7, 2.3, 3.1, 0.45, 50


@pytest.mark.parametrize("F", [5.1, None])
def test_the_numbers_of_sinha_and_vaze(F):
    known = Constants(R=R, G_f=G_f, G_g=G_g, F=F, strong_convexity=H)
    F = 3.4 * 2.3 if F is None else F
    b, rate = 1 / (2 * 3.1 * 3.4), 1 / (2 * sqrt(50))
    V = 8 * 3.1**2 * (1 + log(50)) / 0.45
    convex = {"diameter": 3.4, "scale": b, "rate": rate}
    convex |= {"regret_exponent": 0.5, "violation_exponent": 0.5}
    strong = {"strong_convexity": H, "V": V, "regret_exponent": 0.0, "violation_exponent": 0.5}
    for t in (7, 50):
        hard = log((1 + sqrt(t / 2) + b * F * t) / (1 - rate * sqrt(t / 2))) / (b * rate)
        regret = sqrt(2) * 3.1 * 3.4 * (1 + rate) * sqrt(t)
        convex |= {
            ("regret_bound", t): regret,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
        regret = 2.3**2 / 0.45 * (1 + log(t))
        hard = sqrt(2 * V * (F * t + regret))
        strong |= {
            ("regret_bound", t): regret,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    assert_worked(SinhaVazeConvex(known, T), convex)
    assert_worked(SinhaVazeStronglyConvex(known, T), strong)

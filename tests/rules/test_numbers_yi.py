"""Clipped penalties: every number worked from the statement, at lopsided constants."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.rules import YiTheorem

from ._worked import assert_worked

R, G_f, G_g, T = 1.7, 2.3, 0.6, 50


@pytest.mark.parametrize(
    ("known", "D_0", "F", "first", "c"),
    [
        ({"start_reach": 2.9, "F": 5.1, "start_slack": -0.35}, 2.9, 5.1, 0.35, 0.3),
        ({"start_reach": 2.9, "F": 5.1, "start_slack": 0.35}, 2.9, 5.1, 0.0, 0.3),
        ({}, 3.4, 3.4 * 2.3, 0.6 * 3.4, 0.5),
        ({}, 3.4, 3.4 * 2.3, 0.6 * 3.4, 0.8),  # g(x_1) is at most G_g D_0
    ],
)
def test_the_numbers_of_clipped_penalties(known, D_0, F, first, c):
    alpha = T**c * 0.36 / 2 + T**c / 2
    table = {"gamma": T ** (c / 2), "alpha": alpha}
    table |= {"regret_exponent": max(c, 1 - c), "violation_exponent": (1 - c) / 2}
    for t in (7, 50):
        B = alpha * D_0**2 + G_f**2 * t / (2 * T**c)
        hard = sqrt(2 * (F * t + B)) / T ** (c / 2)
        table |= {
            ("regret_bound", t): B,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
            ("sum_squared", t): 2 * (F * t + B) / T**c + first**2,
        }
    constants = Constants(R=R, G_f=G_f, G_g=G_g, **known)
    assert_worked(YiTheorem(constants, T, *([] if c == 0.5 else [c])), table)
    with pytest.raises(ValueError, match=r"^c must be strictly between 0 and 1, got 1\.0$"):
        YiTheorem(constants, T, 1.0)

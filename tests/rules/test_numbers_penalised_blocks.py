"""Penalised descent in blocks: every number worked from the statement, at lopsided constants."""

from math import ceil, log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import PenalisedBlocksTheorem

from ._worked import assert_worked

R, G_f, G_g, D, T, b = 1.7, 2.3, 0.6, 2.6, 50, 8


def table(F):
    eta, c = D / (G_f * sqrt(800)), D * sqrt(8 / 50)
    theta = 4 * eta * b * 0.36
    found = {"block": b, "eta": eta, "closeness": c, "theta": theta}
    found |= {"regret_exponent": 0.75, "violation_exponent": 0.75}
    for p in (0.3, 40.0):  # eta times a block's sum of gradients, and c: the first way of a block
        first = c + eta * b * (G_f + p / theta * G_g)
        calls = 6 * (1 + ceil(2 * D**2 / c**2 * log(first / c)))
        found["linear_minimisations", p] = calls
    for t in (7, 50):
        B = D**2 / (2 * eta) + eta * b * G_f**2 * t + c * G_f * t + c**2 / (4 * eta * b) * t
        squared = 2 * theta * (F * t + B)
        hard = sqrt(t * squared)
        found |= {
            ("regret_bound", t): B,
            ("sum_squared", t): squared,
            ("sum_positive", t): hard,
            ("positive_sum", t): hard,
        }
    return found


@pytest.mark.parametrize("F", [5.1, None])
def test_the_numbers_of_penalised_blocks(F):
    theorem = PenalisedBlocksTheorem(Constants(R=R, G_f=G_f, G_g=G_g, F=F), T, D)
    assert_worked(theorem, table(2 * R * G_f if F is None else F))

"""Descent with a separation oracle: every number worked from the statement."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.rules import SeparationTheorem

from ._worked import assert_worked

R, G_f, r, T = 1.7, 2.3, 0.5, 50
GROWTH = 7.8  # 1 + 2 kappa, kappa = 3.4


@pytest.mark.parametrize(
    ("reach", "D_0", "more"),
    [(2.9, 2.9, 3.4**2), (None, 3.4, 3.4**2), (1.7, 1.7, 0.0)],
)
def test_the_numbers_of_separation(reach, D_0, more):
    eta = D_0 / (G_f * sqrt(GROWTH * T))
    table = {"kappa": 3.4, "eta": eta, "depth": D_0 / sqrt(GROWTH * T), "cuts": 390 + more}
    table["regret_exponent"] = 0.5
    for t in (7, 50):
        line = eta / 2 * GROWTH * G_f**2 * t
        table |= {
            ("regret_bound", t): D_0**2 / (2 * eta) + line,
            ("interval_bound", t): 2 * R**2 / eta + line,
            ("round", t): 0.0,
        }
    assert_worked(SeparationTheorem(Constants(R=R, G_f=G_f, start_reach=reach), T, r), table)


def test_the_horizon_that_separation_needs():
    # D_0/sqrt(7.8 T) < r: T > (2.9/0.5)^2/7.8 = 4.3
    known = Constants(R=R, G_f=G_f, start_reach=2.9)
    with pytest.raises(ValueError, match=r"needs a horizon of at least 5 rounds .* got 4$"):
        SeparationTheorem(known, 4, r)
    assert SeparationTheorem(known, 5, r).depth < r


def test_the_condition_number_is_at_least_1():
    known = Constants(R=R, G_f=G_f, start_reach=1.7)
    theorem = SeparationTheorem(known, T, R * (1 + 1e-10))  # rounding in the inner radius
    assert theorem.kappa == 1.0
    with pytest.raises(ValueError, match=r"^inner_radius must be at most the outer radius"):
        SeparationTheorem(known, T, R * (1 + 1e-8))

"""A tightened base: every number worked from the statement, with real bases."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.theory import Tightened, YiTheorem, YuNeelyTheorem, tightened_constants

from ._worked import assert_worked

R, G_f, G_g, D_0, F, T = 1.7, 0.23, 0.6, 2.9, 0.51, 5_000
KNOWN = Constants(
    R=R, G_f=G_f, G_g=G_g, D_g=0.9, rows=3, F=F, start_reach=D_0, sigma=0.45, epsilon=0.22,
    start_slack=0.47,
)  # fmt: skip


@pytest.mark.parametrize(
    ("constants", "kappa"),
    [
        (KNOWN, 1 / 0.45),
        (KNOWN.with_origin("given", sigma=None), 2.9 / 0.47),
        (KNOWN.with_origin("given", start_reach=0.3), 0.3 / 0.47),
    ],
)
def test_the_numbers_of_a_tightened_base(constants, kappa):
    reach = constants.reach
    base = YiTheorem(tightened_constants(constants, 0.21), T, 0.7)
    weight = T**0.7
    B = {t: weight * 1.36 / 2 * reach**2 + G_f**2 * t / (2 * weight) for t in (700, T)}
    S = {t: sqrt(2 * (F * t + B[t]) / weight) for t in B}
    rho = S[T] / T
    table = {"rho": rho, "room": 0.21, "tightening_cost": kappa, "regret_exponent": 0.7}
    for t in B:
        table |= {
            ("regret_bound", t): B[t] + G_f * rho * kappa * t,
            ("soft", t): 0.0 if t == T else max(S[t] - rho * t, 0.0),
            ("hard", t): S[t],
            ("squared", t): S[t] ** 2,
        }
    assert table["soft", 700] > 0
    assert_worked(Tightened(constants, T, base), table)


def test_the_numbers_of_a_tightened_base_with_a_promise_for_each_row():
    base = YuNeelyTheorem(tightened_constants(KNOWN, 0.21), T)
    root, values, beta = sqrt(T), sqrt(3) * 1.11, 3 * 0.36  # D_g grows by the room
    c = F + G_f**2 / (2 * root)
    queue = (values + c / (0.26 * root)) ** 2 + (beta + 1) * 3.4**2 + 2 * c / root + values**2
    S = sqrt(queue) - 0.26
    table = {"rho": S / T, "room": 0.21, "tightening_cost": 1 / 0.45}
    table["regret_exponent"] = 0.5
    for t in (700, T):
        regret = (beta + 1) / 2 * root * D_0**2 + G_f**2 * t / (2 * root)
        table |= {
            ("regret_bound", t): regret + G_f * S / T / 0.45 * t,
            ("rows", t): 0.0 if t == T else S - S / T * t,
        }
    assert_worked(Tightened(KNOWN, T, base), table)

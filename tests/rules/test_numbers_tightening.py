"""A tightened base: every number worked from the statement, with real bases."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.rules import Tightened, YiTheorem, YuNeelyTheorem, tightened_constants

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
            ("positive_sum", t): 0.0 if t == T else max(S[t] - rho * t, 0.0),
            ("sum_positive", t): S[t],
            ("sum_squared", t): S[t] ** 2,
        }
    assert table["positive_sum", 700] > 0
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


@pytest.mark.parametrize(
    ("changed", "room"),
    [
        ({"D_g": 1.05, "start_slack": 0.27, "epsilon": 0.04}, 0.15),
        ({"D_g": 1.15, "start_slack": 0.27, "epsilon": 0.02}, 0.2),
        ({"D_g": 1.15, "start_slack": 0.22, "epsilon": 0.04}, 0.18),
        # What the base does not know, it does not count on.
        ({"D_g": None, "start_slack": 0.27, "epsilon": 0.02}, 0.2),
        ({"D_g": 1.15, "start_slack": None, "epsilon": 0.04}, 0.18),
        ({"D_g": 1.05, "start_slack": None, "epsilon": None, "sigma": None}, 0.15),
    ],
)
def test_the_room_is_the_least_that_the_constants_of_the_base_leave(changed, room):
    base = YiTheorem(KNOWN.with_origin("given", **changed), T, 0.7)
    assert Tightened(KNOWN, T, base).room == pytest.approx(room, rel=1e-12)
    known = {name: None for name, value in changed.items() if value is not None}
    without = KNOWN.with_origin("given", **{**known, "epsilon": 0.22, "sigma": 0.45})
    if "epsilon" in known:  # the only level that the problem itself knows
        left = Tightened(without, T, base).room
        assert left == pytest.approx(0.22 - changed["epsilon"], rel=1e-12)


def test_the_least_horizon_is_that_of_a_base_tuned_for_it():
    def rho(n):  # S_n/n of the base with its parameters for n rounds
        weight = n**0.7
        B = weight * 1.36 / 2 * D_0**2 + G_f**2 * n / (2 * weight)
        return sqrt(2 * (F * n + B) / weight) / n

    base = tightened_constants(KNOWN, 0.021)
    least = next(n for n in range(30, 1000) if rho(n) <= 0.021)
    sentence = f"^horizon must be at least {least} rounds .* by {rho(30):.3g}, .* 0.021 .* got 30$"
    with pytest.raises(ValueError, match=sentence):
        Tightened(KNOWN, 30, YiTheorem(base, 30, 0.7))
    assert Tightened(KNOWN, least, YiTheorem(base, least, 0.7)).rho <= 0.021
    with pytest.raises(ValueError, match=f"at least {least} rounds"):
        Tightened(KNOWN, least - 1, YiTheorem(base, least - 1, 0.7))

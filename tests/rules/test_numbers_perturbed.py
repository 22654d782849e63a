"""Noise and drift: every number worked from the statements, at lopsided constants."""

from math import inf, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import BoundedNoise, SlowDrift

from ._worked import assert_worked

R, G_f, G_g = 1.7, 2.3, 2.5
BASE = {"R": R, "G_f": G_f, "G_g": G_g, "start_slack": 0.3}


@pytest.mark.parametrize(
    ("more", "level", "sigma", "kappa"),
    [
        ({"sigma": 1.5, "epsilon": 0.2}, 0.2, 1.5, 1 / 1.5),
        ({"sigma": 1.5, "epsilon": 0.4, "start_reach": 0.1}, 0.3, 1.5, 0.1 / 0.3),
        ({"start_reach": 0.2}, 0.15, 0.75, 0.2 / 0.3),
    ],
)
@pytest.mark.parametrize(("delta", "slope"), [(0.003, 0.0017), (0.0, 0.003), (0.005, 0.0)])
@pytest.mark.parametrize("T", [3, 200_000, 10**9])
def test_the_numbers_of_bounded_noise(more, level, sigma, kappa, delta, slope, T):
    shift = delta + 3.4 * slope
    least = 2 * G_g * (shift + delta) / sigma
    xi = 1 - sqrt(1 - sigma**2 / (4 * (G_g + slope) ** 2))
    s = (1 - 1e-9) * xi / G_g  # a billionth shorter than allowed
    # The minimiser of 2R^2 G_f/(s rho) + (s/2 + kappa) G_f rho T, between the noise and the level.
    rho = min(level, max(least, sqrt(2 * R**2 / (s * (s / 2 + kappa) * T))))
    assert least < level
    eta = s * rho / G_f
    table = {"shift": shift, "tightening": rho, "rho": rho - shift, "eta": eta, "cost": kappa}
    table |= {"sigma": sigma, "level": level, "regret_exponent": 1.0}
    for t in (7, 50):
        regret = 2 * R**2 / eta + eta / 2 * G_f**2 * t + kappa * G_f * rho * t
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    theorem = BoundedNoise(Constants(**BASE | more), T, delta, slope)
    assert_worked(theorem, table)
    seen = {p.quantity: (p.limit, p.level) for p in theorem.premises}
    near, start = seen["subgradient near the boundary"], seen["start"]
    assert near == pytest.approx((sigma - slope, level - delta), rel=1e-12)
    assert start == pytest.approx((0.3 - delta, 0.0), rel=1e-12)
    assert seen["constraint subgradient"] == pytest.approx((G_g + slope, 0.0), rel=1e-12)


@pytest.mark.parametrize(
    ("more", "common", "level", "sigma", "kappa"),
    [
        ({"sigma": 1.5, "epsilon": 0.2}, (None, None), 0.2, 1.5, None),
        ({"sigma": 1.5, "epsilon": 0.4}, (0.25, 0.1), 0.25, 1.5, 0.1 / 0.25),
        ({"sigma": 1.5, "epsilon": 0.2}, (0.25, 0.025), 0.2, 2.0, 0.025 / 0.25),
        ({"sigma": 1.5, "epsilon": 0.4}, (0.35, None), 0.3, 1.5, 3.4 / 0.35),
        ({}, (0.24, 0.16), 0.12, 0.75, 0.16 / 0.24),
    ],
)
@pytest.mark.parametrize("T", [3, 10**6])
def test_the_numbers_of_slow_drift(more, common, level, sigma, kappa, T):
    nu = 0.0011
    s = (1 - 1e-9) * (1 - sqrt(1 - (sigma / G_g) ** 2)) / G_g
    # The minimiser of 2R^2/eta + (eta/2) G_f^2 T + kappa G_f rho T, s rho = eta G_f + nu/sigma;
    # as if kappa were 1/sigma where it is not known.
    price = 1 / sigma if kappa is None else kappa
    rho = (sqrt(2 * R**2 / ((1 / 2 + price / s) * T)) + nu / sigma) / s
    assert (rho > level) == (T == 3)
    rho = min(level, rho)
    eta = (s * rho - nu / sigma) / G_f
    table = {"rho": rho, "eta": eta, "level": level, "sigma": sigma}
    table["cost"] = inf if kappa is None else kappa
    if kappa is not None:
        table["regret_exponent"] = 1.0
    for t in (7, 50):
        regret = 2 * R * G_f * t  # as for every rule
        if kappa is not None:
            regret = 2 * R**2 / eta + eta / 2 * G_f**2 * t + kappa * G_f * rho * t
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    assert_worked(SlowDrift(Constants(**BASE | more), T, nu, *common), table)

"""Theorem 1 and its corollaries: every number worked from the paper, at lopsided constants."""

from math import ceil, exp, log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import Corollary1, Corollary2, Corollary3, Theorem1

from ._worked import assert_worked

R, G_f, epsilon = 1.7, 2.3, 0.45
# sigma/G_g is 3/5 and then 4/5: gamma = 0.64 and xi = 0.2; gamma = 0.36 and xi = 0.4.
SLOPES = [(1.5, 2.5, 0.8, 0.2), (2.4, 3.0, 0.6, 0.4)]


def constants(sigma, G_g, **known):
    return Constants(R=R, G_f=G_f, G_g=G_g, sigma=sigma, epsilon=epsilon, **known)


@pytest.mark.parametrize(("sigma", "G_g", "root", "xi"), SLOPES)
@pytest.mark.parametrize(
    ("slack", "distance"), [(0.14, 0.21), (-0.55, 0.9), (-99.0, None), (None, None)]
)
@pytest.mark.parametrize("cost", [None, 0.17])
def test_the_numbers_of_theorem_1(sigma, G_g, root, xi, slack, distance, cost):
    eta, rho = 0.013, 0.35
    distance = 3.4 if distance is None else distance / sigma
    drift = eta * G_g * G_f / xi
    table = {"drift": drift, "start_distance": distance, "regret_exponent": 0.5}
    for t in (3, 50):
        regret = 2 * R**2 / eta + eta / 2 * G_f**2 * t
        table |= {
            ("regret_bound", t): regret + G_f * rho * (1 / sigma if cost is None else cost) * t,
            ("round", t): G_g * root ** (t - 1) * distance + drift - rho,
        }
    theorem = Theorem1(constants(sigma, G_g, start_slack=slack), eta, rho, 50, cost)
    assert_worked(theorem, table)


@pytest.mark.parametrize(("sigma", "G_g", "root", "xi"), SLOPES)
@pytest.mark.parametrize("eta", [0.002, 0.009])
def test_the_first_feasible_round_of_theorem_1(sigma, G_g, root, xi, eta):
    # G_g root^(t-1) 2R <= rho - eta G_g G_f/xi
    room = 0.35 - eta * G_g * G_f / xi
    first = 1 + ceil(log(G_g * 3.4 / room) / log(1 / root))
    theorem = Theorem1(constants(sigma, G_g), eta, 0.35)
    assert (theorem.kind, theorem.first_feasible) == ("after t0", first)


@pytest.mark.parametrize("T", [50, 20_000])
@pytest.mark.parametrize(("sigma", "G_g", "root", "xi"), SLOPES)
def test_the_numbers_of_the_corollaries(sigma, G_g, root, xi, T):
    # Steps of Corollary 1 are a billionth shorter than printed, for rounding.
    rho, eta = 0.14 / sqrt(T), (1 - 1e-9) * xi * 0.14 / sqrt(T) / (G_f * G_g)
    first = {"rho": rho, "eta": eta, "regret_exponent": 0.5}
    for t in (3, 50):
        regret = 2 * R**2 / eta + eta / 2 * G_f**2 * t + G_f * rho / sigma * t
        first |= {("regret_bound", t): regret, ("round", t): 0.0}
    assert_worked(Corollary1(constants(sigma, G_g, start_slack=0.14), T), first)

    rho, eta = 0.45 / sqrt(T), xi * 0.45 / (2 * G_f * G_g * sqrt(T))
    t0 = 1 + ceil(2 * G_g**2 / sigma**2 * log(4 * G_g * R * sqrt(T) / 0.45))
    second = {"rho": rho, "eta": eta, "first_feasible": t0, "regret_exponent": 0.5}
    for t in (3, 50):
        regret = 2 * R**2 / eta + eta / 2 * G_f**2 * t + G_f * rho / sigma * t
        each = G_g * root ** (t - 1) * 3.4 + eta * G_g * G_f / xi - rho
        second |= {("regret_bound", t): regret, ("round", t): each}
    eventually = Corollary2(constants(sigma, G_g), T)
    if T == 50:
        assert not eventually.is_cumulative
    else:  # 4 R G_g/(epsilon xi) is 188.9 and 113.3 or less; the sum at T alone
        long = 4 * R * G_g / (0.45 * xi)
        assert eventually.is_cumulative == (sqrt(T) >= long)
    assert_worked(eventually, second)

    eta = 3.4 / (G_f * sqrt(T))
    third = {"rho": 0.0, "eta": eta, "regret_exponent": 0.5, "violation_exponent": 0.5}
    for t in (3, 50):
        each = [G_g * root ** (s - 1) * 3.4 + 3.4 * G_g / (xi * sqrt(T)) for s in range(1, t + 1)]
        third |= {
            ("regret_bound", t): 2 * R**2 / eta + eta / 2 * G_f**2 * t,
            ("round", t): each[-1],
            ("sum_positive", t): sum(each),
            ("positive_sum", t): sum(each),
        }
        printed = 2 * R * G_g * exp(-(sigma**2) * (t - 1) / (2 * G_g**2))
        assert each[-1] <= printed + 2 * R * G_g / (xi * sqrt(T))
    assert_worked(Corollary3(constants(sigma, G_g), T), third)


def test_the_edges_of_corollary_2():
    # A tightening that is more than all of the ball: feasible from the first round.
    deep = Constants(R=0.1, G_f=G_f, G_g=2.5, sigma=1.5, epsilon=9.0)
    assert Corollary2(deep, 1).first_feasible == 1
    # The sum is promised at the horizon alone, so not where other rounds are asked for with it.
    eventually = Corollary2(constants(2.4, 3.0), 20_000)
    assert eventually.is_cumulative
    assert eventually.bounds([20_000, 20_000])["positive_sum"].tolist() == [0.0, 0.0]
    assert "positive_sum" not in eventually.bounds([50, 20_000])

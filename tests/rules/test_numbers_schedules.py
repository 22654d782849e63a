"""Schedules of Polyak steps: every number worked from the statements, at lopsided constants."""

from math import ceil, log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import StronglyConvexSchedule, UnknownGradients, UnknownHorizon

from ._worked import assert_worked

R, G_f, G_g, H = 1.7, 2.3, 2.5, 0.45
HAIR = 1 - 1e-9  # steps are a billionth shorter than allowed
BASE = {"R": R, "G_f": G_f, "G_g": G_g, "strong_convexity": H, "start_slack": 0.3}
# The level a, sigma with its xi, and the price kappa of tightening, by what is known.
KNOWN = {
    "sigma, as it is": ({"sigma": 1.5, "epsilon": 0.4}, 0.3, 1.5, 1 / 1.5),
    "sigma, at a lower level": ({"sigma": 1.5, "epsilon": 0.2}, 0.2, 1.5, 1 / 1.5),
    # (0.3 - 0.2)/0.05 = 2 is more than sigma, and 0.05/0.3 less than 1/sigma
    "a near start": ({"sigma": 1.5, "epsilon": 0.2, "start_reach": 0.05}, 0.2, 2.0, 0.05 / 0.3),
    "the start alone": ({"start_reach": 2.9}, 0.15, 0.15 / 2.9, 2.9 / 0.3),
    "the start, without its reach": ({}, 0.15, 0.15 / 3.4, 3.4 / 0.3),
}


def unfold(name):
    """Return the constants, the level, sigma, the shortened xi and kappa."""
    more, a, sigma, kappa = KNOWN[name]
    return Constants(**BASE | more), a, sigma, HAIR * (1 - sqrt(1 - (sigma / G_g) ** 2)), kappa


@pytest.mark.parametrize("name", KNOWN)
def test_the_numbers_without_a_horizon(name):
    known, a, sigma, xi, kappa = unfold(name)
    s = xi / (G_f * G_g)
    table = {"rho": a, "level": a, "sigma": sigma, "xi": xi / HAIR, "cost": kappa, "step_size": s}
    table["regret_exponent"] = 0.5
    table |= {("tightening", 9): a / 3, "offset": 0.0, "power": 0.5}
    for t in (7, 50):
        regret = (2 * R**2 / (s * a) + s * a * G_f**2 + 2 * kappa * a * G_f) * sqrt(t)
        table |= {("regret_bound", t): regret + R * kappa / s * log(t), ("round", t): 0.0}
    assert_worked(UnknownHorizon(known), table)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("T", [None, 40, 90_000])
@pytest.mark.parametrize("name", KNOWN)
def test_the_numbers_without_G_f(name, T, adaptive):
    known, a, _, xi, kappa = unfold(name)
    s, c = xi / G_g, (sqrt(2) * R if adaptive else float("inf"))
    rho = a if T is None else min(a, R * sqrt(2 / (s * (s / 2 + kappa) * T)))
    table = {"rho": rho, "step_size": s, "power": 0.5 if T is None else 0.0, "offset": 0.0}
    table["regret_exponent"] = 0.5
    if adaptive:
        table["adagrad"] = c
    for t in (7, 50):
        L, root = G_f, G_f * sqrt(t)  # of the largest gradient, of the sum of their squares
        if T is None:
            regret = 2 * R**2 * max(L * sqrt(t) / (s * a), root / c)
            regret += min(c * root, s * a * L * sqrt(t))
            regret += kappa * a * min(2 * L * sqrt(t), root * sqrt(1 + log(t)))
            regret += R * kappa * L * max(1 / s, a / c) * log(t)
        else:
            regret = 2 * R**2 * max(L / (s * rho), root / c)
            regret += min(c * root, s * rho / 2 * L * t) + kappa * rho * L * t
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    table["tightening", 9] = rho / 3 if T is None else rho
    assert_worked(UnknownGradients(known, T, adaptive), table)


def test_the_numbers_without_G_f_where_the_limit_of_adagrad_decides():
    # A step of up to 0.4 a round and a ball of 0.01: c = 0.014.
    known = Constants(R=0.01, G_f=G_f, G_g=G_g, sigma=2.5, epsilon=0.4, start_slack=0.3)
    s, a, c, kappa = HAIR * 0.4, 0.3, sqrt(2) * 0.01, 0.02 / 0.3
    table = {"adagrad": c, "rho": a, "step_size": s, "cost": kappa, "regret_exponent": 0.5}
    for t in (2, 50):
        root = G_f * sqrt(t)
        regret = 2 * 0.01**2 * root / c + c * root
        regret += kappa * a * root * min(2, sqrt(1 + log(t)))
        regret += 0.01 * kappa * G_f * a / c * log(t)
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    assert_worked(UnknownGradients(known, adaptive=True), table)
    # With a horizon, and a tightening that the horizon decides.
    T = 10**6
    rho = 0.01 * sqrt(2 / (s * (s / 2 + kappa) * T))
    table = {"rho": rho, "regret_exponent": 0.5}
    for t in (10**4, 10**6, 10**8):
        root = G_f * sqrt(t)
        regret = 2 * 0.01**2 * max(G_f / (s * rho), root / c)
        regret += min(c * root, s * rho / 2 * G_f * t) + kappa * rho * G_f * t
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    assert rho < a
    assert_worked(UnknownGradients(known, T, adaptive=True), table)


@pytest.mark.parametrize("name", KNOWN)
def test_the_numbers_of_strongly_convex_costs(name):
    known, a, _, xi, kappa = unfold(name)
    C = G_f * G_g / (xi * H)
    t0 = ceil(C / a) - 1
    table = {"rho": C, "offset": t0, "power": 1.0, "step_size": xi / (G_f * G_g)}
    table["regret_exponent"] = 0.0
    table["tightening", 9] = C / (9 + t0)
    for t in (7, 50):
        rise = log((t + t0) / (1 + t0))
        regret = 2 * H * t0 * R**2 + 2 * R * H * kappa * C * rise
        regret += (G_f**2 / (2 * H) + kappa * G_f * C) * (1 / (1 + t0) + rise)
        table |= {("regret_bound", t): regret, ("round", t): 0.0}
    assert_worked(StronglyConvexSchedule(known), table)


@pytest.mark.parametrize("size", [1.0, 0.01])
@pytest.mark.parametrize("T", [None, 3])
@pytest.mark.parametrize(("R", "xi"), [(1.7, 0.4), (0.01, 1.0)])  # AdaGrad's limit decides last
@pytest.mark.parametrize("adaptive", [False, True])
def test_the_numbers_of_theorem_E2_on_what_was_observed(adaptive, R, xi, T, size):
    known = Constants(R=R, G_f=G_f, G_g=G_g, sigma=2.0, epsilon=0.2, start_slack=0.3)
    sizes = [1.1 * size, 0.4 * size, 2.2 * size]
    s, c, kappa = HAIR * xi / G_g, sqrt(2) * R, min(0.5, 2 * R / 0.3)
    rho = [0.2, 0.2 / sqrt(2), 0.2 / sqrt(3)]
    if T is not None:
        rho = [min(0.2, R * sqrt(2 / (s * (s / 2 + kappa) * 3)))] * 3
    slow = [L / (s * r) for L, r in zip([1.1 * size, 1.1 * size, 2.2 * size], rho, strict=True)]
    if adaptive:
        roots = [size * r for r in (1.1, sqrt(1.21 + 0.16), sqrt(1.21 + 0.16 + 4.84))]
        assert all((r / c > b) == (R < 1 and T is None) for b, r in zip(slow, roots, strict=True))
        slow = [max(b, r / c) for b, r in zip(slow, roots, strict=True)]
    wanted = []
    for n in (1, 2, 3):
        bound = 2 * R**2 * slow[n - 1]
        bound += sum(z**2 / b for z, b in zip(sizes[:n], slow[:n], strict=True)) / 2
        bound += kappa * sum(z * r for z, r in zip(sizes[:n], rho[:n], strict=True))
        bound += 2 * R * kappa * sum((rho[i] - rho[i + 1]) * slow[i] for i in range(n - 1))
        wanted.append(bound)
    found = UnknownGradients(known, T, adaptive).observed_bound(sizes)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_the_numbers_of_theorem_E2_where_steps_do_not_follow_the_gradients():
    known, a, _, xi, kappa = unfold("a near start")
    s, b = xi / (G_f * G_g), a / sqrt(2)
    wanted = 2 * R**2 / (s * b) + s / 2 * (a * 1.21 + b * 0.16) + kappa * (1.1 * a + 0.4 * b)
    wanted += 2 * R * kappa * (a - b) / (s * a)
    assert UnknownHorizon(known).observed_bound([1.1, 0.4])[1] == pytest.approx(wanted, rel=1e-12)

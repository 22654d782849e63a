"""The offline ancestors: worked steps, inequalities, bounds, and their kinship with PFS."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import PFS, Ball, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.rules.related.cvv_pro import CVVPro
from surefoot.rules.related.offline import (
    correct,
    correct_all,
    corrections_bound,
    deep_cut,
    gap_bound,
    linearised_step,
    polyak_bound,
    polyak_step,
    proximal_step,
    velocity_step,
)
from surefoot.sets import Box

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), SEEDS)
def test_a_polyak_step_comes_nearer_by_what_its_inequality_says(d, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, d)), rng.normal(size=6)
    best = rng.normal(size=d)
    value = lambda x: float(np.abs(A @ (x - best)).sum())  # noqa: E731
    x = rng.normal(size=d) * 3 + b[0]
    s = A.T @ np.sign(A @ (x - best))
    new = polyak_step(x, value(x), s, 0.0)
    before, after = ((p - best) @ (p - best) for p in (x, new))
    assert after <= before - value(x) ** 2 / (s @ s) + 1e-9 * (1 + before)


def test_the_best_of_k_polyak_steps_is_within_its_bound():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(8, 4))
    x, G_f = rng.normal(size=4) * 5, float(np.linalg.norm(A, axis=1).sum())
    distance, best = float(np.linalg.norm(x)), math.inf
    for k in range(1, 300):
        r = A @ x
        best = min(best, float(np.abs(r).sum()))
        assert best <= polyak_bound(k, G_f, distance)
        x = polyak_step(x, float(np.abs(r).sum()), A.T @ np.sign(r), 0.0)


def test_deep_cuts_are_fewer_than_their_bound():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 5))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    radius = 0.3  # every row is met on the ball of that radius around 0
    x, cuts = np.full(5, 2.0), 0
    limit = corrections_bound(float(np.linalg.norm(x)), radius)
    for i in rng.integers(0, 30, 5000):
        g = float(A[i] @ x) - radius
        before = x @ x
        x = deep_cut(x, g, A[i], radius, Ball(9.0))
        if g > 0:
            cuts += 1
            assert x @ x < before - radius**2 + 1e-12
    assert 0 < cuts <= limit
    assert (A @ x <= radius).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.floats(0.1, 1.9), st.floats(0.01, 2.0), SEEDS)
def test_a_corrected_step_keeps_its_inequality(d, beta, alpha, seed):
    rng = np.random.default_rng(seed)
    domain, a = Ball(2.0), rng.normal(size=d)
    gradient, x = rng.normal(size=d), domain.project(rng.normal(size=d))
    limit = 0.5
    for v in (domain.project(x - alpha * gradient),):
        e = float(a @ v) - limit
        new = correct(v, e, a, domain, beta)
        for u in rng.normal(size=(20, d)):
            u = domain.project(u)
            if a @ u > limit:
                continue
            won = beta * (2 - beta) * max(e, 0.0) ** 2 / float(a @ a)
            bound = (
                (x - u) @ (x - u)
                - 2 * alpha * gradient @ (x - u)
                + alpha**2 * gradient @ gradient
                - won
            )
            assert (new - u) @ (new - u) <= bound + 1e-9


def test_random_corrections_reach_the_optimum_at_their_rate():
    # min x[0] + x[1] over the square |x_i| <= 1 inside the ball of radius 2, a row per step.
    rows = np.vstack([np.eye(2), -np.eye(2)])
    k, D, G = 4000, 4.0, math.sqrt(2)
    regularity = 4 * (D / 1.0) ** 2
    step, gap, distance = gap_bound(k, D, G, regularity, 1.0)
    domain, x, rng = Ball(2.0), np.zeros(2), np.random.default_rng(1)
    mean = np.zeros(2)
    for i in rng.integers(0, 4, k):
        v = domain.project(x - step * np.ones(2))
        mean += v / k
        x = correct(v, float(rows[i] @ v) - 1.0, rows[i], domain)
    assert mean.sum() - (-2.0) <= gap
    assert np.linalg.norm(mean - np.clip(mean, -1, 1)) <= distance


def test_one_sample_is_the_single_correction():
    row = lambda x: (float(x[0]) - 0.5, np.array([1.0, 0.0]))  # noqa: E731
    v, domain = np.array([1.5, 0.25]), Ball(3.0)
    single = correct(v, *row(v), domain)
    np.testing.assert_array_equal(correct_all(v, [row], domain), single)
    np.testing.assert_array_equal(correct_all(v, [row], domain, order="sequential"), single)
    plain = proximal_step(np.array([2.0, 0.0]), np.array([1.0, 0.0]), 0.5, lambda y, _: y)
    np.testing.assert_array_equal(plain, [1.5, 0.0])


def rounds(d, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.normal(size=d), rng.normal() * 0.3, rng.normal(size=d)


def test_the_linearised_step_is_pfs_without_a_tightening():
    player = PFS(eta=0.1, rho=0.0, domain=Ball(1.0))
    state, x = player.init(np.zeros(3)), np.zeros(3)
    for gradient, g, s in rounds(3, 500, 0):
        state = player.update(state, Feedback(gradient, g, s))
        x = linearised_step(x, gradient, g, s, 0.1, Ball(1.0))
        np.testing.assert_allclose(x, state.x, atol=1e-12)


def test_a_velocity_with_alpha_one_over_eta_is_pfs_without_a_tightening():
    eta = 0.1
    player = PFS(eta=eta, rho=0.0, domain=Ball(1e6))
    for gradient, g, s in rounds(3, 500, 1):
        x = np.array([0.1, -0.2, 0.3])
        after = player.update(player.init(x), Feedback(gradient, g, s))
        new = velocity_step(x, gradient, g, s, eta, 1 / eta, always=True)
        np.testing.assert_allclose(new, after.x, atol=1e-12)
        if g >= 0:
            np.testing.assert_array_equal(new, velocity_step(x, gradient, g, s, eta, 1 / eta))


def test_a_velocity_that_always_acts_may_cut_a_feasible_point_off():
    # g(x) = x on the line at x = -1; u = 0 is feasible, and eta alpha = 1/4.
    x, gradient, one = np.array([-1.0]), np.array([-1.0]), np.array([1.0])
    eta, alpha = 0.5, 0.5
    new = velocity_step(x, gradient, -1.0, one, eta, alpha, always=True)
    assert new.tolist() == [-0.75]
    v = (new - x) / eta
    telescoped = (1.0 - 0.75**2) / (2 * eta) + eta / 2 * float(v @ v)
    assert float(gradient @ x) > telescoped
    # Only violated, it keeps the inequality.
    free = velocity_step(x, gradient, -1.0, one, eta, alpha)
    assert free.tolist() == [-0.5]
    assert float(gradient @ x) <= (1.0 - 0.25) / (2 * eta) + eta / 2


def test_cvv_pro_with_one_violated_row_is_the_velocity_step():
    player = CVVPro(alpha=0.7, radius=100.0)
    state = player.init(np.zeros(3))
    for t, (gradient, g, s) in enumerate(rounds(3, 300, 2), start=1):
        eta = 1 / (0.7 * math.sqrt(t + 15))
        new = velocity_step(state.x, gradient, g, s, eta, 0.7)
        state = player.update(state, Feedback(gradient, np.array([g]), s[None]))
        np.testing.assert_allclose(state.x, new, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: polyak_step(np.zeros(1), 1.0, np.zeros(1), 0.0), "s must not be 0"),
        (lambda: correct(np.zeros(1), 1.0, np.ones(1), Box.cube(1.0, 1), 2.0), "beta must be"),
        (lambda: correct_all(np.zeros(1), [], Ball(1.0)), "constraints must not be empty"),
        (lambda: deep_cut(np.zeros(1), 1.0, np.ones(1), 0.0, Ball(1.0)), "radius must be"),
        (lambda: correct_all(np.zeros(1), [1], Ball(1.0), order="x"), "order must be one of"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(InvalidValueError, match=message):
        call()

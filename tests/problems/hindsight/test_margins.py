"""Lower bounds survive rounding and wrong multipliers; drawn back points are feasible."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Quadratic
from surefoot.problems.hindsight import _draw_back, _Model, closed_form
from surefoot.sets import Ball, Box


def exact_root(q):
    return Fraction(math.isqrt((q.numerator << 400) // q.denominator), 1 << 200)


def test_a_large_common_offset_does_not_cancel():
    targets = 1e8 + np.array([[1.0], [2.0], [4.0]]) / 3
    best = closed_form(Quadratic(targets, 2.0), Box([0.0], [1e9]), np.array([3]))
    x = [Fraction(float(v)) for v in targets[:, 0]]
    mean = sum(x) / 3
    exact = float(sum((v - mean) ** 2 for v in x))
    assert abs(best.value[0] - exact) <= 1e-12 * exact


def test_the_mean_of_many_far_targets_keeps_its_digits_in_every_round():
    T = 20_000
    near = np.random.default_rng(0).normal(size=(T, 1))
    targets = 1e8 + near
    best = closed_form(Quadratic(targets, 2.0), Box([0.0], [1e9]), np.arange(1, T + 1))
    # Differences from 1e8 are exact; the mean is rounded to the last digit of 1e8, 1.5e-8.
    mean = math.fsum((targets - 1e8).ravel()) / T
    assert abs((best.action[-1, 0] - 1e8) - mean) <= 2e-8


def test_the_lower_bound_of_a_model_is_below_its_exact_minimum():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cost = rng.normal(size=(5, 4)) * 10.0 ** rng.integers(-3, 4)
        weights = rng.dirichlet(np.ones(5))
        bound = _Model._bound_from(cost, weights)
        exact = [Fraction(float(w)) for w in weights]
        row = [
            sum(w * Fraction(float(c[j])) for w, c in zip(exact, cost, strict=True))
            for j in range(4)
        ]
        assert Fraction(bound) <= row[3] - exact_root(sum(v * v for v in row[:3]))


def test_multipliers_of_the_wrong_sign_are_not_believed():
    model = _Model(Ball(1.0))
    model.add_cost(np.zeros(2), 0.0, np.array([1.0, 0.0]))  # F = x_1, which is -1 at best
    model.add_constraint(np.zeros(2), -0.5, np.array([1.0, 0.0]))  # x_1 <= 0.5
    wrong = SimpleNamespace(marginals=np.array([-1.0, 1.0]))
    model._linprog = lambda *args, **kwargs: SimpleNamespace(x=np.zeros(3), ineqlin=wrong)
    _, bound = model.lower_bound()
    assert bound <= -1.0


def test_a_point_drawn_back_is_feasible_however_coarse_the_numbers_are():
    moved = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        a, far = rng.normal(size=2), 1e7 * rng.normal(size=2)
        z = far - 1e-6 * a
        g = Affine([a], [float(a @ far)])
        x = far + rng.uniform(0, 1e-5) * a
        value, slack = float(g.value(x)), -float(g.value(z))
        if slack > 0 and value > 0:
            moved += 1
            assert g.value(_draw_back(g, x, z, value, slack)) <= 0
    assert moved > 100

"""Slopes from values: the truth is within the error that comes with them, at the bounds too."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.problems.calibration import finite_differences, through_sensitivity
from surefoot.sets import Box

M = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
BETA = float(np.linalg.eigvalsh(M).max())


def smooth(x):
    return float(0.5 * x @ M @ x - 1.0)


class Wrong:
    """Values that err by exactly so much, with a sign that an adversary draws."""

    def __init__(self, g, error, seed):
        self.g, self.error, self.rng = g, error, np.random.default_rng(seed)
        self.asked = []

    def __call__(self, x):
        self.asked.append(x)
        return self.g(x) + self.error * self.rng.choice([-1.0, 1.0])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e-6, 1e-3]),
    st.sampled_from([1e-4, 1e-2, 0.3]),
    st.booleans(),
)
def test_the_true_slope_is_within_the_error(seed, error, step, with_beta):
    x = np.random.default_rng(seed).uniform(-1, 1, 3)
    g = Wrong(smooth, error, seed)
    beta = BETA if with_beta else None
    slope, bound = finite_differences(g, x, step, value_error=error, beta=beta)
    assert np.linalg.norm(slope - M @ x) <= bound
    assert len(g.asked) == (4 if with_beta else 7)


def test_without_beta_some_subgradient_of_a_kink_is_within_the_error():
    for x in (np.array([0.0, 0.5]), np.array([1e-3, -0.2]), np.array([0.4, 0.0])):
        slope, bound = finite_differences(lambda y: float(np.abs(y).sum()), x, 0.01)
        nearest = np.where(x == 0, np.clip(slope, -1, 1), np.sign(x))
        assert np.linalg.norm(slope - nearest) <= bound


def test_the_step_that_follows_from_error_and_curvature_is_the_best():
    x, error = np.array([0.3, -0.2, 0.5]), 1e-4
    best = finite_differences(smooth, x, value_error=error, beta=BETA).slope_error
    h = np.sqrt(8 * error / BETA)
    for step in (h / 2, h * 2):
        assert best < finite_differences(smooth, x, step, value_error=error, beta=BETA).slope_error
    assert best == pytest.approx(np.sqrt(3) * np.sqrt(2 * error * BETA), rel=1e-6)


def test_errors_at_three_times_the_bound_leave_it():
    misses = 0
    for seed in range(30):
        x = np.random.default_rng(seed).uniform(-1, 1, 3)
        g = Wrong(smooth, 3e-3, seed)
        slope, bound = finite_differences(g, x, 0.02, value_error=1e-3, beta=BETA)
        misses += np.linalg.norm(slope - M @ x) > bound
    assert misses > 0


def test_no_probe_leaves_the_set_or_the_ball_that_the_slack_certifies():
    box = Box([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    x = np.array([0.0, 1.0, 0.5])
    g = Wrong(smooth, 0.0, 0)
    slope, bound = finite_differences(g, x, 0.25, beta=BETA, within=box)
    assert all(box.contains(y) for y in g.asked)
    assert np.linalg.norm(slope - M @ x) <= bound
    with pytest.raises(ValueError, match="keep the probes of entry 0"):
        finite_differences(g, x, 0.25, within=box)
    near = np.array([0.9, 0.2, 0.1])
    with pytest.raises(ValueError, match="a probe could violate"):
        finite_differences(smooth, near, 0.2, beta=BETA, G_g=3.0)
    assert finite_differences(smooth, near, 0.01, beta=BETA, G_g=3.0).slope_error > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": None}, "step must be given"),
        ({"step": -1.0}, "step must be"),
        ({"step": 1e-30}, "above the rounding of x"),
        ({"value_error": -1.0}, "value_error must be"),
        ({"g": 3.0}, "g must be"),
        ({"g": lambda x: np.nan}, "g must be finite"),
        ({"x": [[1.0]]}, "x"),
    ],
)
def test_what_cannot_be_differenced_is_refused_in_a_sentence(change, words):
    given = {"g": smooth, "x": [0.1, 0.2, 0.3], "step": 0.1} | change
    with pytest.raises((ValueError, TypeError), match=words):
        finite_differences(**given)


def test_the_chain_rule_with_errors_at_their_bounds_holds():
    rng = np.random.default_rng(5)
    for _ in range(50):
        J, v = rng.normal(size=(4, 3)), rng.normal(size=4)
        dJ = rng.normal(size=(4, 3))
        dJ *= 0.3 / np.linalg.norm(dJ, 2)
        dv = rng.normal(size=4)
        dv *= 0.2 / np.linalg.norm(dv)
        found = through_sensitivity(v, J, sensitivity_error=0.3, gradient_error=0.2)
        assert np.linalg.norm(found.slope - (J + dJ).T @ (v + dv)) <= found.slope_error
    # At its bound: the error of J along v, that of v along the longest direction of J.
    found = through_sensitivity([2.0], [[3.0]], sensitivity_error=0.5, gradient_error=0.25)
    assert found.slope.tolist() == [6.0]
    assert found.slope_error == (3.5 * 2.25 - 6.0)


def test_the_rounding_of_the_values_is_part_of_the_error():
    # Half of the difference of the slopes 8 and 1, and 4 u times the largest value over the step.
    _, bound = finite_differences(lambda y: float(max(8 * y[0], y[0])), [0.0], 0.25)
    least = Fraction(7, 2) + 4 * Fraction(1, 2**53) * 2 / Fraction(1, 4)
    assert least <= Fraction(bound) <= least + Fraction(12, 2**53)


def test_what_is_no_function_is_refused_before_it_is_called():
    with pytest.raises(ValueError, match=r"^g must be a function, got 3\.0"):
        finite_differences(3.0, [0.0], 0.25)

"""What every loss must do, on streams of the kinds that practice knows."""

import jax
import numpy as np
import pytest

from surefoot.problems import costs
from surefoot.sets import Ball


def stream(kind, runs=None, T=6, d=3, seed=0):
    rng = np.random.default_rng(seed)
    lead = (T,) if runs is None else (T, runs)
    a, y = rng.normal(size=(*lead, d)), rng.normal(size=lead)
    return {
        "absolute": lambda: costs.Absolute(a, y),
        "quantile": lambda: costs.Quantile(a, y, level=0.8),
        "logistic": lambda: costs.Logistic(a, np.sign(y)),
        "hinge": lambda: costs.Hinge(a, np.sign(y)),
        "portfolio": lambda: costs.LogPortfolio(0.1 * a),
        "quadratic": lambda: costs.Quadratic(a, 2.5),
        "linear": lambda: costs.Linear(a),
    }[kind]()


KINDS = ("absolute", "quantile", "logistic", "hinge", "portfolio", "quadratic", "linear")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_gradients_are_those_of_finite_differences(kind):
    s, rng, h = stream(kind), np.random.default_rng(1), 1e-6
    for t in range(s.horizon):
        x = rng.normal(size=3)
        steps = h * np.eye(3)
        slope = [(s.value(t, x + e) - s.value(t, x - e)) / (2 * h) for e in steps]
        # Central differences err by h^2 times a third derivative, and by rounding over h.
        assert s.gradient(t, x) == pytest.approx(slope, abs=1e-7)


def test_each_gradient_supports_its_cost_from_below(kind):
    s, rng = stream(kind), np.random.default_rng(2)
    x, y = rng.normal(size=(2, 200, 3))
    for t in range(s.horizon):
        here, there = s.value(t, x), s.value(t, y)
        support = here + np.vecdot(s.gradient(t, x), y - x)[:, None]
        assert (there >= support - 1e-12 * (1 + abs(support))).all()


def test_a_batch_is_its_runs_one_by_one(kind):
    s = stream(kind, runs=4)
    x = np.random.default_rng(3).normal(size=(4, 3))
    for t in (0, 5):
        values, gradients = s.value(t, x), s.gradient(t, x)
        assert values.shape == (4, 1)
        for r in range(4):
            one = s.run(r)
            assert type(one.value(t, x[r])) is float
            assert one.value(t, x[r]) == pytest.approx(values[r, 0], rel=1e-14)
            assert one.gradient(t, x[r]) == pytest.approx(gradients[r], rel=1e-14)


def test_runs_that_share_a_stream_get_an_array_each(kind):
    s = stream(kind)
    x = np.random.default_rng(4).normal(size=(5, 3))
    assert s.value(1, x).shape == (5, 1)
    assert s.gradient(1, x).shape == (5, 3)
    for r in range(5):
        assert s.gradient(1, x)[r] == pytest.approx(s.gradient(1, x[r]), rel=1e-14)


def test_the_sum_is_the_sum_of_the_rounds(kind):
    s, x = stream(kind), np.array([0.3, -0.7, 0.2])
    value, gradient = s.sum_at(x)
    assert value == pytest.approx(sum(s.value(t, x) for t in range(6)), rel=1e-13)
    assert gradient == pytest.approx(sum(s.gradient(t, x) for t in range(6)), rel=1e-12)


def test_slices_have_their_rounds_and_runs(kind):
    s = stream(kind, runs=2)
    assert s.rounds(1, 4).rounds(1, 3) == s.rounds(2, 4)
    assert s.rounds(2, 5).horizon == 3
    assert s.run(np.array([1, 0, 1])).runs == 3


@pytest.mark.parametrize("centre", [None, [0.4, -0.1, 0.3]])
def test_the_gradient_bound_is_not_exceeded_and_nearly_attained(kind, centre):
    s, ball = stream(kind, T=40), Ball(0.6, centre)
    bound = s.gradient_bound(ball)
    rng = np.random.default_rng(5)
    points = rng.normal(size=(4_000, 3))
    points = 0.6 * points / np.linalg.norm(points, axis=1, keepdims=True)
    points = points if centre is None else points + np.array(centre)
    seen = max(np.linalg.norm(s.gradient(t, points), axis=1).max() for t in range(40))
    assert 0.97 * bound <= seen <= bound * (1 + 1e-12)


@pytest.mark.slow
def test_jax_gives_the_same_numbers(kind):
    s, x = stream(kind, runs=2), np.random.default_rng(6).normal(size=(2, 3))
    with jax.enable_x64(True):
        value = jax.jit(lambda x: s.value(3, x))(x)
        gradient = jax.jit(lambda x: s.gradient(3, x))(x)
        assert value == pytest.approx(s.value(3, x), rel=1e-13)
        assert gradient == pytest.approx(s.gradient(3, x), rel=1e-13)


def test_strong_convexity_is_claimed_by_quadratics_alone(kind):
    assert stream(kind).strong_convexity == (2.5 if kind == "quadratic" else 0.0)


@pytest.mark.parametrize("kind", ["absolute", "quantile", "hinge"])
def test_at_a_kink_the_subgradient_is_zero(kind):
    a = np.array([[2.0, 1.0]])
    at_kink = {
        "absolute": costs.Absolute(a, [5.0]),
        "quantile": costs.Quantile(a, [5.0], level=0.8),
        "hinge": costs.Hinge(a, [1.0]),
    }[kind]
    x = np.array([2.0, 1.0]) if kind != "hinge" else np.array([0.5, 0.0])
    assert at_kink.value(0, x) == 0.0
    assert (at_kink.gradient(0, x) == 0).all()


def test_large_margins_neither_overflow_nor_vanish_wrongly():
    s = costs.Logistic([[1.0], [1.0]], [1.0, -1.0])
    far = np.array([1e4])
    assert s.value(0, far) == 0.0
    assert s.value(1, far) == 1e4
    assert s.gradient(1, far) == pytest.approx([1.0])
    assert s.gradient(0, far) == pytest.approx([0.0])
    assert s.gradient_bound(Ball(1e4)) == pytest.approx(1.0)


def test_a_portfolio_that_can_lose_everything_has_no_gradient_bound():
    s = costs.LogPortfolio([[-0.9, 0.2]])
    assert s.gradient_bound(Ball(2.0)) is None
    assert s.gradient_bound(Ball(0.5)) is not None
    with pytest.raises(ValueError, match=r"growth of -0\.35 in round 1"):
        s.value(0, np.array([1.5, 0.0]))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: costs.Logistic([[1.0]], [0.5]), "targets must be classes, -1 or 1, got .*0.5"),
        (lambda: costs.Quantile([[1.0]], [0.5], level=1.0), "level must be strictly between 0 and"),
        (lambda: costs.Absolute([[1.0], [2.0]], [0.5]), r"targets.shape must be \(2,\), got \(1,"),
        (lambda: costs.Absolute([1.0], [0.5]), r"features.shape must be \(T, d\) or \(T, B, d\)"),
        (lambda: costs.Hinge([[1.0], [np.nan]], [1.0, 1.0]), "features must be finite.*in round 2"),
        (lambda: costs.LogPortfolio([[0.1]], cash=-1.0), "cash must be a finite number >= 0, got"),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()

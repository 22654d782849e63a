import sys

import jax
import numpy as np
import pytest

import surefoot as sf
from surefoot.problems import costs
from surefoot.problems.constraints import LinfNorm


def own(**changed):
    arguments = {
        "value_of": lambda t, x: np.abs(x - t).sum(axis=-1, keepdims=x.ndim > 1),
        "gradient_of": lambda t, x: np.sign(x - t),
        "horizon": 4,
        "dimension": 2,
        "bound": 2**0.5,
    }
    return costs.FromFunctions(**(arguments | changed))


def test_a_users_functions_count_rounds_from_the_start_of_the_stream():
    late, x = own().rounds(2, 4), np.array([0.5, 9.0])
    assert late.horizon == 2
    assert late.value(1, x) == own().value(3, x) == 8.5
    assert own().sum_at(x)[0] == pytest.approx(sum(own().value(t, x) for t in range(4)))


def test_a_users_functions_play_in_the_loop_and_in_a_batch():
    problem = sf.Problem.of(own(), LinfNorm(0.5, 2), sf.Ball(1.0), np.array([0.1, 0.0]))
    player = sf.PFS.tuned(problem.constants, 4)
    loop, batch = (sf.play(player, problem, engine=e) for e in ("loop", "batch"))
    assert loop.actions == pytest.approx(batch.actions)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"value_of": None}, "value_of must be a function, got None"),
        ({"gradient_of": 3}, "gradient_of must be a function, got 3"),
        ({"horizon": 0}, "horizon must be a whole number of rounds >= 1, got 0"),
        ({"bound": -1.0}, "bound must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_functions_are_named(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        own(**changed)


def test_autodiff_gives_the_gradients_of_the_library():
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5)
    exact = costs.Logistic(features, y)
    auto = costs.from_jax(
        lambda x, a, s: jax.numpy.logaddexp(0.0, -s * (a @ x)), features, y, dimension=3
    )
    x = rng.normal(size=(4, 3))
    for t in range(5):
        assert type(auto.value(t, x[0])) is float
        assert auto.gradient(t, x[0]).dtype == np.float64
        assert auto.value(t, x[0]) == pytest.approx(exact.value(t, x[0]), rel=1e-13)
        assert auto.gradient(t, x) == pytest.approx(exact.gradient(t, x), rel=1e-12)
        assert auto.value(t, x) == pytest.approx(exact.value(t, x), rel=1e-13)


def test_autodiff_at_a_kink_is_a_subgradient_and_may_be_zero():
    auto = costs.from_jax(lambda x, v: abs(x - v).sum(), np.array([[1.0, 2.0]]), dimension=2)
    s = auto.gradient(0, np.array([1.0, 5.0]))
    assert abs(s[0]) <= 1
    assert s[1] == 1.0


@pytest.mark.slow
def test_autodiff_plays_in_every_engine():
    targets = np.random.default_rng(1).uniform(-1, 0, (60, 2))
    auto = costs.from_jax(
        lambda x, v: 3 * ((x - v) ** 2).sum(), targets, dimension=2, bound=6 * (1 + 2**0.5)
    )
    problem = sf.Problem.of(auto, LinfNorm(0.5, 2), sf.Ball(1.0), np.zeros(2))
    exact = sf.Problem.of(
        costs.Quadratic(targets, 6.0), LinfNorm(0.5, 2), sf.Ball(1.0), np.zeros(2), G_f=auto.bound
    )
    player = sf.PFS.tuned(problem.constants, 60)
    reference = sf.play(player, exact)
    for engine in ("loop", "batch", "scan"):
        trace = sf.play(player, problem, engine=engine)
        assert trace.actions == pytest.approx(reference.actions, abs=1e-13)


def test_autodiff_without_jax_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"autodiff needs jax.*surefoot\[jax\]"):
        costs.from_jax(lambda x: x, np.ones((2, 2)), dimension=2)


def test_data_of_different_lengths_is_refused():
    with pytest.raises(ValueError, match=r"one length, got lengths \[2, 3\]"):
        costs.from_jax(lambda x, a, b: a, np.ones(2), np.ones(3), dimension=2)

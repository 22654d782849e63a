import sys

import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import play
from surefoot.core.optional import MissingExtraError
from surefoot.problems import Problem
from surefoot.problems.constraints import JaxConstraint, QuadraticForm
from surefoot.problems.costs import Linear
from surefoot.rules import PFS
from surefoot.sets import Ball

Q = np.array([[2.0, 0.5], [0.5, 1.0]])
q = np.array([0.3, -0.1])


BY_HAND = QuadraticForm(Q, q, 1.0)
BY_JAX = JaxConstraint(lambda x: 0.5 * x @ jnp.asarray(Q) @ x + jnp.asarray(q) @ x - 1.0, bound=9.0)


def test_it_is_the_function_and_its_gradient_in_float64():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for x in X:
        value, s = BY_JAX.query(x)
        assert type(value) is float
        assert s.dtype == np.float64
        assert s.flags.writeable
        assert value == pytest.approx(BY_HAND.value(x), rel=1e-14, abs=1e-15)
        np.testing.assert_allclose(s, BY_HAND.subgradient(x), rtol=1e-14, atol=1e-15)
    value, s = BY_JAX.query(X)
    assert value.shape == (20, 1)
    np.testing.assert_allclose(value, BY_HAND.value(X), rtol=1e-13)
    np.testing.assert_allclose(s, BY_HAND.subgradient(X), rtol=1e-13, atol=1e-14)


def test_it_is_compiled_once_for_a_shape():
    traced = []

    def function(x):
        traced.append(x.shape)
        return jnp.sum(x * x) - 1.0

    g = JaxConstraint(function)
    for k in range(5):
        g.query(np.full(3, float(k)))
    assert len(traced) == 1
    g.query(np.ones((4, 3)))
    g.query(np.zeros((4, 3)))
    assert len(traced) == 2


@pytest.mark.slow
def test_at_the_minimum_of_a_maximum_the_subgradient_is_zero_and_pfs_does_not_divide():
    g = JaxConstraint(lambda x: jnp.max(jnp.stack([x[0], -x[0], x[1], -x[1]])) - 1.0, bound=1.0)
    value, s = g.query(np.zeros(2))
    assert value == -1.0
    assert not s.any()
    costs = Linear([[1.0, -2.0], [-1.0, 0.5], [3.0, 1.0]])
    problem = Problem.of(costs, g, Ball(2.0), [0.0, 0.0])
    for engine in ("loop", "batch", "scan"):
        trace = play(PFS(eta=0.1, rho=0.1, domain=Ball(2.0)), problem, engine=engine)
        assert trace.status == "ok"
        np.testing.assert_allclose(trace.next_action, [-0.3, 0.05], atol=1e-15)


@pytest.mark.slow
def test_loop_batch_and_scan_play_the_same_game():
    costs = Linear(np.random.default_rng(1).normal(size=(50, 2)))
    player = PFS(eta=0.1, rho=0.05, domain=Ball(2.0))
    expected = play(player, Problem.of(costs, BY_HAND, Ball(2.0), [0.0, 0.0]))
    problem = Problem.of(costs, BY_JAX, Ball(2.0), [0.0, 0.0])
    for engine in ("loop", "batch", "scan"):
        trace = play(player, problem, engine=engine)
        np.testing.assert_allclose(trace.actions, expected.actions, rtol=1e-9, atol=1e-11)


def test_a_derivative_that_is_not_there_is_named():
    g = JaxConstraint(lambda x: jnp.sqrt(jnp.sum(x * x)) - 1.0)
    assert g.value(np.array([3.0, 4.0])) == 4.0
    with pytest.raises(ValueError, match=r"the derivative of function must be finite, got .*nan"):
        g.query(np.zeros(2))


def test_what_is_known_is_the_bound_alone():
    assert BY_JAX.subgradient_bound(Ball(1.0)) == 9.0
    assert JaxConstraint(jnp.sum).subgradient_bound(Ball(1.0)) is None
    assert BY_JAX.exact_sigma(None) is None
    assert BY_JAX.region is None
    assert BY_JAX.interior is None


def test_an_array_is_no_number():
    with pytest.raises(ValueError, match=r"function\(x\) must be one number, got .* \(2,\)"):
        JaxConstraint(lambda x: x).query(np.zeros(2))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="function must be a function, got 3"):
        JaxConstraint(3)
    with pytest.raises(ValueError, match="bound must be a finite number > 0, got -1"):
        JaxConstraint(jnp.sum, bound=-1)
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="a function of JAX must be given NumPy or JAX actions"):
        JaxConstraint(jnp.sum).query(strict.asarray([1.0]))


def test_without_jax_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'surefoot\[jax\]'"):
        JaxConstraint(jnp.sum)

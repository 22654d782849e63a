"""Linear models for river: its own checks, and weights that are feasible after each example."""

import copy
import pickle

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError

pytest.importorskip("river")
pytestmark = pytest.mark.hosts

from surefoot.adapters.river import SafeLinearClassifier, SafeLinearRegressor  # noqa: E402


def fair(w):
    """At most 0.02 of a mixture of two weights, up or down: a square, of curvature 2 * 1.25."""
    mix = w.get("a", 0.0) + 0.5 * w.get("b", 0.0)
    return mix * mix - 0.0004, {"a": 2 * mix, "b": mix}


@pytest.mark.parametrize(
    ("kind", "wanted"), [(SafeLinearClassifier, 42), (SafeLinearRegressor, 25)]
)
def test_every_check_of_the_host_passes(kind, wanted):
    from river import checks

    assert len(list(checks.yield_checks(kind()))) >= wanted
    checks.check_estimator(kind())


@pytest.mark.parametrize("kind", [SafeLinearClassifier, SafeLinearRegressor])
def test_weights_are_feasible_after_every_example_and_features_may_appear(kind):
    random = np.random.default_rng(1)
    model = kind(radius=2.0, constraint=fair, beta=2.5)
    for t in range(300):
        x = dict(zip("abc" if t < 100 else "abcde", random.normal(size=5), strict=False))
        y = sum(x.values())
        model.learn_one(x, y > 0 if kind is SafeLinearClassifier else y)
        w = model.weights
        assert fair(w)[0] <= 0
        assert np.linalg.norm(list(w.values())) <= 2.0
    assert model.weights["e"] > 0.2
    assert "is at most" in str(model.certificate)


def test_a_feature_that_appears_late_is_as_if_it_had_been_there():
    random = np.random.default_rng(2)
    late, early = SafeLinearRegressor(radius=1.0), SafeLinearRegressor(radius=1.0)
    for t in range(120):
        a, b = random.normal(size=2)
        x = {"a": a, "b": b} if t >= 40 else {"a": a}
        late.learn_one(x, 2 * a - b)
        early.learn_one({"b": 0.0, **x}, 2 * a - b)
    for name, weight in late.weights.items():
        assert weight == pytest.approx(early.weights[name], rel=1e-9)


def test_copies_and_pickles_go_on_alike():
    model = SafeLinearClassifier(radius=1.0, constraint=fair, beta=2.5)
    for t in range(20):
        model.learn_one({"a": t % 3 - 1.0, "b": t % 5 - 2.0}, t % 2 == 0)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    model.weights["a"] = 99.0
    for one in (model, *others):
        one.learn_one({"a": 1.0}, True)
    assert model.weights == others[0].weights == others[1].weights


def test_a_constraint_that_zero_does_not_meet_is_refused():
    model = SafeLinearRegressor(constraint=lambda w: (1.0, {}))
    with pytest.raises(InvalidValueError, match="strictly feasible"):
        model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(InvalidValueError, match="reach must be a finite number > 0"):
        SafeLinearRegressor(radius=-1.0)

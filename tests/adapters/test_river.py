"""Linear models for river: its own checks, and weights that are feasible after each example."""

import copy
import pickle

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning

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


HUGE = pytest.param(10**400, id="huge")


@pytest.mark.parametrize("bad", [np.nan, np.inf, "2.5", "much", None, [1.0], HUGE])
@pytest.mark.parametrize("kind", [SafeLinearClassifier, SafeLinearRegressor])
def test_a_feature_that_is_no_number_is_refused_and_nothing_is_added(kind, bad):
    model = kind(radius=2.0)
    model.learn_one({"a": 1.0}, 1.0)
    before = model.weights
    for x in ({"a": bad}, {"a": 1.0, "b": bad}):
        with pytest.raises(InvalidValueError, match=r"x\['.'\] must be a finite number, got"):
            model.learn_one(x, 1.0)
        assert model.weights == before
    with pytest.raises(InvalidValueError, match="x must have a number by feature, got 3"):
        model.learn_one(3, 1.0)
    if kind is SafeLinearRegressor:
        with pytest.raises(InvalidValueError, match="y must be a finite number, got"):
            model.learn_one({"b": 1.0}, bad)
    model.learn_one({"b": True, "c": np.float32(2.0), "d": np.int64(1)}, 1.0)
    assert list(model.weights) == [None, "a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((np.nan, {}), "g of constraint must be a finite number"),
        (("low", {}), "g of constraint must be a finite number"),
        ((-1.0, {"a": None}), r"slope of constraint\['a'\] must be a finite number"),
        ((-1.0, [1.0]), "slope of constraint must have a number by feature"),
        (None, "constraint must return g and its slope by feature, got None"),
        ((-1.0,), "constraint must return g and its slope by feature"),
        ((np.float32(-1.0), {}), r"constraint\.dtype must be float64"),
        ((-1.0, {"a": np.float32(1.0)}), r"constraint\.dtype must be float64"),
        ((1.0, {}), "strictly feasible"),
        (ZeroDivisionError("by mistake"), "by mistake"),
    ],
)
def test_an_answer_of_the_constraint_that_is_refused_changes_nothing(answer, sentence):
    def limit(w):
        if isinstance(answer, Exception):
            raise answer
        return answer

    model = SafeLinearRegressor(constraint=limit)
    with pytest.raises((InvalidValueError, ZeroDivisionError), match=sentence):
        model.learn_one({"a": 1.0}, 1.0)
    assert (model.weights, model.certificate) == ({None: 0.0}, None)


def test_a_gradient_that_overflows_is_refused_in_a_sentence():
    model = SafeLinearRegressor()
    with pytest.raises(InvalidValueError, match="cost_gradient must be finite"):
        model.learn_one({"a": 1e300}, -1e300)
    assert model.weights == {None: 0.0}


def test_constants_that_are_contradicted_are_heard_of(caplog):
    def learn(model, examples):
        for a in np.random.default_rng(3).normal(size=examples):
            model.learn_one({"a": a}, 3 * a)

    def limit(w):  # of curvature 20, which is said to be 1
        a = w.get("a", 0.0)
        return 10 * a * a - 0.9, {"a": 20 * a}

    model = SafeLinearRegressor(radius=2.0, constraint=limit, beta=1.0)
    with pytest.warns(PremiseWarning) as found:
        learn(model, 50)
    assert len(found) == 1
    assert len(caplog.records) > 3
    assert {record.name for record in caplog.records} == {"surefoot"}
    model = SafeLinearRegressor(2.0, limit, 1.0, on_contradiction="raise")
    with pytest.raises(PremiseError):
        learn(model, 50)
    before = model.weights
    with pytest.raises(PremiseError):
        model.learn_one({"a": 1.0, "b": 1.0}, 3.0)
    assert model.weights == before
    assert model.clone().on_contradiction == "raise"
    with pytest.raises(InvalidValueError, match="on_contradiction must be one of 'warn', 'raise'"):
        SafeLinearClassifier(on_contradiction="hold")


def test_behind_a_scaler_that_learns_a_limit_is_not_one_on_raw_weights():
    from river import compose, preprocessing

    def learn(first, model):
        random, worst = np.random.default_rng(0), 0.0
        steps = first | model
        for _ in range(200):
            # In units of a tenth, so that a weight of 0.1 there is one of 0.01 here.
            a = 0.1 * random.normal()
            steps.learn_one({"a": a}, 30 * a)
            moved = [steps.predict_one({"a": at}) for at in (0.0, 1.0)]
            worst = max(worst, abs(moved[1] - moved[0]))  # the weight of the raw feature
        return worst

    def small(w):
        return w.get("a", 0.0) ** 2 - 0.01, {"a": 2 * w.get("a", 0.0)}

    fixed = compose.FuncTransformer(lambda x: {"a": 10 * x["a"]})

    def small_in_tenths(w):  # |10 w| <= 0.1
        return (10 * w.get("a", 0.0)) ** 2 - 0.01, {"a": 200 * w.get("a", 0.0)}

    assert learn(fixed, SafeLinearRegressor(5.0, small_in_tenths, beta=200.0)) <= 0.1 + 1e-12
    assert learn(preprocessing.StandardScaler(), SafeLinearRegressor(5.0, small, beta=2.0)) > 0.5

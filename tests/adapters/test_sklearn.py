"""Linear models for scikit-learn: its own checks, and weights feasible after every batch."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest

from surefoot.adapters._linear import Weights, logistic_slope, sigmoid
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.problems.audit import Covariance
from surefoot.problems.constraints import Affine, FunctionConstraint, L1Norm

pytest.importorskip("sklearn")
pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.hosts

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from surefoot.adapters.sklearn import SafeClassifier, SafeRegressor, make_rule  # noqa: E402

FAIR = Affine([[1.0, 0.5, 0.0, 0.0], [-1.0, -0.5, 0.0, 0.0]], [0.05, 0.05])
# The same without a curvature that is known.
BY_SLOPE = FunctionConstraint(FAIR.value, lambda w: FAIR.query(w)[1], bound=1.12)


def data(rows=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3))
    return X, X @ np.array([1.0, 1.0, -2.0]) + 0.1 * random.normal(size=rows)


@pytest.mark.parametrize(("model", "least"), [(SafeClassifier(), 50), (SafeRegressor(), 45)])
def test_no_check_of_the_host_fails(model, least):
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its checks warn of their own data
        found = check_estimator(model, on_fail=None, on_skip=None)
    count = Counter(check["status"] for check in found)
    failed = [check["check_name"] for check in found if check["status"] == "failed"]
    assert failed == []
    assert count["passed"] >= least
    assert set(count) <= {"passed", "skipped"}
    assert count["skipped"] <= 1  # arrays of other libraries, unless SciPy is told to take them


@pytest.mark.parametrize("limit", [FAIR, BY_SLOPE], ids=["curvature", "slope"])
@pytest.mark.parametrize("kind", [SafeClassifier, SafeRegressor])
def test_weights_are_feasible_after_every_batch(kind, limit):
    X, y = data()
    targets = y > 0 if kind is SafeClassifier else y
    model = kind(constraint=limit, radius=3.0)
    for first in range(0, 600, 20):
        rows = slice(first, first + 20)
        told = {"classes": [False, True]} if kind is SafeClassifier else {}
        model.partial_fit(X[rows], targets[rows], **told)
        w = np.append(np.ravel(model.coef_), model.intercept_)
        assert FAIR.value(w) <= 0
        assert np.linalg.norm(w) <= 3.0
        assert model.constraint_value_ <= 0
    assert np.ravel(model.coef_)[2] < -0.3
    assert model.score(X, targets) > 0.4
    assert "is at most" in str(model.certificate_)


def test_the_constraint_costs_what_it_must_and_no_more():
    X, y = data()
    kept = SafeClassifier(constraint=FAIR, random_state=0).fit(X, y > 0)
    free = SafeClassifier(random_state=0).fit(X, y > 0)
    assert 0.7 < kept.score(X, y > 0) < free.score(X, y > 0)
    assert free.score(X, y > 0) > 0.95
    np.testing.assert_allclose(kept.predict_proba(X).sum(axis=1), 1.0)


def test_what_was_fitted_may_be_written_to():
    X, y = data()
    one, other = (SafeRegressor(radius=2.0).partial_fit(X[:300], y[:300]) for _ in range(2))
    one.coef_[:] = 99.0
    one.partial_fit(X[300:], y[300:])
    other.partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_mistakes_are_one_sentence_each():
    X, y = data(50)
    with pytest.raises(InvalidValueError, match=r"constraint\.dimension must be 4"):
        SafeRegressor(constraint=L1Norm(1.0, 7)).fit(X, y)
    with pytest.raises(InvalidValueError, match=r"must be one of surefoot\.problems\.constraints"):
        SafeRegressor(constraint=0.0).fit(X, y)
    with pytest.raises(InvalidValueError, match="two classes, got 3 classes"):
        SafeClassifier().fit(X, np.arange(50) % 3)
    with pytest.raises(InvalidValueError, match="strictly feasible"):
        SafeRegressor(constraint=Affine([[1.0, 0.0, 0.0, 0.0]], [-1.0])).fit(X, y)
    model = SafeClassifier().partial_fit(X, y > 0, classes=[False, True])
    with pytest.raises(InvalidValueError, match="y must be of the classes"):
        model.partial_fit(X, np.arange(50))


def test_a_step_of_the_ball_by_hand():
    # From 0 with radius 1: for the first gradient the far points are r = 0.7, r/4, r and 4r up, and
    # the ball cuts off the last.
    rule, limit = make_rule(None, 2, 1.0)
    w = Weights(rule, 2)
    w.descend(np.array([0.0, -3.0]), *limit.query_all(w.x))
    r = 0.5**0.5
    wanted = 0.925 * r + 0.025 * (r / 4 + r + 1.0)
    np.testing.assert_allclose(w.x, [0.0, wanted], rtol=1e-9)
    assert sigmoid(800.0) == 1.0
    assert logistic_slope(0.0, 1.0) == -0.5


class Failing:
    """A limit on the first weight whose values are not numbers from some call on."""

    def __init__(self, after):
        self.left = after

    def __call__(self, w):
        self.left -= 1
        return float(w[0]) - 0.3 if self.left >= 0 else np.nan


def slope(w):
    return np.eye(len(w))[0]


@pytest.mark.parametrize("kind", [SafeClassifier, SafeRegressor])
def test_what_is_refused_changes_nothing(kind):
    X, y = data(96)
    y = y > 0 if kind is SafeClassifier else y
    told = {"classes": [False, True]} if kind is SafeClassifier else {}
    limit = FunctionConstraint(Failing(40), slope, bound=1.0, beta=0.0)
    model = kind(constraint=limit, radius=2.0).partial_fit(X[:32], y[:32], **told)
    before = {name: value for name, value in vars(model).items() if name[-1] == "_"}
    limit.value_of.left = 3  # three batches of six
    with pytest.raises(InvalidValueError, match="constraint_value must be finite"):
        model.partial_fit(X, y)
    weights = np.append(np.ravel(model.coef_), model.intercept_)
    np.testing.assert_array_equal(weights, model._weights.x)
    with pytest.raises(InvalidValueError, match="constraint_value must be finite"):
        model.fit(X[:, :2], y)
    assert {name: value for name, value in vars(model).items() if name[-1] == "_"} == before
    limit.value_of.left = 40
    np.testing.assert_array_equal(
        model.partial_fit(X[32:], y[32:]).coef_,
        kind(constraint=FunctionConstraint(Failing(99), slope, bound=1.0, beta=0.0), radius=2.0)
        .partial_fit(X[:32], y[:32], **told)
        .partial_fit(X[32:], y[32:])
        .coef_,
    )
    fresh = kind(constraint=FunctionConstraint(Failing(3), slope, bound=1.0, beta=0.0))
    with pytest.raises(InvalidValueError, match="constraint_value must be finite"):
        fresh.partial_fit(X, y, **told)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("beta", [1.0, None], ids=["curvature", "slope"])
def test_constants_that_are_contradicted_are_heard_of(beta, caplog):
    X, y = data(200)
    # g = 10 (w - 0.3)(w + 0.3): neither the slope nor the curvature is what it says.
    limit = FunctionConstraint(
        lambda w: 10 * float(w[0]) ** 2 - 0.9,
        lambda w: 20 * w[0] * slope(w),
        bound=1.0,
        beta=beta,
    )
    options = {"constraint": limit, "radius": 2.0, "random_state": 0}
    model = SafeRegressor(**options)
    with pytest.warns(PremiseWarning) as found:
        model.fit(X, 3 * X[:, 0])
    assert len(found) == 1
    assert len(caplog.records) > 2
    assert {record.name for record in caplog.records} == {"surefoot"}
    model = SafeRegressor(**options, on_contradiction="raise")
    with pytest.raises(PremiseError):
        model.fit(X, 3 * X[:, 0])
    with pytest.raises(InvalidValueError, match="on_contradiction must be one of 'warn', 'raise'"):
        SafeRegressor(on_contradiction="hold").fit(X, y)


# --- a constraint behind a scaler, in cross-validation, by name ---------------------------------


def scaled_data():
    """Return rows in three units, a label, and a group whose features are larger."""
    random = np.random.default_rng(0)
    group = random.random(400) < 0.4
    X = random.normal(size=(400, 3)) * [1.0, 30.0, 5.0] + np.outer(group, [0.8, 0.0, 4.0])
    X += [0.0, 50.0, 0.0]
    wanted = X[:, 0] - (X[:, 1] - 50) / 30 + 0.1 * X[:, 2]
    return X, wanted + random.normal(size=400) > 0.3, group


def covariance_limit(features, group):
    slope = Covariance(features, group, 0.02).slope
    return Affine([slope, -slope], [0.02, 0.02])


def covariances(steps, X, y, group):
    """Return the covariance of scores and group on the audit set, for the model of each fold."""
    found = cross_validate(make_pipeline(*steps), X, y, cv=4, return_estimator=True)["estimator"]
    member = group - group.mean()
    return [abs(float(np.mean(member * model.decision_function(X)))) for model in found]


def test_in_cross_validation_only_a_frozen_scaler_keeps_the_limit():
    X, y, group = scaled_data()
    scaler = StandardScaler().fit(X)
    scaled = SafeClassifier(covariance_limit(scaler.transform(X), group), random_state=0)
    kept = covariances([FrozenEstimator(scaler), scaled], X, y, group)
    assert max(kept) <= 0.02 * (1 + 1e-9)
    assert min(kept) > 0.0199  # it binds in every fold
    # Fitted anew in each fold, the scaler gives the same weights another meaning ...
    assert max(covariances([StandardScaler(), scaled], X, y, group)) > 0.02 * 1.001
    # ... and a limit in the units of raw features is another one altogether.
    raw = SafeClassifier(covariance_limit(X, group), random_state=0)
    assert min(covariances([StandardScaler(), raw], X, y, group)) > 2 * 0.02


def test_a_constraint_is_a_parameter_of_clones_searches_and_groups():
    X, y = data(200)
    model = SafeClassifier(constraint=FAIR, random_state=0)
    other = clone(model)
    assert other.constraint is not FAIR
    assert set(model.get_params()) == set(other.get_params()) == set(vars(SafeClassifier()))
    np.testing.assert_array_equal(model.fit(X, y > 0).coef_, other.fit(X, y > 0).coef_)
    w = np.append(other.coef_[0], other.intercept_)
    assert FAIR.value(w) <= 0
    folds = GroupKFold(4)
    groups = np.repeat(np.arange(20), 10)
    assert cross_val_score(model, X, y > 0, groups=groups, cv=folds).min() > 0.6
    tighter = Affine([[1.0, 0.5, 0.0, 0.0]], [0.01])
    search = GridSearchCV(model, {"constraint": [None, FAIR, tighter], "radius": [1.0]}, cv=2)
    assert search.fit(X, y > 0).best_params_["constraint"] is None


def by_name(names):
    """Allow at most 0.05 of the column "age", wherever it is."""
    row = [1.0 * (name == "age") for name in names] + [0.0]
    return Affine([row, [-part for part in row]], [0.05, 0.05])


def test_a_constraint_by_name_finds_its_column():
    X, y = data(200)
    for order in (["age", "b", "c"], ["b", "c", "age"]):
        model = SafeClassifier(constraint=by_name, random_state=0)
        model.fit(pandas.DataFrame(X, columns=order), y > 0)
        weights = dict(zip(order, model.coef_[0], strict=True))
        assert abs(weights["age"]) <= 0.05
        assert max(abs(weight) for weight in weights.values()) > 0.5
        assert clone(model).get_params()["constraint"] is by_name


@pytest.mark.parametrize(
    ("limit", "named", "sentence"),
    [
        (by_name, False, "X must have names of columns, as a DataFrame, where constraint is a fun"),
        (lambda names: 0.05, True, "constraint must be a function that returns one of surefoot.pr"),
        (lambda names: by_name(names[:-1]), True, r"constraint\.dimension must be 4"),
        (lambda names: names["age"], True, "constraint must return a constraint for the names of"),
    ],
    ids=["no names", "no constraint", "too short", "raises"],
)
def test_a_constraint_by_name_that_fails_is_one_sentence(limit, named, sentence):
    X, y = data(50)
    X = pandas.DataFrame(X, columns=["age", "b", "c"]) if named else X
    with pytest.raises(InvalidValueError, match=sentence):
        SafeClassifier(constraint=limit).fit(X, y > 0)


@pytest.mark.parametrize(
    ("name", "value"), [("constraint", None), ("radius", 2.0), ("fit_intercept", False)]
)
def test_a_limit_that_is_changed_while_learning_goes_on_is_refused(name, value):
    X, y = data(100)
    model = SafeRegressor(constraint=FAIR, radius=3.0).partial_fit(X[:50], y[:50])
    before = model.coef_.copy()
    model.set_params(**{name: value})
    with pytest.raises(InvalidValueError, match=f"{name} must be what it was when learning began"):
        model.partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(model.coef_, before)
    if name == "constraint":
        model.fit(X, y)  # which begins again
    again = pickle.loads(pickle.dumps(SafeRegressor(FAIR).partial_fit(X[:50], y[:50])))
    again.partial_fit(X[50:], y[50:])  # a copy goes on

import math
import re

import numpy as np
import pytest

from surefoot import PFS, Ball, Feedback
from surefoot.problems.constraints import (
    Affine,
    FunctionConstraint,
    L2Norm,
    LinfNorm,
    MaxOf,
    max_of,
)
from surefoot.sets import Intersection

NAN = math.nan
DISC, CUT = L2Norm(1.0), Affine([[1.0, 0.0]], [0.5])
BOTH = max_of(DISC, CUT)


def constant(value):
    """A constraint of the same value everywhere, float or column."""
    return FunctionConstraint(
        lambda x: value if x.ndim == 1 else np.full((len(x), 1), value), np.zeros_like
    )


def test_the_largest_counts_with_its_subgradient():
    assert BOTH.value(np.array([0.75, 0.0])) == 0.25
    assert BOTH.subgradient(np.array([0.75, 0.0])).tolist() == [1.0, 0.0]
    value, s = BOTH.query(np.array([-3.0, 4.0]))
    assert value == 4.0
    assert s == pytest.approx([-0.6, 0.8], rel=1e-15)


def test_of_parts_that_tie_the_first_counts():
    x = np.array([-0.25, -0.75])
    first, second = Affine([[1.0, 0.0]], [0.5]), Affine([[0.0, 1.0]], [0.0])
    assert first.value(x) == second.value(x) == -0.75
    assert max_of(first, second).query(x)[1].tolist() == [1.0, 0.0]
    assert max_of(second, first).query(x)[1].tolist() == [0.0, 1.0]
    assert max_of(second, first).query(np.array([x, x]))[1].tolist() == [[0.0, 1.0]] * 2


def test_a_batch_is_its_points_one_by_one():
    x = np.random.default_rng(0).normal(size=(200, 2))
    values, rows = BOTH.query(x)
    assert values.shape == (200, 1)
    for i, point in enumerate(x):
        value, s = BOTH.query(point)
        assert type(value) is float
        assert value == pytest.approx(values[i, 0], abs=1e-15)
        assert s == pytest.approx(rows[i], abs=1e-15)


def test_subgradients_support_the_maximum():
    rng = np.random.default_rng(1)
    x, y = rng.integers(-6, 7, size=(2, 10_000, 2)) / 4
    values, s = BOTH.query(x)
    assert (BOTH.value(y) >= values + np.vecdot(s, y - x)[:, None] - 1e-14).all()


def test_every_backend_gives_the_same_part(backend):
    x = np.array([[0.75, 0.0], [-3.0, 4.0], [0.0, 0.0]])
    for points in (x, x[0], x[1]):
        value, s = BOTH.query(backend.array(points))
        expected, row = BOTH.query(points)
        assert backend.holds(s)
        assert backend.numpy(value).shape == np.shape(expected)
        assert backend.numpy(value) == pytest.approx(expected, rel=1e-15)
        assert backend.numpy(s) == pytest.approx(row, rel=1e-15)


@pytest.mark.parametrize("order", [0, 1])
def test_a_part_that_is_nan_is_not_passed_over(order):
    parts = (constant(-1.0), constant(NAN))
    g = max_of(parts[order], parts[1 - order], constant(5.0))
    assert math.isnan(g.value(np.zeros(2)))
    assert np.isnan(g.value(np.zeros((3, 2)))).all()


def test_numpy_numbers_of_a_users_constraint_are_compared_like_others():
    g = max_of(constant(np.float64(-1.0)), constant(np.float64(2.0)))
    assert type(g.value(np.zeros(2))) is float
    assert g.value(np.zeros(2)) == 2.0


def test_bounds_come_from_all_parts():
    domain = Ball(2.0)
    bounds = [part.subgradient_bound(domain) for part in BOTH.parts]
    assert BOTH.subgradient_bound(domain) == max(bounds)
    steep = max_of(DISC, Affine([[3.0, 4.0]], [1.0]))
    assert steep.subgradient_bound(domain) == pytest.approx(5.0)
    assert max_of(DISC, constant(0.0)).subgradient_bound(domain) is None
    assert BOTH.exact_sigma(None) is None
    assert isinstance(BOTH.region, Intersection)
    assert max_of(DISC, constant(0.0)).region is None


def test_parts_are_kept_apart_on_request():
    values, rows = BOTH.query_all(np.array([0.75, 0.0]))
    assert values.tolist() == [-0.25, 0.25]
    assert rows.tolist() == [[1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("make", [max_of, lambda *parts: MaxOf(parts)])
def test_what_has_no_maximum_is_refused(make):
    with pytest.raises(ValueError, match="max_of must be given at least one constraint, got none"):
        make()
    with pytest.raises(ValueError, match="max_of must be given constraints, got 3"):
        make(DISC, 3)
    sentence = "max_of must be given constraints of one dimension, got 2 and 3"
    with pytest.raises(ValueError, match=sentence):
        make(LinfNorm(1.0, 3), CUT)


# --- a user's own functions ---------------------------------------------------------------------

OWN = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x, bound=2)


def test_own_functions_by_hand():
    value, s = OWN.query(np.array([3.0, -1.0]))
    assert (value, s.tolist()) == (9.0, [6.0, -2.0])
    assert type(value) is float
    assert OWN.subgradient_bound(Ball(1.0)) == 2.0
    assert OWN.exact_sigma(None) is None
    assert OWN.region is None


@pytest.mark.parametrize("kind", [np.float64, np.array, np.int8, int])
def test_a_value_of_any_kind_is_a_float(kind):
    value, _ = FunctionConstraint(lambda x: kind(-2), lambda x: 2 * x).query(np.zeros(2))
    assert type(value) is float
    assert value == -2.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FunctionConstraint(3, len), "value_of must be a function, got 3"),
        (lambda: FunctionConstraint(len, None), "subgradient_of must be a function, got None"),
        (
            lambda: FunctionConstraint(len, len, bound=0.0),
            "bound must be a finite number > 0, got 0.0",
        ),
    ],
)
def test_what_is_no_function_is_refused(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "value_of(x) must be one number, got None"),
        (np.zeros(1), "value_of(x).shape must be (), that of one number, got (1,)"),
    ],
)
def test_a_value_that_is_no_number_is_refused(value, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        FunctionConstraint(lambda x: value, lambda x: x).query(np.zeros(2))


def test_a_flat_array_of_values_is_refused_in_a_batch():
    own = FunctionConstraint(lambda x: (x * x).sum(axis=-1), lambda x: 2 * x)
    sentence = "value_of(x).shape must be (3, 1), got (3,)"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        own.query(np.zeros((3, 2)))


def test_a_subgradient_of_another_shape_is_named_at_the_update():
    own = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: [2.0, 3.0, 4.0])
    player = PFS(eta=0.1, rho=0.0, domain=Ball(1.0))
    state = player.init(np.zeros(2))
    sentence = "constraint_subgradient.shape must be (2,), that of the action, got (3,)"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        player.update(state, Feedback(np.zeros(2), *own.query(state.x)))

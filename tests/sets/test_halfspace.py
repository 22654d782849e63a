import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot.sets import EmptyTighteningError, Halfspace, project_halfspace

NAN, INF = math.nan, math.inf
Y, S = np.array([1.0, 2.0]), np.array([3.0, -4.0])
# NumPy's own words for inf - inf and 0 inf, which come on top of ours.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(invalid value|overflow) encountered:RuntimeWarning"
)


def test_projection_by_hand():
    # (1, 2) - 5/25 (3, -4)
    assert project_halfspace(Y, 5.0, S) == pytest.approx([0.4, 2.8], rel=1e-15)


@pytest.mark.parametrize("excess", [0.0, -0.0, -1e-300, -7.0])
def test_a_point_inside_comes_back_itself(excess):
    assert project_halfspace(Y, excess, S) is Y
    assert project_halfspace(Y, excess, np.zeros(2)) is Y


@pytest.mark.parametrize("excess", [5, np.float64(5), np.int64(5)])
def test_a_number_of_any_kind_takes_the_way_of_one_run(excess):
    assert project_halfspace(Y, excess, S) == pytest.approx([0.4, 2.8], rel=1e-15)
    with pytest.raises(EmptyTighteningError):
        project_halfspace(Y, excess, np.zeros(2))
    assert project_halfspace(Y, -excess, S) is Y


def test_a_point_may_be_a_list_and_not_of_another_length():
    below = Halfspace([0.0, 2.0], 1.0)
    assert below.contains([9.0, 0.5]) is True
    with pytest.raises(ValueError, match="the point must have 2 entries, got shape"):
        below.contains(np.zeros(3))


def test_a_zero_subgradient_above_the_tightened_level_is_refused_with_the_numbers():
    with pytest.raises(EmptyTighteningError) as error:
        project_halfspace(Y, 0.04, np.zeros(2))
    assert str(error.value) == (
        "constraint_subgradient must not be 0 where the tightened constraint is violated, got "
        "s = 0 with g + rho = 0.04 > 0: x is a minimum of g, so g <= -rho nowhere"
    )


def test_the_result_fulfils_the_inequality_and_moves_along_the_normal():
    p = project_halfspace(Y, 5.0, S)
    assert 5.0 + S @ (p - Y) == pytest.approx(0.0, abs=1e-15)
    moved = p - Y
    assert moved[0] * S[1] - moved[1] * S[0] == pytest.approx(0.0, abs=1e-15)


finite = st.floats(-1e6, 1e6)


@given(
    st.lists(st.tuples(finite, finite, finite, finite, finite), min_size=1, max_size=6),
)
def test_a_batch_is_its_runs_one_by_one(runs):
    table = np.array(runs)
    y, excess, s = table[:, :2], table[:, 2:3], table[:, 3:]
    batch = project_halfspace(y, excess, s)
    for i in range(len(runs)):
        squared = s[i] @ s[i]
        if squared == 0 and excess[i, 0] > 0:
            assert np.isnan(batch[i]).all()
            continue
        if squared > 0 and excess[i, 0] / squared == math.inf:  # refused as one run, lost as here
            assert not np.isfinite(batch[i]).all()
            continue
        one = project_halfspace(y[i], float(excess[i, 0]), s[i])
        # The squared norm may be added up in another order: 2 u of the step.
        tolerance = 4 * 2.0**-53 * np.abs(one - y[i]).max()
        assert np.abs(one - batch[i]).max() <= tolerance + 4 * 2.0**-53 * np.abs(one).max()


def round_with(grad, g, s, eta=0.5, rho=0.25):
    """Point and excess of a round, as an algorithm computes them."""
    y = Y - eta * np.asarray(grad)
    s = np.asarray(s)
    if y.ndim == 1:
        return y, g + float(s @ (y - Y)) + rho, s
    return y, np.asarray(g) + np.vecdot(s, y - Y)[:, None] + rho, s


BAD = [NAN, INF, -INF]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("i", [0, 1])
@pytest.mark.parametrize("s", [S, np.array([0.0, 1.0]), np.zeros(2)], ids=str)
def test_a_gradient_that_is_not_finite_is_refused(bad, i, s):
    grad = np.array([1.0, -2.0])
    grad[i] = bad
    with pytest.raises(ValueError, match=rf"cost_gradient, must be finite, got .* at index {i}$"):
        project_halfspace(*round_with(grad, -1.0, s))


@pytest.mark.parametrize("bad", BAD)
def test_a_value_that_is_not_finite_is_refused(bad):
    sentence = f"constraint_value must be finite, got an excess of {bad}"
    for s in (S, np.zeros(2)):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            project_halfspace(*round_with([1.0, -2.0], bad, s))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("i", [0, 1])
@pytest.mark.parametrize("grad", [[1.0, -2.0], [0.0, 0.0], [-1.0, 2.0]], ids=str)
def test_a_subgradient_that_is_not_finite_is_refused(bad, i, grad):
    s = S.copy()
    s[i] = bad
    sentence = f"constraint_subgradient must be finite, got {bad} at index {i}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        project_halfspace(*round_with(grad, -1.0, s))


@pytest.mark.parametrize(
    "s", [np.array([size, 0.0]) for size in (1e-200, 1.6e-155, 1e200)], ids=str
)
def test_a_subgradient_without_a_usable_square_is_refused(s):
    with pytest.raises(ValueError, match="constraint_subgradient must have a norm that"):
        project_halfspace(Y, 1.0, s)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("what", ["gradient", "value", "subgradient"])
def test_in_a_batch_only_the_bad_run_becomes_nan(bad, what):
    grad, g, s = np.array([[1.0, -2.0]] * 3), np.full((3, 1), 4.0), np.array([S] * 3)
    expected = project_halfspace(*round_with(grad, g, s))
    {"gradient": grad, "value": g, "subgradient": s}[what][1, 0] = bad
    p = project_halfspace(*round_with(grad, g, s))
    assert np.array_equal(p[[0, 2]], expected[[0, 2]])
    assert not np.isfinite(p[1]).all()
    # What is lost stays lost: the next round of that run cannot be finite either.
    assert not np.isfinite(p[1] - 0.5 * grad[0]).all()


def test_in_a_batch_only_the_run_with_an_empty_half_space_becomes_nan():
    y, s = np.array([Y] * 3), np.array([S, [0.0, 0.0], [0.0, 0.0]])
    p = project_halfspace(y, np.array([[5.0], [1e-9], [-1e-9]]), s)
    assert p[0] == pytest.approx([0.4, 2.8], rel=1e-15)
    assert np.isnan(p[1]).all()
    assert p[2].tolist() == Y.tolist()


@pytest.mark.parametrize("excess", [5.0, -5.0])
def test_every_backend_gives_the_same_point(backend, excess):
    number = excess if backend.name == "numpy" else backend.array(excess)
    one = project_halfspace(backend.array(Y), number, backend.array(S))
    expected = [0.4, 2.8] if excess > 0 else [1.0, 2.0]
    assert backend.holds(one)
    assert backend.numpy(one) == pytest.approx(expected, rel=1e-15)
    batch = project_halfspace(
        backend.array([Y, Y, Y]),
        backend.array([[excess], [-1.0], [1.0]]),
        backend.array([S, S, 0 * S]),
    )
    assert backend.numpy(batch[0, ...]) == pytest.approx(expected, rel=1e-15)
    assert backend.numpy(batch[1, ...]).tolist() == Y.tolist()
    assert np.isnan(backend.numpy(batch[2, ...])).all()


@pytest.mark.parametrize("s", [[3.0, -4.0], [0.0, 0.0]])
@pytest.mark.parametrize("excess", [5.0, 0.0, -5.0])
def test_derivatives_are_finite_wherever_the_projection_exists(x64, s, excess):
    jnp = x64.numpy
    if s == [0.0, 0.0] and excess > 0:
        return
    project = x64.jit(x64.jacobian(project_halfspace, argnums=(0, 1, 2)))
    by_y, by_excess, by_s = project(jnp.asarray(Y), jnp.asarray(excess), jnp.asarray(s))
    for derivative in (by_y, by_excess, by_s):
        assert jnp.isfinite(derivative).all()
    assert np.asarray(by_y).tolist() == np.eye(2).tolist()
    if excess > 0:
        assert np.asarray(by_excess) == pytest.approx(-S / 25.0, rel=1e-15)
    if excess < 0:
        assert not np.asarray(by_excess).any()


BELOW = Halfspace([3.0, -4.0], -2.0)


def test_the_set_by_hand():
    # 3 + 2 * 4 ... : (1, 2) has 3 - 8 = -5 <= -2; (2, 1) has 2 and is 4 too far, by 4/25 (3, -4).
    assert BELOW.excess(Y) == -3.0
    assert BELOW.contains(Y) is True
    assert BELOW.project(Y) is Y
    assert BELOW.contains(np.array([2.0, 1.0])) is False
    assert BELOW.project(np.array([2.0, 1.0])) == pytest.approx([1.52, 1.64], rel=1e-14)


def test_the_boundary_is_inside():
    assert BELOW.contains(np.array([2.0, 2.0])) is True


def test_a_half_space_has_no_end():
    assert BELOW.diameter == INF
    assert BELOW.dimension == 2
    with pytest.raises(ValueError, match="minimize_linear must be given a bounded set, got a Half"):
        BELOW.minimize_linear(Y)


@pytest.mark.parametrize(
    ("normal", "offset", "sentence"),
    [
        ([0.0, 0.0], 1.0, "normal must not be zero, got the zero vector"),
        ([1.0, NAN], 1.0, "normal must be finite, got nan at index 1"),
        ([], 1.0, "normal.shape must be that of a vector that is not empty, got (0,)"),
        ([1.0], NAN, "offset must be a finite number, got nan"),
        ([1.0], None, "offset must be a finite number, got None"),
    ],
)
def test_a_bad_half_space_is_named(normal, offset, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Halfspace(normal, offset)

import re

import numpy as np
import pytest

from surefoot.sets import Ball

NAN, INF = float("nan"), float("inf")
# A projection lands (d + 8) 2^-53 of the radius inside: 1e-15 of it for a few entries.
HAIR = 2e-15


def test_projection_by_hand():
    p = Ball(2.0).project(np.array([3.0, -4.0]))
    assert p == pytest.approx([1.2, -1.6], rel=HAIR)
    p = Ball(2.0, centre=[1.0, -1.0]).project(np.array([7.0, -9.0]))
    assert p == pytest.approx([2.2, -2.6], rel=HAIR)


def test_a_point_inside_comes_back_itself():
    x = np.array([0.3, -0.4])
    assert Ball(0.5).project(x) is x
    assert Ball(2.0, centre=[1.0, 0.0]).project(x) is x


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("name", ["project", "contains", "minimize_linear"])
def test_a_point_of_another_length_than_the_centre_is_refused(name, length):
    ball = Ball(2.0, centre=[1.0, -1.0])
    with pytest.raises(ValueError, match="must have 2 entries, got shape"):
        getattr(ball, name)(np.zeros(length))  # one entry would fit every centre


def test_a_list_is_a_point():
    ball = Ball(2.0, centre=[1.0, -1.0])
    assert ball.contains([1.0, 0.5]) is True
    assert ball.minimize_linear([0.0, 5.0]) == pytest.approx([1.0, -3.0], rel=HAIR)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("centre", [None, [1.0, -1.0]])
def test_a_point_too_far_for_its_square_is_refused_and_loses_one_run_of_a_batch(centre):
    ball, far = Ball(2.0, centre), np.array([3e200, -4e200])
    with pytest.raises(ValueError, match="the point to project must be of a finite square"):
        ball.project(far)
    p = ball.project(np.array([far, [7.0, -9.0]]))
    assert np.isnan(p[0]).all()
    assert ball.contains(p[1]) is True


def test_points_on_the_sphere_are_inside():
    assert Ball(5.0).contains(np.array([3.0, -4.0])) is True
    assert Ball(5.0).contains(np.array([3.0, -np.nextafter(4.0, 5.0)])) is False


def test_minimiser_of_a_linear_cost_by_hand():
    v = Ball(2.0, centre=[1.0, -1.0]).minimize_linear(np.array([-3.0, 4.0]))
    assert v == pytest.approx([2.2, -2.6], rel=HAIR)


def test_without_a_cost_the_minimiser_is_the_centre():
    assert Ball(2.0).minimize_linear(np.zeros(2)).tolist() == [0.0, 0.0]
    assert (
        Ball(2.0, centre=[1.0, -1.0]).minimize_linear(np.zeros((3, 2))).tolist()
        == [[1.0, -1.0]] * 3
    )


def test_a_batch_may_have_a_radius_a_run():
    x = np.array([[3.0, -4.0], [3.0, -4.0], [0.1, 0.2]])
    p = Ball(np.array([[1.0], [10.0], [1.0]])).project(x)
    assert p == pytest.approx(np.array([[0.6, -0.8], [3.0, -4.0], [0.1, 0.2]]), rel=HAIR)


@pytest.mark.parametrize("radius", [2, np.float64(2), np.float32(2), np.array(2.0), np.int8(2)])
def test_numbers_of_every_kind_give_the_same_ball(radius):
    ball = Ball(radius, centre=np.array([1, -1]))
    assert ball == Ball(2.0, centre=[1.0, -1.0])
    assert type(ball.radius) is float
    assert ball.centre.dtype == np.float64
    assert repr(ball) == "Ball(radius=2.0, centre=array([ 1., -1.]))"


def test_the_centre_is_a_copy():
    centre = np.array([1.0, -1.0])
    ball = Ball(2.0, centre=centre)
    centre[0] = 100.0
    assert ball.centre.tolist() == [1.0, -1.0]


def test_equal_balls_around_zero_have_equal_hashes():
    assert len({Ball(1), Ball(1.0), Ball(2.0)}) == 2


def test_diameter_reach_and_dimension():
    ball = Ball(2.0, centre=[1.0, -1.0])
    assert ball.diameter == 4.0
    assert ball.reach(np.array([4.0, 3.0])) == 7.0
    assert Ball(2.0).reach(np.array([3.0, -4.0])) == 7.0
    assert ball.dimension == 2
    assert Ball(2.0).dimension is None


@pytest.mark.parametrize("radius", [0.0, -1.0, NAN, INF, None, "1"])
def test_a_radius_must_be_positive(radius):
    sentence = f"radius must be a finite number > 0, got {radius!r}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Ball(radius)


@pytest.mark.parametrize(
    ("centre", "sentence"),
    [
        ([1.0, NAN], "centre must be finite, got nan at index 1"),
        ([], "centre.shape must be that of a vector that is not empty, got (0,)"),
        ([[1.0]], "centre.shape must be that of a vector that is not empty, got (1, 1)"),
    ],
)
def test_a_centre_must_be_a_finite_vector(centre, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Ball(1.0, centre=centre)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_point_too_far_to_square_is_refused():
    with pytest.raises(ValueError, match=r"the point to project must be of a finite square, got"):
        Ball(1.0).project(np.array([1e200, 0.0]))
    np.testing.assert_allclose(Ball(1.0).minimize_linear(np.array([1e200, 0.0])), [-1.0, 0.0])


@pytest.mark.parametrize("bad", [NAN, INF])
def test_a_cost_that_is_not_finite_has_no_minimiser(bad):
    with pytest.raises(ValueError, match=f"c must be finite, got {bad} at index 1"):
        Ball(1.0).minimize_linear(np.array([0.0, bad]))


def test_derivative_outside_is_the_one_of_the_formula(x64):
    x, R = np.array([3.0, -4.0]), 2.0
    unit = x / 5.0
    expected = R / 5.0 * (np.eye(2) - np.outer(unit, unit))
    derivative = x64.jacobian(Ball(R).project)(x64.numpy.asarray(x))
    assert np.asarray(derivative) == pytest.approx(expected, abs=1e-15)


def test_radius_and_centre_may_be_traced(x64):
    def moved(radius, centre):
        return Ball(radius, centre).project(x64.numpy.asarray([7.0, -9.0]))

    p = x64.jit(moved)(2.0, x64.numpy.asarray([1.0, -1.0]))
    assert np.asarray(p) == pytest.approx([2.2, -2.6], rel=HAIR)
    # One more of radius is one more towards the point: (0.6, -0.8).
    slope = x64.jacobian(moved)(2.0, x64.numpy.asarray([1.0, -1.0]))
    assert np.asarray(slope) == pytest.approx([0.6, -0.8], rel=1e-14)

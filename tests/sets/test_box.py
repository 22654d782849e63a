import re

import numpy as np
import pytest

from surefoot.sets import Box

NAN, INF = float("nan"), float("inf")
BOX = Box([-1.0, 0.5, -0.25], [2.0, 0.5, 0.75])


def test_projection_clips_each_entry():
    assert BOX.project(np.array([-3.0, 9.0, 0.5])).tolist() == [-1.0, 0.5, 0.5]
    assert BOX.project(np.array([3.0, -9.0, -0.5])).tolist() == [2.0, 0.5, -0.25]


def test_corners_and_faces_are_inside():
    assert BOX.contains(np.array([-1.0, 0.5, 0.75])) is True
    assert BOX.contains(np.array([-1.0, 0.5, np.nextafter(0.75, 1.0)])) is False
    assert BOX.contains(np.array([[0.0, 0.5, 0.0], [0.0, 0.6, 0.0]])).tolist() == [[True], [False]]


def test_minimiser_of_a_linear_cost_is_the_corner_against_it():
    assert BOX.minimize_linear(np.array([1.0, -1.0, -1.0])).tolist() == [-1.0, 0.5, 0.75]
    assert BOX.minimize_linear(np.array([-1e-300, 0.0, 0.0])).tolist() == [2.0, 0.5, -0.25]


def test_large_entries_are_clipped_like_others():
    assert BOX.project(np.array([1e300, -1e300, 0.0])).tolist() == [2.0, 0.5, 0.0]


def test_cube_diameter_and_dimension():
    cube = Box.cube(0.5, 4)
    assert cube == Box([-0.5] * 4, [0.5] * 4)
    assert cube.diameter == 2.0
    assert cube.dimension == 4
    assert Box([0, 0], [3, 4]).diameter == 5.0


@pytest.mark.parametrize(
    ("lower", "upper", "sentence"),
    [
        ([0.0, 1.0], [1.0, 0.5], "lower must be at most upper, got 1 > 0.5 at index 1"),
        ([0.0, 1.0], [1.0], "upper.shape must be (2,), got (1,)"),
        ([0.0, NAN], [1.0, 1.0], "lower must be finite, got nan at index 1"),
        ([0.0, 0.0], [1.0, INF], "upper must be finite, got inf at index 1"),
        ([], [], "lower.shape must be that of a vector that is not empty, got (0,)"),
    ],
)
def test_bad_limits_are_named(lower, upper, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Box(lower, upper)


@pytest.mark.parametrize(
    ("radius", "dimension", "sentence"),
    [
        (0.0, 2, "radius must be a finite number > 0, got 0.0"),
        (1.0, 0, "dimension must be a whole number >= 1, got 0"),
        (1.0, 2.5, "dimension must be a whole number >= 1, got 2.5"),
    ],
)
def test_a_bad_cube_is_named(radius, dimension, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Box.cube(radius, dimension)

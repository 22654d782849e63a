import math

import numpy as np
import pytest

from surefoot import sets
from surefoot.problems.constraints import L1Norm
from surefoot.sets import Ball


def test_value_and_signs_by_hand_with_a_centre():
    g = L1Norm(1.5, 3, centre=[1.0, -1.0, 0.5])
    value, s = g.query(np.array([2.0, -1.0, 0.25]))
    assert value == 1.0 + 0.0 + 0.25 - 1.5
    np.testing.assert_array_equal(s, [1.0, 0.0, -1.0])


def test_the_centre_is_the_minimum_with_subgradient_zero():
    g = L1Norm(1.5, 2, centre=[0.3, -0.7])
    value, s = g.query(np.array([0.3, -0.7]))
    assert value == -1.5
    assert not s.any()
    np.testing.assert_array_equal(g.interior, [0.3, -0.7])


def test_the_bound_is_attained_off_the_axes_and_sigma_on_them():
    g = L1Norm(2.0, 5)
    assert g.subgradient_bound(Ball(9.0)) == math.sqrt(5)
    assert np.linalg.norm(g.subgradient(np.array([1.0, -1, 2, 0.1, -3]))) == math.sqrt(5)
    sigma, epsilon = g.exact_sigma(0.5)
    assert (sigma, epsilon) == (1.0, 0.5)
    on_axis = np.array([0.0, -1.5, 0, 0, 0])
    assert g.value(on_axis) == -0.5
    assert np.linalg.norm(g.subgradient(on_axis)) == 1.0


def test_the_region_is_the_same_ball():
    g = L1Norm(2.0, 2, centre=[1.0, 0.0])
    assert g.region == sets.L1Ball(2.0, [1.0, 0.0])
    assert L1Norm(2, 3).region == sets.L1Ball(2.0)


def test_half_of_the_radius_is_the_level_unless_another_is_asked_for():
    assert L1Norm(3.0, 4).exact_sigma(None)[1] == 1.5
    with pytest.raises(ValueError, match="epsilon must be > 0 and below 3, the depth"):
        L1Norm(3.0, 4).exact_sigma(3.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0.0, 2), "radius must be a finite number > 0, got 0.0"),
        ((math.nan, 2), "radius must be a finite number > 0, got nan"),
        ((1.0, 0), "dimension must be a whole number >= 1, got 0"),
        ((1.0, 2.5), "dimension must be a whole number >= 1, got 2.5"),
        ((1.0, 2, [0.0, math.nan]), "centre must be finite, got nan at index 1"),
        ((1.0, 2, [0.0, 1.0, 2.0]), r"centre.shape must be \(2,\), got \(3,\)"),
    ],
)
def test_bad_input_is_named(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        L1Norm(*arguments)

"""A function that is one of the library's constraints is named by what was probed."""

import numpy as np
import pytest

from surefoot import Ball, calibrate
from surefoot.problems.constraints import (
    Affine,
    EllipsoidNorm,
    FunctionConstraint,
    L1Norm,
    QuadraticForm,
)

SHAPES = {
    "Affine": Affine([[0.6, 0.9]], [0.5]),
    "QuadraticForm": QuadraticForm([[2.0, 0.0], [0.0, 6.0]], [1.0, 0.0], 4.0),
    "EllipsoidNorm": EllipsoidNorm([[4.0, 1.0], [1.0, 1.0]]),
}


def notes_of(g):
    own = FunctionConstraint(
        lambda x: float(np.max(g.value(x))), lambda x: g.query(x)[1], bound=9.0
    )
    return calibrate(own, [0.05, -0.1], Ball(2.0), horizon=10).notes


@pytest.mark.parametrize("name", SHAPES)
def test_a_function_of_a_known_shape_gets_a_hint(name):
    (hint,) = [note for note in notes_of(SHAPES[name]) if "constraints." in note]
    assert hint.startswith(f"where it was probed, g is a constraints.{name}:")


def test_other_functions_and_the_librarys_own_get_none():
    assert not [note for note in notes_of(L1Norm(1.0, 2)) if "constraints." in note]
    found = calibrate(SHAPES["QuadraticForm"], [0.05, -0.1], Ball(2.0), horizon=10)
    assert not [note for note in found.notes if "constraints." in note]

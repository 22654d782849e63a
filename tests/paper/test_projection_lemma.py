"""The appendix lemma on the projection onto a sub-level set: its five points, in order."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import nnls

from ._cases import CASES, EXACT

# Where x is this close to the set, the direction of x - z is lost in rounding.
CLEAR = 1e-3


@cache
def projected(case):
    """Triples (x, z, s_z, rho) with h = g + rho > 0 at x, and the s_z that the lemma promises."""
    found = []
    for rho in case.levels:
        points = case.points(n=40, seed=17)
        nearest = case.project(points, rho)
        for x, z in zip(points, nearest, strict=True):
            if np.linalg.norm(x - z) > CLEAR:
                found.append((x, z, normal(case, x - z, z), rho))
    assert len(found) > 50
    return found


def normal(case, away, z):
    """The subgradient of g at z that points along x - z."""
    corners = case.gradients(z)
    weights, _ = nnls(corners.T, away)
    return weights @ corners / weights.sum()


def lemma(point):
    """Every case, under the number of the point it tests."""
    return pytest.mark.parametrize("case", CASES, ids=[f"{point}. {case}" for case in CASES])


@lemma(1)
def test_the_projection_is_on_the_boundary(case):
    z = np.array([z for _, z, _, _ in projected(case)])
    rho = np.array([rho for *_, rho in projected(case)])
    assert case.value(z) + rho == pytest.approx(0, abs=EXACT)


@lemma(2)
def test_the_way_to_the_projection_is_along_a_subgradient_there(case):
    for x, z, s_z, _ in projected(case):
        gamma = np.linalg.norm(x - z)
        # The direction is known to rounding over the distance, the projection to EXACT.
        assert x - z == pytest.approx(gamma * s_z / np.linalg.norm(s_z), abs=EXACT)


@lemma(3)
def test_the_way_is_no_longer_than_the_excess_over_that_subgradient(case):
    for x, z, s_z, rho in projected(case):
        excess = case.constraint.value(x) + rho
        assert excess > 0
        assert np.linalg.norm(x - z) <= excess / np.linalg.norm(s_z) + EXACT


@lemma(4)
def test_every_subgradient_outside_leans_along_the_one_at_the_projection(case):
    for x, _, s_z, _ in projected(case):
        for s_x in (*case.gradients(x), case.constraint.subgradient(x)):
            assert s_z @ s_z <= s_x @ s_z + EXACT / CLEAR


@lemma(5)
def test_no_subgradient_outside_is_shorter_than_the_one_at_the_projection(case):
    for x, _, s_z, _ in projected(case):
        for s_x in (*case.gradients(x), case.constraint.subgradient(x)):
            assert np.linalg.norm(s_x) >= np.linalg.norm(s_z) - EXACT / CLEAR

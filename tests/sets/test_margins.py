"""Sizes, certificates and answers that rest on a solver's word."""

import math

import numpy as np
import pytest

from surefoot.sets import Ball, Polytope, SpectralBall, _active_set
from surefoot.sets.simplex import onto_simplex


def test_the_reach_of_a_ball_counts_its_centre():
    assert Ball(2.0, [3.0, 4.0]).reach_from_origin == 7.0
    assert Ball(2.0).reach_from_origin == 2.0


def test_the_diameter_of_a_spectral_ball_is_between_opposite_isometries():
    ball = SpectralBall((2, 5), 1.5)
    corner = 1.5 * np.eye(2, 5).ravel()
    assert ball.contains(0.999999 * corner)
    assert ball.diameter == pytest.approx(2 * np.linalg.norm(corner))


def test_entries_that_are_far_below_do_not_overflow():
    p = onto_simplex(np.array([0.0, -1.7e308, -1.7e308]), 1.0, 1.0)
    assert p.tolist() == [1.0, 0.0, 0.0]


def test_the_error_of_a_projection_counts_the_rounding_of_its_rows():
    poly = Polytope([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1.0, 1.0, 1.0, 1.0])
    point = poly._pull_inside(np.array([1.0, 0.0]))
    error = poly._distance_bound(np.array([2.0, 0.0]), point, np.array([1.0, 0, 0, 0]))
    gap = poly._rounding(point)[0] - poly._excess(point)[0]
    assert error >= math.sqrt(2 * gap)


def test_an_active_set_that_does_not_hold_its_rows_is_refused(monkeypatch):
    rows, excess = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -5.0])
    q, z = _active_set.project_halfspaces(excess, rows, 1e-12, 10.0)
    assert (q.tolist(), z.tolist()) == ([-1.0, 0.0], [1.0, 0.0])
    monkeypatch.setattr(_active_set, "_multipliers", lambda active, v: 2 * v)
    # Feasible, and not the nearest point: the row is passed by 1.
    assert _active_set.project_halfspaces(excess, rows, 1e-12, 10.0) is None

"""Slices of slices, and shapes that nearly fit."""

import numpy as np
import pytest

from surefoot.problems.costs import Absolute, FromChunks, FromFunctions, Linear, LogPortfolio

X = np.zeros(1)


def test_a_slice_of_a_slice_counts_from_the_first_round():
    costs = FromFunctions(
        value_of=lambda t, x: float(t), gradient_of=lambda t, x: x, horizon=10, dimension=1
    )
    assert costs.rounds(2, 8).rounds(1, 3).value(0, X) == 3.0


def test_chunks_of_other_runs_are_refused():
    costs = FromChunks(lambda a, b: Linear(np.ones((b - a, 3, 1))), horizon=4, dimension=1)
    with pytest.raises(ValueError, match="runs None, got 1, 1 and 3"):
        costs.gradient(0, X)


def test_ruin_costs_infinitely_much():
    assert LogPortfolio([[0.5], [-2.0]]).sum_at(np.ones(1))[0] == np.inf


def test_numbers_of_the_rounds_must_have_the_shape_of_the_runs():
    features = np.ones((4, 3, 2))
    with pytest.raises(ValueError, match=r"shape must be \(4, 3\), got \(4,\)"):
        Absolute(features, np.ones(4))
    with pytest.raises(ValueError, match=r"shape must be \(4,\), got \(4, 3\)"):
        Absolute(features[:, 0], np.ones((4, 3)))

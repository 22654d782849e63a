"""How far inside a start is in the worst context: never more than it truly is."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.problems.calibration.start_margin import Evidence, choose_start, find_margin


def log_of(seed, contexts, rows=80):
    rng = np.random.default_rng(seed)
    x, c = rng.uniform(0, 1, (rows, 2)), rng.uniform(-1, 1, (rows, contexts))
    steepness, rise = np.array([3.0, 1.0]), np.array([2.0, 0.5, 0.1])[:contexts]
    excess = np.abs(x - 0.7) @ steepness + np.abs(c - 0.2) @ rise - 9.0
    return Evidence(x, c, excess, steepness, rise), steepness, rise


def test_a_margin_by_hand():
    rows = Evidence(
        np.array([[1.0], [1.0]]),
        np.array([[0.0], [10.0]]),
        np.array([-6.0, -4.0]),
        np.array([0.5]),
        np.array([0.25]),
    )
    low, high = np.array([0.0]), np.array([10.0])
    # Row 1 says -6 + c/4, row 2 -4 + (10 - c)/4: they meet at c = 9, with -3.75.
    found = find_margin(rows, np.array([1.0]), low, high)
    assert found.margin == pytest.approx(3.75, abs=0.02)
    assert found.margin <= 3.75
    assert found.context == pytest.approx([9.0], abs=0.2)
    assert find_margin(rows, np.array([0.0]), low, high).margin == pytest.approx(3.25, abs=0.02)
    assert find_margin(rows, np.array([1.0]), low, high + 4).margin == pytest.approx(3.0, abs=0.02)


def test_without_contexts_the_best_row_says_it():
    rows = Evidence(
        np.array([[1.0], [3.0]]),
        np.zeros((2, 0)),
        np.array([-6.0, -4.0]),
        np.array([0.5]),
        np.zeros(0),
    )
    found = find_margin(rows, np.array([2.0]), np.zeros(0), np.zeros(0))
    assert (found.margin, found.row) == (pytest.approx(5.5), 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_no_context_is_worse_than_the_margin_says(seed, contexts):
    log, steepness, rise = log_of(seed, contexts)
    rng = np.random.default_rng(seed + 1)
    start, low, high = rng.uniform(0, 1, 2), -np.ones(contexts), 1.5 * np.ones(contexts)
    found = find_margin(log, start, low, high)
    some = np.vstack([rng.uniform(low, high, (200, contexts)), low, high, found.context])
    truth = np.abs(start - 0.7) @ steepness + np.abs(some - 0.2) @ rise - 9.0
    assert truth.max() <= -found.margin
    # And it is near to the best that the rows say, at the context that it names.
    ways = log.excess + np.abs(log.x - start) @ steepness
    said = min(ways + np.abs(log.c - found.context) @ rise)
    assert -found.margin - said <= 0.03 * np.ptp(log.excess)


def test_the_start_that_is_chosen_is_within_the_ranges_and_further_inside_than_most():
    log, _, _ = log_of(0, 2)
    low, high = np.array([0.0, 0.3]), np.array([1.0, 0.9])
    box = (-np.ones(2), np.ones(2))
    start = choose_start(log, low, high, box)
    assert ((low <= start) & (start <= high)).all()
    best = find_margin(log, start, *box).margin
    others = [find_margin(log, x, *box).margin for x in np.clip(log.x[:40], low, high)]
    assert best >= np.quantile(others, 0.95)

"""Regret is an interval, as long as its comparator's gap."""

import numpy as np
import pytest

from surefoot.games import regret_of
from surefoot.problems.hindsight import Comparator

ROUNDS = np.array([1, 5, 9])
VALUE = np.array([1.0, 2.0, 4.0])
LOWER = np.array([0.5, 2.0, 3.75])


def comparator(value, lower):
    return Comparator(ROUNDS, np.zeros((*value.shape, 2)), value, lower)


def test_regret_is_between_the_cost_less_either_bound():
    regret = regret_of([3.0, 2.5, 10.0], comparator(VALUE, LOWER))
    assert regret.upper.tolist() == [2.5, 0.5, 6.25]
    assert regret.lower.tolist() == [2.0, 0.5, 6.0]
    assert regret.gap.tolist() == [0.5, 0.0, 0.25]
    assert regret.rounds is ROUNDS


def test_an_exact_comparator_leaves_no_gap():
    assert not regret_of([3.0, 2.5, 10.0], comparator(VALUE, VALUE)).gap.any()


def test_runs_that_share_their_costs_share_the_comparator():
    sums = np.array([[3.0, 4.0], [2.5, 2.0], [10.0, 20.0]])
    regret = regret_of(sums, comparator(VALUE, LOWER))
    assert regret.upper.tolist() == [[2.5, 3.5], [0.5, 0.0], [6.25, 16.25]]


def test_runs_with_costs_of_their_own_have_their_own():
    value = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    regret = regret_of(np.full((3, 2), 10.0), comparator(value, value))
    assert regret.upper.tolist() == [[9.0, 8.0], [7.0, 6.0], [5.0, 3.0]]


@pytest.mark.parametrize(
    ("sums", "value"),
    [
        (np.zeros(2), VALUE),
        (np.zeros(3), np.zeros((3, 3))),  # would broadcast to the wrong runs
        (np.zeros((3, 2)), np.zeros((3, 4))),
        (np.zeros((3, 2, 2)), VALUE),
    ],
)
def test_sums_that_do_not_fit_the_comparator_are_refused(sums, value):
    with pytest.raises(ValueError, match=r"^cost_sums\.shape must be that of the comparator's val"):
        regret_of(sums, comparator(value, value))


def test_a_regret_prints_its_last_round():
    regret = regret_of([3.0, 2.5, 10.0], comparator(VALUE, LOWER))
    assert repr(regret) == "<Regret after 9 rounds, 3 kept: 6.25, known to 0.25>"

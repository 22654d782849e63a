import copy
import pickle
import re

import numpy as np
import pytest

from surefoot import Ball
from surefoot.problems.costs import Linear, Quadratic

NAN = float("nan")
TARGETS = np.array([[1.0, -2.0], [0.5, 0.25], [-3.0, 0.0]])
COSTS = Quadratic(TARGETS, curvature=3.0)
RUNS = np.arange(24.0).reshape(4, 3, 2) - 7.5


def test_value_and_gradient_by_hand():
    # 1.5 (1 + 9) and 3 (-1, 3) at (0, 1)
    x = np.array([0.0, 1.0])
    value = COSTS.value(0, x)
    assert type(value) is float
    assert value == 15.0
    assert COSTS.gradient(0, x).tolist() == [-3.0, 9.0]


def test_runs_have_targets_of_their_own():
    costs = Quadratic(RUNS, curvature=2.0)
    assert (costs.horizon, costs.runs, costs.dimension) == (4, 3, 2)
    x = np.zeros((3, 2))
    assert costs.value(1, x)[:, 0].tolist() == [(t * t).sum() for t in RUNS[1]]
    assert costs.gradient(1, x).tolist() == (-2.0 * RUNS[1]).tolist()
    assert (COSTS.horizon, COSTS.runs, COSTS.dimension) == (3, None, 2)


def test_the_gradient_bound_is_attained():
    # The farthest target is 3 from 0: 3 (3 + 2) at the point of the ball against it.
    assert COSTS.gradient_bound(Ball(2.0)) == 15.0
    assert np.linalg.norm(COSTS.gradient(2, np.array([2.0, 0.0]))) == 15.0
    # Around (-3, 4) the farthest is (1, -2), at sqrt(52).
    assert COSTS.gradient_bound(Ball(2.0, [-3.0, 4.0])) == pytest.approx(3 * (52**0.5 + 2))


def test_rounds_are_counted_from_the_start_of_a_slice():
    part = COSTS.rounds(1, 3)
    assert part.horizon == 2
    assert part.targets.tolist() == TARGETS[1:].tolist()
    assert part.value(0, np.zeros(2)) == COSTS.value(1, np.zeros(2))
    assert part.curvature == 3.0


@pytest.mark.parametrize(
    ("index", "runs"), [(1, None), (np.int64(2), None), (slice(1, 3), 2), (np.array([2, 0, 2]), 3)]
)
def test_runs_are_picked_by_number_slice_or_array(index, runs):
    costs = Quadratic(RUNS, curvature=2.0)
    picked = costs.run(index)
    assert picked.runs == runs
    assert picked.horizon == 4
    assert picked.targets.tolist() == RUNS[:, index].tolist()
    assert picked.rounds(1, 2).targets.tolist() == RUNS[1:2, index].tolist()
    assert costs.rounds(1, 2).run(index) == picked.rounds(1, 2)


def test_a_shared_stream_is_every_runs():
    assert COSTS.run(5) is COSTS
    assert COSTS.run(np.array([1, 2])) is COSTS


@pytest.mark.parametrize(
    ("targets", "sentence"),
    [
        ([1.0, 2.0], "targets.shape must be (T, d) or (T, B, d) with no empty axis, got (2,)"),
        (
            np.zeros((0, 2)),
            "targets.shape must be (T, d) or (T, B, d) with no empty axis, got (0, 2)",
        ),
        (
            np.zeros((1, 2, 3, 4)),
            "targets.shape must be (T, d) or (T, B, d) with no empty axis, got (1, 2, 3, 4)",
        ),
        ([[1.0, 2.0], [NAN, 1.0]], "targets must be finite, got nan in round 2"),
        ([[[1.0]], [[0.0]], [[-np.inf]]], "targets must be finite, got -inf in round 3"),
        ([[1.0], [1.0, 2.0]], "targets must be an array of numbers, got [[1.0], [1.0, 2.0]]"),
        ("targets", "targets must be an array of numbers, got 'targets'"),
        (None, "targets must be an array of numbers, got None"),
    ],
)
def test_bad_targets_are_named_with_the_round(targets, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Quadratic(targets, curvature=1.0)


def test_read_only_targets_are_checked_like_others():
    targets = np.array([[1.0, NAN]])
    targets.setflags(write=False)
    with pytest.raises(ValueError, match="targets must be finite, got nan in round 1"):
        Quadratic(targets, curvature=1.0)


@pytest.mark.parametrize("curvature", [0.0, -1.0, NAN, None])
def test_a_curvature_must_be_positive(curvature):
    sentence = f"curvature must be a finite number > 0, got {curvature!r}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Quadratic(TARGETS, curvature)


def test_a_curvature_is_one_python_float():
    for curvature in (3, np.float64(3), np.array(3.0)):
        assert type(Quadratic(TARGETS, curvature).curvature) is float
        assert Quadratic(TARGETS, curvature) == COSTS
    with pytest.raises(ValueError, match=r"curvature must be one number, got shape \(3, 1\)"):
        Quadratic(RUNS, np.ones((3, 1)))


def test_targets_become_read_only_float64_without_a_copy():
    mine = TARGETS.copy()
    held = Quadratic(mine, 1.0).targets
    assert np.shares_memory(held, mine)
    assert not held.flags.writeable
    assert mine.flags.writeable
    assert Quadratic(np.array([[1, 2]]), 1.0).targets.dtype == np.float64
    assert Quadratic(np.ones((1, 2), dtype=np.float32), 1.0).targets.dtype == np.float64


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_copies_are_equal(again):
    assert again(COSTS) == COSTS
    assert Quadratic(TARGETS + 1, 3.0) != COSTS
    assert Quadratic(TARGETS, 4.0) != COSTS
    assert Linear(TARGETS) != COSTS


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_every_backend_gives_the_same_numbers(backend, shape):
    x = np.full(shape, 0.75)
    value, gradient = COSTS.value(1, backend.array(x)), COSTS.gradient(1, backend.array(x))
    assert backend.holds(gradient)
    assert backend.numpy(value) == pytest.approx(COSTS.value(1, x), rel=1e-15)
    assert backend.numpy(value).shape == np.shape(COSTS.value(1, x))
    assert backend.numpy(gradient).tolist() == COSTS.gradient(1, x).tolist()

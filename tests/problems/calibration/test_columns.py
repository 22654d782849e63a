"""A constant per column: the least that explains a log, and what the log cannot tell apart."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.core import optional
from surefoot.core.optional import MissingExtraError
from surefoot.problems.calibration.columns import explain_by_contexts, find_columns


def log_of(seed, rows=60, error=0.05, d=3):
    """A log of a function with known constants, of actions and contexts."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (rows, d)) * [1.0, 5.0, 0.2][:d]
    true = np.array([2.0, 0.3, 9.0])[:d]
    y = np.abs(z) @ true + rng.uniform(-error, error, rows)
    return z, y, true, error


def test_a_program_by_hand():
    z, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 3.0, 1.0])
    found = find_columns(z, y, 0.0)
    assert found.constants == pytest.approx([3.0, 0.5])
    assert found.proofs == ((0, 1), (0, 2))
    assert found.likes == ((), ())
    assert find_columns(z, y, 0.1).constants == pytest.approx([2.8, 0.4])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_lemma_holds_on_every_log(seed):
    z, y, true, error = log_of(seed)
    found = find_columns(z, y, error)
    ranges = np.ptp(z, axis=0)
    i, j = np.triu_indices(len(y), 1)
    ways, apart = np.abs(z[i] - z[j]), np.abs(y[i] - y[j]) - 2 * error
    assert (ways @ found.constants >= apart - 1e-6).all()  # no pair contradicts them
    other = (found.likes, found.are_slopes, found.are_faint)
    plain = [k for k in range(3) if not any(each[k] for each in other)]
    if len(plain) == 3:
        assert ranges @ true >= ranges @ found.constants - 1e-6  # (b)
        for k in plain:  # (a): one smaller, and two rows contradict it
            less = found.constants.copy()
            less[k] *= 0.99
            assert (ways @ less < apart).any()


def test_columns_that_moved_together_have_the_whole_each():
    rng = np.random.default_rng(0)
    fan = rng.uniform(0, 1, 200)
    z = np.column_stack([fan, fan, rng.uniform(0, 1, 200)])
    y = z @ [1.0, 2.0, 4.0]
    found = find_columns(z, y, 0.0)
    assert found.constants[0] == pytest.approx(3.0, rel=0.05)
    assert found.constants[1] == pytest.approx(3.0, rel=0.05)
    assert found.constants[2] == pytest.approx(4.0, rel=0.05)
    assert sorted(found.likes) == [(), (), (0,)] or sorted(found.likes) == [(), (), (1,)]


def test_a_column_without_an_effect_has_a_constant_above_0():
    rng = np.random.default_rng(1)
    z = np.column_stack([rng.uniform(0, 1, 300), rng.uniform(0, 10, 300)])
    exact = find_columns(z, 3.0 * z[:, 0], 0.0)
    assert exact.are_faint == (False, True)
    assert exact.constants == pytest.approx([3.0, 0.03 * np.ptp(z[:, 0]) / np.ptp(z[:, 1])])
    noisy = find_columns(z, 3.0 * z[:, 0] + rng.uniform(-0.2, 0.2, 300), 0.2)
    assert noisy.are_slopes[1]
    assert 0 < noisy.constants[1] < 0.02


def test_an_effect_below_two_errors_is_seen_by_its_slope():
    # No two rows show it: 0.3 over the whole range, and the meter errs by 0.2.
    rng = np.random.default_rng(1)
    z = np.column_stack([rng.uniform(0, 1, 3_000), rng.uniform(0, 1, 3_000)])
    y = z @ [3.0, 0.3] + rng.uniform(-0.2, 0.2, 3_000)
    found = find_columns(z, y, 0.2)
    assert found.are_slopes[1]
    assert 0.3 <= found.constants[1] < 0.35


def test_a_controller_does_not_hide_what_it_works_against():
    # Cooling follows the warmth, and the value hardly moves: slopes of both are -2 and 2.
    rng = np.random.default_rng(2)
    warmth = rng.uniform(0, 10, 4_000)
    cooling = warmth + rng.uniform(-0.3, 0.3, 4_000)
    y = 2.0 * warmth - 2.0 * cooling + rng.uniform(-0.1, 0.1, 4_000)
    found = find_columns(np.column_stack([cooling, warmth]), y, 0.1)
    assert found.are_slopes == (True, True)
    assert (found.constants > 2.0).all()
    assert (found.constants < 2.2).all()
    opposite = find_columns(np.column_stack([cooling, -cooling]), 2 * cooling, 0.0)
    assert opposite.constants == pytest.approx([2.0, 2.0], rel=0.02)


def test_a_constant_that_is_given_is_kept_and_explains_its_part():
    z, y = (
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]),
        np.array([0.0, 3.0, 1.0, 4.0]),
    )
    found = find_columns(z, y, 0.0, given={0: 3.0})
    assert found.constants == pytest.approx([3.0, 0.5])
    assert found.proofs[0] is None
    with pytest.raises(ValueError, match=r"got rows \d and \d, whose values are 3 apart"):
        find_columns(z, y, 0.0, given={0: 1.0})


@pytest.mark.parametrize(
    ("z", "y", "error", "words"),
    [
        ([[0.0], [0.0], [1.0]], [0.0, 1.0, 0.0], 0.1, "got rows 1 and 2, whose values are 1 apart"),
        ([[0.0], [1.0]], [0.0, 0.3], 0.2, "must show an effect, got values at most 0.3 apart"),
        ([[0.0, 5.0], [1.0, 5.0]], [0.0, 3.0], 0.2, "every column must move, got column 2"),
        ([[0.0], [1.0]], [0.0, 3.0], -1.0, "error must be a finite number >= 0, got -1"),
    ],
)
def test_what_no_constants_explain_is_said(z, y, error, words):
    with pytest.raises(ValueError, match=words):
        find_columns(np.array(z), np.array(y), error)


def test_a_long_log_is_drawn_from_with_the_ends_of_its_columns():
    z, y, _, error = log_of(0, rows=3_000)
    found = find_columns(z, y, error, most=100)
    assert found.rows == 100
    assert (found.constants == find_columns(z, y, error, most=100).constants).all()
    rare = z.copy()
    rare[:, 0], rare[1234, 0] = 0.5, 0.9  # moved once: the draw has it
    assert np.isfinite(find_columns(rare, y, error, most=100).constants).all()


def test_without_a_solver_one_sentence_names_the_extra(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(optional.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"needs scipy, .*pip install 'surefoot\[solve\]'"):
        find_columns(np.array([[0.0], [1.0]]), np.array([0.0, 3.0]), 0.0)


def test_a_set_point_that_the_weather_set_is_known_by_its_share():
    rng = np.random.default_rng(2)
    c = rng.uniform(0, 30, (100, 1))
    x = np.column_stack([2.0 * c[:, 0] + rng.normal(0, 1, 100), rng.uniform(0, 1, 100)])
    first, second = explain_by_contexts(x, c)
    assert first > 0.95
    assert second < 0.2
    assert explain_by_contexts(x, c[:, :0]) == [0.0, 0.0]

"""A column that is missing is found where a set point was held, and not cried without one."""

import numpy as np
import pytest

from surefoot.problems.calibration import from_log
from surefoot.problems.calibration.missing import compare_repeats

NONE = np.zeros((96, 0))


def example(held, *, is_slow):
    """The log of docs/from_log.md, each action held for some rounds: x, g and the temperature."""
    rng = np.random.default_rng(3)
    load = np.repeat(rng.uniform(0.0, 1.0, (96 // held, 1)), held, axis=0)
    slow = 20.0 + 10.0 * np.sin(2 * np.pi * np.arange(96) / 96)
    warm = slow if is_slow else rng.uniform(10.0, 30.0, 96)
    return load, 0.8 * load[:, 0] ** 2 + 0.02 * (warm - 20.0) - 0.5, warm[:, None]


@pytest.mark.parametrize("held", [2, 4, 12])
@pytest.mark.parametrize("is_slow", [True, False])
def test_a_missing_temperature_is_certain_for_a_meter_of_known_error(held, is_slow):
    x, g, warm = example(held, is_slow=is_slow)
    found = compare_repeats(x, g, NONE, error=0.005)
    assert found.finding == "certain"
    i, j = found.twins
    assert x[i] == x[j]
    assert abs(g[i] - g[j]) == pytest.approx(found.difference)
    assert compare_repeats(x, g, warm, error=0.005).finding is None


@pytest.mark.parametrize("held", [2, 4, 12])
def test_a_missing_temperature_is_found_by_size_where_no_error_is_known(held):
    x, g, warm = example(held, is_slow=False)
    found = compare_repeats(x, g, NONE)
    assert found.finding == "size"
    assert 0.1 < found.deviation < 0.12  # 20 K uniformly, 0.02 each: 0.4 / sqrt(12)
    assert compare_repeats(x, g, warm).finding is None


@pytest.mark.parametrize(("held", "hidden"), [(4, 0.010), (12, 0.032)])
def test_a_temperature_that_moves_slowly_is_found_by_time(held, hidden):
    x, g, warm = example(held, is_slow=True)
    found = compare_repeats(x, g, NONE)
    assert (found.finding, found.p) == ("time", 0.001)
    assert found.hidden == pytest.approx(hidden, rel=0.05)
    assert compare_repeats(x, g, warm).finding is None


def test_pairs_of_neighbours_have_no_order_in_time():
    x, g, _ = example(2, is_slow=True)
    assert compare_repeats(x, g, NONE).p == 1.0
    assert compare_repeats(x, g, NONE).finding is None


@pytest.mark.parametrize("held", [2, 4, 12])
@pytest.mark.parametrize("is_slow", [True, False])
def test_from_log_names_the_missing_column_of_the_page(held, is_slow):
    x, g, warm = example(held, is_slow=is_slow)
    found = from_log(x, g)
    assert "depends on something that is not in the log" in found.disagreement
    assert found.G_g == 0.0
    assert "name its column as context" in str(found)
    known = from_log(x, g, context=warm, G_c=0.02)
    assert known.disagreement is None
    assert 0.5 < known.G_g <= 1.6


@pytest.mark.parametrize("held", [2, 4, 12])
def test_noise_is_not_called_a_column(held):
    found = 0
    for seed in range(300):
        rng = np.random.default_rng(1000 + seed)
        x = np.repeat(rng.uniform(0.0, 1.0, (240 // held, 1)), held, axis=0)
        g = 0.8 * x[:, 0] ** 2 - 0.5 + rng.normal(0, 0.01, len(x))
        found += compare_repeats(x, g, np.zeros((240, 0)), seed=seed).finding is not None
    assert found == 0


def test_the_share_of_permutations_is_that_of_proposition_t():
    # Errors that are exchangeable, of a shape that no normal law has: p <= alpha in alpha of logs.
    shares = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x = np.repeat(rng.uniform(0.0, 1.0, (10, 1)), 6, axis=0)
        g = np.sin(9 * x[:, 0]) + rng.exponential(1.0, 60) ** 2
        shares.append(compare_repeats(x, g, np.zeros((60, 0)), error=1e9, seed=seed).p)
    for alpha in (0.02, 0.05, 0.2, 0.5):
        count = np.count_nonzero(np.array(shares) <= alpha)
        assert count <= 400 * alpha + 3 * np.sqrt(400 * alpha * (1 - alpha))
    assert np.count_nonzero(np.array(shares) <= 0.5) > 100  # it is no constant


def test_what_is_slow_but_within_the_error_of_the_meter_is_no_finding():
    x, g, _ = example(12, is_slow=True)
    wide = compare_repeats(x, g, NONE, error=0.25)
    assert wide.is_slow
    assert wide.finding is None


def test_rows_that_are_far_apart_in_time_are_no_neighbours():
    x = np.repeat([[0.0], [1.0]], 6, axis=0)
    g = np.arange(12.0)
    times = np.array([0.0, 1, 2, 9, 10, 11, 12, 13, 3, 14, 15, 16])  # a gap, and back once
    assert compare_repeats(x, g, np.zeros((12, 0)), times=times).pairs == 10 - 3
    assert compare_repeats(x, g, np.zeros((12, 0))).pairs == 10


def test_few_repeats_are_compared_in_their_own_context():
    x, c = np.array([[0.0], [1.0], [1.0]]), np.array([[10.0], [10.0], [20.0]])
    found = compare_repeats(x, np.array([-1.0, -0.5, -0.2]), c)
    assert (found.repeats, found.finding) == (0, None)


def test_the_fit_takes_no_more_coefficients_than_a_quarter_of_the_repeats():
    # 40 contexts of pure noise would fit 40 repeats exactly, and hide what moves them.
    rng = np.random.default_rng(0)
    x = np.repeat(rng.uniform(0, 1, (5, 2)), 12, axis=0)
    slow = 3.0 * np.sin(np.arange(60) / 20)
    found = compare_repeats(x, slow + 0.01 * rng.normal(size=60), rng.normal(size=(60, 8)))
    assert found.repeats >= 55 - 13
    assert found.finding == "time"


@pytest.mark.parametrize("shape", ["exponential", "hinge"])
def test_a_limit_that_bends_in_its_context_is_not_called_a_column(shape):
    found = 0
    for seed in range(10):
        rng, t = np.random.default_rng(seed), np.arange(2_400)
        x = rng.uniform(0.5, 1.0, (200, 2)).repeat(12, axis=0)
        c = np.sin(2 * np.pi * t / 24) + 0.8 * np.sin(2 * np.pi * t / 700)
        bend = np.exp(0.7 * c) if shape == "exponential" else np.maximum(c - 0.2, 0.0)
        y = 2.0 / x.sum(axis=1) + bend + rng.uniform(-0.05, 0.05, len(t))
        found += compare_repeats(x, y, c[:, None], error=0.05, seed=seed).finding is not None
    assert found == 0

"""Lower bounds from a log: never above the truth, and never called a guarantee."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.problems.calibration import calibrate_constants, from_log

RNG = np.random.default_rng(11)


def log_of(rows=60, d=3, seed=0, value_error=0.0, slope_error=0.0):
    """A quadratic with curvature 3 and a plane, their maximum, with errors at their bounds."""
    rng = np.random.default_rng(seed)
    M = np.diag(np.linspace(1.0, 3.0, d))
    a = np.linspace(-1.0, 2.0, d)
    x = rng.uniform(-1, 1, (rows, d))
    quadratic, plane = 0.5 * np.einsum("nd,de,ne->n", x, M, x) - 1.0, x @ a - 1.5
    g = np.maximum(quadratic, plane)
    s = np.where((quadratic >= plane)[:, None], x @ M, a)
    way = rng.normal(size=x.shape)
    s = s + slope_error * way / np.linalg.norm(way, axis=1, keepdims=True)
    G_g = max(3.0 * np.sqrt(d), float(np.linalg.norm(a)))  # on the cube
    return x, g + value_error * rng.choice([-1.0, 1.0], rows), s, G_g


@pytest.mark.parametrize("has_slopes", [True, False])
def test_the_rounds_named_prove_the_bounds(has_slopes):
    x, g, s, _ = log_of(80, seed=5)
    found = from_log(x, g, s if has_slopes else None, most=60)
    if has_slopes:
        (i,) = found.rounds["G_g"]
        assert found.G_g == np.linalg.norm(s[i - 1])
        i, j = (k - 1 for k in found.rounds["beta"])
        way = x[j] - x[i]
        above = max(g[j] - g[i] - s[i] @ way, g[i] - g[j] + s[j] @ way)
        assert found.beta == pytest.approx(max(2 * above, (s[j] - s[i]) @ way) / (way @ way))
    else:
        i, j = (k - 1 for k in found.rounds["G_g"])
        assert found.G_g == pytest.approx(abs(g[j] - g[i]) / np.linalg.norm(x[j] - x[i]))


@pytest.mark.parametrize("has_slopes", [True, False])
@pytest.mark.parametrize("last", [1e-16, 1e-12, 1e-9])
def test_actions_that_differ_in_their_last_bits_prove_nothing_by_rounding(has_slopes, last):
    # As a journal has them where a controller has come to rest.
    rng = np.random.default_rng(3)
    x = np.vstack([rng.uniform(0, 0.6, (20, 2)), 0.6 + last * rng.normal(size=(60, 2))])
    g, s = 0.3 * x[:, 0] ** 2 + 0.2 * x[:, 1] ** 2 + 0.1 * x[:, 0] - 0.4, x * [0.6, 0.4]
    s[:, 0] += 0.1
    found = from_log(x, g, s if has_slopes else None)
    assert (found.disagreement, found.not_convex) == (None, None)
    assert 0.4 < found.G_g <= np.linalg.norm(s, axis=1).max() * (1 + 1e-12)
    assert not has_slopes or 0.5 < found.beta <= 0.6


def warm_log(rows, seed):
    """A load on a cable at temperatures of 10 to 30 degrees: load, g, slope, temperature."""
    rng = np.random.default_rng(seed)
    x, c = rng.uniform(0, 1, (rows, 1)), rng.uniform(10, 30, (rows, 1))
    return x, 0.8 * x[:, 0] ** 2 + 0.02 * (c[:, 0] - 20) - 0.5, 1.6 * x, c


@pytest.mark.parametrize("seed", range(5))
def test_a_missing_temperature_is_told_instead_of_a_steep_slope(seed):
    x, g, s, c = warm_log(60, seed)
    for slopes in (None, s):
        found = from_log(x, g, slopes)
        assert "depends on something that is not in the log" in found.disagreement
        assert found.not_convex is None
        assert ("differs by" if slopes is None else "below the tangent of") in found.disagreement
        assert found.G_g == (0.0 if slopes is None else np.linalg.norm(s, axis=1).max())
        told = float(found.disagreement.split("value_error of ")[1].split()[0])
        assert 0.02 < told <= 0.2 + 1e-9  # what the temperature does at most, both ways
        enough = from_log(x, g, slopes, value_error=0.2)
        assert enough.disagreement is None
        assert enough.G_g <= 1.6
    with pytest.raises(ValueError, match="must show a slope, got g differs by"):
        from_log(x, g).inflate(R=1.0)
    known = from_log(x, g, context=c, G_c=0.02)
    assert known.disagreement is None
    assert 0.8 < known.G_g <= 1.6
    assert from_log(x, g, s, context=c).G_c == pytest.approx(0.02, rel=0.1)


def test_a_context_whose_effect_is_not_known_leaves_rounds_of_the_same_context():
    x, c = np.array([[0.0], [1.0], [1.0]]), np.array([[10.0], [10.0], [20.0]])
    found = from_log(x, [-1.0, -0.5, -0.2], context=c)
    assert (found.G_g, found.rounds["G_g"]) == (pytest.approx(0.5), (1, 2))
    assert found.G_c == pytest.approx(0.03)  # 0.3 in 10 degrees
    assert found.rounds["G_c"] == (2, 3)
    separately = from_log(x, [-1.0, -0.5, -0.2], context=[[1.0], [2.0], [3.0]])
    assert "G_g" not in separately.rounds
    assert "; G_g, unless G_c is given;" in str(separately)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([8, 40, 150]), st.booleans())
def test_a_log_that_hides_nothing_disagrees_nowhere(seed, d, rows, has_slopes):
    x, g, s, _ = log_of(rows, d, seed=seed)
    assert from_log(x, g, s if has_slopes else None).disagreement is None


def test_a_pair_by_hand():
    x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    found = from_log(x, [-1.0, -0.75, -1.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert (found.G_g, found.beta, found.value_error) == (1.0, pytest.approx(2.0), 0.0)
    assert (found.rows, found.pairs, found.radius) == (3, 3, 0.5)
    assert (found.value, found.largest) == (-1.0, -0.75)
    assert found.start.tolist() == [0.0, 0.0]
    assert found.not_convex is None
    values = from_log(x, [-1.0, -0.75, -1.0])
    assert (values.G_g, values.beta) == (pytest.approx(0.5), None)  # the secant of 0.25 over 0.5
    assert from_log(x, [-1.0, -0.75, -1.0], value_error=0.05).G_g == pytest.approx(0.3)


def test_an_action_that_never_changes_is_said_unless_slopes_say_what_it_does():
    x, g = np.array([[0.0, 0.3], [0.5, 0.3], [0.2, 0.3]]), [-1.0, -0.75, -0.9]
    found = from_log(x, g)
    assert found.still == (2,)
    assert "; what action 2 does, which is always the same;" in str(found)
    assert "always the same" not in str(from_log(x, g, x))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-3, 0.1]), st.sampled_from([0.0, 1e-3, 0.1]))
def test_no_bound_is_above_the_truth(seed, value_error, slope_error):
    x, g, s, G_g = log_of(40, seed=seed, value_error=value_error, slope_error=slope_error)
    found = from_log(x, g, s, value_error=value_error, slope_error=slope_error)
    assert 0 < found.G_g <= G_g
    assert found.not_convex is None


def test_the_bounds_of_a_smooth_g_come_near_the_truth():
    rng = np.random.default_rng(1)
    M = np.diag([1.0, 3.0])
    x = rng.uniform(-1, 1, (400, 2))
    found = from_log(x, 0.5 * np.einsum("nd,de,ne->n", x, M, x), x @ M)
    assert 0.95 * 3 < found.beta <= 3 * (1 + 1e-9)
    assert 0.9 * np.sqrt(10) < found.G_g <= np.sqrt(10)


def test_neighbours_in_time_of_one_action_bound_the_error_of_the_values():
    found = from_log([[0.0], [0.0], [1.0]], [-1.0, -0.99, -0.5])
    assert found.value_error == pytest.approx(0.005)
    assert found.noise == pytest.approx(0.01 / np.sqrt(2))  # of two readings, one degree of freedom
    assert found.G_g == pytest.approx(0.49)  # (0.5 - 2 * 0.005) / 1, not 0.5
    assert "value_error  0.005 is allowed for" in str(found)
    assert from_log([[0.0], [0.0], [1.0]], [-1.0, -0.99, -0.5], rounding=0.01).value_error == 0.01


def test_repeats_that_are_no_neighbours_are_not_taken_for_noise():
    x, g = [[0.0], [1.0], [0.0]], [-1.0, -0.5, -0.99]
    found = from_log(x, g)
    assert (found.value_error, found.noise, found.disagreement) == (0.0, None, None)
    assert found.G_g == pytest.approx(0.5)
    exact = from_log(x, g, value_error=0.0)
    assert "g differs by 0.01 in rounds 1 and 3, where all columns are" in exact.disagreement
    assert "give a value_error of 0.005 or more" in exact.disagreement


def test_an_error_that_is_given_is_neither_raised_nor_lowered():
    x, g = [[0.0], [0.0], [1.0]], [-1.0, -0.99, -0.5]
    assert from_log(x, g, value_error=0.1).value_error == 0.1
    assert from_log(x, g, value_error=0.001).value_error == 0.001
    assert from_log(x, g, value_error=0.001).disagreement is not None


def test_constants_of_a_log_carry_its_errors():
    x, g, s, _ = log_of(50, seed=4)
    given = from_log(x, g, s, value_error=0.02, slope_error=0.03).inflate(2.0, R=2.0)
    assert (given.value_error, given.slope_error) == (0.02, 0.03)
    assert given.origins["value_error"] == given.origins["slope_error"] == "given"
    assert from_log(x, g, s).inflate(2.0, R=2.0).value_error is None
    noisy = from_log([[0.0], [0.0], [1.0]], [-1.0, -0.99, -0.5]).inflate(2.0, R=2.0)
    assert noisy.value_error == pytest.approx(0.005)
    assert noisy.origins["value_error"] == "estimated"
    assert noisy.start_slack == pytest.approx(1.0 - 0.005)


def test_a_g_that_is_not_convex_or_has_changed_is_told():
    x = np.linspace(-1, 1, 9)[:, None]
    found = from_log(x, -(x[:, 0] ** 2), -2 * x)
    assert "below the tangent of round" in found.not_convex
    assert "not convex" in str(found)


def test_a_long_log_is_drawn_from_and_says_so():
    x, g, s, _ = log_of(3_000, seed=2)
    found = from_log(x, g, s, most=200)
    assert (found.rows, found.pairs) == (3_000, 19_900)
    assert found.G_g >= np.linalg.norm(s, axis=1).max()  # slopes of all rounds count
    assert from_log(x, g, s, most=200).G_g == found.G_g


def test_a_record_of_a_journal_is_a_log():
    row = partial(SimpleNamespace, played=None)
    rounds = [
        row(action=np.array([0.0]), g=-1.0, constraint_subgradient=np.array([0.5])),
        row(action=np.array([1.0]), g=None, constraint_subgradient=None),
        row(action=np.array([0.5]), g=-0.7, constraint_subgradient=np.array([0.8])),
    ]
    found = from_log(SimpleNamespace(rounds=rounds))
    assert (found.rows, found.G_g) == (2, 0.8)
    assert found.beta == pytest.approx(0.8)  # 2 (-1 + 0.7 + 0.8 / 2) / 0.25


def test_inflated_constants_are_estimates_and_no_guarantee_counts_as_proved():
    x, g, s, _ = log_of(50, seed=4)
    found = from_log(x, g, s)
    known = found.inflate(3.0, R=2.0, G_f=4.0)
    assert known.G_g == 3.0 * found.G_g
    assert known.origins["G_g"] == known.origins["beta"] == "estimated"
    assert known.origins["G_f"] == "given"
    assert known.start_slack == -found.value
    assert found.inflate(2.0, R=2.0, G_g=9.0).origins["G_g"] == "given"
    offers = calibrate_constants(known, 100)
    assert all("G_g" in o.assumes or "beta" in o.assumes for o in offers.only_if)
    assert "LeaderFollower.default" in {o.name for o in offers.only_if}
    assert "LeaderFollower.default" not in {o.name for o in offers.proved}


def test_the_number_of_violations_is_that_of_the_doublings():
    found = from_log([[0.0], [1.0]], [-1.0, 0.0])
    assert found.G_g == pytest.approx(1.0)
    assert [found.violations_at_most(G, 2.0) for G in (1.0, 2.0, 2.1, 4.0, 16.0)] == [0, 0, 1, 1, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0.0], [1.0]], [1.0]), "g"),
        (([[0.0], [1.0]], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]), "s must have the shape of x"),
        (([[0.0], [np.nan]], [1.0, 2.0]), "x"),
        (([[0.0]],), "g must be given with the actions"),
        ((7,), "got only int"),
        (([[0.0]], [1.0]), "the log must have at least 2 rounds, got 1"),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=r".") as error:
        from_log(*arguments)
    assert words in str(error.value)


def test_a_context_must_be_that_of_each_round():
    with pytest.raises(ValueError, match="context must have a row per action, 2, got 1"):
        from_log([[0.0], [1.0]], [-1.0, -1.0], context=[[1.0]])


def test_a_log_without_a_slope_has_nothing_to_inflate():
    flat = from_log([[0.0], [1.0]], [-1.0, -1.0])
    with pytest.raises(ValueError, match="the log must show a slope"):
        flat.inflate(R=1.0)
    with pytest.raises(ValueError, match="the log must show a slope"):
        flat.violations_at_most(2.0)

"""The fitted exponent against SciPy and against laws that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.games import fit_rate
from surefoot.games.rates import student_quantile

T = np.array([100, 300, 1_000, 2_500, 10_000])


@pytest.mark.parametrize(("slope", "scale"), [(0.5, 2.0), (0.75, 0.03), (1.0, 7.0), (0.0, 5.0)])
def test_an_exact_law_is_found_with_no_doubt(slope, scale):
    rate = fit_rate(T, scale * T**slope)
    assert rate.slope == pytest.approx(slope, abs=1e-12)
    assert rate.scale == pytest.approx(scale, rel=1e-11)
    assert rate.high - rate.low == pytest.approx(0, abs=1e-10)
    trials = fit_rate(T, np.outer(scale * T**slope, [1.0, 2.0, 4.0]))
    assert trials.slope == pytest.approx(slope, abs=1e-12)
    assert trials.scale == pytest.approx(2 * scale, rel=1e-11)  # the geometric mean
    assert trials.high - trials.low == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_one_trial_has_the_interval_of_least_squares(confidence):
    noise = np.exp(np.random.default_rng(2).normal(size=5))
    rate = fit_rate(T, 3 * T**0.6 * noise, confidence)
    line = stats.linregress(np.log(T), np.log(3 * T**0.6 * noise))
    half = stats.t.ppf(0.5 + confidence / 2, 3) * line.stderr
    assert rate.slope == pytest.approx(line.slope, rel=1e-12)
    assert rate.scale == pytest.approx(math.exp(line.intercept), rel=1e-11)
    assert rate.low == pytest.approx(line.slope - half, rel=1e-10)
    assert rate.high == pytest.approx(line.slope + half, rel=1e-10)


def test_several_trials_have_the_interval_of_their_slopes():
    noise = np.exp(np.random.default_rng(3).normal(size=(5, 7)))
    regret = 3 * T[:, None] ** 0.6 * noise
    slopes = [stats.linregress(np.log(T), np.log(y)).slope for y in regret.T]
    mean, half = np.mean(slopes), stats.t.ppf(0.975, 6) * stats.sem(slopes)
    rate = fit_rate(T, regret)
    assert rate.slope == pytest.approx(mean, rel=1e-12)
    assert (rate.low, rate.high) == pytest.approx((mean - half, mean + half), rel=1e-10)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        rate = fit_rate(T, T**0.5 * np.exp(rng.normal(size=5)), confidence=0.9)
        covered += rate.low <= 0.5 <= rate.high
    # 400 trials at 0.9 have a standard deviation of 6; five of them either way.
    assert 330 <= covered <= 390


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 6, 28, 29, 1_000])
@pytest.mark.parametrize("p", [0.6, 0.975, 0.9995])
def test_students_quantiles_are_scipys(degrees, p):
    assert student_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-10)


@pytest.mark.parametrize(
    ("horizons", "regret", "confidence", "sentence"),
    [
        ([10, 20], [1, 2], 0.95, "horizons must be at least three different numbers, got [10, 20]"),
        ([10, 20, 20], [1, 2, 3], 0.95, "horizons must be at least three different numbers, got"),
        ([[1, 2, 3]], [[1, 2, 3]], 0.95, "horizons must be at least three different numbers, got"),
        ([1, 2, 3], [1, 2], 0.95, "regret.shape must be (3,) or (3, trials), got (2,)"),
        ([1, 2, 3], np.ones((3, 1, 1)), 0.95, "regret.shape must be (3,) or (3, trials), got"),
        ([1, 2, 3], [1, -2, 3], 0.95, "horizons and regret must be > 0 to have logarithms, got a"),
        ([1, 2, 3], [1, np.nan, 3], 0.95, "horizons and regret must be > 0 to have logarithms, g"),
        ([0, 2, 3], [1, 2, 3], 0.95, "horizons and regret must be > 0 to have logarithms, got a"),
        ([1, 2, 3], [1, 2, 3], 1.0, "confidence must be strictly between 0 and 1, got 1.0"),
        ([1, 2, 3], [1, 2, 3], 0, "confidence must be strictly between 0 and 1, got 0"),
    ],
)
def test_what_has_no_rate_is_refused(horizons, regret, confidence, sentence):
    with pytest.raises(ValueError) as raised:
        fit_rate(horizons, regret, confidence)
    assert str(raised.value).startswith(sentence)

"""How readings follow actions: what is left of a step, and the lag that it makes."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from surefoot.knowledge import Response

HALF = Response(time_constants=[1 / math.log(2)], round=1.0)
"""Half of a step in each round."""


def lags(response, actions, G_g=1.0, drift=0.0):
    """Return the lag after each action."""
    lag, found = response.begin(np.atleast_1d(actions[0])), []
    for x in actions:
        lag = response.move(lag, np.atleast_1d(np.array(x, dtype=float)), G_g, drift)
        found.append(lag.error)
    return found


def test_half_of_a_step_is_left_after_each_round():
    assert [HALF.remainder(i) for i in (1, 2, 3)] == pytest.approx([0.5, 0.25, 0.125])
    assert lags(HALF, [0.0, 1.0, 1.0, 1.0]) == pytest.approx([0.0, 0.5, 0.25, 0.125])


def test_a_meter_that_shows_a_mean_forgets_a_step_after_its_window():
    mean = Response(window=3.0, round=1.0)
    assert mean.table.tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert lags(mean, [0.0, 1.0, 1.0, 1.0])[1:] == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_nothing_shows_before_the_dead_time_is_over():
    late = Response(time_constants=[2.0], dead_time=2.5, round=1.0)
    exact = [1.0, 1.0, math.exp(-0.25), math.exp(-0.75), math.exp(-1.25)]
    assert [late.remainder(i) for i in range(1, 6)] == pytest.approx(exact)
    assert lags(late, [0.0, *[1.0] * 5])[1:] == pytest.approx(exact)


def test_what_is_left_is_what_a_plant_still_misses():
    """A delay, a mode and a mean, step by step in steps of a thousandth of a minute."""
    response = Response(
        time_constants=[4.0, 11.0],
        shares=[0.3, 0.5],
        at_once=0.2,
        dead_time=1.3,
        window=5.0,
        round=2.0,
    )
    fine, minutes = 1000, 40
    t = np.arange(minutes * fine) / fine - 1.3
    step = np.where(t < 0, 0.0, 1 - 0.3 * np.exp(-t / 4) - 0.5 * np.exp(-t / 11))
    total = np.concatenate([[0.0], np.cumsum(step) / fine])
    for i in range(1, 19):
        end = 2 * i * fine
        shown = (total[end] - total[max(end - 5 * fine, 0)]) / 5.0
        assert response.remainder(i) == pytest.approx(1 - shown, abs=2e-3)
    steps = [response.remainder(i) for i in range(1, 200)]
    assert all(later <= earlier for earlier, later in pairwise(steps))
    assert response.total == pytest.approx(response.first + sum(steps), rel=1e-6)


@pytest.mark.parametrize("d", [1, 3, 50])
def test_the_lag_is_never_below_what_it_is_in_sixty_digits(d):
    response = Response(time_constants=[20.0, 4.0], shares=[0.6, 0.4], round=1.0)
    rng, x = np.random.default_rng(d), np.zeros(d)
    lag, worst = response.begin(x), 0.0
    with localcontext() as context:
        context.prec = 60
        rho = [(Decimal(-1) / Decimal(tau)).exp() for tau in (20, 4)]
        modes = [Decimal(0)] * 2
        for _ in range(400):
            new = x + rng.normal(size=d) * 10.0 ** rng.uniform(-18, 0) * (rng.random() < 0.7)
            lag = response.move(lag, new, 0.75, 0.0)
            way = [Decimal(float(b)) - Decimal(float(a)) for a, b in zip(x, new, strict=True)]
            step = Decimal("0.75") * sum(part * part for part in way).sqrt()
            each = zip(rho, modes, map(Decimal, (0.6, 0.4)), strict=True)
            modes = [r * (mode + w * step) for r, mode, w in each]
            exact = sum(modes)
            assert Decimal(lag.error) >= exact
            if exact > Decimal("1e-200"):
                worst = max(worst, float(Decimal(lag.error) / exact - 1))
            x = new
    assert worst < 1e-10


def test_moves_whose_squares_underflow_count():
    moved = lags(HALF, [[0.0, 0.0], [3e-200, 4e-200]])
    assert moved[1] >= 2.5e-200


def test_drift_that_comes_right_before_a_reading_counts_in_full():
    """A mean of three rounds shows nothing of it; a part of it would be false."""
    mean, v = Response(window=3.0, round=1.0), Fraction(1, 8)
    found = lags(mean, [0.0] * 5, drift=float(v))
    exact = [v, v * (1 + Fraction(2, 3)), v * 2, v * 2, v * 2]
    assert [Fraction(e) >= true for e, true in zip(found, exact, strict=True)] == [True] * 5
    assert found == pytest.approx([float(true) for true in exact])


def test_gains_count_moves_of_the_action_itself():
    parts = Response(time_constants=[10.0, 2.0], gains=[3.0, 0.5], round=1.0)
    exact = 3 * math.exp(-0.1) + 0.5 * math.exp(-0.5)
    assert lags(parts, [0.0, 1.0], G_g=99.0)[1] == pytest.approx(exact)


def test_a_plant_without_inertia_has_no_lag():
    quick = Response(round=1.0)
    assert lags(quick, [0.0, 1.0, -1.0], drift=0.0) == [0.0, 0.0, 0.0]
    assert quick.is_quick
    assert quick.total == 0.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"round": 0.0}, "round must be"),
        ({"time_constants": 10.0}, "time_constants must be finite numbers > 0, one per mode"),
        ({"time_constants": [-1.0]}, "time_constants must be finite numbers > 0, one per mode"),
        ({"time_constants": [math.inf]}, "time_constants must be finite"),
        ({"time_constants": [5.0, 1.0]}, "shares must be given for several time constants"),
        ({"time_constants": [5.0], "shares": [0.5]}, "must add up to at least 1, got 0.5"),
        ({"time_constants": [5.0], "shares": [0.5, 0.5]}, "shares must be 1 numbers"),
        ({"time_constants": [5.0], "shares": [1.0], "gains": [1.0]}, "shares must be None"),
        ({"time_constants": [5.0], "gains": [1.0], "at_once": 0.5}, "at_once must be 0 where"),
        ({"time_constants": [5.0], "at_once": 1.0}, "at_once must be below 1"),
        ({"time_constants": [1e16]}, "such a plant never settles"),
        ({"dead_time": 1e9}, "must be at most 4096 rounds together"),
        ({"window": -1.0}, "window must be"),
    ],
)
def test_what_is_no_response_is_one_sentence(given, words):
    with pytest.raises(ValueError, match=words):
        Response(**({"round": 1.0} | given))

"""The eight measures of violation, by hand and against a loop over the rounds."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.games import ViolationMeter, Violations, violations


def by_rounds(g):
    """Each measure from its definition, one run, one round after another."""
    above = [t for t, v in enumerate(g, 1) if v > 0]
    return Violations(
        sum=sum(g),
        positive_sum=max(sum(g), 0.0),
        sum_positive=sum(max(v, 0.0) for v in g),
        sum_squared=sum(max(v, 0.0) ** 2 for v in g),
        largest=max(g),
        count=sum(v > 0 for v in g),
        feasible_from=max(above, default=0) + 1,
        first_violation=min(above, default=0),
    )


def test_the_eight_measures_by_hand():
    seen = violations([0.5, -1.0, 0.25, -0.125])
    assert seen == Violations(-0.375, 0.0, 0.75, 0.3125, 0.5, 2, 4, 1)
    seen = violations([-3.0, 0.5, 4.0])
    assert seen == Violations(1.5, 1.5, 4.5, 16.25, 4.0, 2, 4, 2)  # not feasible at the end


def test_exactly_zero_is_feasible():
    assert violations([0.0, -0.0]) == Violations(0.0, 0.0, 0.0, 0.0, 0.0, 0, 1, 0)
    tiny = np.nextafter(0.0, 1.0)
    assert violations([tiny, -1.0]).count == 1
    assert violations([tiny, -1.0]).feasible_from == 2


VALUES = st.floats(-10, 10, allow_nan=False).map(lambda v: round(v, 3))


@settings(max_examples=60)
@given(st.data())
def test_any_blocking_gives_what_the_definitions_give(data):
    rounds, runs = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    g = data.draw(arrays(np.float64, (rounds, runs), elements=VALUES))
    cuts = sorted(data.draw(st.sets(st.integers(1, rounds), max_size=4)) | {rounds})
    meter, start = ViolationMeter(runs), 0
    for stop in cuts:
        meter.add(start, g[start:stop])
        start = stop
    for seen in (meter.read(), violations(g)):
        for r in range(runs):
            for name, wanted in by_rounds(g[:, r].tolist())._asdict().items():
                value = getattr(seen, name)[r]
                # Extremes and counts exactly; sums of at most 12 numbers below 100 to rounding.
                exact = name in ("largest", "count", "feasible_from", "first_violation")
                assert value == (wanted if exact else pytest.approx(wanted, abs=1e-12))


def test_reading_does_not_end_the_measurement():
    meter = ViolationMeter(1)
    meter.add(0, np.array([[2.0]]))
    first = meter.read()
    meter.add(1, np.array([[3.0]]))
    assert (first.sum[0], meter.read().sum[0]) == (2.0, 5.0)
    assert (first.largest[0], first.count[0]) == (2.0, 1)


def test_a_round_without_a_value_is_not_feasible():
    seen = violations([-1.0, np.nan, -1.0])
    assert np.isnan(
        [seen.sum, seen.positive_sum, seen.sum_positive, seen.sum_squared, seen.largest]
    ).all()
    assert (seen.count, seen.feasible_from, seen.first_violation) == (1, 3, 2)


@pytest.mark.parametrize("g", [[], 3.0, np.zeros((2, 0)), np.zeros((2, 2, 2))])
def test_values_of_no_rounds_are_refused(g):
    with pytest.raises(
        ValueError, match=r"^g\.shape must be \(T,\) or \(T, B\) with no empty axis"
    ):
        violations(g)


def test_each_constraint_is_summed_where_that_is_wanted_and_told():
    g = np.array([[0.5, -1.0]])
    separately, whole = ViolationMeter(2, rows=3), ViolationMeter(2)
    for meter in (separately, whole):
        meter.add(0, g, rows=np.arange(6.0).reshape(2, 3))
        meter.add(1, g)
        assert meter.read().sum.tolist() == [1.0, -2.0]
    assert separately.row_sums.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert whole.row_sums is None


def test_of_several_runs_the_worst_is_shown():
    seen = violations(np.array([[0.5, -1.0, 2.0], [-1.0, -1.0, 0.25], [0.125, -2.0, -1.0]]))
    assert seen.count.tolist() == [2, 0, 2]
    assert repr(seen).startswith("<Violations of 3 runs: at most 2 violations, largest g = 2,")

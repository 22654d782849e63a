"""Whether two traces are the same up to rounding."""

import numpy as np

RELATIVE = 1e-12


def assert_same_trace(seen, wanted, relative=RELATIVE):
    """Actions to 1e-12 of the scale of x, sums to 1e-12 of the scale of the summed cost."""
    x = np.abs(wanted.actions).max()
    cost = np.abs(wanted.cost).sum(axis=0).max()
    slope = max(1.0, np.max(wanted.observed.constraint_subgradient))
    np.testing.assert_array_equal(seen.rounds, wanted.rounds)
    near(seen.actions, wanted.actions, relative * x)
    near(seen.next_action, wanted.next_action, relative * x)
    near(seen.cost_sum, wanted.cost_sum, relative * cost)
    near(seen.total_cost, wanted.total_cost, relative * cost)
    near(seen.constraint, wanted.constraint, relative * x * slope)
    near(seen.peak, wanted.peak, relative * x * slope)
    for name in ("sum", "positive_sum", "sum_positive", "sum_squared"):
        a, b = getattr(seen.violations, name), getattr(wanted.violations, name)
        near(a, b, relative * x * slope * wanted.horizon)
    near(seen.violations.largest, wanted.violations.largest, relative * x * slope)
    assert seen.status == wanted.status
    assert seen.horizon == wanted.horizon
    assert seen.runs == wanted.runs


def near(seen, wanted, tolerance):
    assert np.shape(seen) == np.shape(wanted)
    assert np.max(np.abs(seen - wanted)) <= tolerance

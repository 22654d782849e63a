"""Compare one number of a theorem with the same number worked by hand from its statement."""

from typing import get_args

import pytest

from surefoot.guarantees import Measure

MEASURES = get_args(Measure)


def assert_number(theorem, what, at, wanted, rel=1e-11):
    """Compare an attribute, a bound after ``at`` rounds, or a measure of violation after them."""
    if what in MEASURES:
        found = theorem.bounds(at)[what]
    elif at is None:
        found = getattr(theorem, what)
    else:
        found = getattr(theorem, what)(*(at if isinstance(at, tuple) else (at,)))
    assert found == (None if wanted is None else pytest.approx(wanted, rel=rel))


def assert_nothing_outside(theorem):
    """Assert that 0 is promised of every round, and nothing else of the constraint."""
    assert {name: found.tolist() for name, found in theorem.bounds([3, 50]).items()} == {
        "round": [0.0, 0.0]
    }

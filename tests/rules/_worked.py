"""Compare a theorem with a table of numbers that were worked from its statement."""

import pytest


def assert_worked(theorem, table, rel=1e-12):
    """Compare every number of a table, and see that no measure, round or exponent is missing.

    Args:
        theorem: the guarantee.
        table: by the name of a parameter; by (method or measure, round, ...); or by (a parameter
            that is a tuple, index, ...).
        rel: the relative tolerance.
    """
    keys = {key: (key,) if isinstance(key, str) else key for key in table}
    found = {key: float(_look(theorem, *parts)) for key, parts in keys.items()}
    wrong = {
        key: f"{value!r}, by hand {table[key]!r}"
        for key, value in found.items()
        if value != pytest.approx(float(table[key]), rel=rel, abs=0)
    }
    assert not wrong, wrong
    for name in ("regret_exponent", "violation_exponent"):
        assert (name in table) == (getattr(theorem, name) is not None)
    rounds = {parts[1] for parts in keys.values() if parts[0] == "regret_bound"}
    assert len(rounds) >= 2
    for t in rounds:
        measures = {p[0] for p in keys.values() if len(p) == 2 and p[1] == t}
        assert set(theorem.bounds(t)) <= measures


def _look(theorem, name, *where):
    value = getattr(theorem, name, None)
    if callable(value):
        return value(*where)
    if where and not isinstance(value, tuple):
        (t,) = where
        return theorem.bounds(t)[name]
    for i in where:
        value = value[i]
    return value

"""Blocks of trials are joined in one place."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.core.errors import InvalidValueError
from surefoot.experiments import CellResult, Facts, Results, gather
from surefoot.experiments.record import (
    ARRAYS,
    BreachFacts,
    ComparatorFacts,
    GuaranteeFacts,
    Place,
    VerdictFacts,
    axes_of,
    from_plain,
)
from surefoot.experiments.rows import join_arrays, join_facts

from ._cells import cell, place, rows_of

FACTS = Facts(
    guarantee=GuaranteeFacts(name="Theorem 1", kind="every round", bounds={"round": 0.0}),
    verdict=VerdictFacts(word="premise broken", sentence="round 9"),
    comparator=ComparatorFacts(gap=0.5, exact=False),
    regret_share=0.75,
)


def split(arrays, facts, sizes):
    """A played cell as the blocks it would have been stored in."""
    ends = np.cumsum(sizes)
    for begin, end in zip(ends - sizes, ends, strict=True):
        own = {}
        for name, array in arrays.items():
            axes = axes_of(name)
            own[name] = array
            if "trial" in axes and name != "actions":
                own[name] = np.take(array, np.arange(begin, end), axis=axes.index("trial"))
        mine = tuple(b for b in facts.breaches if begin <= b.trial < end)
        word = "premise broken" if mine or not facts.breaches else "held"
        yield own, replace(facts, breaches=mine, verdict=replace(facts.verdict, word=word))


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    rounds=st.integers(1, 3),
    where=st.lists(st.integers(0, 15), max_size=3),
    data=st.data(),
)
def test_joining_what_was_split_gives_back_every_array_and_fact(sizes, rounds, where, data):
    trials = sum(sizes)
    lengths = {"round": rounds, "trial": trials, "entry": 2, "vertex": 5}
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    arrays = {n: rng.normal(size=[lengths[axis] for axis in axes]) for n, axes in ARRAYS.items()}
    breaches = (
        BreachFacts(constant=f"c{i}", round=3 + i, trial=t % trials) for i, t in enumerate(where)
    )
    facts = replace(FACTS, breaches=tuple(sorted(breaches, key=lambda b: b.trial)))
    blocks = list(split(arrays, facts, sizes))
    joined = join_arrays([own for own, _ in blocks])
    assert joined.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(joined[name], array, err_msg=name)
    assert join_facts([own for _, own in blocks]) == facts


def test_a_breach_in_trial_40_of_60_is_reported_in_trial_40():
    breach = BreachFacts(constant="G_f", limit=1.0, observed=2.0, round=2, trial=40)
    cells = [
        replace(cell("c0", trials=30), facts=FACTS),
        replace(cell("c1", trials=30), facts=replace(FACTS, breaches=(breach,))),
    ]
    plan = [place("c0"), place("c1", block=1)]
    (row,) = rows_of(zip(plan, cells, strict=True))
    assert row.trials == 60
    assert row.facts.breaches == (breach,)


def test_an_error_names_the_fact():
    with pytest.raises(InvalidValueError, match=r"^facts.engine must be a text, got 3$"):
        from_plain(Facts, {"engine": 3}, "facts")


def test_a_cell_that_was_not_played_has_no_facts():
    where = Place(address="x", problem="p", algorithm="a", horizon=5, block=0)
    (row,) = rows_of([(where, CellResult(address="x", spec={}, status="rejected"))])
    assert row.facts == Facts()


def test_a_row_has_the_bounds_of_its_guarantee_and_none_without_one():
    promised = replace(cell("c0"), facts=FACTS)
    where = place("c0")
    (row,) = rows_of([(where, promised)])
    assert row.guarantee.bounds == {"round": 0.0}
    (bare,) = rows_of([(where, cell("c0"))])
    assert bare.guarantee == GuaranteeFacts(name="", kind="")


def test_paths_are_kept_of_every_horizon(tmp_path):
    with Results.write(tmp_path / "results.sqlite") as results:
        plan = [place(f"c{t}", horizon=t) for t in (50, 100, 200)]
        results.set_plan(plan)
        for where in plan[:2]:  # the last was not played
            results.put(cell(where.address, rounds=(10, where.horizon)))
        rows = gather(results)
    assert [row.horizon for row in rows] == [50, 100]
    assert all("rounds" in row.arrays for row in rows)

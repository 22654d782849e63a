"""Blocks of trials are joined in one place, and files of the first format are read."""

import contextlib
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot._sqlite import digest
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
)
from surefoot.experiments.rows import arrange, join_arrays, join_facts

from ._cells import cell, place

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
    (row,) = arrange(plan, zip(plan, cells, strict=True))
    assert row.trials == 60
    assert row.facts.breaches == (breach,)


# --- the first format ----------------------------------------------------------------------------

# As Surefoot 0.1.0 wrote them.
FIRST = json.dumps(
    {
        "breaches": [
            {
                "constant": "G_f",
                "limit": 2.6,
                "observed": 10.09525903264939,
                "round": 1,
                "sentence": "round 1: |grad f| = 10.0953 exceeds G_f = 2.6",
                "trial": 30,
            }
        ],
        "comparator": {"exact": True, "gap": 0.0},
        "constants": {"G_f": [2.6, "specification"], "R": [0.7071067811865476, "derived"]},
        "engine": "batch",
        "guarantee": {
            "kind": "cumulative",
            "name": "Yu-Neely-Wei 2017, scalar queue",
            "premises": ["no cost gradient is longer than G_f = 2.6"],
            "regret_bound": 120.5,
            "regret_exponent": 0.5,
            "sum_bounds": {"soft": 195.5274043875885, "hard": None},
            "text": "Yu-Neely-Wei 2017, scalar queue for T = 20 (cumulative)",
            "violation_bound": None,
            "violation_exponent": 0.5,
        },
        "oracle": {"counted": True, "rounds": 20, "cost_gradients": 20, "projections": 0},
        "parameters": {"V": [4.47213595499958, "Theorem 1"]},
        "problem": {"dimension": 2, "name": "binding_toy", "rows": 4, "start": [0.0, 0.0]},
        "regret_share": None,
        "verdict": {"sentence": "premise broken, round 1", "word": "premise broken"},
    },
    sort_keys=True,
    separators=(",", ":"),
)


def facts_by_hand(path, text, version=None):
    """Write the facts of every cell, with digests that fit."""
    columns = "address, status, note, spec, facts, provenance, arrays"
    with contextlib.closing(sqlite3.connect(path)) as file:
        for number, *row in file.execute(f"SELECT id, {columns} FROM cells").fetchall():
            row[4] = text
            whole = digest(*(part.encode() for part in row))
            query = "UPDATE cells SET facts = ?, digest = ? WHERE id = ?"
            file.execute(query, (text, whole, number))
        if version is not None:
            file.execute(f"PRAGMA user_version = {version}")
        file.commit()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "results.sqlite"
    with Results.write(path) as results:
        results.set_plan([place("c0"), place("c1", block=1)])
        results.put(cell("c0", trials=30))
        results.put(cell("c1", trials=1))
    return path


def test_a_file_of_the_first_format_is_read_with_its_bounds_and_trials(path):
    facts_by_hand(path, FIRST, version=1)
    before = path.read_bytes()
    with Results.open(path) as results:
        (row,) = gather(results)
    assert (row.verdict, row.trials) == ("premise broken", 31)
    assert row.facts.guarantee.bounds == {"soft": 195.5274043875885}
    assert [b.trial for b in row.facts.breaches] == [30]
    assert row.facts.problem.start == (0.0, 0.0)
    assert path.read_bytes() == before


def test_a_file_of_the_first_format_becomes_one_of_this_when_it_is_written(path):
    facts_by_hand(path, FIRST, version=1)
    with Results.write(path) as results:
        results.put(cell("c2"))
        assert results.have().keys() == {"c0", "c1", "c2"}
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (2,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", r"facts must be a table, got \[\]"),
        ('{"verdict":"held"}', "facts.verdict must be a table, got 'held'"),
        ('{"verdict":{}}', r"facts.verdict must have 'word', got \[\]"),
        ('{"regret_share":"x"}', "facts.regret_share must be a number, got 'x'"),
        ('{"regret_share":true}', "facts.regret_share must be a number, got True"),
        ('{"constants":{"R":[1.0]}}', r"facts.constants.R must be a list of 2, got \[1.0\]"),
        ('{"constants":{"R":[[],"x"]}}', r"facts.constants.R.value must be .*, got \[\]"),
        ('{"breaches":{"round":1}}', "facts.breaches must be a list, got .*"),
        ('{"guarantee":{"sum_bounds":3}}', "facts.guarantee.sum_bounds must be a table, got 3"),
        ('{"oracle":{"rounds":1.5}}', "facts.oracle.rounds must be a whole number, got 1.5"),
        ("{", "its texts are not JSON"),
    ],
)
def test_forged_facts_are_damage_in_one_sentence(path, text, why):
    facts_by_hand(path, text)
    with Results.open(path) as results:
        (row,) = gather(results)
        assert results.damaged().keys() == {"c0", "c1"}
    assert row.status == "failed"
    assert len(row.note.splitlines()) == 1
    with Results.open(path) as results, pytest.raises(Exception, match=f"is damaged: {why}$"):
        results.get("c0")


def test_an_error_names_the_fact():
    with pytest.raises(InvalidValueError, match=r"^facts.engine must be a text, got 3$"):
        Facts.from_plain({"engine": 3})


def test_a_cell_that_was_not_played_has_no_facts():
    where = Place(address="x", problem="p", algorithm="a", horizon=5, block=0)
    (row,) = arrange([where], [(where, CellResult(address="x", spec={}, status="refused"))])
    assert row.facts == Facts()


def test_a_row_has_the_bounds_of_its_guarantee_and_none_without_one():
    promised = replace(cell("c0"), facts=FACTS)
    where = place("c0")
    (row,) = arrange([where], [(where, promised)])
    assert (row.bound("round"), row.bound("hard")) == (0.0, None)
    (bare,) = arrange([where], [(where, cell("c0"))])
    assert bare.bound("round") is bare.regret_bound is bare.regret_exponent is None


@pytest.mark.parametrize(
    ("paths", "kept"), [("longest", [False, True]), ("all", [True, True]), ("none", [False, False])]
)
def test_paths_are_kept_of_the_longest_horizon_that_was_finished(tmp_path, paths, kept):
    with Results.write(tmp_path / "results.sqlite") as results:
        plan = [place(f"c{t}", horizon=t) for t in (50, 100, 200)]
        results.set_plan(plan)
        for where in plan[:2]:  # the last was not played
            results.put(cell(where.address, rounds=(10, where.horizon)))
        rows = gather(results, paths)
    assert [row.horizon for row in rows] == [50, 100]
    assert ["rounds" in row.arrays for row in rows] == kept

"""One file an experiment: cells whole or named as damaged, one driver, any number of readers."""

import contextlib
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from surefoot.experiments import (
    CellResult,
    DamagedCellError,
    Facts,
    Results,
    StoreError,
    export,
    gather,
    record,
)
from surefoot.experiments.store import _digest

from ._cells import assert_same_cell, cell, place


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


@pytest.fixture
def three(path):
    """A file of three cells."""
    with Results.write(path) as results:
        results.set_header(name="limits", seed=7)
        results.set_plan([place("c2"), place("c0", horizon=200), place("c1", block=1)])
        for n in range(3):
            results.put(cell(f"c{n}", seed=n, rounds=(4, 8)))
    return path


@contextlib.contextmanager
def by_hand(path):
    """The file as any program may change it."""
    connection = sqlite3.connect(path)
    with contextlib.closing(connection), connection:
        yield connection


# --- what is written is read ---------------------------------------------------------------------


def test_a_cell_comes_back_whole(three):
    with Results.open(three) as results:
        assert results.path == three
        for n in range(3):
            assert_same_cell(results.get(f"c{n}"), cell(f"c{n}", seed=n, rounds=(4, 8)))
        assert results.have() == dict.fromkeys(("c0", "c1", "c2"), "done")
        assert results.damaged() == {}


def test_the_cells_of_the_plan_come_in_its_order(three):
    with Results.write(three) as results:
        assert [(p.address, p.horizon, p.block) for p in results.places()] == [
            ("c2", 100, 0),
            ("c0", 200, 0),
            ("c1", 100, 1),
        ]
        assert [c.address for _, c in results.cells()] == ["c2", "c0", "c1"]
        results.set_plan([place("c1"), place("c9"), place("c0"), place("c1", "toy again")])
        found = [(p.problem, c.address) for p, c in results.cells()]
        assert found == [("toy", "c1"), ("toy", "c0"), ("toy again", "c1")]
        assert results.have().keys() == {"c0", "c1", "c2"}  # of the older plan: still there


def test_a_new_file_is_empty(path):
    with Results.write(path) as results:
        assert (results.header(), results.places()) == ({}, [])
        assert results.have() == results.damaged() == {}
        assert list(results.cells()) == []
        assert results.get("c7") is None


def test_a_cell_replaces_that_of_its_address_with_all_its_arrays(three):
    rejected = cell("c1", status="rejected")
    with Results.write(three) as results:
        results.put(rejected)
        assert_same_cell(results.get("c1"), rejected)
        assert results.have() == {"c0": "done", "c1": "rejected", "c2": "done"}
        results.put(cell("c1", seed=5, trials=4))
        assert_same_cell(results.get("c1"), cell("c1", seed=5, trials=4))


def test_the_header_is_set_key_by_key(three):
    with Results.write(three) as results:
        results.set_header(seed=8, versions={"numpy": "2"})
        assert results.header() == {"name": "limits", "seed": 8, "versions": {"numpy": "2"}}


def test_numbers_of_numpy_and_floats_that_are_not_finite_become_plain(path):
    spec = {"a": np.float64(1.5), "b": math.nan, "c": [math.inf, (np.int32(3), True)], "d": -0.0}
    with Results.write(path) as results:
        results.put(CellResult(address="c", spec=spec, status="done"))
        seen = results.get("c").spec
    assert seen == {"a": 1.5, "b": None, "c": [None, [3, True]], "d": 0.0}
    assert math.copysign(1.0, seen["d"]) == -1.0


def test_a_note_that_quotes_what_is_no_text_is_kept(path):
    with Results.write(path) as results:
        results.put(CellResult(address="c", spec={}, status="failed", note="no file \udcff"))
        assert results.get("c").note == "no file \udcff"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
DICT = st.dictionaries(TEXT, PLAIN, max_size=3)
NUMBERS = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]).flatmap(
    lambda kind: arrays(kind, array_shapes(min_dims=0, min_side=0, max_side=3))
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SOURCED = st.builds(record.Sourced, st.none() | st.booleans() | st.integers() | FINITE | TEXT, TEXT)


def perhaps(facts, /, **fields):
    return st.none() | st.builds(facts, **fields)


FACTS = st.builds(
    Facts,
    problem=perhaps(
        record.ProblemFacts,
        name=TEXT,
        dimension=st.integers(1),
        start=st.none() | st.tuples(FINITE, FINITE),
    ),
    constants=st.dictionaries(TEXT, SOURCED, max_size=2),
    guarantee=perhaps(
        record.GuaranteeFacts,
        name=TEXT,
        kind=TEXT,
        regret_bound=st.none() | FINITE,
        bounds=st.dictionaries(TEXT, FINITE, max_size=2),
        premises=st.tuples(TEXT),
    ),
    verdict=perhaps(record.VerdictFacts, word=st.sampled_from(record.VERDICTS), sentence=TEXT),
    breaches=st.tuples(st.builds(record.BreachFacts, constant=TEXT, observed=st.none() | FINITE)),
    comparator=perhaps(record.ComparatorFacts, gap=st.none() | FINITE, exact=st.booleans()),
    regret_share=st.none() | FINITE,
    engine=TEXT,
    oracle=st.dictionaries(st.text(), st.integers()),
)
CELLS = st.builds(
    CellResult,
    address=st.text("0123456789abcdef", min_size=1, max_size=6),
    spec=DICT,
    status=st.sampled_from(["done", "rejected", "failed", "set aside"]),
    note=TEXT,
    facts=FACTS,
    arrays=st.dictionaries(st.sampled_from(sorted(record.ARRAYS)), NUMBERS, max_size=3),
    provenance=DICT,
)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CELLS, min_size=1, max_size=3))
def test_any_cell_comes_back_as_it_was(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("any") / "results.sqlite"
    with Results.write(path) as results:
        for one in cells:
            results.put(one)
    last = {one.address: one for one in cells}
    with Results.open(path) as results:
        assert results.have() == {address: one.status for address, one in last.items()}
        assert results.damaged() == {}
        for address, one in last.items():
            assert_same_cell(results.get(address), one)


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "arrays = CAST(substr(arrays, 1, length(arrays) - 1) || x'55' AS BLOB)",
        "arrays = substr(arrays, 1, length(arrays) - 8)",
        "content = replace(content, 'toy', 'tos')",
        "content = CAST(x'ff80' AS TEXT)",
        "status = 'rejected'",
        "digest = x'00'",
    ],
)
def test_damage_is_named_and_is_that_of_one_cell_which_can_be_put_again(three, change):
    with by_hand(three) as connection:
        assert connection.execute(f"UPDATE cells SET {change} WHERE address = 'c1'").rowcount == 1
    why = "it is not what was written"
    with Results.open(three) as results:
        assert results.damaged() == {"c1": why}
        with pytest.raises(DamagedCellError, match=rf"^cell c1 of results '.*' is damaged: {why}$"):
            results.get("c1")
        assert_same_cell(results.get("c0"), cell("c0", seed=0, rounds=(4, 8)))
        assert [c.address for _, c in results.cells()] == ["c2", "c0"]
    with Results.write(three) as results:
        results.put(cell("c1", seed=1, rounds=(4, 8)))
        assert results.damaged() == {}
        assert len(list(results.cells())) == 3


@pytest.mark.parametrize("kind", ["header", "plan"])
def test_a_damaged_document_is_named_and_hides_no_cell(three, kind):
    with by_hand(three) as connection:
        connection.execute(f"UPDATE documents SET content = '[3]' WHERE kind = '{kind}'")
    key = {"header": "name", "plan": "places"}[kind]
    said = f"is damaged: its {kind} '{key}' is not what was written; its cells are not concerned"
    with Results.open(three) as results:
        read = {"header": results.header, "plan": results.places}
        with pytest.raises(StoreError, match=said):
            read.pop(kind)()
        assert all(other() for other in read.values())
        assert results.have().keys() == {"c0", "c1", "c2"}


def look_at_everything(path):
    """Everything a reader can ask for; how many cells are whole, or the sentence of a refusal."""
    try:
        with Results.open(path) as results:
            damaged = results.damaged()
            for ask in (results.header, results.places, results.have):
                with contextlib.suppress(StoreError):
                    ask()
            rows = gather(results)
            export.write(results, path.with_suffix(".csv"))
            named = set(damaged) | {a for row in rows for a in row.damaged}
            return sum(row.trials for row in rows) // 3, named
    except StoreError as error:
        return 0, {str(error)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_bit_is_named_or_does_no_harm_and_reading_changes_nothing(three, seed):
    rng = random.Random(seed)
    data = bytearray(three.read_bytes())
    for _ in range(rng.choice([1, 1, 20])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if seed % 8 == 0:
        data = data[: rng.randrange(len(data))]
    three.write_bytes(data)
    cells, named = look_at_everything(three)
    assert cells == 3 or named  # nothing is lost in silence
    assert all(len(words.splitlines()) == 1 for words in named)
    assert three.read_bytes() == data


# --- forged --------------------------------------------------------------------------------------


def forge_cell(path, status=None, arrays=None, **parts):
    """Other parts in the row of c1, with a digest that fits."""
    with by_hand(path) as file:
        query = "SELECT address, status, content, arrays FROM cells WHERE address = 'c1'"
        ((address, word, text, data),) = file.execute(query)
        content = parts.pop("text", None) or json.dumps(json.loads(text) | parts)
        row = (address, status or word, content, data if arrays is None else arrays)
        file.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)", (*row, _digest(*row)))


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        ({"status": "splendid"}, "status must be one of 'done', .* got 'splendid'"),
        ({"spec": []}, r"its content.spec must be a table, got \[\]"),
        ({"provenance": 3}, "its content.provenance must be a table, got 3"),
        ({"provenance": {"seconds": "x"}}, "provenance.seconds must be a number, got 'x'"),
        ({"provenance": {"versions": []}}, r"provenance.versions must be a table, got \[\]"),
        ({"text": "[" * 100_000}, "it cannot be read: .*"),
        ({"text": "3"}, "its content must be a table, got 3"),
        ({"arrays": b""}, "it cannot be read: .*"),
        ({"arrays": bytes(10_000)}, "it cannot be read: .*"),
        ({"facts": []}, r"facts must be a table, got \[\]"),
        ({"facts": {"verdict": "held"}}, "facts.verdict must be a table, got 'held'"),
        ({"facts": {"verdict": {}}}, r"facts.verdict must have 'word', got \[\]"),
        ({"facts": {"regret_share": True}}, "facts.regret_share must be a number, got True"),
        ({"facts": {"constants": {"R": [1.0]}}}, "facts.constants.R must be a list of 2, got .*"),
        ({"facts": {"constants": {"R": [[], "x"]}}}, "facts.constants.R.value must be .*, got .*"),
        ({"facts": {"breaches": {"round": 1}}}, "facts.breaches must be a list, got .*"),
        ({"facts": {"oracle": {"rounds": 1.5}}}, "facts.oracle.rounds must be a whole number, .*"),
    ],
)
def test_a_forged_cell_is_damage_and_hides_no_other(three, forged, why):
    forge_cell(three, **forged)
    with Results.open(three) as results:
        damaged = results.damaged()
        rows = gather(results)
        assert len(list(results.cells())) == 2
        assert damaged.keys() == {"c1"} == {a for row in rows for a in row.damaged}
        with pytest.raises(StoreError, match=f"is damaged: (its content\\.)?{why}$"):
            results.get("c1")


def test_a_forged_object_is_damage_and_is_not_made(three):
    data = BytesIO()
    np.savez(data, regret=np.array([len], dtype=object))
    forge_cell(three, arrays=data.getvalue())
    with Results.open(three) as results:
        assert "cannot be read: Object arrays" in results.damaged()["c1"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"address": "c0"}]', r"its plan.places\[0\] must have 'problem', got \['address'\]"),
        ('{"c0": 1}', "its plan.places must be a list, got .*"),
        ("[[", "its plan 'places' is not JSON"),
    ],
)
def test_a_forged_plan_is_refused_in_one_sentence(three, text, why):
    with by_hand(three) as file:
        digest = _digest("plan", "places", text)
        row = ("plan", "places", text, digest)
        file.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", row)
    with Results.open(three) as results, pytest.raises(StoreError, match=f"is damaged: {why}$"):
        gather(results)


# --- not a file of ours --------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("opening", [Results.open, Results.write], ids=["open", "write"])
TRIGGER = "CREATE TRIGGER t AFTER INSERT ON cells BEGIN DELETE FROM cells; END"


@BOTH
@pytest.mark.parametrize("extra", [TRIGGER, "CREATE VIEW v AS SELECT 1", "CREATE TABLE x (y)"])
def test_a_file_with_anything_of_its_own_is_refused_and_unchanged(three, extra, opening):
    with by_hand(three) as file:
        file.execute(extra)
    before = three.read_bytes()
    with pytest.raises(StoreError, match="its tables are not those of results"):
        opening(three)
    assert three.read_bytes() == before


@BOTH
@pytest.mark.parametrize(("version", "age"), [(4, "an older"), (6, "a newer")])
def test_another_format_is_refused_and_left_alone(three, opening, version, age):
    with by_hand(three) as file:
        file.execute(f"PRAGMA user_version = {version}")
    before = three.read_bytes()
    with pytest.raises(StoreError, match=f"written by {age} Surefoot: its format is {version}"):
        opening(three)
    assert three.read_bytes() == before


@BOTH
@pytest.mark.parametrize("what", ["words", "sqlite", "folder", "pipe"])
def test_what_is_no_file_of_results_is_refused_and_left_alone(path, opening, what):
    if what == "words":
        path.write_bytes(b"regret,violation\n" * 20)
    elif what == "sqlite":
        with by_hand(path) as connection:
            connection.execute("CREATE TABLE t (a)")
    elif what == "folder":
        path.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        pytest.skip("there are no pipes with names here")
    before = path.read_bytes() if what in ("words", "sqlite") else None
    with pytest.raises(StoreError, match=r"^results '.*' cannot be opened: it is not a "):
        opening(path)
    assert before is None or path.read_bytes() == before


def test_results_that_are_not_there_cannot_be_read(path, tmp_path):
    with pytest.raises(StoreError, match="cannot be opened: it does not exist"):
        Results.open(path)
    with pytest.raises(StoreError, match="cannot be created: its folder does not exist"):
        Results.write(tmp_path / "nowhere" / "results.sqlite")


# --- drivers and readers -------------------------------------------------------------------------

OTHER = """
import sys
from surefoot.experiments import Results, StoreError
try:
    with getattr(Results, sys.argv[2])(sys.argv[1]) as results:
        print(sorted(results.have()))
except StoreError as error:
    print(error)
"""


def in_another_process(path, opening):
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(path), opening],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_a_second_driver_is_told_so_and_a_reader_sees_what_is_done(three):
    with Results.write(three) as results:
        results.put(cell("c3"))
        said = in_another_process(three, "write")
        assert said == f"results '{three}' is in use by another run"
        assert in_another_process(three, "open") == "['c0', 'c1', 'c2', 'c3']"
        results.put(cell("c4"))  # none of them is in the way
        with pytest.raises(StoreError, match="in use by another run"):
            Results.write(three)
    assert in_another_process(three, "write") == "['c0', 'c1', 'c2', 'c3', 'c4']"
    names = {p.name for p in three.parent.iterdir()}
    assert names == {"results.sqlite", ".results.sqlite.lock"}


def test_a_reader_cannot_write(three):
    with Results.open(three) as reader, pytest.raises(StoreError, match="cannot be written"):
        reader.put(cell("c4"))


def test_results_in_a_folder_that_cannot_be_written_are_read(three):
    three.chmod(0o444)
    three.parent.chmod(0o555)
    try:
        with Results.open(three) as results:
            assert len(list(results.cells())) == 3
    finally:
        three.parent.chmod(0o755)


# --- disks and deaths ----------------------------------------------------------------------------


def fill_up(results, pages):
    """Let the file become no larger than some pages, as a full disk does."""
    results._connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()


def test_a_full_disk_is_told_and_loses_nothing(path):
    large = CellResult(address="large", spec={}, status="done", arrays={"x": np.arange(50_000.0)})
    with Results.write(path) as results:
        results.put(cell("c0"))
        fill_up(results, 40)
        for _ in range(2):
            with pytest.raises(StoreError, match=r"^results '.*' cannot be written: the disk is f"):
                results.put(large)
        with pytest.raises(StoreError, match="the disk is full"):
            results.put(replace(large, address="c0"))
        assert_same_cell(results.get("c0"), cell("c0"))  # what was to be replaced is there
        results.put(cell("c1", seed=1))  # a smaller one still goes in
    with Results.write(path) as results:
        assert results.have() == {"c0": "done", "c1": "done"}
        assert results.damaged() == {}
        results.put(large)
        assert_same_cell(results.get("large"), large)


WRITER = """
import sys
from _cells import cell
from surefoot.experiments import Results
with Results.write(sys.argv[1]) as results:
    for n in range(10**6):
        results.put(cell(f"c{n % 50}", seed=n, trials=2_000))
        print(n, flush=True)
"""


@pytest.mark.slow
def test_kill_9_in_the_middle_of_writing_leaves_every_finished_cell_whole(path, request):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=request.path.parent,
    )
    with writer:
        for line in writer.stdout:
            if line == "70\n":
                break
        time.sleep(0.0013)
        writer.kill()
        told = [70, *map(int, writer.stdout)]
    last = told[-1]
    with Results.write(path) as results:
        assert results.damaged() == {}
        assert len(results.have()) == 50
        latest = results.get(f"c{last % 50}")
        assert latest.spec["seed"] == last
        assert_same_cell(latest, cell(latest.address, seed=last, trials=2_000))

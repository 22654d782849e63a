"""One file an experiment: cells whole or named as damaged, one driver, any number of readers."""

import contextlib
import math
import sqlite3
import struct
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from surefoot._sqlite import create
from surefoot.controller._journal import JOURNAL
from surefoot.experiments import CellResult, DamagedCellError, Facts, Results, StoreError, record

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
        assert (results.header(), results.notes(), results.places()) == ({}, {}, [])
        assert results.have() == results.damaged() == {}
        assert list(results.cells()) == []
        with pytest.raises(StoreError, match=r"^results '.*' has no cell c7$"):
            results.get("c7")


def test_a_cell_replaces_that_of_its_address_with_all_its_arrays(three):
    refused = cell("c1", status="refused")
    with Results.write(three) as results:
        results.put(refused)
        assert_same_cell(results.get("c1"), refused)
        assert results.have() == {"c0": "done", "c1": "refused", "c2": "done"}
        results.put(cell("c1", seed=5, trials=4))
        assert_same_cell(results.get("c1"), cell("c1", seed=5, trials=4))
    with by_hand(three) as connection:
        (count,) = connection.execute("SELECT count(*) FROM arrays").fetchone()
    assert count == 8 + 8 + 4


def test_the_header_is_set_key_by_key(three):
    with Results.write(three) as results:
        results.set_header(seed=8, versions={"numpy": "2"})
        assert results.header() == {"name": "limits", "seed": 8, "versions": {"numpy": "2"}}


def test_notes_are_beside_the_cells(three):
    claims = [{"figure": "1a", "published": {"2000": 88.0}}]
    with Results.write(three) as results:
        results.set_note("claims", [1])
        results.set_note("claims", claims)
        assert results.notes() == {"claims": claims}


def test_numbers_of_numpy_and_floats_that_are_not_finite_become_plain(path):
    spec = {"a": np.float64(1.5), "b": math.nan, "c": [math.inf, (np.int32(3), True)], "d": -0.0}
    with Results.write(path) as results:
        results.put(CellResult(address="c", spec=spec, status="done"))
        seen = results.get("c").spec
    assert seen == {"a": 1.5, "b": None, "c": [None, [3, True]], "d": 0.0}
    assert math.copysign(1.0, seen["d"]) == -1.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"provenance": {"f": len}},
            r"^data to be stored must be plain .* got <built-in function len>$",
        ),
        ({"spec": {3: "x"}}, "^keys of data to be stored must be texts, got 3$"),
        ({"status": "fine"}, "^status must be one of done, refused, .* got 'fine'$"),
        ({"arrays": {"x": np.array([None])}}, "^an array to be stored must hold numbers"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(three, wrong, said):
    good = {"address": "c1", "spec": {}, "status": "done"}
    with Results.write(three) as results:
        with pytest.raises(ValueError, match=said):
            results.put(CellResult(**(good | wrong)))
        assert_same_cell(results.get("c1"), cell("c1", seed=1, rounds=(4, 8)))


def test_a_note_that_quotes_what_is_no_text_is_kept_as_shown(path):
    with Results.write(path) as results:
        results.put(CellResult(address="c", spec={}, status="failed", note="no file \udcff"))
        assert results.get("c").note == "no file \\udcff"


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
    verdict=perhaps(record.VerdictFacts, word=TEXT, sentence=TEXT),
    breaches=st.tuples(st.builds(record.BreachFacts, constant=TEXT, observed=st.none() | FINITE)),
    comparator=perhaps(record.ComparatorFacts, gap=st.none() | FINITE, exact=st.booleans()),
    regret_share=st.none() | FINITE,
    engine=TEXT,
    oracle=perhaps(record.OracleFacts, rounds=st.integers()),
)
CELLS = st.builds(
    CellResult,
    address=st.text("0123456789abcdef", min_size=1, max_size=6),
    spec=DICT,
    status=st.sampled_from(["done", "refused", "failed", "set aside"]),
    note=TEXT,
    facts=FACTS,
    arrays=st.dictionaries(TEXT, NUMBERS, max_size=3),
    provenance=DICT,
)


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

OF_C1 = "(SELECT id FROM cells WHERE address = 'c1')"


def flipped(column):
    """A byte of c1's peaks is another: the last, inside the numbers."""
    return f"CAST(substr({column}, 1, length({column}) - 1) || x'55' AS BLOB)"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            f"UPDATE arrays SET data = {flipped('data')} WHERE cell = {OF_C1} AND name = 'peak'",
            "its array 'peak' is not what was written",
        ),
        (
            "UPDATE arrays SET data = substr(data, 1, length(data) - 8) "
            f"WHERE cell = {OF_C1} AND name = 'peak'",
            "its array 'peak' is not what was written",
        ),
        (
            f"DELETE FROM arrays WHERE cell = {OF_C1} AND name = 'peak'",
            "its array 'peak' is missing",
        ),
        (
            f"INSERT INTO arrays VALUES ({OF_C1}, 'other', x'00')",
            "its array 'other' is one too many",
        ),
        (
            f"UPDATE arrays SET cell = {OF_C1}, name = 'other' WHERE cell != {OF_C1} "
            "AND name = 'count' AND cell = (SELECT max(id) FROM cells)",
            "its array 'other' is one too many",
        ),
        (
            "UPDATE cells SET facts = '{\"x\":1}' WHERE address = 'c1'",
            "its row is not what was written",
        ),
        (
            "UPDATE cells SET note = CAST(x'ff80' AS TEXT) WHERE address = 'c1'",
            "its row is not what was written",
        ),
        (
            "UPDATE cells SET status = 'refused' WHERE address = 'c1'",
            "its row is not what was written",
        ),
    ],
    ids=["flip", "truncate", "delete", "insert", "moved", "facts", "no text", "status"],
)
def test_damage_is_named_and_is_that_of_one_cell(three, change, why, request):
    with by_hand(three) as connection:
        assert connection.execute(change).rowcount == 1
    damaged = {"c1": why}
    if "moved" in request.node.name:  # it was taken from another cell
        damaged["c2"] = "its array 'count' is missing"
    with Results.open(three) as results:
        assert results.damaged() == damaged
        with pytest.raises(DamagedCellError, match=rf"^cell c1 of results '.*' is damaged: {why}$"):
            results.get("c1")
        assert_same_cell(results.get("c0"), cell("c0", seed=0, rounds=(4, 8)))
        whole = [address for address in ("c2", "c0") if address not in damaged]
        assert [c.address for _, c in results.cells()] == whole
        # What have() reads is the row.
        assert ("c1" in results.have()) == ("row" not in why)


@pytest.mark.parametrize("table", ["arrays", "cells"])
def test_a_damaged_cell_that_is_put_again_is_whole(three, table):
    with by_hand(three) as connection:
        connection.execute(
            f"UPDATE arrays SET data = x'00' WHERE cell = {OF_C1}"
            if table == "arrays"
            else "UPDATE cells SET digest = x'00' WHERE address = 'c1'"
        )
    with Results.write(three) as results:
        assert results.damaged().keys() == {"c1"}
        results.put(cell("c1", seed=1, rounds=(4, 8)))
        assert results.damaged() == {}
        assert len(list(results.cells())) == 3


def test_arrays_whose_cell_was_lost_are_nobodys(three):
    with by_hand(three) as connection:
        connection.execute("DELETE FROM cells WHERE address = 'c2'")  # the one of the largest id
    with Results.write(three) as results:
        results.put(cell("c3", trials=2))
        assert_same_cell(results.get("c3"), cell("c3", trials=2))
        assert results.damaged() == {}


@pytest.mark.parametrize("kind", ["header", "plan", "note"])
def test_a_damaged_document_is_named_and_hides_no_cell(three, kind):
    with Results.write(three) as results:
        results.set_note("claims", [1, 2])
    with by_hand(three) as connection:
        connection.execute(f"UPDATE documents SET data = '[3]' WHERE kind = '{kind}'")
    key = {"header": "name", "plan": "places", "note": "claims"}[kind]
    said = f"is damaged: its {kind} '{key}' is not what was written; its cells are not concerned"
    with Results.open(three) as results:
        read = {"header": results.header, "plan": results.places, "note": results.notes}
        with pytest.raises(StoreError, match=said):
            read.pop(kind)()
        assert all(other() for other in read.values())
        assert results.have().keys() == {"c0", "c1", "c2"}
    with Results.write(three) as results:  # a driver writes them anew
        assert said in results.mended
        assert results.have().keys() == {"c0", "c1", "c2"}
        found = (results.header(), len(results.places()), results.notes())
        assert found == (
            {} if kind == "header" else {"name": "limits", "seed": 7},
            0 if kind == "plan" else 3,
            {} if kind == "note" else {"claims": [1, 2]},
        )


DAMAGES = ["bit", "page", "cut"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_damaged_anywhere_is_mended_and_no_cell_is_another(path, damage, seed):
    """What is there afterwards is right, the rest is played again, and then all is well."""
    wanted = {f"c{n}": cell(f"c{n}", seed=n, trials=30, rounds=(4, 8)) for n in range(30)}
    with Results.write(path) as results:
        results.set_plan([place(address) for address in wanted])
        for one in wanted.values():
            results.put(one)
    rng = np.random.default_rng([seed, DAMAGES.index(damage)])
    data = bytearray(path.read_bytes())
    at = int(rng.integers(100, len(data)))  # the head says whose the file is
    if damage == "bit":
        data[at] ^= 1 << int(rng.integers(8))
    elif damage == "page":
        data[at : at + 512] = rng.bytes(len(data[at : at + 512]))
    else:
        del data[at:]
    path.write_bytes(data)
    with contextlib.suppress(StoreError), Results.open(path) as results:
        for _, one in results.cells():  # as far as they can be read
            assert_same_cell(one, wanted[one.address])
    with Results.write(path) as results:
        damaged = results.damaged()
        whole = [address for address in results.have() if address not in damaged]
        for address in whole:
            assert_same_cell(results.get(address), wanted[address])
        if damage == "bit":
            assert len(whole) > 20
        if results.mended:
            assert results.mended.endswith(
                f"{len(whole)} whole cells are kept, the file as it was is 'results.sqlite-damaged'"
            )
            assert path.with_name("results.sqlite-damaged").read_bytes() == data
        results.set_plan([place(address) for address in wanted])
        for address in wanted.keys() - set(whole):
            results.put(wanted[address])
    with Results.write(path) as results:
        assert results.mended == ""
        assert [one.address for _, one in results.cells()] == list(wanted)
    assert not list(path.parent.glob(".*"))


# --- other files ---------------------------------------------------------------------------------


def patched(path, offset, number):
    data = bytearray(path.read_bytes())
    data[offset : offset + 4] = struct.pack(">I", number)
    path.write_bytes(data)


BOTH = pytest.mark.parametrize("opening", [Results.open, Results.write], ids=["open", "write"])


@BOTH
def test_a_newer_format_is_refused_and_left_alone(three, opening):
    patched(three, 60, 3)
    before = three.read_bytes()
    with pytest.raises(StoreError, match="written by a newer Surefoot: its format is 3"):
        opening(three)
    assert three.read_bytes() == before


@BOTH
@pytest.mark.parametrize("what", ["words", "sqlite", "journal", "empty", "folder"])
def test_what_is_no_file_of_results_is_refused_and_left_alone(path, opening, what):
    if what == "words":
        path.write_bytes(b"regret,violation\n" * 20)
    elif what == "sqlite":
        with by_hand(path) as connection:
            connection.execute("CREATE TABLE t (a)")
    elif what == "journal":
        create(path, JOURNAL, ()).close()
    elif what == "empty":
        path.touch()
    else:
        path.mkdir()
    before = None if what == "folder" else path.read_bytes()
    said = "cannot be opened: it cannot be read" if what == "folder" else "is not a Surefoot result"
    with pytest.raises(StoreError, match=said):
        opening(path)
    if before is not None:
        assert path.read_bytes() == before


def test_results_that_are_not_there_cannot_be_read(path, tmp_path):
    with pytest.raises(StoreError, match="cannot be opened: it does not exist"):
        Results.open(path)
    with pytest.raises(StoreError, match="cannot be created: its folder does not exist"):
        Results.write(tmp_path / "nowhere" / "results.sqlite")


# --- drivers and readers -------------------------------------------------------------------------

OTHER = """
import sys
from surefoot.experiments import Results, StoreError, store
Results.mend = store._mend
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


def test_a_second_driver_is_told_so_and_a_reader_sees_what_is_done(three):
    with Results.write(three) as results:
        results.put(cell("c3"))
        names = {p.name.removeprefix("results.sqlite") for p in three.parent.iterdir()}
        assert names == {"", "-wal", "-shm", "-lock"}
        said = in_another_process(three, "write")
        assert said == f"results '{three}' is in use by another process: one writer at a time"
        assert in_another_process(three, "open") == "['c0', 'c1', 'c2', 'c3']"
        assert in_another_process(three, "mend").endswith(
            "in use by another process: one writer at a time"
        )
        results.put(cell("c4"))  # none of them is in the way
        with pytest.raises(StoreError, match="in use by this process"):
            Results.write(three)
    assert in_another_process(three, "write") == "['c0', 'c1', 'c2', 'c3', 'c4']"


def test_a_reader_keeps_the_moment_it_opened_and_leaves_only_the_file(three):
    with Results.open(three) as reader:
        script = OTHER.replace("print(", "results.put(results.get('c0')); print(", 1).replace(
            "sorted(results.have())", "results.set_plan([])"
        )
        subprocess.run([sys.executable, "-c", script, str(three), "write"], check=True)
        assert len(list(reader.cells())) == 3
        with pytest.raises(StoreError, match="cannot be written"):
            reader.put(cell("c4"))
    with Results.open(three) as reader:
        assert list(reader.cells()) == []
    names = {p.name for p in three.parent.iterdir()}
    assert names == {"results.sqlite", "results.sqlite-lock"}
    assert (three.parent / "results.sqlite-lock").stat().st_size == 0


def test_results_on_a_disk_that_cannot_be_written_are_read(three):
    for name in ("results.sqlite", "results.sqlite-lock"):
        (three.parent / name).chmod(0o444)
    three.parent.chmod(0o555)
    try:
        with Results.open(three) as results:
            assert len(list(results.cells())) == 3
    finally:
        three.parent.chmod(0o755)


# --- disks and deaths ----------------------------------------------------------------------------


def test_a_full_disk_is_told_and_loses_nothing(path):
    large = CellResult(address="large", spec={}, status="done", arrays={"x": np.arange(50_000.0)})
    with Results.write(path, max_pages=40) as results:
        results.put(cell("c0"))
        for _ in range(2):
            with pytest.raises(StoreError, match=r"^results '.*' cannot be written: the disk is f"):
                results.put(large)
        results.put(cell("c1", seed=1))  # a smaller one still goes in
    with Results.write(path) as results:
        assert results.have() == {"c0": "done", "c1": "done"}
        assert results.damaged() == {}
        results.put(large)
        assert_same_cell(results.get("large"), large)
    with by_hand(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_full_disk_keeps_the_cell_that_was_to_be_replaced(path):
    small = cell("c0")
    with Results.write(path) as results:
        results.put(small)
    with Results.write(path, max_pages=20) as results:
        with pytest.raises(StoreError, match="the disk is full"):
            results.put(cell("c0", trials=20_000))
        assert_same_cell(results.get("c0"), small)


WRITER = """
import sys
from _cells import cell
from surefoot.experiments import Results
with Results.write(sys.argv[1]) as results:
    for n in range(10**6):
        results.put(cell(f"c{n % 50}", seed=n, trials=2_000))
        print(n, flush=True)
"""


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


@pytest.mark.slow
def test_thousands_of_cells_cost_the_same_each_and_no_memory(path):
    resource = pytest.importorskip("resource")
    addresses = [f"{n * 7919 % 10_007:064x}" for n in range(3_000)]
    one = cell("", trials=30)

    def put(some):
        """Seconds of this process for each; others may be busy."""
        began = time.process_time()
        for address in some:
            results.put(replace(one, address=address))
        return (time.process_time() - began) / len(some)

    with Results.write(path) as results:
        results.set_plan([place(address) for address in addresses])
        early = min(put(addresses[n : n + 250]) for n in range(0, 1_000, 250))
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        put(addresses[1_000:2_000])
        late = min(put(addresses[n : n + 250]) for n in range(2_000, 3_000, 250))
        assert late < 3 * early
        began = time.process_time()
        assert len(results.have()) == 3_000
        assert time.process_time() - began < 1_000 * late  # it reads no array
        total = sum(len(c.arrays["regret"]) for _, c in results.cells())
        assert total == 90_000
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held
        assert grown < 9_000 * (1_000 if sys.platform == "darwin" else 1)  # 9 MB, of 18 written

"""Damaged and forged files: opened whole, opened with the damage named, or refused unchanged."""

import contextlib
import os
import random
import shutil
import sqlite3
import time

import pytest

from surefoot._sqlite import digest
from surefoot.experiments import Results, StoreError, gather, to_csv

from ._cells import cell, place


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A closed file of six cells, with header, plan and notes."""
    path = tmp_path_factory.mktemp("whole") / "results.sqlite"
    with Results.write(path) as results:
        results.set_header(name="limits", seed=7)
        results.set_plan([place(f"c{n}", block=n) for n in range(6)])
        results.set_note("claims", [{"figure": "1a", "statement": "so it is"}])
        for n in range(6):
            verdict = {"word": "held", "sentence": "Theorem 1 held"}
            results.put(cell(f"c{n}", seed=n, rounds=(4, 8), verdict=verdict))
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copy(whole, tmp_path / "results.sqlite")


def look_at_everything(path):
    """Everything a reader can ask for; how many cells are whole, or the sentence of a refusal."""
    try:
        with Results.open(path) as results:
            damaged = results.damaged()
            for ask in (results.header, results.places, results.notes, results.have):
                with contextlib.suppress(StoreError):
                    ask()
            rows = gather(results)
            to_csv(results, path.with_suffix(".csv"))
            named = set(damaged) | {a for row in rows for a in row.damaged}
            return sum(row.trials for row in rows) // 3, named
    except StoreError as error:
        return 0, {str(error)}


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_bit_is_named_or_does_no_harm_and_reading_changes_nothing(path, whole, seed):
    rng = random.Random(seed)
    data = bytearray(whole.read_bytes())
    for _ in range(rng.choice([1, 1, 20])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if seed % 8 == 0:
        data = data[: rng.randrange(len(data))]
    path.write_bytes(data)
    cells, named = look_at_everything(path)
    assert cells == 6 or named  # nothing is lost in silence
    assert all(len(words.splitlines()) == 1 for words in named)
    assert path.read_bytes() == data


@pytest.mark.parametrize("seed", range(12))
def test_a_driver_mends_a_damaged_file_or_leaves_it_as_it_was(path, whole, seed):
    rng = random.Random(100 + seed)
    data = bytearray(whole.read_bytes())
    for _ in range(4):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    refused = ""
    try:
        with Results.write(path) as results:
            results.put(cell("new"))
    except StoreError as error:
        refused = str(error)
    if refused:
        assert len(refused.splitlines()) == 1
        assert path.read_bytes() == data
        return
    with Results.open(path) as results:
        assert results.get("new").trials == 3
        damaged = results.damaged()
    kept = path.with_name(f"{path.name}-damaged")
    assert not kept.exists() or kept.read_bytes() == data
    assert len(look_at_everything(path)[1]) == len(damaged)


def test_a_file_that_claims_a_billion_billion_cells_is_mended_in_a_moment(path):
    with by_hand(path) as file:
        file.execute("UPDATE sqlite_sequence SET seq = ?", (10**18,))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 4096])
    begin = time.perf_counter()
    with Results.write(path) as results:
        assert results.have().keys() >= {"c0", "c1"}
    assert time.perf_counter() - begin < 60  # trying every id would take longer than a life


# --- forged --------------------------------------------------------------------------------------


@contextlib.contextmanager
def by_hand(path):
    """The file as any program may change it, its digests made to fit."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        yield file
        file.commit()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def forge_document(path, kind, key, text):
    with by_hand(path) as file:
        file.execute(
            "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)",
            (kind, key, text, digest(kind, key, text.encode())),
        )


def forge_cell(path, **texts):
    """Other texts in the row of c1."""
    columns = ("address", "status", "note", "spec", "facts", "provenance", "arrays")
    with by_hand(path) as file:
        query = f"SELECT {', '.join(columns)} FROM cells WHERE address = 'c1'"
        (row,) = file.execute(query).fetchall()
        row = dict(zip(columns, row, strict=True)) | texts
        whole = digest(*(text.encode() for text in row.values()))
        assigned = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE cells SET {assigned}, digest = ? WHERE address = 'c1'"
        file.execute(query, (*row.values(), whole))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"address": "c0"}]', r"its plan.places\[0\] must have 'problem', got \['address'\]"),
        ('{"c0": 1}', "its plan.places must be a list, got .*"),
        ("3", "its plan.places must be a list, got 3"),
        ("[[", "its plan 'places' is not JSON"),
        (
            '[{"address":"a","problem":"p","algorithm":"b","horizon":"long","block":0}]',
            r"its plan.places\[0\].horizon must be a whole number, got 'long'",
        ),
    ],
)
def test_a_forged_plan_is_refused_in_one_sentence(path, text, why):
    forge_document(path, "plan", "places", text)
    before = path.read_bytes()
    with Results.open(path) as results, pytest.raises(StoreError, match=f"is damaged: {why}$"):
        gather(results)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"status": "splendid"}, "status must be one of done, refused, failed, set aside"),
        ({"spec": "[]"}, r"spec must be a table, got \[\]"),
        ({"provenance": "3"}, "provenance must be a table, got 3"),
        ({"provenance": '{"seconds":"x"}'}, "provenance.seconds must be a number, got 'x'"),
        ({"provenance": '{"versions":[]}'}, r"provenance.versions must be a table, got \[\]"),
        ({"arrays": "[]"}, r"arrays must be a table, got \[\]"),
        ({"facts": "[" * 100_000}, "its texts are not JSON"),
    ],
)
def test_a_forged_cell_is_damage_and_hides_no_other(path, texts, why):
    forge_cell(path, **texts)
    with Results.open(path) as results:
        damaged = results.damaged()
        (row,) = gather(results)
        assert len(list(results.cells())) == 5
    assert damaged.keys() == row.damaged.keys() == {"c1"}
    assert damaged["c1"] == row.damaged["c1"]
    assert row.trials == 15
    with Results.open(path) as results, pytest.raises(StoreError, match=f"is damaged: {why}$"):
        results.get("c1")


def test_arrays_that_do_not_fit_each_other_are_damage(path):
    with Results.write(path) as results:
        odd = cell("c1", rounds=(4, 8))
        odd.arrays["peak"] = odd.arrays["peak"][:1]
        results.put(odd)
        flat = cell("c2")
        flat.arrays["regret"] = flat.arrays["regret"][:, None]
        results.put(flat)
        assert results.damaged() == {
            "c1": "its array 'peak' has another number of rounds than 'actions'",
            "c2": "its array 'regret' must have the axes trial, got (3, 1)",
        }


# --- not a file of ours --------------------------------------------------------------------------

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON cells BEGIN DELETE FROM cells; END"


@pytest.mark.parametrize("extra", [TRIGGER, "CREATE VIEW v AS SELECT 1", "CREATE TABLE x (y)"])
@pytest.mark.parametrize("opening", [Results.open, Results.write], ids=["open", "write"])
def test_a_file_with_anything_of_its_own_is_refused_and_unchanged(path, extra, opening):
    with by_hand(path) as file:
        file.execute(extra)
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        opening(path)
    assert len(str(refused.value).splitlines()) == 1
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("opening", [Results.open, Results.write], ids=["open", "write"])
def test_a_pipe_is_refused_at_once(tmp_path, opening):
    os.mkfifo(tmp_path / "results.sqlite")
    with pytest.raises(StoreError, match=r"^results '.*' cannot be opened: .* \(is no file\)$"):
        opening(tmp_path / "results.sqlite")

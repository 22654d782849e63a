import contextlib
import functools
import gc
import hashlib
import os
import sqlite3
import struct
import threading
import warnings

import numpy as np
import pytest

from surefoot import _sqlite
from surefoot._sqlite import (
    DamagedError,
    Kind,
    StoreError,
    create,
    digest,
    from_bytes,
    npy,
    open_reader,
    open_writer,
)
from surefoot._sqlite.mark import Mark, Marked, Record

KIND = Kind("box", 0x1234, 3, ("CREATE TABLE things (name TEXT PRIMARY KEY) STRICT",), "open it")
INSERT = "INSERT INTO things VALUES (?)"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "box.db"


def names(store):
    return [name for (name,) in store.rows("SELECT name FROM things ORDER BY name")]


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -0.0, np.nan, np.inf]),
        np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2],
        np.arange(6.0).reshape(2, 3).T,
        np.array(2.5),
        np.zeros((0, 2)),
        np.array([True, False]),
        np.array([1.5, 2.5], dtype=">f8"),
    ],
    ids=repr,
)
def test_arrays_come_back_bit_for_bit_and_numpy_reads_the_same(array, tmp_path):
    data = _sqlite.to_bytes(array)
    (tmp_path / "a.npy").write_bytes(data)
    for made in (from_bytes(data), np.load(tmp_path / "a.npy", allow_pickle=False)):
        assert made.dtype == array.dtype
        assert made.shape == array.shape
        assert made.tobytes() == array.tobytes()
    assert from_bytes(data).flags.writeable


def test_headers_are_not_kept_for_ever():
    for n in range(600):
        assert from_bytes(_sqlite.to_bytes(np.zeros(n))).shape == (n,)
    assert len(npy._headers) < 600


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.array([1j])], ids=repr)
def test_only_numbers_are_stored(array):
    with pytest.raises(ValueError, match="an array to be stored must hold numbers"):
        _sqlite.to_bytes(array)


GOOD = _sqlite.to_bytes(np.array([1.5, 2.5]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"none",
        GOOD[:40],
        GOOD[:-1],
        GOOD + b"0",
        GOOD.replace(b"(2,)", b"(9,)"),
        GOOD.replace(b"<f8", b"|O8"),
        GOOD.replace(b"<f8", b"|S8"),
        GOOD.replace(b"<f8", b"<c8"),
        GOOD.replace(b"(2,)", b"(-2)"),
        GOOD.replace(b"(2,), ", b"(-1,),"),
        GOOD.replace(b"{'descr'", b"{'desc\\r"),
        GOOD.replace(b"{", b"("),
        5,
        "text",
        None,
        GOOD.replace(b"'fortran_order': False", b"'fortran_order': True "),
        b"\x93NUMPY\x02\x00" + GOOD[8:],
    ],
    ids=[
        "nothing",
        "words",
        "head",
        "short",
        "long",
        "count",
        "object",
        "bytes",
        "complex",
        "negative",
        "all",
        "escape",
        "bracket",
        "number",
        "str",
        "None",
        "order",
        "version",
    ],
)
def test_what_is_no_array_of_numbers_is_refused(data):
    with pytest.raises(ValueError):
        from_bytes(data)


def test_no_two_lists_have_one_digest():
    lists = [
        (),
        (None,),
        ("",),
        (b"",),
        ("a", "b"),
        ("ab",),
        (b"ab",),
        (1,),
        (1.0,),
        ("1",),
        (0.0,),
        (-0.0,),
        (None, None),
    ]
    assert len({digest(*parts) for parts in lists}) == len(lists)


def test_a_file_is_there_whole_or_not_at_all(path, tmp_path):
    with pytest.raises(StoreError, match="cannot be created: UNIQUE constraint failed"):
        create(path, KIND, [(INSERT, ("a",)), (INSERT, ("a",))])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_not_overwritten(path, monkeypatch, tmp_path):
    def late(draft, to):
        path.write_bytes(b"theirs")
        raise FileExistsError

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(StoreError, match=r"exists already and is not overwritten: open it$"):
        create(path, KIND, [])
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_links_will_do(path, monkeypatch, tmp_path):
    def never(draft, to):
        raise PermissionError

    monkeypatch.setattr(os, "link", never)
    with create(path, KIND, [(INSERT, ("a",))]) as store:
        assert names(store) == ["a"]
    assert list(tmp_path.iterdir()) == [path]


def test_the_head_tells_what_a_file_is(path):
    create(path, KIND, []).close()
    head = path.read_bytes()[:100]
    assert struct.unpack(">I4xI", head[60:72]) == (3, 0x1234)


def test_all_statements_are_done_or_none(path):
    with create(path, KIND, [(INSERT, ("a",))]) as store:
        with pytest.raises(StoreError, match="cannot be written: UNIQUE"):
            store.write([(INSERT, ("b",)), (INSERT, ("a",))])
        assert names(store) == ["a"]
        with pytest.raises(StoreError, match="has moved on"):
            store.write([(INSERT, ("b",)), ("DELETE FROM things WHERE name = 'z'", ())])
        assert names(store) == ["a"]
        store.write([(INSERT, ("b",)), (INSERT, ("c",))])
        assert names(store) == ["a", "b", "c"]


def test_an_interrupted_write_is_not_done(path):
    class Stop(KeyboardInterrupt):
        pass

    with create(path, KIND, []) as store:
        statements = [(INSERT, ("a",))]

        class Interrupted(list):
            def __iter__(self):
                yield from statements
                raise Stop

        with pytest.raises(Stop):
            store.write(Interrupted())
        assert names(store) == []
        store.write(statements)
        assert names(store) == ["a"]


def test_a_reader_sees_what_a_killed_writer_left_in_the_log(path, tmp_path):
    copy = tmp_path / "copy.db"
    with create(path, KIND, []) as store:
        store.write([(INSERT, ("a",))])
        copy.write_bytes(path.read_bytes())
        log = path.with_name("box.db-wal").read_bytes()
    copy.with_name("copy.db-wal").write_bytes(log)
    before = copy.read_bytes()
    with open_reader(copy, KIND) as store:
        assert names(store) == ["a"]
    assert copy.read_bytes() == before
    with open_writer(copy, KIND) as store:
        assert names(store) == ["a"]
    assert sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_reader_cannot_write(path):
    create(path, KIND, []).close()
    with open_reader(path, KIND) as store, pytest.raises(StoreError):
        store.write([(INSERT, ("a",))])


def test_a_file_on_a_disk_that_cannot_be_written_is_read(path, monkeypatch):
    create(path, KIND, [(INSERT, ("a",))]).close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with open_reader(path, KIND) as store:
        assert names(store) == ["a"]
    assert not path.with_name("box.db-shm").exists()


def test_an_sqlite_that_is_too_old_is_told_so(path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"^a box needs SQLite 3\.37, got "):
        create(path, KIND, [])


def test_another_path_to_a_file_in_use_is_noticed(path, tmp_path):
    with create(path, KIND, []):
        link = tmp_path / "link.db"
        link.symlink_to(path)
        with pytest.raises(StoreError, match="is in use by this process"):
            open_writer(link, KIND)


def test_a_writer_that_was_forgotten_is_no_writer(path):
    store = create(path, KIND, [])
    store.write([(INSERT, ("a",))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # what newer Pythons say of it
        del store
        gc.collect()
    with open_writer(path, KIND) as store:
        assert names(store) == ["a"]


def test_beginning_changes_nothing(path):
    with create(path, KIND, [(INSERT, ("a",))]) as store:
        store.begin()
        assert path.with_name("box.db-wal").stat().st_size > 0
        assert names(store) == ["a"]
    with open_reader(path, KIND) as store:
        assert list(store.rows("PRAGMA user_version")) == [(3,)]


@pytest.mark.parametrize("open_file", [open_reader, open_writer])
def test_a_file_that_something_else_has_locked_is_told_so(open_file, path):
    create(path, KIND, []).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute(INSERT, ("a",))
    sentence = r"^box '.*' is in use by another process: one writer at a time$"
    with pytest.raises(StoreError, match=sentence):
        open_file(path, KIND)
    other.close()
    with open_file(path, KIND) as store:
        assert names(store) == ["a"]


def test_pages_that_make_no_sense_are_damage(path):
    with create(path, KIND, []) as store:
        store.write([(INSERT, (f"{i:040}",)) for i in range(300)])
    data = bytearray(path.read_bytes())
    data[3 * 4096 : 3 * 4096 + 64] = bytes(range(64))
    path.write_bytes(data)
    with open_reader(path, KIND) as store, pytest.raises(StoreError, match="is damaged: "):
        store.check()


def test_text_that_cannot_be_read_is_damage(path):
    create(path, KIND, []).close()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"STRICT", b"STR\xef\xffT"))
    with pytest.raises(StoreError, match="is damaged: "):
        open_writer(path, KIND)


# --- what is not what it seems -------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("end", ["", "-wal"])
@pytest.mark.parametrize("open_file", [open_reader, open_writer])
def test_a_pipe_is_refused_and_not_waited_for(open_file, end, path):
    if end:
        create(path, KIND, []).close()
    os.mkfifo(f"{path}{end}")
    with pytest.raises(StoreError, match=r"is no file\)?$"):
        open_file(path, KIND)


@pytest.mark.parametrize("open_file", [open_reader, open_writer])
@pytest.mark.parametrize("name", ["a\0b", "x" * 5000], ids=["nul", "long"])
def test_a_path_that_cannot_be_one_is_a_sentence(open_file, name, tmp_path):
    with pytest.raises(StoreError, match=r"cannot be opened: it cannot be read \("):
        open_file(tmp_path / name, KIND)


STRANGERS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON things BEGIN DELETE FROM things; END",
    "view": "CREATE VIEW v AS SELECT 1",
    "table": "CREATE TABLE more (name TEXT)",
    "index": "CREATE INDEX i ON things (name)",
}


@pytest.mark.parametrize("what", STRANGERS)
@pytest.mark.parametrize("open_file", [open_reader, open_writer])
def test_a_file_with_something_that_is_not_its_own_is_refused_and_stays(open_file, what, path):
    create(path, KIND, [(INSERT, ("a",))]).close()
    other = sqlite3.connect(path)
    other.execute(STRANGERS[what])
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"refused: it has a {what} '\w+' that is not its own$"):
        open_file(path, KIND)
    assert path.read_bytes() == before


def test_a_table_that_is_another_is_damage(path):
    create(path, KIND, []).close()
    other = sqlite3.connect(path)
    other.execute("ALTER TABLE things ADD COLUMN more TEXT")
    other.commit()
    other.close()
    with pytest.raises(DamagedError, match="its table 'things' is missing or not what was made"):
        open_writer(path, KIND)


def test_drafts_of_processes_that_are_gone_are_removed_and_no_others(path, tmp_path):
    gone = tmp_path / f".box.db.{2**22 + 5}-{16 * '0'}"  # beyond the largest number of a process
    log = gone.with_name(gone.name + "-journal")
    mine = tmp_path / f".box.db.{os.getpid()}-{16 * '0'}"
    others = [tmp_path / f".box.db2.{2**22 + 5}-{16 * '0'}", tmp_path / ".box.db.notes"]
    for file in (gone, log, mine, *others):
        file.write_bytes(b"")
    create(path, KIND, []).close()
    assert sorted(tmp_path.iterdir()) == sorted([path, mine, *others])
    gone.write_bytes(b"")
    open_writer(path, KIND).close()
    assert not gone.exists()


def test_threads_that_write_at_once_wait_for_each_other(path):
    errors = []

    def write(store, thread):
        try:
            for i in range(20):
                store.write([(INSERT, (f"{thread}-{i}",)), (INSERT, (f"{thread}-{i}+",))])
        except Exception as error:
            errors.append(error)

    with create(path, KIND, []) as store:
        threads = [threading.Thread(target=write, args=(store, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(names(store)) == 160


def test_a_write_within_a_write_ends_the_outer_one(path):
    with create(path, KIND, []) as store:

        def again():
            yield INSERT, ("a",)
            store.write([(INSERT, ("b",))])
            yield INSERT, ("c",)

        with pytest.raises(StoreError, match=r"was written from within a write$"):
            store.write(again())
        assert names(store) == ["b"]


def test_a_thread_that_does_not_let_go_is_not_waited_for_for_ever(path, monkeypatch):
    monkeypatch.setattr(_sqlite.store, "_TURN", 0.05)
    with create(path, KIND, []) as store:
        thread = threading.Thread(target=store._writing.acquire)
        thread.start()
        thread.join()
        with pytest.raises(StoreError, match=r"is being written by another thread: one at a time$"):
            store.write([(INSERT, ("a",))])
        store._writing = threading.RLock()


def test_a_transaction_that_an_interrupt_left_open_is_undone(path):
    with create(path, KIND, []) as store:
        store._connection.execute("BEGIN IMMEDIATE")
        store._connection.execute(INSERT, ("lost",))
        store.write([(INSERT, ("a",))])
        assert names(store) == ["a"]


# --- the seal ------------------------------------------------------------------------------------

SEALED = KIND._replace(sealed=True)


def test_a_file_says_whether_its_writer_was_done(path, tmp_path):
    with create(path, SEALED, []) as store:
        store.begin()
        store.write([(INSERT, ("a",))])
        killed = tmp_path / "killed.db"  # without its log
        killed.write_bytes(path.read_bytes())
    with open_reader(killed, SEALED) as store:
        assert not store.is_sealed
    with open_reader(path, SEALED) as store:
        assert store.is_sealed
        assert names(store) == ["a"]


def test_reading_leaves_nothing_beside_a_file(path, tmp_path):
    with create(path, SEALED, []) as store:
        store.begin()
        store.write([(INSERT, ("a",))])
        files = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    path.unlink()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with open_reader(path, SEALED) as store:
        assert names(store) == ["a"]
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == files


# --- the mark ------------------------------------------------------------------------------------

OF, ONE, TWO, THREE = (digest(n) for n in range(4))


@pytest.fixture
def mark(tmp_path):
    with contextlib.closing(Mark.start(tmp_path / "mark", Record(OF, 0, OF))) as mark:
        yield mark


def no_fold():
    raise AssertionError("there is space")


def last_of(mark):
    """The newest record of a mark, or None."""
    return Mark.read(mark.path).last


def test_a_mark_has_what_was_appended(mark):
    first = Record(OF, 0, OF)
    assert Mark.read(mark.path) == Marked(first, records={0: first})
    records = {0: first}
    for number, chain in enumerate([ONE, TWO, THREE], start=1):
        record = records[number] = Record(OF, number, chain, bytes([number]) * 3000 * number)
        mark.append(record, no_fold)
        assert Mark.read(mark.path) == Marked(record, records=records)
    assert mark.path.stat().st_size == 1 << 20
    mark.remove()
    assert Mark.read(mark.path) is None


def test_a_bit_that_flips_in_a_mark_costs_nothing(mark):
    record = Record(OF, 1, ONE, b"what was written")
    mark.append(record, no_fold)
    data = mark.path.read_bytes()
    whole = Mark.read(mark.path)
    for begin in (0, 4096, len(data) // 2, len(data) // 2 + 4096):
        for at in range(begin, begin + 200, 7):
            flipped = bytearray(data)
            flipped[at] ^= 1 << at % 8
            mark.path.write_bytes(flipped)
            assert Mark.read(mark.path) == whole


def test_a_mark_that_is_full_begins_again_after_the_file_was_folded(mark):
    folds = []
    for number in range(1, 400):
        fold = functools.partial(folds.append, last_of(mark))
        mark.append(Record(OF, number, digest(number), bytes(5000)), fold)
    # 64 records of two pages in a region, and one at the beginning that is the first.
    assert [record.number for record in folds] == [63, 127, 191, 255, 319, 383]
    found = Mark.read(mark.path)
    assert found.last.number == 399
    assert set(found.records) >= set(range(384, 400))
    assert mark.path.stat().st_size == 1 << 20


def test_a_record_that_is_torn_hides_none_before_it(mark):
    folds = []
    for number in range(1, 70):
        before = mark.path.read_bytes()
        mark.append(Record(OF, number, ONE, bytes(5000)), lambda: folds.append(1))
        torn, after = bytearray(before), mark.path.read_bytes()
        pages = [a for a in range(0, len(torn), 4096) if torn[a:][:4096] != after[a:][:4096]]
        assert len(pages) in (2, 4)  # a second page of zeros may be there already
        for at in pages:
            torn[at : at + 4096] = b"\xaa" * 4096
        mark.path.write_bytes(torn)
        assert last_of(mark).number == number - 1
        mark.path.write_bytes(after)
    assert folds == [1]


def test_a_large_record_gets_a_mark_that_is_larger(mark):
    folds = []
    mark.append(Record(OF, 1, ONE, b"small"), no_fold)
    large = Record(OF, 2, TWO, bytes(range(256)) * 1000)
    mark.append(large, lambda: folds.append(1))
    assert folds == [1]
    assert Mark.read(mark.path) == Marked(large, records={2: large})
    assert mark.path.stat().st_size > 16 * 256_000
    mark.append(large._replace(number=3), no_fold)
    assert last_of(mark).number == 3
    assert sorted(p.name for p in mark.path.parent.iterdir()) == ["mark"]


def test_what_is_appended_again_is_written_at_the_same_place(mark):
    record = Record(OF, 1, ONE, b"one")
    mark.append(record, no_fold)
    data = mark.path.read_bytes()
    mark.append(record, no_fold)
    mark.append(Record(OF, 0, OF), no_fold)  # from long ago
    assert mark.path.read_bytes() == data


def test_a_mark_that_could_not_be_made_anew_is_made_by_the_next_call(mark, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    large = Record(OF, 1, ONE, bytes(1 << 18))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StoreError, match=r"^the mark '.*' cannot be written: No space left"):
            mark.append(large, list)
    assert last_of(mark).number == 0
    assert sorted(p.name for p in mark.path.parent.iterdir()) == ["mark"]
    mark.append(large, list)
    assert last_of(mark) == large
    mark.close()
    with pytest.raises(StoreError, match=r"^the mark '.*' has been closed$"):
        mark.append(large._replace(number=2), list)


def test_a_mark_that_was_cut_says_nothing_unless_a_region_is_whole(mark):
    record = Record(OF, 1, ONE, b"one")
    mark.append(record, no_fold)
    data = mark.path.read_bytes()
    half = len(data) // 2
    for length in (0, 100, 4096, 5000, half - 1):
        mark.path.write_bytes(data[:length])
        assert last_of(mark) is None
    for length in (half, half + 100, half + 4200, len(data) - 1):
        mark.path.write_bytes(data[:length])
        assert last_of(mark) == record
    mark.path.write_bytes(data + b"more")
    assert last_of(mark) == record


def test_a_mark_of_format_2_is_read(tmp_path):
    def slot(number, chain):
        copy = struct.pack("<8sQ32s32s", b"SFMARK01", number, OF, chain)
        return (3 * (copy + hashlib.sha256(copy).digest()[:16])).ljust(4096, b"\0")

    path = tmp_path / "mark"
    data = slot(2, TWO) + slot(1, ONE)
    path.write_bytes(data)
    assert Mark.read(path) == Marked(Record(OF, 2, TWO))
    for at in range(0, 400, 3):  # in three copies each
        flipped = bytearray(data)
        flipped[at] ^= 1
        path.write_bytes(flipped)
        assert Mark.read(path) == Marked(Record(OF, 2, TWO))
    path.write_bytes(bytes(300) + data[300:])
    found = Mark.read(path)
    assert found == Marked(Record(OF, 1, ONE), torn=True)
    assert found.least == 2


def test_a_mark_in_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(StoreError, match=r"^the mark '.*' cannot be written: No such file"):
        Mark.start(tmp_path / "no" / "mark", Record(OF, 0, OF))


def test_a_mark_that_is_no_file_says_nothing(tmp_path):
    assert Mark.read(tmp_path) == Marked(None)

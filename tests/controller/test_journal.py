import importlib.metadata
import os
import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import surefoot
from surefoot import OGD, PFS, Ball, CertifiedPFS, Constants, Controller
from surefoot._sqlite import Store
from surefoot.algorithms import Delayed, LeaderFollower, RegionFilter
from surefoot.controller import LostRoundsError, PremiseWarning, StoreError, replay
from surefoot.core.types import Info
from surefoot.regions import CurvatureRows, LipschitzHull
from surefoot.sets import Box

from ._live import PLAYERS, START, drive, raw_loop, same_bits, same_state, seen_at


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a run's journal?.db"  # a name that a careless URI would stumble over


def written(path, name="certified", rounds=5):
    """A journal of some rounds, closed."""
    with Controller(PLAYERS[name], START, journal=path) as controller:
        drive(controller, PLAYERS[name], rounds)
    return path


def files_of(path):
    """All that begins with the name of the journal, with its bytes."""
    return {
        p.name: p.read_bytes()
        for p in path.parent.iterdir()
        if p.name.removeprefix(".").startswith(path.name)
    }


def refused(path, sentence, call=Controller.open):
    """The file is refused in one sentence by the call, and all of it is as it was."""
    before = files_of(path)
    with pytest.raises(StoreError) as error:
        call(path)
    assert re.search(sentence, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)
    assert files_of(path) == before
    return error.value


# --- going on ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAYERS)
def test_a_journal_changes_no_bit(name, path):
    player = PLAYERS[name]
    with Controller(player, START, journal=path) as controller:
        actions = drive(controller, player, 30)
    wanted, state = raw_loop(player, 30)
    assert same_bits(actions, wanted)
    assert same_state(controller.state, state)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_run_goes_on_bit_for_bit(name, path):
    player = PLAYERS[name]
    whole = Controller(player, START)
    drive(whole, player, 30)
    Controller(player, START, journal=path).close()
    for first, rounds in ((1, 1), (2, 12), (14, 0), (14, 17)):
        with Controller.open(path) as controller:
            assert controller.round == first
            drive(controller, player, rounds, first)
    with Controller.open(path) as controller:
        assert same_state(controller.state, whole.state)
        assert same_bits(controller.ask(), whole.ask())
        assert controller.explain() == whole.explain()
        assert controller.algorithm == whole.algorithm
        assert controller.guarantee == whole.guarantee


def test_the_first_action_is_in_the_journal_before_anything_is_told(path):
    Controller(PLAYERS["PFS"], START, journal=path).close()
    with Controller.open(path) as controller:
        assert same_bits(controller.ask(), START)
        assert str(controller.explain()) == "round 1: the start; no guarantee was given"


def test_what_was_asked_before_may_be_asked_again(path):
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        drive(controller, PLAYERS["PFS"], 3)
        asked = controller.ask()
    with Controller.open(path) as controller:
        with pytest.raises(ValueError, match="ask for the action of round 4 first"):
            controller.tell(**seen_at(PLAYERS["PFS"], 4, asked))
        assert same_bits(controller.ask(), asked)
        controller.tell(**seen_at(PLAYERS["PFS"], 4, asked))


def test_an_error_writes_nothing(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        right = seen_at(player, 1, controller.ask())
        with pytest.raises(ValueError, match="cost_gradient must be finite"):
            controller.tell(**right | {"cost_gradient": np.array([np.nan, 1.0])})
        with pytest.raises(ValueError, match="exceeds G_g"):
            controller.tell(**right | {"constraint_subgradient": np.array([3.0, 4.0])})
    with Controller.open(path) as controller:
        assert controller.round == 1
        assert controller.explain().broken == ()


def test_what_was_broken_stays_broken(path):
    player = PLAYERS["PFS tuned"]
    with Controller(player, START, journal=path, on_contradiction="warn") as controller:
        right = seen_at(player, 1, controller.ask())
        with pytest.warns(PremiseWarning):
            controller.tell(**right | {"constraint_subgradient": np.array([3.0, 4.0])})
        explained = controller.explain()
        assert len(explained.broken) == 1
    with Controller.open(path) as controller:
        assert controller.explain() == explained
        assert controller.on_contradiction == "warn"
        # Known, so not said again.
        again = seen_at(player, 2, controller.ask())
        controller.tell(**again | {"constraint_subgradient": np.array([3.0, 4.0])})
    with Controller.open(path, on_contradiction="record") as controller:
        assert controller.on_contradiction == "record"
    with pytest.raises(ValueError, match="on_contradiction must be one of"):
        Controller.open(path, on_contradiction="off")


def test_costs_are_kept(path):
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path) as controller:
        controller.tell(**seen_at(player, 1, controller.ask()), cost_value=-0.0)
        controller.tell(**seen_at(player, 2, controller.ask()), cost_value=2.5)
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT round, cost_value FROM rounds").fetchall()
    connection.close()
    assert repr(rows) == "[(1, -0.0), (2, 2.5)]"
    assert replay(path).is_same


# --- what is a user's own ------------------------------------------------------------------------


class Cut:
    """A set that is no class of the library."""

    def __init__(self, low):
        self.low = low

    def project(self, x):
        return np.maximum(x, self.low)

    def contains(self, x):
        return bool((x >= self.low).all())

    def minimize_linear(self, c):
        raise NotImplementedError


class Momentum(NamedTuple):
    x: np.ndarray
    speed: np.ndarray
    rounds: int


class Heavy:
    """An algorithm that is no class of the library, with a state of its own."""

    needs = OGD.needs

    def init(self, x1):
        return Momentum(x1, 0.0 * x1, 0)

    def step(self, state, feedback):
        speed = 0.5 * state.speed - 0.125 * feedback.cost_gradient
        return Momentum(state.x + speed, speed, state.rounds + 1), Info()


def test_a_set_of_ones_own_is_given_again(path):
    player = OGD(eta=0.25, domain=Cut(-0.5))
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 4)
    whole = Controller(player, START)
    drive(whole, player, 9)
    refused(path, r"cannot be opened: domain \(a Cut\) could not be stored: give it again")
    with Controller.open(path, domain=Cut(-0.5)) as controller:
        drive(controller, player, 5, first=5)
        assert same_bits(controller.ask(), whole.ask())
    assert replay(path, domain=Cut(-0.5)).is_same
    found = replay(path, domain=Cut(0.15)).difference
    assert (found.round, found.part) == (7, "action")
    assert same_bits(found.derived, np.maximum(found.stored, 0.15))


def test_an_algorithm_of_ones_own_is_given_again(path):
    with Controller(Heavy(), START, journal=path) as controller:
        drive(controller, Heavy(), 4)
    refused(path, r"algorithm \(a Heavy\) could not be stored: give it again, algorithm=\.\.\.$")
    with Controller.open(path, algorithm=Heavy()) as controller:
        assert controller.state.rounds == 4
        assert type(controller.state) is Momentum
        drive(controller, Heavy(), 3, first=5)
    whole = Controller(Heavy(), START)
    drive(whole, Heavy(), 7)
    with Controller.open(path, algorithm=Heavy()) as controller:
        assert same_state(controller.state, whole.state)


def test_a_state_that_is_not_plain_is_refused_before_a_file_is_made(path):
    class Odd:
        def init(self, x1):
            return Momentum(x1, print, 0)

        def step(self, state, feedback):
            return state, Info()

    with pytest.raises(StoreError, match=r"^the state of the algorithm cannot be journalled: "):
        Controller(Odd(), START, journal=path)
    assert not path.exists()


def test_another_state_than_the_algorithms_is_not_taken_for_its(path, monkeypatch):
    with Controller(Heavy(), START, journal=path) as controller:
        drive(controller, Heavy(), 2)
    monkeypatch.setattr(Heavy, "init", lambda self, x1: PLAYERS["PFS"].init(x1))
    with pytest.raises(StoreError, match=r"its state cannot be read \(Momentum is no class"):
        Controller.open(path, algorithm=Heavy())


def test_a_certificate_of_numpys_numbers_is_kept(path, monkeypatch):
    player = PLAYERS["certified"]
    real = Info.certificate.fget

    def of_numpy(info):
        found = real(info)
        return found._replace(bound=np.float64(found.bound), cut=np.bool_(found.cut))

    monkeypatch.setattr(Info, "certificate", property(of_numpy))
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        explained = controller.explain()
    with Controller.open(path) as controller:
        assert controller.explain() == explained
    assert replay(path).is_same


# --- one writer ----------------------------------------------------------------------------------


def test_a_second_writer_in_this_process_is_told_so(path):
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        drive(controller, PLAYERS["PFS"], 2)
        for call in (Controller.open, replay):
            with pytest.raises(StoreError, match="is in use by this process: one writer at a time"):
                call(path)
        drive(controller, PLAYERS["PFS"], 2, first=3)  # undisturbed
    with Controller.open(path) as controller:
        assert controller.round == 5


def test_a_second_writer_in_another_process_is_told_so(path):
    code = """
        import sys
        from surefoot import Controller, replay
        for call in (Controller.open, replay):
            try:
                call(sys.argv[1])
            except RuntimeError as error:
                print(error)
    """
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        drive(controller, PLAYERS["PFS"], 2)
        with pytest.raises(StoreError):
            Controller.open(path)  # must not let go of the lock
        told = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        sentence = f"journal '{path}' is in use by another process: one writer at a time\n"
        assert told == 2 * sentence
        drive(controller, PLAYERS["PFS"], 2, first=3)
    with Controller.open(path) as controller:
        assert controller.round == 5


def test_a_fork_must_not_write(path, monkeypatch):
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        right = seen_at(PLAYERS["PFS"], 1, controller.ask())
        with monkeypatch.context() as fork:
            fork.setattr(os, "getpid", lambda: -1)
            with pytest.raises(StoreError, match=r"a fork of it must not write$"):
                controller.tell(**right)
        controller.tell(**right)


def test_a_controller_may_move_to_another_thread(path):
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        thread = threading.Thread(target=drive, args=(controller, PLAYERS["PFS"], 3))
        thread.start()
        thread.join()
        assert controller.round == 4


def test_a_closed_journal_takes_no_round(path):
    controller = Controller(PLAYERS["PFS"], START, journal=path)
    action = controller.ask()
    controller.close()
    controller.close()
    with pytest.raises(StoreError, match=r"has been closed$"):
        controller.tell(**seen_at(PLAYERS["PFS"], 1, action))
    assert same_bits(controller.ask(), START)


def test_without_a_journal_closing_is_nothing():
    controller = Controller(PLAYERS["PFS"], START)
    controller.close()
    drive(controller, PLAYERS["PFS"], 2)


# --- disks ---------------------------------------------------------------------------------------


def journal_of(controller):
    return controller._journal.store._connection


def test_a_full_disk_loses_nothing_and_the_next_call_works(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        (pages,) = journal_of(controller).execute("PRAGMA page_count").fetchone()
        journal_of(controller).execute(f"PRAGMA max_page_count = {pages}").fetchone()
        with pytest.raises(StoreError, match=r"cannot be written: the disk is full$"):
            drive(controller, player, 1000)
        t, before = controller.round, controller.ask()
        assert t > 1
        with pytest.raises(StoreError, match=r"the disk is full$"):
            controller.tell(**seen_at(player, t, before))
        assert same_bits(controller.ask(), before)
        journal_of(controller).execute("PRAGMA max_page_count = 100000").fetchone()
        controller.tell(**seen_at(player, t, before))
        drive(controller, player, 10, first=t + 1)
    whole = Controller(player, START)
    drive(whole, player, t + 10)
    with Controller.open(path) as controller:
        assert same_state(controller.state, whole.state)


def test_a_disk_that_has_become_read_only_loses_nothing(path):
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        journal_of(controller).execute("PRAGMA query_only = ON")
        right = seen_at(player, 4, controller.ask())
        with pytest.raises(StoreError, match=r"cannot be written: it is read-only$"):
            controller.tell(**right)
        assert controller.round == 4
        journal_of(controller).execute("PRAGMA query_only = OFF")
        controller.tell(**right)
    with Controller.open(path) as controller:
        assert controller.round == 5


def test_a_disk_that_is_full_when_the_journal_has_just_been_made_leaves_it_to_be_opened(
    path, monkeypatch
):
    def full(self):
        raise StoreError("the disk is full")

    with monkeypatch.context() as first:
        first.setattr(Store, "begin", full)
        with pytest.raises(StoreError, match="the disk is full"):
            Controller(PLAYERS["PFS"], START, journal=path)
    with Controller.open(path) as controller:
        assert controller.round == 1


def test_a_journal_that_has_moved_on_is_not_written_to(path):
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path) as controller:
        right = seen_at(player, 1, controller.ask())
        journal_of(controller).execute("UPDATE now SET round = 7")
        with pytest.raises(StoreError, match=r"has moved on without its writer: open it again$"):
            controller.tell(**right)
        assert controller.round == 1
        journal_of(controller).execute("UPDATE now SET round = 1")
        controller.tell(**right)


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_be_written_is_one_sentence(folder, tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / folder / "journal.db"
    sentence = rf"^journal '{re.escape(str(path))}' cannot be created: its folder does not exist or"
    with pytest.raises(StoreError, match=sentence):
        Controller(PLAYERS["PFS"], START, journal=path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder of the kernel's")
def test_a_read_only_path_is_one_sentence():
    with pytest.raises(StoreError, match="cannot be created: its folder does not exist or cannot"):
        Controller(PLAYERS["PFS"], START, journal="/proc/journal.db")


# --- what is not a journal -----------------------------------------------------------------------


def test_an_existing_file_is_never_overwritten(path):
    written(path)
    refused(
        path,
        "exists already and is not overwritten: continue it with Controller.open$",
        lambda p: Controller(PLAYERS["PFS"], START, journal=p),
    )


def test_a_link_that_leads_nowhere_is_not_overwritten(path, tmp_path):
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="exists already"):
        Controller(PLAYERS["PFS"], START, journal=path)


def test_what_is_left_of_another_journal_is_not_taken_for_the_new_ones(path):
    log = path.with_name(path.name + "-wal")
    log.write_bytes(b"left")
    with pytest.raises(StoreError, match=r"which is left from another file: move that away first$"):
        Controller(PLAYERS["PFS"], START, journal=path)
    assert log.read_bytes() == b"left"
    assert not path.exists()


@pytest.mark.parametrize("call", [Controller.open, replay], ids=["open", "replay"])
class TestForeignFiles:
    def test_no_file(self, call, path):
        with pytest.raises(StoreError, match=r"cannot be opened: it does not exist$"):
            call(path)
        assert not path.exists()

    def test_a_folder(self, call, tmp_path):
        with pytest.raises(StoreError, match=r"cannot be opened: it cannot be read \("):
            call(tmp_path)

    @pytest.mark.parametrize(
        ("contents", "what"),
        [
            (b"", "it is empty$"),
            (b"round,action\n1,0.5\n" * 40, "it is not an SQLite file"),
            (b"SQLite format 3\x00", "it is not an SQLite file, or what is left of one$"),
        ],
        ids=["empty", "csv", "head of a head"],
    )
    def test_another_format(self, call, path, contents, what):
        path.write_bytes(contents)
        refused(path, rf"is not a Surefoot journal: {what}", call)

    def test_another_programs_database(self, call, path):
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE now (id INTEGER)")
        connection.commit()
        connection.close()
        refused(path, "is not a Surefoot journal: .* application id 0x0 of something else$", call)

    @pytest.mark.parametrize(
        ("version", "who"), [(5, "a newer Surefoot: its format is 5"), (0, "no Surefoot")]
    )
    def test_another_version(self, call, path, version, who):
        written(path)
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        refused(path, f"was written by {who}", call)


# --- what is damaged -----------------------------------------------------------------------------


def test_a_journal_cut_at_any_length_is_refused(path, tmp_path):
    whole = written(path, rounds=40).read_bytes()
    assert len(whole) > 5 * 4096
    lengths = np.random.default_rng(3).integers(0, len(whole), 40).tolist()
    edges = [0, 1, 15, 16, 99, 100, 4095, 4096, 4097, len(whole) - 4096, len(whole) - 1]
    cut = tmp_path / "cut.db"
    for length in [*lengths, *edges]:
        cut.write_bytes(whole[:length])
        refused(cut, "is damaged|is not a Surefoot journal")
        refused(cut, "is damaged|is not a Surefoot journal", replay)


def killed(path, name="certified", rounds=12):
    """A journal as kill -9 leaves it: nothing closed, the rounds in the log beside it."""
    with Controller(PLAYERS[name], START, journal=path) as controller:
        drive(controller, PLAYERS[name], rounds)
        files = files_of(path)
    path.unlink()
    return restored(path, files)


def restored(path, files):
    """The files as they were, and no others."""
    for name in files_of(path):
        path.with_name(name).unlink()
    for name, data in files.items():
        path.with_name(name).write_bytes(data)
    return files


LOG, MARK = "-wal", "-mark"


def test_a_killed_journal_is_three_files_and_goes_on(path):
    files = killed(path)
    assert sorted(files) == sorted([path.name, path.name + LOG, path.name + MARK])
    assert replay(path).is_same
    assert files_of(path) == files
    with Controller.open(path) as controller:
        assert controller.round == 13
        drive(controller, PLAYERS["certified"], 3, first=13)
    assert replay(path).rounds == 15
    assert list(files_of(path)) == [path.name]


def without(mark, *numbers):
    """A mark in which both copies of some rounds are damaged."""
    mark = bytearray(mark)
    for at in range(0, len(mark), 4096):
        if mark[at : at + 6] == b"SFMARK" and int.from_bytes(mark[at + 8 : at + 16], "little") in (
            numbers
        ):
            mark[at + 60] ^= 1
    return bytes(mark)


def test_one_bit_of_the_log_of_a_killed_journal_is_made_good_by_its_mark(path):
    files = killed(path, rounds=100)
    log = bytearray(files[path.name + LOG])
    log[len(log) // 4] ^= 1
    hurt = restored(path, files | {path.name + LOG: bytes(log)})
    found = replay(path)
    assert found.is_same
    assert found.rounds == 100
    assert files_of(path) == hurt
    with Controller.open(path) as controller:
        assert controller.round == 101
        drive(controller, PLAYERS["certified"], 2, first=101)
    assert replay(path).rounds == 102
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM rounds").fetchall() == [(102,)]
    connection.close()


def test_a_log_and_a_mark_that_are_damaged_lose_no_round_silently(path):
    files = killed(path, rounds=100)
    log, mark = bytearray(files[path.name + LOG]), without(files[path.name + MARK], 60)
    log[len(log) // 4] ^= 1
    restored(path, files | {path.name + LOG: bytes(log), path.name + MARK: mark})
    error = refused(
        path,
        r"has lost rounds 60 to 100, which were told: neither its log '.*-wal' nor its mark has",
    )
    assert isinstance(error, LostRoundsError)
    assert error.certain == 59
    assert str(error).endswith(f"the last round that is certain is {error.certain}")
    found = replay(path)
    assert (found.rounds, found.is_same, found.difference) == (error.certain, False, None)
    assert str(found).endswith(f"bit for bit; but {error}")
    restored(path, files)  # the log is mended: nothing was written over
    with Controller.open(path) as controller:
        assert controller.round == 101


def test_a_log_cut_at_any_length_is_whole_or_the_loss_is_named(path):
    files = killed(path)
    log, mark = files[path.name + LOG], files[path.name + MARK]
    bare = without(mark, *range(1, 12))
    certain = set()
    for length in [0, 10, len(log), *np.random.default_rng(4).integers(0, len(log), 25).tolist()]:
        cut = files | {path.name + LOG: log[:length]}
        restored(path, cut)
        found = replay(path)
        assert found.is_same
        assert found.rounds == 12
        restored(path, cut | {path.name + MARK: bare})
        found = replay(path)
        assert found.difference is None
        if found.loss is None:
            assert found.rounds == 12
            continue
        error = refused(path, "has lost rounds? ")
        assert error.certain == found.rounds
        certain.add(error.certain)
    assert min(certain) == 0
    assert max(certain) in (10, 11)  # the last round is in the mark
    assert len(certain) > 5


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ((MARK,), "may have lost rounds: it was not closed and its mark '.*' is missing; .* is 12"),
        ((LOG, MARK), "may have lost rounds: it was not closed and its mark '.*' is missing; .* 0"),
    ],
    ids=["mark", "both"],
)
def test_a_killed_journal_without_its_mark_is_refused(gone, sentence, path):
    files = killed(path)
    for end in gone:
        del files[path.name + end]
    restored(path, files)
    error = refused(path, sentence)
    assert replay(path).loss == str(error)


def test_a_killed_journal_without_its_log_is_whole_if_its_mark_has_the_rounds(path):
    files = killed(path)
    del files[path.name + LOG]
    restored(path, files)
    assert (replay(path).rounds, replay(path).is_same) == (12, True)
    restored(path, files | {path.name + MARK: without(files[path.name + MARK], *range(1, 13))})
    refused(path, "may have lost rounds: it was not closed and its mark '.*' cannot be read; .* 0$")
    restored(path, files)
    with Controller.open(path) as controller:
        assert controller.round == 13
        assert same_bits(controller.ask(), raw_loop(PLAYERS["certified"], 13)[0][12])
    assert replay(path).is_same


def test_a_mark_that_was_cut_is_named(path):
    files = killed(path)
    mark = files[path.name + MARK]
    restored(path, files | {path.name + MARK: mark[: len(mark) // 2 - 1]})
    error = refused(path, "may have lost rounds: it was not closed and its mark '.*' cannot be")
    assert error.certain == 12


def test_a_round_told_but_not_marked_is_whole(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 5)
        before = files_of(path)
        drive(controller, player, 1, first=6)
        files = files_of(path)
    mark = path.name + MARK
    restored(path, files | {mark: before[mark]})
    with Controller.open(path) as controller:
        assert controller.round == 7
    restored(path, files | {mark: without(files[mark], 6)})  # torn while it was written
    with Controller.open(path) as controller:
        assert controller.round == 7
    restored(path, before | {mark: files[mark]})  # a power cut that took the commit
    with Controller.open(path) as controller:
        assert controller.round == 7
    restored(path, before | {mark: without(files[mark], 6)})  # and before tell returned
    with Controller.open(path) as controller:
        assert controller.round == 6


@pytest.mark.parametrize("part", [LOG, MARK, ""], ids=["log", "mark", "file"])
def test_a_part_of_another_journal_is_noticed(part, path, tmp_path):
    files = killed(path)
    other = tmp_path / "other.db"
    player = PLAYERS["certified"]
    with Controller(player, 0.5 * START, journal=other) as controller:
        drive(controller, player, 12)
        others = files_of(other)
    restored(path, files | {path.name + part: others["other.db" + part]})
    refused(path, "is damaged|lost rounds")


def test_a_file_that_is_older_than_its_mark_by_a_checkpoint_is_noticed(path):
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        old = files_of(path)
        journal_of(controller).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        drive(controller, player, 3, first=4)
        files = files_of(path)
    mark = without(files[path.name + MARK], 4)
    restored(path, old | {path.name + MARK: mark})
    refused(path, "has lost rounds 4 to 6")
    restored(path, old | {path.name + MARK: files[path.name + MARK]})
    assert (replay(path).rounds, replay(path).is_same) == (6, True)
    restored(path, files | {path.name + MARK: old[path.name + MARK]})
    refused(path, "its mark '.*' is that of another time; the last round that is certain is 6")


@pytest.mark.parametrize("what", ["log", "file"])
def test_a_refused_journal_that_was_killed_stays_byte_for_byte(what, path):
    files = killed(path)
    if what == "log":  # a row of the log that is right for SQLite, and wrong for its digest
        restored(path, files)
        connection = sqlite3.connect(path)
        connection.execute("UPDATE rounds SET constraint_value = -0.5 WHERE round = 5")
        connection.commit()
        changed = files_of(path)
        connection.close()
        changed.pop(path.name + "-shm", None)
        restored(path, changed)
        refused(path, "the row of round 5 is not what was written")
    else:
        data = bytearray(files[path.name])
        data[60:64] = (0).to_bytes(4, "big")
        restored(path, files | {path.name: bytes(data)})
        refused(path, "was written by no Surefoot")


def test_a_row_of_long_ago_that_was_changed_is_not_gone_on_with(path):
    change(written(path), "UPDATE rounds SET constraint_value = -0.5 WHERE round = 2")
    refused(path, "the row of round 2 is not what was written")


def test_pages_are_looked_through_before_a_journal_is_gone_on_with(path, monkeypatch):
    looked = []
    real = Store.check
    monkeypatch.setattr(Store, "check", lambda self: (looked.append(self.is_reader), real(self)))
    written(path)
    Controller.open(path).close()
    assert looked == [True]


@pytest.mark.parametrize("call", [Controller.open, replay], ids=["open", "replay"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON rounds BEGIN DELETE FROM rounds; END",
        "CREATE VIEW v AS SELECT * FROM rounds",
        "CREATE TABLE another (round INTEGER)",
    ],
    ids=["trigger", "view", "table"],
)
def test_a_journal_with_something_that_is_not_its_own_is_refused(statement, call, path):
    change(written(path), statement)
    refused(path, r"is refused: it has a (trigger|view|table) '\w+' that is not its own$", call)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("call", [Controller.open, replay], ids=["open", "replay"])
def test_a_pipe_in_place_of_a_journal_is_not_waited_for(call, path):
    os.mkfifo(path)
    with pytest.raises(StoreError, match=r"cannot be opened: it cannot be read \(is no file\)$"):
        call(path)


def test_a_mark_that_is_left_is_not_taken_for_the_new_ones(path):
    path.with_name(path.name + MARK).write_bytes(b"left")
    with pytest.raises(StoreError, match=r"which is left from another file: move that away first$"):
        Controller(PLAYERS["PFS"], START, journal=path)


def test_the_version_in_a_journal_is_that_of_the_sources(path, monkeypatch):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", none)
    written(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT surefoot FROM run").fetchall() == [(surefoot.__version__,)]
    connection.close()


def outcome(call, path):
    """What a call gives, or the sentence that it refuses a file with."""
    try:
        return call(path), ""
    except StoreError as error:
        return None, str(error)


@pytest.mark.slow
def test_bytes_that_flip_are_noticed_or_do_not_matter(path, tmp_path):
    whole = written(path, rounds=25).read_bytes()
    _, state = raw_loop(PLAYERS["certified"], 25)
    flipped = tmp_path / "flipped.db"
    rng = np.random.default_rng(5)
    refusals = differences = 0
    for at in rng.integers(100, len(whole), 100).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= int(rng.integers(1, 256))
        flipped.write_bytes(damaged)
        found, sentence = outcome(replay, flipped)
        differences += found is not None and not found.is_same
        controller, refusal = outcome(Controller.open, flipped)
        refusals += controller is None
        assert "\n" not in sentence + refusal
        if controller is not None:
            # The damage is in free space.
            with controller:
                assert same_state(controller.state, state)
            assert found.is_same
    assert refusals > 15
    assert differences > 10


CHANGES = {
    "the player": (
        "UPDATE run SET player = replace(player, '1.5', '2.5')",
        "what is played is not",
    ),
    "no player": ("DELETE FROM run", "it does not say what is played"),
    "the state": (
        "UPDATE now SET state = replace(state, 'rounds\": 5.0', 'rounds\": 4.0')",
        "the last state is not what was written",
    ),
    "no state": ("DELETE FROM now", "it does not say where it ended"),
    "no last round": ("DELETE FROM rounds WHERE round = 5", "the round before is missing"),
    "the last round": (
        "UPDATE rounds SET constraint_value = -0.5 WHERE round = 5",
        "the row of round 5 is not what was written",
    ),
    "no table": ("DROP TABLE rounds", "its table 'rounds' is missing or not what was made"),
}


def change(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("what", CHANGES)
def test_a_journal_that_was_changed_is_not_gone_on_with(what, path):
    statement, sentence = CHANGES[what]
    change(written(path), statement)
    refused(path, sentence)


def test_a_journal_that_was_refused_may_be_opened_when_it_is_whole_again(path):
    whole = written(path).read_bytes()
    path.write_bytes(whole[:-10])
    refused(path, "is damaged")
    path.write_bytes(whole)
    with Controller.open(path) as controller:
        assert controller.round == 6


def test_a_player_that_this_version_cannot_make_is_told_with_the_version(path, monkeypatch):
    written(path, "PFS")
    real = PFS.__post_init__

    def stricter(self):
        real(self)
        raise ValueError("eta must be even")

    monkeypatch.setattr(PFS, "__post_init__", stricter)
    refused(path, r"was written by Surefoot [\d.]+, whose player .* cannot make again: eta must")


# --- what it costs -------------------------------------------------------------------------------


def test_a_round_is_one_transaction_and_asking_none(path):
    statements = []
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        journal_of(controller).set_trace_callback(statements.append)
        for t in range(1, 4):
            x = controller.ask()
            assert statements == []
            controller.tell(**seen_at(player, t, x))
            assert [s.split()[0] for s in statements] == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
            controller.explain()
            statements.clear()
        journal_of(controller).set_trace_callback(None)
        pragmas = [
            journal_of(controller).execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "locking_mode")
        ]
    assert pragmas == ["wal", 1, "exclusive"]  # 1 is NORMAL: the sync is that of the mark


def test_a_closed_journal_is_one_file(path, tmp_path):
    written(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_what_a_controller_is_can_be_read(path):
    with Controller(OGD(eta=0.5, domain=Box([-1.0], [2.0])), [0.25], journal=path) as controller:
        assert repr(controller).startswith("<Controller of OGD(eta=0.5, domain=Box(")
        assert repr(controller).endswith(f"in round 1, journal='{path}'>")
    plain = Controller(PFS(eta=0.5, rho=0.1, domain=Ball(1.0)), [0.25])
    assert repr(plain) == (
        "<Controller of PFS(eta=0.5, rho=0.1, domain=Ball(radius=1.0, centre=None)) in round 1>"
    )


# --- other versions ------------------------------------------------------------------------------


def test_a_journal_is_not_continued_by_another_player(tmp_path):
    path = tmp_path / "run.db"
    Controller(CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5), [0.0], journal=path).close()
    with pytest.raises(ValueError, match=r"is that of Certified.*G_g=1.0.*, not of .*G_g=2.0"):
        Controller.open_or_create(path, CertifiedPFS(G_g=2.0, domain=Ball(1.0), rho=0.5), [0.0])
    same = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    with Controller.open_or_create(path, same, [0.0]) as controller:
        assert controller.round == 1


D = 20
LOW, HIGH = np.full(D, -1.0), np.full(D, 1.0)
TIGHT = np.where(np.arange(D) == 7, 0.25, HIGH)


def boxed(high):
    return RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=5.0, domain=Box(LOW, high)))


def descent(high):
    return OGD(eta=0.1, domain=Box(LOW, high))


def tuned(G_f):
    # The rule is the same; what is promised is not.
    return CertifiedPFS.default(Constants(R=1.0, G_f=G_f, G_g=1.0, start_slack=0.5))


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (boxed(HIGH), boxed(TIGHT), "is that of another Certified, by its knowledge: name that"),
        (descent(HIGH), descent(TIGHT), "is that of another OGD, by its domain: name that"),
        (tuned(1.0), tuned(2.0), "is that of TheoremD.*G_f=1.0.*not of TheoremD.*G_f=2.0"),
    ],
    ids=["a tightened box", "a set of descent", "a guarantee"],
)
def test_players_are_compared_by_all_that_they_are_made_of(first, second, sentence, tmp_path):
    path, start = tmp_path / "run.db", np.zeros(D)
    Controller(first, start, journal=path).close()
    before = files_of(path)
    with pytest.raises(ValueError, match=sentence):
        Controller.open_or_create(path, second, start)
    assert files_of(path) == before
    with Controller.open_or_create(path, first, start) as controller:
        assert controller.round == 1


@pytest.mark.parametrize("said", [None, "resume tomorrow"])
def test_a_journal_that_was_resumed_is_continued_by_its_first_or_its_last_player_alone(
    said, tmp_path
):
    path = tmp_path / "run.db"
    first, second, third = (CertifiedPFS(G_g=g, domain=Ball(1.0), rho=0.5) for g in (1.0, 2.0, 3.0))
    with Controller(first, [0.0], journal=path) as controller:
        if said is None:
            controller.resume(second)
        else:  # which is no order
            controller.note(said)
    for player in (first, second) if said is None else (first,):
        with Controller.open_or_create(path, player, [0.0]) as controller:
            assert controller.algorithm == (second if said is None else first)
    with pytest.raises(ValueError, match=r"is that of Certified.*, not of .*G_g=3.0"):
        Controller.open_or_create(path, third, [0.0])


BIG = 10**7
LEADER = LeaderFollower(G_g=1.0, domain=Ball(1.0))


@pytest.mark.parametrize(
    ("small", "large", "name"),
    [
        (
            RegionFilter(knowledge=CurvatureRows(beta=0.5, rows=1, reach=1.0)),
            RegionFilter(knowledge=CurvatureRows(beta=0.5, rows=BIG, reach=1.0)),
            "rows",
        ),
        (Delayed(base=LEADER, delay=1), Delayed(base=LEADER, delay=BIG), "delay"),
    ],
    ids=["rows", "delay"],
)
def test_a_forged_size_costs_no_memory(small, large, name, path, monkeypatch):
    with monkeypatch.context() as patch:  # a file that says so, with the state of the small one
        first = small.init(np.zeros(2))
        patch.setattr(type(small), "init", lambda self, x1: first)
        Controller(large, [0.0, 0.0], journal=path).close()
    before = files_of(path)
    tracemalloc.start()
    try:
        for call in (Controller.open, replay):
            with pytest.raises(StoreError, match=rf"its state has no room for {name} = {BIG}$"):
                call(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * BIG  # one number for each is ten times as much as all else
    assert files_of(path) == before


def test_a_number_of_cuts_that_nobody_has_seen_costs_no_memory(path):
    player = LeaderFollower(G_g=1.0, domain=Ball(1.0), cuts=BIG)
    Controller(player, [0.0, 0.0], journal=path).close()
    tracemalloc.start()
    try:
        with Controller.open(path) as controller:
            assert controller.algorithm == player
        assert replay(path).is_same
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < BIG

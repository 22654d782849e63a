import contextlib
import errno
import importlib.metadata
import os
import re
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import surefoot
from surefoot import OGD, PFS, Ball, CertifiedPFS, Constants, Controller
from surefoot.controller import (
    JournalWarning,
    LostRoundsError,
    PremiseWarning,
    StoreError,
    journal as journal_module,
    read_journal,
    replay,
)
from surefoot.controller.journal import Journal
from surefoot.core.types import Info
from surefoot.knowledge import CurvatureRows, LipschitzHull
from surefoot.rules import Delayed, LeaderFollower, RegionFilter
from surefoot.sets import Box

from ._lines import change, forge, records
from ._live import PLAYERS, START, drive, raw_loop, same_bits, same_state, seen_at


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a run's journal?.jsonl"  # a name that a careless URI would stumble over


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
        assert controller.explain().round == 1


def test_what_was_asked_before_may_be_asked_again(path):
    with Controller(PLAYERS["PFS"], START, journal=path) as controller:
        drive(controller, PLAYERS["PFS"], 3)
        asked = controller.ask()
    with Controller.open(path) as controller:
        with pytest.raises(ValueError, match="ask for the action of round 4 first"):
            controller.tell(**seen_at(PLAYERS["PFS"], 4, asked))
        assert same_bits(controller.ask(), asked)
        controller.tell(**seen_at(PLAYERS["PFS"], 4, asked))


def test_an_error_writes_nothing_but_that_a_round_was_refused(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        right = seen_at(player, 1, controller.ask())
        with pytest.raises(ValueError, match="cost_gradient must be finite"):
            controller.tell(**right | {"cost_gradient": np.array([np.nan, 1.0])})
        with pytest.raises(ValueError, match="exceeds G_g"):
            controller.tell(**right | {"constraint_subgradient": np.array([3.0, 4.0])})
    with Controller.open(path) as controller:
        assert controller.round == 1
        (breach,) = controller.explain().broken  # what was refused is remembered, until it is told
        assert breach.round == 1
        with pytest.warns(PremiseWarning, match="that round was rejected"):
            controller.ask()
        controller.tell(**right)
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
    rows = [(r["round"], r["cost_value"]) for r in records(path) if r["kind"] == "round"]
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
    assert (found.round, found.part) == (6, "action")
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
    with pytest.raises(StoreError, match=r"its state cannot be read \(.*Momentum"):
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
        with pytest.raises(StoreError, match="is in use: one writer at a time"):
            Controller.open(path)
        assert replay(path).rounds == 2  # which reads, and disturbs nobody
        drive(controller, PLAYERS["PFS"], 2, first=3)  # undisturbed
    with Controller.open(path) as controller:
        assert controller.round == 5


def test_a_second_writer_in_another_process_is_told_so(path):
    code = """
        import sys
        from surefoot import Controller
        try:
            Controller.open(sys.argv[1])
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
        sentence = f"journal '{path}' is in use: one writer at a time\n"
        assert told == sentence
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


def failing(monkeypatch, name, number, after=0):
    """Let a system call fail with an error, after some calls that did not."""
    real, left = getattr(os, name), [after]

    def fail(file, *arguments):
        if left[0] > 0:
            left[0] -= 1
            return real(file, *arguments)
        if name == "write":
            real(file, bytes(arguments[0])[:7])  # some of it was written
        raise OSError(number, os.strerror(number))

    context = monkeypatch.context()
    context.__enter__().setattr(os, name, fail)
    return contextlib.closing(_Leaving(context))


class _Leaving:
    def __init__(self, context):
        self.context = context

    def close(self):
        self.context.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "it is read-only"), (errno.EIO, ".*error")],
)
def test_a_disk_that_is_full_or_read_only_loses_nothing_and_the_next_call_works(
    number, why, path, monkeypatch
):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 6)
        before, right, whole = controller.ask(), None, path.read_bytes()
        right = seen_at(player, 7, before)
        with failing(monkeypatch, "write", number):
            for _ in range(2):
                with pytest.raises(StoreError, match=rf"cannot be written: {why}$"):
                    controller.tell(**right)
        assert path.read_bytes() == whole
        assert controller.round == 7
        assert same_bits(controller.ask(), before)
        controller.tell(**right)
        drive(controller, player, 10, first=8)
    other = Controller(player, START)
    drive(other, player, 17)
    with Controller.open(path) as controller:
        assert same_state(controller.state, other.state)


def test_a_round_that_could_not_be_synced_is_not_taken_and_nothing_is_written_after_it(
    path, monkeypatch
):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        whole, right = path.read_bytes(), seen_at(player, 4, controller.ask())
        with (
            failing(monkeypatch, "fdatasync", errno.EIO),
            pytest.raises(StoreError, match="cannot be written"),
        ):
            controller.tell(**right)
        assert controller.round == 4
        assert path.read_bytes() == whole
        with pytest.raises(StoreError, match="could not be synced: open it again"):
            controller.tell(**right)
    with Controller.open(path) as controller:
        assert controller.round == 4
        controller.ask()
        controller.tell(**right)


def test_a_disk_that_is_full_when_the_journal_is_made_leaves_nothing(path, monkeypatch):
    with (
        failing(monkeypatch, "write", errno.ENOSPC),
        pytest.raises(StoreError, match="cannot be created: the disk is full"),
    ):
        Controller(PLAYERS["PFS"], START, journal=path)
    assert list(path.parent.iterdir()) == []


def test_a_disk_that_is_full_when_a_file_is_full_loses_nothing(path, monkeypatch):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path, rotate=3) as controller:
        drive(controller, player, 3)
        right = seen_at(player, 4, controller.ask())
        for after in range(3):
            with (
                failing(monkeypatch, "write", errno.ENOSPC, after),
                pytest.raises(StoreError, match="the disk is full"),
            ):
                controller.tell(**right)
            assert controller.round == 4
        drive(controller, player, 5, first=4)
    assert sorted(p.name for p in path.parent.iterdir() if not p.name.startswith(".")) == [
        path.name,
        path.name + ".2",
        path.name + ".3",
    ]
    assert replay(path).rounds == 8


def test_a_journal_that_has_moved_on_is_not_written_to(path):
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path) as controller:
        right, whole = seen_at(player, 1, controller.ask()), path.read_bytes()
        with path.open("ab") as other:
            other.write(b"{}\n")
        with pytest.raises(StoreError, match=r"has moved on without its writer: open it again$"):
            controller.tell(**right)
        assert controller.round == 1
        os.truncate(path, len(whole))
        controller.tell(**right)


def test_rounds_may_be_synced_less_often(path, monkeypatch):
    calls, real = [], os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda file: (calls.append(1), real(file)))
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=path, durable_every=5) as controller:
        calls.clear()
        drive(controller, player, 12)
        assert len(calls) == 2
        controller.note("synced")
        assert len(calls) == 3
    with Controller.open(path) as controller:
        assert controller.round == 13
        calls.clear()
        drive(controller, player, 5, first=13)
        assert len(calls) == 1


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
        "exists already and is not overwritten: open it to continue it$",
        lambda p: Controller(PLAYERS["PFS"], START, journal=p),
    )


def test_a_link_that_leads_nowhere_is_not_overwritten(path, tmp_path):
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="exists already"):
        Controller(PLAYERS["PFS"], START, journal=path)


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
            (b"round,action\n1,0.5\n" * 40, "it does not begin as one$"),
            (b"SQLite format 3\x00", "it does not begin as one$"),
            (b'{"kind":"round"}\n', "it does not begin as one$"),
            (b"\xff\xfe" * 1000, "it does not begin as one$"),
        ],
        ids=["empty", "csv", "a database", "another line", "no text"],
    )
    def test_another_format(self, call, path, contents, what):
        path.write_bytes(contents)
        refused(path, rf"is not a Surefoot journal: {what}", call)

    @pytest.mark.parametrize(
        ("version", "who"), [(5, "a newer Surefoot: its format is 5"), (0, "no Surefoot")]
    )
    def test_another_version(self, call, path, version, who):
        forge(written(path), lambda found: found[0].update(format=version))
        refused(path, f"was written by {who}", call)

    def test_only_the_beginning_of_its_first_line(self, call, path):
        data = written(path).read_bytes()
        path.write_bytes(data[:200])
        refused(path, "is damaged: it was cut short$", call)


# --- what is damaged -----------------------------------------------------------------------------


def lines_of(data):
    """Where each line of a file ends."""
    return [i + 1 for i, byte in enumerate(data) if byte == 10]


@pytest.mark.parametrize("step", [67, pytest.param(1, marks=pytest.mark.slow)])
def test_a_journal_cut_at_every_byte_of_its_last_record_opens_at_the_round_before_and_says_so(
    step, path
):
    with Controller(PLAYERS["certified"], START, journal=path) as controller:
        drive(controller, PLAYERS["certified"], 5)
        data = path.read_bytes()
    actions, _ = raw_loop(PLAYERS["certified"], 5)
    begin = lines_of(data)[-2]
    for size in range(begin + 1, len(data), step):
        path.write_bytes(data[:size])
        again = replay(path)
        assert (again.rounds, again.is_torn) == (4, True)
        heard = []
        sentence = "round 5 was being written; 4 is the last certain round"
        with pytest.warns(JournalWarning, match=sentence):
            controller = Controller.open(path, on_alarm=heard.append)
        with controller:
            assert controller.round == 5
            assert same_bits(controller.ask(), actions[4])
        assert [alarm.kind for alarm in heard] == ["journal"]
        assert [r["sentence"] for r in records(path) if r["kind"] == "torn"] == [sentence]
    assert read_journal(path).notes[0].text == sentence
    path.write_bytes(data[:begin])
    with Controller.open(path) as controller:  # a whole journal: nothing in it says that it is old
        assert controller.round == 5


def test_a_journal_cut_at_any_length_is_torn_or_older_and_never_goes_on_elsewhere(path, tmp_path):
    whole = written(path, rounds=40).read_bytes()
    ends = lines_of(whole)
    actions, _ = raw_loop(PLAYERS["certified"], 40)
    rng = np.random.default_rng(3)
    for length in [*rng.integers(ends[0], len(whole), 12).tolist(), *ends[::14]]:
        cut = tmp_path / f"cut {length}"
        cut.write_bytes(whole[:length])
        rounds = replay(cut).rounds
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with Controller.open(cut) as controller:
                assert controller.round == rounds + 1
                assert same_bits(controller.ask(), actions[rounds])
        assert bool(caught) == (length not in ends)
        certain = rounds + 1
        cut.write_bytes(whole[:length])
        error = refused(
            cut, "is damaged|is missing", lambda p, n=certain: Controller.open(p, at_least=n)
        )
        assert isinstance(error, LostRoundsError)
        assert error.certain == rounds


def killed(path, name="certified", rounds=12):
    """A journal as kill -9 leaves it."""
    with Controller(PLAYERS[name], START, journal=path) as controller:
        drive(controller, PLAYERS[name], rounds)
        data = path.read_bytes()
    path.write_bytes(data)
    return data


def test_a_killed_journal_is_one_file_and_goes_on(path):
    killed(path)
    assert list(files_of(path)) == [path.name]
    assert replay(path).is_same
    with Controller.open(path) as controller:
        assert controller.round == 13
        drive(controller, PLAYERS["certified"], 3, first=13)
    assert replay(path).rounds == 15


def test_pages_that_never_reached_the_disk_are_a_torn_record(path):
    with Controller(PLAYERS["certified"], START, journal=path) as controller:
        drive(controller, PLAYERS["certified"], 3)
        controller.note("a long note " * 800)  # over several pages
        data = bytearray(path.read_bytes())
    begin = lines_of(bytes(data))[-2]
    page = (begin // 4096 + 1) * 4096
    data[page : page + 4096] = bytes(4096)
    path.write_bytes(data)
    with pytest.warns(JournalWarning, match="round 4 was being written"):
        Controller.open(path).close()


def test_zeros_in_the_middle_are_damage(path):
    data = bytearray(killed(path))
    begin = lines_of(bytes(data))[4]
    data[begin + 40] = 0
    path.write_bytes(data)
    error = refused(path, "is not what was written; the last round that is certain is 4$")
    assert error.certain == 4
    assert (replay(path).rounds, replay(path).difference.part) == (4, "row")


def test_a_line_of_long_ago_that_was_changed_is_not_gone_on_with(path):
    change(written(path, rounds=60), '{"kind":"round","round":2,', '{"kind":"round","round":3,')
    assert refused(path, "is not what was written").certain == 1


def test_a_line_of_another_journal_is_noticed(path, tmp_path):
    data = killed(path)
    other = tmp_path / "other"
    with Controller(PLAYERS["certified"], 0.5 * START, journal=other) as controller:
        drive(controller, PLAYERS["certified"], 12)
    lines, others = data.splitlines(True), other.read_bytes().splitlines(True)
    lines[5] = others[5]
    path.write_bytes(b"".join(lines))
    refused(path, "is not what was written; the last round that is certain is 4$")


def test_rounds_are_on_the_disk_before_a_file_says_that_they_came_before_it(path, monkeypatch):
    player, done = PLAYERS["certified"], []
    for name, owner in (("_sync", Journal), ("_make", journal_module)):
        real = getattr(owner, name)

        def log(*args, name=name, real=real):
            done.append(name)
            return real(*args)

        monkeypatch.setattr(owner, name, log)
    with Controller(player, START, journal=path, rotate=3, durable_every=9) as controller:
        drive(controller, player, 3)
        done.clear()
        drive(controller, player, 1, first=4)
        assert done == ["_sync", "_make", "_sync"]


@pytest.mark.parametrize("call", ["_write", "_sync"])
def test_a_process_that_ended_between_two_files_goes_on(path, monkeypatch, call):
    player = PLAYERS["certified"]
    controller = Controller(player, START, journal=path, rotate=3)
    drive(controller, player, 3)

    def stop(*_):
        raise KeyboardInterrupt

    right = seen_at(player, 4, controller.ask())
    with monkeypatch.context() as patch:
        # Before the first says that it is continued, or after.
        patch.setattr(Journal, call, stop)
        with pytest.raises(KeyboardInterrupt):
            controller.tell(**right)
    files = files_of(path)
    assert len(files) == 2
    controller.tell(**right)  # taken back, and done again
    controller.close()
    assert replay(path).rounds == 4
    for name in files_of(path):
        path.with_name(name).unlink()
    for name, data in files.items():
        path.with_name(name).write_bytes(data)
    with Controller.open(path) as controller:
        assert controller.round == 4
        drive(controller, player, 4, first=4)
    assert replay(path).rounds == 7


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("call", [Controller.open, replay], ids=["open", "replay"])
def test_a_pipe_in_place_of_a_journal_is_not_waited_for(call, path):
    os.mkfifo(path)
    with pytest.raises(StoreError, match=r"cannot be opened: it cannot be read \(is no file\)$"):
        call(path)


def test_the_version_in_a_journal_is_that_of_the_sources(path, monkeypatch):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", none)
    written(path)
    assert records(path)[0]["surefoot"] == surefoot.__version__


def outcome(call, path):
    """What a call gives, or the sentence that it refuses a file with."""
    try:
        return call(path), ""
    except StoreError as error:
        return None, str(error)


@pytest.mark.slow
def test_bytes_that_flip_are_noticed(path, tmp_path):
    whole = killed(path, rounds=25)
    last = lines_of(whole)[-2]
    flipped = tmp_path / "flipped.jsonl"
    rng = np.random.default_rng(5)
    for at in rng.integers(0, len(whole), 200).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= int(rng.integers(1, 256))
        flipped.write_bytes(damaged)
        found, sentence = outcome(replay, flipped)
        assert found is None or not found.is_same or (at >= last and found.is_torn)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            controller, refusal = outcome(Controller.open, flipped)
        assert "\n" not in sentence + refusal
        if controller is None:
            assert flipped.read_bytes() == damaged
        else:  # the end of the last line is gone, and that is said
            with controller:
                assert caught
                assert at >= last
                assert controller.round == 25


def first_state(found):
    found[0]["loop"]["state"]["x"] = [9.0]


CHANGES = {
    "another player": (
        lambda found: found[0]["player"]["knowledge"].update(G_g=99.0),
        "its rounds lead elsewhere",
    ),
    "no player": (lambda found: found[0].pop("player"), "cannot make again|cannot be read"),
    "a player of no class": (
        lambda found: found[0].update(player={"class": "os.system"}),
        "cannot be opened: class 'os.system' is unknown|os.system",
    ),
    "a state elsewhere": (first_state, r"has the action \[9\.0\], and the one at hand is \[0"),
    "no state": (lambda found: found[0].update(loop=None), "NoneType. object is not subscriptable"),
    "a round left out": (lambda found: found.pop(2), "lead elsewhere"),
    "a round twice": (lambda found: found.insert(2, found[2]), "lead elsewhere|is missing"),
    "a record of no kind": (lambda found: found[2].pop("kind"), "is no record"),
    "a round without an end": (lambda found: found[2].pop("next"), "cannot be read"),
    "an action in words": (lambda found: found[2].update(next="up"), "cannot be read|elsewhere"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_journal_that_was_forged_is_not_gone_on_with(what, path):
    edit, sentence = CHANGES[what]
    forge(written(path), edit)
    refused(path, sentence)


def test_a_journal_that_was_refused_may_be_opened_when_it_is_whole_again(path):
    whole = written(path).read_bytes()
    path.write_bytes(whole.replace(b'"round":3', b'"round":4', 1))
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
    refused(path, r"was written by Surefoot [\d.]+, whose player .* cannot make again: .*eta must")


# --- what it costs -------------------------------------------------------------------------------


def test_a_round_is_one_write_and_one_sync_and_asking_none(path, monkeypatch):
    calls, player = [], PLAYERS["certified"]
    for name in ("write", "fdatasync"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, r=real: (calls.append(n), r(*a))[1])
    with Controller(player, START, journal=path) as controller:
        calls.clear()
        for t in range(1, 4):
            x = controller.ask()
            assert calls == []
            controller.tell(**seen_at(player, t, x))
            assert calls == ["write", "fdatasync"]
            controller.explain()
            calls.clear()


def test_one_file_is_open_for_a_controller_and_the_first_that_is_locked(path):
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("needs /proc")
    before = len(list(folder.iterdir()))
    with Controller(PLAYERS["certified"], START, journal=path, rotate=3) as controller:
        drive(controller, PLAYERS["certified"], 3)
        assert len(list(folder.iterdir())) == before + 1
        drive(controller, PLAYERS["certified"], 5, first=4)
        assert len(list(folder.iterdir())) == before + 2
    assert len(list(folder.iterdir())) == before


@pytest.mark.parametrize("d", [2, 100])
def test_a_round_writes_no_more_than_it_must(d, path):
    player = LeaderFollower(G_g=1.0, domain=Ball(2.0))
    rng, normal = np.random.default_rng(1), np.ones(d) / np.sqrt(d)
    with Controller(player, np.zeros(d), journal=path) as controller:
        sizes = [path.stat().st_size]
        for _ in range(120):
            x = controller.ask()
            told = {"cost_gradient": rng.normal(size=d), "constraint_subgradient": normal}
            controller.tell(constraint_value=float(normal @ x) - 0.5, **told)
            sizes.append(path.stat().st_size)
    row = 3 * 8 * d
    assert (sizes[-1] - sizes[20]) / 100 <= 3 * row + 1_000  # names, time, certificate, digest


def test_a_line_is_json_with_time_and_digest(path):
    written(path)
    found = records(path)
    assert [r["kind"] for r in found] == ["journal", *["round"] * 5, "closed"]
    times = [r.get("time", r.get("created")) for r in found]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", t) for t in times)
    assert all(len(r["digest"]) == 64 for r in found)


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
    path = tmp_path / "run.jsonl"
    Controller(CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5), [0.0], journal=path).close()
    with pytest.raises(
        ValueError, match=r"another player: player.knowledge.G_g is 1.0 there and 2.0 here; name"
    ):
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
        (
            boxed(HIGH),
            boxed(TIGHT),
            r"player.knowledge.domain.upper\[7\] is 1.0 there and 0.25 here",
        ),
        (descent(HIGH), descent(TIGHT), r"player.domain.upper\[7\] is 1.0 there and 0.25 here"),
        (descent(HIGH), boxed(HIGH), "player is 'OGD' there and 'RegionFilter' here"),
        (tuned(1.0), tuned(2.0)[0], "guarantee is 'TheoremD' there and None here"),
        (tuned(1.0), tuned(2.0), r"guarantee.constants.G_f is 1.0 there and 2.0 here"),
    ],
    ids=["a tightened box", "a set of descent", "a rule", "no guarantee", "a guarantee"],
)
def test_players_are_compared_by_all_that_they_are_made_of(first, second, sentence, tmp_path):
    path, start = tmp_path / "run.jsonl", np.zeros(D)
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
    path = tmp_path / "run.jsonl"
    first, second, third = (CertifiedPFS(G_g=g, domain=Ball(1.0), rho=0.5) for g in (1.0, 2.0, 3.0))
    with Controller(first, [0.0], journal=path) as controller:
        if said is None:
            controller.resume(second)
        else:  # which is no order
            controller.note(said)
    for player in (first, second) if said is None else (first,):
        with Controller.open_or_create(path, player, [0.0]) as controller:
            assert controller.algorithm == (second if said is None else first)
    with pytest.raises(ValueError, match=r"is that of another player: .* here"):
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

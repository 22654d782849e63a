"""An interrupt anywhere in a journalled tell: file and memory agree, and the loop goes on."""

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import surefoot
from surefoot import Controller
from surefoot.controller import StoreError, replay
from surefoot.controller._rows import read_now, remembered

from ._live import PLAYERS, START, drive, raw_loop, same_bits, seen_at

SOURCES = str(Path(surefoot.__file__).parent)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


class Interrupter:
    """Raises KeyboardInterrupt before the given instruction of the library's, counted from 1."""

    def __init__(self, at):
        self.left = at

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self

    def run(self, function, *args, **kwargs):
        """Call the function; whether it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            function(*args, **kwargs)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def agrees(controller):
    """Whether the file is where the memory is."""
    number, now, _ = read_now(controller._journal.store)
    return number == controller.round and now == remembered(controller._memory())


def interrupted(path, times, seed):
    """A loop of which every tell is interrupted, and told again where it was not taken."""
    player = PLAYERS["certified"]
    rng = np.random.default_rng(seed)
    wanted, _ = raw_loop(player, times)
    hits = taken = disagreements = 0
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 1)  # which has no round before it, and is shorter
        counter = Interrupter(10**9)
        counter.run(controller.tell, **seen_at(player, 2, controller.ask()))
        length = 10**9 - counter.left
        for _ in range(times - 2):
            t, x = controller.round, controller.ask()
            assert same_bits(x, wanted[t - 1])
            told = seen_at(player, t, x)
            # Anywhere, or near the end, where the file has the round and memory may not.
            begin = int(rng.choice([1, int(0.8 * length)]))
            if Interrupter(int(rng.integers(begin, length + 1))).run(controller.tell, **told):
                hits += 1
                disagreements += not agrees(controller)
                taken += controller.round == t + 1
        last = controller.round
        actions = drive(controller, player, 2, first=last)
        assert same_bits(actions, raw_loop(player, last + 1)[0][last - 1 :])
    assert replay(path).is_same
    return hits, taken, disagreements


def test_after_an_interrupt_the_file_is_where_the_memory_is(path):
    hits, taken, disagreements = interrupted(path, 80, seed=1)
    assert disagreements == 0
    assert hits > 30
    assert 0 < taken < hits


def test_after_an_order_that_was_interrupted_the_file_is_where_the_memory_is(path):
    player, rng, hits = PLAYERS["certified"], np.random.default_rng(5), 0
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        counter = Interrupter(10**9)
        counter.run(controller.hold, "to count")
        length = 10**9 - counter.left
        for k in range(24):
            order = (controller.hold, controller.note, controller.retreat)[k % 3]
            hits += Interrupter(int(rng.integers(1, length + 1))).run(order, f"order {k}")
            assert agrees(controller)
        controller.resume()
        drive(controller, player, 2, first=4)
    assert hits > 10
    assert replay(path).is_same


@pytest.mark.slow
def test_after_a_thousand_interrupts_the_file_is_where_the_memory_is(path):
    hits, taken, disagreements = interrupted(path, 1_800, seed=2)
    assert disagreements == 0
    assert hits >= 1_000
    assert 100 < taken < hits


@pytest.mark.parametrize("held", [True, False])
def test_a_second_interrupt_is_made_good_by_the_next_call(held, path, monkeypatch):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        journal = controller._journal
        told = seen_at(player, 4, controller.ask())

        def stop(*arguments):
            if held:
                real(*arguments)
            raise KeyboardInterrupt

        real = journal.store.write
        with monkeypatch.context() as patch:
            patch.setattr(journal.store, "write", stop)
            patch.setattr(journal, "settle", lambda: None)  # interrupted as well
            with pytest.raises(KeyboardInterrupt):
                controller.tell(**told)
        assert controller.round == 4
        controller.ask()
        assert controller.round == (5 if held else 4)
        assert agrees(controller)
        drive(controller, player, 2, first=controller.round)
    assert replay(path).is_same


def test_a_mark_that_cannot_be_written_is_told_and_the_round_is_taken(path, monkeypatch):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        told = seen_at(player, 4, controller.ask())

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(StoreError, match=r"mark '.*' cannot be written: No space left"):
                controller.tell(**told)
            assert controller.round == 5
            assert agrees(controller)
            with pytest.raises(StoreError, match=r"mark '.*' cannot be written: No space left"):
                controller.ask()  # nothing goes on that a damaged log could lose
        drive(controller, player, 2, first=5)
    assert replay(path).is_same


def test_two_threads_that_tell_one_round_are_not_both_heard(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        for t in range(1, 21):
            x = controller.ask()
            told = seen_at(player, t, x)
            errors = []

            def tell(told=told, errors=errors):
                try:
                    controller.tell(**told)
                except (StoreError, ValueError) as error:
                    errors.append(str(error))

            threads = [threading.Thread(target=tell) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert controller.round == t + 1
            assert agrees(controller)
            assert len(errors) == 2
            for sentence in errors:
                assert "transaction" not in sentence
                assert "UNIQUE" not in sentence
    assert replay(path).is_same


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
# JAX, where another test has loaded it, warns of every fork; this child runs nothing of it.
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fork_that_closes_the_controller_takes_nothing_from_its_parent(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 3)
        child = os.fork()
        if child == 0:
            controller.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert path.with_name(path.name + "-wal").exists()
        assert path.with_name(path.name + "-mark").exists()
        drive(controller, player, 3, first=4)
    assert replay(path).rounds == 6

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
from surefoot.controller.journal import Reader
from surefoot.controller.records import encode_loop
from surefoot.controller.replaying import restore

from ._live import PLAYERS, START, drive, raw_loop, same_bits, seen_at

SOURCES = str(Path(surefoot.__file__).parent)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


class Interrupter:
    """Raises KeyboardInterrupt before the given instruction of the library's, counted from 1.

    With a name, from the first call of the function of that name on.
    """

    def __init__(self, at, after=None):
        self.left, self.after = at, after

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        frame.f_trace_opcodes = True
        if frame.f_code.co_name == self.after:
            self.after = None
        if event == "opcode" and self.after is None:
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


def agrees(controller, path):
    """Whether the file is where the memory is, up to where the memory knows of it.

    What lies beyond was never acknowledged: the next write takes it off.
    """
    (_, loop), at = controller._now
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes()[: at.size])
    end = restore(Reader(copy), {})
    return end.at.digest == at.digest and encode_loop(end.members.loop) == encode_loop(loop)


def interrupted(path, times, seed):
    """A loop of which every tell is interrupted, and told again where it was not taken."""
    player = PLAYERS["certified"]
    rng = np.random.default_rng(seed)
    wanted, _ = raw_loop(player, times)
    hits = beyond = disagreements = 0
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
            interrupter = Interrupter(int(rng.integers(1, length + 1)))
            if rng.random() < 0.5:
                interrupter = Interrupter(int(rng.integers(20, 120)), "_write")
            if interrupter.run(controller.tell, **told):
                hits += 1
                disagreements += not agrees(controller, path)
                beyond += path.stat().st_size > controller._now[1].size
        last = controller.round
        actions = drive(controller, player, 2, first=last)
        assert same_bits(actions, raw_loop(player, last + 1)[0][last - 1 :])
    assert replay(path).is_same
    return hits, beyond, disagreements


def test_after_an_interrupt_the_file_is_where_the_memory_is(path):
    hits, beyond, disagreements = interrupted(path, 80, seed=1)
    assert disagreements == 0
    assert hits > 30
    assert 0 < beyond < hits  # the file had the round, and the memory did not


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
            assert agrees(controller, path)
        controller.resume()
        drive(controller, player, 2, first=4)
    assert hits > 10
    assert replay(path).is_same


@pytest.mark.slow
def test_after_hundreds_of_interrupts_the_file_is_where_the_memory_is(path):
    hits, beyond, disagreements = interrupted(path, 700, seed=2)
    assert disagreements == 0
    assert hits >= 400
    assert 20 < beyond < hits


def test_interrupts_while_files_are_turned_over_lose_nothing(path):
    player, rng, hits = PLAYERS["certified"], np.random.default_rng(6), 0
    with Controller(player, START, journal=path, rotate=2) as controller:
        drive(controller, player, 2)
        counter = Interrupter(10**9)
        counter.run(controller.tell, **seen_at(player, 3, controller.ask()))
        length = 10**9 - counter.left
        for _ in range(60):
            t = controller.round
            told = seen_at(player, t, controller.ask())
            hits += Interrupter(int(rng.integers(length // 2, length + 1))).run(
                controller.tell, **told
            )
            if controller.round == t:
                controller.tell(**told)
        last = controller.round
    assert hits > 15
    assert replay(path).is_same
    assert replay(path).rounds == last - 1
    with Controller.open(path) as controller:
        assert controller.round == last


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
            assert agrees(controller, path)
            assert len(errors) == 2
            assert all("a second tell for round" in sentence for sentence in errors)
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
        drive(controller, player, 3, first=4)
    assert replay(path).rounds == 6


def test_asking_and_explaining_from_threads_while_another_tells_sees_whole_rounds(path):
    player, seen, stop = PLAYERS["certified"], [], threading.Event()
    actions, _ = raw_loop(player, 60)
    with Controller(player, START, journal=path) as controller:

        def look():
            while not stop.is_set():
                why = controller.explain()
                seen.append((why.round, why.bound))

        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        bounds = {1: controller.explain().bound}
        for t in range(1, 61):
            x = controller.ask()
            assert same_bits(x, actions[t - 1])
            controller.tell(**seen_at(player, t, x))
            bounds[t + 1] = controller.explain().bound
        stop.set()
        for thread in threads:
            thread.join()
    assert len({t for t, _ in seen}) > 5
    assert all(bounds[t] == bound for t, bound in seen)

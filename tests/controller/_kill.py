"""A journalled loop that is killed again and again, in a process of its own.

Run as a script, which prints what it found as JSON. Each loop is a fork, killed by ``kill -9``
after a random time, wherever that finds it; the next goes on from the journal. One in five is
killed while it opens or creates the journal, the others while they play. What ``ask`` has returned
goes through a pipe to the parent before anything else happens: it has been played.
"""

import json
import os
import select
import signal
import struct
import sys
import time
from pathlib import Path

import numpy as np
from _live import FILTERS, PLAYERS, START, drive, raw_loop, same_bits, same_state, seen_at

from surefoot import Controller, replay

ROUNDS = 100
OPENED, PLAYED = 0, 1


def loop(path, player, pipe):
    """Play to the end, from wherever the journal is."""
    controller = Controller.open(path) if path.exists() else Controller(player, START, journal=path)
    os.write(pipe, struct.pack("<qqdd", OPENED, controller.round, 0.0, 0.0))
    while controller.round <= ROUNDS:
        x = controller.ask()
        os.write(pipe, struct.pack("<qqdd", PLAYED, controller.round, *x))
        controller.tell(**seen_at(player, controller.round, x))
    controller.close()


def fork(path, player):
    """A child that plays, and the end of the pipe that it writes to."""
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    status = 1
    try:
        os.close(out)
        loop(path, player, into)
        status = 0
    finally:
        os._exit(status)


def messages(out):
    """All that a child that is gone has said."""
    data = b""
    while part := os.read(out, 65536):
        data += part
    os.close(out)
    return list(struct.iter_unpack("<qqdd", data))


class Run:
    """One journal: what it was seen to play, against the loop that nobody killed."""

    def __init__(self, path, name):
        self.path = path
        self.player = (PLAYERS | FILTERS)[name]
        self.actions, self.state = raw_loop(self.player, ROUNDS)
        self.played = self.stretches = 0
        self.lost = self.different = 0

    def live(self, seconds=None, *, playing=True):
        """Let a child play, and kill it after so long, counted from where it plays; whether it was.

        Without seconds it plays to its end.
        """
        child, out = fork(self.path, self.player)
        if seconds is not None:
            if playing:
                select.select([out], [], [])
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        played = self.played
        self.check(messages(out))
        self.stretches += self.played > played
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise SystemExit("the loop itself failed")
        return os.WIFSIGNALED(status)

    def check(self, said):
        for what, number, *x in said:
            if what == OPENED:
                # The action played last must be in the journal, as the one at hand or before.
                self.lost += number < self.played
            else:
                self.different += not same_bits(np.array(x), self.actions[number - 1])
                self.played = number

    def finish(self):
        """Play to the end; whether that is the end of the loop that nobody killed."""
        self.live()
        replayed = replay(self.path)
        with Controller.open(self.path) as controller:
            same = same_state(controller.state, self.state)
            return same and controller.round == ROUNDS + 1 and replayed.is_same


def seconds_a_round(folder):
    """How long this disk takes to make a round durable."""
    player = PLAYERS["PFS"]
    with Controller(player, START, journal=folder / "timed.jsonl") as controller:
        begun = time.perf_counter()
        drive(controller, player, 20)
        return (time.perf_counter() - begun) / 20


def main(folder, wanted, *names):
    rng = np.random.default_rng(12)
    longest = 8 * seconds_a_round(folder)
    names = names or [n for n in PLAYERS if n != "PFS"]
    killed = runs = lost = different = same = stretches = 0
    while killed < wanted:
        run = Run(folder / f"{runs}.jsonl", names[runs % len(names)])
        for _ in range(min(20, wanted - killed)):
            if not run.live(rng.uniform(0, longest), playing=rng.uniform() > 0.2):
                break
            killed += 1
        same += run.finish()
        runs += 1
        lost += run.lost
        different += run.different
        stretches += run.stretches
    print(json.dumps([killed, runs, same, lost, different, stretches]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])

"""A journalled fleet that is killed again and again, in a process of its own.

Run as a script, which prints what it found as JSON. Each fleet is a fork, killed by ``kill -9``
after a random time, wherever that finds it: in a tell, in a snapshot, in a new file, or while a
member comes or leaves. The next goes on from the journal. What a call has acknowledged goes through
a pipe to the parent before anything else happens.
"""

import hashlib
import json
import os
import select
import signal
import struct
import sys
import time
from pathlib import Path

import numpy as np

from surefoot import Ball, replay
from surefoot.controller import Fleet, read_journal
from surefoot.knowledge import Curvature
from surefoot.rules import CertifiedOGD, LeaderFollower

N, CALLS, EVERY = 200, 120, 5
ROTATE = 40
PLAYERS = (
    LeaderFollower(G_g=1.0, domain=Ball(2.0)),
    LeaderFollower(G_g=1.2, domain=Ball(2.0)),
    CertifiedOGD(knowledge=Curvature(beta=0.1, reach=2.0), radius=2.0),
)
FIRST = "0"  # which is told in every call, and never leaves: its rounds count the calls
OPENED, DONE = 0, 1
MESSAGE = "<qqq"


def direction(name):
    """Where a member's limit and its target are, by its name."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    return np.array([np.cos(number), np.sin(number)])


def fleet_at(path):
    names = list(map(str, range(N)))
    players = {name: PLAYERS[i % 3] for i, name in enumerate(names)}
    starts = {name: 0.1 * direction(name + "x") for name in names}
    if path is not None and path.exists():
        return Fleet.open(path)
    return Fleet(players, starts, journal=path, rotate=ROTATE)


def change_members(fleet, call):
    """Let members come and leave before a call, unless they did so before a kill.

    Every fifth call one comes and one leaves; a name comes back five calls after it left.
    """
    if call % EVERY:
        return
    k = call // EVERY
    new, old, back = f"new {k}", str(3 * k + 1), str(3 * k - 2)
    if new not in fleet.names:
        fleet.add(new, PLAYERS[k % 3], 0.1 * direction(new), "built")
    if old in fleet.names:
        fleet.remove(old, "sold")
    if k > 1 and back not in fleet.names:
        fleet.add(back, PLAYERS[k % 3], 0.05 * direction(back), "bought again")


def told_in(fleet, call):
    """The members that a call reports: three of four, and a report for each."""
    names = [n for n in fleet.names if n == FIRST or (len(n) + ord(n[-1]) + call) % 4]
    x = fleet.ask()[[fleet.names.index(name) for name in names]]
    normals = np.array([direction(name) for name in names])
    targets = np.array([1.5 * direction(name + "t") for name in names])
    g = np.einsum("ij,ij->i", normals, x) - 0.3
    if call % 7 == 3:
        g[1 + call % (len(names) - 1)] = np.nan
    return {
        "cost_gradient": 0.3 * (x - targets * (1 + 0.2 * np.sin(call))),
        "constraint_value": g,
        "constraint_subgradient": normals,
        "members": names,
    }


def mark(fleet):
    """A number for all that a fleet plays next, and who plays it."""
    text = json.dumps([list(fleet.names), list(fleet.rounds.values())]).encode()
    return int.from_bytes(hashlib.sha256(text + fleet.ask().tobytes()).digest()[:7], "little")


def play(fleet, say):
    """Play to the end, from wherever the fleet is."""
    while (call := fleet.rounds[FIRST]) <= CALLS:
        change_members(fleet, call)
        fleet.tell(**told_in(fleet, call))
        say(DONE, call, mark(fleet))


def fork(path):
    """A child that plays, and the end of the pipe that it writes to."""
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    status = 1
    try:
        os.close(out)
        with fleet_at(path) as fleet:
            os.write(into, struct.pack(MESSAGE, OPENED, fleet.rounds[FIRST] - 1, 0))
            play(fleet, lambda *message: os.write(into, struct.pack(MESSAGE, *message)))
        status = 0
    finally:
        os._exit(status)


def messages(out):
    """All that a child that is gone has said."""
    data = b""
    while part := os.read(out, 65536):
        data += part
    os.close(out)
    return list(struct.iter_unpack(MESSAGE, data))


def main(folder, wanted):
    rng, path = np.random.default_rng(12), folder / "fleet.jsonl"
    expected = {}
    begun = time.perf_counter()
    whole = fleet_at(None)
    play(whole, lambda _, call, number: expected.__setitem__(call, number))
    # The end of the run is out of reach of all kills, and each finds the fleet at work.
    longest = 1.5 * (time.perf_counter() - begun) / wanted
    acknowledged = killed = lost = different = stretches = 0
    for kill in [*[True] * wanted, False]:
        child, out = fork(path)
        if kill:
            select.select([out], [], [])
            time.sleep(rng.uniform(0.0, longest))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise SystemExit("the fleet itself failed")
        killed += os.WIFSIGNALED(status)
        said = messages(out)
        stretches += len(said) > 1
        for what, call, number in said:
            if what == OPENED:
                lost += call < acknowledged
            else:
                different += number != expected[call]
                acknowledged = call
    record = read_journal(path, latest=1)
    with Fleet.open(path) as fleet:
        is_same = mark(fleet) == expected[CALLS] and replay(path).is_same
        is_same &= {n: m.round_count + 1 for n, m in record.members.items() if not m.has_left} == (
            fleet.rounds
        )
    files = list(folder.iterdir())
    snapshots = sum(part.read_bytes().count(b'{"kind":"snapshot"') for part in files)
    counts = [killed, stretches, acknowledged, lost, different]
    print(json.dumps([*counts, is_same, len(files), snapshots]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

"""A power cut after any system call loses no round that ``tell`` has returned from."""

import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from surefoot import Controller
from surefoot.controller import JournalWarning, StoreError, replay

from ._cut import Disk, record
from ._live import PLAYERS, raw_loop, same_bits, seen_at

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs Linux and a compiler",
)
PLAYER = PLAYERS["certified"]
ACTIONS, _ = raw_loop(PLAYER, 30)


def put(folder, files):
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def read(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def holds(folder, acked, files):
    """The journal has all that was acknowledged, at most one round more, and goes on."""
    path = folder / "run.jsonl"
    put(folder, files)
    if acked is None and not path.exists():
        return
    least = acked or 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JournalWarning)
        check(path, least, files)


def check(path, least, files):
    found = replay(path)
    assert found.is_same, str(found)
    assert found.rounds in (least, least + 1)
    assert read(path.parent) == files
    with Controller.open(path) as controller:
        assert controller.round == found.rounds + 1
        assert same_bits(controller.ask(), ACTIONS[found.rounds])
        controller.tell(**seen_at(PLAYER, controller.round, controller.ask()))
    again = replay(path)
    assert again.is_same, str(again)
    assert again.rounds == found.rounds + 1


def chain(files):
    """The files that the run has come to; one beyond them is not a part of it yet."""
    names = ["run.jsonl"]
    while b'{"kind":"continued"' in files[names[-1]]:
        names.append(f"run.jsonl.{len(names) + 1}")
    return [name for name in names if files.get(name)]


def flipped(folder, acked, files, rng):
    """One bit more: refused and unchanged, or only the end of the last line is gone, and said."""
    name = str(rng.choice(chain(files)))
    data = bytearray(files[name])
    used = np.flatnonzero(np.frombuffer(data, np.uint8))
    data[int(rng.choice(used))] ^= 1 << int(rng.integers(8))
    put(folder, files | {name: bytes(data)})
    before = read(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            controller = Controller.open(folder / "run.jsonl")
        except StoreError:
            assert read(folder) == before
            return 1
    with controller:
        assert caught
        assert controller.round >= acked
        assert same_bits(controller.ask(), ACTIONS[controller.round - 1])
    return 0


def cuts(tmp_path, loop, hows):
    """Cut the power after every call; how often, and how often a flipped bit was whole."""
    ops = record(tmp_path, loop)
    disk, rng = Disk(), np.random.default_rng(7)
    seen, whole, done = set(), 0, 0
    # Where syncs cost nothing, if there is such a place.
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast) as home:
        folder = Path(home)
        for op in ops:
            disk.apply(op)
            for how in hows:
                files = disk.cut(rng, how)
                key = (disk.acked, tuple(sorted(files.items())))
                if key in seen:
                    continue
                seen.add(key)
                holds(folder, disk.acked, files)
                done += 1
                if "run.jsonl" in files and disk.acked is not None:
                    whole += flipped(folder, disk.acked, files, rng)
    return len(ops), done, whole


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["through", "turning", "torn"])
def test_power_cuts_after_every_call_take_no_round_that_was_acknowledged(loop, tmp_path):
    calls, done, refused = cuts(tmp_path, loop, ["none", "all", "some", "some", "prefix"])
    assert calls > 30
    assert done > 0.5 * calls
    assert refused > 0.5 * done


def test_a_round_is_one_sync(tmp_path):
    syncs, acked = {}, []
    for op in record(tmp_path, "through"):
        if op.path == "acked":
            acked.append(dict(syncs))
            syncs.clear()
        elif op.what in "SD":
            syncs[op.path] = syncs.get(op.path, 0) + 1
    rounds = [s for s in acked if set(s) == {"run.jsonl"}]
    assert rounds.count({"run.jsonl": 1}) >= 12

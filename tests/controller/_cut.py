"""Power cuts of a journalled loop: what the disk may hold after each of its system calls.

:func:`record` plays a loop in a process whose writes and syncs are written down
(``_record.c``, preloaded). :class:`Disk` plays them back. After a power cut a disk holds all that
was synced; of what was written since, any page or none, in any order; and of names that were given,
changed or removed since the folder was synced, as many as it came to. Whoever is played back there
has told some rounds and has been answered: those must be in the journal.
"""

import itertools
import os
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from surefoot import Controller

HERE = Path(__file__).parent
HEAD = struct.Struct("<cQQQQ")
PAGE = 4096


class Op(NamedTuple):
    """A system call."""

    what: str
    inode: int
    at: int
    path: str
    data: bytes


def compiled(folder):
    """The recorder, as a library."""
    library = folder / "record.so"
    source = HERE / "_record.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def record(folder, loop):
    """Play a loop of this module by its name; what it did, in order."""
    files, out = folder / "files", folder / "record"
    files.mkdir()
    subprocess.run(
        [sys.executable, __file__, loop, files],
        check=True,
        env=os.environ
        | {
            "LD_PRELOAD": str(compiled(folder)),
            "RECORD_FOLDER": str(files),
            "RECORD_TO": str(out),
            "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        },
    )
    data, at, ops = out.read_bytes(), 0, []
    while at < len(data):
        what, inode, offset, name, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        path, at = data[at : at + name].decode(), at + name
        ops.append(Op(what.decode(), inode, offset, Path(path).name, data[at : at + size]))
        at += size
    return ops


class Disk:
    """Files as they are on the disk, and what has been written to them since."""

    def __init__(self):
        self.names = {}  # on the disk
        self.renames = []  # not yet
        self.known = {}  # as the process sees it: the file of a name
        self.whole = {}  # the contents of a file that are on the disk
        self.since = {}  # and the writes that are not yet
        self.files = itertools.count()
        self.of_inode = {}
        self.acked = None

    def apply(self, op):
        """Do what a call did."""
        if op.path == "acked":
            if op.what == "W":
                (self.acked,) = struct.unpack("<q", op.data)
        elif op.what in "WT":
            self.write(op)
        elif op.what == "S":
            file = self.of_inode.get(op.inode)
            if file is not None:
                for write in self.since[file]:
                    put(self.whole[file], *write)
                self.since[file] = []
        elif op.what == "D":
            self.names = dict(self.known)
            self.renames = []
        else:
            self.name(op)

    def write(self, op):
        file = self.of_inode.get(op.inode)
        if file is None or self.known.get(op.path) != file:
            file = self.of_inode[op.inode] = next(self.files)
            self.whole[file], self.since[file] = bytearray(), []
            self.known[op.path] = file
            self.renames.append(dict(self.known))
        if op.what == "T":
            self.since[file].append((op.at, None))
            return
        data, at = op.data, op.at
        while data:  # a page is written or not
            size = PAGE - at % PAGE
            self.since[file].append((at, data[:size]))
            data, at = data[size:], at + size

    def name(self, op):
        if op.what in "ML":
            self.known[Path(op.data.decode()).name] = self.known[op.path]
        if op.what in "MU":
            self.known.pop(op.path, None)
        self.renames.append(dict(self.known))

    def cut(self, rng, how):
        """The files after a power cut now, of all that may be."""
        names = self.names
        if how == "all" and self.renames:
            names = self.renames[-1]
        elif how not in ("none", "all"):
            names = [names, *self.renames][int(rng.integers(len(self.renames) + 1))]
        found = {}
        for name, file in names.items():
            data = bytearray(self.whole[file])
            kept = len(self.since[file]) if how == "prefix" else 0
            kept = int(rng.integers(kept + 1))
            share = rng.choice([0.1, 0.5, 0.9])
            for n, write in enumerate(self.since[file]):
                if how == "all" or n < kept or (how == "some" and rng.random() < share):
                    put(data, *write)
            found[name] = bytes(data)
        return found


def put(contents, at, data):
    """Write to a file in memory; no data is a new length."""
    size = at if data is None else max(len(contents), at + len(data))
    contents.extend(bytes(max(0, size - len(contents))))
    if data is None:
        del contents[at:]
    else:
        contents[at : at + len(data)] = data


# --- the loops, in a process of their own --------------------------------------------------------


def through(path, acked):
    """A loop that is closed, and goes on."""
    play(Controller(PLAYERS["certified"], START, journal=path), 12, acked).close()
    play(Controller.open(path), 4, acked).close()


def turning(path, acked):
    """A loop whose files are full after three rounds."""
    play(Controller(PLAYERS["certified"], START, journal=path, rotate=3), 10, acked)
    os._exit(0)  # and is killed


def torn(path, acked):
    """A loop that was killed in the middle of a record, and goes on."""
    child = os.fork()
    if child == 0:
        play(Controller(PLAYERS["certified"], START, journal=path), 5, acked)
        file = os.open(path, os.O_WRONLY)
        os.pwrite(file, b'{"kind":"round","round":6,', path.stat().st_size)
        os._exit(0)
    os.waitpid(child, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        play(Controller.open(path), 3, acked).close()


def play(controller, rounds, acked):
    os.pwrite(acked, struct.pack("<q", controller.round - 1), 0)
    for _ in range(rounds):
        t = controller.round
        controller.tell(**seen_at(PLAYERS["certified"], t, controller.ask()))
        os.pwrite(acked, struct.pack("<q", t), 0)
    return controller


if __name__ == "__main__":
    from _live import PLAYERS, START, seen_at

    folder = Path(sys.argv[2])
    to = os.open(folder / "acked", os.O_RDWR | os.O_CREAT)
    {"through": through, "turning": turning, "torn": torn}[sys.argv[1]](folder / "run.jsonl", to)

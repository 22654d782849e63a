"""Damage journals and results in a thousand ways, each made from its number alone.

What is promised of a file that was damaged: it is opened whole, or opened with the loss named, or
refused in one sentence, and then not a byte of it has changed. Run as a script it prints how often
each came true, and ends with status 1 where none did.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import Ball, CertifiedPFS, Controller, replay
from surefoot._sqlite import digest
from surefoot.algorithms import PFS
from surefoot.controller import LostRoundsError, StoreError
from surefoot.controller._rows import remembered
from surefoot.experiments import CellResult, DamagedCellError, Facts, Place, Results
from surefoot.experiments import StoreError as ResultsError

START = np.array([0.2, 0.2])
PLAYERS = {
    "certified": CertifiedPFS(G_g=1.2, domain=Ball(1.5), rho=0.3),
    "PFS": PFS(eta=0.07, rho=0.03, domain=Ball(1.5)),
}
NAME = "run.db"
Bytes = dict[str, bytes]


class Journalled(NamedTuple):
    """A journal as it was, with where its run really was."""

    files: Bytes
    rounds: int
    end: Any


class WrongError(AssertionError):
    """The promise was not kept."""


def play(controller: Controller, rounds: int) -> None:
    """Play some rounds against a half-plane."""
    for _ in range(rounds):
        t, x = controller.round, controller.ask()
        controller.tell(
            cost_gradient=0.8 * (x - np.array([1.2 * np.sin(0.7 * t), np.cos(0.31 * t)])),
            constraint_value=float(0.6 * x[0] + 0.9 * x[1] - 0.5),
            constraint_subgradient=np.array([0.6, 0.9]),
        )


def files_in(folder: Path) -> Bytes:
    """All files of a folder."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def put(folder: Path, files: Bytes) -> None:
    """Let a folder have these files and no others."""
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


@cache
def journal(name: str, state: str, seed: int = 0) -> Journalled:
    """A journal that was closed, or killed with its rounds in the log, some folded in before."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / NAME
        controller = Controller(PLAYERS[name], START * (1 - 0.01 * seed), journal=path)
        play(controller, 20)
        if state == "folded":
            connection = controller._journal.store._connection  # type: ignore[union-attr]
            connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        play(controller, 15)
        end = remembered(controller._memory())
        files = files_in(Path(home))
        controller.close()
        if state == "closed":
            files = files_in(Path(home))
    return Journalled(files, 35, end)


# --- what is done to the bytes of any file -------------------------------------------------------


def hurt(rng: Any, files: Bytes) -> str:
    """Damage one of the files, as disks and copies do."""
    name = str(rng.choice(sorted(files)))
    data = bytearray(files[name])
    how = str(rng.choice(["bit", "bits", "burst", "sector", "cut", "longer", "missing", "again"]))
    size = len(data)
    if not size:
        how = "missing"
    if how == "bit":
        data[int(rng.integers(size))] ^= 1 << int(rng.integers(8))
    elif how == "bits":
        for at in rng.integers(size, size=int(rng.integers(2, 9))):
            data[int(at)] ^= 1 << int(rng.integers(8))
    elif how == "burst":
        at = int(rng.integers(size))
        noise = rng.bytes(int(rng.integers(1, 200)))
        data[at : at + len(noise)] = noise[: size - at]
    elif how == "sector":
        at = 512 * int(rng.integers(size // 512 + 1))
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    elif how == "cut":
        del data[int(rng.integers(size)) :]
    elif how == "longer":
        data += rng.bytes(int(rng.integers(1, 5000)))
    elif how == "again":  # a sector written to the place of another
        here, there = (512 * int(rng.integers(size // 512 + 1)) for _ in range(2))
        part = data[here : here + 512]
        data[there : there + len(part)] = part
    files[name] = bytes(data)
    if how == "missing":
        del files[name]
    return f"{how} of {name.removeprefix(NAME) or 'the file'}"


def swap(rng: Any, files: Bytes, state: str, name: str) -> str:
    """Give a journal the part of another."""
    other = journal(name, state, seed=1).files
    part = str(rng.choice(sorted(files)))
    files[part] = other[part]
    return f"another's {part.removeprefix(NAME) or 'file'}"


STRANGERS = (
    "CREATE TRIGGER extra AFTER INSERT ON rounds BEGIN DELETE FROM rounds; END",
    "CREATE TRIGGER extra BEFORE UPDATE ON now BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW extra AS SELECT * FROM rounds",
    "CREATE TABLE extra (a)",
    "CREATE INDEX extra ON rounds (action)",
)
CHANGES = (
    "UPDATE rounds SET constraint_value = -0.5 WHERE round = ?",
    "UPDATE rounds SET cost_gradient = action WHERE round = ?",
    "UPDATE rounds SET digest = zeroblob(32) WHERE round = ?",
    "UPDATE rounds SET cost_value = 'many' WHERE round = ?",
    "DELETE FROM rounds WHERE round = ?",
    "UPDATE now SET round = ?",
    "UPDATE now SET state = substr(state, ?)",
    "UPDATE run SET player = substr(player, ?)",
    "UPDATE run SET start = substr(start, ?)",
    "DELETE FROM rounds WHERE round >= ?",
)
JUNK = (
    None,
    0,
    -1,
    1e400,
    "",
    "{}",
    "[]",
    "null",
    b"",
    b"\x93NUMPY",
    "[" * 100_000,
    '{"class": 3}',
)


def by_hand(rng: Any, folder: Path, how: str) -> str:
    """Change a journal by SQL; with fitting digests where it is forged."""
    connection = sqlite3.connect(folder / NAME, isolation_level=None)
    try:
        if how == "stranger":
            statement = str(rng.choice(STRANGERS))
            connection.execute(statement)
            return " ".join(statement.split()[:2])
        if how == "changed":
            statement = str(rng.choice(CHANGES))
            connection.execute(statement, (int(rng.integers(1, 36)),))
            return statement
        table, column = (
            ("run", "player"),
            ("run", "arrays"),
            ("run", "start"),
            ("now", "state"),
            ("now", "arrays"),
            *(("rounds", c) for c in ("action", "cost_gradient", "constraint_value")),
            *(("rounds", c) for c in ("constraint_subgradient", "cost_value", "certificate")),
        )[int(rng.integers(11))]
        junk = JUNK[int(rng.integers(len(JUNK)))]
        if column in ("player", "state") and rng.random() < 0.6:
            junk = twist(rng, connection.execute(f"SELECT {column} FROM {table}").fetchone()[0])
        try:
            connection.execute(f"UPDATE {table} SET {column} = ?", (junk,))
        except sqlite3.Error:
            return "junk that SQLite refuses"
        forge(connection)
        return f"{table}.{column} = {str(junk)[:20]!r}, with digests"
    finally:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()


def twist(rng: Any, text: str) -> str:
    """JSON with one of its parts replaced by another kind of value."""
    plain = json.loads(text)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in pairs:
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(plain)
    node, key = places[int(rng.integers(len(places)))]
    node[key] = [None, -1, 10**30, 1e300, "x", [], {}, {"array": 99}, {"float": "x"}][
        int(rng.integers(9))
    ]
    return json.dumps(plain)


def forge(connection: sqlite3.Connection) -> None:
    """Write the digests again, so that they fit what is there."""
    ((_, *columns, _),) = connection.execute("SELECT * FROM run").fetchall()
    chain = digest(*columns)
    connection.execute("UPDATE run SET digest = ?", (chain,))
    for number, *rest, _ in connection.execute("SELECT * FROM rounds ORDER BY round").fetchall():
        chain = digest(chain, number, *rest)
        connection.execute("UPDATE rounds SET digest = ? WHERE round = ?", (chain, number))
    ((_, number, *now, _),) = connection.execute("SELECT * FROM now").fetchall()
    connection.execute("UPDATE now SET digest = ?", (digest(chain, number, *now),))


# --- the promise ---------------------------------------------------------------------------------


def attack_journal(number: int, folder: Path) -> tuple[str, str]:
    """Damage a journal and open it: what was done, and what came of it."""
    rng = np.random.default_rng([number, 18])
    state = str(rng.choice(["closed", "killed", "folded"]))
    name = str(rng.choice(sorted(PLAYERS)))
    known = journal(name, state)
    files = dict(known.files)
    how = str(
        rng.choice(["hurt"] * 10 + ["swap"] * 2 + ["stranger", "changed", "forged", "forged"])
    )
    if how == "hurt":
        done = hurt(rng, files)
        if files and rng.random() < 0.2:
            done += f" and {hurt(rng, files)}"
    elif how == "swap":
        done = swap(rng, files, state, name)
        if state == "closed" or (done.endswith("file") and len(files) == 1):
            return "swapped whole", "a whole journal of another run"
    put(folder, files)
    if how in ("stranger", "changed", "forged"):
        put(folder, journal(name, "closed").files)
        done = by_hand(rng, folder, how)
    what = f"{how}: {done} ({name}, {state})"
    if not files_in(folder):
        return what, "nothing left"
    before = files_in(folder)
    read = outcome(what, lambda: replay(folder / NAME))
    if files_in(folder) != before:
        raise WrongError(f"{what}: replay changed {changed(before, files_in(folder))}")
    opened = outcome(what, lambda: Controller.open(folder / NAME))
    if isinstance(opened, Exception):
        if files_in(folder) != before:
            raise WrongError(f"{what}: refused, and changed {changed(before, files_in(folder))}")
        if not isinstance(read, Exception) and read.is_same and how != "forged":
            raise WrongError(f"{what}: refused ({opened}), and the replay found nothing")
        return what, "loss named" if isinstance(opened, LostRoundsError) else "refused"
    with opened:
        whole = opened.round == known.rounds + 1 and remembered(opened._memory()) == known.end
        if how == "forged":  # digests are no signature: what fits is a journal
            return what, "a forged one opened"
        if not whole:
            raise WrongError(f"{what}: opened in round {opened.round}, and rounds are lost")
    if isinstance(read, Exception) or not read.is_same or read.rounds != known.rounds:
        raise WrongError(f"{what}: opened whole, and the replay says {read}")
    return what, "opened whole"


def outcome(what: str, call: Any) -> Any:
    """What a call gives, or the error that it refuses a file with."""
    try:
        return call()
    except (StoreError, ResultsError) as error:
        if len(str(error).splitlines()) != 1:
            raise WrongError(f"{what}: several lines, {error}") from error
        return error
    except Exception as error:
        raise WrongError(f"{what}: {type(error).__name__}: {error}") from error


def changed(before: Bytes, after: Bytes) -> list[str]:
    """The names of files that differ."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


# --- results -------------------------------------------------------------------------------------


def cell(number: int) -> CellResult:
    """A small cell."""
    rng = np.random.default_rng(number)
    return CellResult(
        address=f"c{number}",
        spec={"seed": number},
        status="done",
        facts=Facts.from_plain({}),
        arrays={"regret": rng.normal(size=3), "worst": rng.normal(size=3)},
    )


@cache
def results() -> Bytes:
    """A file of results as a killed driver leaves it."""
    plan: dict[str, Any] = {"problem": "toy", "algorithm": "PFS", "horizon": 100, "block": 0}
    with tempfile.TemporaryDirectory() as home, Results.write(Path(home) / NAME) as made:
        made.set_header(name="attacked")
        made.set_plan([Place(address=f"c{n}", **plan) for n in range(6)])
        for n in range(6):
            made.put(cell(n))
        files = files_in(Path(home))
    files.pop(NAME + "-shm", None)
    return files


def attack_results(number: int, folder: Path) -> tuple[str, str]:
    """Damage results and read them: every cell is as it was, or missing, or named as damaged."""
    rng = np.random.default_rng([number, 19])
    files = dict(results())
    done = hurt(rng, files)
    put(folder, files)
    what = f"results: {done}"
    opened = outcome(what, lambda: Results.open(folder / NAME))
    if isinstance(opened, Exception):
        return what, "refused"
    with opened:
        have = outcome(what, opened.have)
        damaged = outcome(what, opened.damaged)
        found = Counter(look(what, opened, f"c{n}") for n in range(6))
    if found["whole"] == 6:
        return what, "opened whole"
    named = isinstance(have, Exception) or isinstance(damaged, Exception)
    if not named and len(have) + len(damaged) > 6:
        raise WrongError(f"{what}: {have} and {damaged}")
    return what, "loss named"


def look(what: str, opened: Results, address: str) -> str:
    found = outcome(what, lambda: opened.get(address))
    if isinstance(found, DamagedCellError):
        return "damaged"
    if isinstance(found, Exception):
        return "missing"
    wanted = cell(int(address[1:]))
    same = found.spec == wanted.spec and all(
        found.arrays[n].tobytes() == a.tobytes() for n, a in wanted.arrays.items()
    )
    if not same:
        raise WrongError(f"{what}: {address} is another")
    return "whole"


def attacks(first: int, count: int) -> Counter[str]:
    """Damage after damage: how often each outcome was met."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "attacked"
        for number in itertools.islice(itertools.count(first), count):
            folder.mkdir()
            attack = attack_results if number % 5 == 4 else attack_journal
            try:
                found[attack(number, folder)[1]] += 1
            except WrongError as error:
                found["WRONG"] += 1
                print(f"damage {number}: {error}", flush=True)
            shutil.rmtree(folder)
    return found


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--damages", type=float, default=1e3, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    options = parser.parse_args()
    found = attacks(options.first, int(options.damages))
    print(f"{int(options.damages):,} damages: ", end="")
    print(", ".join(f"{word} {count}" for word, count in sorted(found.items())))
    return 1 if found["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())

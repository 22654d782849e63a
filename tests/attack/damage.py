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
import sys
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import Ball, CertifiedPFS, Controller, replay
from surefoot.controller import JournalWarning, LostRoundsError, StoreError
from surefoot.controller.journal import seal
from surefoot.experiments import (
    CellResult,
    DamagedCellError,
    Facts,
    Place,
    Results,
    StoreError as ResultsError,
)
from surefoot.rules import PFS

START = np.array([0.2, 0.2])
PLAYERS = {
    "certified": CertifiedPFS(G_g=1.2, domain=Ball(1.5), rho=0.3),
    "PFS": PFS(eta=0.07, rho=0.03, domain=Ball(1.5)),
}
NAME = "run.jsonl"
Bytes = dict[str, bytes]


class Journalled(NamedTuple):
    """A journal as it was, with the actions of its run."""

    files: Bytes
    actions: list[bytes]


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
    """A journal that was closed, or killed, or is in several files."""
    with tempfile.TemporaryDirectory() as home:
        path, actions = Path(home) / NAME, []
        rotate = 12 if state == "several" else None
        start = START * (1 - 0.01 * seed)
        controller = Controller(PLAYERS[name], start, journal=path, rotate=rotate)
        for _ in range(35):
            actions.append(controller.ask().tobytes())
            play(controller, 1)
        actions.append(controller.ask().tobytes())
        files = files_in(Path(home))
        controller.close()
        if state == "closed":
            files = files_in(Path(home))
    return Journalled(files, actions)


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


JUNK = (None, 0, -1, "", [], {}, [[]], "[" * 1000, {"class": 3}, {"number": "x"}, {"array": 9})


def by_hand(rng: Any, folder: Path, how: str) -> str:
    """Change the lines of a journal; with fitting digests where they are forged."""
    path = folder / NAME
    lines = path.read_bytes().splitlines(keepends=True)
    at = int(rng.integers(len(lines)))
    if how == "changed":
        kind = str(rng.choice(["left out", "twice", "swapped"]))
        if kind == "left out":
            del lines[at]
        elif kind == "twice":
            lines.insert(at, lines[at])
        else:
            lines[at], lines[at - 1] = lines[at - 1], lines[at]
        path.write_bytes(b"".join(lines))
        return f"line {at} {kind}"
    records = [json.loads(line) for line in lines]
    record = records[at]
    del record["digest"]
    if rng.random() < 0.4:
        key = str(rng.choice(sorted(record)))
        record[key] = JUNK[int(rng.integers(len(JUNK)))]
        done = f"{key} = {str(record[key])[:20]!r}"
    else:
        records[at] = json.loads(twist(rng, json.dumps(record)))
        done = "a part is another"
    digest, data = "", b""
    for one in records:
        one.pop("digest", None)
        line, digest = seal(digest, one)
        data += line
    path.write_bytes(data)
    return f"line {at}: {done}, with digests"


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
    node[key] = [None, -1, 10**30, 1e300, "x", [], {}, {"array": 99}, {"number": "x"}][
        int(rng.integers(9))
    ]
    return json.dumps(plain)


# --- the promise ---------------------------------------------------------------------------------


def attack_journal(number: int, folder: Path) -> tuple[str, str]:
    """Damage a journal and open it: what was done, and what came of it."""
    rng = np.random.default_rng([number, 18])
    state = str(rng.choice(["closed", "killed", "several"]))
    name = str(rng.choice(sorted(PLAYERS)))
    known = journal(name, state)
    files = dict(known.files)
    how = str(rng.choice(["hurt"] * 10 + ["swap"] * 2 + ["changed", "forged", "forged"]))
    if how == "hurt":
        done = hurt(rng, files)
        if files and rng.random() < 0.2:
            done += f" and {hurt(rng, files)}"
    elif how == "swap":
        done = swap(rng, files, state, name)
        if len(files) == 1:
            return "swapped whole", "a whole journal of another run"
    put(folder, files)
    if how in ("changed", "forged"):
        put(folder, journal(name, "closed").files)
        done = by_hand(rng, folder, how)
    what = f"{how}: {done} ({name}, {state})"
    if not (folder / NAME).exists():
        return what, "nothing left"
    before = files_in(folder)
    read = outcome(what, lambda: replay(folder / NAME))
    if files_in(folder) != before:
        raise WrongError(f"{what}: replay changed {changed(before, files_in(folder))}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened = outcome(what, lambda: Controller.open(folder / NAME))
    if isinstance(opened, Exception):
        if files_in(folder) != before:
            raise WrongError(f"{what}: refused, and changed {changed(before, files_in(folder))}")
        return what, "loss named" if isinstance(opened, LostRoundsError) else "refused"
    with opened:
        if how == "forged":  # digests are no signature: what fits is a journal
            return what, "a forged one opened"
        if opened.ask().tobytes() != known.actions[opened.round - 1]:
            raise WrongError(f"{what}: opened in round {opened.round}, with another action")
        is_said = any(issubclass(w.category, JournalWarning) for w in caught)
        # A file that was cut between two lines is a whole journal, as promises.md says.
        is_older = known.files[NAME].startswith(before[NAME]) and before[NAME].endswith(b"\n")
        if opened.round != len(known.actions) and not is_said and not is_older:
            raise WrongError(f"{what}: opened in round {opened.round}, and rounds are lost")
    if isinstance(read, Exception) or not read.is_same or read.rounds != opened.round - 1:
        raise WrongError(f"{what}: opened, and the replay says {read}")
    return what, "opened whole" if opened.round == len(known.actions) else "torn or older"


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
        facts=Facts(),
        arrays={"regret": rng.normal(size=3), "largest": rng.normal(size=3)},
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
    if found is None or isinstance(found, Exception):
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

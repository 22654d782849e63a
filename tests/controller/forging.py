"""Forge the state in a journal: every part of it, in every way that a file can.

Run as a module it forges all parts of the states of all players that the kernel has, on each
engine, and ends with status 1 where one was answered by Python's own error.
"""

from __future__ import annotations

import copy
import math
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from tests.kernel.players import Limit, players

from surefoot import Controller, kernel
from surefoot.controller.members import Solo
from surefoot.controller.records import encode_loop, loop_from
from surefoot.core.errors import DamagedError, SurefootError

NUMBERS: tuple[Any, ...] = (
    None,
    True,
    "1.0",
    0.0,
    -1.0,
    0.5,
    7,
    -3,
    1e9,
    2.0**53,
    2**200,
    -1e300,
    1e300,
    1e-300,
    {"number": "nan"},
    {"number": "inf"},
    {"number": "-inf"},
    {"number": 1, "type": "int64"},
    {"number": 1.0, "type": "float32"},
    {"number": 1.0, "type": "float64"},
    [1.0],
    [[1.0, 2.0]],
    {"tuple": []},
    {"list": [1.0]},
    {"map": {"a": 1.0}},
    {"class": "Ball", "radius": 1.0},
)
"""What may stand where a number is."""


class Forgery(NamedTuple):
    """One changed part.

    Attributes:
        path: where.
        data: all of the state, changed.
    """

    path: tuple[Any, ...]
    data: Any

    def __str__(self) -> str:
        found = self.data
        for key in self.path:
            found = found[key] if not isinstance(found, dict) or key in found else "(removed)"
        return f"{'.'.join(map(str, self.path))} = {str(found)[:60]}"


def is_array(data: Any) -> bool:
    """Return whether plain data are those of an array."""
    return isinstance(data, list) or (isinstance(data, dict) and "array" in data)


def forged_arrays(data: Any) -> Iterator[Any]:
    """Yield what may stand where an array is."""
    if isinstance(data, list):
        array = np.array(data)
        kind, flat = "float64", array.ravel().tolist()
    else:
        kind, flat = data["type"], data["array"]
        array = np.zeros(data["shape"])
    shape = list(array.shape)
    yield from NUMBERS
    for other in ("int64", "float32", "bool", "float64"):
        if other != kind:
            yield {"array": [1] * len(flat), "type": other, "shape": shape}
    yield {"array": [], "type": kind, "shape": [0]}
    yield {"array": [], "type": kind, "shape": [0, *shape]}
    yield {"array": flat, "type": kind, "shape": [1, *shape]}
    yield {"array": flat[:1], "type": kind, "shape": []}
    for axis in range(len(shape)):
        for step in (-1, 1, 100):
            longer = [n + step * (i == axis) for i, n in enumerate(shape)]
            if min(longer, default=0) >= 0:
                count = math.prod(longer)
                yield {"array": [0.25] * count, "type": kind, "shape": longer}
    for number in ("nan", "inf", "-inf"):
        for at in {0, len(flat) - 1} if flat else ():
            entries = [*flat[:at], {"number": number}, *flat[at + 1 :]]
            yield {"array": entries, "type": kind, "shape": shape}
    for number in (0.0, -1.0, 1e9, 1e300, -1e300, 1e-300):
        if flat:
            yield {"array": [number, *flat[1:]], "type": kind, "shape": shape}
            yield {"array": [number] * len(flat), "type": kind, "shape": shape}


def forged_tables(data: Any) -> Iterator[Any]:
    """Yield what may stand where a record, a tuple or another table is."""
    yield from (None, True, "words", 1.5, [1.0, 2.0], {"tuple": []}, {"class": "Ball", "radius": 1})
    yield {"class": "Feedback"}
    yield {"class": "Anchor", "x": [0.0, 0.0], "value": -0.1, "round": 1}
    if "class" in data:
        yield {**data, "class": "Halt"}
        for name in data:
            yield {n: part for n, part in data.items() if n != name}
    for form in ("tuple", "list"):
        if form in data:
            parts = data[form]
            yield {form: parts[:-1]}
            yield {form: [*parts, *(parts[-1:] or [1.0])]}
            yield {form: parts * 50}
            yield {form: [*parts, {"class": "Feedback"}]}


def places_of(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every part of plain data with its path."""
    yield path, data
    if isinstance(data, dict) and not is_array(data) and "number" not in data:
        for key, part in data.items():
            if key != "class":
                yield from places_of(part, (*path, key))
    elif isinstance(data, list) and any(isinstance(part, dict) for part in data):
        for i, part in enumerate(data):
            yield from places_of(part, (*path, i))


def forgeries(data: Any) -> Iterator[Forgery]:
    """Yield the data with one part changed, for every part and way."""
    for path, part in places_of(data):
        if not path or (isinstance(part, list) and path[-1] in ("tuple", "list")):
            continue
        if is_array(part):
            others = forged_arrays(part)
        elif isinstance(part, dict) and "number" not in part:
            others = forged_tables(part)
        else:
            others = iter(NUMBERS)
        for other in others:
            changed = copy.deepcopy(data)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = other
            yield Forgery(path, changed)


def judge(run: Any, forgery: Forgery, told: Any) -> str:
    """Return what is wrong with how a forged state is taken; empty for nothing.

    It is refused in one sentence, or the loop goes on from it: the next call is answered, or
    refused in a sentence of the library.

    Args:
        run: what is played.
        forgery: the state.
        told: a function from an action to what a round is told.
    """
    try:
        loop = loop_from("a journal", forgery.data, run)
    except DamagedError as error:
        words = str(error)
        is_sentence = "\n" not in words and "a journal is damaged" in words
        return "" if is_sentence else f"{forgery}: no sentence: {words}"
    except Exception as error:
        return f"{forgery}: refused by {type(error).__name__}: {error}"
    controller = Controller(run.player, run.start)
    controller._now = (Solo(run, loop), None)
    try:
        with np.errstate(all="ignore"):
            str(controller.explain())
            for _ in range(2):
                controller.tell(**told(controller.ask()))
                encode_loop(controller._now[0].loop)
    except SurefootError as error:
        return "" if "\n" not in str(error) else f"{forgery}: no sentence: {error}"
    except Exception as error:
        return f"{forgery}: {type(error).__name__}: {error}"
    return ""


def sampled(data: Any, count: int, seed: int = 0) -> list[Forgery]:
    """Return some forgeries, of every part as many."""
    drawn = random.Random(seed)
    by_path: dict[Any, list[Forgery]] = {}
    for forgery in forgeries(data):
        by_path.setdefault(forgery.path, []).append(forgery)
    return [
        f for several in by_path.values() for f in drawn.sample(several, min(count, len(several)))
    ]


def telling(player: Any, d: int = 2) -> Any:
    """Return a function from an action to what a round is told."""
    limit = Limit(player, d)

    def told(x: Any) -> dict[str, Any]:
        seen = limit.told(1, x)
        names = ("cost_gradient", "constraint_value", "constraint_subgradient", "proposal")
        return {n: getattr(seen, n) for n in names if getattr(seen, n) is not None}

    return told


def played(player: Any, told: Any, rounds: int = 4) -> tuple[Any, Any]:
    """Return the run and the state of a loop after some rounds."""
    controller = Controller(player, np.full(2, 0.01), on_contradiction="record")
    for _ in range(rounds):
        controller.tell(**told(controller.ask()))
    (run, loop), _ = controller._now
    return run, loop


def main() -> int:
    """Forge all parts of all states; return how many were answered wrongly."""
    count, wrong = 0, 0
    warnings.simplefilter("ignore")
    for engine in kernel.engines():
        for name, player in players(2).items():
            with kernel.engine(engine):
                told = telling(player)
                run, loop = played(player, told)
                for forgery in forgeries(encode_loop(loop)):
                    words = judge(run, forgery, told)
                    count, wrong = count + 1, wrong + bool(words)
                    if words:
                        print(f"{engine}, {name}: {words}")
    print(f"{count} forged states, {wrong} answered by an error that is no sentence")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))

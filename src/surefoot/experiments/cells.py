"""The cells of an experiment: what is played, addressed by content, with seeds by content.

A cell is a problem, an algorithm, a horizon and a block of at most 30 trials. Its address is a
hash of that and of the version of the package, with the files of plugins. Labels, order, other
cells and the number of workers do not enter, so a played cell is found again however the file has
changed.

The seed of a block's streams comes from the specification's root and from the problem's content,
not from its place: all algorithms on a problem meet the same streams. What is drawn once for the
whole problem, such as the rows of a random polytope, comes from its own argument ``seed``: another
root plays other costs on the same set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from surefoot import __version__
from surefoot.experiments.plugins import mark_of
from surefoot.experiments.problems import BLOCK
from surefoot.experiments.record import Place
from surefoot.experiments.specification import Spec, trials_of


class Job(NamedTuple):
    """A cell to be played.

    Attributes:
        label: what progress and notes call it.
        address: hash of ``spec`` and of the version, in hexadecimal.
        spec: plain data: problem (name, arguments), algorithm, horizon, block, trials, seed,
            engine, recording; the rows of a plugin have its name and hash under "plugin".
    """

    label: str
    address: str
    spec: dict[str, Any]

    @property
    def rounds(self) -> int:
        """Rounds over all trials."""
        return int(self.spec["horizon"]) * int(self.spec["trials"])

    @property
    def program(self) -> tuple[Any, ...]:
        """A key shared by cells that probably run the same compiled program."""
        algorithm = self.spec["algorithm"]
        base = (algorithm.get("base") or {}).get("name")
        size = self.spec["problem"]["arguments"].get("dimension")
        return algorithm["name"], algorithm.get("tuning"), base, size, self.spec["engine"]

    @property
    def family(self) -> tuple[Any, ...]:
        """A key shared by cells whose rounds take equally long."""
        return self.spec["problem"]["name"], *self.program


def canonical(data: Any) -> str:
    """Return plain data as the one JSON text that stands for it; refuse NaN and infinities.

    Example:
        >>> canonical({"b": 1.0, "a": [True, None]})
        '{"a":[true,null],"b":1.0}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stream_seed(root: int, problem: Mapping[str, Any], block: int) -> int:
    """Return the seed of a block of trials.

    Args:
        root: the specification's.
        problem: name and arguments, plain data.
        block: from 0.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": None}}
        >>> stream_seed(0, toy, 0) == stream_seed(0, dict(reversed(toy.items())), 0)
        True
        >>> stream_seed(0, toy, 0) == stream_seed(0, toy, 1)
        False
    """
    # Not the source of a plugin: what another rule in it becomes does not change the streams.
    named = {key: problem[key] for key in ("name", "arguments")}
    digest = hashlib.sha256(canonical(named).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    state = np.random.SeedSequence(root, spawn_key=(*words, block)).generate_state(4, np.uint32)
    return int.from_bytes(state.astype("<u4").tobytes(), "little")


def cells_of(spec: Spec) -> Iterator[tuple[Place, Job]]:
    """Yield the cells with their places: by problem, horizon, block, then algorithm.

    Neighbours share a problem, its streams and its best action in hindsight. Where two places share
    a cell it comes twice.
    """
    for problem, algorithm, plain in _plain_cells(spec):
        yield job_at(problem, algorithm, plain)


def job_at(problem: str, algorithm: str, spec: dict[str, Any]) -> tuple[Place, Job]:
    """Return a cell with its place.

    Args:
        problem: its label.
        algorithm: its label.
        spec: of the cell.
    """
    address = hashlib.sha256(canonical([__version__, spec]).encode()).hexdigest()
    horizon, block = spec["horizon"], spec["block"]
    label = f"{problem}: {algorithm}, T = {horizon}" + (f", block {block + 1}" if block else "")
    place = Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )
    return place, Job(label, address, spec)


def rounds_of(spec: Spec) -> int:
    """Return the rounds of all trials of all cells."""
    return sum(cell["horizon"] * cell["trials"] for *_, cell in _plain_cells(spec))


def _plain_cells(spec: Spec) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield titles of problem and algorithm, and the cell."""
    rows = [(a, _marked(a.plain())) for a in spec.algorithms]
    for problem in spec.problems:
        named = _marked(problem.plain())
        games = [
            (
                a.title,
                plain,
                set(a.horizons or spec.horizons),
                trials_of(spec.trials, problem.trials, a.trials),
            )
            for a, plain in rows
            if a.plays(problem.title)
        ]
        for horizon in sorted({h for *_, horizons, _ in games for h in horizons}):
            here = [(title, plain, trials) for title, plain, hs, trials in games if horizon in hs]
            for block in range(-(-max(trials for *_, trials in here) // BLOCK)):
                for title, plain, trials in here:
                    left = min(trials - block * BLOCK, BLOCK)
                    if left < 1:
                        continue
                    cell = {
                        "problem": named,
                        "algorithm": plain,
                        "horizon": horizon,
                        "block": block,
                        "trials": left,
                        "seed": spec.seed,
                        "recording": spec.recording.of(horizon),
                        "engine": spec.engine,
                    }
                    yield problem.title, title, cell


def _marked(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the hash of its plugin, where it is from one."""
    mark = mark_of(plain["name"])
    inner = {"base": _marked(plain["base"])} if "base" in plain else {}
    return {**plain, **inner, **({"plugin": mark} if mark else {})}

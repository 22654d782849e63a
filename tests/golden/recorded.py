"""Golden files: read them, and replay what is in them."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tests.golden.driver import play
from tests.golden.streams import Stream

DATA = Path(__file__).parent / "data"
EVERY = 10
"""Of every so many actions one is kept."""
STRAYS = 7
"""In every so many rounds an action strays, in streams where some do."""


@dataclass(frozen=True)
class Case:
    """A player on a stream: what was read in every round, and every tenth action.

    Attributes:
        name: of player and stream.
        player: plain data.
        stream: what it met.
        tolerance: how far off an action may be, relative to the set's size.
        left_out: the rounds, of every tenth, whose action hangs on the last bit, and is not kept.
        values: as they were told.
        weights: of the rows that slopes are made of; the active row where it is one.
        strays: the actions really played in every seventh round, where they strayed.
        actions: after every tenth round.
    """

    name: str
    player: dict
    stream: Stream
    tolerance: float
    left_out: list
    values: np.ndarray
    weights: np.ndarray
    strays: np.ndarray
    actions: np.ndarray

    ARRAYS = ("values", "weights", "strays", "actions")

    @property
    def size(self):
        """The radius of the ball around the limit, which differences are relative to."""
        return self.stream.g.constants["R"]

    @property
    def kept(self):
        """The rounds whose action is kept."""
        every = range(EVERY, self.stream.rounds + 1, EVERY)
        return [t for t in every if t not in self.left_out]

    @property
    def plain(self):
        """All but the arrays; of the stream, what is not as usual."""
        usual = {f: v.default for f, v in Stream.__dataclass_fields__.items()}
        stream = {f: v for f, v in asdict(self.stream).items() if v != usual[f]}
        plain = {"name": self.name, "player": self.player, "stream": stream}
        return plain | {"tolerance": self.tolerance, "left_out": self.left_out}


def told(case):
    """Yield what the player is told in each round, as it was recorded; None for nothing."""
    stream = case.stream
    for t in range(-stream.late, stream.rounds - stream.late):
        strays = stream.strays and t % STRAYS == STRAYS - 1
        action = case.strays[t // STRAYS] if strays else None
        weights = None if case.weights is None else case.weights[t]
        yield None if t < 0 else stream.seen(t, case.values[t], weights, action)


def replay(case, change=lambda seen: seen):
    """Return all actions that a player takes today where it is told what was recorded."""
    game = play(case.player, case.stream.start)
    return np.array([next(game), *(game.send(seen and change(seen)) for seen in told(case))])


def distances(case, actions):
    """Return how far actions are from those that were kept, relative to the set's size."""
    return np.sqrt(((actions[case.kept] - case.actions) ** 2).sum(axis=1)) / case.size


def files():
    """Return the names of the golden files."""
    return sorted(path.stem for path in DATA.glob("*.npz"))


@cache
def _plain(file):
    return json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))["cases"]


def names(file):
    """Return the names of the cases of a golden file."""
    return [plain["name"] for plain in _plain(file)]


@cache
def read(file):
    """Return the cases of a golden file by their names."""
    cases = {}
    with np.load(DATA / f"{file}.npz") as data:
        for i, plain in enumerate(_plain(file)):
            own = {part: data.get(f"{i}.{part}") for part in Case.ARRAYS}
            case = Case(**plain | {"stream": Stream(**plain["stream"])}, **own)
            cases[case.name] = case
    return cases


def write(file, cases, by):
    """Write a golden file: plain data beside arrays."""
    lines = ",\n".join(f"  {json.dumps(case.plain)}" for case in cases)
    text = f'{{"written_by": {json.dumps(by)},\n "cases": [\n{lines}\n]}}\n'
    (DATA / f"{file}.json").write_text(text, encoding="utf-8")
    arrays = {f"{i}.{n}": getattr(case, n) for i, case in enumerate(cases) for n in Case.ARRAYS}
    np.savez_compressed(DATA / f"{file}.npz", **{n: a for n, a in arrays.items() if a is not None})

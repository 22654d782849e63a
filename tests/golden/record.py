"""Play every certified rule and filter, and keep what it did: ``python -m tests.golden.record``.

Golden files say what rules played when they were written. A replay is led: in every round it is
told what was read at the *recorded* action, because in closed loop even two right texts of a rule
part where two rows tie. Record again only where a rule is changed on purpose, name the files that
are meant (``python -m tests.golden.record values_follower``), and say why in the commit.

Some actions hang on the last bit even so: noisy slopes fill a memory with nearly parallel cuts, a
search ends one turn sooner, a probe is certified or not. They pin nothing. So last bits of all that
is told are changed, a few times; the first seed whose actions all stay is taken, or the one with
most of them, and those that do not stay are left out.
"""

import argparse
import platform
import time
from dataclasses import replace

import numpy as np
from tests.golden.cases import FILES
from tests.golden.driver import play
from tests.golden.recorded import EVERY, STRAYS, Case, distances, replay, write
from tests.golden.streams import Stream

import surefoot

NUDGES = 6
"""How often last bits are changed."""
SEEDS = 8
"""How many seeds are tried."""
STEADY = 0.1
"""The part of the tolerance by which an action may move then."""


def main(arguments=None):
    """Run the command line."""
    parser = argparse.ArgumentParser("python -m tests.golden.record")
    parser.add_argument("files", nargs="*", help=f"some of {', '.join(FILES)}")
    for file in parser.parse_args(arguments).files or list(FILES):
        begun = time.perf_counter()
        found = [steadiest(*case) for case in FILES[file]()]
        write(file, found, versions())
        left = [f"{case.name} ({len(case.left_out)})" for case in found if case.left_out]
        took = time.perf_counter() - begun
        print(f"{file}: {len(found)} cases in {took:.0f} s; left out: {'; '.join(left) or 'none'}")


def versions():
    """Return which versions play."""
    return {
        "surefoot": surefoot.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def steadiest(name, player, stream, tolerance):
    """Return the record of the first seed that is steady, or of the steadiest of a few."""
    best = None
    for seed in range(SEEDS):
        found = Stream(**stream, seed=seed)
        case = record(name, player(found), found, tolerance)
        moved = np.max([distances(case, replay(case, Nudge(i))) for i in range(NUDGES)], axis=0)
        stays = moved <= STEADY * tolerance
        left_out = [t for t, kept in zip(case.kept, stays, strict=True) if not kept]
        if best is None or len(left_out) < len(best.left_out):
            best = replace(case, left_out=left_out, actions=case.actions[stays])
        if not left_out:
            break
    assert len(best.actions) >= 2, f"{name}: only {len(best.actions)} actions are steady"
    return best


def record(name, player, stream, tolerance):
    """Play a stream in closed loop."""
    game = play(player, stream.start)
    actions = [next(game)]
    drifted, errors = stream.disturbances
    values, weights, strays, told = [], [], [], [None] * stream.late
    for t in range(stream.rounds):
        x, action = actions[-1], None
        if stream.strays and t % STRAYS == STRAYS - 1:
            x = action = 0.5 * (actions[-2] + x)
            strays.append(x)
        value, weight = stream.g.read(x)
        assert action is not None or np.all(value + drifted[t] <= 0), f"{name}: outside in {t}"
        values.append(value + drifted[t] + errors[t])
        weights.append(weight)
        told.append(stream.seen(t, values[t], weight, action))
        actions.append(game.send(told[t]))
    kind = np.uint16 if stream.limit == "polytope" else np.float64
    return Case(
        name,
        player,
        stream,
        tolerance,
        [],
        np.array(values),
        None if stream.values_only else np.array(weights, dtype=kind),
        np.array(strays) if strays else None,
        np.array(actions[EVERY::EVERY]),
    )


class Nudge:
    """Change the last bits of everything that is told."""

    def __init__(self, seed):
        self.rng = np.random.Generator(np.random.PCG64(seed))

    def __call__(self, seen):
        fields = ("gradient", "value", "slope", "proposal")
        found = {name: getattr(seen, name) for name in fields}
        return seen._replace(**{n: self._near(v) for n, v in found.items() if v is not None})

    def _near(self, value):
        factors = 1 + 2.0**-52 * self.rng.integers(-1, 2, np.shape(value))
        return float(value * factors) if isinstance(value, float) else value * factors


if __name__ == "__main__":
    main()

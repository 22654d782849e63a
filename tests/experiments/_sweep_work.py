"""What workers do in the tests of sweeps; imported by name in processes of their own.

Behaviour hangs on the horizon of a cell, or on a file in the folder named by ``SWEEP_LOG``, which
each process that plays a cell also writes to.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from surefoot.experiments import Results, build_spec, run
from surefoot.experiments.cells import play_cells

POISON, SLOW, BROKEN = 13, 17, 19


def spec(horizons=(20, 33), etas=(0.1, 0.03), trials=3, **more):
    """A few cells of milliseconds."""
    players = [
        {"name": "PFS", "label": f"PFS {eta:g}", "parameters": {"eta": eta, "rho": 0.01}}
        for eta in etas
    ]
    plain = {"name": "sweep", "horizons": list(horizons), "trials": trials, "algorithms": players}
    return build_spec({**plain, "problems": [{"name": "binding_toy"}], **more})


def many():
    """Forty cells."""
    return spec(horizons=range(20, 40))


def mixed():
    """Eight cells, with paths."""
    return spec(
        horizons=[40, 4_000],
        trials=30,
        algorithms=[
            {"name": "PFS", "tuning": "anytime"},
            {"name": "ScalarDPP", "parameters": {"V": {"power": 0.5}, "alpha": {"power": 1.0}}},
        ],
        problems=[{"name": "binding_toy"}, {"name": "ellipsoid", "dimension": 20, "trials": 7}],
        recording={"every": 10, "actions": 2},
    )


def contents(folder):
    """All that a file of results holds but when and where it was made."""
    with Results.open(folder / "results.sqlite") as results:
        assert not results.damaged()
        cells = [results.get(address) for address in sorted(results.have())]
    return {
        c.address: (c.spec, c.status, c.note, c.facts, {k: bits(v) for k, v in c.arrays.items()})
        for c in cells
    }


def small_file(write, pages):
    """Return what opens results in a file that cannot become larger than so many pages."""

    def write_little(path):
        results = write(path)
        results._rows(f"PRAGMA max_page_count = {pages}")
        return results

    return write_little


def bits(array):
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


def note(word):
    with Path(os.environ["SWEEP_LOG"]).open("a") as file:  # one write, so lines stay whole
        file.write(f"{os.getpid()} {word}\n")


def played():
    """Process and address of each cell that was begun, in order."""
    path = Path(os.environ["SWEEP_LOG"])
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


def logged(cells):
    found = []
    for cell in cells:
        note(cell[0])
        found += play_cells([cell])
    return found


def deadly(cells):
    """Kills its worker at the poison; is slow at the slow one; breaks the result of another."""
    for address, spec in cells:
        note(address)
        if spec["horizon"] == POISON:
            os._exit(9)
        if spec["horizon"] == SLOW:
            time.sleep(0.3)
        if spec["horizon"] == BROKEN:
            raise RuntimeError("no result can be had")
    return play_cells(cells)


def slowly(cells):
    """A twentieth of a second for each, so that something is always in flight."""
    found = []
    for cell in cells:
        note(cell[0])
        time.sleep(0.05)
        found += play_cells([cell])
    return found


def kill_and_go_on(folder, instants, seed):
    """Fork drivers that play in their own process, kill each at a random instant, go on.

    Begins anew in another folder whenever one is complete. A process of its own calls this: a fork
    needs one thread.

    Returns:
        How many were killed.
    """
    rng = np.random.default_rng(seed)
    made = spec(horizons=range(20, 30), etas=(0.1, 0.07, 0.05, 0.03))
    killed = number = 0
    play_cells([])
    while killed < instants:
        where = folder / f"sweep{number}"
        os.environ["SWEEP_LOG"] = str(folder / f"sweep{number}.log")
        attempt = os.fork()
        if not attempt:
            run(made, where, workers=0, _work=logged)
            os._exit(0)
        time.sleep(rng.uniform(0, 0.12))
        if os.waitpid(attempt, os.WNOHANG)[0]:
            number += 1
            continue
        os.kill(attempt, 9)
        _, status = os.waitpid(attempt, 0)
        if os.WIFSIGNALED(status):
            killed += 1
    run(made, where, workers=0, _work=logged)
    return killed


def main(how, folder, *rest):
    """A driver in a process of its own."""
    if how == "kill":
        print(kill_and_go_on(Path(folder), int(rest[0]), seed=7))
        return
    print("begin", flush=True)
    outcome = run(many(), Path(folder), workers=int(how), _work=slowly)
    print(outcome.done, outcome.interrupted, flush=True)


if __name__ == "__main__":
    import _sweep_work  # by the name that workers know it by

    _sweep_work.main(*sys.argv[1:])

"""What a cell of a sweep costs beside its game, and whether a large sweep costs more.

Sweeps of the same small cells, a hundred and ten thousand of them: each cell is played in
milliseconds, so what is measured is planning, handing out, writing and telling. The time of a cell
should not depend on how many there are, nor should the memory of the driver grow with what has
been played. The two are compared in one process, from the call to the end: in a pool a small sweep
is mostly the start of its workers. The large one is then played by a pool too.

``BAR`` is what the ratio may be; a missed one is marked, and the exit status is 0 all the same: a
busy machine must not fail a build. On a busy machine look at the processor's time.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

import surefoot
from surefoot.experiments import Event, Spec, build_spec, run

REPORT = Path("build/bench/sweep.json")
BAR = 1.2
HORIZONS = range(20, 30)


class Measured(NamedTuple):
    """A sweep.

    Attributes:
        cells: how many.
        workers: processes; 0 for this one.
        milliseconds: wall time a cell, from the call to the end.
        processor: processor time a cell, of driver and workers.
        tenth: resident memory of the driver after a tenth of the cells, in MB.
        end: the same after all of them.
        file: size of the results in MB.
    """

    cells: int
    workers: int
    milliseconds: float
    processor: float
    tenth: float
    end: float
    file: float


def spec(cells: int) -> Spec:
    """Return Polyak feasibility steps with as many step sizes as it takes."""
    players = [
        {"name": "PFS", "label": f"PFS {k}", "parameters": {"eta": 0.1 / (k + 1), "rho": 0.01}}
        for k in range(cells // len(HORIZONS))
    ]
    return build_spec(
        {
            "name": "sweep",
            "horizons": list(HORIZONS),
            "trials": 3,
            "problems": [{"name": "binding_toy"}],
            "algorithms": players,
        }
    )


def resident() -> float:
    """Return resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def processor() -> float:
    """Return processor seconds of this process and of those it has waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measure(cells: int, workers: int) -> Measured:
    made = spec(cells)
    memory: dict[int, float] = {}

    def look(event: Event) -> None:
        if event.done in (cells // 10, cells):
            memory[event.done] = resident()

    with tempfile.TemporaryDirectory() as folder:
        before = processor()
        outcome = run(made, Path(folder), workers=workers, progress=look)
        used = processor() - before
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
    assert outcome.done == cells, outcome
    return Measured(
        cells,
        workers,
        1e3 * outcome.seconds / cells,
        1e3 * used / cells,
        memory[cells // 10],
        memory[cells],
        size,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cells", type=int, nargs=2, default=(100, 10_000))
    options = parser.parse_args()
    few, many = options.cells
    measure(few, 0)  # imports, and files that the system has not seen yet
    # The median of several: one that is over in a second is at the mercy of its neighbours.
    small = sorted((measure(few, 0) for _ in range(9)), key=lambda m: m.milliseconds)[4]
    large, pool = measure(many, 0), measure(many, options.workers)
    table = Table(title="Sweeps of cells that take milliseconds", box=box.SIMPLE)
    for heading in (
        "cells",
        "workers",
        "ms a cell",
        "CPU ms a cell",
        "MB at 1/10",
        "MB",
        "file MB",
    ):
        table.add_column(heading, justify="right")
    for m in (small, large, pool):
        table.add_row(f"{m.cells:,}", str(m.workers), *(f"{value:.2f}" for value in m[2:]))
    console = Console()
    console.print(table)
    ratios = {
        "time": large.milliseconds / small.milliseconds,
        "processor": large.processor / small.processor,
    }
    for name, ratio in ratios.items():
        mark = "" if ratio <= BAR else f"  [bold red]above {BAR}[/]"
        console.print(f"{name} a cell, {many:,} cells over {few:,}: {ratio:.2f}{mark}")
    grown = pool.end - pool.tenth
    console.print(f"driver's memory over the last nine tenths with a pool: {grown:+.1f} MB")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "surefoot": surefoot.__version__,
        "platform": platform.platform(),
        "ratios": ratios,
        "sweeps": [m._asdict() for m in (small, large, pool)],
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

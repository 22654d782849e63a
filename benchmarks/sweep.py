"""What a cell of a sweep costs beside its game, and whether a large sweep costs more.

Two sweeps of the same small cells, a hundred and ten thousand of them: each cell is played in
milliseconds, so what is measured is planning, handing out, writing and telling. The time of a
cell, without that of starting the workers, should not depend on how many there are, nor should the
memory of the driver grow with what has been played. ``BAR`` is what the ratio may be; a missed one
is marked, and the exit status is 0 all the same: a busy machine must not fail a build. On a busy
machine look at the processor's time.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

import surefoot
from surefoot.experiments.running import Event, run
from surefoot.experiments.spec import Spec

REPORT = Path("build/bench/sweep.json")
BAR = 1.2
HORIZONS = range(20, 30)


class Measured(NamedTuple):
    """A sweep.

    Attributes:
        cells: how many.
        milliseconds: wall time a cell, from the first that was written to the last.
        processor: time of all processors a cell, of driver and workers, starting included.
        tenth: resident memory of the driver after a tenth of the cells, in MB.
        end: the same after all of them.
        file: size of the results in MB.
    """

    cells: int
    milliseconds: float
    processor: float
    tenth: float
    end: float
    file: float


def spec(cells: int) -> Spec:
    """Polyak feasibility steps with as many step sizes as it takes."""
    players = [
        {"name": "PFS", "label": f"PFS {k}", "parameters": {"eta": 0.1 / (k + 1), "rho": 0.01}}
        for k in range(cells // len(HORIZONS))
    ]
    return Spec.model_validate(
        {
            "name": "sweep",
            "horizons": list(HORIZONS),
            "trials": 3,
            "problems": [{"name": "binding_toy"}],
            "algorithms": players,
        }
    )


def resident() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def processor() -> float:
    """Seconds of processor time, of this process and of those it has waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measure(cells: int, workers: int) -> Measured:
    made = spec(cells)
    moments: list[float] = []
    memory: dict[int, float] = {}

    def look(event: Event) -> None:
        if event.done in (1, cells):
            moments.append(time.perf_counter())
        if event.done in (cells // 10, cells):
            memory[event.done] = resident()

    with tempfile.TemporaryDirectory() as folder:
        before = processor()
        outcome = run(made, Path(folder), workers=workers, progress=look)
        used = processor() - before
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
    assert outcome.done == cells, outcome
    first, last = moments
    return Measured(
        cells,
        1e3 * (last - first) / (cells - 1),
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
    found = [measure(cells, options.workers) for cells in options.cells]
    table = Table(title=f"A sweep with {options.workers} workers", box=box.SIMPLE)
    for heading in (
        "cells",
        "ms a cell",
        "CPU ms a cell",
        "MB at a tenth",
        "MB at the end",
        "file MB",
    ):
        table.add_column(heading, justify="right")
    for m in found:
        table.add_row(f"{m.cells:,}", *(f"{value:.2f}" for value in m[1:]))
    console = Console()
    console.print(table)
    ratio = found[1].milliseconds / found[0].milliseconds
    grown = found[1].end - found[1].tenth
    mark = "" if ratio <= BAR else f"  [bold red]above {BAR}[/]"
    console.print(f"time a cell, large over small: {ratio:.2f}{mark}")
    console.print(f"driver's memory over the last nine tenths of the large one: {grown:+.1f} MB")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "surefoot": surefoot.__version__,
        "platform": platform.platform(),
        "workers": options.workers,
        "ratio": ratio,
        "sweeps": [m._asdict() for m in found],
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

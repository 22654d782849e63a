"""From the start of a process: imports, the command line's help, the paper's experiment.

Imports are compared by the processor time of the child process, which a busy machine changes less
than time on the wall; what a user waits for (``--help``, the experiment) is on the wall.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.findings import Findings, Row, compared
from benchmarks.timing import Effort, spread
from surefoot.core.types import Array

EXPERIMENT = Path(__file__).with_name("paper_experiment.py")
HELP = "import sys; sys.argv = ['surefoot', '--help']; from surefoot.cli import main; main()"
IMPORTS = {
    "python": "pass",
    "import numpy": "import numpy",
    "import surefoot": "import surefoot",
    "import and look up play": "from surefoot import PFS, play",
    "surefoot --help": HELP,
}


def run(effort: Effort) -> Findings:
    """Measure imports, help and an experiment."""
    turns = 2 if effort.tiny else 15
    cpu, wall = starts({name: ["-c", code] for name, code in IMPORTS.items()}, turns)
    rows = [
        compared("start", "processor time", cpu, "import surefoot", "import numpy", bar=1.3),
        # Names are looked up when they are first used: the price of a game is paid here.
        compared("start", "processor time", cpu, "import and look up play", "import numpy"),
        compared("start", "processor time", cpu, "import surefoot", "python"),
        compared("start", "processor time", cpu, "surefoot --help", "import numpy"),
        Row(
            "start", "on the wall", "surefoot --help", "", spread(wall["surefoot --help"]), bar=0.3
        ),
    ]
    if effort.tiny:
        return Findings(rows)
    name = "the paper's experiment"
    cpu, wall = starts({name: [str(EXPERIMENT)]}, 5)
    rows.append(Row("start", "process start to numbers", name, "", spread(wall[name]), bar=1.0))
    best = f"start: the best of {len(wall[name])} experiments took {wall[name].min():.2f} s"
    return Findings(rows, remarks=[f"{best}, {np.median(cpu[name]):.2f} s of it the processor's"])


def starts(
    commands: dict[str, Sequence[str]], turns: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return processor and wall seconds of processes started in turn, the first left out.

    It writes byte code and compiled programs that later ones find.
    """
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    wall: dict[str, list[float]] = {name: [] for name in commands}
    # Byte code is written, as it is for users, whatever this process was told.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(turns + 1):
        for name, arguments in commands.items():
            begun, before = time.perf_counter(), _children()
            command = [sys.executable, *arguments]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            wall[name].append(time.perf_counter() - begun)
            cpu[name].append(_children() - before)
            if done.returncode:
                raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
    return _arrays(cpu), _arrays(wall)


def _children() -> float:
    """Return processor seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arrays(times: dict[str, list[float]]) -> dict[str, Array]:
    return {name: np.array(taken[1:]) for name, taken in times.items()}

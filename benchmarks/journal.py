"""What a journalled ``tell`` costs, against another version of the sources.

``python -m benchmarks.journal OTHER/src`` plays the same rounds by both, in two processes that take
turns of a few rounds, so that both meet the same disk at the same time. The last lines compare both
with a write of 4 kB and a sync, which is what the disk alone takes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

__all__ = ["main"]


def play(path: str, dimension: int) -> None:
    """Play as many rounds as each line of the input says; print the microseconds of each tell."""
    from surefoot import Ball, Controller
    from surefoot.rules import CertifiedPFS

    player = CertifiedPFS(G_g=1.2, domain=Ball(1.5), rho=0.3)
    gradient, normal = np.zeros(dimension), np.zeros(dimension)
    gradient[:2], normal[:2] = (0.3, -0.7), (0.6, 0.9)
    controller = Controller(player, np.zeros(dimension), journal=path)
    for line in sys.stdin:
        taken = []
        for _ in range(int(line)):
            x = controller.ask()
            value = float(normal @ x) - 0.5
            begun = time.perf_counter()
            controller.tell(
                cost_gradient=gradient, constraint_value=value, constraint_subgradient=normal
            )
            taken.append(time.perf_counter() - begun)
        print(*(f"{1e6 * t:.1f}" for t in taken), flush=True)
    controller.close()


def sync(path: Path, count: int) -> list[float]:
    """Return the microseconds that a write of 4 kB in place and a sync take."""
    taken = []
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, bytes(1 << 20), 0)
    os.fsync(descriptor)
    for n in range(count):
        begun = time.perf_counter()
        os.pwrite(descriptor, bytes(4096), n % 256 * 4096)
        os.fdatasync(descriptor)
        taken.append(1e6 * (time.perf_counter() - begun))
    os.close(descriptor)
    return taken


def main() -> int:
    """Measure in turns, and print the quartiles and their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", help="folder of the sources to compare with")
    parser.add_argument("--turns", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=20, help="of a turn")
    parser.add_argument("--dimension", type=int, default=2, help="of the actions")
    parser.add_argument("--folder", help="on the disk to measure")
    options = parser.parse_args()
    here = str(Path(__file__).parents[1] / "src")
    taken: dict[str, list[float]] = {"other": [], "this": [], "sync": []}
    with tempfile.TemporaryDirectory(dir=options.folder) as home:
        workers = {
            name: subprocess.Popen(
                [sys.executable, __file__, "--play", f"{home}/{name}.db", str(options.dimension)],
                env=os.environ | {"PYTHONPATH": source},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name, source in (("other", options.other), ("this", here))
        }
        for turn in range(options.turns):
            for name in ("other", "this") if turn % 2 else ("this", "other"):
                worker = workers[name]
                assert worker.stdin is not None
                assert worker.stdout is not None
                print(options.rounds, file=worker.stdin, flush=True)
                taken[name] += map(float, worker.stdout.readline().split())
            taken["sync"] += sync(Path(home) / "sync", options.rounds)
        for worker in workers.values():
            worker.communicate()
    for name, found in taken.items():
        low, middle, high = np.percentile(found, [25, 50, 75])
        print(
            f"{name:5} {len(found):,} times: median {middle:,.0f} us, quartiles {low:,.0f} and "
            f"{high:,.0f}, mean {np.mean(found):,.0f}"
        )
    this, other = taken["this"], taken["other"]
    print(
        f"this / other: median {np.median(this) / np.median(other):.2f}, "
        f"mean {np.mean(this) / np.mean(other):.2f}"
    )
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())

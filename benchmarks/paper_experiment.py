"""The paper's regret experiment, from the start of the process to its numbers.

PFS as plotted, DPP and DPP-T on the published streams: thirty trials, ten horizons, sums recorded.
The cube is given as a polytope by its rows, and the engine is left to the library. With ``--parts``
the time is told part by part.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter()  # before the imports, which are part of what a user waits for

import argparse  # noqa: E402
import math  # noqa: E402

import numpy as np  # noqa: E402

IMPORTED_NUMPY = time.perf_counter()

from collections.abc import Sequence  # noqa: E402

from surefoot import PFS, Problem, Trace, play  # noqa: E402
from surefoot.core.types import Player  # noqa: E402
from surefoot.problems import HORIZONS, SETTINGS, paper_toy  # noqa: E402
from surefoot.problems.constraints import Affine  # noqa: E402
from surefoot.rules import ScalarDPP, Tighten  # noqa: E402

IMPORTED = time.perf_counter()


def polytope_toy() -> Problem:
    toy = paper_toy()
    rows = Affine(np.vstack([np.eye(2), -np.eye(2)]), np.full(4, 0.5))
    return Problem.of(toy.costs, rows, toy.domain, toy.start, name="polytope toy")


def contenders(problem: Problem) -> dict[str, Sequence[Player]]:
    ball = problem.domain
    steps = [SETTINGS[0].parameters(T) for T in HORIZONS]
    queues = [ScalarDPP(V=math.sqrt(T), alpha=float(T), domain=ball) for T in HORIZONS]
    shares = [0.45 * min(1.0, 20 / math.sqrt(T)) for T in HORIZONS]
    return {
        "PFS": [PFS(eta=eta, rho=rho, domain=ball) for eta, rho in steps],
        "DPP": queues,
        "DPP-T": [Tighten(base=q, rho=rho) for q, rho in zip(queues, shares, strict=True)],
    }


def show(name: str, traces: list[Trace]) -> None:
    regret = [float(trace.final_regret().mean()) for trace in traces]
    worst = max(float(trace.violations.largest.max()) for trace in traces)
    print(f"{name:6}" + "".join(f"{r:7.1f}" for r in regret) + f"   largest g {worst:+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", action="store_true", help="tell where the time went")
    parts = {"NumPy": IMPORTED_NUMPY - BEGUN, "surefoot": IMPORTED - IMPORTED_NUMPY}
    wanted = parser.parse_args().parts
    at = time.perf_counter()
    problem = polytope_toy()
    parts["streams drawn"] = time.perf_counter() - at
    print(f"{'regret':6}" + "".join(f"{T:7,}" for T in HORIZONS))
    notes = []
    for name, players in contenders(problem).items():
        at = time.perf_counter()
        traces = [
            play(player, problem, horizon=T, every=None, keep_actions=False, watch="off")
            for player, T in zip(players, HORIZONS, strict=True)
        ]
        parts[f"{name} played"] = time.perf_counter() - at
        at = time.perf_counter()
        show(name, traces)
        parts["regret"] = parts.get("regret", 0.0) + time.perf_counter() - at
        notes.append(f"{name}: {traces[0].engine_note}")
    print("\n".join(notes))
    print(f"{time.perf_counter() - BEGUN:.2f} s")
    if wanted:
        print("".join(f"\n{seconds:8.3f} s  {part}" for part, seconds in parts.items()))


if __name__ == "__main__":
    main()

"""The step that `surefoot export-c` writes: the same bits by every compiler, and how fast.

``python -m benchmarks.exported`` plays 10^5 rounds by each rule in the compiled kernel, gives what
was seen to the header, compiled in several ways, compares every action bit for bit, and times it.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import Ball, kernel
from surefoot.controller.export import c_header
from surefoot.core.feedback import Feedback
from surefoot.knowledge import Curvature, CurvatureRows, LipschitzHull
from surefoot.rules import (
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.sets import Box

STRICT = ("-ffp-contract=off", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
WAYS = (
    ("gcc", "-O0"),
    ("gcc", "-O2"),
    ("gcc", "-O3"),
    ("gcc", "-O3", "-march=native"),
    ("clang", "-O2"),
)
SOURCE = r"""
#include "port.h"

static double state[PORT_STATE], work[PORT_SCRATCH];

const double *the_state(void) { return state; }
int doubles(void) { return PORT_STATE; }
int start(const double *x1) { return port_init(&port_player, state, x1); }

/* One round; out has the action, the bound and the alarms. */
int one(const double *told, const double *g, const double *s, const double *action, double *out)
{
    port_feedback seen = {0};
    port_info info;
    if (port_player.proposer == PORT_PROPOSALS) {
        seen.proposal = told;
    } else {
        seen.gradient = told;
    }
    seen.g = g;
    seen.s = s;
    seen.action = action;
    const int status = port_step(&port_player, state, &seen, work, &info);
    memcpy(out, state, PORT_D * sizeof(double));
    out[PORT_D] = status == PORT_OK ? info.bound : 0.0;
    out[PORT_D + 1] = status == PORT_OK ? info.alarms : 0.0;
    return status;
}

/* Rounds one after another: a row is what was told, g and s. */
long many(const double *rows, long count, double *out)
{
    const int m = port_player.rows;
    for (long k = 0; k < count; k++, rows += PORT_D + m + m * PORT_D, out += PORT_D + 2) {
        if (one(rows, rows + PORT_D, rows + PORT_D + m, NULL, out) != PORT_OK) {
            return k;
        }
    }
    return count;
}
"""

BALL = Ball(1.5)
PLAYERS = {
    "CertifiedPFS": CertifiedPFS(G_g=1.2, domain=BALL, rho=0.3),
    "LeaderFollower": LeaderFollower(G_g=1.2, domain=BALL),
    "LeaderFollower, two cuts": LeaderFollower(G_g=1.2, domain=BALL, cuts=2),
    "SafetyFilter": SafetyFilter(G_g=1.2, domain=BALL, rho=0.1),
    "RegionFilter, hull": RegionFilter(knowledge=LipschitzHull(G_g=1.2, reach=1.5)),
    "RegionFilter, curvature": RegionFilter(knowledge=Curvature(beta=1.0, reach=1.5)),
    "CertifiedOGD": CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.5), radius=1.5),
    "CertifiedDualAveraging": CertifiedDualAveraging(
        knowledge=Curvature(beta=1.0, reach=1.5), radius=1.5
    ),
    "CertifiedOGD, rows": CertifiedOGD(
        knowledge=CurvatureRows(beta=1.0, rows=3, domain=BALL), radius=1.5
    ),
    "CertifiedDualAveraging, rows": CertifiedDualAveraging(
        knowledge=CurvatureRows(beta=1.0, rows=3, reach=1.5), radius=1.5
    ),
    "RegionFilter, rows in a box": RegionFilter(
        knowledge=CurvatureRows(beta=1.0, rows=3, domain=Box([-0.5, -0.4], [0.6, 0.7]))
    ),
}


class Port:
    """A header compiled to a library, with one state."""

    def __init__(
        self, player: Any, d: int, folder: Path, way: tuple[str, ...] = ("gcc", "-O2")
    ) -> None:
        (folder / "port.h").write_text(c_header(player, d, name="port"), encoding="utf-8")
        (folder / "port.c").write_text(SOURCE, encoding="utf-8")
        name = f"port{len(list(folder.glob('*.so')))}.so"
        command = (*way, *STRICT, "-shared", "-fPIC", "port.c", "-o", name, "-lm")
        subprocess.run(command, cwd=folder, check=True)
        self.d, self.library = d, ctypes.CDLL(str(folder / name))
        self.library.many.restype = ctypes.c_long
        self.library.the_state.restype = ctypes.POINTER(ctypes.c_double)

    def start(self, x1: Any) -> int:
        """Return the status of init."""
        return int(self.library.start(_pointer(x1)))

    def step(self, told: Any, g: Any, s: Any, action: Any = None) -> tuple[int, Any]:
        """Return the status of one round; the action, its bound and the alarms."""
        out = np.empty(self.d + 2)
        at = None if action is None else _pointer(action)
        status = self.library.one(
            _pointer(told), _pointer(np.atleast_1d(g)), _pointer(s), at, _pointer(out)
        )
        return int(status), out

    def many(self, rows: Any) -> Any:
        """Return the actions after each of several rounds, with their bounds and alarms."""
        out = np.empty((len(rows), self.d + 2))
        done = self.library.many(_pointer(rows), ctypes.c_long(len(rows)), _pointer(out))
        return out[:done]

    @property
    def state(self) -> Any:
        """A copy of the block."""
        found = np.ctypeslib.as_array(self.library.the_state(), (self.library.doubles(),))
        return found.copy()


def _pointer(array: Any) -> Any:
    held = np.ascontiguousarray(array, dtype=np.float64)
    return held.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def observe(player: Any, x: Any) -> tuple[Any, Any]:
    """Return g and a slope at an action: of bowls where the curvature is known, else a polytope."""
    d, m = len(x), player.knowledge.row_count
    if "Curvature" in repr(player):
        bend = np.array([[1.0, 0.4, *[0.3] * d][:d], [0.3, 1.0, *[0.5] * d][:d], [0.6] * d])[:m]
        g, s = 0.5 * bend @ (x * x) - 0.4, bend * x
        return (g, s) if m > 1 else (float(g[0]), s[0])
    rows = np.array([[0.6, 0.8], [-1.0, 0.1], [0.3, -1.0], [0.9, -0.2]])
    rows = np.hstack([rows, np.full((4, max(d - 2, 0)), 0.1)])[:, :d]
    values = rows @ x - np.array([0.5, 0.6, 0.4, 0.7])
    i, round_ = int(values.argmax()), float(np.sqrt(x @ x)) - 0.62
    if round_ > values[i] and round_ > -0.5:
        return round_, x / np.sqrt(x @ x)
    return float(values[i]), rows[i].copy()


def play(player: Any, d: int, rounds: int, seed: int = 0) -> tuple[Any, Any]:
    """Play a game: costs with a direction that changes now and then, noise around it.

    Returns:
        What was told, g and s of each round; and the actions after it, with bounds and alarms.
    """
    rng = np.random.default_rng(seed)
    state, rows, ends = player.init(np.full(d, 0.01)), [], []
    for t in range(rounds):
        if t % 500 == 0:
            trend = rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0])
        x = state.x
        g, s = observe(player, x)
        told = trend + rng.normal(size=d)
        seen = Feedback(told, g, s)
        if player.needs.proposals:
            told = x + 0.1 * told
            seen = Feedback(None, g, s, proposal=told)
        state, info = player.step(state, seen)
        rows.append(np.concatenate([told, np.atleast_1d(g), np.ravel(s)]))
        ends.append(np.append(state.x, [info.kernel.bound, info.kernel.alarms]))
    return np.array(rows), np.array(ends)


def fastest(port: Port, rows: Any) -> float:
    """Return the seconds of a step: the best of many turns, so that a busy machine counts less."""
    taken = []
    for _ in range(20):
        port.start(np.full(port.d, 0.01))
        begun = time.thread_time()
        port.many(rows)
        taken.append(time.thread_time() - begun)
    return min(taken) / len(rows)


def main() -> int:
    """Compare and time every rule; the exit code says whether all bits were the same."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=2)
    options = parser.parse_args()
    if kernel.compiled() is None:
        print(kernel.sentence())
        return 1
    d, ways, same = options.dimension, [w for w in WAYS if shutil.which(w[0])], True
    for name, player in PLAYERS.items():
        rows, ends = play(player, d, options.rounds)
        with tempfile.TemporaryDirectory() as folder:
            ports = {" ".join(way): Port(player, d, Path(folder), way) for way in ways}
            for way, port in ports.items():
                port.start(np.full(d, 0.01))
                found = port.many(rows)
                equal = found.tobytes() == ends.tobytes()
                same &= equal
                nanoseconds = 1e9 * fastest(port, rows[:2_000])
                said = "bit for bit" if equal else "OTHER BITS"
                print(f"{name}, {way}: {len(rows)} rounds {said}, {nanoseconds:.0f} ns")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

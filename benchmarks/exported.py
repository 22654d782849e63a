"""The step that `surefoot export-c` writes, compiled: the same bits as in Python, and how fast.

``python -m benchmarks.exported`` plays 10^5 rounds at d = 2 by each rule in Python, gives what was
seen to the compiled header, compares every action bit for bit, and times the compiled steps.
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
from typing import Any, NamedTuple

import numpy as np

from surefoot import Ball
from surefoot.algorithms import (
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.controller.export import c_header
from surefoot.core.types import Feedback
from surefoot.regions import Curvature, LipschitzHull

__all__ = ["PLAYERS", "Compiled", "Info", "main", "played"]

FLAGS = ("-O2", "-ffp-contract=off", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILER = "gcc"

SOURCE = r"""
#include <stddef.h>
#include "port.h"

size_t state_size(void) { return sizeof(port_state); }

int start(port_state *state, const double *x1) { return port_init(state, x1); }

int move(port_state *state, const double *x) { return port_move(state, x); }

int one(port_state *state, const double *told, double g, const double *s, port_info *info)
{
    return port_step(state, told, g, s, info);
}

/* Rounds one after another: a row is what was told, g and s; out has the action and the bound. */
long many(port_state *state, const double *rows, long count, double *out)
{
    port_info info;
    for (long k = 0; k < count; k++, rows += 2 * PORT_D + 1, out += PORT_D + 1) {
        if (port_step(state, rows, rows[PORT_D], rows + PORT_D + 1, &info) != PORT_OK) {
            return k;
        }
        for (int i = 0; i < PORT_D; i++) {
            out[i] = state->x[i];
        }
        out[PORT_D] = info.bound;
    }
    return count;
}
"""

BALL = Ball(1.5)
PLAYERS = {
    "CertifiedPFS": CertifiedPFS(G_g=1.2, domain=BALL, rho=0.3),
    "CertifiedOGD": CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.5), radius=1.5),
    "LeaderFollower": LeaderFollower(G_g=1.2, domain=BALL, cuts=2),
    "LeaderFollower, changing": LeaderFollower(G_g=1.2, domain=BALL, cuts=2, lazy=False),
    "LeaderFollower, careful": LeaderFollower(G_g=1.2, domain=BALL, cuts=2, gradient_bound=1e-3),
    "SafetyFilter": SafetyFilter(G_g=1.2, domain=BALL, rho=0.1),
    "RegionFilter, hull": RegionFilter(knowledge=LipschitzHull(G_g=1.2, reach=1.5)),
    "RegionFilter, curvature": RegionFilter(knowledge=Curvature(beta=1.0, reach=1.5)),
}


class Info(ctypes.Structure):
    """What a step knew, as the header has it."""

    _fields_ = (
        ("bound", ctypes.c_double),
        ("cut", ctypes.c_int),
        ("alarms", ctypes.c_uint),
    )


class Compiled:
    """A header compiled to a library, with one state."""

    def __init__(self, header: str, d: int, folder: Path) -> None:
        (folder / "port.h").write_text(header, encoding="utf-8")
        (folder / "port.c").write_text(SOURCE, encoding="utf-8")
        command = (COMPILER, *FLAGS, "-shared", "-fPIC", "port.c", "-o", "port.so", "-lm")
        subprocess.run(command, cwd=folder, check=True)
        self.d, self.library = d, ctypes.CDLL(str(folder / "port.so"))
        self.library.state_size.restype = ctypes.c_size_t
        self.library.many.restype = ctypes.c_long
        self.state = ctypes.create_string_buffer(self.library.state_size())

    def start(self, x1: Any) -> int:
        """Return the status of init."""
        return int(self.library.start(self.state, _pointer(np.asarray(x1, dtype=np.float64))))

    def move(self, x: Any) -> int:
        """Return the status of starting from another action."""
        return int(self.library.move(self.state, _pointer(np.asarray(x, dtype=np.float64))))

    def step(self, told: Any, g: float, s: Any) -> tuple[int, Info]:
        """Return the status of one round, and what it knew."""
        info = Info()
        status = self.library.one(
            self.state, _pointer(told), ctypes.c_double(g), _pointer(s), ctypes.byref(info)
        )
        return int(status), info

    def many(self, rows: Any) -> tuple[Any, Any]:
        """Return the actions after each of several rounds, and their bounds."""
        out = np.empty((len(rows), self.d + 1))
        done = self.library.many(
            self.state, _pointer(rows), ctypes.c_long(len(rows)), _pointer(out)
        )
        return out[:done, : self.d], out[:done, self.d]

    @property
    def x(self) -> Any:
        """The action to play."""
        return np.frombuffer(self.state.raw[: 8 * self.d]).copy()


def _pointer(array: Any) -> Any:
    return np.ascontiguousarray(array).ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Played(NamedTuple):
    """Rounds of a player in Python.

    Attributes:
        rows: what was told, g and s of each round.
        actions: after each round.
        states: before each round; empty unless asked for.
        infos: what each step knew; likewise.
        state: after the last round.
    """

    rows: Any
    actions: Any
    states: list[Any]
    infos: list[Any]
    state: Any


def observed(player: Any, x: Any) -> tuple[float, Any]:
    """Return g and a slope at an action: of a bowl where the curvature is known, else a polytope.

    The bowl shows the leader another half-space in every round, so both are given to it.
    """
    d = len(x)
    if "Curvature" in repr(player):
        bend = np.array([1.0, 0.4, *[0.3] * d][:d])
        return 0.5 * float(x @ (bend * x)) - 0.4, bend * x
    rows = np.array([[0.6, 0.8], [-1.0, 0.1], [0.3, -1.0], [0.9, -0.2]])
    rows = np.hstack([rows, np.full((4, max(d - 2, 0)), 0.1)])[:, :d]
    values = rows @ x - np.array([0.5, 0.6, 0.4, 0.7])
    i, round_ = int(values.argmax()), float(np.sqrt(x @ x)) - 0.62
    if round_ > values[i] and round_ > -0.5:
        return round_, x / np.sqrt(x @ x)
    return float(values[i]), rows[i].copy()


def feedback(player: Any, told: Any, g: float, s: Any) -> Feedback:
    """Return what is told: a proposal to a filter, else a gradient."""
    if player.needs.proposals:
        return Feedback(None, g, s, proposal=told)
    return Feedback(told, g, s)


def played(player: Any, d: int, rounds: int, seed: int = 0, *, keep: bool = False) -> Played:
    """Play in Python: costs with a direction that changes now and then, noise around it."""
    rng = np.random.default_rng(seed)
    state = player.init(np.full(d, 0.01))
    rows, actions, states, infos = np.empty((rounds, 2 * d + 1)), np.empty((rounds, d)), [], []
    for t in range(rounds):
        if t % 500 == 0:
            trend = rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0])
        g, s = observed(player, state.x)
        noise = rng.normal(size=d)
        told = trend + noise
        if player.needs.proposals:
            told = state.x + 0.1 * trend + 0.3 * noise
        rows[t] = *told, g, *s
        if keep:
            states.append(state)
        state, info = player.step(state, feedback(player, told, g, s))
        actions[t] = state.x
        if keep:
            infos.append(info)
    return Played(rows, actions, states, infos, state)


def fastest(port: Compiled, rows: Any) -> float:
    """Return the seconds of a step: the best of many turns, so that a busy machine counts less."""
    taken = []
    for _ in range(100):
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
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed")
        return 1
    d, all_same = options.dimension, True
    for name, player in PLAYERS.items():
        # The careful mode bisects in every round: a tenth of the rounds take as long.
        game = played(player, d, options.rounds // (10 if "careful" in name else 1))
        with tempfile.TemporaryDirectory() as folder:
            port = Compiled(c_header(player, d, name="port"), d, Path(folder))
            port.start(np.full(d, 0.01))
            actions, _ = port.many(game.rows)
            nanoseconds = 1e9 * fastest(port, game.rows[:2_000])
        same = actions.tobytes() == game.actions.tobytes()
        apart = np.abs(actions - game.actions).max()
        all_same &= same
        said = "bit for bit" if same else f"at most {apart:.3g} apart"
        print(f"{name}: {len(game.rows)} rounds {said}, {nanoseconds:.0f} ns")
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main())

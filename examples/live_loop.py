"""A live loop that is killed in the middle and goes on from its journal, bit for bit.

Two loads share a cable whose heat may never exceed its limit. The process is killed without
warning; the next one continues from the journal, which ``surefoot journal FILE`` shows.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from surefoot import Constants, Controller, LeaderFollower
from surefoot.core.types import Array

KNOWN = Constants(R=0.9, start_slack=0.4, G_g=1.45)


def measure(x: Array) -> tuple[float, Array]:
    """Return the heat above its limit and its slope: the sensors."""
    return 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4, np.array([1.6 * x[0], x[1]])


def run(journal: Path, rounds: int, die_in: int = 0) -> Array:
    """Play up to a number of rounds, from wherever the journal is; return the last action."""
    controller = Controller.open_or_create(journal, LeaderFollower.default(KNOWN), [0.0, 0.0])
    prices = np.random.default_rng(3).uniform([0.2, 0.6], [0.8, 1.3], size=(rounds + 1, 2))
    with controller:
        while controller.round <= rounds:
            heat, slope = measure(controller.ask())
            assert heat <= 0, "never"
            controller.tell(
                cost_gradient=-prices[controller.round],
                constraint_value=heat,
                constraint_subgradient=slope,
            )
            if controller.round == die_in:
                signal.raise_signal(signal.SIGKILL)  # no warning, no clean-up
        return controller.ask()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    if (child := parser.parse_args().child) is not None:
        run(child, 400, die_in=150)
    with tempfile.TemporaryDirectory() as folder:
        killed, whole = Path(folder, "killed.jsonl"), Path(folder, "whole.jsonl")
        died = subprocess.run([sys.executable, __file__, "--child", str(killed)], check=False)
        print("the first process ended with", signal.Signals(-died.returncode).name)
        same = np.array_equal(run(killed, 400), run(whole, 400))
        print("same last action as a run that nobody killed:", same)

"""Play the case: ``python -m cases.motor``; with ``--small`` in a few seconds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cases.motor import rules
from cases.motor.drive import SAMPLE, SAMPLES, SHEET, Drive
from cases.show import Run, draw, main
from surefoot.core.types import Array

SEEDS, HELD = 3, 20  # motors; rounds of each step of the staircase
STAIRCASE = (40.0, 90.0, 140.0, 60.0, 120.0, -70.0, -130.0)  # Nm
TARGET, RAMP = 0.9, 15.0  # of the voltage; Nm in a round


def play(small: bool) -> list[Run]:
    """Return every rule's run with the same motors."""
    torques = np.repeat(STAIRCASE, HELD)[: 45 if small else None]

    def run(
        rule: str, knows: str, runs: Callable[[Drive], tuple[Array, Array]], **how: object
    ) -> Run:
        found = [runs(Drive(SHEET.built(seed))) for seed in range(1 if small else SEEDS)]
        missed = np.mean([np.abs(torque - torques) for _, torque in found])
        values = np.array([g for g, _ in found])
        more = {"by more than 1 %": f"{(values > 0.01).sum()}", "torque missed": f"{missed:.1f} Nm"}
        return Run(rule, knows, values, more, **how)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder:
        return [
            run(
                "shortest currents",
                "data sheet",
                lambda d: rules.unlimited(d, torques),
                drawn=False,
            ),
            run("voltage feedback", "data sheet", lambda d: rules.feedback(d, torques)),
            run(
                f"the same, target {TARGET:.0%}, torque ramped (found by trying)",
                "data sheet",
                lambda d: rules.feedback(d, torques, TARGET, RAMP),
                drawn=False,
            ),
            run(
                "certified step in C",
                "data sheet, right to 20 %",
                lambda d: rules.certified(d, torques, Path(tempfile.mkdtemp(dir=folder))),
                certified=True,
            ),
        ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    times = np.arange(HELD * len(STAIRCASE)) * SAMPLE * SAMPLES * 1e3
    draw(path, runs, rounds=times, unit="milliseconds", limit="voltage limit (above 0: broken)")


if __name__ == "__main__":
    main(Path(__file__).parent, play, paint)

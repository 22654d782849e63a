"""Who sets the currents: the certified step in C, and voltage feedback."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from cases.motor.drive import (
    BOUND,
    MOST_CURRENT,
    MOST_VOLTAGE,
    SAMPLE,
    SAMPLES,
    SHEET,
    SPEED,
    UNIT,
    Drive,
    excess,
)
from surefoot.certified import Certified
from surefoot.controller.export import c_header
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, Errors
from surefoot.rules import RegionFilter
from surefoot.sets import Ball

SETTLED = 0.006  # how far g may be from that of currents at rest at the end of a round
SOURCE = r"""
#include "limiter.h"
static double state[LIMITER_STATE], work[LIMITER_SCRATCH];
int start(void)
{
    const double x1[LIMITER_D] = LIMITER_START_ACTION;
    return limiter_init(&limiter_player, state, x1);
}
int step(const double *wish, const double *g, const double *s, double *action)
{
    limiter_feedback seen = {0};
    limiter_info info;
    seen.proposal = wish, seen.g = g, seen.s = s;
    const int code = limiter_step(&limiter_player, state, &seen, work, &info);
    if (code != LIMITER_OK || info.alarms) {
        return code != LIMITER_OK ? code : -1;
    }
    action[0] = state[0], action[1] = state[1];
    return 0;
}
"""


def make_player() -> Certified:
    r"""Return the rule, from the data sheet and 20 % alone.

    With :math:`|Z'| \le 1.2|Z|` for the true impedance, entry by entry, the curvature
    :math:`2\|Z'\|^2/U^2` is at most :math:`2(1.2\||Z|\|)^2/U^2`, and the slope
    :math:`2Z^\top u/U^2` that the data sheet gives is off by at most
    :math:`2 \cdot 0.2\,\||Z|\|/U` where :math:`\|u\| \le U`.
    """
    steep = UNIT * float(np.linalg.norm(np.abs(SHEET.impedance()), 2)) / MOST_VOLTAGE
    errors = Errors(value=SETTLED, slope=2 * BOUND * steep)
    beta = 2 * ((1 + BOUND) * steep) ** 2
    circle = Ball(MOST_CURRENT / UNIT)
    return RegionFilter(knowledge=CurvatureRows(beta=(beta,), domain=circle, errors=errors))


class Limiter:
    """The exported step, compiled: what a microcontroller would have.

    Args:
        folder: for the header and the library.
    """

    def __init__(self, folder: Path) -> None:
        if (compiler := shutil.which("cc")) is None:
            raise SystemExit("the case needs a C compiler named cc")
        header = c_header(make_player(), 2, name="limiter", start=[0.0, 0.0])
        (folder / "limiter.h").write_text(header, encoding="utf-8")
        (folder / "limiter.c").write_text(SOURCE, encoding="utf-8")
        flags = ("-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC")
        command = (compiler, *flags, "limiter.c", "-o", "limiter.so", "-lm")
        subprocess.run(command, cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "limiter.so"))
        if self.library.start():
            raise SystemExit("the start was refused")
        self.action = np.zeros(2)

    def step(self, proposal: Array, g: float, slope: Array) -> Array:
        """Return the next action; what contradicts the data sheet ends the run."""
        told = [np.ascontiguousarray(part, dtype=np.float64) for part in (proposal, [g], slope)]
        parts = [part.ctypes.data_as(ctypes.c_void_p) for part in (*told, self.action)]
        if code := self.library.step(*parts):
            raise SystemExit(f"the step was refused, with the code {code}")
        return self.action.copy()


def play_round(drive: Drive, wanted: Array) -> Array:
    """Hold currents for a round, and return the voltages at its end."""
    seen = [drive.sample(wanted) for _ in range(SAMPLES)]
    mean: Array = np.mean(seen[-5:], axis=0)
    return mean


def certified(drive: Drive, torques: Array, folder: Path) -> tuple[Array, Array]:
    """Play certified currents; return g and the torque by the data sheet, round by round.

    Where the simulator raises, nothing was measured, and the currents, which are proved, stay.
    """
    limiter, x, found = Limiter(folder), np.zeros(2), []
    for torque in torques:
        try:
            voltages = play_round(drive, UNIT * x)
        except Exception:  # it has none of its own
            found.append((np.nan, np.nan))
            continue
        g, slope = excess(voltages), 2 * UNIT * SHEET.impedance().T @ voltages / MOST_VOLTAGE**2
        found.append((g, SHEET.torque(drive.currents)))
        x = limiter.step(find_wish(x, float(torque)), g, slope)
    return np.array(found).T[0], np.array(found).T[1]


def find_wish(x: Array, torque: float) -> Array:
    """Return a step to currents with the torque, and a little towards shorter ones."""
    slope = UNIT * SHEET.torque_slope(UNIT * x)
    missing = (torque - SHEET.torque(UNIT * x)) / float(slope @ slope)
    along = slope * float(slope @ x) / float(slope @ slope)
    return x + missing * slope - 0.05 * (x - along)


def feedback(
    drive: Drive, torques: Array, target: float = 1.0, ramp: float = np.inf
) -> tuple[Array, Array]:
    """Play voltage feedback: i_d is lowered by a PI of the voltage, in every sample.

    At a thirtieth of the current controller's speed; at a tenth it oscillates.

    Args:
        drive: the motor.
        torques: of each round.
        target: of the voltage, as a share of the limit.
        ramp: by how many Nm the torque may change in a round.
    """
    d = -np.linspace(0.0, MOST_CURRENT, 481)
    gain = 0.03 / (3 * SAMPLE) / (SHEET.p * SPEED * SHEET.l_d)
    lowered, torque, found = 0.0, 0.0, []
    for wanted_torque in torques:
        torque += float(np.clip(wanted_torque - torque, -ramp, ramp))
        q = torque / (1.5 * SHEET.p * (SHEET.psi_p + (SHEET.l_d - SHEET.l_q) * d))
        shortest = float(d[np.argmin(d**2 + q**2)])
        seen = []
        for _ in range(SAMPLES):
            error = target * MOST_VOLTAGE - float(np.hypot(*drive.voltages))
            lowered = float(np.clip(lowered + gain * SAMPLE * error, -MOST_CURRENT, 0.0))
            i_d = max(shortest + lowered + 3e-3 * gain * min(error, 0.0), -MOST_CURRENT)
            most = np.sqrt(MOST_CURRENT**2 - i_d**2)
            i_q = torque / (1.5 * SHEET.p * (SHEET.psi_p + (SHEET.l_d - SHEET.l_q) * i_d))
            wanted = np.array([i_d, np.clip(i_q, -most, most)])
            seen.append(drive.sample(wanted))
        found.append((excess(np.mean(seen[-5:], axis=0)), SHEET.torque(drive.currents)))
    return np.array(found).T[0], np.array(found).T[1]


def unlimited(drive: Drive, torques: Array) -> tuple[Array, Array]:
    """Play the shortest currents with the torque, whatever the voltage."""
    return feedback(drive, torques, target=9.0)

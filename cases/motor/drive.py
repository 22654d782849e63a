"""The drive: gym-electric-motor's PMSM at a fixed speed, its current controller and its voltage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gym_electric_motor
import numpy as np
from gym_electric_motor.physical_system_wrappers import DqToAbcActionProcessor
from gym_electric_motor.physical_systems.mechanical_loads import ConstantSpeedLoad

from surefoot.core.types import Array

SPEED = 275.0  # rad/s: 30 % above the base speed of 210
CONVERTER, RESERVE = 150.0, 0.05  # volts; what is left for the current controller
MOST_VOLTAGE, MOST_CURRENT = (1 - RESERVE) * CONVERTER, 240.0
UNIT = 100.0  # amperes of one unit of an action
SAMPLE, SAMPLES = 1e-4, 60  # seconds of a sample; samples of a round
BOUND = 0.2  # how far the motor may be from its data sheet


@dataclass(frozen=True)
class Motor:
    """A permanent magnet synchronous motor: the data sheet is what the package has by default."""

    p: int = 3
    l_d: float = 0.37e-3
    l_q: float = 1.2e-3
    r_s: float = 18e-3
    psi_p: float = 66e-3

    def torque(self, currents: Array) -> float:
        """Return the torque in Nm."""
        d, q = currents
        return float(1.5 * self.p * (self.psi_p + (self.l_d - self.l_q) * d) * q)

    def torque_slope(self, currents: Array) -> Array:
        """Return how the torque rises with the currents."""
        d, q = currents
        salient = self.l_d - self.l_q
        return 1.5 * self.p * np.array([salient * q, self.psi_p + salient * d])

    def impedance(self) -> Array:
        """Return how voltages change with currents: u = Z i + the voltage of the magnets."""
        speed = self.p * SPEED
        return np.array([[self.r_s, -speed * self.l_q], [speed * self.l_d, self.r_s]])

    def built(self, seed: int) -> Motor:
        """Return a motor of this kind as it comes: each value within 20 % of the data sheet."""
        off = 1 + BOUND * np.random.default_rng(seed).uniform(-1, 1, 4)
        return Motor(
            self.p, self.l_d * off[0], self.l_q * off[1], self.r_s * off[2], self.psi_p * off[3]
        )


SHEET = Motor()


class Drive:
    """A motor in the simulator, with a PI current controller that knows the data sheet.

    Args:
        motor: as it was built.
    """

    def __init__(self, motor: Motor) -> None:
        parameters = {"p": motor.p, "l_d": motor.l_d, "l_q": motor.l_q, "r_s": motor.r_s}
        self.env: Any = gym_electric_motor.make(
            "Cont-CC-PMSM-v0",
            motor={"motor_parameter": parameters | {"psi_p": motor.psi_p, "j_rotor": 0.03883}},
            load=ConstantSpeedLoad(omega_fixed=SPEED),
            physical_system_wrappers=[DqToAbcActionProcessor.make("PMSM")],
            constraints=(),
        )
        (state, _), _ = self.env.reset(seed=0)
        self.limits = self.env.unwrapped.limits
        names = list(self.env.unwrapped.state_names)
        self.places = [names.index("i_sd"), names.index("i_sq")]
        self.currents, self.voltages, self.sum = self._read(state), np.zeros(2), np.zeros(2)

    def _read(self, state: Array) -> Array:
        found: Array = (state * self.limits)[self.places]
        return found

    def sample(self, wanted: Array) -> Array:
        """Control the currents for one sample and return the voltages that it took.

        They are turned by half a sample, so that they are those in the middle of it.
        """
        speed, error = SHEET.p * SPEED, wanted - self.currents
        gain = np.array([SHEET.l_d, SHEET.l_q]) / (3 * SAMPLE)
        i_d, i_q = self.currents
        magnets = np.array([-speed * SHEET.l_q * i_q, speed * (SHEET.l_d * i_d + SHEET.psi_p)])
        asked = gain * error + self.sum + magnets
        share = min(1.0, CONVERTER / float(np.hypot(*asked)))
        if share == 1.0:  # else the sum would wind up
            self.sum += gain * error / 15
        asked *= share
        (state, _), *_ = self.env.step(asked / CONVERTER)
        self.currents = self._read(state)
        angle = -0.5 * speed * SAMPLE
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        self.voltages = turn @ asked
        return self.voltages


def excess(voltages: Array) -> float:
    """Return g: the squared voltage as a share of the largest one, less 1."""
    return float(voltages @ voltages) / MOST_VOLTAGE**2 - 1

"""Torque limits of a robot arm with an unknown payload, in MuJoCo."""

from pathlib import Path

from cases.show import require

require(Path(__file__).parent)

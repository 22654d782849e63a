"""Least pressures in a water network, in EPANET."""

from pathlib import Path

from cases.show import require

require(Path(__file__).parent)

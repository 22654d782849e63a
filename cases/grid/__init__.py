"""Static generators of a distribution grid that never leave its voltages and currents."""

from pathlib import Path

from cases.show import require

require(Path(__file__).parent)

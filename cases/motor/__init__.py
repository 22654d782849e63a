"""A motor above its base speed that never asks for more voltage than there is."""

from pathlib import Path

from cases.show import require

require(Path(__file__).parent)

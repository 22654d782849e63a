"""The certified step of a player as one C99 header, with its constants filled in."""

from surefoot.controller.export.header import c_header, c_vectors
from surefoot.controller.export.plant_header import plant_header, plant_vectors

__all__ = ["c_header", "c_vectors", "plant_header", "plant_vectors"]

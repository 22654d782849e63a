"""The table on disk: what was played, with which constants, and what came of it."""

from surefoot.results.record import CellResult, Place, Status

__all__ = ["CellResult", "Place", "Status"]

"""Algorithms, one file each: ``init`` and ``update``, both pure; ``state.x`` is the next action."""

from surefoot.algorithms.ogd import OGD, OGDState
from surefoot.algorithms.pfs import PFS, PFSState

__all__ = ["OGD", "PFS", "OGDState", "PFSState"]

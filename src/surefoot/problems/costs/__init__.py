"""Convex costs, one for each round."""

from surefoot.problems.costs.arrays import *
from surefoot.problems.costs.functions import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

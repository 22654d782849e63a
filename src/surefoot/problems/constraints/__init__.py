"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot.problems.constraints.affine import *
from surefoot.problems.constraints.base import *
from surefoot.problems.constraints.combine import *
from surefoot.problems.constraints.cvar import *
from surefoot.problems.constraints.functions import *
from surefoot.problems.constraints.norms import *
from surefoot.problems.constraints.quadratic import *
from surefoot.problems.constraints.start import *
from surefoot.problems.constraints.stream import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

"""Closed convex sets: ``project``, ``contains``, ``minimize_linear``, and oracles about them."""

from surefoot.sets.ball import *
from surefoot.sets.box import *
from surefoot.sets.ellipsoid import *
from surefoot.sets.halfspace import *
from surefoot.sets.intersection import *
from surefoot.sets.matrix import *
from surefoot.sets.oracles import *
from surefoot.sets.polytope import *
from surefoot.sets.simplex import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

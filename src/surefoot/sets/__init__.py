"""Closed convex sets: ``project``, ``contains``, ``minimize_linear``, for one point or a batch."""

from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.ellipsoid import Ellipsoid
from surefoot.sets.halfspace import EmptyTighteningError, Halfspace, project_halfspace
from surefoot.sets.l1 import L1Ball
from surefoot.sets.matrix import NuclearBall, SpectralBall
from surefoot.sets.polytope import Nearest, Polytope
from surefoot.sets.product import Product
from surefoot.sets.simplex import Simplex
from surefoot.sets.slab import Slab

__all__ = [
    "Ball",
    "Box",
    "Ellipsoid",
    "EmptyTighteningError",
    "Halfspace",
    "L1Ball",
    "Nearest",
    "NuclearBall",
    "Polytope",
    "Product",
    "Simplex",
    "Slab",
    "SpectralBall",
    "project_halfspace",
]

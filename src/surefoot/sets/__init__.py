"""Closed convex sets: ``project``, ``contains``, ``minimize_linear``, and oracles about them."""

from surefoot.sets.ball import Ball
from surefoot.sets.box import Box
from surefoot.sets.ellipsoid import Ellipsoid
from surefoot.sets.gauge import BallGauge, BisectionGauge, Gauge, RowsGauge, gauge_of
from surefoot.sets.halfspace import EmptyTighteningError, Halfspace, project_halfspace
from surefoot.sets.intersection import Intersection
from surefoot.sets.l1 import L1Ball
from surefoot.sets.matrix import NuclearBall, SpectralBall
from surefoot.sets.polytope import Nearest, Polytope
from surefoot.sets.product import Product
from surefoot.sets.prox import BallProx, BoxProx, Linearised, LinearProx, Prox, RowsProx, prox_of
from surefoot.sets.separation import (
    ConstraintSeparation,
    RowSeparation,
    Separation,
    SetSeparation,
    separation_of,
)
from surefoot.sets.simplex import Simplex
from surefoot.sets.slab import Slab
from surefoot.sets.smooth import QuadraticSet, SmoothBall, SmoothSet, smooth_of

__all__ = [
    "Ball",
    "BallGauge",
    "BallProx",
    "BisectionGauge",
    "Box",
    "BoxProx",
    "ConstraintSeparation",
    "Ellipsoid",
    "EmptyTighteningError",
    "Gauge",
    "Halfspace",
    "Intersection",
    "L1Ball",
    "LinearProx",
    "Linearised",
    "Nearest",
    "NuclearBall",
    "Polytope",
    "Product",
    "Prox",
    "QuadraticSet",
    "RowSeparation",
    "RowsGauge",
    "RowsProx",
    "Separation",
    "SetSeparation",
    "Simplex",
    "Slab",
    "SmoothBall",
    "SmoothSet",
    "SpectralBall",
    "gauge_of",
    "project_halfspace",
    "prox_of",
    "separation_of",
    "smooth_of",
]

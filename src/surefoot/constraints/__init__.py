"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot.constraints.affine import Affine
from surefoot.constraints.base import Constraint
from surefoot.constraints.combine import FromFunctions, MaxOf, max_of
from surefoot.constraints.norms import L2Ball, LinfBall

__all__ = ["Affine", "Constraint", "FromFunctions", "L2Ball", "LinfBall", "MaxOf", "max_of"]

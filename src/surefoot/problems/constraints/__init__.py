"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot.problems.constraints.affine import Affine
from surefoot.problems.constraints.base import Constraint
from surefoot.problems.constraints.combine import MaxOf, max_of
from surefoot.problems.constraints.cone import SecondOrderCone
from surefoot.problems.constraints.cvar import CVaR
from surefoot.problems.constraints.functions import FunctionConstraint, JaxConstraint
from surefoot.problems.constraints.guard import PeekingError, PlayedOnly
from surefoot.problems.constraints.norms import L1Norm, L2Norm, LinfNorm
from surefoot.problems.constraints.quadratic import EllipsoidNorm, QuadraticForm
from surefoot.problems.constraints.shift import Shifted, shift
from surefoot.problems.constraints.simplex import SimplexRows
from surefoot.problems.constraints.sparse import SparseAffine
from surefoot.problems.constraints.spectral import NuclearNorm, SpectralNorm
from surefoot.problems.constraints.start import NoStartError, Start, find_start
from surefoot.problems.constraints.stream import AffineStream, ConstraintStream, Drifting

__all__ = [
    "Affine",
    "AffineStream",
    "CVaR",
    "Constraint",
    "ConstraintStream",
    "Drifting",
    "EllipsoidNorm",
    "FunctionConstraint",
    "JaxConstraint",
    "L1Norm",
    "L2Norm",
    "LinfNorm",
    "MaxOf",
    "NoStartError",
    "NuclearNorm",
    "PeekingError",
    "PlayedOnly",
    "QuadraticForm",
    "SecondOrderCone",
    "Shifted",
    "SimplexRows",
    "SparseAffine",
    "SpectralNorm",
    "Start",
    "find_start",
    "max_of",
    "shift",
]

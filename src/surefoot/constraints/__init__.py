"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot import _kinds
from surefoot.constraints.affine import Affine
from surefoot.constraints.base import Constraint
from surefoot.constraints.combine import MaxOf, max_of
from surefoot.constraints.cone import SecondOrderCone
from surefoot.constraints.cvar import CVaR
from surefoot.constraints.functions import FunctionConstraint, JaxConstraint
from surefoot.constraints.guard import PeekingError, PlayedOnly
from surefoot.constraints.l1 import L1Norm
from surefoot.constraints.norms import L2Norm, LinfNorm
from surefoot.constraints.quadratic import EllipsoidNorm, QuadraticForm
from surefoot.constraints.shift import Shifted, shift
from surefoot.constraints.simplex import SimplexRows
from surefoot.constraints.sparse import SparseAffine
from surefoot.constraints.spectral import NuclearNorm, SpectralNorm
from surefoot.constraints.start import NoStartError, Start, find_start
from surefoot.constraints.stream import AffineStream, ConstraintStream, Drifting

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

_kinds.guard(globals())

"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot.constraints.affine import Affine
from surefoot.constraints.autodiff import FromJax, from_jax
from surefoot.constraints.base import Constraint
from surefoot.constraints.combine import FromFunctions, MaxOf, max_of
from surefoot.constraints.cone import SecondOrderCone
from surefoot.constraints.cvar import CVaR
from surefoot.constraints.guard import PeekingError, PlayedOnly
from surefoot.constraints.l1 import L1Ball
from surefoot.constraints.norms import L2Ball, LinfBall
from surefoot.constraints.quadratic import Ellipsoid, Quadratic
from surefoot.constraints.shift import Shifted, shift
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
    "Ellipsoid",
    "FromFunctions",
    "FromJax",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "MaxOf",
    "NoStartError",
    "NuclearNorm",
    "PeekingError",
    "PlayedOnly",
    "Quadratic",
    "SecondOrderCone",
    "Shifted",
    "SparseAffine",
    "SpectralNorm",
    "Start",
    "find_start",
    "from_jax",
    "max_of",
    "shift",
]

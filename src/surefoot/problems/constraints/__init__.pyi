"""The public names of the package, each with its module; they load when they are used."""

from surefoot.problems.constraints.affine import Affine as Affine, SimplexRows as SimplexRows
from surefoot.problems.constraints.base import Constraint as Constraint, level_below as level_below
from surefoot.problems.constraints.combine import (
    MaxOf as MaxOf,
    PeekingError as PeekingError,
    PlayedOnly as PlayedOnly,
    Shifted as Shifted,
    max_of as max_of,
    shift as shift,
)
from surefoot.problems.constraints.cvar import CVaR as CVaR
from surefoot.problems.constraints.functions import (
    FunctionConstraint as FunctionConstraint,
    JaxConstraint as JaxConstraint,
)
from surefoot.problems.constraints.norms import (
    L1Norm as L1Norm,
    L2Norm as L2Norm,
    LinfNorm as LinfNorm,
    NuclearNorm as NuclearNorm,
    SpectralNorm as SpectralNorm,
)
from surefoot.problems.constraints.quadratic import (
    EllipsoidNorm as EllipsoidNorm,
    QuadraticForm as QuadraticForm,
    SecondOrderCone as SecondOrderCone,
)
from surefoot.problems.constraints.start import (
    NoStartError as NoStartError,
    Start as Start,
    find_start as find_start,
)
from surefoot.problems.constraints.stream import (
    AffineStream as AffineStream,
    ConstraintStream as ConstraintStream,
    Drifting as Drifting,
)

__all__: list[str]

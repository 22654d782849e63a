"""The public names of the package, each with its module; they load when they are used."""

from surefoot.sets.ball import Ball as Ball, L1Ball as L1Ball
from surefoot.sets.box import Box as Box
from surefoot.sets.ellipsoid import Ellipsoid as Ellipsoid
from surefoot.sets.halfspace import (
    EmptyTighteningError as EmptyTighteningError,
    Halfspace as Halfspace,
    project_halfspace as project_halfspace,
)
from surefoot.sets.intersection import Intersection as Intersection, Product as Product
from surefoot.sets.inwards import move_inwards as move_inwards
from surefoot.sets.matrix import NuclearBall as NuclearBall, SpectralBall as SpectralBall
from surefoot.sets.oracles import (
    BallGauge as BallGauge,
    BallProx as BallProx,
    BisectionGauge as BisectionGauge,
    BoxProx as BoxProx,
    EllipsoidProx as EllipsoidProx,
    Gauge as Gauge,
    Linearised as Linearised,
    LinearProx as LinearProx,
    Prox as Prox,
    RowSeparation as RowSeparation,
    RowsGauge as RowsGauge,
    RowsProx as RowsProx,
    Separation as Separation,
    SetSeparation as SetSeparation,
    SmoothQuadratic as SmoothQuadratic,
    SmoothSet as SmoothSet,
    gauge_of as gauge_of,
    prox_of as prox_of,
    separation_of as separation_of,
    smooth_of as smooth_of,
)
from surefoot.sets.polytope import Nearest as Nearest, Polytope as Polytope
from surefoot.sets.simplex import Simplex as Simplex

__all__: list[str]

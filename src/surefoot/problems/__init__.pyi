"""The public names of the package, each with its module; they load when they are used."""

from surefoot.problems.equalities import Plane as Plane, without_equalities as without_equalities
from surefoot.problems.least_regret import least_safe_regret as least_safe_regret
from surefoot.problems.problem import Problem as Problem
from surefoot.problems.ready import (
    ADVERSARIES as ADVERSARIES,
    adversarial_cube as adversarial_cube,
    changing_halfspaces as changing_halfspaces,
    ellipsoid as ellipsoid,
    fair_logistic as fair_logistic,
    portfolio as portfolio,
    random_polytope as random_polytope,
    rotated_box as rotated_box,
    slow_start as slow_start,
    spectral_ball as spectral_ball,
    thin_box as thin_box,
)
from surefoot.problems.toy import (
    HORIZONS as HORIZONS,
    SETTINGS as SETTINGS,
    Setting as Setting,
    binding_toy as binding_toy,
    paper_toy as paper_toy,
)

__all__: list[str]

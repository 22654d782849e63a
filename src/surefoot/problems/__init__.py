"""Problems: costs, a constraint, its constants, a strictly feasible start."""

from surefoot.problems.adversarial import ADVERSARIES, adversarial_cube
from surefoot.problems.crawl import crawl
from surefoot.problems.paper_toy import HORIZONS, SETTINGS, Setting, binding_toy, paper_toy
from surefoot.problems.problem import Problem
from surefoot.problems.related import changing_halfspaces, portfolio, thin_box
from surefoot.problems.synthetic import (
    ellipsoid,
    fair_logistic,
    random_polytope,
    rotated_box,
    spectral_ball,
)

__all__ = [
    "ADVERSARIES",
    "HORIZONS",
    "SETTINGS",
    "Problem",
    "Setting",
    "adversarial_cube",
    "binding_toy",
    "changing_halfspaces",
    "crawl",
    "ellipsoid",
    "fair_logistic",
    "paper_toy",
    "portfolio",
    "random_polytope",
    "rotated_box",
    "spectral_ball",
    "thin_box",
]

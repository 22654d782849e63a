"""Problems: costs, a constraint, its constants, a strictly feasible start."""

from surefoot.problems.adversarial import ADVERSARIES, adversarial_cube
from surefoot.problems.crawl import crawl
from surefoot.problems.paper_toy import HORIZONS, SETTINGS, Setting, binding_toy, paper_toy
from surefoot.problems.problem import Problem
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
    "crawl",
    "ellipsoid",
    "fair_logistic",
    "paper_toy",
    "random_polytope",
    "rotated_box",
    "spectral_ball",
]

"""Cost streams: the convex costs of all rounds, as arrays of parameters or as they arrive."""

from surefoot.problems.costs._stream import ArrayCosts
from surefoot.problems.costs.classification import Hinge, Logistic
from surefoot.problems.costs.functions import FromFunctions, from_jax
from surefoot.problems.costs.linear import Adversarial, Linear
from surefoot.problems.costs.live import Live
from surefoot.problems.costs.portfolio import LogPortfolio
from surefoot.problems.costs.quadratic import Quadratic
from surefoot.problems.costs.regression import Absolute, Quantile
from surefoot.problems.costs.scored import ScoredCosts

__all__ = [
    "Absolute",
    "Adversarial",
    "ArrayCosts",
    "FromFunctions",
    "Hinge",
    "Linear",
    "Live",
    "LogPortfolio",
    "Logistic",
    "Quadratic",
    "Quantile",
    "ScoredCosts",
    "from_jax",
]

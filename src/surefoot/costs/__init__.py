"""Cost streams: the convex costs of all rounds, as arrays of parameters or as they arrive."""

from surefoot import _kinds
from surefoot.costs._stream import ArrayCosts
from surefoot.costs.classification import Hinge, Logistic
from surefoot.costs.functions import FromFunctions, from_jax
from surefoot.costs.linear import Adversarial, Linear
from surefoot.costs.live import Live
from surefoot.costs.portfolio import LogPortfolio
from surefoot.costs.quadratic import Quadratic
from surefoot.costs.regression import Absolute, Quantile
from surefoot.costs.scored import ScoredCosts

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

_kinds.guard(globals())

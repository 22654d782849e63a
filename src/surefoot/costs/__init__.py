"""Cost streams: the convex costs of all rounds, as arrays of parameters."""

from surefoot.costs.linear import Adversarial, Linear
from surefoot.costs.quadratic import Quadratic

__all__ = ["Adversarial", "Linear", "Quadratic"]

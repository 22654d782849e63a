"""Cost streams: the convex costs of all rounds, as arrays of parameters or as they arrive."""

# ruff: noqa: F403 ("*" exports what a file names in its __all__)

from surefoot.problems.costs.functions import *
from surefoot.problems.costs.linear import *
from surefoot.problems.costs.live import *
from surefoot.problems.costs.losses import *
from surefoot.problems.costs.portfolio import *
from surefoot.problems.costs.quadratic import *
from surefoot.problems.costs.stream import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

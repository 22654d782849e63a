"""Problems: costs, a constraint, its constants, a strictly feasible start."""

from surefoot.problems.equalities import *
from surefoot.problems.least_regret import *
from surefoot.problems.paper_toy import *
from surefoot.problems.problem import *
from surefoot.problems.ready import *

# What was imported above, and no submodule.
__all__ = sorted(
    ["ADVERSARIES", "HORIZONS", "SETTINGS"]
    + [name for name, value in globals().items() if callable(value) and name[0] != "_"]
)

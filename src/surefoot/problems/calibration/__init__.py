"""Which guarantees apply before a run: constants with their origins, and what they buy."""

from surefoot.problems.calibration.from_log import *
from surefoot.problems.calibration.from_problem import *
from surefoot.problems.calibration.log_file import *
from surefoot.problems.calibration.offers import *
from surefoot.problems.calibration.slopes import *

# The classes and functions imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

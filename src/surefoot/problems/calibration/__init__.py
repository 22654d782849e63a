"""Which guarantees apply before a run: constants with their origins, and what they buy."""

from surefoot.problems.calibration.from_log import LogBounds, from_log
from surefoot.problems.calibration.from_problem import calibrate, calibrate_constants
from surefoot.problems.calibration.offers import Offer, Standing
from surefoot.problems.calibration.probes import Probe
from surefoot.problems.calibration.report import Calibration
from surefoot.problems.calibration.slopes import Slope, finite_differences, through_sensitivity

__all__ = [
    "Calibration",
    "LogBounds",
    "Offer",
    "Probe",
    "Slope",
    "Standing",
    "calibrate",
    "calibrate_constants",
    "finite_differences",
    "from_log",
    "through_sensitivity",
]

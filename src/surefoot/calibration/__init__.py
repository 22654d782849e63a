"""Which guarantees apply before a run: constants with their origins, and what they buy."""

from surefoot import _kinds
from surefoot.calibration.from_log import LogBounds, from_log
from surefoot.calibration.from_problem import calibrate, calibrate_constants
from surefoot.calibration.offers import Offer, Standing
from surefoot.calibration.probes import Probe
from surefoot.calibration.report import Calibration
from surefoot.calibration.slopes import Slope, finite_differences, through_sensitivity

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

_kinds.guard(globals())

"""Which guarantees apply before a run: constants with their origins, and what they buy."""

from surefoot import _kinds
from surefoot.calibration.from_constants import calibrate_constants
from surefoot.calibration.from_problem import calibrate
from surefoot.calibration.offers import Offer, Standing
from surefoot.calibration.probes import Probe
from surefoot.calibration.report import Calibration

__all__ = ["Calibration", "Offer", "Probe", "Standing", "calibrate", "calibrate_constants"]

_kinds.guard(globals())

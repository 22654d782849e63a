"""What came of a game: regret, violations, fitted rates."""

from surefoot.metrics.rates import Rate, fit_rate
from surefoot.metrics.regret import Regret, regret_of
from surefoot.metrics.violations import ViolationMeter, Violations, violations

__all__ = [
    "Rate",
    "Regret",
    "ViolationMeter",
    "Violations",
    "fit_rate",
    "regret_of",
    "violations",
]

"""Measures of a game: regret of three kinds, violations, fitted rates."""

from surefoot import _kinds
from surefoot.metrics.moving import (
    DynamicRegret,
    IntervalRegret,
    MovingComparator,
    best_moving,
    moving_comparator,
    path_length,
)
from surefoot.metrics.rates import Rate, fit_rate
from surefoot.metrics.regret import Regret, regret_of
from surefoot.metrics.violations import ViolationMeter, Violations, violations

__all__ = [
    "DynamicRegret",
    "IntervalRegret",
    "MovingComparator",
    "Rate",
    "Regret",
    "ViolationMeter",
    "Violations",
    "best_moving",
    "fit_rate",
    "moving_comparator",
    "path_length",
    "regret_of",
    "violations",
]

_kinds.guard(globals())

"""Games: an algorithm against a problem, with one trace; regret, violations, fitted rates."""

from surefoot.algorithms import Breach, PremiseError, PremiseWarning
from surefoot.games.network import NetworkTrace, mixing_matrix, play_network
from surefoot.games.playing import Engine, play
from surefoot.games.plots import plot, table
from surefoot.games.rates import Rate, fit_rate
from surefoot.games.record import Observed, Progress, ViolationMeter, Violations, violations
from surefoot.games.regret import (
    DynamicRegret,
    IntervalRegret,
    MovingComparator,
    Regret,
    best_moving,
    moving_comparator,
    path_length,
    regret_of,
)
from surefoot.games.trace import Ledger, Trace

__all__ = [
    "Breach",
    "DynamicRegret",
    "Engine",
    "IntervalRegret",
    "Ledger",
    "MovingComparator",
    "NetworkTrace",
    "Observed",
    "PremiseError",
    "PremiseWarning",
    "Progress",
    "Rate",
    "Regret",
    "Trace",
    "ViolationMeter",
    "Violations",
    "best_moving",
    "fit_rate",
    "mixing_matrix",
    "moving_comparator",
    "path_length",
    "play",
    "play_network",
    "plot",
    "regret_of",
    "table",
    "violations",
]

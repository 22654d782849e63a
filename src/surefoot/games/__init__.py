"""Games: an algorithm against a problem, with one trace; regret, violations, fitted rates."""

# ruff: noqa: F401, F403 ("*" exports what a file names in its __all__)

from surefoot.algorithms import Breach, PremiseError, PremiseWarning
from surefoot.games.network import *
from surefoot.games.playing import *
from surefoot.games.rates import *
from surefoot.games.record import *
from surefoot.games.regret import *
from surefoot.games.trace import *

# What was imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

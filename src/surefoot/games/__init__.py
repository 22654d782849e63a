"""Games: an algorithm against a problem, in a loop, in a batch or compiled, with one trace."""

from surefoot import _kinds
from surefoot.games.agreement import EngineWarning
from surefoot.games.ledger import Ledger
from surefoot.games.network import NetworkTrace, mixing_matrix, play_network
from surefoot.games.playing import Engine, play, play_all
from surefoot.games.record import Progress
from surefoot.games.several import plot, table
from surefoot.games.trace import Trace
from surefoot.games.watch import Observed
from surefoot.theory import Breach, PremiseError, PremiseWarning

__all__ = [
    "Breach",
    "Engine",
    "EngineWarning",
    "Ledger",
    "NetworkTrace",
    "Observed",
    "PremiseError",
    "PremiseWarning",
    "Progress",
    "Trace",
    "mixing_matrix",
    "play",
    "play_all",
    "play_network",
    "plot",
    "table",
]

_kinds.guard(globals())

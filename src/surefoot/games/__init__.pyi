"""The public names of the package, each with its module; they load when they are used."""

from surefoot.games.network import (
    NetworkTrace as NetworkTrace,
    mixing_matrix as mixing_matrix,
    play_network as play_network,
)
from surefoot.games.playing import Engine as Engine, play as play
from surefoot.games.rates import Rate as Rate, fit_rate as fit_rate
from surefoot.games.record import (
    Observed as Observed,
    Progress as Progress,
    ViolationMeter as ViolationMeter,
    Violations as Violations,
    violations as violations,
)
from surefoot.games.regret import (
    DynamicRegret as DynamicRegret,
    MovingComparator as MovingComparator,
    Regret as Regret,
    best_moving as best_moving,
    moving_comparator as moving_comparator,
    path_length as path_length,
    regret_of as regret_of,
)
from surefoot.games.trace import Ledger as Ledger, Trace as Trace
from surefoot.guarantees import (
    Breach as Breach,
    PremiseError as PremiseError,
    PremiseWarning as PremiseWarning,
)

__all__: list[str]

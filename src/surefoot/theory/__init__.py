"""What a guarantee is, and the theorems of certified rules.

Theorems of other rules stand in the files of these rules (:mod:`surefoot.algorithms`).
"""

from surefoot.theory.certified import ObservedRegret, TheoremD, observed_regret_bound
from surefoot.theory.curvature import ObservedCuts, TheoremC
from surefoot.theory.curvature_averaging import ObservedAveraging, TheoremK
from surefoot.theory.guarantee import (
    ConstraintForm,
    EveryRound,
    Guarantee,
    Kind,
    Measure,
    NoClaim,
    Summed,
    Tuned,
    unpack,
)
from surefoot.theory.leader_follower import LeaderRegret, TheoremG, crawl_lower_bound
from surefoot.theory.under_errors import TheoremN, under_errors
from surefoot.theory.values import ValuesAndCurvature, ValuesOnly
from surefoot.theory.watching import (
    Breach,
    Loss,
    Policy,
    Premise,
    PremiseError,
    PremiseWarning,
    Quantity,
    Reaction,
)
from surefoot.theory.wrapped import InTurns, WithProbability

__all__ = [
    "Breach",
    "ConstraintForm",
    "EveryRound",
    "Guarantee",
    "InTurns",
    "Kind",
    "LeaderRegret",
    "Loss",
    "Measure",
    "NoClaim",
    "ObservedAveraging",
    "ObservedCuts",
    "ObservedRegret",
    "Policy",
    "Premise",
    "PremiseError",
    "PremiseWarning",
    "Quantity",
    "Reaction",
    "Summed",
    "TheoremC",
    "TheoremD",
    "TheoremG",
    "TheoremK",
    "TheoremN",
    "Tuned",
    "ValuesAndCurvature",
    "ValuesOnly",
    "WithProbability",
    "crawl_lower_bound",
    "observed_regret_bound",
    "under_errors",
    "unpack",
]

"""The names that most programs need, each with its module. They load when they are used."""

from surefoot import (
    algorithms as algorithms,
    controller as controller,
    games as games,
    kernel as kernel,
    problems as problems,
    sets as sets,
    testing as testing,
)
from surefoot.algorithms.certified_dual_averaging import (
    CertifiedDualAveraging as CertifiedDualAveraging,
)
from surefoot.algorithms.certified_ogd import CertifiedOGD as CertifiedOGD
from surefoot.algorithms.certified_pfs import CertifiedPFS as CertifiedPFS
from surefoot.algorithms.filters import SafetyFilter as SafetyFilter
from surefoot.algorithms.guarantee import Guarantee as Guarantee, Tuned as Tuned
from surefoot.algorithms.leader_follower import LeaderFollower as LeaderFollower
from surefoot.algorithms.ogd import OGD as OGD
from surefoot.algorithms.pfs import PFS as PFS
from surefoot.controller import Controller as Controller, replay as replay
from surefoot.core.constants import Constants as Constants
from surefoot.core.errors import SurefootError as SurefootError
from surefoot.core.types import Feedback as Feedback
from surefoot.experiments.compare import compare as compare
from surefoot.games import Trace as Trace, play as play
from surefoot.problems import Problem as Problem
from surefoot.problems.calibration import calibrate as calibrate
from surefoot.sets import Ball as Ball

__version__: str

__all__: list[str]

"""The names that most programs need, each with its module. They load when they are used."""

from surefoot import (
    certified as certified,
    controller as controller,
    games as games,
    guarantees as guarantees,
    kernel as kernel,
    knowledge as knowledge,
    problems as problems,
    proposers as proposers,
    rules as rules,
    sets as sets,
    testing as testing,
)
from surefoot.certified import Certified as Certified
from surefoot.controller import Controller as Controller, replay as replay
from surefoot.core.constants import Constants as Constants
from surefoot.core.errors import SurefootError as SurefootError
from surefoot.core.feedback import Feedback as Feedback
from surefoot.experiments.compare import compare as compare
from surefoot.games import Trace as Trace, play as play
from surefoot.guarantees.guarantee import Guarantee as Guarantee
from surefoot.guarantees.tuning import Tuned as Tuned
from surefoot.problems import Problem as Problem
from surefoot.problems.calibration import calibrate as calibrate
from surefoot.rules.certified.certified_dual_averaging import (
    CertifiedDualAveraging as CertifiedDualAveraging,
)
from surefoot.rules.certified.certified_ogd import CertifiedOGD as CertifiedOGD
from surefoot.rules.certified.certified_pfs import CertifiedPFS as CertifiedPFS
from surefoot.rules.certified.filters import SafetyFilter as SafetyFilter
from surefoot.rules.certified.leader_follower import LeaderFollower as LeaderFollower
from surefoot.rules.ogd import OGD as OGD
from surefoot.rules.pfs import PFS as PFS
from surefoot.sets import Ball as Ball

__version__: str

__all__: list[str]

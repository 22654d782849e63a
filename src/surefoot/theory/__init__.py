"""Theorems as objects: bounds, premises, and the parameters they choose.

A theorem in a new file of this package needs no line here: its classes are found below.
"""

import importlib
import pkgutil

from surefoot.core import kinds
from surefoot.theory.certified import ObservedRegret, TheoremD, observed_regret_bound
from surefoot.theory.curvature import HalvedSlack, ObservedCuts, TheoremC
from surefoot.theory.curvature_averaging import ObservedAveraging, TheoremK
from surefoot.theory.doubling import DoublingHorizon
from surefoot.theory.dpp import DriftPlusPenalty
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
from surefoot.theory.jenatton import JenattonStronglyConvex, JenattonTradeOff
from surefoot.theory.leader_follower import LeaderRegret, TheoremG, crawl_lower_bound
from surefoot.theory.mahdavi import MahdaviBalanced, MahdaviNoViolation
from surefoot.theory.mahdavi_linear import MahdaviLinearBalanced
from surefoot.theory.perturbed import BoundedNoise, SlowDrift
from surefoot.theory.polyak import Corollary1, Corollary2, Corollary3, Theorem1
from surefoot.theory.projection import (
    AdaGradNorm,
    DecayingStep,
    DualAveragingTheorem,
    EntropicTheorem,
    FrankWolfeTheorem,
    StronglyConvexDescent,
    Zinkevich,
)
from surefoot.theory.schedules import (
    ScheduledSteps,
    StronglyConvexSchedule,
    UnknownGradients,
    UnknownHorizon,
)
from surefoot.theory.sinha_vaze import SinhaVazeConvex, SinhaVazeStronglyConvex
from surefoot.theory.tightening import Tightened, tightened_constants
from surefoot.theory.tuning import tune_polyak
from surefoot.theory.under_errors import TheoremN, under_errors
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
from surefoot.theory.yuan import YuanStronglyConvex, YuanTradeOff

__all__ = [
    "AdaGradNorm",
    "BoundedNoise",
    "Breach",
    "ConstraintForm",
    "Corollary1",
    "Corollary2",
    "Corollary3",
    "DecayingStep",
    "DoublingHorizon",
    "DriftPlusPenalty",
    "DualAveragingTheorem",
    "EntropicTheorem",
    "EveryRound",
    "FrankWolfeTheorem",
    "Guarantee",
    "HalvedSlack",
    "JenattonStronglyConvex",
    "JenattonTradeOff",
    "Kind",
    "LeaderRegret",
    "Loss",
    "MahdaviBalanced",
    "MahdaviLinearBalanced",
    "MahdaviNoViolation",
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
    "ScheduledSteps",
    "SinhaVazeConvex",
    "SinhaVazeStronglyConvex",
    "SlowDrift",
    "StronglyConvexDescent",
    "StronglyConvexSchedule",
    "Summed",
    "Theorem1",
    "TheoremC",
    "TheoremD",
    "TheoremG",
    "TheoremK",
    "TheoremN",
    "Tightened",
    "Tuned",
    "UnknownGradients",
    "UnknownHorizon",
    "YuanStronglyConvex",
    "YuanTradeOff",
    "Zinkevich",
    "crawl_lower_bound",
    "observed_regret_bound",
    "tightened_constants",
    "tune_polyak",
    "under_errors",
    "unpack",
]

for _file in pkgutil.iter_modules(__path__):
    if not _file.name.startswith("_"):
        _module = importlib.import_module(f"{__name__}.{_file.name}")
        for _name in set(getattr(_module, "__all__", ())).difference(__all__):
            if isinstance(_value := getattr(_module, _name), type) and issubclass(
                _value, Guarantee
            ):
                globals()[_name] = _value
                __all__.append(_name)

kinds.guard(globals())

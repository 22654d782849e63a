"""Algorithms, one file each: ``init`` and ``update``, both pure; ``state.x`` is the next action."""

from surefoot.algorithms.catalogue import ALGORITHMS, Entry, catalogue, domain_of, tuned_for
from surefoot.algorithms.certificate import StepCertificate
from surefoot.algorithms.certified_pfs import CertifiedPFS, CertifiedState
from surefoot.algorithms.doubling import DoublingPFS, DoublingState
from surefoot.algorithms.dpp import DPP, DPPState, ScalarDPP, ScalarDPPState
from surefoot.algorithms.dual_averaging import (
    DualAveraging,
    DualAveragingState,
    EntropicDualAveraging,
    EntropicDualAveragingState,
)
from surefoot.algorithms.frank_wolfe import FrankWolfe, FrankWolfeState
from surefoot.algorithms.jenatton import Jenatton, JenattonState
from surefoot.algorithms.mahdavi import Mahdavi, MahdaviState
from surefoot.algorithms.mahdavi_linear import MahdaviLinear, MahdaviLinearState
from surefoot.algorithms.ogd import OGD, OGDState
from surefoot.algorithms.ogd_steps import (
    AdaGradOGD,
    AdaGradOGDState,
    DecayingOGD,
    DecayingOGDState,
)
from surefoot.algorithms.pfs import PFS, PFSState
from surefoot.algorithms.safety_filter import FilterState, SafetyFilter
from surefoot.algorithms.scheduled import ScheduledPFS, ScheduledState
from surefoot.algorithms.several_pfs import SeveralPFS
from surefoot.algorithms.sinha_vaze import (
    SinhaVaze,
    SinhaVazeState,
    StrongSinhaVaze,
    StrongSinhaVazeState,
)
from surefoot.algorithms.tighten import Tighten
from surefoot.algorithms.yuan import Yuan, YuanState

__all__ = [
    "ALGORITHMS",
    "DPP",
    "OGD",
    "PFS",
    "AdaGradOGD",
    "AdaGradOGDState",
    "CertifiedPFS",
    "CertifiedState",
    "DPPState",
    "DecayingOGD",
    "DecayingOGDState",
    "DoublingPFS",
    "DoublingState",
    "DualAveraging",
    "DualAveragingState",
    "EntropicDualAveraging",
    "EntropicDualAveragingState",
    "Entry",
    "FilterState",
    "FrankWolfe",
    "FrankWolfeState",
    "Jenatton",
    "JenattonState",
    "Mahdavi",
    "MahdaviLinear",
    "MahdaviLinearState",
    "MahdaviState",
    "OGDState",
    "PFSState",
    "SafetyFilter",
    "ScalarDPP",
    "ScalarDPPState",
    "ScheduledPFS",
    "ScheduledState",
    "SeveralPFS",
    "SinhaVaze",
    "SinhaVazeState",
    "StepCertificate",
    "StrongSinhaVaze",
    "StrongSinhaVazeState",
    "Tighten",
    "Yuan",
    "YuanState",
    "catalogue",
    "domain_of",
    "tuned_for",
]

"""Algorithms, one file each: ``init`` and ``update``, both pure; ``state.x`` is the next action.

An algorithm joins by one import line below, ``from <its file> import <Class> as <Class>``. The
catalogue, ``__all__``, the contract tests, the command line and the tables of the docs are built
from these lines, in their order. States are imported from the files of their rules.

Every tuning is called with the constants of the problem, the number of rounds T, and the set that
the rule works on or an oracle of it; a tuning describes them only where it asks for more.
"""

# ruff: noqa: I001 (the order is that of the catalogue; "as" exports a name)

from surefoot.core import kinds
from surefoot.algorithms.catalogue import Entry as Entry
from surefoot.algorithms.catalogue import catalogue as catalogue
from surefoot.algorithms.catalogue import domain_of as domain_of
from surefoot.algorithms.catalogue import feedback_words as feedback_words
from surefoot.algorithms.catalogue import source_of as source_of
from surefoot.algorithms.catalogue import tuned_for as tuned_for
from surefoot.algorithms.catalogue import find_algorithms
from surefoot.algorithms.certificate import StepCertificate as StepCertificate

from surefoot.algorithms.pfs import PFS as PFS
from surefoot.algorithms.leader_follower import LeaderFollower as LeaderFollower
from surefoot.algorithms.values_follower import ValuesFollower as ValuesFollower
from surefoot.algorithms.certified_pfs import CertifiedPFS as CertifiedPFS
from surefoot.algorithms.several_pfs import SeveralPFS as SeveralPFS
from surefoot.algorithms.remembering_pfs import RememberingPFS as RememberingPFS
from surefoot.algorithms.certified_ogd import CertifiedOGD as CertifiedOGD
from surefoot.algorithms.certified_dual_averaging import (
    CertifiedDualAveraging as CertifiedDualAveraging,
)
from surefoot.algorithms.lb_sgd import LBSGD as LBSGD
from surefoot.algorithms.safety_filter import SafetyFilter as SafetyFilter
from surefoot.algorithms.region_filter import RegionFilter as RegionFilter
from surefoot.algorithms.values_averaging import PullCertificate as PullCertificate
from surefoot.algorithms.values_averaging import ValuesAveraging as ValuesAveraging
from surefoot.algorithms.averaged import Averaged as Averaged
from surefoot.algorithms.averaged import WaitCertificate as WaitCertificate
from surefoot.algorithms.delayed import Delayed as Delayed
from surefoot.algorithms.scheduled_pfs import ScheduledPFS as ScheduledPFS
from surefoot.algorithms.doubling_pfs import DoublingPFS as DoublingPFS
from surefoot.algorithms.mahdavi import Mahdavi as Mahdavi
from surefoot.algorithms.mahdavi_linear import MahdaviLinear as MahdaviLinear
from surefoot.algorithms.jenatton import Jenatton as Jenatton
from surefoot.algorithms.yuan import Yuan as Yuan
from surefoot.algorithms.dpp import DPP as DPP
from surefoot.algorithms.scalar_dpp import ScalarDPP as ScalarDPP
from surefoot.algorithms.tighten import Tighten as Tighten
from surefoot.algorithms.sinha_vaze import SinhaVaze as SinhaVaze
from surefoot.algorithms.strong_sinha_vaze import StrongSinhaVaze as StrongSinhaVaze
from surefoot.algorithms.ogd import OGD as OGD
from surefoot.algorithms.decaying_ogd import DecayingOGD as DecayingOGD
from surefoot.algorithms.adagrad_ogd import AdaGradOGD as AdaGradOGD
from surefoot.algorithms.dual_averaging import DualAveraging as DualAveraging
from surefoot.algorithms.entropic_dual_averaging import (
    EntropicDualAveraging as EntropicDualAveraging,
)
from surefoot.algorithms.frank_wolfe import FrankWolfe as FrankWolfe
from surefoot.algorithms.garber_kretzu import GarberKretzu as GarberKretzu
from surefoot.algorithms.separation_descent import SeparationDescent as SeparationDescent
from surefoot.algorithms.levy_krause import LevyKrause as LevyKrause
from surefoot.algorithms.gauge_descent import GaugeDescent as GaugeDescent
from surefoot.algorithms.adaptive_gauge import AdaptiveGauge as AdaptiveGauge
from surefoot.algorithms.gauge_newton import GaugeNewton as GaugeNewton
from surefoot.algorithms.tracking_blocks import TrackingBlocks as TrackingBlocks
from surefoot.algorithms.yu_neely import YuNeely as YuNeely
from surefoot.algorithms.yi import Yi as Yi
from surefoot.algorithms.tracking_penalty import TrackingPenalty as TrackingPenalty
from surefoot.algorithms.recoo import RECOO as RECOO
from surefoot.algorithms.primal_dual import PrimalDual as PrimalDual
from surefoot.algorithms.cvv_pro import CVVPro as CVVPro
from surefoot.algorithms.penalised_blocks import PenalisedBlocks as PenalisedBlocks
from surefoot.algorithms.bandit_frank_wolfe import BanditFrankWolfe as BanditFrankWolfe
from surefoot.algorithms.block_bandit import BlockBandit as BlockBandit
from surefoot.algorithms.network_penalty import NetworkPenalty as NetworkPenalty

ALGORITHMS = find_algorithms(globals())
"""The algorithms that a theorem tunes."""

# The classes and functions imported above, and no submodule.
__all__ = sorted(
    ["ALGORITHMS", *(n for n, v in globals().items() if callable(v) and not n.startswith("_"))]
)
__all__.remove("find_algorithms")

kinds.guard(globals())

"""The public names of the package, each with its module, in the order of the catalogue.

A rule joins by one line here: the catalogue, the contract tests, the command line and the tables of
the docs are made of these names. They load when they are used.
"""

# ruff: noqa: I001 (the order is that of the catalogue)

from surefoot.rules.entries import (
    ALGORITHMS as ALGORITHMS,
    Entry as Entry,
    catalogue as catalogue,
    domain_of as domain_of,
    feedback_words as feedback_words,
    source_of as source_of,
    try_tuning as try_tuning,
)
from surefoot.rules.wrappers.delayed import Delayed as Delayed, InTurns as InTurns
from surefoot.rules.wrappers.averaged import (
    Averaged as Averaged,
    WithProbability as WithProbability,
)
from surefoot.rules.pfs import (
    PFS as PFS,
    Corollary1 as Corollary1,
    Corollary2 as Corollary2,
    Corollary3 as Corollary3,
    Theorem1 as Theorem1,
    tune_polyak as tune_polyak,
)
from surefoot.rules.perturbed_pfs import BoundedNoise as BoundedNoise, SlowDrift as SlowDrift
from surefoot.rules.wrappers.change_over import (
    ChangeOver as ChangeOver,
    ChangeOverRegret as ChangeOverRegret,
    ChangeOverTheorem as ChangeOverTheorem,
)
from surefoot.rules.certified.leader_follower import (
    LeaderFollower as LeaderFollower,
    TheoremE as TheoremE,
    slow_start_lower_bound as slow_start_lower_bound,
)
from surefoot.rules.certified.values_follower import (
    ValuesFollower as ValuesFollower,
    ValuesOnly as ValuesOnly,
)
from surefoot.rules.wrappers.cost_probing import CostProbing as CostProbing, InPairs as InPairs
from surefoot.rules.certified.certified_pfs import (
    CertifiedPFS as CertifiedPFS,
    FixedStep as FixedStep,
    TheoremD as TheoremD,
)
from surefoot.rules.certified.certified_ogd import (
    CertifiedOGD as CertifiedOGD,
    TheoremC as TheoremC,
)
from surefoot.rules.certified.certified_dual_averaging import (
    CertifiedDualAveraging as CertifiedDualAveraging,
    TheoremK as TheoremK,
)
from surefoot.rules.certified.moving_balls import (
    MovingBalls as MovingBalls,
    Stationarity as Stationarity,
)
from surefoot.rules.related.lb_sgd import LBSGD as LBSGD, HalvedSlack as HalvedSlack
from surefoot.rules.certified.filters import (
    RegionFilter as RegionFilter,
    SafetyFilter as SafetyFilter,
)
from surefoot.rules.certified.measuring import (
    Measuring as Measuring,
    ValuesAndCurvature as ValuesAndCurvature,
    ValuesAveraging as ValuesAveraging,
)
from surefoot.rules.scheduled_pfs import (
    DoublingHorizon as DoublingHorizon,
    DoublingPFS as DoublingPFS,
    ScheduledPFS as ScheduledPFS,
    ScheduledSteps as ScheduledSteps,
    StronglyConvexSchedule as StronglyConvexSchedule,
    UnknownGradients as UnknownGradients,
    UnknownHorizon as UnknownHorizon,
)
from surefoot.rules.related.mahdavi import (
    Mahdavi as Mahdavi,
    MahdaviBalanced as MahdaviBalanced,
    MahdaviLinear as MahdaviLinear,
    MahdaviLinearBalanced as MahdaviLinearBalanced,
    MahdaviNoViolation as MahdaviNoViolation,
)
from surefoot.rules.related.jenatton import (
    Jenatton as Jenatton,
    JenattonStronglyConvex as JenattonStronglyConvex,
    JenattonTradeOff as JenattonTradeOff,
)
from surefoot.rules.related.yuan import (
    Yuan as Yuan,
    YuanStronglyConvex as YuanStronglyConvex,
    YuanTradeOff as YuanTradeOff,
)
from surefoot.rules.related.dpp import (
    DPP as DPP,
    DriftPlusPenalty as DriftPlusPenalty,
    ScalarDPP as ScalarDPP,
)
from surefoot.rules.wrappers.tighten import (
    Tighten as Tighten,
    Tightened as Tightened,
    tightened_constants as tightened_constants,
)
from surefoot.rules.related.sinha_vaze import (
    SinhaVaze as SinhaVaze,
    SinhaVazeConvex as SinhaVazeConvex,
    SinhaVazeStronglyConvex as SinhaVazeStronglyConvex,
    StrongSinhaVaze as StrongSinhaVaze,
)
from surefoot.rules.ogd import (
    OGD as OGD,
    AdaGradNorm as AdaGradNorm,
    AdaGradOGD as AdaGradOGD,
    DecayingOGD as DecayingOGD,
    DecayingStep as DecayingStep,
    DualAveraging as DualAveraging,
    DualAveragingTheorem as DualAveragingTheorem,
    StronglyConvexDescent as StronglyConvexDescent,
    Zinkevich as Zinkevich,
)
from surefoot.rules.adagrad_ftrl import (
    AdaGradFTRL as AdaGradFTRL,
    AddedUp as AddedUp,
    DiagonalAdaGrad as DiagonalAdaGrad,
)
from surefoot.rules.optimistic_dual_averaging import (
    Forecasts as Forecasts,
    OptimisticDualAveraging as OptimisticDualAveraging,
)
from surefoot.rules.related.entropic_dual_averaging import (
    EntropicDualAveraging as EntropicDualAveraging,
    EntropicTheorem as EntropicTheorem,
)
from surefoot.rules.related.frank_wolfe import (
    FrankWolfe as FrankWolfe,
    FrankWolfeTheorem as FrankWolfeTheorem,
)
from surefoot.rules.related.garber_kretzu import (
    BlockedTheorem as BlockedTheorem,
    GarberKretzu as GarberKretzu,
    PenalisedBlocks as PenalisedBlocks,
    PenalisedBlocksTheorem as PenalisedBlocksTheorem,
    TrackingBlocks as TrackingBlocks,
    TrackingTheorem as TrackingTheorem,
)
from surefoot.rules.related.separation_descent import (
    SeparationDescent as SeparationDescent,
    SeparationTheorem as SeparationTheorem,
)
from surefoot.rules.related.levy_krause import (
    LevyKrause as LevyKrause,
    LevyKrauseStronglyConvex as LevyKrauseStronglyConvex,
    LevyKrauseTheorem as LevyKrauseTheorem,
)
from surefoot.rules.related.gauge import (
    AdaptiveGauge as AdaptiveGauge,
    AdaptiveGaugeTheorem as AdaptiveGaugeTheorem,
    GaugeDescent as GaugeDescent,
    GaugeNewton as GaugeNewton,
    GaugeNewtonTheorem as GaugeNewtonTheorem,
    GaugeTheorem as GaugeTheorem,
    StronglyConvexGauge as StronglyConvexGauge,
)
from surefoot.rules.related.yu_neely import (
    YuNeely as YuNeely,
    YuNeelyTheorem as YuNeelyTheorem,
)
from surefoot.rules.related.yi import (
    TrackingPenalty as TrackingPenalty,
    TrackingPenaltyTheorem as TrackingPenaltyTheorem,
    Yi as Yi,
    YiTheorem as YiTheorem,
)
from surefoot.rules.related.recoo import RECOO as RECOO, RecooTheorem as RecooTheorem
from surefoot.rules.related.primal_dual import (
    PrimalDual as PrimalDual,
    PrimalDualTheorem as PrimalDualTheorem,
)
from surefoot.rules.related.cvv_pro import CVVPro as CVVPro, CVVProTheorem as CVVProTheorem
from surefoot.rules.related.bandit import (
    BanditFrankWolfe as BanditFrankWolfe,
    BlockBandit as BlockBandit,
    BlockBanditTheorem as BlockBanditTheorem,
    SmoothedBanditTheorem as SmoothedBanditTheorem,
)
from surefoot.rules.related.network_penalty import (
    NetworkPenalty as NetworkPenalty,
    NetworkStronglyConvex as NetworkStronglyConvex,
    NetworkTheorem as NetworkTheorem,
)

__all__: list[str]

"""The public names of the package, each with its module, in the order of the catalogue.

A rule joins by one line here: the catalogue, the contract tests, the command line and the tables of
the docs are made of these names. They load when they are used.
"""

# ruff: noqa: I001 (the order is that of the catalogue)

from surefoot.algorithms.entries import (
    ALGORITHMS as ALGORITHMS,
    Entry as Entry,
    catalogue as catalogue,
    domain_of as domain_of,
    feedback_words as feedback_words,
    source_of as source_of,
    try_tuning as try_tuning,
)
from surefoot.algorithms.guarantee import (
    Affected as Affected,
    Breach as Breach,
    ConstraintForm as ConstraintForm,
    EveryRound as EveryRound,
    Guarantee as Guarantee,
    Kind as Kind,
    KnownHorizon as KnownHorizon,
    Measure as Measure,
    NoClaim as NoClaim,
    Policy as Policy,
    PossibleHorizon as PossibleHorizon,
    Premise as Premise,
    PremiseError as PremiseError,
    PremiseWarning as PremiseWarning,
    Quantity as Quantity,
    Reaction as Reaction,
    Summed as Summed,
    Tuned as Tuned,
    unpack as unpack,
)
from surefoot.algorithms.promise import Promise as Promise, Promises as Promises
from surefoot.algorithms.with_errors import TheoremN as TheoremN, under_errors as under_errors
from surefoot.algorithms.unknown import Estimated as Estimated
from surefoot.algorithms.observers import (
    CutCost as CutCost,
    LeaderRegret as LeaderRegret,
    ObservedRegret as ObservedRegret,
)
from surefoot.algorithms.certified import (
    Certified as Certified,
    Learner as Learner,
    Proposals as Proposals,
    Proposer as Proposer,
    Wish as Wish,
)
from surefoot.algorithms.leader import Leader as Leader
from surefoot.algorithms.safety import (
    Safety as Safety,
    promises_of as promises_of,
    safety_of as safety_of,
)
from surefoot.algorithms.policy_leader import PolicyLeader as PolicyLeader
from surefoot.algorithms.descent import Descent as Descent
from surefoot.algorithms.delayed import Delayed as Delayed, InTurns as InTurns
from surefoot.algorithms.averaged import Averaged as Averaged, WithProbability as WithProbability
from surefoot.algorithms.pfs import (
    PFS as PFS,
    Corollary1 as Corollary1,
    Corollary2 as Corollary2,
    Corollary3 as Corollary3,
    Theorem1 as Theorem1,
    tune_polyak as tune_polyak,
)
from surefoot.algorithms.perturbed_pfs import BoundedNoise as BoundedNoise, SlowDrift as SlowDrift
from surefoot.algorithms.change_over import (
    ChangeOver as ChangeOver,
    ChangeOverRegret as ChangeOverRegret,
    ChangeOverTheorem as ChangeOverTheorem,
)
from surefoot.algorithms.leader_follower import (
    LeaderFollower as LeaderFollower,
    TheoremE as TheoremE,
    crawl_lower_bound as crawl_lower_bound,
)
from surefoot.algorithms.probing import (
    Probing as Probing,
    ValuesFollower as ValuesFollower,
    ValuesOnly as ValuesOnly,
)
from surefoot.algorithms.cost_probing import CostProbing as CostProbing, InPairs as InPairs
from surefoot.algorithms.uneven import (
    EvenCertificate as EvenCertificate,
    EvenRows as EvenRows,
    InOtherUnits as InOtherUnits,
    Stretched as Stretched,
)
from surefoot.algorithms.certified_pfs import (
    CertifiedPFS as CertifiedPFS,
    FixedStep as FixedStep,
    TheoremD as TheoremD,
)
from surefoot.algorithms.certified_ogd import CertifiedOGD as CertifiedOGD, TheoremC as TheoremC
from surefoot.algorithms.certified_dual_averaging import (
    Averaging as Averaging,
    CertifiedDualAveraging as CertifiedDualAveraging,
    ObservedAveraging as ObservedAveraging,
    TheoremK as TheoremK,
)
from surefoot.algorithms.moving_balls import (
    GradientSteps as GradientSteps,
    MovingBalls as MovingBalls,
    Stationarity as Stationarity,
)
from surefoot.algorithms.related.lb_sgd import LBSGD as LBSGD, HalvedSlack as HalvedSlack
from surefoot.algorithms.filters import RegionFilter as RegionFilter, SafetyFilter as SafetyFilter
from surefoot.algorithms.measuring import (
    Measuring as Measuring,
    ValuesAndCurvature as ValuesAndCurvature,
    ValuesAveraging as ValuesAveraging,
)
from surefoot.algorithms.scheduled_pfs import (
    DoublingHorizon as DoublingHorizon,
    DoublingPFS as DoublingPFS,
    ScheduledPFS as ScheduledPFS,
    ScheduledSteps as ScheduledSteps,
    StronglyConvexSchedule as StronglyConvexSchedule,
    UnknownGradients as UnknownGradients,
    UnknownHorizon as UnknownHorizon,
)
from surefoot.algorithms.related.mahdavi import (
    Mahdavi as Mahdavi,
    MahdaviBalanced as MahdaviBalanced,
    MahdaviLinear as MahdaviLinear,
    MahdaviLinearBalanced as MahdaviLinearBalanced,
    MahdaviNoViolation as MahdaviNoViolation,
)
from surefoot.algorithms.related.jenatton import (
    Jenatton as Jenatton,
    JenattonStronglyConvex as JenattonStronglyConvex,
    JenattonTradeOff as JenattonTradeOff,
)
from surefoot.algorithms.related.yuan import (
    Yuan as Yuan,
    YuanStronglyConvex as YuanStronglyConvex,
    YuanTradeOff as YuanTradeOff,
)
from surefoot.algorithms.related.dpp import (
    DPP as DPP,
    DriftPlusPenalty as DriftPlusPenalty,
    ScalarDPP as ScalarDPP,
)
from surefoot.algorithms.tighten import (
    Tighten as Tighten,
    Tightened as Tightened,
    tightened_constants as tightened_constants,
)
from surefoot.algorithms.related.sinha_vaze import (
    SinhaVaze as SinhaVaze,
    SinhaVazeConvex as SinhaVazeConvex,
    SinhaVazeStronglyConvex as SinhaVazeStronglyConvex,
    StrongSinhaVaze as StrongSinhaVaze,
)
from surefoot.algorithms.ogd import (
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
from surefoot.algorithms.adagrad_ftrl import (
    AdaGradFTRL as AdaGradFTRL,
    AddedUp as AddedUp,
    DiagonalAdaGrad as DiagonalAdaGrad,
)
from surefoot.algorithms.optimistic_dual_averaging import (
    Forecasts as Forecasts,
    OptimisticDualAveraging as OptimisticDualAveraging,
)
from surefoot.algorithms.related.entropic_dual_averaging import (
    EntropicDualAveraging as EntropicDualAveraging,
    EntropicTheorem as EntropicTheorem,
)
from surefoot.algorithms.related.frank_wolfe import (
    FrankWolfe as FrankWolfe,
    FrankWolfeTheorem as FrankWolfeTheorem,
)
from surefoot.algorithms.related.garber_kretzu import (
    BlockedTheorem as BlockedTheorem,
    GarberKretzu as GarberKretzu,
    PenalisedBlocks as PenalisedBlocks,
    PenalisedBlocksTheorem as PenalisedBlocksTheorem,
    TrackingBlocks as TrackingBlocks,
    TrackingTheorem as TrackingTheorem,
)
from surefoot.algorithms.related.separation_descent import (
    SeparationDescent as SeparationDescent,
    SeparationTheorem as SeparationTheorem,
)
from surefoot.algorithms.related.levy_krause import (
    LevyKrause as LevyKrause,
    LevyKrauseStronglyConvex as LevyKrauseStronglyConvex,
    LevyKrauseTheorem as LevyKrauseTheorem,
)
from surefoot.algorithms.related.gauge import (
    AdaptiveGauge as AdaptiveGauge,
    AdaptiveGaugeTheorem as AdaptiveGaugeTheorem,
    GaugeDescent as GaugeDescent,
    GaugeNewton as GaugeNewton,
    GaugeNewtonTheorem as GaugeNewtonTheorem,
    GaugeTheorem as GaugeTheorem,
    StronglyConvexGauge as StronglyConvexGauge,
)
from surefoot.algorithms.related.yu_neely import (
    YuNeely as YuNeely,
    YuNeelyTheorem as YuNeelyTheorem,
)
from surefoot.algorithms.related.yi import (
    TrackingPenalty as TrackingPenalty,
    TrackingPenaltyTheorem as TrackingPenaltyTheorem,
    Yi as Yi,
    YiTheorem as YiTheorem,
)
from surefoot.algorithms.related.recoo import RECOO as RECOO, RecooTheorem as RecooTheorem
from surefoot.algorithms.related.primal_dual import (
    PrimalDual as PrimalDual,
    PrimalDualTheorem as PrimalDualTheorem,
)
from surefoot.algorithms.related.cvv_pro import CVVPro as CVVPro, CVVProTheorem as CVVProTheorem
from surefoot.algorithms.related.bandit import (
    BanditFrankWolfe as BanditFrankWolfe,
    BlockBandit as BlockBandit,
    BlockBanditTheorem as BlockBanditTheorem,
    SmoothedBanditTheorem as SmoothedBanditTheorem,
)
from surefoot.algorithms.related.network_penalty import (
    NetworkPenalty as NetworkPenalty,
    NetworkStronglyConvex as NetworkStronglyConvex,
    NetworkTheorem as NetworkTheorem,
)

__all__: list[str]

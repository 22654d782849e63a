"""The public names of the package, each with its module; they load when they are used."""

from surefoot.guarantees.guarantee import (
    ConstraintForm as ConstraintForm,
    EveryRound as EveryRound,
    Guarantee as Guarantee,
    Kind as Kind,
    KnownHorizon as KnownHorizon,
    Measure as Measure,
    NoClaim as NoClaim,
    PossibleHorizon as PossibleHorizon,
    Summed as Summed,
)
from surefoot.guarantees.observers import (
    CutCost as CutCost,
    LeaderRegret as LeaderRegret,
    ObservedRegret as ObservedRegret,
)
from surefoot.guarantees.premise import (
    Affected as Affected,
    Breach as Breach,
    Policy as Policy,
    Premise as Premise,
    PremiseError as PremiseError,
    PremiseWarning as PremiseWarning,
    Quantity as Quantity,
    Reaction as Reaction,
)
from surefoot.guarantees.promise import Promise as Promise, Promises as Promises
from surefoot.guarantees.safety import (
    Safety as Safety,
    explain_nothing as explain_nothing,
    promises_of as promises_of,
    safety_of as safety_of,
)
from surefoot.guarantees.tuning import Tuned as Tuned, unpack as unpack
from surefoot.guarantees.unknown import Estimated as Estimated
from surefoot.guarantees.with_errors import TheoremN as TheoremN, under_errors as under_errors

__all__: list[str]

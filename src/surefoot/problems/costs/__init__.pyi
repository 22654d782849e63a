"""The public names of the package, each with its module; they load when they are used."""

from surefoot.problems.costs.arrays import (
    Absolute as Absolute,
    ArrayCosts as ArrayCosts,
    Costs as Costs,
    Hinge as Hinge,
    Linear as Linear,
    Logistic as Logistic,
    LogPortfolio as LogPortfolio,
    Quadratic as Quadratic,
    Quantile as Quantile,
    ScoredCosts as ScoredCosts,
)
from surefoot.problems.costs.functions import (
    Adversarial as Adversarial,
    FromChunks as FromChunks,
    FromFunctions as FromFunctions,
    from_jax as from_jax,
)

__all__: list[str]

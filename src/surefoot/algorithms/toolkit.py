"""Building blocks for update rules: bases, declarations, array operations, the feasibility step.

Each works on one run, on a batch and on every backend (:mod:`surefoot.core.types` has the shapes).
"""

from surefoot.core.algorithm import (
    Algorithm,
    CostsOnly,
    EachConstraint,
    OneConstraint,
    start_in,
    tuning,
)
from surefoot.core.arrays import (
    combine,
    dot,
    freeze,
    maximum,
    minimum,
    norm,
    number_like,
    rows_dot,
    sqrt,
    where,
)
from surefoot.core.checks import check_horizon, read_feedback, read_feedback_apart, read_gradient
from surefoot.core.parameters import (
    anything,
    choice,
    count,
    flag,
    function,
    instance_of,
    minimising,
    nonnegative,
    parameters_of,
    positive,
    projectable,
    rounds,
    share,
    size,
)
from surefoot.sets import project_halfspace

__all__ = [
    "Algorithm",
    "CostsOnly",
    "EachConstraint",
    "OneConstraint",
    "anything",
    "check_horizon",
    "choice",
    "combine",
    "count",
    "dot",
    "flag",
    "freeze",
    "function",
    "instance_of",
    "maximum",
    "minimising",
    "minimum",
    "nonnegative",
    "norm",
    "number_like",
    "parameters_of",
    "positive",
    "project_halfspace",
    "projectable",
    "read_feedback",
    "read_feedback_apart",
    "read_gradient",
    "rounds",
    "rows_dot",
    "share",
    "size",
    "sqrt",
    "start_in",
    "tuning",
    "where",
]

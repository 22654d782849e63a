"""Building blocks for update rules: bases, array operations, checks and the feasibility step.

Each works on one run, on a batch and on every backend (:mod:`surefoot.core.types` has the shapes).
"""

from surefoot.algorithms._rule import (
    CostsOnly,
    Count,
    EachConstraint,
    Nonnegative,
    OneConstraint,
    Positive,
    Rule,
    Share,
)
from surefoot.algorithms._start import check_domain, start_in
from surefoot.core.arrays import (
    combine,
    dot,
    maximum,
    minimum,
    norm,
    number_like,
    owned,
    record,
    rows_dot,
    sqrt,
    where,
)
from surefoot.core.checks import (
    cost_gradient,
    feedback,
    feedback_apart,
    horizon,
    nonnegative,
    parameters,
    plain,
    positive,
    whole,
)
from surefoot.sets import project_halfspace

__all__ = [
    "CostsOnly",
    "Count",
    "EachConstraint",
    "Nonnegative",
    "OneConstraint",
    "Positive",
    "Rule",
    "Share",
    "check_domain",
    "combine",
    "cost_gradient",
    "dot",
    "feedback",
    "feedback_apart",
    "horizon",
    "maximum",
    "minimum",
    "nonnegative",
    "norm",
    "number_like",
    "owned",
    "parameters",
    "plain",
    "positive",
    "project_halfspace",
    "record",
    "rows_dot",
    "sqrt",
    "start_in",
    "where",
    "whole",
]

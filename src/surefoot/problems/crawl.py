"""An instance on which no safe rule can be quick."""

from __future__ import annotations

import numpy as np

from surefoot.core import checks
from surefoot.problems.constraints import Affine, L2Norm, max_of
from surefoot.problems.costs import Linear
from surefoot.problems.problem import Problem
from surefoot.sets import Ball

__all__ = ["crawl"]


def crawl(
    kappa: float = 20.0,
    *,
    horizon: int,
    dimension: int = 2,
    size: float = 1.0,
    trials: int | None = None,
    streams: int | None = None,
) -> Problem:
    r"""Return Theorem H's lower-bound instance: a start with little slack, far from the best point.

    With e the first axis, :math:`g(x) = \max(e^\top x/\kappa - 1/\kappa, \|x\| - 1)`, the start 0
    and :math:`f_t(x) = -G_fe^\top x`: the set reaches D = 1 from the start, whose slack is
    :math:`\alpha = 1/\kappa`, with :math:`G_g = 1`. A rule that is safe for every g with these
    constants has a regret of at least :math:`G_f\kappa(1 - (1-1/\kappa)^T)`
    (:func:`surefoot.algorithms.crawl_lower_bound`).

    Args:
        kappa: :math:`G_gD/\alpha`, at least 1.
        horizon: rounds.
        dimension: entries of an action.
        size: G_f.
        trials: the number of identical runs; default: one run without a run axis.
        streams: not used, since nothing is random; all problems take it.

    Example:
        >>> problem = crawl(4.0, horizon=10)
        >>> problem.constraint.query(problem.start)[0]
        -0.25
    """
    checks.above(1.0 - 1e-15, kappa=kappa)
    checks.positive(size=size)
    checks.positive_int(dimension, "dimension")
    axis = np.zeros(dimension)
    axis[0] = 1.0
    lead = (
        (checks.check_horizon(horizon),)
        if trials is None
        else (checks.check_horizon(horizon), trials)
    )
    return Problem.of(
        Linear(np.broadcast_to(-size * axis, (*lead, dimension))),
        max_of(Affine([axis / kappa], [1.0 / kappa]), L2Norm(1.0)),
        Ball(1.0),
        np.zeros(dimension),
        G_f=size,
        name=f"crawl, kappa = {kappa:g}",
    )

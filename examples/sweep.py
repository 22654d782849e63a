"""A sweep from Python: one rule with several parameters, several horizons, one page.

Needs the extra ``plot``. Interrupt it, and what is finished is shown.
"""

from __future__ import annotations

import sys

import numpy as np

import surefoot as sf
from surefoot.experiments.compare import Comparison
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Quadratic
from surefoot.sets import Ball

LIMITS = Affine([[1, 1], [-1, 0], [0, -1]], [0.6, 0.2, 0.2])  # g = max(Ax - b)


def depot(*, horizon: int, trials: int, streams: int) -> sf.Problem:
    """Return wishes of two docks that share a floor, other ones for other streams."""
    wishes = np.random.default_rng(streams).uniform(0.0, 1.0, size=(horizon, trials, 2))
    return sf.Problem.of(Quadratic(wishes, 2.0), LIMITS, Ball(1.2), [0.0, 0.0], name="depot")


def run(horizons: tuple[int, ...] = (200, 400, 800), trials: int = 10) -> Comparison:
    """Play certified steps with three margins, and what the theorems choose."""
    margins = {
        f"CertifiedPFS, rho = {rho:g}": sf.CertifiedPFS(G_g=np.sqrt(2), domain=Ball(1.2), rho=rho)
        for rho in (0.01, 0.05, 0.15)
    }
    return sf.compare(
        {**margins, "PFS": sf.PFS.tuned, "leader": sf.LeaderFollower.default},
        depot,
        horizon=horizons,
        trials=trials,
    )


if __name__ == "__main__":
    found = run()
    print(found.table("markdown"))
    print(f"the page is {found.report(sys.argv[1] if sys.argv[1:] else 'out/sweep')}")

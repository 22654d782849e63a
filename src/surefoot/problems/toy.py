r"""The paper's experiment on the published random streams, and a variant whose constraint binds.

:math:`f_t(x) = 3\|x - v_t\|^2` with v_t uniform on a unit square,
:math:`g(x) = \|x\|_\infty - 1/2`, :math:`x_1 = 0`, R = 1, 30 trials. The text has
:math:`v_t \in [0,1]^2`; the published scripts draw from :math:`[-1,0]^2`, the mirror image, and
so does this module.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import polyak_rate
from surefoot.core.types import Array
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Quadratic
from surefoot.problems.problem import Problem
from surefoot.problems.ready import Draws
from surefoot.sets import Ball

__all__ = ["HORIZONS", "SETTINGS", "Setting", "binding_toy", "paper_toy"]

HORIZONS = tuple(range(2_000, 20_001, 2_000))
"""The ten horizons of Figure 1."""

_DRAWN = 20_000


class Setting(NamedTuple):
    r"""One of the parameter sets that the name of the paper's experiment may mean.

    All have :math:`\eta = \xi \cdot 0.25/(G_f\sqrt T)` and :math:`\rho = c/\sqrt T`.

    Attributes:
        name: in tables.
        source: where it comes from.
        G_f: the gradient bound it puts in; the true one is 6(1 + sqrt 2) = 14.49.
        rho_scale: the c of rho.
    """

    name: str
    source: str
    G_f: float
    rho_scale: float

    def parameters(self, horizon: int) -> tuple[float, float]:
        """Step size and tightening for a horizon."""
        xi = polyak_rate(math.sqrt(0.5), 1.0)
        root = math.sqrt(horizon)
        return xi * 0.25 / (self.G_f * root), self.rho_scale / root


_TRUE_G_F = 6 * (1 + math.sqrt(2))

SETTINGS = (
    Setting("as plotted", "matches the published Figure 1a", 1.0, 1.0),
    Setting("as written", "Section 4 of the paper", math.sqrt(2), 0.25),
    Setting("as released", "the published regret script", _TRUE_G_F, 1.0),
)
"""The three that differ, in the figure, the text and the scripts."""


def paper_toy(
    horizon: int = _DRAWN, trials: int = 30, seed: int = 0, *, streams: int | None = None
) -> Problem:
    """Return the paper's toy on the published streams (seed 0 for regret, 1 for violation).

    Args:
        horizon: rounds; up to 20,000 they are the first of the published 20,000.
        trials: runs; the published number is 30.
        seed: of the published generator.
        streams: a seed for other streams instead, with one generator per run: fewer rounds or runs
            are the first of more, in any number.

    Example:
        >>> toy = paper_toy(horizon=2, trials=1)
        >>> toy.costs.targets[0, 0].round(4)
        array([-0.363 , -0.0476])
    """
    targets = _targets(horizon, trials, seed, streams)
    return _toy(targets, "paper toy", farthest=math.sqrt(2))


def binding_toy(
    horizon: int = _DRAWN, trials: int = 30, seed: int = 0, *, streams: int | None = None
) -> Problem:
    """Return the toy with streams moved by -0.5: the best action is a corner, so g binds."""
    targets = _targets(horizon, trials, seed, streams) - 0.5
    return _toy(targets, "binding toy", farthest=1.5 * math.sqrt(2))


def _toy(targets: Array, name: str, farthest: float) -> Problem:
    costs = Quadratic(targets, curvature=6.0)
    toy = Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), np.zeros(2), name=name)
    # The bound over all possible targets, not only the drawn ones.
    G_f = 6 * (1 + farthest)
    cost_bound = 3 * (1 + farthest) ** 2
    constants = toy.constants.with_origin("derived", G_f=G_f, F=2 * G_f, cost_bound=cost_bound)
    return replace(toy, constants=constants)


def _targets(horizon: int, trials: int, seed: int, streams: int | None) -> Array:
    if streams is None:
        return _published_targets(horizon, trials, seed)
    draws = Draws(horizon, trials, streams)
    return draws.draw(lambda source, lead: source.uniform(-1, 0, (*lead, 2)))


def _published_targets(horizon: int, trials: int, seed: int) -> Array:
    """Return targets ``(T, trials, 2)`` in the order in which the published scripts draw them."""
    checks.check_horizon(horizon)
    checks.positive_int(trials, "trials")
    rng = np.random.default_rng(seed)
    length = max(horizon, _DRAWN)
    targets = np.empty((horizon, trials, 2))
    for trial in range(trials):
        targets[:, trial, 0] = rng.uniform(-1, 0, (length, 1))[:horizon, 0]
        targets[:, trial, 1] = rng.uniform(-1, 0, (length, 1))[:horizon, 0]
        # Noise that the scripts draw and multiply by 0: it keeps the streams aligned.
        rng.normal(0, 1, (length, 4))
    return targets

"""Problems that other methods were designed for: a thin set, a simplex, changing constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import Affine, AffineStream, SimplexRows
from surefoot.problems.costs import Linear, LogPortfolio, Quadratic
from surefoot.problems.problem import Problem
from surefoot.problems.streams import draw_streams
from surefoot.sets import Ball

__all__ = ["changing_halfspaces", "portfolio", "thin_box"]


def thin_box(
    dimension: int = 3,
    kappa: float = 100.0,
    *,
    horizon: int,
    trials: int | None = None,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return a box that is thin in one direction: outer radius about kappa times the inner.

    Half-sides are 1, but for the second, which is :math:`1/\kappa`; linear costs of norm 1 pull
    towards a corner with noise of their own size.

    Example:
        >>> p = thin_box(3, 10.0, horizon=5)
        >>> p.constraint.region.upper
        array([1. , 0.1, 1. ])
    """
    if checks.positive_int(dimension, "dimension") < 2:
        raise InvalidValueError(f"dimension must be at least 2, got {dimension}")
    if not kappa >= 1:
        raise InvalidValueError(f"kappa must be at least 1, got {kappa!r}")
    half = np.ones(dimension)
    half[1] = 1 / kappa
    faces = np.eye(dimension)
    constraint = Affine(np.vstack([faces, -faces]), np.append(half, half))
    pull = np.full(dimension, -1 / math.sqrt(dimension))

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        return source.normal(size=(*lead, dimension)) / math.sqrt(dimension)

    slopes = pull + draw_streams(draw, np.random.default_rng(seed), horizon, trials, streams)
    slopes /= np.maximum(np.linalg.norm(slopes, axis=-1, keepdims=True), 1.0)
    return Problem.of(
        Linear(slopes),
        constraint,
        Ball(float(np.linalg.norm(half)) * (1 + 1e-12)),
        np.zeros(dimension),
        G_f=1.0,
        name=f"thin box, d = {dimension}, kappa {kappa:g}",
    )


def portfolio(
    dimension: int = 5,
    *,
    horizon: int,
    trials: int | None = None,
    spread: float = 0.2,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return log-wealth on a simplex, :math:`f_t(x) = -\log(r_t^\top x)`, price relatives near 1.

    The start is the equal portfolio. It spends all, so it has no slack, and methods that need a
    strictly feasible start refuse it.

    Example:
        >>> portfolio(4, horizon=5).start
        array([0.25, 0.25, 0.25, 0.25])
    """
    checks.positive_int(dimension, "dimension")
    checks.between(0, 1, spread=spread)

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        return source.uniform(-1.0, 1.0, size=(*lead, dimension))

    rng = np.random.default_rng(seed)
    drift = 0.1 * spread * rng.uniform(-1.0, 1.0, dimension)
    relatives = 1 + drift + 0.9 * spread * draw_streams(draw, rng, horizon, trials, streams)
    return Problem.of(
        LogPortfolio(relatives, cash=0.0),
        SimplexRows(dimension),
        Ball(1 + 1e-9),
        np.full(dimension, 1 / dimension),
        # On the simplex growth is at least 1 - spread, and a relative at most 1 + spread.
        G_f=math.sqrt(dimension) * (1 + spread) / (1 - spread),
        name=f"portfolio, d = {dimension}",
    )


def changing_halfspaces(
    dimension: int = 2,
    *,
    horizon: int,
    trials: int | None = None,
    margin: float = 0.2,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return one half-space per round, in one of d + 1 directions; 0 meets all by a margin.

    :math:`g_t(x) = a_t^\top x - b_t` with unit :math:`a_t` and :math:`b_t` between the margin and
    three times as much; quadratic costs pull outwards. The comparator must meet every round.

    Example:
        >>> p = changing_halfspaces(2, horizon=5)
        >>> p.constants.slater_margin
        0.2
    """
    checks.positive_int(dimension, "dimension")
    checks.between(0, 0.3, margin=margin)
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(dimension + 1, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # Both numbers of a round in one draw, so that fewer rounds are the first of more.
    drawn_limits, drawn_rows = rng.uniform(size=(checks.check_horizon(horizon), 2)).T
    limits = margin * (1 + 2 * drawn_limits)
    A = directions[(drawn_rows * (dimension + 1)).astype(int)][:, None]
    pull = 1.5 * directions.mean(axis=0) / np.linalg.norm(directions.mean(axis=0))

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        return source.uniform(-0.5, 0.5, size=(*lead, dimension))

    targets = pull + draw_streams(draw, rng, horizon, trials, streams)
    made = Problem.of(
        Quadratic(targets, 6.0),
        AffineStream(A, limits[:, None]),
        Ball(1.0),
        np.zeros(dimension),
        name=f"changing half-spaces, d = {dimension}",
    )
    return replace(made, constants=made.constants.with_origin("derived", slater_margin=margin))

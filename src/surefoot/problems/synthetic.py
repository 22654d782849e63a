"""Seeded problems in any dimension: polytopes, rotated boxes, ellipsoids, matrices.

``seed`` makes the set and, unless ``streams`` is given, the costs. With ``streams`` the costs come
from that seed alone, each run's from its own generator: other costs on the same set. Fewer rounds
or fewer runs are the first of more.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.problems.constraints import (
    Affine,
    Constraint,
    EllipsoidNorm,
    L2Norm,
    SpectralNorm,
    max_of,
)
from surefoot.problems.costs import Linear, Logistic, Quadratic
from surefoot.problems.problem import Problem
from surefoot.problems.streams import draw_streams
from surefoot.sets import Ball

__all__ = ["ellipsoid", "fair_logistic", "random_polytope", "rotated_box", "spectral_ball"]


def random_polytope(
    dimension: int = 20,
    rows: int = 60,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a random polytope around 0 and costs whose best action is on its boundary.

    The rows, all of norm 1, are those of a cube, which keep the set bounded, and random ones that
    cut into it; so there are at least twice as many as entries of an action.

    Example:
        >>> p = random_polytope(3, 9, horizon=10)
        >>> p.constraint.A.shape, p.constants.origins["sigma"]
        ((9, 3), 'local')
    """
    checks.positive_int(dimension, "dimension")
    if checks.positive_int(rows, "rows") < 2 * dimension:
        raise InvalidValueError(f"rows must be at least 2 dimension = {2 * dimension}, got {rows}")
    rng = np.random.default_rng(seed)
    cuts = rng.normal(size=(rows - 2 * dimension, dimension))
    cuts /= np.linalg.norm(cuts, axis=1, keepdims=True)
    A = np.vstack([np.eye(dimension), -np.eye(dimension), cuts])
    b = np.append(np.ones(2 * dimension), rng.uniform(0.5, 1.0, len(cuts)))
    name = f"random polytope, d = {dimension}, m = {rows}"
    constraint, radius = Affine(A, b), math.sqrt(dimension)
    return _pulled(constraint, radius, dimension, horizon, trials, costs, rng, streams, name)


def rotated_box(
    dimension: int = 5,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a randomly rotated box with sides of different lengths; sigma is known exactly.

    Example:
        >>> rotated_box(3, horizon=10).constants.origins["sigma"]
        'derived'
    """
    checks.positive_int(dimension, "dimension")
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    half = rng.uniform(0.5, 1.0, dimension)
    constraint = Affine(np.vstack([Q, -Q]), np.append(half, half))
    radius = float(np.linalg.norm(half)) * (1 + 1e-12)
    name = f"rotated box, d = {dimension}"
    return _pulled(constraint, radius, dimension, horizon, trials, costs, rng, streams, name)


def ellipsoid(
    dimension: int = 5,
    condition: float = 10.0,
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return a randomly rotated ellipsoid with half-axes from 1 down to 1/sqrt(condition).

    Example:
        >>> p = ellipsoid(3, horizon=10)
        >>> round((p.constants.G_g / p.constants.sigma) ** 2, 6)  # the condition number
        10.0
    """
    checks.positive_int(dimension, "dimension")
    if not condition >= 1:
        raise InvalidValueError(f"condition must be at least 1, got {condition!r}")
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    P = Q @ np.diag(np.geomspace(1.0, condition, dimension)) @ Q.T
    name = f"ellipsoid, d = {dimension}, condition {condition:g}"
    radius = 1 + 1e-9  # the eigenvalues of the computed P are those asked for up to rounding
    constraint = EllipsoidNorm(0.5 * (P + P.T))
    return _pulled(constraint, radius, dimension, horizon, trials, costs, rng, streams, name)


def spectral_ball(
    shape: tuple[int, int] = (4, 3),
    *,
    horizon: int,
    trials: int | None = None,
    costs: Literal["linear", "quadratic"] = "quadratic",
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    """Return matrices of spectral norm at most 1; an action is the matrix row by row.

    Example:
        >>> spectral_ball((2, 3), horizon=10).costs.dimension
        6
    """
    constraint = SpectralNorm(shape, 1.0)
    radius = math.sqrt(min(shape)) * (1 + 1e-12)  # of min(shape) singular values, each at most 1
    rng = np.random.default_rng(seed)
    name = f"spectral ball, {shape[0]} x {shape[1]}"
    dimension = shape[0] * shape[1]
    return _pulled(constraint, radius, dimension, horizon, trials, costs, rng, streams, name)


def fair_logistic(
    dimension: int = 10,
    *,
    horizon: int,
    trials: int | None = None,
    radius: float = 5.0,
    tolerance: float = 0.05,
    seed: int = 0,
    streams: int | None = None,
) -> Problem:
    r"""Return logistic regression with a norm limit and nearly equal scores for two groups.

    The score :math:`a_t^\top x` of a person must have a covariance of at most the tolerance with
    group membership, measured on an audit batch of 2,000 people, with the row scaled to norm 1:
    :math:`|c^\top x| \le \tau`, :math:`\|x\| \le R`. Features leak the group, so the unconstrained
    fit is unfair.

    Example:
        >>> p = fair_logistic(4, horizon=50)
        >>> float(p.constraint.value(p.start))
        -0.05
    """
    checks.positive_int(dimension, "dimension")
    checks.positive(radius=radius, tolerance=tolerance)
    rng = np.random.default_rng(seed)
    leak, truth = rng.normal(size=(2, dimension))

    def groups(source: Any, lead: tuple[int, ...]) -> Any:
        return source.choice([-1.0, 1.0], lead)

    def normals(source: Any, lead: tuple[int, ...]) -> Any:
        return source.normal(size=(*lead, dimension))

    def chances(source: Any, lead: tuple[int, ...]) -> Any:
        return source.random(lead)

    def people(group: Any, noise: Any) -> Any:
        features = noise + group[..., None] * leak
        return features / np.linalg.norm(features, axis=-1, keepdims=True)

    group = groups(rng, (2_000,))
    audit = people(group, normals(rng, (2_000,)))
    covariance = (group - group.mean()) @ audit
    row = covariance / np.linalg.norm(covariance)
    group, noise, uniform = (
        draw_streams(draw, rng, horizon, trials, streams, part)
        for part, draw in enumerate((groups, normals, chances))
    )
    features = people(group, noise)
    chance = 1 / (1 + np.exp(-4 * (features @ truth) - group))
    classes = np.where(uniform < chance, 1.0, -1.0)
    constraint = max_of(Affine([row, -row], [tolerance, tolerance]), L2Norm(radius))
    return Problem.of(
        Logistic(features, classes),
        constraint,
        Ball(radius),
        np.zeros(dimension),
        name=f"fair logistic regression, d = {dimension}",
    )


def _pulled(
    constraint: Constraint,
    radius: float,
    dimension: int,
    horizon: int,
    trials: int | None,
    costs: str,
    rng: Any,
    streams: int | None,
    name: str,
) -> Problem:
    """Return costs that pull towards a point outside, with as much noise: the constraint binds."""
    checks.one_of(("linear", "quadratic"), costs=costs)
    pull = rng.normal(size=dimension)
    pull *= 2 * radius / np.linalg.norm(pull)

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        return source.normal(size=(*lead, dimension))

    noise = draw_streams(draw, rng, horizon, trials, streams) * 2 * radius / math.sqrt(dimension)
    stream = Linear(-(pull + noise) / radius) if costs == "linear" else Quadratic(pull + noise, 1.0)
    start = np.zeros(dimension)
    return Problem.of(stream, constraint, Ball(radius), start, name=f"{name}, {costs} costs")

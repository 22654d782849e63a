"""Feasible sets whose projections, subgradients and best fixed actions are known.

Every statement of the paper about g is tested on all of them: smooth and kinked, one to five
dimensions, axis-parallel and not, centred and not, slopes that differ from face to face.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from surefoot import PFS, Ball, Constants, Feedback, Problem, Trace, play
from surefoot.problems.constraints import (
    Affine,
    Constraint,
    FunctionConstraint,
    L2Norm,
    LinfNorm,
    max_of,
)
from surefoot.problems.costs import Adversarial, Linear
from surefoot.rules.states import ActionState

# The projections below accept a candidate that leaves its set by 1e-12, on sets of size about 1
# and sigma above 0.05: distances err by less than 2e-11, g by less than 1e-11.
EXACT = 1e-10


@dataclass(frozen=True, eq=False)
class Case:
    """A constraint, and what is known of it beyond what the library may know.

    Attributes:
        project: points ``(n, d)`` and rho to their projections onto X_rho.
        gradients: a point ``(d,)`` to the extreme subgradients there, ``(k, d)``.
        support: slopes ``(n, d)`` to the minimum of each over X.
        sigma: (sigma, epsilon) of Assumption 4 where the constraint itself does not know it.
    """

    name: str
    constraint: Constraint
    domain: Ball
    start: Any
    project: Callable[[Any, float], Any]
    gradients: Callable[[Any], Any]
    support: Callable[[Any], Any]
    sigma: tuple[float, float] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def dimension(self) -> int:
        return len(self.start)

    @cached_property
    def constants(self) -> Constants:
        known = self.constraint.constants(self.domain, self.start)
        if self.sigma is None:
            return known
        return known.with_origin("given", sigma=self.sigma[0], epsilon=self.sigma[1])

    @property
    def levels(self) -> tuple[float, ...]:
        """Tightenings to try: none, lopsided ones, and the largest allowed."""
        return 0.0, 0.37 * self.constants.epsilon, self.constants.epsilon

    def value(self, points: Any) -> Any:
        """g at points ``(n, d)``, as ``(n,)``."""
        return self.constraint.value(points)[:, 0]

    def distance(self, points: Any, rho: float) -> Any:
        return np.linalg.norm(points - self.project(points, rho), axis=-1)

    def points(self, n: int = 60, seed: int = 5) -> Any:
        """Points of the ball: anywhere, on its sphere, on the boundary of X and X_epsilon."""
        rng = np.random.default_rng(seed)
        d, R = self.dimension, self.domain.radius
        direction = rng.normal(size=(n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        anywhere = R * rng.uniform(size=(n, 1)) ** (1 / d) * direction
        sphere = R * (1 - 1e-15) * direction
        # Projecting the sphere lands on corners too: kinks, and ties in the max.
        boundary = self.project(sphere, 0.0)
        inner = self.project(sphere, self.constants.epsilon)
        return np.concatenate([anywhere, sphere, boundary, inner, [self.start]])

    def problem(self, costs: Any, start: Any = None, G_f: float | None = None) -> Problem:
        """A problem on this set; the constants are those of the case, at this start."""
        start = self.start if start is None else np.asarray(start)
        made = Problem.of(
            costs, self.constraint, self.domain, start, G_f=G_f, infeasible_start=True
        )
        constants = made.constants.with_origin(
            "given", sigma=self.constants.sigma, epsilon=self.constants.epsilon
        )
        return Problem(
            costs=costs,
            constraint=self.constraint,
            domain=self.domain,
            start=start,
            constants=constants,
        )


def shortest_in_hull(vectors: Any) -> float:
    """The norm of the shortest convex combination, by going through all faces of the hull."""
    best = np.inf
    for k in range(1, len(vectors) + 1):
        for face in combinations(range(len(vectors)), k):
            V = np.asarray(vectors)[list(face)]
            # Least squares for the weights of the foot of 0 on the affine hull of the face.
            weights = np.linalg.lstsq((V[1:] - V[0]).T, -V[0], rcond=None)[0] if k > 1 else []
            weights = np.array([1 - np.sum(weights), *weights])
            if (weights >= -1e-12).all():
                best = min(best, float(np.linalg.norm(weights @ V)))
    return best


def _faces(A: Any, b: Any) -> list[list[int]]:
    rows, d = A.shape
    return [
        list(face)
        for k in range(1, d + 1)
        for face in combinations(range(rows), k)
        if np.linalg.matrix_rank(A[list(face)]) == k
    ]


def _nearest(points: Any, candidates: list[Any], inside: Callable[[Any], Any]) -> Any:
    """The nearest of the candidates, ``(n, d)`` each, that are in the set."""
    best, distance = np.full_like(points, np.nan), np.full(len(points), np.inf)
    for candidate in candidates:
        away = np.linalg.norm(points - candidate, axis=1)
        better = inside(candidate) & (away < distance)
        best[better], distance[better] = candidate[better], away[better]
    assert np.isfinite(distance).all()
    return best


def _project_polytope(points: Any, A: Any, b: Any) -> Any:
    # The projection is the foot on the affine hull of the face it lies on, and every foot that is
    # in the polytope is no nearer than the projection: the nearest such foot is the projection.
    candidates = [points]
    for face in _faces(A, b):
        F = A[face]
        weights = np.linalg.solve(F @ F.T, (points @ F.T - b[face]).T)
        candidates.append(points - weights.T @ F)
    return _nearest(points, candidates, lambda p: (p @ A.T - b).max(axis=1) <= 1e-12)


def _vertices(A: Any, b: Any) -> Any:
    d = A.shape[1]
    found = [np.linalg.solve(A[f], b[f]) for f in _faces(A, b) if len(f) == d]
    return np.array([v for v in found if (A @ v - b).max() <= 1e-12])


def polytope(name: str, A: Any, b: Any, R: float, start: Any) -> Case:
    A, b = np.array(A), np.array(b)
    return Case(
        name,
        Affine(A, b),
        Ball(R),
        np.array(start),
        project=lambda x, rho: _project_polytope(x, A, b - rho),
        gradients=lambda x: A[A @ x - b >= (A @ x - b).max() - 1e-12],
        support=lambda C: (C @ _vertices(A, b).T).min(axis=1),
    )


def cube(name: str, radius: float, centre: Any, R: float, start: Any) -> Case:
    centre = np.array(centre)
    d = len(centre)
    A = np.concatenate([np.eye(d), -np.eye(d)])
    b = radius + np.concatenate([centre, -centre])
    return Case(
        name,
        LinfNorm(radius, d, centre),
        Ball(R),
        np.array(start),
        project=lambda x, rho: np.clip(x, centre - radius + rho, centre + radius - rho),
        gradients=lambda x: A[A @ x - b >= (A @ x - b).max() - 1e-12],
        support=lambda C: C @ centre - radius * np.abs(C).sum(axis=1),
    )


def disc(name: str, radius: float, centre: Any, R: float, start: Any) -> Case:
    centre = np.array(centre)
    g = L2Norm(radius, centre)

    def project(x: Any, rho: float) -> Any:
        z = x - centre
        length = np.linalg.norm(z, axis=1, keepdims=True)
        return centre + z * np.minimum(1.0, (radius - rho) / np.maximum(length, 1e-300))

    return Case(
        name,
        g,
        Ball(R),
        np.array(start),
        project,
        gradients=lambda x: g.subgradient(x)[None],
        support=lambda C: C @ centre - radius * np.linalg.norm(C, axis=1),
    )


def paraboloid(name: str, radius: float, R: float, start: Any) -> Case:
    """g = |x|^2 - r^2: the slope is not constant, and largest on the sphere of the ball."""
    level = 0.4 * radius**2

    def value(x: Any) -> Any:
        return np.sum(x * x, axis=-1, keepdims=x.ndim > 1) - radius**2

    def project(x: Any, rho: float) -> Any:
        length = np.linalg.norm(x, axis=1, keepdims=True)
        return x * np.minimum(1.0, np.sqrt(radius**2 - rho) / np.maximum(length, 1e-300))

    return Case(
        name,
        FunctionConstraint(value, lambda x: 2 * x, bound=2 * R),
        Ball(R),
        np.array(start),
        project,
        gradients=lambda x: 2 * x[None],
        support=lambda C: -radius * np.linalg.norm(C, axis=1),
        sigma=(2 * np.sqrt(radius**2 - level), level),
    )


def ellipsoid(name: str, axes: Any, R: float, start: Any) -> Case:
    """g = |Mx| - 1 with M diagonal: curved, with G_g and sigma far apart."""
    m = 1 / np.array(axes)

    def value(x: Any) -> Any:
        return np.sqrt(np.sum((m * x) ** 2, axis=-1, keepdims=x.ndim > 1)) - 1

    def gradient(x: Any) -> Any:
        length = np.sqrt(np.sum((m * x) ** 2, axis=-1, keepdims=True))
        return m * m * x / np.where(length > 0, length, 1.0)

    def project(x: Any, rho: float) -> Any:
        c = 1 - rho

        def candidate(weight: Any) -> Any:
            return x / (1 + weight * m * m)

        # The projection is x/(1 + w m^2) with |M .| = c; that length falls in w: bisect.
        low, high = np.zeros((len(x), 1)), np.full((len(x), 1), 4 * R / (c * m.min()))
        for _ in range(120):
            middle = 0.5 * (low + high)
            outside = value(candidate(middle)) + rho > 0
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return np.where(value(x) + rho > 0, candidate(high), x)

    return Case(
        name,
        FunctionConstraint(value, gradient, bound=m.max() * (1 + 1e-15)),
        Ball(R),
        np.array(start),
        project,
        gradients=lambda x: gradient(x)[None],
        support=lambda C: -np.linalg.norm(C / m, axis=1),
        # |M^2 x|/|Mx| is at least the smallest entry of M.
        sigma=(m.min() * (1 - 1e-15), 0.45),
    )


def capped_disc(name: str, radius: float, a: Any, b: float, R: float, start: Any) -> Case:
    """A disc cut by a line: a smooth part and a linear one, joined by max_of."""
    a = np.array(a)
    across = np.array([-a[1], a[0]]) / np.linalg.norm(a)

    def chord_ends(r: float, offset: float) -> list[Any]:
        foot = offset * a / (a @ a)
        half = np.sqrt(r * r - foot @ foot)
        return [foot + half * across, foot - half * across]

    def inside(p: Any, rho: float) -> Any:
        return (np.linalg.norm(p, axis=1) <= radius - rho + 1e-12) & (p @ a - b + rho <= 1e-12)

    def project(x: Any, rho: float) -> Any:
        r, offset = radius - rho, b - rho
        length = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        on_line = x - ((x @ a - offset) / (a @ a))[:, None] * a
        ends = [np.broadcast_to(e, x.shape) for e in chord_ends(r, offset)]
        return _nearest(x, [x, x * (r / length), on_line, *ends], lambda p: inside(p, rho))

    def gradients(x: Any) -> Any:
        values = np.array([np.linalg.norm(x) - radius, a @ x - b])
        parts = np.array([x / max(np.linalg.norm(x), 1e-300), a])
        return parts[values >= values.max() - 1e-12]

    def support(C: Any) -> Any:
        arc = -radius * C / np.maximum(np.linalg.norm(C, axis=1, keepdims=True), 1e-300)
        ends = np.array([C @ e for e in chord_ends(radius, b)])
        on_arc = np.where(inside(arc, 0.0), np.vecdot(C, arc), np.inf)
        return np.minimum(on_arc, ends.min(axis=0))

    return Case(
        name,
        max_of(L2Norm(radius), Affine([a], [b])),
        Ball(R),
        np.array(start),
        project,
        gradients,
        support,
    )


CASES = (
    polytope("interval", [[2.0], [-3.0]], [1.0, 0.9], 0.5, [0.1]),
    cube("square", 0.5, [0.0, 0.0], 1.0, [0.0, 0.0]),
    cube("5-cube off centre", 0.4, [0.2, -0.1, 0.0, 0.3, -0.2], 1.6, [0.1, 0.0, 0.1, 0.2, -0.2]),
    disc("disc off centre", 0.6, [0.3, -0.2], 1.0, [0.3, -0.2]),
    polytope(
        "box of uneven slopes",
        [[2.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -3.0]],
        [1.0, 0.7, 0.2, 0.9],
        0.9,
        [-0.1, 0.1],
    ),
    polytope(
        "triangle",
        [[1.0, 0.4], [-1.2, 0.7], [0.1, -0.9]],
        [0.5, 0.4, 0.3],
        1.0,
        [0.0, 0.1],
    ),
    polytope(
        "wedge",  # two of the normals almost opposite: a sharp corner, a small sigma
        [[0.3, 1.0], [0.1, -1.0], [-1.0, 0.2]],
        [0.2, 0.2, 0.4],
        1.5,
        [0.0, 0.0],
    ),
    polytope(
        "tetrahedron",
        [[1.0, 0.2, 0.1], [-0.3, 1.1, 0.0], [0.2, -0.8, 0.9], [-0.6, -0.4, -0.8]],
        [0.4, 0.5, 0.4, 0.5],
        2.6,
        [0.05, 0.1, -0.1],
    ),
    paraboloid("paraboloid", 0.7, 1.0, [0.2, -0.1, 0.1]),
    ellipsoid("ellipsoid", [0.9, 0.4, 0.6], 1.0, [0.1, 0.05, -0.1]),
    capped_disc("capped disc", 0.8, [1.5, 0.5], 0.45, 1.0, [-0.1, 0.05]),
)


@dataclass(frozen=True)
class Greedy:
    """Of a fan of unit directions, the one that makes the next g largest: one step ahead."""

    algorithm: PFS
    constraint: Constraint
    directions: Any
    size: float

    def __call__(self, t: Any, x: Any) -> Any:
        g, s = self.constraint.query(x)
        length = float(np.linalg.norm(s))
        out = -s / length if length > 0 else s
        slopes = self.size * np.concatenate([self.directions, [out]])
        n = len(slopes)
        seen = Feedback(slopes, np.full((n, 1), g), np.tile(s, (n, 1)))
        after = self.algorithm.update(ActionState(np.tile(x, (n, 1))), seen).x
        return slopes[int(self.constraint.value(after).argmax())]


def fan(d: int, n: int = 10, seed: int = 3) -> Any:
    """Unit vectors: n random ones and both ways along each axis."""
    random = np.random.default_rng(seed).normal(size=(n, d))
    return np.concatenate(
        [random / np.linalg.norm(random, axis=1, keepdims=True), np.eye(d), -np.eye(d)]
    )


def random_slopes(d: int, T: int, size: float, seed: int = 11) -> Linear:
    """Linear costs of one size with a drift, so that the best fixed action is worth something."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=(T, d)) + 0.8 * rng.normal(size=d)
    return Linear(size * c / np.linalg.norm(c, axis=1, keepdims=True))


def greedy(algorithm: PFS, case: Case, T: int, size: float) -> Adversarial:
    rule = Greedy(algorithm, case.constraint, fan(case.dimension), size)
    return Adversarial(rule, horizon=T, dimension=case.dimension, bound=size)


# First actions in the cube [-0.5, 0.5]^d, on its boundary and outside of it.
STARTS = {
    "inside": [0.1, -0.2],
    "on the boundary": [-0.5, 0.3],
    "outside": [0.8, -0.3],
    "one dimension": [-0.9],
    "three dimensions": [0.6, 0.7, -0.2],
}


def from_the_sphere(
    tuned: Callable[..., Any], case: Case, opponent: str, size: float, T: int, seed: int
) -> tuple[Trace, Any]:
    """A game from where g is largest of some points of the sphere, and its regret by rounds.

    Args:
        tuned: constructor of PFS from constants and horizon.
        case: the set.
        opponent: "random" or "greedy", which looks one step ahead.
        size: of the slopes.
        T: rounds.
        seed: of the points.
    """
    sphere = case.points(n=12, seed=seed)[12:24]
    start = sphere[case.value(sphere).argmax()]
    calm = case.problem(random_slopes(case.dimension, T, size), start, G_f=size)
    player = tuned(calm.constants, T)
    costs = calm.costs if opponent == "random" else greedy(player.algorithm, case, T, size)
    trace = play(player, case.problem(costs, start, G_f=size), watch="raise")
    slopes = costs.slopes if opponent == "random" else costs.realise(trace.actions).slopes
    return trace, linear_regret(case, slopes, trace.actions)


def linear_regret(case: Case, slopes: Any, actions: Any) -> Any:
    """Regret after each round, ``(T,)``, of linear costs; against the exact best action."""
    paid = np.cumsum(np.vecdot(slopes, actions))
    return paid - case.support(np.cumsum(slopes, axis=0))

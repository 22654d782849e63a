"""Knowledge that is not round: what it is worth by direction and by row. No round is outside.

``python -m benchmarks.uneven rows``: boxes whose rows have norms from 1 to 30, with one bound on
the slopes, with rows that are divided by theirs and seen as one, with one bound for each row, and
with the knowledge that rows are affine.
``python -m benchmarks.uneven conditions``: ellipsoids of condition 3, 30 and 300, with one bound on
the curvature, and in other units: with a matrix that bounds the Hessian, and with one that is twice
as large.
``python -m benchmarks.uneven thin``: boxes with sides from 1 to 0.01, with one bound on the slopes,
and in units in which the box is a cube, with one bound or with one for each row.

Beside them is dual averaging that knows the set and projects onto it. Costs are linear and i.i.d.,
with a mean that pulls outwards. Means over seeds, of which ``--first N`` is the first.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import numpy as np

from surefoot import Ball, Feedback
from surefoot.core.types import Array, Set
from surefoot.knowledge import Curvature, CurvatureRows, Errors
from surefoot.problems.constraints import Affine, QuadraticForm
from surefoot.rules import CertifiedDualAveraging, LeaderFollower
from surefoot.sets import Polytope


def play(player: Any, constraint: Any, gradients: Array, back: Array | None = None) -> float:
    """Return what a player pays; refuse a round outside.

    Args:
        player: what plays.
        constraint: the limit.
        gradients: one per round.
        back: the matrix from what the player plays to the action; None where they are the same.
    """
    d = gradients.shape[1]
    state, paid, back = player.init(np.zeros(d)), 0.0, np.eye(d) if back is None else back
    for grad in gradients:
        x = back @ state.x
        g, s = constraint.query_all(x) if player.needs.separately else constraint.query(x)
        assert np.max(g) <= 0
        paid += float(grad @ x)
        state = player.step(state, Feedback(grad @ back, g, s @ back))[0]
    return paid


def rounding_of(back: Array, reach: float, steep: float, bend: float = 0.0) -> float:
    """Return what the rounding of the action can do to g, as an evaluation error.

    Args:
        back: the matrix from what is played to the action.
        reach: the largest norm of what is played.
        steep: the longest slope of g.
        bend: the largest curvature of g, where certificates rest on slopes.
    """
    d, size = len(back), float(np.linalg.norm(back))
    return float((d + 4) * 2.0**-53 * size * reach * (steep + 2 * reach * size * bend))


def average_knowing(region: Set, radius: float, gradients: Array) -> float:
    """Return what dual averaging pays that projects onto the set."""
    x = total = np.zeros(gradients.shape[1])
    squares = paid = 0.0
    for grad in gradients:
        paid += float(grad @ x)
        squares, total = squares + float(grad @ grad), total + grad
        x = region.project(-radius / math.sqrt(2 * squares) * total)
    return paid


def line(name: str, cells: list[str]) -> None:
    """Print a row of a table."""
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def show(name: str, found: list[dict[str, float]], *, head: bool) -> None:
    """Print the mean regrets of a case, and what each is of the one that knows the set."""
    if head:
        line("case", list(found[0]))
        line("---", ["---"] * len(found[0]))
    means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    first = next(iter(means.values()))
    line(name, [f"{mean:.1f} ({mean / first:.2f})" for mean in means.values()])


def conditions(options: Any) -> int:
    """Print the regret on ellipsoids of three conditions."""
    for condition in (3, 30, 300):
        for d in (2, 10):
            found = [ellipsoid(d, condition, options.horizon, seed) for seed in options.seeds]
            show(f"{condition}, d = {d}", found, head=(condition, d) == (3, 2))
    return 0


def ellipsoid(d: int, condition: int, T: int, seed: int) -> dict[str, float]:
    """Return the regrets on one ellipsoid."""
    rng = np.random.default_rng([d, condition, seed])
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    P = Q @ np.diag(np.geomspace(2.0 / condition, 2.0, d)) @ Q.T
    g = QuadraticForm(0.5 * (P + P.T), np.zeros(d), 0.5)
    pull = rng.normal(size=d)
    gradients = pull / np.linalg.norm(pull) + rng.normal(size=(T, d)) * (2 / math.sqrt(d))
    R, total = math.sqrt(condition / 2) * (1 + 1e-6), gradients.sum(axis=0)
    region: Any = g.region
    best = float(region.minimize_linear(total) @ total)
    known = Curvature(beta=2.0 * (1 + 1e-9), reach=R)
    one = CertifiedDualAveraging(knowledge=known, radius=R)
    found = {
        "set known": average_knowing(region, R, gradients) - best,
        "one curvature": play(one, g, gradients) - best,
    }
    for name, times in (("a matrix", 1.0), ("twice the matrix", 2.0)):
        wide = math.sqrt(times) * (1 + 1e-6)
        back = np.linalg.inv(np.linalg.cholesky(times * (1 + 1e-9) * g.Q).T)
        moved = rounding_of(back, wide, 2.0 * R, 2.0)
        errors = Errors(evaluation=moved + g.evaluation_error(Ball(R)))
        round_ = Curvature(beta=1.0, reach=wide, errors=errors)
        player = CertifiedDualAveraging(knowledge=round_, radius=wide)
        found[name] = play(player, g, gradients, back) - best
    return found


def rows(options: Any) -> int:
    """Print the regret on boxes with uneven rows."""
    for d in (2, 5, 10):
        found = [box(d, options.horizon, seed) for seed in options.seeds]
        show(f"d = {d}", found, head=d == 2)
    return 0


def box(d: int, T: int, seed: int) -> dict[str, float]:
    """Return the regrets on one box."""
    rng = np.random.default_rng([d, 30, seed])
    Q, norms = np.linalg.qr(rng.normal(size=(d, d)))[0], np.geomspace(1.0, 30.0, 2 * d)
    rng.shuffle(norms)
    wall = Affine(np.vstack([Q, -Q]) * norms[:, None], 0.5 * norms)
    gradients = -Q.sum(axis=0) / math.sqrt(d) + rng.normal(size=(T, d))
    best, R = -0.5 * float(abs(Q @ gradients.sum(axis=0)).sum()), 0.5 * math.sqrt(d) * (1 + 1e-6)
    affine = CurvatureRows(beta=0.0, rows=2 * d, reach=R)
    averaging = CertifiedDualAveraging(knowledge=affine, radius=R)
    even = Affine(np.vstack([Q, -Q]), np.full(2 * d, 0.5))
    one = LeaderFollower(G_g=float(norms.max()) * (1 + 1e-12), domain=Ball(R))
    as_one = LeaderFollower(G_g=1 + 1e-12, domain=Ball(R))
    each = LeaderFollower(G_g=(norms * (1 + 1e-12)).tolist(), domain=Ball(R))
    return {
        "set known": average_knowing(Polytope(wall.A, wall.b), R, gradients) - best,
        "one G": play(one, wall, gradients) - best,
        "as one limit": play(as_one, even, gradients) - best,
        "one G each": play(each, wall, gradients) - best,
        "affine rows": play(averaging, wall, gradients) - best,
    }


def thin(options: Any) -> int:
    """Print the regret on thin boxes."""
    for d in (2, 5, 10):
        found = [thin_box(d, options.horizon, seed) for seed in options.seeds]
        show(f"d = {d}", found, head=d == 2)
    return 0


def thin_box(d: int, T: int, seed: int) -> dict[str, float]:
    """Return the regrets on one thin box; only the last player sees all rows."""
    rng = np.random.default_rng([d, 31, seed])
    Q, sides = np.linalg.qr(rng.normal(size=(d, d)))[0], np.geomspace(1.0, 0.01, d)
    wall = Affine(np.vstack([Q, -Q]), 0.5 * np.concatenate([sides, sides]))
    gradients = -Q.sum(axis=0) / math.sqrt(d) + rng.normal(size=(T, d))
    best = -0.5 * float((sides * abs(Q @ gradients.sum(axis=0))).sum())
    R, wide = 0.5 * float(np.linalg.norm(sides)) * (1 + 1e-6), 0.5 * math.sqrt(d) * (1 + 1e-6)
    back = np.linalg.inv(Q / sides[:, None])
    steep, error = np.linalg.norm(wall.A @ back, axis=1), rounding_of(back, wide, 1.0)
    round_: Any = {"domain": Ball(wide), "evaluation_error": error}
    one = LeaderFollower(G_g=1 + 1e-12, domain=Ball(R))
    widest = LeaderFollower(G_g=float(steep.max()) * (1 + 1e-9), **round_)
    each = LeaderFollower(G_g=(steep * (1 + 1e-9)).tolist(), **round_)
    return {
        "set known": average_knowing(Polytope(wall.A, wall.b), R, gradients) - best,
        "in x": play(one, wall, gradients) - best,
        "a cube": play(widest, wall, gradients, back) - best,
        "a cube, all rows": play(each, wall, gradients, back) - best,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.uneven", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("part", choices=("conditions", "rows", "thin"))
    parser.add_argument("--horizon", type=int, default=2_000, help="rounds of a run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args(arguments)
    options.seeds = range(options.first, options.first + options.runs)
    return {"conditions": conditions, "rows": rows, "thin": thin}[options.part](options)


if __name__ == "__main__":
    sys.exit(main())

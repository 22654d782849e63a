"""Knowledge that is not round: what it is worth by direction and by row. No round is outside.

``python -m benchmarks.uneven conditions``: ellipsoids of condition 3, 30 and 300, with one bound on
the curvature, with a matrix that bounds the Hessian, and with one that is twice as large.
``python -m benchmarks.uneven rows``: boxes whose rows have norms from 1 to 30, with one bound on
the slopes, with one for each row, and with the knowledge that rows are affine.
``python -m benchmarks.uneven thin``: boxes with sides from 1 to 0.01, with one bound on the slopes,
and with that bound in units in which the box is a cube.

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
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.problems.constraints import Affine, QuadraticForm
from surefoot.rules import CertifiedDualAveraging, EvenRows, LeaderFollower, Stretched
from surefoot.sets import Polytope


def play(player: Any, constraint: Any, gradients: Array) -> float:
    """Return what a player pays; refuse a round outside."""
    state, paid = player.init(np.zeros(gradients.shape[1])), 0.0
    for grad in gradients:
        x = state.x
        g, s = constraint.query_all(x) if player.needs.separately else constraint.query(x)
        assert np.max(g) <= 0
        paid += float(grad @ x)
        state = player.step(state, Feedback(grad, g, s))[0]
    return paid


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
    players: dict[str, Any] = {"one curvature": CertifiedDualAveraging(knowledge=known, radius=R)}
    for name, times in (("a matrix", 1.0), ("twice the matrix", 2.0)):
        wide = math.sqrt(times) * (1 + 1e-6)
        round_ = Curvature(beta=1.0, reach=wide)
        stretch = np.linalg.cholesky(times * (1 + 1e-9) * g.Q).T
        players[name] = Stretched(
            base=CertifiedDualAveraging(knowledge=round_, radius=wide), stretch=stretch
        )
    found = {"set known": average_knowing(region, R, gradients) - best}
    return found | {name: play(one, g, gradients) - best for name, one in players.items()}


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
    players: dict[str, Any] = {
        "one G": LeaderFollower(G_g=float(norms.max()) * (1 + 1e-12), domain=Ball(R)),
        "one G each": EvenRows(
            base=LeaderFollower(G_g=1 + 1e-12, domain=Ball(R)), slopes=norms * (1 + 1e-12)
        ),
        "affine rows": CertifiedDualAveraging(knowledge=affine, radius=R),
    }
    found = {"set known": average_knowing(Polytope(wall.A, wall.b), R, gradients) - best}
    return found | {name: play(one, wall, gradients) - best for name, one in players.items()}


def thin(options: Any) -> int:
    """Print the regret on thin boxes."""
    for d in (2, 5, 10):
        found = [thin_box(d, options.horizon, seed) for seed in options.seeds]
        show(f"d = {d}", found, head=d == 2)
    return 0


def thin_box(d: int, T: int, seed: int) -> dict[str, float]:
    """Return the regrets on one thin box; only the largest row is seen."""
    rng = np.random.default_rng([d, 31, seed])
    Q, sides = np.linalg.qr(rng.normal(size=(d, d)))[0], np.geomspace(1.0, 0.01, d)
    wall = Affine(np.vstack([Q, -Q]), 0.5 * np.concatenate([sides, sides]))
    gradients = -Q.sum(axis=0) / math.sqrt(d) + rng.normal(size=(T, d))
    best = -0.5 * float((sides * abs(Q @ gradients.sum(axis=0))).sum())
    R, wide = 0.5 * float(np.linalg.norm(sides)) * (1 + 1e-6), 0.5 * math.sqrt(d) * (1 + 1e-6)
    stretch = Q / sides[:, None]
    steep = float(np.linalg.norm(wall.A @ np.linalg.inv(stretch), axis=1).max())
    players: dict[str, Any] = {
        "in x": LeaderFollower(G_g=1 + 1e-12, domain=Ball(R)),
        "stretched": Stretched(
            base=LeaderFollower(G_g=steep * (1 + 1e-9), domain=Ball(wide)), stretch=stretch
        ),
        "stretched, all rows": EvenRows(
            base=Stretched(base=LeaderFollower(G_g=1 + 1e-9, domain=Ball(wide)), stretch=stretch),
            slopes=np.concatenate([sides, sides]) * (1 + 1e-9),
        ),
    }
    found = {"set known": average_knowing(Polytope(wall.A, wall.b), R, gradients) - best}
    return found | {name: play(one, wall, gradients) - best for name, one in players.items()}


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

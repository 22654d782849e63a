"""Live rounds: asked and told, journalled, and of a fleet; beside what a solver takes.

A round is ``ask``, ``tell`` and all that lies between, told as arrays and as lists. A solver
projects the point that gradient descent would go to, once. Times are processor time; a journalled
round waits for the disk besides, which takes wall time, and is measured in a temporary folder.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Findings, Row, compared
from benchmarks.solvers import SOLVERS
from benchmarks.timing import WALL, Effort, Work, spread, take_turns
from surefoot import Ball, CertifiedPFS, Controller, LeaderFollower
from surefoot.controller import Fleet
from surefoot.core.types import Array
from surefoot.problems import random_polytope

ARRAYS, LISTS, JOURNAL = "told arrays", "told lists", "journalled"
BARS = {2: 8e-6, 20: 10e-6, 100: 20e-6}
RIVALS = ("quadprog", "Polytope.project")
FEW = 100
FLEET, FLEET_JOURNAL, LOOP = "a fleet", "a journalled fleet", "a loop over journalled controllers"


def run(effort: Effort) -> Findings:
    """Measure all sizes."""
    rows: list[Row] = []
    for d, m in ((2, 4),) if effort.tiny else ((2, 4), (20, 60), (100, 200)):
        problem = random_polytope(d, m, horizon=50 if effort.tiny else 400)
        rows += rounds(problem, effort)
    with tempfile.TemporaryDirectory() as home:
        rows += fleets(20 if effort.tiny else 10_000, Path(home), effort)
    remarks = ["live: a journalled round is measured in processor time, a fleet on the wall"]
    if not any(s.name == RIVALS[0] and s.is_installed for s in SOLVERS):
        remarks.append("live: quadprog is not installed, and left out")
    return Findings(rows, remarks=remarks)


class RoundInput(NamedTuple):
    """The rounds of a game that a controller is told again."""

    gradients: list[Any]
    values: list[float]
    slopes: list[Any]
    ends: list[Array]


def rounds(problem: Any, effort: Effort) -> list[Row]:
    """Return the rows of one dimension."""
    d = problem.costs.dimension
    found: list[Row] = []
    for name, rule in (("LeaderFollower", LeaderFollower), ("CertifiedPFS", CertifiedPFS)):
        player = rule.default(problem.constants)  # with its guarantee, which a round is held to
        told = play(player, problem)
        lists = told._replace(
            gradients=[x.tolist() for x in told.gradients],
            slopes=[x.tolist() for x in told.slopes],
        )
        first = RoundInput(*(part[:FEW] for part in told))  # a disk is slow
        is_leader = rule is LeaderFollower
        with tempfile.TemporaryDirectory() as home:
            works: dict[str, Work] = {
                ARRAYS: partial(tell_all, player, problem.start, told),
                LISTS: partial(tell_all, player, problem.start, lists),
                JOURNAL: partial(tell_all, player, problem.start, first, Path(home)),
            }
            if is_leader and not effort.tiny:
                for solver in SOLVERS:
                    if solver.name in RIVALS and solver.is_installed:
                        project = solver.make(problem.constraint.A, problem.constraint.b)
                        works[solver.name] = partial(project_all, project, told.ends)
            played = {name: len(told.values) for name in works} | {JOURNAL: len(first.values)}
            times = {n: t / played[n] for n, t in take_turns(works, effort).items()}
        case, bar = f"{name}, d = {d}", BARS[d] if is_leader else None
        found += [Row("live", case, n, "", spread(times[n]), bar=bar) for n in (ARRAYS, LISTS)]
        bar = 2e-4 if is_leader and d == 2 else None
        found.append(Row("live", case, JOURNAL, "", spread(times[JOURNAL]), bar=bar))
        bars = {"quadprog": 0.2} if d == 20 else {}
        rivals = [n for n in times if n in RIVALS]
        found += [compared("live", case, times, ARRAYS, n, bar=bars.get(n)) for n in rivals]
    return found


def play(player: Any, problem: Any) -> RoundInput:
    """Play a game live; return what its rounds were told."""
    controller, rng = Controller(player, problem.start), np.random.default_rng(0)
    told = RoundInput([], [], [], [])
    for t in range(problem.costs.horizon):
        x = controller.ask()
        g, s = problem.constraint.query(x)
        gradient = problem.costs.gradient(t, x) + 0.1 * rng.normal(size=len(x))
        told.gradients.append(gradient)
        told.values.append(float(g))
        told.slopes.append(np.array(s))
        told.ends.append(x - 0.1 * gradient)
        controller.tell(cost_gradient=gradient, constraint_value=g, constraint_subgradient=s)
    return told


def tell_all(player: Any, start: Array, told: RoundInput, home: Path | None = None) -> None:
    """Ask and tell all rounds; journalled where there is a folder."""
    path = None
    if home is not None:
        path = home / f"{len(list(home.iterdir()))}.jsonl"
    with Controller(player, start, journal=path) as controller:
        for gradient, g, s in zip(*told[:3], strict=True):
            controller.ask()
            controller.tell(cost_gradient=gradient, constraint_value=g, constraint_subgradient=s)


def project_all(project: Any, points: list[Array]) -> None:
    for point in points:
        project(point)


def fleets(n: int, home: Path, effort: Effort) -> list[Row]:
    """Return the rows of many controllers at d = 2: what one tell of one member takes."""
    rng = np.random.default_rng(1)
    normals = rng.normal(size=(n, 2))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    targets = 0.1 * rng.normal(size=(n, 2))
    player = LeaderFollower(G_g=1.0, domain=Ball(2.0))
    few = min(n, 100)  # a loop over all of them would take minutes
    alone = [Controller(player, np.zeros(2), journal=home / f"{i}.jsonl") for i in range(few)]
    made: dict[str, Fleet] = {
        FLEET: Fleet(player, np.zeros((n, 2))),
        FLEET_JOURNAL: Fleet(player, np.zeros((n, 2)), journal=home / "fleet.jsonl"),
    }

    def tell_fleet(fleet: Fleet) -> None:
        x = fleet.ask()
        g = np.einsum("ij,ij->i", normals, x) - 0.3
        gradients = 0.3 * (x - targets)
        fleet.tell(cost_gradient=gradients, constraint_value=g, constraint_subgradient=normals)

    def tell_alone() -> None:
        for i, controller in enumerate(alone):
            x = controller.ask()
            told = {"cost_gradient": 0.3 * (x - targets[i]), "constraint_subgradient": normals[i]}
            controller.tell(constraint_value=float(normals[i] @ x) - 0.3, **told)

    works: dict[str, Work] = {name: partial(tell_fleet, fleet) for name, fleet in made.items()}
    taken = take_turns(works | {LOOP: tell_alone}, effort, clock=WALL)
    times = {name: t / (few if name == LOOP else n) for name, t in taken.items()}
    for one in (*alone, *made.values()):
        one.close()
    case = f"LeaderFollower, {n:,} members, d = 2, one tell"
    return [
        Row("live", case, FLEET, "", spread(times[FLEET]), bar=3.3e-6),
        compared("live", case, times, FLEET_JOURNAL, LOOP, bar=0.2),
    ]

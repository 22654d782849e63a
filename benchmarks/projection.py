"""Certified steps against projection at equal feasibility: the same problems, no round outside.

Online gradient descent projects in every round whose gradient step leaves the polytope; certified
PFS asks for one row. Both take the same adaptive step size, sqrt(2) R / sqrt(sum of |grad|^2). A
solver's answer may be outside by its tolerance; as its users do, the polytope is then tightened,
b - margin, by the smallest power of ten that leaves no round outside, compared exactly in float64.

LeaderFollower is certified as well, and has a memory of the rows that it was shown.

Methods take turns, a block of rounds each, and a ratio is taken for each block.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Findings, Row, Table, duration, number
from benchmarks.solvers import SOLVERS, Projection, Solver
from benchmarks.streams import sparse_polytope, sparse_problem, targets_of
from benchmarks.timing import PROCESS, Effort, spread
from surefoot import Feedback, Problem
from surefoot.core.types import Array
from surefoot.problems import random_polytope, rotated_box
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Quadratic
from surefoot.rules import CertifiedPFS, LeaderFollower
from surefoot.sets import Ball

CERTIFIED, LEADER, CLIP = "CertifiedPFS", "LeaderFollower", "clip"
OURS = (CERTIFIED, LEADER)
BLOCKS, LEAST = 20, 3
"""Turns of a game, many rounds each; and how many a method has however slow it is."""
MARGINS = (0.0, *(10.0**k for k in range(-16, 0)))


class Case(NamedTuple):
    """A problem, with the polytope as arrays; b is None for a box that is clipped."""

    name: str
    problem: Problem
    A: Any
    b: Array | None


class Line(NamedTuple):
    """What one method did on one problem.

    Attributes:
        case: the problem.
        method: who played.
        margin: how far the polytope was tightened.
        rounds: played; fewer than the problem's where time ran out.
        outside: rounds with g > 0.
        seconds: of a round, block by block.
        regret: None where not all rounds were played.
    """

    case: str
    method: str
    margin: float
    rounds: int
    outside: int
    seconds: Array
    regret: float | None


# --- the problems --------------------------------------------------------------------------------


def cases(tiny: bool) -> list[Case]:
    """Yield small to large polytopes, a turned box, a sparse one, and boxes."""
    sizes = ((2, 4, 1_000), (2, 200, 1_000), (20, 200, 1_000), (100, 200, 400), (100, 2_000, 200))
    found = [_dense(*size) for size in (((2, 4, 60), (3, 9, 60)) if tiny else sizes)]
    if not tiny:
        constraint = sparse_polytope(3_000)
        name = f"d = {constraint.dimension:,}, m = {constraint.rows:,}, sparse"
        problem = sparse_problem(constraint, rounds=100)
        found.append(Case(name, problem, constraint.A, constraint.b))
    boxes = ((2, 60),) if tiny else ((2, 1_000), (100, 1_000), (10_000, 200))
    return found + [
        Case(f"d = {d:,}, a box", box_problem(d, rounds), None, None) for d, rounds in boxes
    ]


def _dense(d: int, m: int, rounds: int) -> Case:
    made = rotated_box(d, horizon=rounds) if m == 2 * d else random_polytope(d, m, horizon=rounds)
    g: Any = made.constraint
    return Case(f"d = {d}, m = {m:,}", made, g.A, g.b)


def box_problem(d: int, rounds: int) -> Problem:
    """Return a cube, and costs that pull to a point outside of it with as much noise."""
    rng = np.random.default_rng(0)
    radius = math.sqrt(d)
    pull = rng.normal(size=d)
    pull *= 2 * radius / np.linalg.norm(pull)
    noise = rng.normal(size=(rounds, d)) * 2 * radius / math.sqrt(d)
    domain = Ball(radius * (1 + 1e-12))
    return Problem.of(Quadratic(pull + noise, 1.0), LinfNorm(1.0, d), domain, np.zeros(d))


# --- the players ---------------------------------------------------------------------------------


class Player(ABC):
    """Plays on from where it is; ``block(first, stop)`` is what is timed."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.actions = problem, [problem.start]

    @abstractmethod
    def block(self, first: int, stop: int) -> None:
        """Play rounds."""

    @property
    def played(self) -> int:
        """Rounds so far."""
        return len(self.actions) - 1

    @property
    def outside(self) -> int:
        """Rounds with g > 0, in float64."""
        query = self.problem.benchmark.query
        return sum(query(x)[0] > 0 for x in self.actions)


class Certified(Player):
    """One query a round."""

    def __init__(self, problem: Problem, method: str = CERTIFIED) -> None:
        super().__init__(problem)
        tuning: Any = {
            CERTIFIED: CertifiedPFS.default,
            LEADER: LeaderFollower.default,
        }[method]
        self._player = tuning(problem.constants, domain=problem.domain).algorithm
        self._state: Any = self._player.init(problem.start)

    def block(self, first: int, stop: int) -> None:
        """Play rounds."""
        gradient, query = self.problem.costs.gradient, self.problem.benchmark.query
        state, update, actions = self._state, self._player.update, self.actions
        for t in range(first, stop):
            x = state.x
            state = update(state, Feedback(gradient(t, x), *query(x)))
            actions.append(state.x)
        self._state = state


class Projecting(Player):
    """Gradient descent by hand; ``is_outside`` says whether there is anything to project."""

    def __init__(
        self, problem: Problem, project: Projection, violates: Callable[[Array], bool] | None
    ) -> None:
        super().__init__(problem)
        self._project, self._is_outside, self._squares = project, violates, 0.0

    def block(self, first: int, stop: int) -> None:
        """Play rounds."""
        gradient, project, violates = self.problem.costs.gradient, self._project, self._is_outside
        scale, squares = math.sqrt(2) * float(self.problem.domain.radius), self._squares
        x, actions = self.actions[-1], self.actions
        for t in range(first, stop):
            grad = gradient(t, x)
            squares += grad.dot(grad)
            x = x - (scale / math.sqrt(squares)) * grad
            if violates is None or violates(x):
                x = project(x)
            actions.append(x)
        self._squares = squares


def projecting(case: Case, solver: Solver | None, margin: float) -> Projecting:
    """Return gradient descent that projects onto the tightened polytope."""
    if solver is None or case.b is None:
        return Projecting(case.problem, lambda x: np.clip(x, -1.0, 1.0), None)
    A, b = case.A, case.b - margin

    def violates(x: Array) -> bool:
        return bool((A @ x > b).any())

    return Projecting(case.problem, solver.make(A, b), violates)


def least_margin(case: Case, solver: Solver, seconds: float) -> float:
    """Return the smallest margin with which no round that there is time for is outside."""
    rounds, query = case.problem.costs.horizon, case.problem.benchmark.query
    for margin in MARGINS:
        player, begun = projecting(case, solver, margin), PROCESS()
        for t in range(rounds):
            player.block(t, t + 1)
            found = player.actions[-1]
            if not np.isfinite(found).all() or query(found)[0] > 0:
                break
            if PROCESS() - begun > seconds:
                return margin
        else:
            return margin
    raise RuntimeError(f"{solver.name} must be inside with some margin, got none on {case.name}")


# --- who is faster, and who has less regret ------------------------------------------------------


def compete(case: Case, seconds: float) -> list[Line]:
    """Play all methods on one problem, in turn; each may take so many seconds."""
    problem = case.problem
    rounds = problem.costs.horizon
    margins: dict[str, float] = dict.fromkeys(OURS, 0.0)
    players: dict[str, Player] = {name: Certified(problem, name) for name in OURS}
    if case.b is None:
        margins[CLIP], players[CLIP] = 0.0, projecting(case, None, 0.0)
    for solver in SOLVERS if case.b is not None else ():
        if not solver.is_installed or (hasattr(case.A, "tocsr") and not solver.sparse):
            continue
        margins[solver.name] = least_margin(case, solver, seconds)
        players[solver.name] = projecting(case, solver, margins[solver.name])
    times: dict[str, list[float]] = {name: [] for name in players}
    block = dict.fromkeys(players, 1)  # a first round to see how long a turn may be
    names = list(players)
    for turn in itertools.count():
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            player = players[name]
            first, spent = player.played, sum(times[name]) * block[name]
            if first == rounds or (len(times[name]) >= LEAST and spent > seconds):
                continue  # done, or out of time
            begun = PROCESS()
            player.block(first, min(first + block[name], rounds))
            a_round = (PROCESS() - begun) / (player.played - first)
            if turn:
                times[name].append(a_round)
            else:
                block[name] = int(np.clip(seconds / LEAST / a_round, 1, rounds // BLOCKS))
        if turn > BLOCKS + 1:
            break
    best = _best_cost(problem)
    return [
        Line(
            case.name,
            name,
            margins[name],
            player.played,
            player.outside,
            np.array(times[name]),
            _cost(problem, player.actions) - best if player.played == rounds else None,
        )
        for name, player in players.items()
    ]


def _cost(problem: Problem, actions: Sequence[Array]) -> float:
    value = problem.costs.value
    return sum(float(value(t, x)) for t, x in enumerate(actions[: problem.costs.horizon]))


def _best_cost(problem: Problem) -> float:
    """Return the cost of the best fixed action, the projection of the mean target."""
    region = problem.benchmark.region
    assert region is not None
    best = region.project(targets_of(problem).mean(axis=0))
    return _cost(problem, [best] * problem.costs.horizon)


# --- the report ----------------------------------------------------------------------------------


def run(effort: Effort) -> Findings:
    """Measure all problems."""
    seconds = 0.2 if effort.tiny else effort.seconds
    lines = [line for case in cases(effort.tiny) for line in compete(case, seconds)]
    remarks = [f"projection: {s.name} is not installed" for s in SOLVERS if not s.is_installed]
    return Findings(
        rows(lines), [table(lines)], {"projection": figure(lines)}, [*remarks, verdict(lines)]
    )


def of_case(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines of each problem."""
    names = dict.fromkeys(line.case for line in lines)
    return {name: [line for line in lines if line.case == name] for name in names}


def rows(lines: Sequence[Line]) -> list[Row]:
    """Compare a round of certified steps with one of each way to project."""
    found = []
    for case, (ours, *others) in of_case(lines).items():
        for rival in others:
            together = min(len(ours.seconds), len(rival.seconds))
            ratios = ours.seconds[:together] / rival.seconds[:together]
            times = spread(ours.seconds), spread(rival.seconds), spread(ratios)
            found.append(Row("projection", case, CERTIFIED, rival.method, *times))
    return found


HEADS = (
    "problem",
    "method",
    "margin",
    "rounds",
    "outside",
    "a round",
    "certified / it",
    "quartiles",
    "regret",
    "relative",
)


def table(lines: Sequence[Line]) -> Table:
    """Return time and regret of all."""
    cells, records = [], []
    ratios = {(row.case, row.rival): row.ratio for row in rows(lines)}
    for case, mine in of_case(lines).items():
        base = mine[0].regret or math.nan
        for line in mine:
            time, ratio = float(np.median(line.seconds)), ratios.get((case, line.method))
            regret = line.regret
            cells.append(
                [
                    case,
                    line.method,
                    f"{line.margin:.0e}" if line.margin else "0",
                    f"{line.rounds:,}",
                    str(line.outside),
                    duration(time),
                    "" if ratio is None else number(ratio.median),
                    "" if ratio is None else f"{number(ratio.low)} to {number(ratio.high)}",
                    "" if regret is None else _short(regret),
                    "" if regret is None else number(regret / base),
                ]
            )
            records.append(line._asdict() | {"seconds": time})
    title = "Certified steps and projection at equal feasibility: no round outside"
    return Table("projection", title, HEADS, cells, records)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def verdict(lines: Sequence[Line]) -> str:
    """Return where projection wins."""
    quicker, better = [], []
    for case, mine in of_case(lines).items():
        ours = next((line for line in mine if line.method == LEADER), mine[0])
        others = [line for line in mine if line.method not in OURS]
        names = [o.method for o in others if np.median(o.seconds) < np.median(ours.seconds)]
        if names:
            quicker.append(f"{case} ({', '.join(names)})")
        regrets = [o.regret for o in others if o.regret is not None]
        if regrets and ours.regret is not None and min(regrets) < ours.regret:
            better.append(f"{case} ({number(min(regrets) / ours.regret)} of ours)")
    return (
        f"projection: a round of projection is quicker on {'; '.join(quicker) or 'none'}; "
        f"its regret is less on {'; '.join(better) or 'none'}"
    )


STYLES = {
    CERTIFIED: ("#D55E00", "*"),
    LEADER: ("#D55E00", "o"),
    CLIP: ("#0072B2", "|"),
    "quadprog": ("#0072B2", "o"),
    "daqp": ("#000000", "P"),
    "PIQP": ("#009E73", "s"),
    "ProxQP": ("#CC79A7", "D"),
    "OSQP": ("#E69F00", "^"),
    "Clarabel": ("#56B4E9", "v"),
    "cvxpy": ("#000000", "P"),
    "Polytope.project": ("#999999", "X"),
}


def figure(lines: Sequence[Line]) -> Any:
    """Draw time per round of every method, and regret relative to certified steps.

    The regret of exact projection does not depend on the solver: it is shown once.
    """
    from matplotlib.figure import Figure

    found = of_case(lines)
    drawn = Figure(figsize=(10.0, 0.42 * len(found) + 1.9), layout="constrained")
    time, regret = drawn.subplots(1, 2, sharey=True, width_ratios=[2, 1])
    for y, mine in enumerate(found.values()):
        for line in mine:
            colour, marker = STYLES[line.method]
            size = {CERTIFIED: 13, CLIP: 13}.get(line.method, 7)
            style = {"color": colour, "marker": marker, "ms": size, "ls": "none", "mew": 1.5}
            (dot,) = time.plot(1e6 * np.median(line.seconds), y, label=line.method, **style)
            if line.method in (CERTIFIED, CLIP):
                dot.set_zorder(3)
        played = [m.regret for m in mine if m.regret is not None and m.method not in OURS]
        if played and mine[0].regret is not None:
            regret.plot(min(played) / mine[0].regret, y, "o", color="#0072B2", ms=7)
        regret.plot(1.0, y, "*", color="#D55E00", ms=13)
        for line in mine[1:]:
            if line.method in OURS and line.regret is not None and mine[0].regret is not None:
                regret.plot(
                    line.regret / mine[0].regret, y, STYLES[line.method][1], color="#D55E00"
                )
    time.set_yticks(range(len(found)), list(found))
    time.invert_yaxis()
    time.set(xscale="log", xlabel="time of a round, microseconds")
    regret.set(
        xscale="log", xlabel="regret of exact projection (dots),\nrelative to certified steps"
    )
    regret.margins(x=0.1)
    for ax in (time, regret):
        ax.grid(visible=True, color="#DDDDDD", lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    handles = {h.get_label(): h for h in time.get_legend_handles_labels()[0]}
    drawn.legend(handles.values(), handles, loc="outside upper center", ncols=5, frameon=False)
    return drawn

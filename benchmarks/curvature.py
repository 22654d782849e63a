"""Smooth constraints: regret of steps certified by curvature against projection onto the known set.

All players see the same costs, which are linear, and the same constraints at the actions they play.
The set is known to two of them: projected descent and projected dual averaging, both with steps
that adapt. LB-SGD has the barrier weight that was best in hindsight, of eight. Not one round may be
outside, compared exactly; a table is refused otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.findings import Findings, Table
from benchmarks.timing import Effort
from surefoot import Feedback
from surefoot.core.types import Array, Info, Needs, Set, needs_of
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.problems.constraints import MaxOf, QuadraticForm
from surefoot.rules import LBSGD, CertifiedDualAveraging, CertifiedOGD
from surefoot.sets import Intersection

WEIGHTS = tuple(10.0**k for k in np.linspace(-4, -0.5, 8))
OGD_KNOWN, DA_KNOWN = "descent, set known", "averaging, set known"
OGD_HERE, DA_HERE, DA_ONE = "CertifiedOGD", "CertifiedDualAveraging", "one far point"
BEST = "LB-SGD, best of 8"
PLAYERS = (OGD_KNOWN, DA_KNOWN, DA_HERE, DA_ONE, OGD_HERE, BEST)
KINDS = ("i.i.d.", "turning", "drifting")


class Case(NamedTuple):
    """A problem: its constraint, a ball around the feasible set, and the gradients of all runs."""

    name: str
    constraint: Any
    radius: float
    beta: float
    gradients: Array
    kind: str

    @property
    def rows(self) -> int:
        """How many constraints there are."""
        return int(self.constraint.rows)


class KnownState(NamedTuple):
    """The action, and sums of gradients."""

    x: Array
    start: Array
    total: Array
    squares: Array


@dataclass(frozen=True)
class Known:
    """Projected descent or dual averaging, with steps that adapt, on a set that is known."""

    region: Set
    radius: float
    averaging: bool

    needs = Needs(constraint_values=0, constraint_subgradients=0, projections=1)

    def init(self, x1: Array) -> KnownState:
        """Start at x1."""
        return KnownState(x1, x1, 0.0 * x1, 0.0 * x1[:, :1])

    def step(self, state: KnownState, feedback: Feedback) -> tuple[KnownState, Info]:
        """One round."""
        grad = feedback.cost_gradient
        squares = state.squares + np.vecdot(grad, grad)[:, None]
        total = state.total + grad
        if self.averaging:
            y = state.start - self.radius / np.sqrt(2 * squares) * total
        else:
            y = state.x - math.sqrt(2) * self.radius / np.sqrt(squares) * grad
        return KnownState(self.region.project(y), state.start, total, squares), Info()


def run(effort: Effort) -> Findings:
    """Measure all cases."""
    found = [(case, *measured(case)) for case in cases(tiny=effort.tiny)]
    cells, records = [], []
    for case, best, paid in found:
        regrets = {name: paid[name] - best for name in PLAYERS if name in paid}
        cells.append([case.name, *(_shown(regrets.get(name)) for name in PLAYERS)])
        records += [{"case": case.name, "player": n, "regret": r} for n, r in regrets.items()]
    title = "Regret on smooth constraints; no round outside"
    table = Table("curvature", title, ["case", *PLAYERS], cells, records)
    return Findings(tables=[table], remarks=[r for one in found for r in remarks(*one)])


def _shown(regret: float | None) -> str:
    return "" if regret is None else f"{regret:.1f}"


def remarks(case: Case, best: float, paid: dict[str, float]) -> list[str]:
    """Return what the case must show, in words."""
    here = f"curvature, {case.name}: {DA_HERE}"
    if case.kind == KINDS[0]:
        if DA_KNOWN not in paid:
            return []
        known, one = ((paid[DA_HERE] - best) / (paid[n] - best) for n in (DA_KNOWN, DA_ONE))
        return [
            f"{here} has {known:.2f} times the regret of dual averaging that knows the set, and "
            f"{one:.2f} times that of one far point"
        ]
    # What following the changes gains on one far point, which adds up all gradients.
    gains = {name: paid[DA_ONE] - paid[name] for name in paid}
    rivals = [name for name in (OGD_HERE, OGD_KNOWN) if name in paid]
    words = [f"{gains[DA_HERE] / gains[name]:.2f} times what {name} gains" for name in rivals]
    return [f"{here} gains {gains[DA_HERE]:.0f} on one far point, {', '.join(words)}"]


def cases(*, tiny: bool) -> list[Case]:
    """Return the problems."""
    trials, T = (2, 60) if tiny else (10, 5_000)
    found = [heat(trials, 60 if tiny else 20_000)]
    for d in (2,) if tiny else (2, 10, 100):
        runs = trials if d < 100 else 5
        found += [quadratic(d, 1, runs, T, kind) for kind in KINDS]
    found += [quadratic(5, 1, trials, T, kind, condition=30.0) for kind in KINDS]
    d, short = (2, 60) if tiny else (10, 1_000)
    return found + [quadratic(d, 5, trials, short, kind) for kind in KINDS]


def heat(trials: int, T: int) -> Case:
    """Return the two loads of the README that share a cable."""
    prices = np.random.default_rng(3).uniform([0.2, 0.6], [0.8, 1.3], size=(T, trials, 2))
    g = QuadraticForm(np.diag([1.6, 1.0]), np.zeros(2), 0.4)
    return Case(f"heat, T = {T:,}", g, 0.9, 1.6, -prices, KINDS[0])


def quadratic(d: int, rows: int, trials: int, T: int, kind: str, condition: float = 0.0) -> Case:
    """Random ellipsoids; noisy costs whose mean stays, turns ten times or goes round twice."""
    rng = np.random.default_rng([d, rows])
    forms: list[QuadraticForm] = []
    radius = 5.0 if condition else 2.0
    for _ in range(rows):
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        bent = np.geomspace(2.0 / condition, 2.0, d) if condition else rng.uniform(0.4, 2.0, d)
        P = Q @ np.diag(bent) @ Q.T
        forms.append(QuadraticForm(0.5 * (P + P.T), 0.1 * rng.normal(size=d) / math.sqrt(d), 0.5))
    pieces = 10 if kind == "turning" else 1
    means = rng.normal(size=(pieces, trials, d))
    means /= np.linalg.norm(means, axis=-1, keepdims=True)
    noise = rng.normal(size=(T, trials, d)) * (2 / math.sqrt(d))
    gradients = means[np.arange(T) * pieces // T] + noise
    if kind == "drifting":
        across = rng.normal(size=(trials, d))
        across -= np.vecdot(across, means[0])[:, None] * means[0]
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        angle = np.linspace(0, 4 * np.pi, T)[:, None, None]
        gradients = np.cos(angle) * means[0] + np.sin(angle) * across + noise
    g = forms[0] if rows == 1 else MaxOf(tuple(forms))
    several = f", m = {rows}" if rows > 1 else ""
    several += f", condition {condition:g}" if condition else ""
    return Case(f"d = {d}{several}, {kind}", g, radius, 2.0, gradients, kind)


def players(case: Case) -> dict[str, Any]:
    """Return who plays."""
    R, beta = case.radius, case.beta
    known: Any = Curvature(beta=beta, reach=R)
    if case.rows > 1:
        known = CurvatureRows(beta=beta, rows=case.rows, reach=R)
    trials = case.gradients.shape[1]
    found: dict[str, Any] = {
        OGD_HERE: CertifiedOGD(knowledge=known, radius=R),
        DA_HERE: CertifiedDualAveraging(knowledge=known, radius=R),
        DA_ONE: CertifiedDualAveraging(knowledge=known, radius=R, far=1e3),
        BEST: LBSGD(weight=np.repeat(WEIGHTS, trials)[:, None], beta=beta),
    }
    if (region := closed(case)) is not None:
        found[OGD_KNOWN] = Known(region, R, averaging=False)
        found[DA_KNOWN] = Known(region, R, averaging=True)
    return found


def closed(case: Case) -> Set | None:
    """Return the feasible set where its projection has a closed form."""
    region = case.constraint.region
    return None if isinstance(region, Intersection) else region


def measured(case: Case) -> tuple[float, dict[str, float]]:
    """Return the mean cost of the best fixed action, and of what each player paid."""
    paid = {name: cost(case, player) for name, player in players(case).items()}
    region = closed(case)
    if region is None:
        return 0.0, paid  # costs alone compare
    sums = case.gradients.sum(axis=0)
    return float((region.minimize_linear(sums) * sums).sum() / len(sums)), paid


def cost(case: Case, player: Any) -> float:
    """Play all runs, of LB-SGD those of all weights; refuse a round outside."""
    _, trials, d = case.gradients.shape
    if needs_of(player).one_run:
        alone = [_paid(case, player, np.zeros(d), case.gradients[:, k]) for k in range(trials)]
        return float(np.mean(alone))
    copies = len(WEIGHTS) if isinstance(player, LBSGD) else 1
    gradients = np.tile(case.gradients, (1, copies, 1))
    paid = _paid(case, player, np.zeros((copies * trials, d)), gradients)
    return float(paid.reshape(copies, trials).mean(axis=1).min())


def _paid(case: Case, player: Any, start: Array, gradients: Array) -> Any:
    """Return what one run or a batch pays; refuse a round outside."""
    state, separately, total = player.init(start), needs_of(player).separately, 0.0
    for gradient in gradients:
        x = state.x
        g, s = case.constraint.query_all(x) if separately else case.constraint.query(x)
        if not np.all(g <= 0):
            raise AssertionError(f"{type(player).__name__} was outside on {case.name}: {np.max(g)}")
        total += np.vecdot(gradient, x)
        state, _ = player.step(state, Feedback(gradient, g, s))
    return total

"""Fair scoring under audit: certified rows, an insider who knows them, and other rules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.pages import table

from cases.scoring import census_people, fair_scoring
from surefoot.algorithms import (
    DPP,
    LBSGD,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    unpack,
)
from surefoot.core.types import Array, Feedback, Info, needs_of
from surefoot.problems import Problem

HORIZON, RADIUS, TOLERANCE = 5_000, 20.0, 0.01


class Served(NamedTuple):
    """What a rule served: losses and covariances round by round, and its last model."""

    losses: Array
    excess: Array
    last: Array
    microseconds: float

    @property
    def outside(self) -> int:
        """How many models exceeded a limit."""
        return int((self.excess > 0).sum())


class Insider:
    """Descent with AdaGrad's step, or dual averaging, projected onto the known limits."""

    def __init__(self, *, lazy: bool) -> None:
        import clarabel
        from scipy import sparse

        audit, _ = census_people()
        rows, d = audit.covariances(), audit.features.shape[1]
        A = np.vstack([rows, -rows, np.zeros((1, d)), -np.eye(d)])
        # Lowered by what the solver may miss them by.
        b = np.concatenate([np.full(4, TOLERANCE - 1e-9), [RADIUS - 1e-6], np.zeros(d)])
        cones = [clarabel.NonnegativeConeT(4), clarabel.SecondOrderConeT(d + 1)]
        options = clarabel.DefaultSettings()
        options.verbose = False
        self._parts = clarabel, sparse.csc_matrix(np.eye(d)), sparse.csc_matrix(A), b, cones
        self._options, self._lazy = options, lazy
        self._inside = rows

    def project(self, y: Array) -> Array:
        """Return the nearest point that meets the limits."""
        if (abs(self._inside @ y) <= TOLERANCE).all() and y @ y <= RADIUS**2:
            return y
        clarabel, P, A, b, cones = self._parts
        return np.array(clarabel.DefaultSolver(P, -y, A, b, cones, self._options).solve().x)

    def init(self, x1: Array) -> Any:
        """Return action, sum of gradients and sum of their squares."""
        return _Known(x1, 0.0 * x1, 0.0)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Step and project."""
        grad = feedback.cost_gradient
        total, squares = state.total + grad, state.squares + float(grad @ grad)
        if self._lazy:
            wanted = -np.sqrt(0.5) * RADIUS / np.sqrt(squares) * total
        else:
            wanted = state.x - np.sqrt(2.0) * RADIUS / np.sqrt(squares) * grad
        return _Known(self.project(wanted), total, squares), Info()


class _Known(NamedTuple):
    x: Array
    total: Array
    squares: float


def serve(problem: Problem, player: Any) -> Served:
    """Play one run and keep every loss and the largest g of every model."""
    algorithm, _ = unpack(player)
    apart = needs_of(algorithm).apart
    state, T = algorithm.init(problem.start), problem.costs.horizon
    losses, excess, seconds = np.zeros(T), np.zeros(T), np.zeros(T)
    constraint: Any = problem.constraint
    for t in range(T):
        x = state.x
        losses[t] = problem.costs.value(t, x)
        g, s = constraint.query_all(x)
        k = int(g.argmax())
        excess[t] = g[k]
        told = (g, s) if apart else (float(g[k]), s[k])
        seen = Feedback(problem.costs.gradient(t, x), *told)
        begin = time.perf_counter()
        state, _ = algorithm.step(state, seen)
        seconds[t] = time.perf_counter() - begin
    return Served(losses, excess, state.x, 1e6 * float(np.median(seconds)))


def players(problem: Problem) -> dict[str, tuple[str, Any]]:
    """Return the rules by name, with what they know."""
    c, T = problem.constants, problem.costs.horizon
    rows, one = "that rows are affine", "one bound on all slopes"
    found: dict[str, tuple[str, Any]] = {
        "projection onto the known limits, descent": ("the audit batch", Insider(lazy=False)),
        "projection onto the known limits, dual averaging": ("the audit batch", Insider(lazy=True)),
        "**`CertifiedOGD`, rows apart**": (rows, CertifiedOGD.default(c)),
        "**`CertifiedDualAveraging`, rows apart**": (rows, CertifiedDualAveraging.default(c)),
        "**`LeaderFollower`, largest row**": (one, LeaderFollower.default(c)),
        "**`CertifiedPFS`, largest row**": (one, CertifiedPFS.default(c)),
        "DPP, its theorem's tuning": (one, DPP.tuned(c, T, problem.domain)),
    }
    for weight in np.geomspace(1e-5, 1e-1, 8):
        player = LBSGD.barrier(c, weight=float(weight), cost_curvature=0.25)
        found[f"LB-SGD, weight {weight:.1e}"] = ("curvature of rows and costs", player)
    from cases.measure.multipliers import RATES, Multipliers  # PyTorch

    rate = "a rate of the multipliers: the best of three"
    for kind, word in (("cooper", "Cooper"), ("alm", "humancompatible-train, ALM")):
        for value in RATES:
            found[f"{word}, rate {value}"] = (rate, Multipliers(kind, value, 5))
    return found


def _only_best(done: dict[str, tuple[str, Served]], word: str, words: str) -> None:
    """Leave of several settings the one with the fewest models outside, then the least loss."""
    tried = {n: d for n, (_, d) in done.items() if n.startswith(word)}
    best = min(tried, key=lambda n: (tried[n].outside, tried[n].losses.mean()))
    row = done[best]
    for name in tried:
        del done[name]
    done[f"{best}{words}"] = row


def measure(images: Path | None, horizon: int = HORIZON) -> Iterator[str]:
    """Play all rules; of several settings of one only the best in hindsight is shown."""
    problem = fair_scoring(TOLERANCE, horizon=horizon, radius=RADIUS)
    _, people = census_people()
    done = {n: (k, serve(problem, p)) for n, (k, p) in players(problem).items()}
    _only_best(done, "LB-SGD", ", the best of 8 in hindsight")
    for word in ("Cooper", "humancompatible"):
        _only_best(done, word, "")
    known = {
        lazy: done[f"projection onto the known limits, {word}"][1].losses.mean()
        for lazy, word in ((False, "descent"), (True, "dual averaging"))
    }
    lines = []
    for name, (knows, d) in done.items():
        mean = d.losses.mean()
        final = np.logaddexp(0.0, -people.classes * (people.features @ d.last)).mean()
        against = known["veraging" in name]
        lines.append(
            [
                name,
                knows,
                f"{d.outside:,}",
                f"{d.excess.max():.2g}",
                f"{mean:.4f}",
                f"{mean / against - 1:+.1%}",
                f"{final:.4f}",
                f"{d.microseconds:,.0f}",
            ]
        )
    head = ("rule", "knows beforehand", "models outside", "worst g", "mean loss of served models")
    more = ("against the same step with projection", "loss of the last model", "µs per update")
    yield from table((*head, *more), lines)
    yield ""
    yield f"{problem.costs.horizon:,} models each; a constant score has a loss of 0.693."
    if images is not None:
        draw(images / "cases_scoring.png", {n: d for n, (_, d) in done.items()})


def draw(path: Path, found: dict[str, Served]) -> None:
    """Save the mean loss so far of four rules."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = [n for n in found if "dual" in n.lower() or "PFS" in n or "DPP" in n]
    for name, colour in zip(names, ("#009E73", "#0072B2", "#E69F00", "#BBBBBB"), strict=False):
        rounds = np.arange(1, len(found[name].losses) + 1)
        word = name.replace("*", "").replace("`", "")
        left.plot(rounds, found[name].losses.cumsum() / rounds, color=colour, lw=1.2, label=word)
        right.plot(rounds, found[name].excess, color=colour, lw=0.8)
    left.set(xscale="log", xlabel="round", ylabel="mean loss so far", ylim=(0.38, 0.72))
    right.axhline(0.0, color="#333333", lw=0.8)
    right.set(xlabel="round", ylabel="largest g", ylim=(-0.012, 0.03))
    left.legend(frameon=False, fontsize=7)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)

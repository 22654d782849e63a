"""A small problem to check an algorithm against, and helpers to compare results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import tuned_for
from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.types import Array, CostStream, needs_of
from surefoot.games.oracle import Oracle
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine
from surefoot.problems.costs import Quadratic
from surefoot.sets import Ball, Box, Simplex
from surefoot.testing.backends import asarray

__all__ = ["RUNS", "Case", "leaves", "must", "same", "small_problem", "snapshot", "tuned_cases"]

RUNS = 3


class Case(NamedTuple):
    """An algorithm, a small problem to play it against, and the arrays to play it with."""

    algorithm: Any
    problem: Problem
    backend: str

    @property
    def rounds(self) -> int:
        """The number of rounds played."""
        return self.problem.costs.horizon

    def regimes(self) -> Iterator[tuple[str, Array, CostStream]]:
        """Return one run and, unless the rule is for one, a batch: name, first action, costs."""
        start, costs = self.problem.start, self.problem.costs
        yield "one run", asarray(start, self.backend), costs.run(0)
        if not needs_of(self.algorithm).one_run:
            yield "a batch", asarray(np.tile(start, (RUNS, 1)), self.backend), costs

    def feedback(self, costs: CostStream, t: int, x: Array) -> Any:
        """Return what round t reveals at x."""
        oracle = Oracle(costs, self.problem.constraint, needs_of(self.algorithm), watched=False)
        return oracle.ask(t, x).feedback

    def states(self, x: Array, costs: CostStream, algorithm: Any = None) -> list[Any]:
        """Return the state before the first round and after each round."""
        player = self.algorithm if algorithm is None else algorithm
        states = [player.init(x)]
        for t in range(self.rounds):
            states.append(player.step(states[-1], self.feedback(costs, t, states[-1].x))[0])
        return states

    def reference(self) -> Array:
        """Return the actions of each run, played alone in NumPy: ``(rounds + 1, runs, d)``."""
        runs = [self.states(self.problem.start, self.problem.costs.run(r)) for r in range(RUNS)]
        return np.stack([[state.x for state in states] for states in runs], axis=1)

    def compare(self, seen: Array, wanted: Array, what: str, tolerance: float = 0.0) -> None:
        """Raise unless the actions are the same; the tolerance counts roundings."""
        seen, wanted = (np.asarray(to_numpy(a), dtype=np.float64) for a in (seen, wanted))
        must(seen.shape == wanted.shape, f"{what} has shape {seen.shape}, not {wanted.shape}")
        off = float(np.max(np.abs(seen - wanted), initial=0.0))
        must(off <= tolerance, f"{what} is off by {off:.3g}, more than {tolerance:.3g}")

    def rounding(self) -> float:
        """Return how far apart two computations of the same actions may be.

        A round has a few inner products of length d, each off by at most d u of its size,
        u = 2^-53, and a few dozen single operations; projections do not enlarge what came before.
        """
        start, targets = self.problem.start, self.problem.costs.targets  # type: ignore[attr-defined]
        size = 1.0 + float(np.abs(start).max()) + float(np.abs(targets).max())
        return 32 * (len(start) + 16) * 2.0**-53 * size * self.rounds


def small_problem(start: Any, rounds: int) -> Problem:
    """Return a problem whose targets pull all runs into a corner of the set."""
    x1 = checks.to_vector(start, "start")
    d, rng = len(x1), np.random.default_rng(1)
    out = 1.0 + rng.random(d)
    targets = x1 + out + rng.normal(size=(rounds, RUNS, d))
    A = np.vstack([np.eye(d), np.ones((1, d))]) * (0.5 + rng.random((d + 1, 1)))
    constraint = Affine(A, A @ x1 + 0.05 + 0.1 * rng.random(d + 1))
    domain = Ball(1.0 + float(np.linalg.norm(x1)))
    return Problem.of(Quadratic(targets, 1.5), constraint, domain, x1, name="checks")


def tuned_cases(kind: type[Any]) -> list[tuple[Any, list[float]]]:
    """Return an algorithm and a start for each theorem of a class that applies to a small problem.

    Theorems are asked for 1,000 rounds, and for 10^15 where fewer are not enough.

    Args:
        kind: the class, with its ``tunings``.

    Example:
        >>> from surefoot import PFS
        >>> [round(float(algorithm.rho), 5) for algorithm, start in tuned_cases(PFS)]
        [0.00092, 0.00092, 0.0, 0.01938]
    """
    simplex = needs_of(kind).domain == "simplex"
    start = [0.25, 0.25, 0.5] if simplex else [0.2, 0.4]
    problem = small_problem(start, rounds=8)
    feasible = Simplex(len(start)) if simplex else Box([-0.5, -0.25], [0.25, 0.5])
    cases = []
    for tuning in kind.tunings:
        for horizon in (1_000, 10**15):
            entry = tuned_for(kind, tuning, problem.constants, horizon, problem.domain, feasible)
            if entry.tuned is not None:
                cases.append((entry.tuned.algorithm, start))
                break
    return cases


def must(good: bool, sentence: str) -> None:
    """Raise with the sentence unless all is good; `assert` would be stripped by -O."""
    if not good:
        raise AssertionError(sentence)


def leaves(tree: Any) -> list[Any]:
    """Return the entries of a state or a feedback."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [tree]


def snapshot(*trees: Any) -> list[Array]:
    """Return copies of the entries, as NumPy arrays."""
    return [np.array(to_numpy(leaf)) for tree in trees for leaf in leaves(tree)]


def same(a: list[Array], b: list[Array]) -> bool:
    """Return whether two snapshots are equal to the last bit."""
    return len(a) == len(b) and all(map(np.array_equal, a, b))

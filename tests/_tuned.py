"""The algorithms that theorems make of a class, for tests of every one."""

from surefoot.core.types import needs_of
from surefoot.rules import try_tuning
from surefoot.sets import Box, Simplex
from surefoot.testing import small_problem


def tuned_cases(kind):
    """Return an algorithm and a start for each theorem of a class that applies to a small problem.

    Theorems are asked for 1,000 rounds, and for 10^15 where fewer are not enough.
    """
    simplex = needs_of(kind).domain == "simplex"
    start = [0.25, 0.25, 0.5] if simplex else [0.2, 0.4]
    problem = small_problem(start, rounds=8)
    feasible = Simplex(len(start)) if simplex else Box([-0.5, -0.25], [0.25, 0.5])
    cases = []
    for tuning in kind.tunings:
        for horizon in (1_000, 10**15):
            entry = try_tuning(kind, tuning, problem.constants, horizon, problem.domain, feasible)
            if entry.tuned is not None:
                cases.append((entry.tuned.algorithm, start))
                break
    return cases

"""Count what an algorithm asks for while it plays, to compare with what it declares."""

from collections import Counter
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from surefoot import play
from surefoot.core.algorithm import is_algorithm
from surefoot.core.types import needs_of
from surefoot.guarantees.tuning import unpack

ORACLES = {
    "separation": "separations",
    "gauge": "gauges",
    "prox": "proxes",
    "smooth": "smooth_queries",
}


def count_calls(player, problem, **options):
    """Return the calls of one run, played by the loop, and its trace."""
    algorithm, _ = unpack(player)
    calls = Counter()
    counted = CountedSteps(with_counters(algorithm, problem.benchmark.region, calls), calls)
    return calls, play(counted, problem, engine="loop", **options)


@dataclass(frozen=True)
class CountedSteps:
    """Counts what each round tells."""

    base: Any
    calls: Counter

    @property
    def needs(self):
        return needs_of(self.base)

    def init(self, x1):
        return self.base.init(x1)

    def step(self, state, feedback):
        for name in ("cost_gradient", "constraint_value", "constraint_subgradient"):
            self.calls[f"{name}s"] += getattr(feedback, name) is not None
        return self.base.step(state, feedback)


class Counting:
    """Stands in for a set or an oracle, and counts the calls."""

    def __init__(self, held, calls, kind=None):
        self.held, self.calls, self.kind = held, calls, kind

    def __repr__(self):
        return repr(self.held)  # messages that name the set must not name the counter

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.held, name)

    def __call__(self, *arguments):
        self.calls[self.kind] += 1
        return self.held(*arguments)

    def project(self, x):
        self.calls["projections"] += 1
        return self.held.project(x)

    def minimize_linear(self, c):
        self.calls["linear_minimisations"] += 1
        return self.held.minimize_linear(c)


def with_counters(algorithm, feasible, calls):
    """Return the algorithm with the sets and oracles it holds, at any depth, made to count.

    A set that equals the problem's is one. Where none does, all are that an algorithm holds which
    says that it projects or minimises; those of another are sets around the feasible one.
    """
    if not is_dataclass(algorithm):
        return algorithm
    needs = needs_of(algorithm)
    held = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    sets = {n: v for n, v in held.items() if hasattr(v, "contains")}
    same = {n: v for n, v in sets.items() if type(v) is type(feasible) and v == feasible}
    if not same and (needs.projections or needs.linear_minimisations):
        same = sets
    changed = {name: Counting(v, calls) for name, v in same.items()}
    changed |= {n: Counting(held[n], calls, kind) for n, kind in ORACLES.items() if n in held}
    for name, value in held.items():
        # A wrapper's base algorithm, or the algorithms that a mixture holds.
        if is_algorithm(value):
            changed[name] = with_counters(value, feasible, calls)
        elif type(value) is tuple and value and all(map(is_algorithm, value)):
            changed[name] = tuple(with_counters(v, feasible, calls) for v in value)
    made = copy(algorithm)
    for name, value in changed.items():
        object.__setattr__(made, name, value)  # no constructor: it may ask for a set's own type
    return made

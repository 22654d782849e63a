"""Count what a player asked for: oracle calls and time."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from surefoot.core.algorithm import is_algorithm
from surefoot.core.types import Array, Feedback, Region, Solving, needs_of

__all__ = ["Calls", "Counted", "Ledger", "counted", "tally"]


class Ledger(NamedTuple):
    """Calls and seconds of one run, summed over all rounds.

    Attributes:
        rounds: rounds played.
        cost_gradients: gradients of costs that the player was told.
        constraint_values: values of g, likewise; those of m separate constraints count as one.
        constraint_subgradients: subgradients of g, likewise.
        projections: projections onto the feasible set.
        linear_minimisations: minimisations of a linear function over it.
        separations: calls of its separation oracle.
        gauges: calls of its gauge.
        proxes: proximal steps with the violation of the constraint.
        smooth_queries: values and gradients of a smooth constraint at points that were not played.
        inner_solves: those of the last two that called a solver; at most, if not counted.
        seconds: wall time, the game's own bookkeeping included, compilation not.
        counted: whether calls were counted, as in the loop, or multiplied out from the needs that
            the algorithm declares.
        compile_seconds: what the scan took to compile, for all runs of the game together; 0 where
            nothing was compiled.
    """

    rounds: int
    cost_gradients: int
    constraint_values: int
    constraint_subgradients: int
    projections: int
    linear_minimisations: int
    separations: int
    gauges: int
    proxes: int
    smooth_queries: int
    inner_solves: int
    seconds: float
    counted: bool
    compile_seconds: float = 0.0

    @property
    def microseconds_a_round(self) -> float:
        """Time per round."""
        return 1e6 * self.seconds / self.rounds


class _Counting:
    """Stands in for what it holds, and passes on what is not counted."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return repr(self.held)  # messages that name the set must not name the counter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.held, name)


class Counted(_Counting):
    """A set that counts the calls of its methods."""

    held: Region

    def __init__(self, region: Region) -> None:
        super().__init__(region)
        self.projections = 0
        self.linear_minimisations = 0
        self.inner_solves = 0

    @property
    def solves(self) -> bool:
        """Whether the set has no closed form."""
        return isinstance(self.held, Solving)

    def project(self, x: Array) -> Array:
        """Return the set's projection, counted."""
        self.projections += 1
        self.inner_solves += self.solves and not self.held.contains(x)
        return self.held.project(x)

    def minimize_linear(self, c: Array) -> Array:
        """Return the set's linear minimisation, counted."""
        self.linear_minimisations += 1
        self.inner_solves += self.solves
        return self.held.minimize_linear(c)

    def contains(self, x: Array) -> Any:
        """Return the set's membership."""
        return self.held.contains(x)


ORACLES = {
    "separation": "separations",
    "gauge": "gauges",
    "prox": "proxes",
    "smooth": "smooth_queries",
}
"""The fields of algorithms that hold oracles, and what the ledger calls their answers."""


class CountedOracle(_Counting):
    """An oracle that counts its calls, of one kind of :data:`ORACLES`."""

    def __init__(self, oracle: Any, kind: str) -> None:
        super().__init__(oracle)
        self.kind, self.calls = kind, 0

    def __call__(self, *arguments: Any) -> Any:
        """Answer as the oracle does, counted."""
        self.calls += 1
        return self.held(*arguments)


@dataclass(slots=True)
class Calls:
    """What one run has asked for so far: from the game, and from its sets and oracles."""

    sets: list[Counted]
    oracles: list[CountedOracle]
    cost_gradients: int = 0
    constraint_values: int = 0
    constraint_subgradients: int = 0

    def count(self, told: Feedback) -> None:
        """Add what a round has told."""
        self.cost_gradients += told.cost_gradient is not None
        self.constraint_values += told.constraint_value is not None
        self.constraint_subgradients += told.constraint_subgradient is not None


def counted(
    algorithm: Any, feasible: Region | None
) -> tuple[Any, list[Counted], list[CountedOracle]]:
    """Return the algorithm with the sets and oracles it holds, at any depth, made to count.

    A set that equals the problem's is one. Where none does, all are that an algorithm holds which
    says that it projects or minimises; those of another are sets around the feasible one.
    """
    if not is_dataclass(algorithm) or isinstance(algorithm, type):
        return algorithm, [], []
    needs = needs_of(algorithm)
    held: dict[str, Any] = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    sets: dict[str, Any] = {n: v for n, v in held.items() if hasattr(v, "contains")}
    same: dict[str, Any] = {
        n: v for n, v in sets.items() if type(v) is type(feasible) and v == feasible
    }
    if not same and (needs.projections or needs.linear_minimisations):
        same = sets
    changed: dict[str, Any] = {name: Counted(v) for name, v in same.items()}
    counters: list[Counted] = list(changed.values())
    asked = {n: CountedOracle(held[n], kind) for n, kind in ORACLES.items() if n in held}
    oracles: list[CountedOracle] = list(asked.values())
    changed |= asked
    for name, value in held.items():
        # A wrapper's base algorithm, or the algorithms that a mixture holds.
        inner = [
            counted(v, feasible)
            for v in (value if type(value) is tuple else (value,))
            if is_algorithm(v)
        ]
        if inner:
            made = tuple(algorithm for algorithm, _, _ in inner)
            changed[name] = made if type(value) is tuple else made[0]
            counters += [counter for _, own, _ in inner for counter in own]
            oracles += [oracle for _, _, own in inner for oracle in own]
    if not counters and not oracles:
        return algorithm, [], []
    changed_algorithm = copy(algorithm)
    for name, value in changed.items():
        # No constructor: it may ask for a set's own type.
        object.__setattr__(changed_algorithm, name, value)
    return changed_algorithm, counters, oracles


def tally(
    algorithm: Any,
    rounds: int,
    seconds: float,
    feasible: Region | None,
    calls: Calls | None,
    compile_seconds: float,
) -> Ledger:
    """Return the ledger of one run: counted where there are calls, else as declared."""
    needs = needs_of(algorithm)
    if calls is not None:
        sets = calls.sets
        return Ledger(
            rounds=rounds,
            cost_gradients=calls.cost_gradients,
            constraint_values=calls.constraint_values,
            constraint_subgradients=calls.constraint_subgradients,
            projections=sum(s.projections for s in sets),
            linear_minimisations=sum(s.linear_minimisations for s in sets),
            **{
                kind: sum(o.calls for o in calls.oracles if o.kind == kind)
                for kind in ORACLES.values()
            },
            inner_solves=sum(s.inner_solves for s in sets),
            seconds=seconds,
            counted=True,
        )
    over_sets = (needs.projections + needs.linear_minimisations) * rounds
    return Ledger(
        rounds=rounds,
        cost_gradients=needs.cost_gradients * rounds,
        constraint_values=needs.constraint_values * rounds,
        constraint_subgradients=needs.constraint_subgradients * rounds,
        projections=needs.projections * rounds,
        linear_minimisations=needs.linear_minimisations * rounds,
        **{kind: getattr(needs, kind) * rounds for kind in ORACLES.values()},
        inner_solves=over_sets if any(s.solves for s in counted(algorithm, feasible)[1]) else 0,
        seconds=seconds,
        counted=False,
        compile_seconds=compile_seconds,
    )

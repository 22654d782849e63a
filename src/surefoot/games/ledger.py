"""What a player asked for: oracle calls, and time."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from surefoot.games.oracle import needs_of
from surefoot.types import Array, Region

__all__ = ["Counted", "Ledger", "counted", "tally"]


class Ledger(NamedTuple):
    """Calls and seconds of one run, all rounds together.

    Attributes:
        rounds: rounds played.
        cost_gradients: gradients of costs.
        constraint_values: values of g; each of m constraints kept apart counts as one question.
        constraint_subgradients: subgradients of g, likewise.
        projections: projections onto the feasible set.
        linear_minimisations: minimisations of a linear function over it.
        inner_solves: those of the last two that called a solver.
        seconds: wall time, the game's own bookkeeping included.
        counted: whether calls were counted, as in the loop, or multiplied out from the needs that
            the algorithm declares.
    """

    rounds: int
    cost_gradients: int
    constraint_values: int
    constraint_subgradients: int
    projections: int
    linear_minimisations: int
    inner_solves: int
    seconds: float
    counted: bool

    @property
    def microseconds_a_round(self) -> float:
        """Time per round."""
        return 1e6 * self.seconds / self.rounds


class Counted:
    """A set that counts what is asked of it."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.projections = 0
        self.linear_minimisations = 0

    def project(self, x: Array) -> Array:
        """The set's projection, counted."""
        self.projections += 1
        return self.region.project(x)

    def minimize_linear(self, c: Array) -> Array:
        """The set's linear minimisation, counted."""
        self.linear_minimisations += 1
        return self.region.minimize_linear(c)

    def contains(self, x: Array) -> Any:
        """The set's membership."""
        return self.region.contains(x)

    def __repr__(self) -> str:
        return repr(self.region)  # messages that name the set must not name the counter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.region, name)


def counted(algorithm: Any, feasible: Region | None) -> tuple[Any, list[Counted]]:
    """The algorithm with every feasible set that it holds, at any depth, made to count."""
    if not is_dataclass(algorithm) or isinstance(algorithm, type) or feasible is None:
        return algorithm, []
    changed: dict[str, Any] = {}
    counters: list[Counted] = []
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        if type(value) is type(feasible) and value == feasible:
            changed[f.name] = counter = Counted(value)
            counters.append(counter)
        elif hasattr(value, "update") and hasattr(value, "init"):  # a wrapper's base algorithm
            changed[f.name], inner = counted(value, feasible)
            counters += inner
    return (replace(algorithm, **changed) if counters else algorithm), counters


def tally(
    algorithm: Any, rounds: int, seconds: float, counters: list[Counted] | None, solver: bool
) -> Ledger:
    """The ledger of one run: counted where there are counters, else as declared."""
    needs = needs_of(algorithm)
    if counters is None:
        projections = needs.projections * rounds
        minimisations = needs.linear_minimisations * rounds
    else:
        projections = sum(c.projections for c in counters)
        minimisations = sum(c.linear_minimisations for c in counters)
    return Ledger(
        rounds=rounds,
        cost_gradients=needs.cost_gradients * rounds,
        constraint_values=needs.constraint_values * rounds,
        constraint_subgradients=needs.constraint_subgradients * rounds,
        projections=projections,
        linear_minimisations=minimisations,
        inner_solves=(projections + minimisations) if solver else 0,
        seconds=seconds,
        counted=counters is not None,
    )

"""What a player asks for: oracle calls, as it declares them, and time."""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot.core.types import Region, Solving, needs_of

__all__ = ["Ledger", "ledger_of"]


class Ledger(NamedTuple):
    """Calls and seconds of one run, summed over all rounds.

    Calls are those of a round that the algorithm declares (its ``needs``), times the rounds. Every
    algorithm of the library is tested to ask for exactly that; one whose loops depend on data, for
    that at most.

    Attributes:
        rounds: rounds played.
        cost_gradients: gradients of costs that the player is told.
        constraint_values: values of g, likewise; those of m separate constraints count as one.
        constraint_subgradients: subgradients of g, likewise.
        projections: projections onto the feasible set.
        linear_minimisations: minimisations of a linear function over it.
        separations: calls of its separation oracle.
        gauges: calls of its gauge.
        proxes: proximal steps with the violation of the constraint.
        smooth_queries: values and gradients of a smooth constraint at points that are not played.
        inner_solves: how many projections and linear minimisations call a solver, at most.
        seconds: wall time, the game's own bookkeeping included, compilation not.
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
    compile_seconds: float = 0.0

    @property
    def microseconds_a_round(self) -> float:
        """Time per round."""
        return 1e6 * self.seconds / self.rounds


def ledger_of(
    algorithm: Any, rounds: int, feasible: Region | None, seconds: float, compile_seconds: float
) -> Ledger:
    """Return the ledger of one run of an algorithm on a problem with this feasible set."""
    needs = needs_of(algorithm)
    over_sets = needs.projections + needs.linear_minimisations
    solves = any(isinstance(s, Solving) for s in (feasible, getattr(algorithm, "domain", None)))
    return Ledger(
        rounds=rounds,
        cost_gradients=needs.cost_gradients * rounds,
        constraint_values=needs.constraint_values * rounds,
        constraint_subgradients=needs.constraint_subgradients * rounds,
        projections=needs.projections * rounds,
        linear_minimisations=needs.linear_minimisations * rounds,
        separations=needs.separations * rounds,
        gauges=needs.gauges * rounds,
        proxes=needs.proxes * rounds,
        smooth_queries=needs.smooth_queries * rounds,
        inner_solves=over_sets * rounds if solves else 0,
        seconds=seconds,
        compile_seconds=compile_seconds,
    )

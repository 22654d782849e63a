"""Watch the premises of a guarantee, and its bound on each round, while a game is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.algorithms import Breach, Guarantee, Policy, Premise, PremiseError, PremiseWarning
from surefoot.core.errors import warn_caller
from surefoot.core.types import Array

__all__ = ["BlockWatch", "Mode", "Observed"]

Mode: TypeAlias = Literal["off"] | Policy
"""What a game does when a premise breaks; "off" does not look."""


class Observed(NamedTuple):
    """The extremes observed, one entry per run.

    Attributes:
        cost_gradient: largest norm of a cost gradient.
        constraint_subgradient: largest norm of a constraint subgradient.
    """

    cost_gradient: Array
    constraint_subgradient: Array


class BlockWatch:
    """Compare what a game observes with what its guarantees assume.

    Args:
        guarantees: one for each run, or None where there is none.
        mode: "off" looks at nothing; "record" keeps breaches; "warn" also warns of the first of
            each kind; "raise" ends the game at it.
        curvature: of the constraints, at most; inf where it is not known.

    Attributes:
        breaches: premises that broke.
        excess: the largest g less the bound of its round, of each run, in every mode; -inf where
            the guarantee does not bound each round.
    """

    def __init__(
        self, guarantees: Sequence[Guarantee | None], mode: Mode, curvature: float | None = None
    ) -> None:
        self.mode = mode
        self._curvature = curvature
        self.breaches: list[Breach] = []
        self._gradient = np.zeros(len(guarantees))
        self._subgradient = np.zeros(len(guarantees))
        # Runs that share a guarantee are checked together.
        groups: dict[int, tuple[Guarantee, list[int]]] = {}
        for run, guarantee in enumerate(guarantees):
            if guarantee is not None:
                groups.setdefault(id(guarantee), (guarantee, []))[1].append(run)
        self._open = [
            (premise, np.array(runs))
            for guarantee, runs in groups.values()
            for premise in guarantee.premises
        ]
        self._bounded = [
            (guarantee, np.array(runs))
            for guarantee, runs in groups.values()
            if "round" in guarantee.bounds(1)
        ]
        self.excess = np.full(len(guarantees), -np.inf)

    @property
    def is_on(self) -> bool:
        """Whether norms are needed."""
        return self.mode != "off"

    def compare(self, start: int, g: Array) -> None:
        """Hold each g of a block, ``(rounds, runs)``, against the bound of its own round."""
        t = start + 1 + np.arange(len(g))
        for guarantee, watched in self._bounded:
            here = watched[watched < g.shape[1]]
            over = g[:, here] - guarantee.bounds(t)["round"][:, None]
            # The sign is exact: a difference of two floats is rounded to 0 only where it is 0.
            self.excess[here] = np.maximum(self.excess[here], over.max(axis=0))

    def add(self, start: int, g: Array, gradient: Array, subgradient: Array) -> None:
        """Watch a block of the first runs: ``(rounds, runs)``, after ``start`` rounds."""
        runs = slice(g.shape[1])
        self._gradient[runs] = np.maximum(self._gradient[runs], gradient.max(axis=0))
        self._subgradient[runs] = np.maximum(self._subgradient[runs], subgradient.max(axis=0))
        t = start + 1.0 + np.arange(len(g))[:, None]
        new: list[Breach] = []
        still: list[tuple[Premise, Array]] = []
        for premise, watched in self._open:
            here = watched[watched < g.shape[1]]
            seen, counts = premise.observe(
                t, gradient[:, here], g[:, here], subgradient[:, here], self._curvature
            )
            bad = np.broadcast_to(counts & premise.is_broken_by(seen), (len(g), len(here)))
            seen = np.broadcast_to(seen, bad.shape)
            broken = bad.any(axis=0)
            for k in np.flatnonzero(broken):
                row = int(bad[:, k].argmax())
                new.append(premise.breach(start + row + 1, float(seen[row, k]), int(here[k])))
            left = np.setdiff1d(watched, here[broken])
            if len(left):
                still.append((premise, left))
        self._open = still
        self._tell(new)

    def _tell(self, new: list[Breach]) -> None:
        told = {(b.constant, b.limit) for b in self.breaches}
        self.breaches += new
        for breach in sorted(new, key=lambda b: b.round):
            premise = breach.constant, breach.limit
            if premise in told:
                continue
            told.add(premise)
            if self.mode == "raise":
                raise PremiseError(str(breach))
            if self.mode == "warn":
                warn_caller(str(breach), PremiseWarning)

    def observed(self) -> Observed:
        """Return the extremes so far."""
        return Observed(self._gradient.copy(), self._subgradient.copy())

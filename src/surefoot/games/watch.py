"""A watch on the premises of a guarantee while a game is played."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.errors import SurefootError
from surefoot.theory import Guarantee, Premise
from surefoot.types import Array

__all__ = ["Breach", "Mode", "Observed", "PremiseError", "PremiseWarning", "Watch"]

Mode: TypeAlias = Literal["off", "record", "warn", "raise"]


class PremiseWarning(UserWarning):
    """A premise of the guarantee does not hold for the rounds played."""


class PremiseError(SurefootError, RuntimeError):
    """A premise of the guarantee does not hold, and the game was asked to stop at that."""


class Breach(NamedTuple):
    """A premise that broke: the first round of a run in which it did."""

    premise: Premise
    run: int
    round: int
    observed: float

    def __str__(self) -> str:
        return self.premise.sentence(self.round, self.observed)


class Observed(NamedTuple):
    """The extremes that were seen, one entry a run.

    Attributes:
        cost_gradient: largest norm of a cost gradient.
        constraint_subgradient: largest norm of a constraint subgradient.
    """

    cost_gradient: Array
    constraint_subgradient: Array


class Watch:
    """Compares what a game sees with what its guarantees assume.

    Args:
        guarantees: one for each run, or None where there is none.
        mode: "off" looks at nothing; "record" keeps breaches; "warn" also warns of the first of
            each kind; "raise" ends the game at it.
    """

    def __init__(self, guarantees: Sequence[Guarantee | None], mode: Mode) -> None:
        self.mode = mode
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

    @property
    def is_on(self) -> bool:
        """Whether norms are wanted."""
        return self.mode != "off"

    def add(self, start: int, g: Array, gradient: Array, subgradient: Array) -> None:
        """Look at a block of the first runs: ``(rounds, runs)``, after ``start`` rounds."""
        runs = slice(g.shape[1])
        self._gradient[runs] = np.maximum(self._gradient[runs], gradient.max(axis=0))
        self._subgradient[runs] = np.maximum(self._subgradient[runs], subgradient.max(axis=0))
        new: list[Breach] = []
        still: list[tuple[Premise, Array]] = []
        for premise, watched in self._open:
            here = watched[watched < g.shape[1]]
            bad, seen = _look(premise, start, g[:, here], gradient[:, here], subgradient[:, here])
            broken = bad.any(axis=0)
            for k in np.flatnonzero(broken):
                t = int(bad[:, k].argmax())
                new.append(Breach(premise, int(here[k]), start + t + 1, float(seen[t, k])))
            left = np.setdiff1d(watched, here[broken])
            if len(left):
                still.append((premise, left))
        self._open = still
        self._tell(new)

    def _tell(self, new: list[Breach]) -> None:
        told = {b.premise for b in self.breaches}
        self.breaches += new
        for breach in sorted(new, key=lambda b: b.round):
            if breach.premise in told:
                continue
            told.add(breach.premise)
            if self.mode == "raise":
                raise PremiseError(str(breach))
            if self.mode == "warn":
                warnings.warn(str(breach), PremiseWarning, stacklevel=_levels_up())

    def observed(self) -> Observed:
        """The extremes so far."""
        return Observed(self._gradient.copy(), self._subgradient.copy())


def _levels_up() -> int:
    """How many calls up the first one outside this package is: where a warning should point."""
    level, frame = 1, sys._getframe(1)
    package = __name__.split(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def _look(
    premise: Premise, start: int, g: Array, gradient: Array, subgradient: Array
) -> tuple[Array, Array]:
    """Where a premise fails in a block, and the values to compare; ``(rounds, runs)`` both."""
    if premise.quantity == "cost gradient":
        return premise.broken(gradient), gradient
    if premise.quantity == "constraint subgradient":
        return premise.broken(subgradient), subgradient
    if premise.quantity == "subgradient near the boundary":
        near = g >= -premise.level
        return near & premise.broken(subgradient), subgradient
    rounds = np.broadcast_to(start + 1.0 + np.arange(len(g))[:, None], g.shape)
    if premise.quantity == "start":
        return (rounds == 1) & premise.broken(-g), -g
    return premise.broken(rounds), rounds

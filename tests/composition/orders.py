"""What people and machines do to a live loop between and in its rounds, drawn at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BETWEEN = {
    "hold": 3.0,
    "retreat": 3.0,
    "retreat slowly": 2.0,
    "resume": 8.0,
    "fresh": 1.0,
    "fresh elsewhere": 0.5,
    "announce again": 4.0,
    "reopen": 3.0,
}
"""What may happen before a round is asked for, and how often."""
TOLD = {
    "own, feasible": 3.0,
    "own, infeasible": 2.0,
    "own, off the grid": 1.0,
    "own, outside of the domain": 1.0,
    "missing": 3.0,
    "nonsense": 2.0,
    "another error": 2.0,
    "within": 1.0,
    "context later": 3.0,
    "refused, then told again": 1.0,
}
"""What a round may be told, and how often."""
ORDERS = (*BETWEEN, *TOLD)


class Program(NamedTuple):
    """Which orders a run is given, and how often.

    Attributes:
        between: those before a round.
        told: those in one.
        often: the probability of one of each.
    """

    between: tuple[str, ...]
    told: tuple[str, ...]
    often: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Program:
        """Return a program: no order, one of them, some, or all."""
        which = rng.choice(["none", "one", "some", "all"], p=[0.1, 0.2, 0.4, 0.3])
        chosen: Any = {"none": [], "all": ORDERS}.get(which)
        if which == "one":
            chosen = [rng.choice(ORDERS)]
        elif which == "some":
            chosen = [order for order in ORDERS if rng.random() < 0.3]
        # Whoever may halt a loop resumes it.
        chosen = {*chosen, "resume"} if chosen else set()
        between = tuple(order for order in BETWEEN if order in chosen)
        told = tuple(order for order in TOLD if order in chosen)
        return cls(between, told, float(rng.choice([0.1, 0.25, 0.5])))

    def before(self, rng: np.random.Generator) -> str:
        """Return what happens before a round; empty for nothing."""
        return self._draw(self.between, BETWEEN, rng)

    def during(self, rng: np.random.Generator) -> str:
        """Return what a round is told; empty for what it asks for."""
        return self._draw(self.told, TOLD, rng)

    def _draw(self, among: tuple[str, ...], often: dict[str, float], rng: Any) -> str:
        if not among or rng.random() >= self.often:
            return ""
        weights = np.array([often[order] for order in among])
        return str(rng.choice(among, p=weights / weights.sum()))

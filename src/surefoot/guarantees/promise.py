"""The promises of a rule: feasibility, observed regret, regret in advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

__all__ = ["NO_PROMISES", "Promise", "Promises", "promise_observed"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One proved statement, with its assumptions and what it does not cover.

    Attributes:
        theorem: the statement, as its source calls it.
        needs: its assumptions, one phrase each.
        not_covered: what it does not cover, one phrase each.
        bound: for feasibility, the bounds by measure after t rounds; for regret in advance, the
            bound after t rounds; None if it is computed from the rounds played.

    Example:
        >>> print(Promise("Theorem F", needs=("g is convex", "every cost is convex")))
        Theorem F, if g is convex and every cost is convex
    """

    theorem: str
    needs: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    bound: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.theorem}, if {' and '.join(self.needs)}" if self.needs else self.theorem

    def with_more(self, words: str, *needs: str, not_covered: tuple[str, ...] = ()) -> Promise:
        """Return the promise of a wrapper: the theorem with words, and what it needs beside it.

        >>> Promise("Theorem E", ("g is convex",)).with_more("2 copies in turn").theorem
        'Theorem E, 2 copies in turn'
        """
        return replace(
            self,
            theorem=f"{self.theorem}, {words}",
            needs=(*self.needs, *needs),
            not_covered=(*self.not_covered, *not_covered),
        )


class Promises(NamedTuple):
    """The three parts of a guarantee; None for a part without a promise.

    Attributes:
        feasibility: the promise about the constraint.
        observed: an upper bound on the regret, computed from the rounds played.
        in_advance: a finite upper bound on the regret before the first round.
    """

    feasibility: Promise | None = None
    observed: Promise | None = None
    in_advance: Promise | None = None

    def theorems(self) -> dict[str, str]:
        """Return the theorem of each part by the part's name; "none" without a promise.

        >>> Promises(Promise("Theorem E"), Promise("Theorem F")).theorems()
        {'feasibility': 'Theorem E', 'observed': 'Theorem F', 'in advance': 'none'}
        """
        return {
            name.replace("_", " "): "none" if part is None else part.theorem
            for name, part in self._asdict().items()
        }


NO_PROMISES = Promises()
"""The promises of a rule without any."""


def promise_observed(theorem: str) -> Promise:
    """Return the promise of a regret bound that is computed from the rounds played."""
    needs = ("g is convex", "every cost is convex", "cost gradients are exact")
    return Promise(theorem, needs, ("rounds to come", "comparators that move"))

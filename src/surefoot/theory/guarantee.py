"""What a theorem promises: bounds as functions of the round, the kind of promise, its premises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, final

from surefoot.constants import Constants
from surefoot.types import Array

__all__ = ["Guarantee", "Kind", "Measure", "Premise", "Quantity", "Tuned"]

Kind: TypeAlias = Literal["every round", "after t0", "bounded", "cumulative", "hard", "squared"]
"""g(x_t) <= 0 in every round; from round t0 on; at most the violation bound in each round; the sum
of g is bounded; the sum of [g]_+; the sum of [g]_+^2."""

Measure: TypeAlias = Literal["soft", "hard", "squared"]
"""The measures of :class:`surefoot.metrics.Violations` that a theorem may bound over all rounds."""

Quantity: TypeAlias = Literal[
    "cost gradient", "constraint subgradient", "subgradient near the boundary", "start", "horizon"
]

# A computed norm errs by a few (d u), u = 2^-53; 1e-12 covers d up to several thousand and is far
# below any difference that matters to a bound.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Premise:
    """One inequality that a guarantee rests on and a game can watch.

    Attributes:
        quantity: what is observed.
        constant: the name of the constant that limits it.
        limit: the constant's value.
        level: for subgradients near the boundary, the epsilon in "where g >= -epsilon".
        only_regret: whether feasibility does not rest on it.
    """

    quantity: Quantity
    constant: str
    limit: float
    level: float = 0.0
    only_regret: bool = False

    @property
    def is_upper(self) -> bool:
        """Whether the limit is an upper one."""
        return self.quantity not in ("subgradient near the boundary", "start")

    def broken(self, observed: Any) -> Any:
        """Whether an observed value breaks the premise; entry by entry for arrays."""
        # The limit may be negative: a start outside has a slack below 0.
        margin = ROUNDING * abs(self.limit)
        if self.is_upper:
            return observed > self.limit + margin
        return observed < self.limit - margin

    def sentence(self, t: int, observed: float) -> str:
        """What to tell the user when it breaks."""
        what, lost = {
            "cost gradient": (
                "|grad f|",
                "the regret bound and the feasibility guarantee no longer apply",
            ),
            "constraint subgradient": ("|s|", "the feasibility guarantee no longer applies"),
            "subgradient near the boundary": (
                "|s|",
                "the regret bound and the feasibility guarantee no longer apply",
            ),
            "start": ("the slack -g(x_1)", "the feasibility guarantee does not apply"),
            "horizon": ("the round", "the bounds were tuned for fewer rounds"),
        }[self.quantity]
        if self.only_regret:
            lost = "the regret bound no longer applies; feasibility does not rest on it"
        relation = "exceeds" if self.is_upper else "is below"
        if self.quantity == "subgradient near the boundary":
            relation = f"where g >= -{self.level:g} {relation}"
        return (
            f"round {t}: {what} = {observed:.6g} {relation} "
            f"{self.constant} = {self.limit:.6g}: {lost}"
        )


class Guarantee(ABC):
    """A theorem with its constants put in.

    Attributes:
        constants: the constants it was derived from.
        horizon: the number of rounds it was tuned for; None where it holds for any.
        changing: whether the constraint may be another one in each round.
    """

    constants: Constants
    horizon: int | None
    changing: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The statement, as its source calls it."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What is promised of the constraint."""

    @abstractmethod
    def regret_bound(self, t: Any) -> Array:
        """No regret after t rounds is larger; t may be an array."""

    @abstractmethod
    def violation_bound(self, t: Any) -> Array:
        """No g(x_t) is larger; t may be an array."""

    @abstractmethod
    def sum_bounds(self, t: Any) -> dict[Measure, Array]:
        """Bounds on summed violations after t rounds, by measure; those that are promised."""

    @property
    @abstractmethod
    def regret_exponent(self) -> float | None:
        """The power of T in the regret bound, logarithms aside; None if no horizon is meant."""

    @property
    @abstractmethod
    def violation_exponent(self) -> float | None:
        """The power of T in the bound on the violations that the kind speaks of; None if 0."""

    @property
    @abstractmethod
    def premises(self) -> tuple[Premise, ...]:
        """What must be true of the rounds played for the bounds to apply."""

    @final
    def __str__(self) -> str:
        rounds = "any number of rounds" if self.horizon is None else f"T = {self.horizon}"
        return f"{self.name} for {rounds} ({self.kind})"


A = TypeVar("A")


class Tuned(NamedTuple, Generic[A]):
    """An algorithm with the guarantee that its parameters were chosen for."""

    algorithm: A
    guarantee: Guarantee

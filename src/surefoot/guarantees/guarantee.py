"""The promise of a theorem: bounds as functions of the round, its kind, its premises.

A guarantee has three parts (:class:`~surefoot.guarantees.Promise`): feasibility, an upper bound on
the regret from what was played, an upper bound in advance. A theorem derives from
:class:`EveryRound` (no violation at all), from :class:`Summed` (bounds on sums over the rounds) or
from :class:`Guarantee` itself; :class:`NoClaim` is for rules that are only compared.

Games and the live controller watch the premises. A premise that does not hold is a :class:`Breach`.
A :data:`Policy` says whether the breach is recorded, reported by a :class:`PremiseWarning` or
raised as a :class:`PremiseError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import (
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    dataclass_transform,
)

import numpy as np

from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import (
    Declared,
    count,
    flag,
    instance_of,
    nonnegative,
    positive,
    rounds,
    share,
    size,
)
from surefoot.core.types import Array, Number
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.promise import Promise, Promises, promise_observed

__all__ = [
    "ConstraintForm",
    "EveryRound",
    "Guarantee",
    "Kind",
    "KnownHorizon",
    "Measure",
    "NoClaim",
    "PossibleHorizon",
    "Summed",
]

Kind: TypeAlias = Literal[
    "every round",
    "after t0",
    "few violations",
    "bounded",
    "cumulative",
    "sum_positive",
    "sum_squared",
    "none",
]
"""The main promise: g(x_t) <= 0 in every round; from round t0 on; in all rounds but a few; a bound
on g in each round; on the sum of g, or of each constraint separately; on the sum of [g]_+; on the
sum of [g]_+^2; nothing."""

Measure: TypeAlias = Literal[
    "round", "violations", "positive_sum", "sum_positive", "sum_squared", "rows"
]
"""What a bound limits after t rounds: g(x_t) itself; the number of rounds with g(x_t) > 0; the sums
of g, of [g]_+, of [g]_+^2; and the largest sum of a single constraint."""

ConstraintForm: TypeAlias = Literal["any", "convex", "linear"]
"""The constraints that a theorem is about."""


NONE_IN_ADVANCE = "none in advance"
"""The worth of a regret bound if there is none in advance."""

NOT_PLAYED = "rounds without a measurement, or in which another action was played"
"""Rounds that no regret bound in advance covers."""


class _WithHorizon:
    # Not a field of every theorem: a theorem declares its field, or sets ``horizon = None``.
    horizon: int | None


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(count, flag, instance_of, nonnegative, positive, rounds, share, size),
)
class Guarantee(_WithHorizon, Declared, ABC, kw_only=False):
    """A theorem with its constants filled in: a frozen dataclass with declared parameters.

    Attributes:
        needed: the constants that it needs in addition to those of its bases.
        feasibility_theorem: the statement on the constraint, if it has another name.
        observed_theorem: the statement that bounds the regret from the rounds played; None if the
            rule computes no bound.
        advance_theorem: the statement that bounds the regret in advance, if it has another name.
        leaves_out: further cases that feasibility does not cover.
        constants: the constants it was derived from.
        horizon: the number of rounds it was tuned for; None if it holds for any.
    """

    needed: ClassVar[tuple[str, ...]] = ()
    feasibility_theorem: ClassVar[str | None] = None
    observed_theorem: ClassVar[str | None] = None
    advance_theorem: ClassVar[str | None] = None
    leaves_out: ClassVar[tuple[str, ...]] = ()

    constants: Constants

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a dataclass of the theorem; its parameters may be positional."""
        super().__init_subclass__(kw_only=False, **options)

    def __post_init__(self) -> None:
        """Check the constants and the parameters; raise if the theorem needs others."""
        as_constants(self.constants)
        super().__post_init__()
        if not self.constants.convex and self.constraint_form != "any":
            raise InvalidValueError(
                f"{self.name} assumes a convex g, got convex = False: MovingBalls and "
                "regions by curvature do not"
            )
        self.constants.require(*_list_needed(type(self)), by=self.name)

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the parameters that follow from the set given to a tuning."""
        return {}

    # Literals are class variables of the theorems; properties are only what is computed.

    @property
    @abstractmethod
    def name(self) -> str:
        """The statement, as its source calls it."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What is promised about the constraint."""

    @property
    def promises(self) -> Promises:
        """The three parts together."""
        return Promises(self.feasibility, self.observed, self._promise_in_advance())

    @property
    def feasibility(self) -> Promise | None:
        """The promise about the constraint; None without one."""
        if self.kind == "none":
            return None
        conditions = (p.condition for p in self.premises if p.affects != "regret")
        needs = tuple(dict.fromkeys((*self._conditions_on_g, *conditions)))
        theorem = self.feasibility_theorem or self.name
        return Promise(theorem, needs, self._list_uncovered(), self.bounds)

    @property
    def observed(self) -> Promise | None:
        """An upper bound on the regret, computed from the rounds played; None without one."""
        if self.observed_theorem is None:
            return None
        return promise_observed(self.observed_theorem)

    @property
    def in_advance(self) -> Promise | None:
        """A finite upper bound on the regret before the first round; None without one."""
        return self.promises.in_advance

    def _promise_in_advance(self) -> Promise | None:
        """Return the bound in advance; None if it is infinite, or true of every rule."""
        T = self.horizon or 10**12  # long enough for every bound to be better than the trivial one
        bound = float(self.regret_bound(T))
        if bound in (np.inf, float(self._at_worst(T))):
            return None
        costs = "every cost is convex"
        if "strong_convexity" in self._all_needed:
            (modulus,) = self.constants.require("strong_convexity", by=self.name)
            costs = f"every cost is strongly convex with modulus {modulus:.6g}"
        conditions = (premise.condition for premise in self.premises)
        needs = tuple(dict.fromkeys((costs, *self._conditions_on_g, *conditions)))
        moving = type(self).dynamic_bound is Guarantee.dynamic_bound
        uncovered = (NOT_PLAYED, *("comparators that move",) * moving)
        return Promise(self.advance_theorem or self.name, needs, uncovered, self.regret_bound)

    @property
    def _all_needed(self) -> tuple[str, ...]:
        """The constants that the theorem and its bases need."""
        return _list_needed(type(self))

    @property
    def allowed_errors(self) -> dict[str, float]:
        """Bounds on the errors of readings and the drift of g, by their words; empty by default."""
        return {}

    @property
    def _conditions_on_g(self) -> tuple[str, ...]:
        """Assumptions on g that are not watched."""
        form = {"any": (), "convex": ("g is convex",), "linear": ("every constraint is linear",)}
        uses_beta = "beta" in self._all_needed
        words = [*form[self.constraint_form]]
        if uses_beta:
            (beta,) = self.constants.require("beta", by=self.name)
            words.append(f"no curvature of g exceeds beta = {beta:.6g}")
        words += [f"{what} by at most {size:.6g}" for what, size in self.allowed_errors.items()]
        return tuple(words)

    def _list_uncovered(self) -> tuple[str, ...]:
        """Return the cases that feasibility does not cover."""
        words = list(self.leaves_out)
        reads = {"constraint subgradient", "subgradient near the boundary", "start"}
        if self.allowed_errors:
            words.append("errors and drift above those given")
        elif any(premise.quantity in reads for premise in self.premises):
            words.append("readings of g that err")
        if not self.changing:
            words.append("a g that changes from round to round")
        if self.kind == "after t0":
            words.append(f"rounds before round {self.first_feasible:g}")
        elif self.kind in ("cumulative", "sum_positive", "sum_squared"):
            words.append("single rounds, which may be infeasible")
        return tuple(words)

    @property
    def regret_exponent(self) -> float | None:
        """The power of T in the bound in advance, ignoring logarithms; None if unknown."""
        return None

    @property
    def violation_exponent(self) -> float | None:
        """The power of T in the bound on violations of this kind; None if the bound is 0."""
        return None

    @property
    def changing(self) -> bool:
        """Whether the constraint may differ from round to round."""
        return False

    @property
    def constraint_form(self) -> ConstraintForm:
        """The form the constraints must have; convex unless the theorem needs more."""
        return "convex"

    @property
    def first_feasible(self) -> float:
        """The round from which g(x_t) <= 0 is promised; inf if never."""
        return 1 if self.kind == "every round" else np.inf

    def regret_bound(self, t: Number) -> Array:
        """Return an upper bound on the regret after t rounds; t may be an array.

        This is the bound in advance. By default it is :math:`2RG_ft`, because the costs of feasible
        points differ by at most :math:`2RG_f`; inf without G_f.
        """
        return self._at_worst(t)

    def dynamic_bound(self, t: Number, path: Number) -> Array | None:
        """Return an upper bound on the regret after t rounds against moving comparators.

        Args:
            t: a number of rounds.
            path: the length of the comparators' path.

        Returns:
            None unless the theorem covers moving comparators.
        """
        return None

    def interval_bound(self, length: Number) -> Array | None:
        """Return an upper bound on the regret over an interval; None without one."""
        return None

    @abstractmethod
    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return every bound on the constraint after t rounds, by measure.

        Args:
            t: a number of rounds, or an array of them.
        """

    @property
    @abstractmethod
    def premises(self) -> tuple[Premise, ...]:
        """Assumptions on the rounds played, without which the bounds do not apply."""

    @property
    def _G_f(self) -> float:
        return self.constants.require("G_f", by=self.name)[0]

    @property
    def _G_g(self) -> float:
        return self.constants.require("G_g", by=self.name)[0]

    def _and_horizon(self, *premises: Premise) -> tuple[Premise, ...]:
        """Return the premises, and that of the horizon if there is one."""
        if self.horizon is None:
            return premises
        return (*premises, Premise("horizon", "the horizon", self.horizon))

    def _at_worst(self, t: Number) -> Array:
        """Return :math:`2RG_ft`, by which the costs of feasible points differ; inf without G_f."""
        G_f = self.constants.G_f
        most = np.inf if G_f is None else 2 * self.constants.R * G_f
        return most * np.asarray(t, dtype=np.float64)

    def describe_worth(self, t: int) -> str:
        """Say if the regret bound after t rounds is trivial; empty if it is not.

        Costs of feasible points differ by at most :math:`2RG_f`, so every rule satisfies a bound of
        :math:`2RG_ft`. The first T with a better bound is searched if the theorem holds for any
        number of rounds. It is estimated by the power of T if the theorem is tuned for one.

        Example:
            >>> from surefoot import PFS
            >>> constants = dict(G_f=14.5, G_g=1.0, sigma=0.5**0.5, epsilon=0.25, start_slack=0.5)
            >>> toy = Constants(R=1.0, **constants)
            >>> PFS.anytime(toy, 100).guarantee.describe_worth(100)
            'trivial up to about T = 192'
            >>> PFS.anytime(toy, 1_000).guarantee.describe_worth(1_000)
            ''
            >>> NoClaim(toy).describe_worth(100)
            'none in advance'
        """
        if self.promises.in_advance is None:
            return NONE_IN_ADVANCE
        bound, most = float(self.regret_bound(t)), float(self._at_worst(t))
        if not most <= bound < np.inf:
            return ""
        power = self.regret_exponent
        first = np.inf
        if self.horizon is None:
            later = t * 1.05 ** np.arange(1_000)
            useful = later[self.regret_bound(later) < self._at_worst(later)]
            first = min(useful, default=np.inf)
        elif power is not None and power < 1 and most > 0:
            first = t * (bound / most) ** (1 / (1 - power))
        if first == np.inf:
            return "trivial at any T"
        return f"trivial up to about T = {first:,.0f}"

    def __str__(self) -> str:
        rounds = "any number of rounds" if self.horizon is None else f"T = {self.horizon}"
        return f"{self.name} for {rounds} ({self.kind})"


@cache
def _list_needed(theorem: type[Guarantee]) -> tuple[str, ...]:
    """Return the constants that a theorem and its bases need, those of the bases first."""
    each = (vars(kind).get("needed", ()) for kind in reversed(theorem.__mro__))
    return tuple(dict.fromkeys(name for needed in each for name in needed))


class KnownHorizon(Guarantee):
    """A theorem for a number of rounds that is given before the first."""

    horizon: int = rounds()


class PossibleHorizon(Guarantee):
    """A theorem for any number of rounds; parameters may have been chosen for one."""

    horizon: int | None = rounds(default=None)


class EveryRound(Guarantee):
    """A guarantee that g(x_t) <= 0 in every round; subclasses add the regret bound."""

    kind: ClassVar[Kind] = "every round"

    def _and_rest(self, *premises: Premise, only_regret: bool = True) -> tuple[Premise, ...]:
        """Return the premises, and those of G_f, if it is given, and of the horizon."""
        if self.constants.G_f is not None:
            cost = Premise("cost gradient", "G_f", self.constants.G_f, only_regret=only_regret)
            premises = (*premises, cost)
        return self._and_horizon(*premises)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return 0 for every round."""
        return {"round": np.zeros_like(np.asarray(t, dtype=np.float64))}


class Summed(Guarantee):
    """A guarantee that bounds sums of violations over the rounds, but no single round."""

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f and G_g; the horizon if there is one; linearity if it is assumed."""
        bounds = self._and_horizon(
            Premise("cost gradient", "G_f", self._G_f),
            Premise("constraint subgradient", "G_g", self._G_g),
        )
        linear = Premise("curvature", "the curvature of a linear g", 0.0)
        return (*bounds, linear) if self.constraint_form == "linear" else bounds


class NoClaim(PossibleHorizon):
    """No promise: for a rule that is only compared with others.

    Args:
        constants: the constants of the problem.
        horizon: the intended number of rounds, if there is one.
        name: its name in tables.

    Example:
        >>> promise = NoClaim(Constants(R=1.0), 100)
        >>> print(promise, promise.bounds(100), float(promise.regret_bound(100)))
        no claim for T = 100 (none) {} inf
    """

    kind: ClassVar[Kind] = "none"
    changing: ClassVar[bool] = True
    constraint_form: ClassVar[ConstraintForm] = "any"
    premises: ClassVar[tuple[Premise, ...]] = ()

    name: str = "no claim"

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return no bound at all."""
        return {}

    def regret_bound(self, t: Number) -> Array:
        """Return inf: a rule without a claim may leave the ball."""
        return np.full_like(np.asarray(t, dtype=np.float64), np.inf)

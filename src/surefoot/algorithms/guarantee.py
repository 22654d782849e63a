"""What a theorem promises: bounds as functions of the round, the kind of promise, its premises.

A guarantee has three parts (:class:`~surefoot.algorithms.Promise`): feasibility, an upper bound on
the regret from what was played, an upper bound in advance. A theorem derives from
:class:`EveryRound` (no violation at all), from :class:`Summed` (bounds on sums over the rounds) or
from :class:`Guarantee` itself; :class:`NoClaim` is for players that are only compared.

Games and the live controller watch the premises: one that does not hold is a :class:`Breach`, and a
:data:`Policy` says whether the breach is recorded, reported by a :class:`PremiseWarning` or raised
as a :class:`PremiseError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

import numpy as np

from surefoot.algorithms.promise import Promise, Promises, promise_observed
from surefoot.core import checks
from surefoot.core.algorithm import constructors_of, is_algorithm
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.parameters import (
    Declared,
    count,
    flag,
    instance_of,
    nonnegative,
    parameters_of,
    positive,
    rounds,
    share,
    size,
)
from surefoot.core.types import Array, Number, Player, Set
from surefoot.sets import Ball

__all__ = [
    "ROUNDING",
    "Affected",
    "Breach",
    "ConstraintForm",
    "EveryRound",
    "Guarantee",
    "Kind",
    "KnownHorizon",
    "Measure",
    "NoClaim",
    "Policy",
    "PossibleHorizon",
    "Premise",
    "PremiseError",
    "PremiseWarning",
    "Quantity",
    "Reaction",
    "Summed",
    "Tuned",
    "unpack",
]

Kind: TypeAlias = Literal[
    "every round", "after t0", "rounds outside", "bounded", "cumulative", "hard", "squared", "none"
]
"""What is promised first of all: g(x_t) <= 0 in every round; from round t0 on; in all rounds but so
many; a bound on g in each round; on the sum of g, or of each constraint by itself; on the sum of
[g]_+; on the sum of [g]_+^2; nothing."""

Measure: TypeAlias = Literal["round", "rounds outside", "soft", "hard", "squared", "rows"]
"""What a bound speaks of after t rounds: g(x_t) itself; how many rounds had g(x_t) > 0; the sums of
g, of [g]_+, of [g]_+^2; and the largest of the constraints' own sums."""

ConstraintForm: TypeAlias = Literal["any", "convex", "linear"]
"""The constraints that a theorem is about."""


NONE_IN_ADVANCE = "none in advance"
"""What is said of the worth of a regret bound where there is none in advance."""

NOT_PLAYED = "rounds without a measurement, or in which another action was played"
"""What no regret bound in advance covers."""


class _WithHorizon:
    # Not a field of every theorem: one declares its own, or says ``horizon = None``.
    horizon: int | None


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(count, flag, instance_of, nonnegative, positive, rounds, share, size),
)
class Guarantee(_WithHorizon, Declared, ABC, kw_only=False):
    """A theorem with its constants filled in: a frozen dataclass with declared parameters.

    Attributes:
        needed: the constants that it needs beside those that its bases need.
        feasibility_theorem: the statement on the constraint, where it has another name.
        observed_theorem: the statement that bounds the regret by what was played; None where the
            rule adds up no such bound.
        advance_theorem: the statement that bounds the regret in advance, where it has another name.
        leaves_out: what feasibility does not cover, beside what follows from the rest.
        constants: the constants it was derived from.
        horizon: the number of rounds it was tuned for; None where it holds for any.
    """

    needed: ClassVar[tuple[str, ...]] = ()
    feasibility_theorem: ClassVar[str | None] = None
    observed_theorem: ClassVar[str | None] = None
    advance_theorem: ClassVar[str | None] = None
    leaves_out: ClassVar[tuple[str, ...]] = ()

    constants: Constants

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a dataclass of the theorem; its parameters may be given in their order."""
        super().__init_subclass__(kw_only=False, **options)

    def __post_init__(self) -> None:
        """Check the constants, the parameters, and that all is known that the theorem needs."""
        as_constants(self.constants)
        super().__post_init__()
        if not self.constants.convex and self.constraint_form != "any":
            raise InvalidValueError(
                f"{self.name} rests on the convexity of g, got convex = False: MovingBalls and "
                "regions by curvature do not"
            )
        self.constants.require(*self._all_needed, by=self.name)

    @classmethod
    def from_set(cls, constants: Constants, domain: object) -> dict[str, Any]:
        """Return the parameters that are found from the set that a tuning is given."""
        return {}

    # Literals are class variables of the theorems, and properties only where they are computed.

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
        """What is promised of the constraint; None where nothing is."""
        if self.kind == "none":
            return None
        watched = (p.condition for p in self.premises if p.affects != "regret")
        needs = tuple(dict.fromkeys((*self._conditions_on_g, *watched)))
        theorem = self.feasibility_theorem or self.name
        return Promise(theorem, needs, self._list_uncovered(), self.bounds)

    @property
    def observed(self) -> Promise | None:
        """An upper bound on the regret from what was played; None where there is none."""
        if self.observed_theorem is None:
            return None
        return promise_observed(self.observed_theorem)

    @property
    def in_advance(self) -> Promise | None:
        """A finite upper bound on the regret before the first round; None where there is none."""
        return self.promises.in_advance

    def _promise_in_advance(self) -> Promise | None:
        """Return the bound in advance; None where it is infinite, or what every rule has."""
        T = self.horizon or 10**12  # long enough for every bound to be below what every rule has
        bound = float(self.regret_bound(T))
        if bound in (np.inf, float(self._at_worst(T))):
            return None
        costs = "every cost is convex"
        if "strong_convexity" in self._all_needed:
            (modulus,) = self.constants.require("strong_convexity", by=self.name)
            costs = f"every cost is strongly convex with modulus {modulus:.6g}"
        watched = (premise.condition for premise in self.premises)
        needs = tuple(dict.fromkeys((costs, *self._conditions_on_g, *watched)))
        moving = type(self).dynamic_bound is Guarantee.dynamic_bound
        uncovered = (NOT_PLAYED, *("comparators that move",) * moving)
        return Promise(self.advance_theorem or self.name, needs, uncovered, self.regret_bound)

    @property
    def _all_needed(self) -> tuple[str, ...]:
        """The constants that the theorem and its bases need."""
        each = (vars(kind).get("needed", ()) for kind in reversed(type(self).__mro__))
        return tuple(dict.fromkeys(name for own in each for name in own))

    @property
    def allowed_errors(self) -> dict[str, float]:
        """What readings may be wrong by, and g may drift by, in words; nothing unless defined."""
        return {}

    @property
    def _conditions_on_g(self) -> tuple[str, ...]:
        """What must be true of g and is not watched."""
        form = {"any": (), "convex": ("g is convex",), "linear": ("every constraint is linear",)}
        curved = "beta" in self._all_needed
        words = [*form[self.constraint_form]]
        if curved:
            (beta,) = self.constants.require("beta", by=self.name)
            words.append(f"no curvature of g exceeds beta = {beta:.6g}")
        words += [f"{what} by at most {size:.6g}" for what, size in self.allowed_errors.items()]
        return tuple(words)

    def _list_uncovered(self) -> tuple[str, ...]:
        """Return what feasibility says nothing about."""
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
        elif self.kind in ("cumulative", "hard", "squared"):
            words.append("single rounds, which may be infeasible")
        return tuple(words)

    @property
    def regret_exponent(self) -> float | None:
        """The power of T in the bound in advance, ignoring logarithms; None where none is known."""
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
        """Return what no regret after t rounds exceeds; t may be an array.

        It is the bound in advance. Unless a theorem has one it is :math:`2RG_ft`, by which the
        costs of feasible points differ; inf without G_f.
        """
        return self._at_worst(t)

    def dynamic_bound(self, t: Number, path: Number) -> Array | None:
        """Return what no regret after t rounds against moving comparators exceeds.

        Args:
            t: a number of rounds.
            path: the length of the comparators' path.

        Returns:
            None unless the theorem speaks of comparators that move.
        """
        return None

    def interval_bound(self, length: Number) -> Array | None:
        """Return what no regret over an interval of that many rounds exceeds; None as above."""
        return None

    @abstractmethod
    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return every bound that is promised of the constraint after t rounds, by measure.

        Args:
            t: a number of rounds, or an array of them.
        """

    @property
    @abstractmethod
    def premises(self) -> tuple[Premise, ...]:
        """What must be true of the rounds played for the bounds to apply."""

    @property
    def _G_f(self) -> float:
        return self.constants.require("G_f", by=self.name)[0]

    @property
    def _G_g(self) -> float:
        return self.constants.require("G_g", by=self.name)[0]

    def _and_horizon(self, *premises: Premise) -> tuple[Premise, ...]:
        """Return premises with that of the horizon, where there is one."""
        if self.horizon is None:
            return premises
        return (*premises, Premise("horizon", "the horizon", self.horizon))

    def _at_worst(self, t: Number) -> Array:
        """Return :math:`2RG_ft`, by which the costs of feasible points differ; inf without G_f."""
        G_f = self.constants.G_f
        most = np.inf if G_f is None else 2 * self.constants.R * G_f
        return most * np.asarray(t, dtype=np.float64)

    def describe_worth(self, t: int) -> str:
        """Say so where nothing is promised of the regret after t rounds; empty where it is.

        Costs of feasible points differ by at most :math:`2RG_f`, so a bound of :math:`2RG_ft` is
        true of every rule. When it says more is searched where the theorem holds for any number of
        rounds, and estimated by its power of T where it is tuned for one.

        Example:
            >>> from surefoot import PFS
            >>> known = dict(G_f=14.5, G_g=1.0, sigma=0.5**0.5, epsilon=0.25, start_slack=0.5)
            >>> toy = Constants(R=1.0, **known)
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


class KnownHorizon(Guarantee):
    """A theorem for a number of rounds that is known before the first."""

    horizon: int = rounds()


class PossibleHorizon(Guarantee):
    """A theorem for any number of rounds; parameters may have been chosen for one."""

    horizon: int | None = rounds(default=None)


class EveryRound(Guarantee):
    """A guarantee that g(x_t) <= 0 in every round; subclasses add the regret bound."""

    kind: ClassVar[Kind] = "every round"

    def _and_rest(self, *premises: Premise, only_regret: bool = True) -> tuple[Premise, ...]:
        """Return premises with those of G_f, where it is known, and of the horizon."""
        if self.constants.G_f is not None:
            cost = Premise("cost gradient", "G_f", self.constants.G_f, only_regret=only_regret)
            premises = (*premises, cost)
        return self._and_horizon(*premises)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return 0 for every round."""
        return {"round": np.zeros_like(np.asarray(t, dtype=np.float64))}


class Summed(Guarantee):
    """A guarantee that bounds violations summed over the rounds, and no single round."""

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Upper bounds G_f and G_g, the horizon if there is one, a linear g where one must be."""
        bounds = self._and_horizon(
            Premise("cost gradient", "G_f", self._G_f),
            Premise("constraint subgradient", "G_g", self._G_g),
        )
        linear = Premise("curvature", "the curvature of a linear g", 0.0)
        return (*bounds, linear) if self.constraint_form == "linear" else bounds


class NoClaim(PossibleHorizon):
    """No promise: for a player that is only compared with others.

    Args:
        constants: the constants of the problem.
        horizon: the number of rounds meant, if there is one.
        name: what tables call it.

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
        """Return inf: a player without a claim may leave the ball."""
        return np.full_like(np.asarray(t, dtype=np.float64), np.inf)


A = TypeVar("A")


class Tuned(NamedTuple, Generic[A]):
    """An algorithm with the guarantee that its parameters were chosen for."""

    algorithm: A
    guarantee: Guarantee

    @classmethod
    def of(
        cls,
        algorithm: Callable[..., A],
        theorem: Guarantee,
        domain: Set | None = None,
        **parameters: Any,
    ) -> Tuned[A]:
        """Build an algorithm with the parameters that a theorem chose, found by their names.

        Args:
            algorithm: its class.
            theorem: what the parameters were chosen for.
            domain: the set that the algorithm works on; the ball around 0 of the constants' radius
                where it is None.
            parameters: those that the theorem has under another name, or does not have.

        Example:
            >>> from surefoot import PFS, Constants

            >>> promise = NoClaim(Constants(R=2.0))
            >>> Tuned.of(PFS, promise, None, eta=0.1, rho=0.0).algorithm
            PFS(eta=0.1, rho=0.0, domain=Ball(radius=2.0, centre=None))
        """
        names = parameters_of(algorithm)
        if "domain" in names:
            parameters["domain"] = Ball(theorem.constants.R) if domain is None else domain
        own = {n: getattr(theorem, n, None) for n in names if n not in parameters}
        own = {name: value for name, value in own.items() if value is not None}
        return Tuned(algorithm(**parameters, **own), theorem)


def unpack(player: object) -> tuple[Any, Guarantee | None]:
    """Return the algorithm of a player, and its guarantee where it has one.

    Args:
        player: an algorithm, or one with its guarantee (``Tuned``).

    Raises:
        InvalidValueError: for anything else.
    """
    algorithm, guarantee = player if isinstance(player, Tuned) else (player, None)
    if not is_algorithm(algorithm):
        raise InvalidValueError(
            f"player must be an algorithm with init and step, or a Tuned, got {hint_for(player)}"
        )
    return algorithm, guarantee


def hint_for(player: object) -> str:
    """Return what was given for a player, and how to make one of it where that can be said."""
    if isinstance(player, type) and issubclass(player, Player):
        how = (constructors_of(player) or ("default",))[0]
        return f"the class {player.__name__}: make one, as {player.__name__}.{how}(constants) does"
    if type(player).__name__ == "Problem":
        return "a Problem: the player comes before it"
    return checks.describe(player)


Quantity: TypeAlias = Literal[
    "cost gradient",
    "constraint subgradient",
    "subgradient near the boundary",
    "start",
    "horizon",
    "curvature",
]
"""What a premise limits: the norm of the cost gradients; of the constraint subgradients; of those
where g is near 0, from below; the slack of the first action, from below; the number of rounds; the
curvature of the constraints, which is 0 for linear ones."""

Affected: TypeAlias = Literal["feasibility", "regret", "both"]
"""The bounds that rest on a premise, and no longer apply where it breaks."""

Policy: TypeAlias = Literal["raise", "warn", "record"]
"""What to do at a breach: raise, or keep it and warn, or only keep it."""

Reaction: TypeAlias = Literal["raise", "warn", "record", "hold", "retreat"]
"""What a live loop does at a breach: as a :data:`Policy` says; or keep it and stay, or go back to
the last certain point."""

# A computed norm errs by a few (d u), u = 2^-53; 1e-12 covers d up to several thousand and is far
# below any difference that matters to a bound.
ROUNDING = 1e-12

_WORDS: dict[Affected, str] = {
    "feasibility": "the feasibility guarantee no longer applies",
    "regret": "the regret bound no longer applies; feasibility does not rest on it",
    "both": "the regret bound and the feasibility guarantee no longer apply",
}


class PremiseWarning(UserWarning):
    """A premise of the guarantee does not hold for the rounds played."""


class PremiseError(SurefootError, ValueError):
    """A premise of the guarantee does not hold, and the policy is to stop.

    Attributes:
        causes: what probably lies behind it, the most likely first, one phrase each.
    """

    def __init__(self, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.causes = causes


@dataclass(frozen=True, slots=True)
class Premise:
    """One inequality that a guarantee rests on and that can be watched.

    Attributes:
        quantity: what is observed.
        constant: the name of the constant that limits it.
        limit: the constant's value.
        level: for subgradients near the boundary, the epsilon in "where g >= -epsilon".
        only_regret: whether feasibility does not rest on it.

    Example:
        >>> premise = Premise("cost gradient", "G_f", 3.0, only_regret=True)
        >>> premise.is_broken_by(2.5), premise.is_broken_by(3.5), premise.affects
        (False, True, 'regret')
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

    @property
    def affects(self) -> Affected:
        """The bounds that rest on the premise."""
        if self.only_regret or self.quantity == "horizon":
            return "regret"
        if self.quantity in ("constraint subgradient", "start"):
            return "feasibility"
        return "both"

    def is_broken_by(self, observed: Number) -> Array:
        """Return whether an observed value breaks the premise; entry by entry for arrays."""
        # The limit may be negative: a start outside has a slack below 0.
        margin = ROUNDING * abs(self.limit)
        if self.is_upper:
            return observed > self.limit + margin
        return observed < self.limit - margin

    def observe(
        self, t: Number, gradient: Number, g: Number, subgradient: Number, curvature: Number = None
    ) -> tuple[Number, Array]:
        """Return the value that the premise limits, and whether the round is one it speaks of.

        Args:
            t: the round; or an array of rounds, with arrays for the others.
            gradient: norm of the cost gradient.
            g: the largest constraint; None where it was not told.
            subgradient: norm of the longest constraint subgradient, likewise.
            curvature: of the constraints, at most; None where it is not known at all.
        """
        match self.quantity:
            case "cost gradient":
                return gradient, True
            case "constraint subgradient":
                return subgradient, True
            case "subgradient near the boundary":
                return subgradient, g is not None and g >= -self.level
            case "start":
                return None if g is None else -g, t == 1
            case "horizon":
                return t, True
            case "curvature":
                return curvature, t == 1

    def breach(self, t: int, observed: float, run: int = 0) -> Breach:
        """Return the record of a round that breaks the premise."""
        sentence = self.sentence(t, observed)
        return Breach(t, self.constant, sentence, self.affects, observed, self.limit, run)

    @property
    def requirement(self) -> str:
        """What must be true, in words, and what for."""
        aim = " (for the regret bound only)" if self.only_regret else ""
        return f"{self.condition}{aim}"

    @property
    def condition(self) -> str:
        """What must be true, in words."""
        limit = f"{self.constant} = {self.limit:.6g}"
        return {
            "cost gradient": f"no cost gradient is longer than {limit}",
            "constraint subgradient": f"no subgradient of g is longer than {limit}",
            "subgradient near the boundary": (
                f"no subgradient of g is shorter than {limit} where g >= -{self.level:g}"
            ),
            "start": f"the slack of the start is at least {limit}",
            "horizon": f"no more rounds are played than {limit}",
            "curvature": "every constraint is linear",
        }[self.quantity]

    def sentence(self, t: int, observed: float) -> str:
        """Return a breach in words: what was seen, and what no longer applies."""
        if self.quantity == "curvature":
            return f"round {t}: the constraints are not known to be linear: {_WORDS[self.affects]}"
        what = {
            "start": "the slack -g(x_1)",
            "horizon": "the round",
            "cost gradient": "|grad f|",
        }.get(self.quantity, "|s|")
        lost = _WORDS[self.affects]
        if not self.only_regret and self.quantity == "start":
            lost = "the feasibility guarantee does not apply"
        if not self.only_regret and self.quantity == "horizon":
            lost = "the bounds were tuned for fewer rounds"
        relation = "exceeds" if self.is_upper else "is below"
        if self.quantity == "subgradient near the boundary":
            relation = f"where g >= -{self.level:g} {relation}"
        return (
            f"round {t}: {what} = {observed:.6g} {relation} "
            f"{self.constant} = {self.limit:.6g}: {lost}"
        )


class Breach(NamedTuple):
    """The first round of a run in which a premise did not hold.

    Attributes:
        round: that round.
        constant: the name of what was wrong; "constants" where an algorithm found it out itself.
        sentence: what was seen, and what no longer applies.
        affects: which bounds that is.
        observed: the number seen, where it is one.
        limit: the number it was compared with.
        run: which run it was, where several were played.
    """

    round: int
    constant: str
    sentence: str
    affects: Affected
    observed: float | None = None
    limit: float | None = None
    run: int = 0

    def __str__(self) -> str:
        return self.sentence

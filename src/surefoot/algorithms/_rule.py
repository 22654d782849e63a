"""What rules have in common: fields checked by their types, the first state, the feedback's check.

The file of a rule has its formulas and the lines that are these formulas. What it sees of a round
is the class that it derives from: :class:`OneConstraint`, :class:`EachConstraint` or
:class:`CostsOnly`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    get_args,
)

from surefoot.algorithms._start import check_domain, start_in
from surefoot.core import checks
from surefoot.core.arrays import number_like
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import value_in
from surefoot.core.types import Array, Feedback, Needs, Real, Region, Source, State

__all__ = [
    "COSTS_ONLY",
    "CostsOnly",
    "Count",
    "Domain",
    "EachConstraint",
    "MinimisingSet",
    "Nonnegative",
    "OnBase",
    "OneConstraint",
    "Positive",
    "Rule",
    "S",
    "Share",
    "check_fields",
]

Positive: TypeAlias = Real
"""A finite number above 0, or a column of them."""
Nonnegative: TypeAlias = Real
"""A finite number of at least 0, or a column of them."""
Share: TypeAlias = Real
"""A number strictly between 0 and 1, or a column of them."""
Count: TypeAlias = int
"""A whole number of at least 1."""
MinimisingSet: TypeAlias = Region
"""A set that minimises linear functions; it need not project."""
Domain: TypeAlias = Region | None
"""A set that contains the feasible set; the ball around 0 of radius R where it is None."""


COSTS_ONLY = Needs(constraint_values=0, constraint_subgradients=0, domain="feasible")
"""The needs of rules that know the feasible set and are told about the costs alone."""

S = TypeVar("S", bound=State)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Rule:
    """A base whose subclasses are frozen dataclasses with fields that are checked by their types.

    The types are known by their names, as ``from __future__ import annotations`` keeps them.

    Attributes:
        needs: what a round asks for.
        source: where the rule comes from.
        sources: where tunings come from that have another source.
        tunings: the constructors that a theorem tunes; all that take constants and a horizon,
            unless a rule names them.
    """

    __slots__ = ()

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("your own")
    sources: ClassVar[Mapping[str, Source]] = {}
    tunings: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Make a frozen dataclass of a rule; what is shared by rules has ``__slots__`` instead."""
        super().__init_subclass__()
        if "__slots__" in cls.__dict__:
            return
        dataclass(frozen=True, kw_only=True)(cls)
        for name in ("__setattr__", "__delattr__"):  # which a second decorator would refuse
            delattr(cls, name)
        if "tunings" not in cls.__dict__:
            own = filter(cls._is_tuning, vars(cls))
            cls.tunings = tuple(dict.fromkeys([*cls.tunings, *own]))

    @classmethod
    def _is_tuning(cls, name: str) -> bool:
        """Return whether a public constructor begins with constants and a horizon."""
        member = vars(cls)[name]
        if name.startswith("_") or not isinstance(member, classmethod):
            return False
        return member.__func__.__code__.co_varnames[1:3] == ("constants", "horizon")

    def __post_init__(self) -> None:
        check_fields(self)

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise FrozenInstanceError(f"cannot delete field {name!r}")


class OnBase(Rule):
    """A rule made of another, its ``base``."""

    __slots__ = ()

    @property
    def domain(self) -> Any:
        """The set that the base works on; None where it knows none."""
        return value_in(self.base, "domain")  # type: ignore[attr-defined]

    @property
    def G_g(self) -> Any:
        """The constant that the safety of the base rests on."""
        return self.base.G_g  # type: ignore[attr-defined]


class OneConstraint(Rule, Generic[S]):
    """A rule that sees g and one of its subgradients; S is its state.

    Its formulas are ``_round(state, grad, g, s)``, which returns the next state. The numbers of the
    state have the defaults of round 1; with more in it than numbers, a rule has a ``_first(x1)``.
    """

    __slots__ = ()

    _state: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        """Find the state among the bases: ``OneConstraint[PFSState]``."""
        super().__init_subclass__()
        for base in cls.__dict__.get("__orig_bases__", ()):
            for state in get_args(base):
                if isinstance(state, type):
                    cls._state = state

    def init(self, x1: Array) -> S:
        """Start at x1, a point of the domain."""
        return self._first(start_in(self.domain, x1))  # type: ignore[attr-defined]

    def _first(self, x1: Array) -> S:
        """Return the state before round 1."""
        defaults = self._state._field_defaults.values()
        first: S = self._state(x1, *(number_like(x1, value) for value in defaults))
        return first

    @abstractmethod
    def _round(self, *seen: Any, **none: Any) -> S:
        """Return the next state: the formulas of the rule."""

    def update(self, state: S, feedback: Feedback) -> S:
        """Return the state after a round: the lines of the class's docstring."""
        return self._round(state, *checks.feedback(state.x, feedback))


class EachConstraint(OneConstraint[S]):
    """A rule that sees m constraints and their subgradients, each by itself."""

    __slots__ = ()

    needs: ClassVar[Needs] = Needs(apart=True, work="m d")

    def update(self, state: S, feedback: Feedback) -> S:
        """Return the state after a round: the lines of the class's docstring."""
        return self._round(state, *checks.feedback_apart(state.x, feedback))


class CostsOnly(OneConstraint[S]):
    """A rule that knows the feasible set and sees the gradients of the costs alone."""

    __slots__ = ()

    needs: ClassVar[Needs] = COSTS_ONLY

    def update(self, state: S, feedback: Feedback) -> S:
        """Return the state after a round: the lines of the class's docstring."""
        return self._round(state, checks.cost_gradient(state.x, feedback))


def check_fields(rule: Any) -> None:
    """Check the fields of a rule by their types, and make numbers Python floats.

    A field that may be None, ``Positive | None``, is checked where it is not.
    """
    for field in fields(rule):
        kind, _, none = str(field.type).removeprefix("toolkit.").partition(" | ")
        value = getattr(rule, field.name)
        if none and value is None:
            continue
        if kind == "Positive":
            checks.parameters(rule, field.name)
        elif kind == "Nonnegative":
            checks.parameters(rule, nonnegative=(field.name,))
        elif kind == "Share":
            checks.between(0, 1, **{field.name: value})
            checks.plain(rule, field.name)
        elif kind == "Count":
            object.__setattr__(rule, field.name, checks.whole(value, field.name))
        elif kind == "MinimisingSet":
            _check_minimising(value)
        elif kind in ("Region", "Ball"):
            check_domain(value)


def _check_minimising(domain: Any) -> None:
    for method in ("minimize_linear", "contains"):  # a projection is what the rules do without
        if isinstance(domain, type) or not callable(getattr(domain, method, None)):
            raise InvalidValueError(
                f"domain must be a set that minimises linear functions, got {domain!r}"
            )

"""Rules whose fields say by their types what they must be, and are checked by them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias

from surefoot import _check
from surefoot.algorithms._start import check_domain
from surefoot.errors import InvalidValueError
from surefoot.types import Needs, Real, Region

__all__ = [
    "COSTS_ONLY",
    "Count",
    "MinimisingSet",
    "Nonnegative",
    "Positive",
    "Rule",
    "check_fields",
]

Positive: TypeAlias = Real
"""A finite number above 0, or a column of them."""
Nonnegative: TypeAlias = Real
"""A finite number of at least 0, or a column of them."""
Count: TypeAlias = int
"""A whole number of at least 1."""
MinimisingSet: TypeAlias = Region
"""A set that minimises linear functions; it need not project."""


COSTS_ONLY = Needs(constraint_values=0, constraint_subgradients=0, domain="feasible")
"""The needs of rules that know the feasible set and are told about the costs alone."""


class Rule:
    """A frozen dataclass whose fields are checked when it is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(rule: Any) -> None:
    """Check the fields of a rule by their types, and make numbers Python floats.

    A field that may be None, ``Positive | None``, is checked where it is not.
    """
    for field in fields(rule):
        kind, _, none = str(field.type).partition(" | ")
        value = getattr(rule, field.name)
        if none and value is None:
            continue
        if kind == "Positive":
            _check.parameters(rule, field.name)
        elif kind == "Nonnegative":
            _check.parameters(rule, nonnegative=(field.name,))
        elif kind == "Count":
            object.__setattr__(rule, field.name, _check.whole(value, field.name))
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

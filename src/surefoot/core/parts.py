"""Rules that are their parts and have no other fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Self

from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, taken_elsewhere
from surefoot.core.parameters import check_keywords


class OfParts(Algorithm):
    """A frozen rule that is printed, compared, stored and copied by its parts.

    A named rule has a constructor with arguments of its own, which makes the parts. ``of`` takes
    the parts themselves.

    Attributes:
        part_names: the parts; those that are None may be left out of ``of``.
        made_of: the classes that the first parts may be of.
    """

    part_names: ClassVar[tuple[str, ...]] = ()
    made_of: ClassVar[tuple[tuple[type[Any], ...], ...]] = ()

    def __init_subclass__(cls) -> None:
        """Let the constructor name the nearest parameter where a keyword is unknown."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            check_keywords(cls, lambda name, rule: taken_elsewhere(name, type(rule)))

    @classmethod
    def check_part(cls, name: str, part: object) -> None:
        """Raise unless a part is of a class that the rule is made of."""
        kinds = cls.made_of[cls.part_names.index(name)]
        if not isinstance(part, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise checks.invalid(name, f"a {names} for {cls.__name__}", part)

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the rule that a file describes by its parts."""
        made: Any = cls
        rule: Self = made.of(**parts)
        return rule

    @property
    def parts(self) -> dict[str, Any]:
        """All that the rule is."""
        return {name: getattr(self, name) for name in self.part_names}

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, OfParts):
            return NotImplemented
        return self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self), *self.parts.values()))

    def __repr__(self) -> str:
        parts: Sequence[Any] = [part for part in self.parts.values() if part is not None]
        return f"{type(self).__name__}.of({', '.join(map(repr, parts))})"

    def __getstate__(self) -> dict[str, Any]:
        return self.parts  # what the kernel keeps is made anew

    def __setstate__(self, parts: dict[str, Any]) -> None:
        vars(self).update(parts)

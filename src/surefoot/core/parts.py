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

    The constructor of a named rule makes the parts from its arguments. ``of`` takes the parts
    themselves.

    Attributes:
        part_names: the parts; ``of`` may omit those that are None.
        made_of: the allowed classes of the first parts.
    """

    part_names: ClassVar[tuple[str, ...]] = ()
    made_of: ClassVar[tuple[tuple[type[Any], ...], ...]] = ()

    def __init_subclass__(cls) -> None:
        """Make the constructor name the nearest parameter of an unknown keyword."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            check_keywords(cls, lambda name, rule: taken_elsewhere(name, type(rule)))

    @classmethod
    def check_part(cls, name: str, part: object) -> None:
        """Raise unless the class of a part is allowed."""
        kinds = cls.made_of[cls.part_names.index(name)]
        if not isinstance(part, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise checks.invalid(name, f"a {names} for {cls.__name__}", part)

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the rule with these parts, as a file describes it."""
        kind: Any = cls
        rule: Self = kind.of(**parts)
        return rule

    @property
    def parts(self) -> dict[str, Any]:
        """The parts by name."""
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
        return self.parts  # the kernel's cache is rebuilt

    def __setstate__(self, parts: dict[str, Any]) -> None:
        vars(self).update(parts)

"""Records: objects with named parts that never change, of which some are made when they are read.

A state and the details of a step are records of one class whichever engine made them. The compiled
kernel gives blocks of numbers; a part of them becomes an object when somebody asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeGuard

__all__ = ["Record", "is_tree", "rebuild", "register_as_tree"]


class Record:
    """Named parts that never change: as a named tuple, but a part may be made when it is read.

    The arguments of its constructor are the parts of a record, in this order. Each has a slot, or a
    property that reads one; the constructor hands the slots to :meth:`fill`. A record is unpacked,
    indexed, compared, copied and pickled by its parts, as a named tuple is.

    Attributes:
        kernel: an object of the compiled kernel whose attributes are the parts that are not made
            yet; None if a constructor made the record.
    """

    __slots__ = ("kernel",)

    _fields: ClassVar[tuple[str, ...]] = ()
    _field_defaults: ClassVar[dict[str, Any]] = {}

    kernel: Any

    def __init_subclass__(cls) -> None:
        """Name the parts and their defaults, as those of a named tuple."""
        arguments = inspect.signature(cls).parameters.values()
        cls._fields = tuple(a.name for a in arguments)
        cls._field_defaults = {a.name: a.default for a in arguments if a.default is not a.empty}

    def fill(self, **slots: Any) -> None:
        """Write the slots of a new record; for its constructor alone."""
        for name, part in slots.items():
            _write(self, name, part)
        _write(self, "kernel", None)

    if not TYPE_CHECKING:  # there an unknown name is a mistake

        def __getattr__(self, name: str) -> Any:
            """Make a part that is read for the first time: Python asks for no other."""
            if name in self._fields:
                part = getattr(self.kernel, name)
                _write(self, name, part)
                return part
            return object.__getattribute__(self, name)  # a property failed, or there is none

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes: {name} cannot be deleted")

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._fields])

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, i: Any) -> Any:
        return tuple(self)[i]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if type(self) is type(other) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(self)

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _asdict(self) -> dict[str, Any]:
        """Return the parts by name."""
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        """Return a record with some parts changed; all of its parts are made."""
        return type(self)(**{**self._asdict(), **changes})

    @classmethod
    def _make(cls, parts: Any) -> Self:
        """Return the record of an iterable of parts."""
        return cls(*parts)


_write = object.__setattr__


def is_tree(value: object) -> TypeGuard[tuple[Any, ...] | Record]:
    """Return whether a value is a tuple, a named tuple or a record: what states are made of."""
    return isinstance(value, (tuple, Record))


def register_as_tree(kind: type[Record]) -> None:
    """Let JAX take the records of a class apart, as it does named tuples by itself."""
    import jax

    if kind not in _REGISTERED:
        jax.tree_util.register_pytree_node(
            kind, lambda record: (tuple(record), None), lambda _, parts: kind(*parts)
        )
        _REGISTERED.add(kind)


_REGISTERED: set[type[Record]] = set()


def rebuild(tree: Any, parts: Any) -> Any:
    """Return a tuple, a named tuple or a record like another, of other parts."""
    return tuple(parts) if type(tree) is tuple else type(tree)(*parts)

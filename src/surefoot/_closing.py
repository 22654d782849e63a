"""Objects that are closed at the end of a ``with`` block."""

from __future__ import annotations

from typing import Self

__all__ = ["Closing"]


class Closing:
    """Gives a class with ``close`` the ``with`` statement: leaving the block closes the object.

    Example:
        >>> class Door(Closing):
        ...     def close(self):
        ...         print("closed")
        >>> with Door():
        ...     print("open")
        open
        closed
    """

    __slots__ = ()

    def close(self) -> None:
        """Release what the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

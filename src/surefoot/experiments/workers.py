"""What a sweep needs of an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import ClassVar

__all__ = ["Workers"]


class Workers(Executor):
    """An executor that a sweep can be driven with.

    Attributes:
        deaths: what a future raises whose worker died.
        shared_fate: whether one death fails all that is in flight.
        chunks: whether it pays to hand over several cells at once.
    """

    deaths: ClassVar[tuple[type[BaseException], ...]] = ()
    shared_fate: ClassVar[bool] = False
    chunks: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """How many submissions keep every worker busy."""
        return 1

    def renew(self) -> None:
        """Make it work again after a death."""

    def stop(self) -> None:
        """End now; what is in flight is lost."""
        self.shutdown(wait=False, cancel_futures=True)

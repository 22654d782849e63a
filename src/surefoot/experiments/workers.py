"""What a sweep needs from an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import ClassVar

__all__ = ["Workers"]


class Workers(Executor):
    """An executor that can drive a sweep.

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
        """The number of submissions that keep every worker busy."""
        return 1

    def renew(self) -> None:
        """Make the executor work again after a death."""

    def stop(self) -> None:
        """Stop now; work in flight is lost."""
        self.shutdown(wait=False, cancel_futures=True)

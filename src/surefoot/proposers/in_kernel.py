"""What a proposer is in the compiled kernel: one object, in its own file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from surefoot.knowledge.in_kernel import InKernel, KernelStep

__all__ = ["ProposerInKernel"]


class ProposerInKernel(InKernel):
    """A proposer as the kernel has it.

    Attributes:
        counted: the name of the rows that the last part of its state is made of, if only the first
            of them may be in use; the part ``counted + ".count"`` says how many are.
    """

    counted: ClassVar[str] = ""

    @abstractmethod
    def note(self, step: KernelStep) -> Any:
        """Return what the bound on the regret needs of a step."""

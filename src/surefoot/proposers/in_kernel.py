"""What a proposer is in the compiled kernel: one object, in its own file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from surefoot.knowledge.in_kernel import InKernel, KernelStep

__all__ = ["ProposerInKernel"]


class ProposerInKernel(InKernel):
    """A proposer as the kernel has it."""

    @abstractmethod
    def note(self, step: KernelStep) -> Any:
        """Return what the bound on the regret needs of a step."""

"""What a kind of knowledge, or a proposer, is in the compiled kernel: one object, in its own file.

A pair is played by the kernel if both of its parts answer ``in_kernel``. The answer has all that
:mod:`surefoot.kernel_bridge` asks: the constants as fields of ``sf_rule``, the named parts of a
memory with their shapes, and what the numbers of a step mean. A part without an answer is played
by Python, and so is every subclass of a part that does not answer itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.region import Projection

__all__ = ["InKernel", "KernelStep", "KnowledgeInKernel", "Shapes", "StepNumbers", "share_fields"]

Shapes: TypeAlias = dict[str, tuple[int, ...]]
"""The shapes of named parts in the order of a block; () for a number."""


class StepNumbers(NamedTuple):
    """The numbers that the kernel writes of a step, in its order; ``sf_info`` explains them."""

    bound: float
    cut: float
    alarms: float
    kind: float
    row: float
    round: float
    value: float
    anchor_value: float
    anchor_round: float
    share: float
    distance: float
    room: float
    rho: float
    slope: float
    note_0: float
    note_1: float
    note_2: float
    note_3: float
    note_4: float
    note_5: float
    projection_error: float
    lag_0: float
    lag_1: float
    lag_2: float
    lag_3: float


class KernelStep(Protocol):
    """A step of the kernel, as the parts of a pair read it."""

    @property
    def numbers(self) -> StepNumbers:
        """What the kernel wrote."""

    @property
    def feedback(self) -> Feedback:
        """What was reported of the round."""

    @property
    def errors(self) -> Errors:
        """What the round allows for."""

    @property
    def played(self) -> Array:
        """The action that was played."""

    @property
    def proposal(self) -> Array:
        """What was proposed before the region was asked."""

    @property
    def projection(self) -> Projection:
        """Where the region cut off a descent, or the certified point of the first far point."""

    @property
    def kept(self) -> Array:
        """The way from the first certified point of the last round to its far point, as pruned."""

    @property
    def knowledge(self) -> KnowledgeInKernel:
        """The knowledge in the kernel."""

    @property
    def learner_before(self) -> Any:
        """The state of the learner before the round."""

    @property
    def memory(self) -> Any:
        """The memory after the round."""


class InKernel:
    """A part of a pair as the kernel has it, in one dimension.

    Attributes:
        code: its number in ``kernel/c/surefoot.h``.
        fields: its fields of ``sf_rule``.
        shapes: the parts of its memory; a dotted name is a path of attributes.
    """

    code: ClassVar[int]
    fields: dict[str, Any]
    shapes: Shapes

    def take_apart(self, memory: Any) -> Mapping[str, Any] | None:
        """Return the parts of a memory by name; None for a memory that the kernel does not have."""
        return {name: attrgetter(name)(memory) for name in self.shapes}

    @abstractmethod
    def put_together(self, parts: dict[str, Any]) -> Any:
        """Return the memory of parts; those with dotted names are grouped by their first word."""


class KnowledgeInKernel(InKernel):
    """A kind of knowledge as the kernel has it.

    Attributes:
        has_rows: whether values and multipliers are arrays, one entry per constraint.
        tightens: whether the kernel tightens the constraint, by rho of its numbers.
    """

    has_rows: ClassVar[bool] = False
    tightens: ClassVar[bool] = False

    @abstractmethod
    def certificate(self, step: KernelStep) -> Any:
        """Return why the next action is feasible."""


def share_fields(errors: Errors, reach: Any) -> dict[str, Any]:
    """Return the fields of ``sf_rule`` that all kinds of knowledge have.

    Args:
        errors: bounds on the errors of readings.
        reach: the largest norm of a feasible point.
    """
    return {
        "reach": reach,
        "value_error": errors.value,
        "slope_error": errors.slope,
        "drift": errors.drift,
        "evaluation_error": errors.evaluation,
    }

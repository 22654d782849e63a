"""What a kind of knowledge, or a proposer, is in the compiled kernel: one object, in its own file.

A pair is played by the kernel if both of its parts answer ``in_kernel``. The answer has all that
:mod:`surefoot.kernel_bridge` asks: the constants as fields of ``sf_rule``, a memory from its parts
and back, and what the numbers of a step mean. The C text names the parts and says where each is. A
part of a pair without an answer is played by Python, and so is every subclass that does not answer
itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Protocol

from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.region import Projection

__all__ = ["CertificateColumns", "InKernel", "KernelStep", "KnowledgeInKernel", "share_fields"]


class CertificateColumns(NamedTuple):
    """The certificates of many members.

    Attributes:
        kind: their class.
        columns: the fields with an entry for each member.
        same: the fields that are the same for all.
    """

    kind: type
    columns: dict[str, Array]
    same: dict[str, Any]


class KernelStep(Protocol):
    """A step of the kernel, as the parts of a pair read it."""

    @property
    def numbers(self) -> Any:
        """The numbers of ``sf_info``, a named tuple with the names of the C text."""

    @property
    def kind(self) -> str:
        """The name of the inequality that certifies the next action, as "SF_BALLS"."""

    @property
    def noted(self) -> Any:
        """The numbers that the proposer noted, likewise."""

    @property
    def lags(self) -> list[float]:
        """What the action has cost more than each leader."""

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
        code: its name in ``kernel/c/surefoot.h``.
        fields: its fields of ``sf_rule``.
    """

    code: ClassVar[str]
    fields: dict[str, Any]

    def take_apart(self, memory: Any, names: Iterable[str]) -> Mapping[str, Any] | None:
        """Return the parts of a memory; None for a memory that the kernel does not have.

        Args:
            memory: one that the Python text made.
            names: those of the C text; a dotted name is a path of attributes.
        """
        return {name: attrgetter(name)(memory) for name in names}

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

    def columns_of(self, numbers: Mapping[str, Array]) -> CertificateColumns | None:
        """Return the certificates of many members; None where they are listed one by one.

        Args:
            numbers: of ``sf_info`` by name, one entry for each member.
        """
        return None


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

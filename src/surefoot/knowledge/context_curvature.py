r"""Certificates from readings in other contexts and a smoothness constant: additive contexts.

**Theorem X1 (curvature).** *Let* :math:`g(x; c) = h(x) + q(c)` *with q known, and let g curve
upwards by at most* :math:`\beta` *where it is at most 0, in every context. With* :math:`(x_i, g_i,
s_i)` *read in the context* :math:`c_i`\ *, every p with*

.. math:: U(p) = g_i + q(c) - q(c_i) + s_i^\top(p - x_i) + \tfrac\beta2\|p - x_i\|^2 \le 0

*is feasible in the context c, also where* :math:`l = g_i + q(c) - q(c_i)` *is above 0,* :math:`x_i`
*itself outside; where l = 0, with* :math:`U(p) < 0`\ *. g need not be convex.*

*Proof.* If :math:`l < 0`, the first exit of :mod:`surefoot.knowledge.curvature`. Else
:math:`\{g(\cdot; c) \le l\} = \{h \le g_i - q(c_i)\}` is in the set that is feasible in the context
:math:`c_i`, where :math:`g_i \le 0`, so that :math:`\beta` holds there, too. Were the segment from
:math:`x_i` to p to leave it, then first at a q = :math:`x_i + \lambda(p - x_i)`,
:math:`0 < \lambda \le 1`, with :math:`g(q; c) = l`; but U is convex, so that :math:`g(q; c) \le
U(q) \le (1-\lambda)l + \lambda U(p) < l`, as :math:`U(p) \le 0 < l` or :math:`U(p) < 0 = l`. So
:math:`g(p; c) \le U(p) \le 0`. ∎

What was read is carried from context to context by the difference, rounded up. Where U is above 0
everywhere, the action is pulled to the deepest one, for which g must be convex
(:mod:`surefoot.knowledge.anchor`).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from surefoot.core import checks
from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import Count
from surefoot.core.parameters import anything
from surefoot.core.types import Array, Context
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.base import Capability, Memory, Reading
from surefoot.knowledge.context import NO_DELAY, as_contexts, check_context
from surefoot.knowledge.curvature import Curvature, CurvatureMemory
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.region import Region

__all__ = ["ContextCurvature", "MovedMemory"]


class MovedMemory(NamedTuple):
    """The readings, carried to the context of the last round.

    Attributes:
        rounds: the number of rounds so far.
        before: the context of the last of them; None in the first.
        context: that of the next; None until it is announced.
        part: the readings.
    """

    rounds: Count
    before: Context | None
    context: Context | None
    part: CurvatureMemory


class ContextCurvature(Curvature):
    """Knowledge of a smoothness constant, and of a context that is added to g.

    Args:
        context: what its columns add to g: a :class:`~surefoot.knowledge.Column` or several.

    The others are those of :class:`~surefoot.knowledge.Curvature`.

    Example:
        >>> import numpy as np
        >>> from surefoot.knowledge import Column
        >>> known = ContextCurvature(beta=1.0, reach=2.0, context=Column(adds=1.0))
        >>> memory = known.announce(known.init(np.zeros(1)), Context(np.array([0.0])))
        >>> seen = Reading(np.zeros(1), -0.5, np.array([1.0]), known.errors)
        >>> memory = known.announce(known.observe(memory, seen), Context(np.array([-1.0])))
        >>> known.region(memory, known.errors).nearest(np.array([3.0])).round(6)
        array([1.])
    """

    in_contexts: ClassVar[bool] = True
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "slope", "nonconvex"})
    refusals: ClassVar[Mapping[Capability, str]] = {
        **NO_DELAY,
        "drift": "0 for a smoothness constant in contexts, whose anchor has no bound that stands: "
        "give G_g (ContextHull)",
    }

    context: Any = anything("a Column that adds, or a list of them")

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", as_contexts(self.context))
        if not self.context.is_exact:
            raise InvalidValueError(
                "context must be of columns that add: Theorem X1 carries a slope from context to "
                f"context only where g = h(x) + q(c), got {checks.repr_line(self.context)}"
            )
        super().__post_init__()

    def first(self, x1: Array) -> Memory:
        """Return the memory before the first round."""
        part = super().first(x1)
        return MovedMemory(0.0, None, None, part._replace(anchor=part.last))

    def _move(self, memory: MovedMemory) -> CurvatureMemory:
        """Return the readings, carried to the context of the next round."""
        part, before, after = memory.part, memory.before, memory.context
        if before is None or after is None or (before.place == after.place).all():
            return part
        rise = float(self.context.rise(before.place, after.place))
        # q itself may have fallen by less than the difference that was rounded up.
        fall = float(self.context.rise(after.place, before.place))

        def move(anchor: Anchor) -> Anchor:
            return anchor._replace(value=round_up(anchor.value + rise))

        assert part.anchor is not None
        low = -round_up(fall - part.low)
        return part._replace(last=move(part.last), anchor=move(part.anchor), low=low)

    def learn(self, memory: Memory, reading: Reading) -> Memory:
        """Return the memory after a reading."""
        check_context(memory)
        part = super().learn(self._move(memory), reading)
        return MovedMemory(part.rounds, memory.context, None, part)

    def age(self, memory: Memory, x: Array) -> Memory:
        """Return the memory after a round without a reading."""
        part = self._move(memory)
        part = super().age(part, x) if part.rounds else part
        return MovedMemory(part.rounds, memory.context or memory.before, None, part)

    def certify(self, memory: Memory, errors: Errors) -> Region:
        """Return the ball in the next context."""
        return super().certify(self._move(memory), errors)

    def contradictions(self, memory: Memory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading of one run contradicts beta and the errors."""
        return super().contradictions(self._move(memory), reading)

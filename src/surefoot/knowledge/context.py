r"""Contexts that are known before acting: bounds on the rise of g between contexts.

The limit is :math:`g(x; c)`: the context c of a round is announced, x is played, then g and a
subgradient in x are read there. Knowledge of contexts is one function, the *rise* w, with

.. math:: g(x; c) \le g(x; c') + w(c', c) \quad \text{for all } x .

=================================================  ===============================================
known                                              :math:`w(c', c)`
=================================================  ===============================================
:class:`Additive`: :math:`g = h(x) + q(c)`         :math:`q(c) - q(c')`, exact, of either sign
:class:`LipschitzContext`                          :math:`G_c\|c - c'\|`
the same, one-sided: a larger c is never better    :math:`G_c\|[c - c']_+\|`; 0 where it gets milder
:class:`AnnouncedDrift`                                 what was told to have drifted in between
=================================================  ===============================================

They hold for all contexts, also for those that never come: one-sided, by way of the one that has
the larger of each two entries. :class:`JointContext` is the second with more: g is convex in x and
c together. What a context is in numbers, its *place*, is read once, when it is told: behind that
nobody calls a function of yours.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, flag, function, positive
from surefoot.core.plain import PlainTable
from surefoot.core.types import Array
from surefoot.knowledge.base import Capability

__all__ = ["Additive", "AnnouncedDrift", "ContextKind", "JointContext", "LipschitzContext"]


def read_numbers(value: Any, name: str, length: int | None = None) -> Array:
    """Return one or several finite numbers as a vector; raise for another length."""
    numbers = np.atleast_1d(checks.to_numbers(value, name, "a number, or a vector of numbers"))
    vector: Array = checks.to_vector(numbers, name)
    if length is not None and len(vector) != length:
        rule = "one number" if length == 1 else f"{length} numbers, as before"
        raise InvalidValueError(f"{name} must be {rule}, got {len(vector)}")
    return vector


NO_DELAY: Mapping[Capability, str] = {"late": "0: contexts know no delay"}
"""Why knowledge of contexts does not allow for late readings."""


def check_context(memory: Any) -> None:
    """Raise unless the context of a round was announced before its reading."""
    if memory.context is None:
        raise InvalidValueError(
            f"round {int(memory.rounds) + 1} cannot be read: its context was not announced"
        )


class ContextKind(Declared):
    """What is known of contexts; every method is pure.

    Attributes:
        is_joint: whether g is convex in actions and contexts together.
        argument: of ``tell``, by which the next context is announced.
    """

    is_joint: ClassVar[bool] = False
    argument: ClassVar[Literal["context", "drift"]] = "context"

    @property
    def facts(self) -> PlainTable:
        """What :mod:`surefoot.controller.check` needs to know of it."""
        return {"kind": type(self).__name__, "G_c": None}

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        return "what is told of every context is true"

    def read(self, context: Any, before: Array | None) -> Array:
        """Return the place of a context, from what a user tells.

        Args:
            context: what was told.
            before: the place of the round before; None in the first.
        """
        return read_numbers(context, "context", None if before is None else len(before))

    def rise(self, before: Array, after: Array) -> Array:
        """Return w from places to places, rounded up; the last axis is that of a place.

        Unless defined, a place is one number, and w is by how much it has become larger.
        """
        return round_up(after - before)[..., 0]

    def fall(self, now: Array, before: Array) -> Array:
        """Return w from the place of a round to those of rounds before it."""
        return self.rise(now, before)


class Additive(ContextKind, kw_only=False):
    """g is h(x) + q(c), and q is known: a metered base load, a table of ratings.

    Args:
        q: a function from what is told as a context to a number. Without one, the number is told.

    Example:
        >>> warmer = Additive(lambda degrees: 0.012 * (degrees - 20.0))
        >>> round(float(warmer.rise(warmer.read(20.0, None), warmer.read(30.0, None))), 6)
        0.12
    """

    q: Callable[[Any], float] | None = function(default=None)

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        return "g is h(x) + q(c), with the q that is given"

    def read(self, context: Any, before: Array | None) -> Array:
        """Return q of a context."""
        name = "context" if self.q is None else "q(context)"
        return read_numbers(context if self.q is None else self.q(context), name, 1)


class LipschitzContext(ContextKind, kw_only=False):
    """g changes by at most G_c per unit of distance between contexts: a number or a vector each.

    Args:
        G_c: the largest change per unit.
        one_sided: whether no entry of a context that grows makes g smaller: hotter is never better.

    Example:
        >>> hotter = LipschitzContext(0.012, one_sided=True)
        >>> hotter.rise(np.array([[20.0], [40.0]]), np.array([30.0])).round(6)
        array([0.12, 0.  ])
    """

    G_c: float = positive()
    one_sided: bool = flag(default=False)

    @property
    def facts(self) -> PlainTable:
        """What :mod:`surefoot.controller.check` needs to know of it."""
        word = "joint" if self.is_joint else "one_sided" if self.one_sided else "both_sides"
        return {"kind": word, "G_c": self.G_c}

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        more = ", and a larger one is never better" if self.one_sided else ""
        more = ", and is convex in both together" if self.is_joint else more
        return f"g changes by at most G_c = {self.G_c:.6g} per unit of context{more}"

    def rise(self, before: Array, after: Array) -> Array:
        """Return the distance, or how far it is up, times G_c."""
        way = after - before
        if self.one_sided:
            way = np.maximum(way, 0.0)
        # A sum of m squares, its root and the product err by less than (m + 8) units of 2^-53.
        above = 1.0 + (way.shape[-1] + 8) * 2.0**-52
        return above * self.G_c * np.sqrt(np.einsum("...i,...i->...", way, way))


class JointContext(LipschitzContext, kw_only=False):
    """The same, and g is convex in x and c together: rounds on both sides of c are a round at c.

    Args:
        G_c: the largest change per unit of distance between contexts.
    """

    is_joint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.one_sided:
            raise InvalidValueError("one_sided must be False for JointContext, got True")


class AnnouncedDrift(ContextKind):
    """g drifts, and by how much at most is told before every round: ``tell(drift=v)``.

    A place is the sum of what was told so far.
    """

    argument: ClassVar[Literal["context", "drift"]] = "drift"

    @property
    def premise(self) -> str:
        """What must be true of contexts."""
        return "g changes by at most what is told before every round"

    def read(self, context: Any, before: Array | None) -> Array:
        """Return the sum with one more drift."""
        drift = read_numbers(context, "drift", 1)
        if not drift[0] >= 0.0:
            raise InvalidValueError(f"drift must be at least 0, got {context!r}")
        return drift if before is None else round_up(before + drift)

    def fall(self, now: Array, before: Array) -> Array:
        """Return the same: g may have been that much larger before, too."""
        return self.rise(before, now)

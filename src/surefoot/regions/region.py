r"""The base of every certified rule: a convex set of next actions that are certainly feasible.

What is *known* of g (a bound on its subgradients, on its curvature, ...) is a frozen object, the
:class:`Knowledge`. What was *seen* is its memory, a NamedTuple of arrays. Each round adds what was
seen and gives a :class:`CertifiedRegion`::

    memory = known.init(x1)
    memory, region = known.see(memory, x, g, s)   # g and s were observed at x, which was played
    x = region.nearest(wanted)                    # safe, whatever was wanted
    print(region.certificate(x, 1))               # why: round 1

All of these are pure functions. Numbers are floats for one run and columns ``(B, 1)`` for a batch
(:mod:`surefoot.core.types`), memories have a fixed size, so a rule made of them runs in every
engine.

The first action must be strictly feasible, by more than rounding: one run is refused at its first
``see``; a run of a batch becomes NaN, which the game reports.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from surefoot.core.types import Array, Number

__all__ = ["CertifiedRegion", "Knowledge"]

M = TypeVar("M")


@runtime_checkable
class CertifiedRegion(Protocol):
    """A convex set of next actions, all feasible for every g that agrees with what was seen.

    A region belongs to one round. It is made by :meth:`Knowledge.see`, holds the numbers that it
    was made of, and is thrown away after the next action was chosen.
    """

    def nearest(self, w: Array) -> Array:
        """Return the certified point nearest to w; w itself where it is certified.

        The answer is certified as a float64 point, whatever rounding does to "nearest". One run
        refuses a w that is not finite; a run of a batch becomes NaN.
        """
        ...

    def certificate(self, point: Array, t: int) -> Any:
        """Return why a point that :meth:`nearest` gave in this round of one run is feasible.

        Args:
            point: the next action.
            t: the round that was played.

        Returns:
            A NamedTuple with ``round``, ``bound`` (the next g is at most this, never above 0), the
            observations and the inequality; its ``str`` is one sentence.
        """
        ...

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What one run has seen that is impossible if the constants are right, as sentences."""
        ...


class Knowledge(Protocol[M]):
    """What is known about g before the first round; builds regions from what is seen."""

    def init(self, x1: Array) -> M:
        """Return the memory before the first round; x1 is the action to be played first."""
        ...

    def see(
        self, memory: M, x: Array, g: Number, s: Array, value_error: Number | None = None
    ) -> tuple[M, CertifiedRegion]:
        """Return the memory with the round added, and the region for the next action.

        Args:
            memory: of the rounds before.
            x: the action that was played.
            g: the value observed there; the values of all rows where they are seen apart.
            s: one subgradient there; one per row where they are seen apart.
            value_error: a bound on the error of g in this round, instead of the knowledge's own.
        """
        ...

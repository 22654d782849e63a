"""The memory of a region after rounds in which nobody measured."""

from __future__ import annotations

from typing import Any

from surefoot.core.arrays import raised

__all__ = ["aged"]


def aged(known: Any, memory: Any, missed: int) -> Any:
    """Return a memory as if its last round had been seen so many rounds later, with drift added.

    What was seen in a round bounds g in every later one, by the drift of the rounds between: so the
    last round counts as one of later, and anchors, which keep their rounds, become older.

    Args:
        known: the constants; without a drift only the number of rounds changes.
        memory: of the rounds before.
        missed: how many rounds have passed without a measurement.

    Example:
        >>> import numpy as np
        >>> from surefoot.regions import LipschitzHull
        >>> known, x = LipschitzHull(G_g=1.0, reach=1.0), np.zeros(2)
        >>> memory, _ = known.see(known.init(x), x, -0.5, np.array([0.0, 1.0]))
        >>> aged(known, memory, 3).rounds
        4.0
    """
    if not missed:
        return memory
    if isinstance(getattr(memory, "rows", None), tuple):
        each = zip(known.rows, memory.rows, strict=True)
        rows = tuple(aged(row, part, missed) for row, part in each)
        return memory._replace(rounds=memory.rounds + missed, rows=rows)
    if hasattr(known, "ball"):
        return memory._replace(last=aged(known.ball(), memory.last, missed))
    changed = {"rounds": memory.rounds + missed}
    if drift := getattr(known, "drift", None):
        # Outwards, because a bound is aged again in every round that is missed.
        risen = raised(missed * drift)
        for name in ("last_value", "g"):
            if hasattr(memory, name):
                changed[name] = raised(getattr(memory, name) + risen)
        if hasattr(memory, "low"):
            changed["low"] = -raised(risen - memory.low)
    return memory._replace(**changed)

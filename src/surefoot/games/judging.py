"""Whether a game kept what its guarantee promises: the one place that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.theory import Guarantee
from surefoot.types import Array

if TYPE_CHECKING:
    from surefoot.games.trace import Trace

__all__ = ["Verdict", "Word", "judge", "kept_promise"]

Word: TypeAlias = Literal["held", "premise broken", "not claimed", "failed", "stopped"]
"""Failed: a bound or a promise was exceeded though no premise broke; a bug, or no theorem."""


class Verdict(NamedTuple):
    """What became of a guarantee.

    Attributes:
        word: for tables.
        sentence: for people, with the numbers.
    """

    word: Word
    sentence: str


def judge(trace: Trace, regret: Array | None = None) -> Verdict:
    """Whether the guarantee of a game held.

    Args:
        trace: what the game left.
        regret: over all rounds, of each run, to be held against the bound too; the lower end
            where it is an interval, so that what is called exceeded is.
    """
    lost = [s for s in ([trace.status] if trace.runs is None else trace.status) if s != "ok"]
    if lost:
        return Verdict("stopped", f"stopped, {lost[0]}")
    guarantee = trace.guarantee
    if guarantee is None:
        return Verdict("not claimed", "no guarantee was claimed")
    if trace.breaches:
        return Verdict("premise broken", f"premise broken, {trace.breaches[0]}")
    failed = f"{guarantee} FAILED though no premise broke"
    if not kept_promise(guarantee, trace):
        return Verdict("failed", f"{failed}: {_largest(trace)}")
    if regret is not None:
        most, bound = float(np.max(regret)), float(guarantee.regret_bound(trace.horizon))
        if not most <= bound:
            return Verdict("failed", f"{failed}: regret {most:.6g} exceeds its bound {bound:.6g}")
    return Verdict("held", f"{guarantee} held: {_largest(trace)}")


def kept_promise(guarantee: Guarantee, trace: Trace) -> bool:
    """Whether the constraint did what is promised of it, in all rounds whatever was kept of them.

    Every round by the largest g, "after t0" by the round of the last violation, sums by the
    measures, bounds on each round by the largest g since the kept round before.
    """
    seen, T = trace.violations, trace.horizon
    if guarantee.kind == "every round":
        return bool(np.all(seen.worst <= 0))
    if guarantee.kind == "after t0" and not np.all(seen.feasible_from <= guarantee.first_feasible):
        return False
    for measure, limit in guarantee.bounds(T).items():
        if measure in ("soft", "hard", "squared") and not np.all(getattr(seen, measure) <= limit):
            return False
    each = guarantee.bounds(np.arange(1, T + 1)).get("round")
    if each is None:
        return True
    # A thinned trace does not say which round between two kept ones the peak was in: it is held
    # against the largest of their bounds.
    begins = np.append(0, trace.rounds[:-1])
    bound = np.maximum.reduceat(each, begins)
    return bool(np.all(bound >= trace.peak.T))


def _largest(trace: Trace) -> str:
    return f"largest g = {float(np.max(trace.violations.worst)):.3g}"

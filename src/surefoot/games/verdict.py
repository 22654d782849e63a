"""Judge whether a game kept what its guarantee promises: the one place that does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefoot.algorithms import Guarantee, Measure
from surefoot.core.display import Word
from surefoot.core.types import Array

if TYPE_CHECKING:
    from surefoot.games.trace import Trace

_WORDS: dict[Measure, str] = {
    "rounds outside": "rounds outside",
    "soft": "sum of g",
    "hard": "sum of [g]+",
    "squared": "sum of [g]+^2",
    "rows": "largest sum of a constraint",
}


class Verdict(NamedTuple):
    """The outcome of a guarantee.

    Attributes:
        word: for tables.
        sentence: for people: what was promised, whether it was kept, and in how many rounds the
            action was outside.
    """

    word: Word
    sentence: str


class Compared(NamedTuple):
    """One promise compared with what was played.

    Attributes:
        kept: whether it was kept; None if it was not checked.
        words: the promise with its numbers.
    """

    kept: bool | None
    words: str


def judge(trace: Trace, regret: Array | None = None) -> Verdict:
    """Return whether the guarantee of a game held.

    Args:
        trace: what the game left.
        regret: over all rounds, of each run, to be held against the bound too; the lower end
            where it is an interval, so that what is called exceeded is.
    """
    lost = [s for s in ([trace.status] if trace.runs is None else trace.status) if s != "ok"]
    if lost:
        return Verdict("stopped", f"stopped, {lost[0]}")
    guarantee, outside = trace.guarantee, _outside(trace)
    if guarantee is None or guarantee.kind == "none":
        return Verdict("not claimed", f"no guarantee was claimed: {outside}")
    if trace.breaches:
        return Verdict("premise broken", f"premise broken, {trace.breaches[0]}; {outside}")
    checks = list(checks_of(guarantee, trace))
    compared = "(regret was not computed: call final_regret())"
    if regret is not None:
        most, bound = float(np.max(regret)), float(guarantee.regret_bound(trace.horizon))
        worth = guarantee.describe_worth(trace.horizon)
        compared = f"regret {most:.6g}, bound {bound:.6g}{f' ({worth})' if worth else ''}"
        checks.append(Compared(most <= bound, f"regret {most:.6g} exceeds its bound {bound:.6g}"))
    for kept, words in checks:
        if kept is False:
            told = "; ".join(filter(None, [words, outside]))
            return Verdict("failed", f"{guarantee} FAILED though no premise broke: {told}")
    for kept, words in checks:
        if kept is None:
            return Verdict("not checked", f"{guarantee} not checked: {words}; {outside}")
    numbers = [words for _, words in checks[: len(checks) - (regret is not None)] if words]
    return Verdict("held", f"{guarantee} held: {'; '.join([*numbers, outside, compared])}")


def checks_of(guarantee: Guarantee, trace: Trace) -> Iterator[Compared]:
    """Compare every promise about the constraint with all rounds, stored or not.

    Feasibility from a round on is compared with the round of the last violation, sums with the
    measures; bounds on each round were compared while the game was played.
    """
    seen, T = trace.violations, trace.horizon
    first = guarantee.first_feasible
    if first < np.inf:
        words = "" if first == 1 else f"g <= 0 from round {first:g}"
        yield Compared(bool(np.all(seen.feasible_from <= max(first, 1))), words)
    for measure, limit in guarantee.bounds(T).items():
        if measure == "round":
            yield _each_round(guarantee, trace, float(limit))
            continue
        name = "count" if measure == "rounds outside" else measure
        value = trace.row_sums if measure == "rows" else seen._asdict()[name]
        if value is None:
            yield Compared(None, f"the {_WORDS[measure]} was not recorded")
            continue
        words = f"{_WORDS[measure]} {float(np.max(value)):.3g}, bound {float(limit):.3g}"
        # Only the sum that the kind speaks of is told of a run in which all were kept.
        kept = bool(np.all(value <= limit))
        named = not kept or measure == guarantee.kind or guarantee.kind in ("cumulative", "bounded")
        yield Compared(kept, words if named else "")


def _each_round(guarantee: Guarantee, trace: Trace, last: float) -> Compared:
    """Return whether every round was within its own bound; ``last`` is that of the last."""
    if trace.excess is None:
        return Compared(None, "g was not compared with the bound of its round")
    over = float(np.max(trace.excess))
    if over > 0 and guarantee.kind != "every round":
        return Compared(False, f"g exceeds the bound of its round, by {over:.3g} at most")
    told = guarantee.kind == "bounded"
    return Compared(over <= 0, f"g within the bound of its round, {last:.3g} in the last" * told)


def _outside(trace: Trace) -> str:
    """Return in words how many rounds the action was outside, and the largest g."""
    seen = trace.violations
    count, rounds = int(np.sum(seen.count)), trace.horizon * (trace.runs or 1)
    worst, trials = float(np.max(seen.worst)), f" of {trace.runs} trials" if trace.runs else ""
    return f"outside in {count:,} of {rounds:,} rounds{trials}, largest g = {worst:.3g}"

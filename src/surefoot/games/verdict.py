"""Judge whether a game kept what its guarantee promises: the one place that does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefoot.core.display import Word
from surefoot.core.types import Array
from surefoot.guarantees import Guarantee, Kind, Measure

if TYPE_CHECKING:
    from surefoot.games.trace import Trace

_WORDS: dict[Measure, str] = {
    "violations": "violations",
    "soft": "sum of g",
    "hard": "sum of [g]+",
    "squared": "sum of [g]+^2",
    "rows": "largest sum of a constraint",
}

_SPOKEN: dict[Kind, tuple[Measure, ...]] = {
    "few violations": ("violations",),
    "cumulative": tuple(_WORDS),
    "bounded": tuple(_WORDS),
}
"""The measures that a kind of promise is about, where they have another name."""


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
    if not any(trace.promises):
        return Verdict("not claimed", f"no guarantee was claimed: {outside}")
    if trace.breaches:
        return Verdict("premise broken", f"premise broken, {trace.breaches[0]}; {outside}")
    if guarantee is None:
        return _judge_safety(trace, outside)
    checks = list(checks_of(guarantee, trace))
    if regret is not None and trace.promises.in_advance is not None:
        most, bound = float(np.max(regret)), float(guarantee.regret_bound(trace.horizon))
        checks.append(Compared(most <= bound, f"regret {most:.6g} exceeds its bound {bound:.6g}"))
    compared = _tell_regret(guarantee, trace, regret)
    for kept, words in checks:
        if kept is False:
            told = "; ".join(filter(None, [words, outside]))
            return Verdict("failed", f"{guarantee} FAILED though no premise broke: {told}")
    for kept, words in checks:
        if kept is None:
            return Verdict("not checked", f"{guarantee} not checked: {words}; {outside}")
    if trace.promises.feasibility is None:
        told = f"{guarantee} claims nothing of the constraint: {outside}; {compared}"
        return Verdict("not claimed", told)
    numbers = [words for _, words in checks_of(guarantee, trace) if words]
    return Verdict("held", f"{guarantee} held: {'; '.join([*numbers, outside, compared])}")


def _tell_regret(guarantee: Guarantee, trace: Trace, regret: Array | None) -> str:
    """Return what was promised of the regret, observed and in advance, beside what it was.

    Nothing is called kept that cannot fail.
    """
    T, promises = trace.horizon, trace.promises
    seen = "" if regret is None else f"regret {float(np.max(regret)):.6g}; "
    if promises.in_advance is None:
        words = f"{seen}nothing was promised of the regret in advance"
    elif worth := guarantee.describe_worth(T):
        words = f"{seen}the regret bound {float(guarantee.regret_bound(T)):.6g} is {worth}"
    elif regret is None:
        words = "(regret was not computed: call final_regret())"
    else:
        words = f"{seen.removesuffix('; ')}, bound {float(guarantee.regret_bound(T)):.6g}"
    if trace.promises.observed is not None:
        words += f"; {trace.promises.observed.theorem} bounds the regret by what was played"
    return words


def _judge_safety(trace: Trace, outside: str) -> Verdict:
    """Return whether actions that knowledge certifies were feasible; no theorem bounds regret."""
    assert trace.safety is not None
    kind = trace.safety.kind
    ahead = "nothing was promised of the regret in advance"
    if kind != "every round":
        return Verdict("not checked", f"{trace.safety} not checked: {outside}; {ahead}")
    if np.any(trace.violations.count):  # a certificate is a proof
        words = "one of the premises of the knowledge is false"
        return Verdict("premise broken", f"premise broken, {words}: {outside}")
    return Verdict("held", f"{trace.safety} held: {outside}; {ahead}")


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
        name = "count" if measure == "violations" else measure
        value = trace.row_sums if measure == "rows" else seen._asdict()[name]
        if value is None:
            yield Compared(None, f"the {_WORDS[measure]} was not recorded")
            continue
        words = f"{_WORDS[measure]} {float(np.max(value)):.3g}, bound {float(limit):.3g}"
        # Of a run in which all were kept, only the measure that the kind is about is reported.
        kept = bool(np.all(value <= limit))
        spoken = _SPOKEN.get(guarantee.kind, (guarantee.kind,))
        named = not kept or measure in spoken
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

"""Judge whether a game kept what its guarantee promises."""

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
    "positive_sum": "sum of g",
    "sum_positive": "sum of [g]+",
    "sum_squared": "sum of [g]+^2",
    "rows": "largest sum of a constraint",
}

_MEASURES: dict[Kind, tuple[Measure, ...]] = {
    "few violations": ("violations",),
    "cumulative": tuple(_WORDS),
    "bounded": tuple(_WORDS),
}
"""The measures of a kind of promise whose name is none of a measure."""


class Verdict(NamedTuple):
    """The outcome of a guarantee.

    Attributes:
        word: for tables.
        sentence: for people: what was promised, whether it was kept, and the number of
            violations.
    """

    word: Word
    sentence: str


class Check(NamedTuple):
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
        trace: the result of the game.
        regret: over all rounds, of each run, to be compared with the bound too; the lower end
            where it is an interval, so that a bound called exceeded is exceeded.
    """
    reasons = [s for s in ([trace.status] if trace.runs is None else trace.status) if s != "ok"]
    if reasons:
        return Verdict("stopped", f"stopped, {reasons[0]}")
    guarantee, counts = trace.guarantee, _count_violations(trace)
    if not any(trace.promises):
        return Verdict("not claimed", f"no guarantee was claimed: {counts}")
    if trace.breaches:
        return Verdict("premise broken", f"premise broken, {trace.breaches[0]}; {counts}")
    if guarantee is None:
        return _judge_safety(trace, counts)
    checks = list(checks_of(guarantee, trace))
    if regret is not None and trace.promises.in_advance is not None:
        most, bound = float(np.max(regret)), float(guarantee.regret_bound(trace.horizon))
        checks.append(Check(most <= bound, f"regret {most:.6g} exceeds its bound {bound:.6g}"))
    about_regret = _describe_regret(guarantee, trace, regret)
    for is_kept, words in checks:
        if is_kept is False:
            reason = "; ".join(filter(None, [words, counts]))
            return Verdict("failed", f"{guarantee} FAILED though no premise broke: {reason}")
    for is_kept, words in checks:
        if is_kept is None:
            return Verdict("not checked", f"{guarantee} not checked: {words}; {counts}")
    if trace.promises.feasibility is None:
        sentence = f"{guarantee} claims nothing of the constraint: {counts}; {about_regret}"
        return Verdict("not claimed", sentence)
    numbers = [words for _, words in checks_of(guarantee, trace) if words]
    return Verdict("held", f"{guarantee} held: {'; '.join([*numbers, counts, about_regret])}")


def _describe_regret(guarantee: Guarantee, trace: Trace, regret: Array | None) -> str:
    """Return what was promised of the regret, observed and in advance, beside what it was.

    A bound that every rule keeps is called trivial, not held.
    """
    T, promises = trace.horizon, trace.promises
    measured = "" if regret is None else f"regret {float(np.max(regret)):.6g}; "
    if promises.in_advance is None:
        words = f"{measured}nothing was promised of the regret in advance"
    elif worth := guarantee.describe_worth(T):
        words = f"{measured}the regret bound {float(guarantee.regret_bound(T)):.6g} is {worth}"
    elif regret is None:
        words = "(regret was not computed: call final_regret())"
    else:
        words = f"{measured.removesuffix('; ')}, bound {float(guarantee.regret_bound(T)):.6g}"
    if trace.promises.observed is not None:
        words += f"; {trace.promises.observed.theorem} bounds the regret by what was played"
    return words


def _judge_safety(trace: Trace, counts: str) -> Verdict:
    """Return whether actions that knowledge certifies were feasible; no theorem bounds regret."""
    assert trace.safety is not None
    kind = trace.safety.kind
    ahead = "nothing was promised of the regret in advance"
    if kind != "every round":
        return Verdict("not checked", f"{trace.safety} not checked: {counts}; {ahead}")
    if np.any(trace.violations.count):  # a certificate is a proof
        words = "one of the premises of the knowledge is false"
        return Verdict("premise broken", f"premise broken, {words}: {counts}")
    return Verdict("held", f"{trace.safety} held: {counts}; {ahead}")


def checks_of(guarantee: Guarantee, trace: Trace) -> Iterator[Check]:
    """Compare every promise about the constraint with all rounds, stored or not.

    Feasibility from a round on is compared with the round of the last violation, sums with the
    measures; bounds on each round were compared while the game was played.
    """
    violations, T = trace.violations, trace.horizon
    first = guarantee.first_feasible
    if first < np.inf:
        words = "" if first == 1 else f"g <= 0 from round {first:g}"
        yield Check(bool(np.all(violations.feasible_from <= max(first, 1))), words)
    for measure, limit in guarantee.bounds(T).items():
        if measure == "round":
            yield _each_round(guarantee, trace, float(limit))
            continue
        name = "count" if measure == "violations" else measure
        value = trace.row_sums if measure == "rows" else violations._asdict()[name]
        if measure == "violations" and not limit < np.inf:
            yield Check(None, "nothing bounds the number of violations")
            continue
        if value is None:
            yield Check(None, f"the {_WORDS[measure]} was not recorded")
            continue
        words = f"{_WORDS[measure]} {float(np.max(value)):.3g}, bound {float(limit):.3g}"
        # Where every bound held, the sentence has only the measures of this kind of promise.
        is_kept = bool(np.all(value <= limit))
        measures = _MEASURES.get(guarantee.kind, (guarantee.kind,))
        yield Check(is_kept, words if not is_kept or measure in measures else "")


def _each_round(guarantee: Guarantee, trace: Trace, last: float) -> Check:
    """Return whether every round was within its bound; ``last`` is that of the last round."""
    if trace.excess is None:
        return Check(None, "g was not compared with the bound of its round")
    over = float(np.max(trace.excess))
    if over > 0 and guarantee.kind != "every round":
        return Check(False, f"g exceeds the bound of its round, by {over:.3g} at most")
    words = f"g within the bound of its round, {last:.3g} in the last"
    return Check(over <= 0, words if guarantee.kind == "bounded" else "")


def _count_violations(trace: Trace) -> str:
    """Return the number of violations in words, and the largest g."""
    count, rounds = int(np.sum(trace.violations.count)), trace.horizon * (trace.runs or 1)
    played = f"{rounds:,} round{'s' * (rounds != 1)}"
    if trace.runs is not None:
        played += f" of {trace.runs} trial{'s' * (trace.runs != 1)}"
    largest = float(np.max(trace.violations.largest))
    return f"{count:,} violation{'s' * (count != 1)} in {played}, largest g = {largest:.3g}"

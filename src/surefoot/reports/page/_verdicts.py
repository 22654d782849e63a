"""Summarise each algorithm on each problem over all its horizons, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from surefoot.experiments.record import Place
from surefoot.experiments.rows import Row
from surefoot.reports.page._format import horizons

__all__ = ["BADGES", "Pair", "enumerated", "pairs_of", "summary", "word_of"]

BADGES = {
    "failed": "PROMISE NOT KEPT",
    "error": "ended by an error",
    "set aside": "set aside",
    "stopped": "stopped",
    "premise broken": "premise broken",
    "not checked": "not checked",
    "missing": "not played yet",
    "refused": "refused",
    "not claimed": "no promise",
    "held": "promise kept",
}
"""What can become of a cell, the gravest first, and what the page calls it."""

_STATUS = {"failed": "error"}  # "failed" alone is kept for a guarantee that failed
_ORDER = list(BADGES)


class Pair(NamedTuple):
    """An algorithm on a problem.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        word: the gravest word of its horizons, a key of :data:`BADGES`.
        badge: that word for a reader, with the round if a premise broke.
        sentence: why.
        others: what became of the horizons, where that is not the same for all.
        guarantee: the theorem that is claimed; empty if none.
        kind: what it promises of the constraint; empty if nothing.
        outside: in how many rounds of a trial the action was outside, on average; None if nothing
            was played.
        horizon: the horizon that sentence and rounds are of.
    """

    problem: str
    algorithm: str
    word: str
    badge: str
    sentence: str
    others: str
    guarantee: str
    kind: str
    outside: float | None = None
    horizon: int = 0


def word_of(row: Row) -> str:
    """Return what became of a row, a key of :data:`BADGES`."""
    if row.status != "done":
        return _STATUS.get(row.status, row.status)
    return row.verdict or "not claimed"


def pairs_of(rows: Sequence[Row], plan: Iterable[Place]) -> list[Pair]:
    """Return every pair of the plan, in its order, whether or not anything of it was played."""
    found = {(row.problem, row.algorithm, row.horizon): row for row in rows}
    planned: dict[tuple[str, str], dict[int, Row | None]] = {}
    for place in plan:
        key = place.problem, place.algorithm
        planned.setdefault(key, {})[place.horizon] = found.get((*key, place.horizon))
    return [_pair(*key, dict(sorted(own.items()))) for key, own in planned.items()]


def _pair(problem: str, algorithm: str, by_horizon: dict[int, Row | None]) -> Pair:
    words = {T: "missing" if row is None else word_of(row) for T, row in by_horizon.items()}
    word = min(words.values(), key=_rank)
    at, row = next((T, by_horizon[T]) for T in words if words[T] == word)
    badge, sentence = BADGES.get(word, word), ""
    if row is not None:
        verdict = row.facts.verdict
        told = row.note if row.status != "done" else "" if verdict is None else verdict.sentence
        told = told.removeprefix("premise broken, ")  # as the badge beside it says
        if row.status == "done" and row.blocks > 1:
            told += f" (one of {row.blocks} blocks of trials)"
        partial = row.note if row.status == "done" else ""
        sentence = "; ".join(part for part in (told, partial) if part)
        rounds = [breach.round for breach in row.facts.breaches if breach.round]
        if word == "premise broken" and rounds:
            badge = f"{badge} at round {min(rounds):,}"
    else:
        sentence = "its cells are not in the file: run the same command again to play them"
    groups: dict[str, list[int]] = {}
    for T, each in words.items():
        groups.setdefault(each, []).append(T)
    others = ""
    if len(groups) > 1:
        in_order = sorted(groups.items(), key=lambda item: _rank(item[0]))
        others = "; ".join(f"{BADGES.get(w, w)}: {horizons(Ts)}" for w, Ts in in_order)
    elif len(by_horizon) > 1 and sentence and word not in ("not claimed", "missing"):
        others = f"at every horizon; the words are those of {horizons([at])}"
    claimed = [
        row.facts.guarantee
        for row in by_horizon.values()
        if row is not None and row.facts.guarantee is not None
    ]
    name, kind = (claimed[0].name, claimed[0].kind) if claimed else ("", "")
    outside = None if row is None else row.outside
    return Pair(problem, algorithm, word, badge, sentence, others, name, kind, outside, at)


def _rank(word: str) -> int:
    return _ORDER.index(word) if word in BADGES else len(_ORDER)


def summary(pairs: Sequence[Pair]) -> str:
    """Return all pairs in a sentence.

    >>> held = Pair("toy", "PFS", "held", "promise kept", "", "", "Corollary 1", "every round")
    >>> summary([held, held._replace(word="refused")])
    'Every promise whose premises held was kept: of 2 pairs of a problem and an algorithm, the promise was kept for 1 and 1 was refused.'
    """  # noqa: E501
    if not pairs:
        return "Nothing was planned: there is no verdict to give."
    counts = Counter(pair.word for pair in pairs)
    phrases = {
        "failed": "the promise was NOT KEPT for {} although no premise broke",
        "held": "the promise was kept for {}",
        "premise broken": "a premise broke for {}",
        "not checked": "a promise could not be checked for {}",
        "not claimed": "nothing is promised for {}",
        "refused": "{} {was} refused",
        "stopped": "{} stopped",
        "error": "{} ended by an error",
        "set aside": "{} {was} set aside",
        "missing": "{} {is_} not played yet",
    }
    parts = [
        text.format(n, was="was" if n == 1 else "were", is_="is" if n == 1 else "are")
        for word, text in phrases.items()
        if (n := counts[word])
    ]
    listed = enumerated(parts)
    of = (
        f"of {len(pairs)} pairs of a problem and an algorithm"
        if len(pairs) > 1
        else "of one problem and one algorithm"
    )
    failed = counts["failed"]
    claimed = failed + counts["held"] + counts["premise broken"] + counts["not checked"]
    if failed:
        head = f"{failed} promise{'s were' if failed > 1 else ' was'} NOT KEPT"
    elif claimed:
        head = "Every promise whose premises held was kept"
    else:
        head = "No promise was put to the test"
    return f"{head}: {of}, {listed}."


def enumerated(parts: Sequence[str]) -> str:
    """Return parts with commas between them, and an "and" before the last.

    >>> enumerated(["1a", "1b", "2"])
    '1a, 1b and 2'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))

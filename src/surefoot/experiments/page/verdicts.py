"""Summarise each algorithm on each problem over all its horizons, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from surefoot.experiments.page.words import enumerate_words, horizons
from surefoot.experiments.record import Place
from surefoot.experiments.rows import Row

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

SUMS = ("cumulative", "hard", "squared")
"""Kinds of promises about a sum over the rounds, which single rounds may exceed."""

_ORDER = list(BADGES)
_PHRASES = {
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


class Pair(NamedTuple):
    """An algorithm on a problem.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        word: the gravest word of its horizons, a key of :data:`BADGES`.
        row: of the longest horizon with that word; None if its cells are not in the file.
        horizon: of that row.
        sentence: why.
        others: what became of the horizons, where that is not the same for all.
    """

    problem: str
    algorithm: str
    word: str
    row: Row | None = None
    horizon: int = 0
    sentence: str = ""
    others: str = ""

    @property
    def badge(self) -> str:
        """The word for a reader, with the round if a premise broke."""
        words = BADGES.get(self.word, self.word)
        breaches = () if self.row is None else self.row.facts.breaches
        rounds = [breach.round for breach in breaches if breach.round]
        if self.word == "premise broken" and rounds:
            return f"{words} at round {min(rounds):,}"
        return words


def word_of(row: Row) -> str:
    """Return what became of a row, a key of :data:`BADGES`."""
    if row.status != "done":
        return "error" if row.status == "failed" else row.status
    return row.verdict or "not claimed"


def pairs_of(rows: Sequence[Row], plan: Iterable[Place]) -> list[Pair]:
    """Return every pair of the plan, in its order, whether or not anything of it was played."""
    found = {(row.problem, row.algorithm, row.horizon): row for row in rows}
    planned: dict[tuple[str, str], dict[int, Row | None]] = {}
    for place in plan:
        key = place.problem, place.algorithm
        planned.setdefault(key, {})[place.horizon] = found.get((*key, place.horizon))
    return [_join_horizons(*key, dict(sorted(own.items()))) for key, own in planned.items()]


def _join_horizons(problem: str, algorithm: str, rows: Mapping[int, Row | None]) -> Pair:
    words = {T: "missing" if row is None else word_of(row) for T, row in rows.items()}
    word = min(words.values(), key=_rank)
    at = max(T for T in words if words[T] == word)
    groups: dict[str, list[int]] = {}
    for T, each in sorted(words.items(), key=lambda item: (_rank(item[1]), item[0])):
        groups.setdefault(each, []).append(T)
    parts = [f"{BADGES.get(w, w)}: {horizons(Ts)}" for w, Ts in groups.items()]
    others = "; ".join(parts) if len(groups) > 1 else ""
    return Pair(problem, algorithm, word, rows[at], at, _say_why(rows[at]), others)


def _say_why(row: Row | None) -> str:
    """Return why a row has its verdict."""
    if row is None:
        return "its cells are not in the file: run the same command again to play them"
    if row.status != "done":
        return row.note
    said = "" if row.facts.verdict is None else row.facts.verdict.sentence
    said = said.removeprefix("premise broken, ")  # as the badge beside it says
    if row.blocks > 1:
        said += f" (one of {row.blocks} blocks of trials)"
    return "; ".join(part for part in (said, row.note) if part)


def _rank(word: str) -> int:
    return _ORDER.index(word) if word in BADGES else len(_ORDER)


def summarise_pairs(pairs: Sequence[Pair]) -> str:
    """Return all pairs in a sentence.

    >>> held = Pair("toy", "PFS", "held")
    >>> summarise_pairs([held, held._replace(word="refused")])
    'Every promise whose premises held was kept: of 2 pairs of a problem and an algorithm, the promise was kept for 1 and 1 was refused.'
    """  # noqa: E501
    if not pairs:
        return "Nothing was planned: there is no verdict to give."
    counts = Counter(pair.word for pair in pairs)
    parts = [
        text.format(n, was="was" if n == 1 else "were", is_="is" if n == 1 else "are")
        for word, text in _PHRASES.items()
        if (n := counts[word])
    ]
    many = f"of {len(pairs)} pairs of a problem and an algorithm"
    of = many if len(pairs) > 1 else "of one problem and one algorithm"
    failed = counts["failed"]
    if failed:
        head = f"{failed} promise{'s were' if failed > 1 else ' was'} NOT KEPT"
    elif counts["held"] + counts["premise broken"] + counts["not checked"]:
        head = "Every promise whose premises held was kept"
    else:
        head = "No promise was put to the test"
    return f"{head}: {of}, {enumerate_words(parts)}."

"""The findings in words: verdicts of all pairs, who was feasible, what was reproduced."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from surefoot.experiments.record import CLAIM_WORDS, Claim, Place
from surefoot.experiments.rows import Row, mean_std, problems

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# What HTML does not allow in a document in any form: C0 and C1 controls but tab and newline. A
# carriage return is one, too: parsers turn it into a newline.
_CONTROLS = {c: "\ufffd" for c in (*range(32), *range(127, 160)) if c not in (9, 10)}


def number(value: Any, digits: int = 4) -> str:
    """Return a number with the digits that matter; in words if it is not finite.

    >>> number(0.00251), number(20_000), number(-61.2345), number(1.5e-9), number(float("nan"))
    ('0.00251', '20,000', '−61.23', '1.5×10⁻⁹', 'not a number')
    """
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    x = float(value)
    if not math.isfinite(x):
        return "not a number" if math.isnan(x) else "infinite" if x > 0 else "minus infinity"
    if x == int(x) and abs(x) < 1e7:
        return f"{int(x):,}".replace("-", "−")
    if not 1e-4 <= abs(x) < 1e7:
        mantissa, _, power = f"{x:.{digits - 1}e}".partition("e")
        text = f"{_trim(mantissa)}×10{str(int(power)).translate(_SUPERSCRIPTS)}"
        return text.replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(x))))
    return _trim(f"{x:,.{decimals}f}").replace("-", "−")


def _trim(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def format_spread(row: Row, name: str) -> str:
    """Return the mean of an array of trials with its standard deviation, where they differ."""
    mean, spread = mean_std(row, name)
    if not spread or not math.isfinite(mean) or not math.isfinite(spread):
        return number(mean)
    return f"{number(mean)} ± {number(spread, 2)}"


def horizons(values: Iterable[int]) -> str:
    """Return a list of horizons.

    >>> horizons([2000, 20000])
    'T = 2,000, 20,000'
    """
    return "T = " + ", ".join(f"{T:,}" for T in values)


def enumerate_words(parts: Sequence[str]) -> str:
    """Return parts with commas between them, and an "and" before the last.

    >>> enumerate_words(["1a", "1b", "2"])
    '1a, 1b and 2'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def clean(text: Any) -> str:
    """Return text without control characters and lone surrogates."""
    plain = str(text).replace("\r\n", "\n").translate(_CONTROLS)
    return plain.encode("utf-8", "replace").decode("utf-8")


BADGES = {
    "failed": "PROMISE NOT KEPT",
    "error": "ended by an error",
    "set aside": "set aside",
    "stopped": "stopped",
    "premise broken": "premise broken",
    "not checked": "not checked",
    "missing": "not played yet",
    "rejected": "rejected",
    "not claimed": "no promise",
    "held": "promise kept",
}
"""The outcomes of a cell, the gravest first, with their words on the page."""

SUMS = ("cumulative", "sum_positive", "sum_squared")
"""Kinds of promises about a sum over the rounds, which single rounds may exceed."""


class Pair(NamedTuple):
    """An algorithm on a problem.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        word: the gravest word of its horizons, a key of :data:`BADGES`.
        row: of the longest horizon with that word; None if its cells are not in the file.
        horizon: of that row.
        sentence: why.
        others: the outcomes by horizon, where they differ.
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
        words = BADGES[self.word]
        breaches = () if self.row is None else self.row.facts.breaches
        rounds = [breach.round for breach in breaches if breach.round]
        if self.word == "premise broken" and rounds:
            return f"{words} at round {min(rounds):,}"
        return words


def word_of(row: Row) -> str:
    """Return the outcome of a row, a key of :data:`BADGES`."""
    if row.status != "done":
        return "error" if row.status == "failed" else row.status
    return row.verdict or "not claimed"


def pairs_of(rows: Sequence[Row], plan: Iterable[Place]) -> list[Pair]:
    """Return every pair of the plan, in its order, played or not."""
    by_place = {(row.problem, row.algorithm, row.horizon): row for row in rows}
    groups: dict[tuple[str, str], dict[int, Row | None]] = {}
    for place in plan:
        key = place.problem, place.algorithm
        groups.setdefault(key, {})[place.horizon] = by_place.get((*key, place.horizon))
    return [_join_horizons(*key, dict(sorted(group.items()))) for key, group in groups.items()]


def _join_horizons(problem: str, algorithm: str, rows: Mapping[int, Row | None]) -> Pair:
    words = {T: "missing" if row is None else word_of(row) for T, row in rows.items()}
    word = min(words.values(), key=_rank)
    at = max(T for T in words if words[T] == word)
    groups: dict[str, list[int]] = {}
    for T, each in sorted(words.items(), key=lambda item: (_rank(item[1]), item[0])):
        groups.setdefault(each, []).append(T)
    parts = [f"{BADGES[w]}: {horizons(Ts)}" for w, Ts in groups.items()]
    others = "; ".join(parts) if len(groups) > 1 else ""
    return Pair(problem, algorithm, word, rows[at], at, _explain(rows[at]), others)


def _explain(row: Row | None) -> str:
    """Return why a row has its verdict."""
    if row is None:
        return "its cells are not in the file: run the same command again to play them"
    if row.status != "done":
        return row.note
    sentence = "" if row.facts.verdict is None else row.facts.verdict.sentence
    sentence = sentence.removeprefix("premise broken, ")  # as the badge beside it says
    if row.blocks > 1:
        sentence += f" (one of {row.blocks} blocks of trials)"
    return "; ".join(part for part in (sentence, row.note) if part)


def _rank(word: str) -> int:
    """Return 0 for the gravest."""
    return list(BADGES).index(word)


def summarise_pairs(pairs: Sequence[Pair]) -> str:
    """Return all pairs in two sentences.

    >>> held = Pair("toy", "PFS", "held")
    >>> summarise_pairs([held, held._replace(word="rejected")])
    'Every promise whose premises held was kept. Of 2 pairs of a problem and an algorithm: 1 × rejected, 1 × promise kept.'
    """  # noqa: E501
    if not pairs:
        return "Nothing was planned: there is no verdict to give."
    counts = Counter(pair.word for pair in pairs)
    failed = counts["failed"]
    if failed:
        head = f"{failed} promise{'s were' if failed > 1 else ' was'} NOT KEPT"
    elif counts["held"] + counts["premise broken"] + counts["not checked"]:
        head = "Every promise whose premises held was kept"
    else:
        head = "No promise was tested"
    words = ", ".join(f"{counts[w]} × {BADGES[w]}" for w in sorted(counts, key=_rank))
    return f"{head}. Of {len(pairs)} pairs of a problem and an algorithm: {words}."


_MOST = 4
"""Problems of which the page says a sentence; the tables have all."""

_ORACLES = (
    *("projections", "linear_minimisations", "separations", "gauges", "proxes"),
    *("smooth_queries", "inner_solves"),
)


class Finding(NamedTuple):
    """What a sentence is about, and the sentence."""

    about: str
    sentence: str


def find_findings(rows: Sequence[Row], claims: Sequence[Claim]) -> list[Finding]:
    """Return all sentences, the one for the first screen in front."""
    findings = [Finding("Figures", figures)] if (figures := judge_figures(claims)) else []
    labels = problems(rows)
    findings += [Finding(name, _describe_problem(name, rows)) for name in labels[:_MOST]]
    if len(labels) > _MOST:
        findings.append(Finding("More", f"{len(labels) - _MOST} more problems are in the tables."))
    return findings or [Finding("Nothing yet", "nothing was played to the end.")]


def _describe_problem(name: str, rows: Sequence[Row]) -> str:
    """Return who was feasible at the longest horizon of a problem, and who had least regret."""
    played = [r for r in rows if r.problem == name and r.played and "largest" in r.arrays]
    if not played:
        return "nothing was played to the end."
    T = max(row.horizon for row in played)
    finals = [r for r in played if r.horizon == T and math.isfinite(_regret(r))]
    feasible = [row for row in finals if float(row.arrays["largest"].max()) <= 0]
    sentence = (
        f"{len(feasible)} of {len(finals)} algorithms were feasible in every round of every trial "
        f"({T:,} rounds)"
    )
    if feasible:
        sentence += _describe_best(feasible)
    best = min(finals, key=_regret, default=None)
    if best is not None and best not in feasible:
        sentence += (
            f". {best.algorithm} has less, {format_spread(best, 'regret')}, and violates in "
        )
        sentence += f"{number(best.violations)} of {T:,} rounds"
    return f"{sentence}."


def _describe_best(feasible: Sequence[Row]) -> str:
    safest = min(feasible, key=_regret)
    sentence = (
        f"; of these {safest.algorithm} has the least regret, {format_spread(safest, 'regret')}"
    )
    others = [row for row in feasible if not _knows_the_set(row)]
    if not others or not _knows_the_set(safest):
        return sentence
    first = min(others, key=_regret)
    return (
        f"{sentence} (it is given the feasible set; of those that only see g, {first.algorithm} "
        f"has {format_spread(first, 'regret')})"
    )


def _knows_the_set(row: Row) -> bool:
    """Return whether it asks more of the feasible set than g at the action played."""
    return any(row.facts.oracle.get(name) for name in _ORACLES)


def _regret(row: Row) -> float:
    return mean_std(row, "regret")[0]


# --- published figures ---------------------------------------------------------------------------


def judge_figures(claims: Sequence[Claim]) -> str:
    """Return the verdict on each figure that was to be reproduced, in a sentence.

    >>> judge_figures([Claim(figure="1a", statement="", verdict="reproduced")])
    'Figure 1a is reproduced.'
    """
    verdicts: dict[str, str] = {}
    for claim in claims:
        verdicts.setdefault(claim.figure, claim.verdict)  # that of the whole figure comes first
    parts = []
    for verdict in reversed(CLAIM_WORDS):  # what holds, then what does not
        if figures := [figure for figure in verdicts if verdicts[figure] == verdict]:
            several = len(figures) > 1
            subject = f"Figure{'s' * several} {enumerate_words(figures)}"
            parts.append(f"{subject} {'are' if several else 'is'} {verdict}")
    return f"{enumerate_words(parts)}." if parts else ""

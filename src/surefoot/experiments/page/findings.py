"""What was found, in sentences: who stayed inside, who was best, what was not reproduced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from surefoot.experiments.notes import CLAIM_WORDS, Claim
from surefoot.experiments.page.words import enumerate_words, mean_and_spread, number
from surefoot.experiments.rows import Row, mean_std, problems

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
    found = [Finding("Figures", figures)] if (figures := judge_figures(claims)) else []
    shown = problems(rows)
    found += [Finding(name, _tell_problem(name, rows)) for name in shown[:_MOST]]
    if len(shown) > _MOST:
        found.append(Finding("More", f"{len(shown) - _MOST} more problems are in the tables."))
    return found or [Finding("Nothing yet", "not a round was played to the end.")]


def _tell_problem(name: str, rows: Sequence[Row]) -> str:
    """Return who stayed inside at the longest horizon of a problem, and who had least regret."""
    played = [r for r in rows if r.problem == name and r.played and "worst" in r.arrays]
    if not played:
        return "nothing was played to the end."
    T = max(row.horizon for row in played)
    last = [r for r in played if r.horizon == T and math.isfinite(_regret(r))]
    inside = [row for row in last if float(row.arrays["worst"].max()) <= 0]
    said = (
        f"{len(inside)} of {len(last)} algorithms stayed inside in every round of every trial "
        f"({T:,} rounds)"
    )
    if inside:
        said += _tell_safest(inside)
    best = min(last, key=_regret, default=None)
    if best is not None and best not in inside:
        said += f". {best.algorithm} has less, {_tell_regret(best)}, and is outside in "
        said += f"{number(best.outside)} of {T:,} rounds"
    return f"{said}."


def _tell_safest(inside: Sequence[Row]) -> str:
    safest = min(inside, key=_regret)
    said = f"; of these {safest.algorithm} has the least regret, {_tell_regret(safest)}"
    blind = [row for row in inside if not _knows_the_set(row)]
    if not blind or not _knows_the_set(safest):
        return said
    first = min(blind, key=_regret)
    return (
        f"{said} (it is given the feasible set; of those that see g alone {first.algorithm} has "
        f"{_tell_regret(first)})"
    )


def _knows_the_set(row: Row) -> bool:
    """Return whether it asks more of the feasible set than g at the action that is played."""
    oracle = row.facts.oracle
    return oracle is not None and any(getattr(oracle, name) for name in _ORACLES)


def _regret(row: Row) -> float:
    return mean_std(row, "regret")[0]


def _tell_regret(row: Row) -> str:
    mean, std = mean_std(row, "regret")
    return mean_and_spread(mean, std if row.trials > 1 else None)


# --- what was published --------------------------------------------------------------------------


def judge_figures(claims: Sequence[Claim]) -> str:
    """Return the verdict on each figure that was to be reproduced, in a sentence.

    >>> judge_figures([Claim(figure="1a", statement="", verdict="reproduced")])
    'Figure 1a is reproduced.'
    """
    gravest: dict[str, str] = {}
    for claim in claims:
        known = gravest.setdefault(claim.figure, claim.verdict)
        gravest[claim.figure] = min(known, claim.verdict, key=_gravity)
    groups: dict[str, list[str]] = {}
    for figure, verdict in gravest.items():
        groups.setdefault(verdict, []).append(figure)
    # The best first: what holds, then what does not.
    parts = [
        f"Figure{'s' * (len(figures) > 1)} {enumerate_words(figures)} "
        f"{'are' if len(figures) > 1 else 'is'} {verdict}"
        for verdict, figures in sorted(groups.items(), key=lambda item: -_gravity(item[0]))
    ]
    return f"{enumerate_words(parts)}." if parts else ""


def _gravity(verdict: str) -> int:
    """Return 0 for the gravest; a word of another version is as good as any."""
    return CLAIM_WORDS.index(verdict) if verdict in CLAIM_WORDS else len(CLAIM_WORDS)

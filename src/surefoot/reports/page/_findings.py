"""The first screen: what was asked, who stayed inside, who was best, what was not reproduced."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from surefoot.experiments.notes import NOT_REPRODUCED, OTHER_CONSTANTS, Claim, Story
from surefoot.experiments.rows import Row, mean_std, problems
from surefoot.reports.page._claims import claims_sentence
from surefoot.reports.page._format import escape, mean_and_spread, number
from surefoot.reports.page._verdicts import enumerated

__all__ = ["findings_list", "settings_legend", "story_block"]

_MOST = 4
"""Problems of which the first screen tells; the tables have all."""


def story_block(story: Story | None, rows: Sequence[Row]) -> str:
    """Return the publication and the question, or the question of any comparison."""
    if story is not None:
        link = escape(story.link)
        named = f'<a href="{link}" rel="noreferrer">{escape(story.paper)}</a>' if link else ""
        paper = f"<p><strong>The paper.</strong> {named or escape(story.paper)}</p>"
        return f"{paper}<p><strong>The question.</strong> {escape(story.question)}</p>"
    shown = problems(rows)
    where = escape(shown[0]) if len(shown) == 1 else f"{len(shown)} problems"
    return (
        "<p><strong>The question.</strong> Which algorithms keep the constraint in every round on "
        f"{where}, and what does that cost them in regret?</p>"
    )


def findings_list(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """Return who stayed inside and who was best on each problem, and what was not reproduced."""
    figures = claims_sentence(claims)
    found = [f"<strong>Figures</strong>: {escape(figures)}"] if figures else []
    found += [*_not_reproduced(claims), *_by_problem(rows)]
    return f'<ul class="findings">{"".join(f"<li>{one}</li>" for one in found)}</ul>'


def _by_problem(rows: Sequence[Row]) -> Iterator[str]:
    shown = problems(rows)
    for name in shown[:_MOST]:
        played = [r for r in rows if r.problem == name and r.played and "worst" in r.arrays]
        if not played:
            yield f"<strong>{escape(name)}</strong>: nothing was played to the end."
            continue
        T = max(row.horizon for row in played)
        last = [r for r in played if r.horizon == T and math.isfinite(_regret(r))]
        inside = [row for row in last if float(row.arrays["worst"].max()) <= 0]
        said = (
            f"<strong>{escape(name)}</strong>, {T:,} rounds: {len(inside)} of {len(last)} "
            "algorithms stayed inside in every round of every trial"
        )
        best = min(last, key=_regret, default=None)
        if inside:
            safest = min(inside, key=_regret)
            said += f"; of these <strong>{escape(safest.algorithm)}</strong> has the least regret"
            said += f", {_told(safest)}"
            blind = [row for row in inside if not _knows_the_set(row)]
            if _knows_the_set(safest) and blind:
                first = min(blind, key=_regret)
                said += (
                    f" (it is given the feasible set; of those that see g alone "
                    f"<strong>{escape(first.algorithm)}</strong> has {_told(first)})"
                )
        if best is not None and best not in inside:
            outside = number(best.outside)
            said += (
                f". {escape(best.algorithm)} has less, {_told(best)}, and is outside in "
                f"{outside} of {T:,} rounds"
            )
        yield f"{said}."
    if len(shown) > _MOST:
        yield f"{len(shown) - _MOST} more problems are in the tables."


_ORACLES = (
    *("projections", "linear_minimisations", "separations", "gauges", "proxes"),
    *("smooth_queries", "inner_solves"),
)


def _knows_the_set(row: Row) -> bool:
    """Return whether it asks more of the feasible set than g at the action that is played."""
    oracle = row.facts.oracle
    return oracle is not None and any(getattr(oracle, name) for name in _ORACLES)


def _regret(row: Row) -> float:
    return mean_std(row, "regret")[0]


def _told(row: Row) -> str:
    mean, std = mean_std(row, "regret")
    return escape(mean_and_spread(mean, std if row.trials > 1 else None))


def _not_reproduced(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield what is not as published, with the reason; what a figure says as a whole comes last."""
    kinds = ((NOT_REPRODUCED, "Not reproduced"), (OTHER_CONSTANTS, "Only with other constants"))
    for verdict, words in kinds:
        parts = [c for c in claims if c.verdict == verdict and c.published]
        parts = [c for c in parts if all(T.isdecimal() for T in c.published)]
        for claim in parts:
            at = enumerated([f"{int(T):,}" for T in sorted(claim.published, key=int)])
            tried = f" (what was tried, at T = {at}: {claim.reason})" if claim.reason else ""
            yield (
                f"<strong>{words}</strong>: Figure {escape(claim.figure)}, "
                f"{escape(claim.statement)}{_numbers(claim)}{escape(tried)}."
            )


def _numbers(claim: Claim) -> str:
    """Return the last published number beside the measured one."""
    both = [T for T in claim.published if claim.measured.get(T) is not None]
    if not both:
        return ""
    T = max(both, key=int)
    published, measured = number(claim.published[T]), number(claim.measured[T])
    return f": {escape(published)} published, {escape(measured)} measured at T = {int(T):,}"


def settings_legend(story: Story | None) -> str:
    """Return what each setting of the constants means; empty without a story."""
    if story is None or not story.settings:
        return ""
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(meaning)}</dd></div>"
        for name, meaning in story.settings
    )
    return f'<dl class="legend" aria-label="The settings of the constants">{rows}</dl>'

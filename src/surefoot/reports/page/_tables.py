"""The page's tables of verdicts and numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from surefoot.experiments.rows import Row, mean_std, problems
from surefoot.reports.page._format import escape, horizons, mean_and_spread, number, seconds
from surefoot.reports.page._html import Cell, Column, badge, html_table, number_cell, text_cell
from surefoot.reports.page._verdicts import BADGES, Pair, word_of
from surefoot.reports.rates import Fit

__all__ = ["effort_table", "rates_table", "results_table", "verdict_table"]


_NAMES = (Column("Algorithm"), Column("Problem"))
_PLACE = (*_NAMES, Column("T", "number of rounds", True))


def _names(of: Pair | Row | Fit) -> list[Cell]:
    return [text_cell(of.algorithm), text_cell(of.problem)]


def _place(row: Row) -> list[Cell]:
    return [*_names(row), Cell(f"{row.horizon:,}", row.horizon)]


def verdict_table(pairs: Sequence[Pair]) -> str:
    """Return what became of every algorithm's guarantee on every problem, and why."""
    columns = [
        *_NAMES,
        Column("Promised", "the theorem, and what it promises of the constraint"),
        Column("Verdict", "whether that was kept, at the worst of its horizons"),
        Column(
            "Rounds outside",
            "mean number of rounds with g > 0, without tolerance, at that horizon; a promise about "
            "sums allows some",
            True,
        ),
        Column("In words"),
    ]
    body = []
    for pair in pairs:
        words = escape(pair.sentence)
        if pair.others:
            words += f'<small class="aside">{escape(pair.others)}</small>'
        claimed = escape(pair.guarantee) or "–"
        if pair.kind:
            claimed += f'<small class="aside">{escape(pair.kind)}</small>'
        shown = Cell(badge(pair.word, pair.badge))
        body.append([*_names(pair), Cell(claimed), shown, _outside(pair), Cell(words)])
    counts = Counter(pair.word for pair in pairs)
    chips = "".join(
        f'<li><button type="button" data-filter="{escape(BADGES[word])}" aria-pressed="false">'
        f"{badge(word)} {counts[word]}</button></li>"
        for word in BADGES
        if counts[word]
    )
    chosen = f'<ul class="chips" aria-label="Show only" hidden>{chips}</ul>' if chips else ""
    return chosen + html_table("verdicts", "Verdicts", columns, body)


def _outside(pair: Pair) -> Cell:
    if pair.outside is None:
        return Cell("–")
    return Cell(escape(f"{number(pair.outside)} of {pair.horizon:,}"), pair.outside)


def results_table(rows: Sequence[Row]) -> str:
    """Return regret and every measure of violation, for each horizon."""
    columns = [
        *_PLACE,
        Column("Promised", "what the theorem promises of the constraint"),
        Column("Verdict", "whether that was kept"),
        Column("Rounds outside", "mean number of rounds with g > 0, without tolerance", True),
        Column("max g", "the worst round of the worst trial; at most 0 is feasible", True),
        Column(
            "Regret", "upper end of the regret's interval: mean ± standard deviation", numeric=True
        ),
        Column("Trials", "over which means and deviations are taken", True),
        Column("Bound", "what the theorem allows at T", True),
        Column("Share of bound", "the largest regret of a trial over the bound", True),
        Column("Σ[g]₊", "what was violated, summed: mean ± standard deviation", True),
        Column("[Σg]₊", "violations with slack counted against them", True),
        Column("Σg", "the same with its sign", True),
        Column("Σ[g]₊²", "violations squared and summed", True),
        Column("First violation", "the earliest round with g > 0 of any trial", True),
        Column("Feasible from", "from this round on no trial has g > 0", True),
        Column("Comparator gap", "how far the comparator's cost may be from the best", True),
    ]
    body = map(_result, longest_first(rows))
    return html_table("results", "Regret and violation", columns, body)


def longest_first(rows: Sequence[Row]) -> list[Row]:
    """Return rows by problem, the longest horizon first."""
    place = {name: i for i, name in enumerate(problems(rows))}
    return sorted(rows, key=lambda row: (place[row.problem], -row.horizon, row.number))


def _result(row: Row) -> list[Cell]:
    share = row.facts.regret_share
    return [
        *_place(row),
        text_cell(row.promise or "–"),
        Cell(badge(word_of(row))),
        _spread(row, "count"),
        _if_known(row, "worst", lambda seen: number_cell(np.max(seen))),
        _spread(row, "regret"),
        Cell(f"{row.trials:,}", row.trials),
        number_cell(row.regret_bound),
        Cell("–" if share is None else f"{number(100 * share, 3)} %", share),
        *(_spread(row, name) for name in ("hard", "soft", "sum_g", "squared")),
        _if_known(row, "first_violation", _first),
        _if_known(row, "feasible_from", lambda seen: _feasible(int(seen.max()), row.horizon)),
        _gap(row),
    ]


def _if_known(row: Row, name: str, cell: Callable[[np.ndarray], Cell]) -> Cell:
    return cell(row.arrays[name]) if row.played and name in row.arrays else Cell("–")


def _spread(row: Row, name: str) -> Cell:
    def cell(_: np.ndarray) -> Cell:
        mean, std = mean_std(row, name)
        return Cell(escape(mean_and_spread(mean, std if row.trials > 1 else None)), mean)

    return _if_known(row, name, cell)


def _first(seen: np.ndarray) -> Cell:
    if not (seen > 0).any():
        return Cell("never", math.inf)
    return number_cell(seen[seen > 0].min())


def _feasible(last: int, horizon: int) -> Cell:
    return Cell("not by the end", math.inf) if last > horizon else number_cell(last)


def _gap(row: Row) -> Cell:
    comparator = row.facts.comparator
    if comparator is None:
        return Cell("–")
    return Cell("exact", 0.0) if comparator.exact else number_cell(comparator.gap)


_ORACLE = {
    "cost_gradients": "Cost gradients",
    "constraint_values": "Constraint values",
    "projections": "Projections",
    "constraint_subgradients": "Constraint subgradients",
    "linear_minimisations": "Linear minimisations",
    "inner_solves": "Inner solves",
}


def effort_table(rows: Sequence[Row]) -> str:
    """Return what a run costs: time and calls of each oracle."""
    columns = [
        *_PLACE,
        Column("Time", "of all trials together, on the machine named below", numeric=True),
        Column("µs per round", "of one trial", numeric=True),
        *(Column(title, "in one run, as declared", True) for title in _ORACLE.values()),
        Column("Engine"),
    ]
    body = []
    for row in longest_first(rows):
        if not row.played:
            continue
        time, oracle = row.provenance.get("seconds"), row.facts.oracle
        body.append(
            [
                *_place(row),
                Cell(escape(seconds(time)), time),
                number_cell(row.provenance.get("microseconds_a_round")),
                *(number_cell(oracle and getattr(oracle, name)) for name in _ORACLE),
                text_cell(row.facts.engine or "–"),
            ]
        )
    return html_table("effort", "Time and oracle calls", columns, body)


def rates_table(fits: Sequence[Fit], rows: Sequence[Row]) -> str:
    """Return the power of T with which regret grows, beside the power that is promised."""
    columns = [
        *_NAMES,
        Column("Exponent", "slope of log regret against log T", True),
        Column("95 % interval", "", True),
        Column("Promised", "the power of T in the theorem's bound, logarithms aside", True),
        Column("Horizons", "those that were fitted"),
        Column("Fitted to", "or why nothing could be fitted"),
    ]
    promised = {(row.problem, row.algorithm): row.regret_exponent for row in rows}
    body = []
    for fit in fits:
        slope = None if fit.rate is None else fit.rate.slope
        between = Cell("–")
        if fit.rate is not None:
            ends = f"{number(fit.rate.low, 3)} to {number(fit.rate.high, 3)}"
            between = Cell(escape(ends), fit.rate.low)
        body.append(
            [
                *_names(fit),
                Cell(escape(number(slope, 3)), slope),
                between,
                number_cell(promised.get((fit.problem, fit.algorithm))),
                text_cell(horizons(fit.horizons)),
                text_cell(fit.reason),
            ]
        )
    return html_table("rates", "Rates", columns, body)

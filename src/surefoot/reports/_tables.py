"""The page's tables, as HTML that reads without a script and sorts with one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.reports._verdicts import BADGES, Pair, word_of
from surefoot.reports._words import escape, horizons, mean_and_spread, number, seconds
from surefoot.reports.rates import Fit
from surefoot.results.record import Facts, Sourced
from surefoot.results.rows import Row, mean_std

__all__ = [
    "badge",
    "claims_table",
    "constants_block",
    "effort_table",
    "rates_table",
    "results_table",
    "verdict_table",
]


class _Column(NamedTuple):
    """A column: its title, what it means, and whether it holds numbers."""

    title: str
    meaning: str = ""
    numeric: bool = False


class _Cell(NamedTuple):
    """What a cell shows, as HTML, and the number by which it is sorted (None: by its text)."""

    html: str
    value: float | None = None


def badge(word: str, text: str | None = None) -> str:
    """A verdict that is told by its words and its sign, not by its colour alone."""
    slug = word.replace(" ", "-") if word in BADGES else "other"
    return f'<span class="badge {slug}">{escape(text or BADGES.get(word, word))}</span>'


def _table(
    name: str, caption: str, columns: Sequence[_Column], body: Iterable[Sequence[_Cell]]
) -> str:
    """A table that sorts by each of its columns; the first is the row's header."""
    heads = "".join(
        f'<th scope="col" aria-sort="none"{" class=n" if c.numeric else ""}>'
        f'<button type="button">{escape(c.title)}</button></th>'
        for c in columns
    )
    lines = []
    for cells in body:
        parts = []
        for i, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            kind = " class=n" if column.numeric else ""
            value = "" if not column.numeric else f' data-v="{_sort_key(cell.value)}"'
            tag, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
            parts.append(f"<{tag}{scope}{kind}{value}>{cell.html}</{tag}>")
        lines.append(f"<tr>{''.join(parts)}</tr>")
    if not lines:
        return f"<p>{escape(caption)}: there is nothing to show yet.</p>"
    meanings = "".join(
        f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>" for c in columns if c.meaning
    )
    legend = (
        f"<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>"
        if meanings
        else ""
    )
    return (
        f'<div class="filter" hidden><label for="filter-{name}">Only rows with</label>'
        f'<input type="search" id="filter-{name}" data-table="{name}" autocomplete="off">'
        f'<output for="filter-{name}">{len(lines):,} rows</output></div>'
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table id="{name}" class="sortable"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{_joined(lines)}</tbody></table></div>{legend}"
    )


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _sort_key(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(float(value))


def _text(value: Any) -> _Cell:
    return _Cell(escape(value))


def _number(value: Any, none: str = "–") -> _Cell:
    shown = None if value is None else float(value)
    return _Cell(escape(number(value, none=none)), shown)


# --- verdicts and claims -------------------------------------------------------------------------


def verdict_table(pairs: Sequence[Pair]) -> str:
    """Every algorithm on every problem: what became of its guarantee, and why."""
    columns = [
        _Column("Algorithm"),
        _Column("Problem"),
        _Column("Verdict", "of the worst of its horizons"),
        _Column("In words"),
        _Column("Claimed", "the theorem, and what it promises of the constraint"),
    ]
    body = []
    for pair in pairs:
        words = escape(pair.sentence)
        if pair.others:
            words += f'<small class="aside">{escape(pair.others)}</small>'
        claimed = escape(pair.guarantee) or "–"
        if pair.kind:
            claimed += f'<small class="aside">{escape(pair.kind)}</small>'
        shown = badge(pair.word, pair.badge)
        body.append(
            [_text(pair.algorithm), _text(pair.problem), _Cell(shown), _Cell(words), _Cell(claimed)]
        )
    counts = Counter(pair.word for pair in pairs)
    chips = "".join(
        f'<li><button type="button" data-filter="{escape(BADGES[word])}" aria-pressed="false">'
        f"{badge(word)} {counts[word]}</button></li>"
        for word in BADGES
        if counts[word]
    )
    chosen = f'<ul class="chips" aria-label="Show only" hidden>{chips}</ul>' if chips else ""
    return chosen + _table("verdicts", "Verdicts", columns, body)


def claims_table(claims: Sequence[dict[str, Any]]) -> str:
    """What was published beside what was measured."""
    signs = {
        "reproduced": "held",
        "reproduced only with other constants than stated": "premise broken",
        "not reproduced": "failed",
    }
    lines = []
    for claim in claims:
        verdict = str(claim.get("verdict", ""))
        settings = str(claim.get("settings") or "")
        aside = f'<small class="aside">{escape(settings)}</small>' if settings else ""
        lines.append(
            f'<tr><th scope="row">{escape(claim.get("figure", ""))}</th>'
            f"<td>{escape(claim.get('statement', ''))}{aside}</td>"
            f"<td>{_published(claim)}</td>"
            f"<td>{badge(signs.get(verdict, ''), verdict)}"
            f'<small class="aside">{escape(claim.get("reason") or "")}</small></td></tr>'
        )
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Published and measured">'
        '<table id="claims"><caption>Published and measured</caption><thead><tr>'
        '<th scope="col">Figure</th><th scope="col">Statement and setting measured</th>'
        '<th scope="col">Numbers</th><th scope="col">Verdict</th></tr></thead>\n'
        f"<tbody>{_joined(lines)}</tbody></table></div>"
    )


def _published(claim: dict[str, Any]) -> str:
    published, measured = claim.get("published") or {}, claim.get("measured") or {}
    keys = sorted({*published, *measured}, key=lambda T: (not str(T).isdigit(), _as_int(T), str(T)))
    if not keys:
        return "–"
    lines = "".join(
        f'<tr><th scope="row" class=n>{escape(_with_commas(T))}</th>'
        f"<td class=n>{escape(number(published.get(T)))}</td>"
        f"<td class=n>{escape(number(measured.get(T)))}</td></tr>"
        for T in keys
    )
    return (
        '<table class="inner"><thead><tr><th scope="col">T</th><th scope="col">published</th>'
        f'<th scope="col">measured</th></tr></thead><tbody>{lines}</tbody></table>'
    )


def _as_int(T: Any) -> int:
    return int(T) if str(T).isdigit() else 0


def _with_commas(T: Any) -> str:
    return f"{int(T):,}" if str(T).isdigit() else str(T)


# --- numbers -------------------------------------------------------------------------------------


def results_table(rows: Sequence[Row]) -> str:
    """Regret and every measure of violation, for each horizon."""
    columns = [
        _Column("Algorithm"),
        _Column("Problem"),
        _Column("T", "number of rounds", True),
        _Column("Trials", "over which means and standard deviations are taken", True),
        _Column("Verdict"),
        _Column(
            "Regret", "upper end of the regret's interval: mean ± standard deviation", numeric=True
        ),
        _Column("Bound", "what the theorem allows at T", True),
        _Column("Share of bound", "the largest regret of a trial over the bound", True),
        _Column("Σ[g]₊", "what was violated, summed: mean ± standard deviation", True),
        _Column("[Σg]₊", "violations with slack counted against them", True),
        _Column("Σg", "the same with its sign", True),
        _Column("Σ[g]₊²", "violations squared and summed", True),
        _Column("max g", "the worst round of the worst trial; at most 0 is feasible", True),
        _Column("Rounds violated", "mean number of rounds with g > 0, without tolerance", True),
        _Column("First violation", "the earliest round with g > 0 of any trial", True),
        _Column("Feasible from", "from this round on no trial has g > 0", True),
        _Column("Comparator gap", "how far the comparator's cost may be from the best", True),
    ]
    return _table("results", "Regret and violation", columns, map(_result, rows))


def _result(row: Row) -> list[_Cell]:
    share = row.facts.regret_share
    cells = [
        _text(row.algorithm),
        _text(row.problem),
        _Cell(f"{row.horizon:,}", row.horizon),
        _Cell(f"{row.trials:,}", row.trials),
        _Cell(badge(word_of(row))),
        _spread(row, "regret"),
        _number(row.regret_bound),
        _Cell("–" if share is None else f"{number(100 * share, 3)} %", share),
    ]
    cells += [_spread(row, name) for name in ("hard", "soft", "sum_g", "squared")]
    return [
        *cells,
        _extreme(row, "worst"),
        _spread(row, "count"),
        _first(row),
        _feasible(row),
        _gap(row),
    ]


def _spread(row: Row, name: str) -> _Cell:
    if name not in row.arrays or not row.played:
        return _Cell("–")
    mean, std = mean_std(row, name)
    return _Cell(escape(mean_and_spread(mean, std if row.trials > 1 else None)), mean)


def _extreme(row: Row, name: str) -> _Cell:
    if name not in row.arrays or not row.played:
        return _Cell("–")
    return _number(np.max(row.arrays[name]))


def _first(row: Row) -> _Cell:
    if "first_violation" not in row.arrays or not row.played:
        return _Cell("–")
    seen = row.arrays["first_violation"]
    if not (seen > 0).any():
        return _Cell("never", math.inf)
    return _number(seen[seen > 0].min())


def _feasible(row: Row) -> _Cell:
    if "feasible_from" not in row.arrays or not row.played:
        return _Cell("–")
    last = int(row.arrays["feasible_from"].max())
    return _Cell("not by the end", math.inf) if last > row.horizon else _number(last)


def _gap(row: Row) -> _Cell:
    comparator = row.facts.comparator
    if comparator is None:
        return _Cell("–")
    return _Cell("exact", 0.0) if comparator.exact else _number(comparator.gap)


_ORACLE = {
    "cost_gradients": "Cost gradients",
    "constraint_values": "Constraint values",
    "constraint_subgradients": "Constraint subgradients",
    "projections": "Projections",
    "linear_minimisations": "Linear minimisations",
    "inner_solves": "Inner solves",
}


def effort_table(rows: Sequence[Row]) -> str:
    """What a run costs: time and calls of each oracle."""
    columns = [
        _Column("Algorithm"),
        _Column("Problem"),
        _Column("T", "number of rounds", True),
        _Column("Engine"),
        _Column("Time", "of all trials together, on the machine named below", numeric=True),
        _Column("µs a round", "of one trial", numeric=True),
        *(_Column(title, "in one run", True) for title in _ORACLE.values()),
        _Column(
            "Calls are",
            "counted while playing, or multiplied out from what the algorithm declares, inner "
            "solves then being the most there can be",
        ),
    ]
    body = []
    for row in rows:
        if not row.played:
            continue
        time, oracle = row.provenance.get("seconds"), row.facts.oracle
        body.append(
            [
                _text(row.algorithm),
                _text(row.problem),
                _Cell(f"{row.horizon:,}", row.horizon),
                _text(row.facts.engine or "–"),
                _Cell(escape(seconds(time)), time),
                _number(row.provenance.get("microseconds_a_round")),
                *(_number(getattr(oracle, name, None)) for name in _ORACLE),
                _text("counted" if oracle is not None and oracle.counted else "declared"),
            ]
        )
    return _table("effort", "Time and oracle calls", columns, body)


def rates_table(fits: Sequence[Fit], rows: Sequence[Row]) -> str:
    """At which power of T regret grows, beside the power that is promised."""
    columns = [
        _Column("Algorithm"),
        _Column("Problem"),
        _Column("Exponent", "slope of log regret against log T", True),
        _Column("95 % interval", "", True),
        _Column("Promised", "the power of T in the theorem's bound, logarithms aside", True),
        _Column("Horizons", "those that were fitted"),
        _Column("Fitted to", "or why nothing could be fitted"),
    ]
    promised = {(row.problem, row.algorithm): row.regret_exponent for row in rows}
    body = []
    for fit in fits:
        slope = None if fit.rate is None else fit.rate.slope
        between = _Cell("–")
        if fit.rate is not None:
            ends = f"{number(fit.rate.low, 3)} to {number(fit.rate.high, 3)}"
            between = _Cell(escape(ends), fit.rate.low)
        body.append(
            [
                _text(fit.algorithm),
                _text(fit.problem),
                _Cell(escape(number(slope, 3)), slope),
                between,
                _number(promised.get((fit.problem, fit.algorithm))),
                _text(horizons(fit.horizons)),
                _text(fit.reason),
            ]
        )
    return _table("rates", "Rates", columns, body)


# --- constants and parameters --------------------------------------------------------------------


def constants_block(rows: Sequence[Row]) -> str:
    """Every constant and parameter with its origin, folded by problem and algorithm."""
    grouped: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row.facts.constants or row.facts.parameters:
            grouped.setdefault(row.problem, {}).setdefault(row.algorithm, []).append(row)
    if not grouped:
        return "<p>Nothing was played, so nothing was used.</p>"
    parts = []
    for problem, players in grouped.items():
        inner = "".join(
            f"<details><summary>{escape(algorithm)}</summary>{_used(own)}</details>"
            for algorithm, own in players.items()
        )
        first = next(iter(players.values()))[0].facts.problem
        size = [f"{first.dimension} dimensions"] if first is not None else []
        size += [f"{first.rows} rows of the constraint"] if first is not None and first.rows else []
        aside = f" <small>{escape(', '.join(size))}</small>" if size else ""
        parts.append(
            f'<details class="outer"><summary><strong>{escape(problem)}</strong>{aside}</summary>'
            f"{inner}</details>"
        )
    return "".join(parts)


def _used(rows: list[Row]) -> str:
    rows = sorted(rows, key=lambda row: row.horizon)
    guarantee = next((r.facts.guarantee for r in rows if r.facts.guarantee), None)
    said = "<p>Nothing is claimed.</p>"
    if guarantee:
        premises = "".join(f"<li>{escape(p)}</li>" for p in guarantee.premises)
        said = f"<p>{escape(guarantee.name)} ({escape(guarantee.kind)})"
        said += f", which rests on:</p><ul>{premises}</ul>" if premises else "</p>"
    lines = []
    for kind in ("constant", "parameter", "bound"):
        every = [_used_as(kind, row.facts) for row in rows]
        for name in dict.fromkeys(name for known in every for name in known):
            pairs = [known.get(name) for known in every]
            origins = "; ".join(dict.fromkeys(pair.origin for pair in pairs if pair is not None))
            shown = [escape(_amount(pair)) for pair in pairs]
            if len(set(shown)) == 1:
                values = f'<td class=n colspan="{len(rows)}">{shown[0]}</td>'
            else:
                values = "".join(f"<td class=n>{value}</td>" for value in shown)
            lines.append(
                f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{kind}</td>'
                f"<td>{escape(origins)}</td>{values}</tr>"
            )
    heads = "".join(f'<th scope="col" class=n>T = {row.horizon:,}</th>' for row in rows)
    label = escape(f"Constants and parameters of {rows[0].algorithm} on {rows[0].problem}")
    return (
        f'{said}<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
        f'<thead><tr><th scope="col">Name</th><th scope="col">Is a</th>'
        f'<th scope="col">Origin</th>{heads}</tr></thead>\n'
        f"<tbody>{_joined(lines)}</tbody></table></div>"
    )


_BOUNDS = {"round": "g(x_t)", "soft": "[Σg]₊", "hard": "Σ[g]₊", "squared": "Σ[g]₊²", "rows": "Σgᵢ"}


def _used_as(kind: str, facts: Facts) -> dict[str, Sourced]:
    """Return constants, parameters or bounds: values with their origins, by name."""
    if kind == "constant":
        return facts.constants
    if kind == "parameter":
        return facts.parameters
    if facts.guarantee is None:
        return {}
    named = {"regret": facts.guarantee.regret_bound}
    named |= {_BOUNDS.get(m, m): limit for m, limit in facts.guarantee.bounds.items()}
    return {n: Sourced(v, facts.guarantee.name) for n, v in named.items() if v is not None}


def _amount(pair: Sourced | None) -> str:
    return "–" if pair is None else number(pair.value, 6, none="not finite")

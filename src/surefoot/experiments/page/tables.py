"""The page's tables: cells with what sorts them, columns with what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.experiments.page.findings import (
    BADGES,
    SUMS,
    Pair,
    format_spread,
    horizons,
    number,
    word_of,
)
from surefoot.experiments.record import (
    NOT_REPRODUCED,
    OTHER_CONSTANTS,
    REPRODUCED,
    Claim,
    Facts,
    PromiseFacts,
    Sourced,
)
from surefoot.experiments.rows import Fit, Row, mean_std, problems

NONE = "–"


class Column(NamedTuple):
    """A column of a table: its title, what it means, and whether it holds numbers."""

    title: str
    meaning: str = ""
    numeric: bool = False


class Cell(NamedTuple):
    """A cell: its text, the number that sorts it, the look of a badge, and a line below."""

    text: str
    value: float | None = None
    badge: str = ""
    aside: str = ""


class Table(NamedTuple):
    """A table; empty columns are left out."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    @classmethod
    def of(
        cls, name: str, caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]
    ) -> Table:
        """Return a table without empty columns, or a column of one problem."""
        rows = list(rows)
        indices = [
            k
            for k, column in enumerate(columns)
            if any(row[k].text != NONE for row in rows)
            and (column.title != "Problem" or len({row[k].text for row in rows}) > 1)
        ]
        cells = [[row[k] for k in indices] for row in rows]
        return cls(name, caption, [columns[k] for k in indices], cells)


_NAMES = (Column("Algorithm"), Column("Problem"))
_PLACE = (*_NAMES, Column("T", "number of rounds", True))


def _place(row: Row) -> list[Cell]:
    return [Cell(row.algorithm), Cell(row.problem), Cell(f"{row.horizon:,}", row.horizon)]


def _promise(row: Row) -> str:
    return row.promise.replace("<=", "≤") or NONE


def _number_cell(value: Any) -> Cell:
    return Cell(number(value), None if value is None else float(value))


def _badge_cell(word: str, kind: str, text: str = "", aside: str = "") -> Cell:
    """Return a verdict, readable by its words; a promise about a sum looks different."""
    look = word.replace(" ", "-") + " sum" * (kind in SUMS)
    return Cell(text or BADGES[word], badge=look, aside=aside)


def verdict_table(pairs: Sequence[Pair]) -> Table:
    """Return the verdict on every algorithm's guarantee on every problem, and why."""
    columns = [
        Column("Algorithm"),
        Column("Verdict", "whether its promise was kept, at the horizon with the gravest verdict"),
        Column("Promised", "what the theorem promises of the constraint"),
        Column("Observed", "the theorem that bounds the regret by what was played"),
        Column("In advance", "the theorem that bounds the regret before the first round"),
        Column(
            "Violations",
            "mean number of rounds with g > 0, without tolerance, at that horizon; a promise about "
            "sums allows some",
            True,
        ),
        Column("Regret", "at that horizon: mean ± standard deviation", True),
    ]
    several = len({pair.problem for pair in pairs}) > 1
    body = [_verdict_row(pair, pair.problem if several else "") for pair in pairs]
    return Table.of("verdicts", "Verdicts", columns, body)


def _verdict_row(pair: Pair, where: str) -> list[Cell]:
    row = pair.row
    promised = Cell(NONE) if row is None else Cell(_promise(row), aside=row.guarantee.name)
    why = "" if pair.word in ("held", "not claimed") else pair.sentence
    aside = "; ".join(part for part in (why, pair.others) if part)
    violations = None if row is None else row.violations
    return [
        Cell(pair.algorithm, aside=where),
        _badge_cell(pair.word, "" if row is None else row.guarantee.kind, pair.badge, aside),
        promised,
        _part(None if row is None else row.guarantee.observed),
        _in_advance(row),
        Cell(NONE)
        if violations is None
        else Cell(f"{number(violations)} of {pair.horizon:,}", violations),
        Cell(NONE) if row is None else _spread(row, "regret"),
    ]


def _in_advance(row: Row | None) -> Cell:
    """Return the theorem that bounds the regret in advance, and the worth of its bound."""
    if row is None or row.guarantee.in_advance is None:
        return Cell(NONE)
    return Cell(row.guarantee.in_advance.theorem, aside=row.guarantee.worth)


def results_table(rows: Sequence[Row]) -> Table:
    """Return regret, every measure of violation and time, the longest horizon first."""
    columns = [
        *_PLACE,
        Column("Promised", "what the theorem promises of the constraint"),
        Column("Verdict", "whether that was kept"),
        Column("Violations", "mean number of rounds with g > 0, without tolerance", True),
        Column("max g", "the largest g of all rounds and trials; at most 0 is feasible", True),
        Column("Regret", "upper end of the regret's interval: mean ± standard deviation", True),
        Column("Trials", "over which means and deviations are taken", True),
        Column("Bound", "what the theorem allows at T", True),
        Column("Regret / bound", "the largest regret of a trial over the bound", True),
        Column("Σ[g]₊", "the sum of violations (sum_positive): mean ± standard deviation", True),
        Column("[Σg]₊", "the sum of g, at least 0 (positive_sum): slack counts against it", True),
        Column("Σg", "the sum of g with its sign (sum)", True),
        Column("Σ[g]₊²", "the sum of squared violations (sum_squared)", True),
        Column("First violation", "the earliest round with g > 0 of any trial", True),
        Column("Feasible from", "from this round on no trial has g > 0", True),
        Column("Comparator gap", "how far the comparator's cost may be from the best", True),
        Column("Seconds", "of all trials together, on the machine named below", True),
        Column("µs per round", "of one trial", True),
        Column("Engine", "the engine that played it"),
    ]
    place = {name: i for i, name in enumerate(problems(rows))}
    rows = sorted(rows, key=lambda row: (place[row.problem], -row.horizon, row.number))
    return Table.of("results", "Regret, violation and time", columns, map(_result, rows))


def _result(row: Row) -> list[Cell]:
    comparator = row.facts.comparator
    exact = comparator is not None and comparator.exact
    return [
        *_place(row),
        Cell(_promise(row)),
        _badge_cell(word_of(row), row.guarantee.kind),
        _spread(row, "violations"),
        _if_known(row, "largest", lambda values: _number_cell(np.max(values))),
        _spread(row, "regret"),
        Cell(f"{row.trials:,}", row.trials),
        _number_cell(row.guarantee.regret_bound)._replace(aside=row.guarantee.worth),
        _share(row),
        *(_spread(row, name) for name in ("sum_positive", "positive_sum", "sum", "sum_squared")),
        _if_known(row, "first_violation", _first),
        _if_known(row, "feasible_from", lambda values: _feasible(int(values.max()), row.horizon)),
        Cell("exact", 0.0) if exact else _number_cell(comparator and comparator.gap),
        _number_cell(row.provenance.get("seconds")),
        _number_cell(row.provenance.get("microseconds_a_round")),
        Cell(row.facts.engine or NONE),
    ]


def _share(row: Row) -> Cell:
    """Return the regret over the bound; "trivial" where every rule keeps it."""
    share = row.facts.regret_share
    if row.guarantee.worth and row.guarantee.in_advance is not None:
        return Cell("trivial")
    return Cell(NONE if share is None else f"{number(100 * share, 3)} %", share)


def _part(part: PromiseFacts | None) -> Cell:
    """Return the theorem of a part of a promise."""
    return Cell(NONE if part is None else part.theorem)


def _if_known(row: Row, name: str, cell: Callable[[np.ndarray], Cell]) -> Cell:
    return cell(row.arrays[name]) if row.played and name in row.arrays else Cell(NONE)


def _spread(row: Row, name: str) -> Cell:
    return _if_known(row, name, lambda _: Cell(format_spread(row, name), mean_std(row, name)[0]))


def _first(rounds: np.ndarray) -> Cell:
    return _number_cell(rounds[rounds > 0].min()) if (rounds > 0).any() else Cell("never", math.inf)


def _feasible(last: int, horizon: int) -> Cell:
    return Cell("not by the end", math.inf) if last > horizon else _number_cell(last)


def rates_table(fits: Sequence[Fit], rows: Sequence[Row]) -> Table:
    """Return the power of T with which regret grows, beside the power that is promised."""
    columns = [
        *_NAMES,
        Column("Exponent", "slope of log regret against log T", True),
        Column("95 % interval", "", True),
        Column("Promised", "the power of T in the theorem's bound, logarithms aside", True),
        Column("Horizons", "those that were fitted"),
        Column("Fitted to", "or why nothing could be fitted"),
    ]
    promised = {(row.problem, row.algorithm): row.guarantee.regret_exponent for row in rows}
    body = []
    for fit in fits if any(fit.rate is not None for fit in fits) else ():
        slope = interval = Cell(NONE)
        if fit.rate is not None:
            slope = Cell(number(fit.rate.slope, 3), fit.rate.slope)
            ends = number(fit.rate.low, 3), number(fit.rate.high, 3)
            interval = Cell(" to ".join(ends), fit.rate.low)
        bound = _number_cell(promised.get((fit.problem, fit.algorithm)))
        place = Cell(fit.algorithm), Cell(fit.problem)
        body.append(
            [*place, slope, interval, bound, Cell(horizons(fit.horizons)), Cell(fit.reason)]
        )
    return Table.of("rates", "Rates", columns, body)


_SIGNS = {REPRODUCED: "held", OTHER_CONSTANTS: "premise-broken", NOT_REPRODUCED: "failed"}
"""The badge of a verdict on a figure."""


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return what was published beside what was measured, a row per number."""
    columns = [
        Column("Figure"),
        Column("Statement", "and the setting that was measured"),
        Column("T", "number of rounds", True),
        Column("Published", "", True),
        Column("Measured", "", True),
        Column("Verdict"),
    ]
    body = []
    for claim in claims:
        verdict = Cell(claim.verdict, None, _SIGNS[claim.verdict], claim.reason)
        statement = Cell(claim.statement, aside=claim.settings)
        for T in sorted({*claim.published, *claim.measured}, key=_by_horizon) or [NONE]:
            rounds = Cell(f"{int(T):,}", int(T)) if T.isdecimal() else Cell(T)
            numbers = (_number_cell(d.get(T)) for d in (claim.published, claim.measured))
            body.append([Cell(claim.figure), statement, rounds, *numbers, verdict])
    return Table.of("claims", "Published and measured", columns, body)


def _by_horizon(T: str) -> tuple[bool, int, str]:
    return not T.isdecimal(), int(T) if T.isdecimal() else 0, T


# --- constants -----------------------------------------------------------------------------------


_BOUNDS = {
    "round": "g(x_t)",
    "violations": "violations",
    "positive_sum": "[Σg]₊",
    "sum_positive": "Σ[g]₊",
    "sum_squared": "Σ[g]₊²",
    "rows": "Σgᵢ",
}


def constants_table(problem: str, rows: Sequence[Row], place: int) -> Table:
    """Return every constant, parameter, bound and premise of a problem's rows with its origin.

    Constants that all algorithms share are shown once, premises only for the longest horizon.

    Args:
        problem: its label.
        rows: of all problems.
        place: of the problem on the page, from 0.
    """
    columns = [Column(title) for title in ("Algorithm", "Name", "Is a", "Origin", "Value")]
    group = sorted((r for r in rows if r.problem == problem), key=lambda r: (r.number, r.horizon))
    shared = _shared_constants(row.facts for row in group)
    entries = {("all", "constant", n, one.origin): {0: one.value} for n, one in shared.items()}
    longest = {row.algorithm: row.horizon for row in group}
    for row in group:
        for kind, name, one in _list_numbers(row.facts):
            is_shared = kind == "constant" and name in shared
            is_shown_later = kind == "premise" and row.horizon < longest[row.algorithm]
            if not (is_shared or is_shown_later):
                values = entries.setdefault((row.algorithm, kind, name, one.origin), {})
                values[row.horizon] = one.value
    body = [
        [Cell(algorithm), Cell(name), Cell(kind), Cell(origin), Cell(_at_horizons(values))]
        for (algorithm, kind, name, origin), values in entries.items()
    ]
    return Table.of(f"constants-{place}", f"Constants of {problem}", columns, body)


def _shared_constants(facts: Iterable[Facts]) -> dict[str, Sourced]:
    """Return the constants that are the same wherever there are any."""
    tables = [each.constants for each in facts if each != Facts()]
    first = tables[0] if tables else {}
    return {n: v for n, v in first.items() if all(c.get(n) == v for c in tables)}


def _at_horizons(values: Mapping[int, float | str | bool | None]) -> str:
    """Return a value once, or at each horizon where it changes with it."""
    if len(set(values.values())) == 1:
        return number(next(iter(values.values())), 6)
    return "; ".join(f"{number(value, 6)} at T = {T:,}" for T, value in values.items())


def _list_numbers(facts: Facts) -> Iterator[tuple[str, str, Sourced]]:
    """Yield constants, parameters, bounds and premises: what each is, its name, its value."""
    for name, one in facts.constants.items():
        yield "constant", name, one
    for name, one in facts.parameters.items():
        yield "parameter", name, one
    guarantee = facts.guarantee
    if guarantee is None:
        return
    bounds = {"regret": guarantee.regret_bound, **guarantee.bounds}
    for measure, limit in bounds.items():
        if limit is not None:
            yield "bound", _BOUNDS.get(measure, measure), Sourced(limit, guarantee.name)
    for sentence in guarantee.premises:
        yield "premise", sentence, Sourced(None, guarantee.name)

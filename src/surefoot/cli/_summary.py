"""What came of an experiment, as a table and as plain data, from its results file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli._output import table

if TYPE_CHECKING:
    from surefoot.reports.gather import Row
    from surefoot.results import Results

__all__ = ["COLOURS", "RESULTS", "rows_as_data", "rows_as_table", "write_report"]

RESULTS = "results.sqlite"
COLOURS = {
    "held": "32",
    "reproduced": "32",
    "reproduced only with other constants than stated": "33",
    "premise broken": "33",
    "refused": "33",
    "failed": "31",
    "stopped": "31",
    "set aside": "31",
    "not reproduced": "31",
}
"""Of verdicts, as ANSI has them."""

_HEAD = ("problem", "algorithm", "T", "trials", "regret", "of bound", "rounds g > 0", "largest g")
_RIGHT = _HEAD[2:]


MANY = 60
"""Rows above which a table has those of the longest horizons only."""


def rows_as_table(rows: Sequence[Row]) -> Iterator[str]:
    """One line for each problem, algorithm and horizon, then why some were not played."""
    if not rows:
        yield "nothing has been played yet"
        return
    shown = list(rows)
    if len(rows) > MANY:
        # Of the same problem and algorithm the last one has the longest horizon.
        longest = {(row.problem, row.algorithm): row for row in sorted(rows, key=_horizon)}
        shown = [row for row in rows if longest[row.problem, row.algorithm] is row]
    cut = shown[:MANY]
    lines = [_line(row) for row in cut]
    yield from table((*_HEAD, "verdict"), lines, right=_RIGHT, keys=3, paint=COLOURS)
    if len(cut) < len(rows):
        yield f"{len(cut)} of {len(rows)} rows, longest horizons first; all are in the report"
    notes: dict[tuple[str, str, str], list[str]] = {}
    for row in cut:
        if row.note:
            notes.setdefault((row.problem, row.algorithm, row.note), []).append(str(row.horizon))
    if notes:
        yield ""
    for (problem, algorithm, note), horizons in notes.items():
        yield f"{algorithm} on {problem}, T = {', '.join(horizons)}: {note}"


def _horizon(row: Row) -> int:
    return row.horizon


def _line(row: Row) -> tuple[str, ...]:
    from surefoot.reports.gather import mean_std

    names = (row.problem, row.algorithm, str(row.horizon))
    if not row.played:
        return (*names, "", "", "", "", "", row.status)
    mean, std = mean_std(row, "regret")
    share = row.facts.get("regret_share")
    return (
        *names,
        str(row.trials),
        f"{mean:.4g} ± {std:.2g}" if row.trials > 1 else f"{mean:.4g}",
        "" if share is None else f"{share:.3f}",
        _violating(float(row.arrays["count"].mean())),
        f"{float(row.arrays['worst'].max()):.3g}",
        row.verdict,
    )


def _violating(count: float) -> str:
    return "0" if count == 0 else f"{count:.4g}"


def rows_as_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same with every number, for machines."""
    return [_data(row) for row in rows]


def _data(row: Row) -> dict[str, Any]:
    from surefoot.reports.gather import mean_std

    data: dict[str, Any] = {
        "problem": row.problem,
        "algorithm": row.algorithm,
        "horizon": row.horizon,
        "trials": row.trials,
        "status": row.status,
        "note": row.note,
        "verdict": row.facts.get("verdict"),
        "guarantee": row.facts.get("guarantee"),
        "regret_share": row.facts.get("regret_share"),
        "parameters": row.facts.get("parameters"),
        "constants": row.facts.get("constants"),
        "breaches": row.facts.get("breaches"),
    }
    if row.played:
        mean, std = mean_std(row, "regret")
        arrays = row.arrays
        data["regret"] = {"mean": mean, "std": std if row.trials > 1 else math.nan}
        data["violations"] = {
            "largest": arrays["worst"].max(),
            "rounds": arrays["count"].mean(),
            **{name: arrays[name].mean() for name in ("sum_g", "soft", "hard", "squared")},
            "first": int(min((r for r in arrays["first_violation"].tolist() if r), default=0)),
        }
    return data


def write_report(results: Results, folder: Path) -> tuple[Path, list[Path]]:
    """Figures and page of saved results: where the page is, and where the figures are."""
    from surefoot.reports.figures import save_figures
    from surefoot.reports.page import write_page

    figures = save_figures(results, folder / "figures")
    return write_page(results, folder / "report.html"), figures

"""The results of an experiment as a table and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from surefoot.cli._output import table

if TYPE_CHECKING:
    from surefoot.experiments.rows import Row

__all__ = ["SHORT", "colours", "rows_as_data", "rows_as_table"]

SHORT = "with other constants"
"""The middle verdict on a figure, where a table has no room for all of it."""


@cache
def colours() -> dict[str, str]:
    """Return the colours of verdicts, as ANSI numbers them."""
    from surefoot.experiments.notes import NOT_REPRODUCED, OTHER_CONSTANTS, REPRODUCED

    green, yellow, red = "32", "33", "31"
    return {
        **dict.fromkeys(("held", REPRODUCED), green),
        **dict.fromkeys(
            (OTHER_CONSTANTS, SHORT, "premise broken", "not checked", "refused"), yellow
        ),
        **dict.fromkeys(("failed", "stopped", "set aside", NOT_REPRODUCED), red),
    }


_FACTS = ("verdict", "guarantee", "regret_share", "parameters", "constants", "breaches")

MANY = 60
"""Rows above which a table has those of the longest horizons only."""


def rows_as_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each problem, algorithm and horizon, then why some were not played."""
    if not rows:
        yield "nothing has been played yet"
        return
    from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT
    from surefoot.experiments.rows import problems

    first = {problem: place for place, problem in enumerate(problems(rows))}
    shown = sorted(rows, key=lambda row: (first[row.problem], row.number, row.horizon))
    if len(shown) > MANY:
        longest = {(row.problem, row.algorithm): row for row in shown}
        shown = list(longest.values())[:MANY]
    for problem in first:
        mine = [row for row in shown if row.problem == problem]
        if mine:
            yield f"{problem}, {_trials(mine)}"
            lines = [row.cells for row in mine]
            yield from table(
                RESULT_HEAD, lines, right=RESULT_RIGHT, keys=2, paint=colours(), indent=2
            )
    if len(shown) < len(rows):
        yield f"{len(shown)} of {len(rows)} rows, the longest horizons; all are in the report"
    notes: dict[tuple[str, str], list[Row]] = {}
    for row in shown:
        if row.note:
            notes.setdefault((row.algorithm, row.problem), []).append(row)
    if notes:
        yield ""
    for (algorithm, problem), noted in notes.items():
        horizons = ", ".join(str(row.horizon) for row in noted)
        yield f"{algorithm} on {problem}, T = {horizons}: {noted[-1].note}"


def _trials(rows: Sequence[Row]) -> str:
    numbers = {row.trials for row in rows if row.played}
    if len(numbers) > 1:
        return f"{min(numbers)} to {max(numbers)} trials"
    trials = max(numbers, default=0)
    return f"{trials} trial{'' if trials == 1 else 's'}"


def rows_as_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the same with every number, for programs."""
    return [_data(row) for row in rows]


def _data(row: Row) -> dict[str, Any]:
    from surefoot.experiments.rows import mean_std

    known = row.facts.to_plain()
    data: dict[str, Any] = {
        "problem": row.problem,
        "algorithm": row.algorithm,
        "horizon": row.horizon,
        "trials": row.trials,
        "status": row.status,
        "note": row.note,
        "promised": row.promised,
        **{name: known.get(name) for name in _FACTS},
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

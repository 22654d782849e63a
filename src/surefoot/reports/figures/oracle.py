"""Figures of what a round costs: oracle calls and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from surefoot.experiments.rows import Row
from surefoot.reports.figures._axes import look, number, spread
from surefoot.reports.figures._choice import chosen, last_of
from surefoot.reports.figures._sheet import Width, head, in_style, inches_of, sheet, text_of
from surefoot.reports.style import INK

__all__ = ["oracle_figure"]


_CALLS = {
    "cost_gradients": "cost\ngrad.",
    "constraint_values": "g",
    "constraint_subgradients": "sub-\ngrad.",
    "projections": "proj.",
    "linear_minimisations": "lin.\nmin.",
    "inner_solves": "inner\nsolve",
}


@in_style
def oracle_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    horizon: int | None = None,
    width: Width = "page",
) -> Any:
    """Draw oracle calls per round as a table, and the time per round as bars beside it.

    In a "column" there are the bars alone.
    """

    def usable(row: Row) -> bool:
        return row.facts.oracle is not None and _microseconds(row) is not None

    choice = chosen(rows, problem, algorithms, usable, "oracle calls and times")
    picked = list(last_of(choice.groups, horizon).values())
    panels = 2 if width == "page" else 1
    ratios = [1.2, 1.0][:panels]
    height = 0.65 + 0.18 * len(picked)
    figure, axes = sheet(width, (1, panels), height, sharey=True, width_ratios=ratios)
    if width == "page":
        _call_table(axes[0, 0], picked)
    _time_bars(axes[0, -1], picked)
    ax = axes[0, 0]
    ax.set_yticks(range(len(picked)), [text_of(r.algorithm) for r in picked])
    ax.set_ylim(len(picked) - 0.5, -0.5)
    for panel in axes.flat:
        panel.tick_params(axis="y", length=0)
    horizons = sorted({r.horizon for r in picked})
    where = f"$T$ = {horizons[0]:,}" if len(horizons) == 1 else f"$T$ up to {horizons[-1]:,}"
    table = ": calls per round, time per round" if width == "page" else ": time per round"
    head(ax, f"{text_of(choice.problem)}, {where}{table}", inches=inches_of(width) / panels)
    return figure


def _microseconds(row: Row) -> float | None:
    value = row.provenance.get("microseconds_a_round")
    return float(value) if value is not None and value > 0 else None


def _call_table(ax: Any, rows: Sequence[Row]) -> None:
    for y, row in enumerate(rows):
        oracle = row.facts.oracle
        assert oracle is not None  # rows without are not chosen
        for x, name in enumerate(_CALLS):
            calls = getattr(oracle, name) / oracle.rounds
            # Projections of a point that is inside call no solver: solves are a limit.
            limit = name == "inner_solves" and calls > 0
            text, colour = f"{'≤ ' * limit}{calls:.3g}", "black" if calls else "#AAAAAA"
            ax.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
    ax.set_xlim(-0.6, len(_CALLS) - 0.4)
    ax.set_xticks(range(len(_CALLS)), list(_CALLS.values()))
    ax.tick_params(axis="x", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.grid(visible=False)


def _time_bars(ax: Any, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter

    times = [_microseconds(r) or math.nan for r in rows]
    ax.barh(range(len(rows)), times, height=0.62, color=[look(r).colour for r in rows])
    for y, (time, row) in enumerate(zip(times, rows, strict=True)):
        # How many runs share a round's work differs with the engine: times of two do not compare.
        text = f"{time:.3g} ({row.facts.engine or '?'})"
        ax.annotate(
            text, (time, y), (2, 0), textcoords="offset points", va="center", fontsize=6, color=INK
        )
    if spread(times) > 20:
        ax.set_xscale("log")
        ax.set_xlim(min(times) / 2, max(times) * 8)
        ax.xaxis.set_major_formatter(FuncFormatter(number))
    else:
        ax.set_xlim(0, max(times) * 1.3)
    ax.set_xlabel("time per round (µs)")
    ax.grid(visible=False)

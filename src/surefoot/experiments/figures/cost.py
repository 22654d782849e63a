"""What a round costs: oracle calls and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from surefoot.experiments.figures._sheet import (
    Width,
    add_title,
    describe_horizons,
    in_style,
    inches_of,
    new_sheet,
    pick_horizon,
    select,
    text_of,
)
from surefoot.experiments.figures.style import INK, look_of
from surefoot.experiments.rows import Row

_CALLS = {
    "cost_gradients": "cost\ngrad.",
    "constraint_values": "g",
    "constraint_subgradients": "sub-\ngrad.",
    "projections": "proj.",
    "linear_minimisations": "lin.\nmin.",
    "inner_solves": "inner\nsolve",
}


@in_style
def cost_figure(
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
        return row.facts.oracle is not None and bool(_microseconds(row))

    choice = select(rows, problem, algorithms, usable, "oracle calls and times")
    picked = list(pick_horizon(choice.groups, horizon).values())
    ratios = [1.2, 1.0] if width == "page" else [1.0]
    figure, axes = new_sheet(
        width, (1, len(ratios)), 0.65 + 0.18 * len(picked), sharey=True, width_ratios=ratios
    )
    if width == "page":
        _write_calls(axes[0, 0], picked)
    _draw_times(axes[0, -1], picked)
    ax = axes[0, 0]
    ax.set_yticks(range(len(picked)), [text_of(r.algorithm) for r in picked])
    ax.set_ylim(len(picked) - 0.5, -0.5)
    for panel in axes.flat:
        panel.tick_params(axis="y", length=0)
    shown = "calls per round, time per round" if width == "page" else "time per round"
    where = f"{text_of(choice.problem)}, {describe_horizons(picked)}"
    add_title(ax, f"{where}: {shown}", inches=inches_of(width) / len(ratios))
    return figure


def _microseconds(row: Row) -> float:
    return float(row.provenance.get("microseconds_a_round") or 0.0)


def _write_calls(ax: Any, rows: Sequence[Row]) -> None:
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


def _draw_times(ax: Any, rows: Sequence[Row]) -> None:
    times = [_microseconds(r) or math.nan for r in rows]
    ax.barh(range(len(rows)), times, height=0.62, color=[look_of(r.number).colour for r in rows])
    for y, (time, row) in enumerate(zip(times, rows, strict=True)):
        # How many runs share a round's work differs with the engine: times of two do not compare.
        text = f"{time:.3g} ({row.facts.engine or '?'})"
        style = {"va": "center", "fontsize": 6, "color": INK}
        ax.annotate(text, (time, y), (2, 0), textcoords="offset points", **style)
    if max(times) > 20 * min(times):
        ax.set_xscale("log")
        ax.set_xlim(min(times) / 2, max(times) * 8)
    else:
        ax.set_xlim(0, max(times) * 1.3)
    ax.set_xlabel("time per round (µs)")
    ax.grid(visible=False)

"""Violation of the constraint: summed over the rounds, and round by round."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.experiments.rows import Row
from surefoot.reports.figures._axes import (
    bound_keys,
    draw_bounds,
    draw_curve,
    look,
    plain_axis,
    points_of,
    time_axis,
    zero_axis,
)
from surefoot.reports.figures._choice import chosen, last_of
from surefoot.reports.figures._sheet import (
    HEIGHT,
    LegendEntry,
    Width,
    head,
    in_style,
    inches_of,
    key,
    legend,
    listed,
    sheet,
    text_of,
    trials_of,
)

__all__ = ["MEASURES", "draw_instants", "instant_figure", "violation_figure"]


MEASURES = {"soft": r"$[\Sigma_t\, g(x_t)]_+$", "hard": r"$\Sigma_t\, [g(x_t)]_+$"}


@in_style
def violation_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "page",
    bounds: bool = True,
) -> Any:
    """Draw the positive part of the summed g, and the sum of its positive parts.

    Both against the horizon. ``bounds`` are dashed, or dotted where a premise broke.
    An algorithm that never violates is drawn at 0 and named above the panel.
    """
    choice = chosen(
        rows, problem, algorithms, lambda r: all(m in r.arrays for m in MEASURES), "violations"
    )
    groups, every = choice.groups, choice.rows
    keys = bound_keys(
        {r.claims for r in every for m in MEASURES if bounds and r.bound(m) is not None}
    )
    texts = [*map(text_of, groups), *(entry.text for entry in keys)]
    panels, height = ((1, 2), 2.2) if width == "page" else ((2, 1), 3.4)
    figure, axes = sheet(width, panels, height, texts, sharex=True)
    for ax, (measure, name) in zip(axes.flat, MEASURES.items(), strict=True):
        points = points_of(groups, measure)
        entries = [draw_curve(ax, points[k], look(g), text_of(k)) for k, g in groups.items()]
        if bounds:
            for group in groups.values():
                draw_bounds(ax, group, functools.partial(_bound, measure))
        ax.set_ylabel(name)
        limits = [r.bound(measure) or 0.0 for r in every if bounds]
        zero_axis(ax, [*limits, *(float(m) for p in points.values() for m in p.mean)])
        zero = [k for k, p in points.items() if not p.mean.any() and not p.std.any()]
        silent = f"0 at every $T$: {listed(zero, of=len(points))}" if zero else ""
        about = choice.title if ax is axes.flat[0] else ""
        head(ax, about, silent, inches=inches_of(width) / panels[1])
    for ax in axes[-1]:
        time_axis(ax, (r.horizon for r in every))
    legend(figure, [*entries, *keys])
    return figure


def _bound(measure: str, row: Row) -> float | None:
    return row.bound(measure)


@in_style
def instant_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    horizon: int | None = None,
    width: Width = "column",
) -> Any:
    r"""Draw the violation :math:`[g(x_t)]_+` round by round: mean, one standard deviation, largest.

    The thin line is the largest over the trials and over the rounds since the one kept before, so
    thinning hides no round.
    """
    choice = chosen(
        rows, problem, algorithms, lambda r: "constraint" in r.arrays, "paths over the rounds"
    )
    picked = last_of(choice.groups, horizon)
    peak = key("-", "largest in any trial", thickness=0.5)
    figure, axes = sheet(width, (1, 1), HEIGHT[width], [*map(text_of, picked), peak.text])
    ax = axes[0, 0]
    entries = draw_instants(ax, picked)
    horizons = sorted({r.horizon for r in picked.values()})
    where = f", $T$ = {horizons[0]:,}" if len(horizons) == 1 else ""
    never = [label for label, r in picked.items() if (r.arrays["worst"] <= 0).all()]
    head(
        ax,
        f"{text_of(choice.problem)}{where}, {trials_of(picked.values())}",
        f"no violation in any round: {listed(never, of=len(picked))}" if never else "",
        inches=inches_of(width),
    )
    legend(figure, [*entries, peak])
    return figure


def draw_instants(ax: Any, picked: Mapping[str, Row]) -> list[LegendEntry]:
    """Draw the violation of each row round by round, and return the entries of the legend."""
    entries = []
    for i, (label, row) in enumerate(picked.items()):
        mine, rounds = look(row), row.arrays["rounds"]
        above = np.maximum(row.arrays["constraint"], 0.0)
        mean, std = above.mean(axis=1), above.std(axis=1)
        stride = max(1, len(rounds) // 6)
        (line,) = ax.plot(
            rounds,
            mean,
            color=mine.colour,
            ls=mine.line,
            marker=mine.marker,
            markersize=mine.size,
            markevery=(i * stride // len(picked), stride),  # not all in the same round
            markeredgewidth=0.0,
            label=text_of(label),
        )
        low, high = np.maximum(mean - std, 0.0), mean + std
        ax.fill_between(rounds, low, high, color=mine.colour, alpha=0.2, lw=0)
        if "peak" in row.arrays:
            peak = np.maximum(row.arrays["peak"], 0.0).max(axis=1)
            ax.plot(rounds, peak, color=mine.colour, lw=0.5, alpha=0.8, label="_peak")
        entries.append(LegendEntry(line, text_of(label)))
    time_axis(ax, (float(r.arrays["rounds"][-1]) for r in picked.values()), "round $t$")
    ax.set_ylabel("$[g(x_t)]_+$")
    seen = max(float(np.nanmax(line.get_ydata(), initial=0.0)) for line in ax.lines)
    if seen == 0:
        ax.set_ylim(0, 1)
    plain_axis(ax, -0.03)
    return entries

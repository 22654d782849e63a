"""Violation of the constraint: summed over the rounds, and round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.experiments.figures._sheet import (
    Width,
    add_legend,
    add_title,
    describe_horizons,
    describe_trials,
    draw_band,
    draw_bounds,
    draw_curve,
    in_style,
    inches_of,
    label_rounds,
    list_names,
    means_of,
    new_key,
    new_sheet,
    pick_horizon,
    scale_axis,
    select,
    text_of,
    thin,
)
from surefoot.experiments.figures.style import look_of
from surefoot.experiments.rows import Row

MEASURES = {"soft": r"$[\Sigma_t\, g(x_t)]_+$", "hard": r"$\Sigma_t\, [g(x_t)]_+$"}
"""The sums that are drawn, and what their axes are called."""


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

    def usable(row: Row) -> bool:
        return all(measure in row.arrays for measure in MEASURES)

    choice = select(rows, problem, algorithms, usable, "violations")
    panels, height = ((1, 2), 2.2) if width == "page" else ((2, 1), 3.4)
    figure, axes = new_sheet(width, panels, height, sharex=True)
    keys: dict[str, Any] = {}
    for ax, measure in zip(axes.flat, MEASURES, strict=True):
        inches, title = inches_of(width) / panels[1], choice.title if ax is axes.flat[0] else ""
        handles, found = _draw_sums(ax, choice.groups, measure, bounds=bounds)
        keys |= {key.get_label(): key for key in found}
        add_title(ax, title, _name_silent(choice.groups, measure), inches=inches)
    for ax in axes[-1]:
        label_rounds(ax, "horizon $T$")
    add_legend(figure, [*handles, *keys.values()])
    return figure


def _draw_sums(
    ax: Any, groups: Mapping[str, Sequence[Row]], measure: str, *, bounds: bool
) -> tuple[list[Any], list[Any]]:
    """Draw a sum against the horizon, and return the handles of curves and of bounds."""
    handles = [draw_curve(ax, group, measure) for group in groups.values()]
    limits = [group[0].bound(measure) or 0.0 for group in groups.values()] if bounds else []
    keys = draw_bounds(ax, groups.values(), lambda r: r.bound(measure)) if bounds else []
    ax.set_ylabel(MEASURES[measure])
    scale_axis(ax, np.concatenate([*means_of(groups, measure).values(), limits]), 50.0)
    return handles, keys


def _name_silent(groups: Mapping[str, Sequence[Row]], measure: str) -> str:
    """Return who has a sum of 0 at every horizon."""
    silent = [k for k, g in groups.items() if not any(r.arrays[measure].any() for r in g)]
    return f"0 at every $T$: {list_names(silent, of=len(groups))}" if silent else ""


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

    The thin line is the largest over the trials and over the rounds since the one drawn before, so
    thinning hides no round.
    """
    choice = select(
        rows, problem, algorithms, lambda r: "constraint" in r.arrays, "paths over the rounds"
    )
    picked = pick_horizon(choice.groups, horizon)
    figure, ((ax,),) = new_sheet(width)
    handles = draw_instants(ax, picked)
    never = [label for label, r in picked.items() if (r.arrays["worst"] <= 0).all()]
    where = f"{text_of(choice.problem)}, {describe_horizons(picked.values())}"
    add_title(
        ax,
        f"{where}, {describe_trials(picked.values())}",
        f"no violation in any round: {list_names(never, of=len(picked))}" if never else "",
        inches=inches_of(width),
    )
    add_legend(figure, handles)
    return figure


def draw_instants(ax: Any, picked: Mapping[str, Row]) -> list[Any]:
    """Draw the violation of each row round by round, and return the handles of the legend."""
    handles, top = [], 0.0
    for i, row in enumerate(picked.values()):
        above = np.maximum(row.arrays["constraint"], 0.0)
        handles.append(draw_band(ax, row, above, i / len(picked), least=0.0))
        at = thin(len(above))
        peaks = np.maximum(row.arrays.get("peak", above), 0.0).max(axis=1)
        peak = np.maximum.reduceat(peaks, np.append(0, at[:-1] + 1))
        colour = look_of(row.number).colour
        ax.plot(row.arrays["rounds"][at], peak, color=colour, lw=0.5, alpha=0.8, label="_peak")
        top = max(top, float(np.nanmax(peak, initial=0.0)))
    label_rounds(ax, "round $t$")
    ax.set_ylabel("$[g(x_t)]_+$")
    scale_axis(ax, [top], np.inf)
    return [*handles, new_key("-", "largest in any trial", lw=0.5)]

"""Violation of the constraint: summed over the rounds, and round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from surefoot.experiments.figures import sheet
from surefoot.experiments.figures.sheet import Handle, Selection, Width, look_of
from surefoot.experiments.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {"positive_sum": r"$[\Sigma_t\, g(x_t)]_+$", "sum_positive": r"$\Sigma_t\, [g(x_t)]_+$"}
"""The sums that are drawn, and what their axes are called."""


@sheet.figure("violations", sheet.has(*MEASURES), "page")
def violation_figure(choice: Selection, width: Width) -> Figure:
    """Draw the positive part of the summed g, and the sum of its positive parts.

    Both against the horizon. Bounds are dashed, or dotted where a premise broke.
    An algorithm that never violates is drawn at 0 and named above the panel.
    """
    panels, height = ((1, 2), 2.2) if width == "page" else ((2, 1), 3.4)
    figure, axes = sheet.new_sheet(width, panels, height, sharex=True)
    keys: dict[str, Handle] = {}
    for ax, measure in zip(axes.flat, MEASURES, strict=True):
        title = choice.title if ax is axes.flat[0] else ""
        handles, bound_keys = _draw_sums(ax, choice.groups, measure)
        keys |= {key.get_label(): key for key in bound_keys}
        sheet.add_title(ax, title, _name_silent(choice.groups, measure))
    for ax in axes[-1]:
        sheet.label_rounds(ax.xaxis, "horizon $T$")
    sheet.add_legend(figure, [*handles, *keys.values()])
    return figure


def _draw_sums(
    ax: Axes, groups: Mapping[str, Sequence[Row]], measure: str
) -> tuple[list[Handle], list[Handle]]:
    """Draw a sum against the horizon, and return the handles of curves and of bounds."""
    handles = [sheet.draw_curve(ax, group, measure) for group in groups.values()]
    limits = [group[0].guarantee.bounds.get(measure, 0.0) for group in groups.values()]
    keys = sheet.draw_bounds(ax, groups.values(), lambda r: r.guarantee.bounds.get(measure))
    ax.set_ylabel(MEASURES[measure])
    sheet.scale_axis(ax, np.concatenate([*sheet.means_of(groups, measure).values(), limits]), 50.0)
    return handles, keys


def _name_silent(groups: Mapping[str, Sequence[Row]], measure: str) -> str:
    """Return who has a sum of 0 at every horizon."""
    silent = [k for k, g in groups.items() if not any(r.arrays[measure].any() for r in g)]
    return f"0 at every T: {sheet.list_names(silent, of=len(groups))}" if silent else ""


@sheet.figure("paths over the rounds", sheet.has("constraint"))
def instant_figure(choice: Selection, width: Width) -> Figure:
    r"""Draw the violation :math:`[g(x_t)]_+` round by round: mean, one standard deviation, largest.

    The thin line is the largest over the trials and over the rounds since the one drawn before, so
    thinning hides no round.
    """
    picked = sheet.pick_longest(choice.groups)
    figure, ((ax,),) = sheet.new_sheet(width)
    handles = draw_instants(ax, picked)
    never = [label for label, r in picked.items() if (r.arrays["largest"] <= 0).all()]
    sheet.add_title(
        ax,
        sheet.describe(choice.problem, picked.values()),
        f"no violation in any round: {sheet.list_names(never, of=len(picked))}" if never else "",
    )
    sheet.add_legend(figure, handles)
    return figure


def draw_instants(ax: Axes, picked: Mapping[str, Row]) -> list[Handle]:
    """Draw the violation of each row round by round, and return the handles of the legend."""
    handles, top = [], 0.0
    for i, row in enumerate(picked.values()):
        above = np.maximum(row.arrays["constraint"], 0.0)
        handles.append(sheet.draw_band(ax, row, above, i / len(picked), least=0.0))
        at = sheet.thin(len(above))
        peaks = np.maximum(row.arrays.get("peak", above), 0.0).max(axis=1)
        peak = np.maximum.reduceat(peaks, np.append(0, at[:-1] + 1))
        colour = look_of(row.number)["color"]
        ax.plot(row.arrays["rounds"][at], peak, color=colour, lw=0.5, alpha=0.8, label="_peak")
        top = max(top, float(np.nanmax(peak, initial=0.0)))
    sheet.label_rounds(ax.xaxis, "round $t$")
    ax.set_ylabel("$[g(x_t)]_+$")
    sheet.scale_axis(ax, [top], np.inf)
    return [*handles, sheet.new_key("-", "largest in any trial", lw=0.5)]

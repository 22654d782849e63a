"""Regret: against the horizon with the theorems' bounds, and against the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.experiments.figures import sheet
from surefoot.experiments.figures.sheet import BOUND, Selection, Width, look_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 20.0
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""


@sheet.figure("regret", sheet.has("regret"))
def regret_figure(choice: Selection, width: Width) -> Figure:
    """Draw regret against the horizon: mean and one standard deviation, with the theorems' bounds.

    Where the range is large the axis of the regret is logarithmic, on both sides of 0 if some means
    are 0 or less. Bounds are dashed, or dotted where a premise broke.
    """
    means = sheet.means_of(choice.groups, "regret")
    bounds = [row.guarantee.regret_bound for row in choice.rows]
    limits = [bound for bound in bounds if bound is not None]
    values = np.concatenate([*means.values(), limits])
    figure, ((ax,),) = sheet.new_sheet(width)
    handles = [sheet.draw_curve(ax, group, "regret") for group in choice.groups.values()]
    handles += sheet.draw_bounds(ax, choice.groups.values(), lambda r: r.guarantee.regret_bound)
    sheet.label_rounds(ax.xaxis, "horizon $T$")
    ax.set_ylabel("regret")
    if values.min() > 0 and values.max() > WIDE * values.min():
        ax.set_yscale("log")
    else:
        sheet.scale_axis(ax, values, WIDE)
    sheet.add_title(ax, choice.title)
    sheet.add_legend(figure, handles)
    return figure


@sheet.figure("regret over the rounds", sheet.has("regret_path"))
def path_figure(choice: Selection, width: Width) -> Figure:
    """Draw regret against the rounds: mean, and a band of one standard deviation.

    The comparator is the best fixed action of the whole horizon. Bounds are those of theorems after
    so many rounds, where premises held.
    """
    picked = sheet.pick_longest(choice.groups)
    figure, ((ax,),) = sheet.new_sheet(width)
    handles, limits = [], []
    for i, row in enumerate(picked.values()):
        handles.append(sheet.draw_band(ax, row, row.arrays["regret_path"], i / len(picked)))
        if row.claims and "bound_path" in row.arrays:
            at, colour = sheet.thin(len(row.arrays["rounds"])), look_of(row.number)["color"]
            limit = row.arrays["bound_path"][at]
            ax.plot(row.arrays["rounds"][at], limit, color=colour, ls=BOUND, lw=0.9, label="_bound")
            limits.append(float(limit[-1]))
    if limits:
        handles.append(sheet.new_key(BOUND, "bound of the theorem"))
    sheet.label_rounds(ax.xaxis, "round $t$")
    ax.set_ylabel("regret")
    ends = [float(row.arrays["regret_path"][-1].mean()) for row in picked.values()]
    sheet.scale_axis(ax, [*ends, *limits], WIDE)
    sheet.add_title(ax, sheet.describe(choice.problem, picked.values()))
    sheet.add_legend(figure, handles)
    return figure

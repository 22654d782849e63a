"""Regret: against the horizon, with bounds or fitted rates, and against the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from surefoot.experiments.figures import sheet
from surefoot.experiments.figures.sheet import Width, in_style, look_of
from surefoot.experiments.rows import Fit, Row, fit_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 20.0
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""


@in_style
def regret_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "column",
) -> Figure:
    """Draw regret against the horizon: mean and one standard deviation, with the theorems' bounds.

    Where the range is large the axis of the regret is logarithmic, on both sides of 0 if some means
    are 0 or less. Bounds are dashed, or dotted where a premise broke.
    """
    choice = sheet.select(rows, problem, algorithms, _has_regret, "regret")
    means = sheet.means_of(choice.groups, "regret")
    limits = [r.regret_bound for r in choice.rows if r.regret_bound is not None]
    values = np.concatenate([*means.values(), limits])
    figure, ((ax,),) = sheet.new_sheet(width)
    handles = [sheet.draw_curve(ax, group, "regret") for group in choice.groups.values()]
    handles += sheet.draw_bounds(ax, choice.groups.values(), lambda r: r.regret_bound)
    sheet.label_rounds(ax, "horizon $T$")
    ax.set_ylabel("regret")
    if values.min() > 0 and values.max() > WIDE * values.min():
        ax.set_yscale("log")
    else:
        sheet.scale_axis(ax, values, WIDE)
    sheet.add_title(ax, choice.title)
    sheet.add_legend(figure, handles)
    return figure


def _has_regret(row: Row) -> bool:
    return "regret" in row.arrays


def _name_missing(groups: Mapping[str, Sequence[Row]], means: Mapping[str, np.ndarray]) -> str:
    """Return which points a logarithmic axis cannot show."""
    lost = []
    for label, group in groups.items():
        at = [row.horizon for row, mean in zip(group, means[label], strict=True) if mean <= 0]
        if at:
            which = "every T" if len(at) == len(group) else ", ".join(f"{T:,}" for T in at)
            lost.append(f"{sheet.text_of(label)} at {which}")
    return f"not shown, regret ≤ 0: {'; '.join(lost)}" if lost else ""


@in_style
def rate_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "column",
) -> Figure:
    """Draw regret against the horizon, both logarithmic, with fitted lines and their exponents.

    Beside an exponent stands half the length of its 95 % interval, and in brackets the exponent of
    the theorem, where it claims one.
    """
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    choice = sheet.select(rows, problem, algorithms, _has_regret, "regret")
    groups = {k: g for k, g in choice.groups.items() if len({r.horizon for r in g}) > 1}
    if not groups:
        raise sheet.NothingToDraw(f"no algorithm played {choice.problem!r} at two horizons")
    choice, means = choice._replace(groups=groups), sheet.means_of(groups, "regret")
    if not any((mean > 0).any() for mean in means.values()):
        raise sheet.NothingToDraw("no mean regret is > 0: a logarithmic axis can show none")
    fits = {fit.algorithm: fit for fit in fit_rates(choice.rows)}
    figure, ((ax,),) = sheet.new_sheet(width)
    handles = []
    for label, group in groups.items():
        words = _describe_rate(group[-1], fits[label])
        handles.append(sheet.draw_curve(ax, group, "regret", ls="none", label=words))
        rate, look = fits[label].rate, look_of(group[0].number)
        if rate is not None:
            ends = np.array(fits[label].horizons, dtype=np.float64)[[0, -1]]
            line = rate.scale * ends**rate.slope
            ax.plot(ends, line, color=look.colour, ls=look.line, label="_fit")
    ax.set(xscale="log", xlabel="horizon $T$", ylabel="regret")
    ax.set_yscale("log", nonpositive="clip")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_minor_formatter(NullFormatter())
    sheet.add_title(
        ax,
        choice.title,
        "exponent of T ± 95 % interval (that of the theorem)",
        _name_missing(groups, means),
    )
    sheet.add_legend(figure, handles)
    return figure


def _describe_rate(row: Row, fit: Fit) -> str:
    name = sheet.text_of(row.algorithm)
    if fit.rate is None:
        return f"{name}: no fit"
    half = 0.5 * (fit.rate.high - fit.rate.low)
    digits = 2 if half >= 0.01 else 3
    slope = f"{fit.rate.slope:.{digits}f}".replace("-", "−")
    text = f"{name}: {slope} ± {half:.{digits}f}"
    exponent = row.regret_exponent
    return text if exponent is None or not row.claims else f"{text} ({exponent:.3g})"


@in_style
def path_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    horizon: int | None = None,
    width: Width = "column",
) -> Figure:
    """Draw regret against the rounds: mean, and a band of one standard deviation.

    The comparator is the best fixed action of the whole horizon. Bounds are those of theorems after
    so many rounds, where premises held.
    """
    choice = sheet.select(rows, problem, algorithms, _has_path, "regret over the rounds")
    picked = sheet.pick_horizon(choice.groups, horizon)
    figure, ((ax,),) = sheet.new_sheet(width)
    handles, limits = [], []
    for i, row in enumerate(picked.values()):
        handles.append(sheet.draw_band(ax, row, row.arrays["regret_path"], i / len(picked)))
        if row.claims and "bound_path" in row.arrays:
            at, colour = sheet.thin(len(row.arrays["rounds"])), look_of(row.number).colour
            limit = row.arrays["bound_path"][at]
            dashes = {"ls": (0, (3.5, 2)), "lw": 0.9, "label": "_bound"}
            ax.plot(row.arrays["rounds"][at], limit, color=colour, **dashes)
            limits.append(float(limit[-1]))
    if limits:
        handles.append(sheet.new_key((0, (3.5, 2)), "bound of the theorem"))
    sheet.label_rounds(ax, "round $t$")
    ax.set_ylabel("regret")
    ends = [float(row.arrays["regret_path"][-1].mean()) for row in picked.values()]
    sheet.scale_axis(ax, [*ends, *limits], WIDE)
    sheet.add_title(ax, sheet.describe_picked(choice.problem, picked.values()))
    sheet.add_legend(figure, handles)
    return figure


def _has_path(row: Row) -> bool:
    return "regret_path" in row.arrays

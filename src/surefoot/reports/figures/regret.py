"""Regret against the horizon, with bounds or with fitted rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surefoot.experiments.rows import Row
from surefoot.reports.figures._axes import (
    bound_keys,
    draw_bounds,
    draw_curve,
    log_axis,
    log_time_axis,
    look,
    not_on_log,
    plain_axis,
    points_of,
    signed_log_axis,
    spread,
    time_axis,
)
from surefoot.reports.figures._choice import NothingToDraw, chosen
from surefoot.reports.figures._sheet import (
    HEIGHT,
    Width,
    head,
    in_style,
    inches_of,
    legend,
    sheet,
    text_of,
)
from surefoot.reports.rates import Fit, fit_rates

__all__ = ["rate_figure", "regret_figure"]


@in_style
def regret_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "column",
    log: bool | None = None,
    bounds: bool = True,
) -> Any:
    """Draw regret against the horizon: mean and one standard deviation, with the theorems' bounds.

    ``log`` says whether the regret's axis is logarithmic; a mean of 0 or less, which it cannot
    show, is then named above it. None lets the range decide; where it is large and some means are 0
    or less, the axis is logarithmic on both sides of 0. ``bounds`` are dashed, or dotted where a
    premise broke.
    """
    choice = chosen(rows, problem, algorithms, lambda r: "regret" in r.arrays, "regret")
    groups, points = choice.groups, points_of(choice.groups, "regret")
    means = [float(m) for p in points.values() for m in p.mean]
    bounded = [r for r in choice.rows if bounds and r.regret_bound is not None]
    values = [*means, *(r.regret_bound or 0.0 for r in bounded)]
    wide = log is None and spread(map(abs, values)) > 20
    log = log or (wide and min(means) > 0)
    if log:
        _some_positive(means)
    keys = bound_keys({r.claims for r in bounded})
    texts = [*map(text_of, groups), *(entry.text for entry in keys)]
    figure, axes = sheet(width, (1, 1), HEIGHT[width], texts)
    ax = axes[0, 0]
    entries = [draw_curve(ax, points[k], look(g), text_of(k)) for k, g in groups.items()]
    if bounds:
        for group in groups.values():
            draw_bounds(ax, group, lambda r: r.regret_bound)
    time_axis(ax, (r.horizon for r in choice.rows))
    ax.set_ylabel("regret")
    if log:
        log_axis(ax)
    elif wide:
        signed_log_axis(ax, values)
    else:
        plain_axis(ax, 0.0 if min(means) >= 0 else None)
    missing = not_on_log(points, "regret") if log else ""
    head(ax, choice.title, missing, inches=inches_of(width))
    legend(figure, [*entries, *keys])
    return figure


def _some_positive(means: Iterable[float]) -> None:
    if not any(m > 0 for m in means):
        raise NothingToDraw("no mean regret is > 0: a logarithmic axis can show none")


@in_style
def rate_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "column",
) -> Any:
    """Draw regret against the horizon, both logarithmic, with fitted lines and their exponents.

    Beside an exponent stands half the length of its 95 % interval, and in brackets the exponent of
    the theorem, where it claims one.
    """
    choice = chosen(rows, problem, algorithms, lambda r: "regret" in r.arrays, "regret")
    groups = {k: g for k, g in choice.groups.items() if len({r.horizon for r in g}) > 1}
    if not groups:
        raise NothingToDraw(f"no algorithm played {choice.problem!r} at two horizons")
    choice = choice._replace(groups=groups)
    points = points_of(groups, "regret")
    _some_positive(float(m) for p in points.values() for m in p.mean)
    fits = {fit.algorithm: fit for fit in fit_rates(choice.rows)}
    texts = {label: _rate_text(group[-1], fits[label]) for label, group in groups.items()}
    figure, axes = sheet(width, (1, 1), HEIGHT[width], list(texts.values()))
    ax = axes[0, 0]
    entries = []
    for label, group in groups.items():
        mine = look(group)
        entries.append(draw_curve(ax, points[label], mine, texts[label], line="none"))
        rate = fits[label].rate
        if rate is not None:
            ends = np.array(fits[label].horizons, dtype=np.float64)[[0, -1]]
            line = rate.scale * ends**rate.slope
            ax.plot(ends, line, color=mine.colour, ls=mine.line, label="_fit")
    log_time_axis(ax, (r.horizon for r in choice.rows))
    log_axis(ax)
    ax.set_ylabel("regret")
    head(
        ax,
        choice.title,
        "exponent of $T$ ± 95 % interval (that of the theorem)",
        not_on_log(points, "regret"),
        inches=inches_of(width),
    )
    legend(figure, entries)
    return figure


def _rate_text(row: Row, fit: Fit) -> str:
    name = text_of(row.algorithm)
    if fit.rate is None:
        return f"{name}: no fit"
    half = 0.5 * (fit.rate.high - fit.rate.low)
    digits = 2 if half >= 0.01 else 3
    slope = f"{fit.rate.slope:.{digits}f}".replace("-", "−")
    text = f"{name}: {slope} ± {half:.{digits}f}"
    exponent = row.regret_exponent
    return text if exponent is None or not row.claims else f"{text} ({exponent:.3g})"

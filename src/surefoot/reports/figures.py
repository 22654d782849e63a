"""Figures for a two-column paper, from the rows of a results file.

Each function takes rows and a selection and returns a Matplotlib figure that no window and no
global list knows: when the last reference goes, it goes. :func:`save_figures` writes all that the
results have data for.
"""

from __future__ import annotations

import functools
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from surefoot.errors import InvalidValueError
from surefoot.reports._axes import (
    Points,
    bound_keys,
    draw_bounds,
    draw_curve,
    log_axis,
    log_time_axis,
    look,
    not_on_log,
    number,
    plain_axis,
    signed_log_axis,
    spread,
    time_axis,
    zero_axis,
)
from surefoot.reports._choice import MOST, NothingToDraw, chosen, last_of
from surefoot.reports._plane import action_figure, paper_actions
from surefoot.reports._sheet import (
    Entry,
    Width,
    head,
    in_style,
    inches_of,
    key,
    legend,
    listed,
    names_of,
    sheet,
    text_of,
    trials_of,
)
from surefoot.reports.rates import Fit, fit_rates
from surefoot.reports.style import INK, Look
from surefoot.results.rows import Row, gather
from surefoot.results.rows import problems as problems_of

if TYPE_CHECKING:
    from surefoot.results import Results

__all__ = [
    "MOST",
    "NothingToDraw",
    "action_figure",
    "instant_figure",
    "oracle_figure",
    "paper_actions",
    "paper_figure",
    "rate_figure",
    "regret_figure",
    "save_figure",
    "save_figures",
    "violation_figure",
]

Published: TypeAlias = Mapping[str, Mapping[int, float]]

_HEIGHT: dict[Width, float] = {"column": 2.0, "page": 2.6}  # inches of a panel over the width


# --- regret --------------------------------------------------------------------------------------


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
    """Regret against the horizon, mean and one standard deviation, with the theorems' bounds.

    Args:
        rows: from :func:`surefoot.results.gather`.
        problem: label; the first one unless given.
        algorithms: labels; the first eight of the plan unless given.
        width: "column" for one column of a paper, "page" for both.
        log: whether the regret's axis is logarithmic; what it cannot show, a mean of 0 or less, is
            then named above it. None lets the range decide; where it is large and some means are 0
            or less, the axis is logarithmic on both sides of 0.
        bounds: whether the bounds are drawn: dashed, or dotted where a premise broke.
    """
    problem, groups = chosen(rows, problem, algorithms, lambda r: "regret" in r.arrays, "regret")
    every = [r for group in groups.values() for r in group]
    points = {label: Points.of(group, "regret") for label, group in groups.items()}
    means = [float(m) for p in points.values() for m in p.mean]
    bounded = [r for r in every if bounds and r.regret_bound is not None]
    values = [*means, *(r.regret_bound or 0.0 for r in bounded)]
    wide = log is None and spread(map(abs, values)) > 20
    log = log or (wide and min(means) > 0)
    if log:
        _some_positive(means)
    keys = bound_keys({r.claims for r in bounded})
    texts = [*map(text_of, groups), *(entry.text for entry in keys)]
    figure, axes = sheet(width, (1, 1), _HEIGHT[width], texts)
    ax = axes[0, 0]
    entries = [draw_curve(ax, points[k], look(g), text_of(k)) for k, g in groups.items()]
    if bounds:
        for group in groups.values():
            draw_bounds(ax, group, lambda r: r.regret_bound)
    time_axis(ax, (r.horizon for r in every))
    ax.set_ylabel("regret")
    if log:
        log_axis(ax)
    elif wide:
        signed_log_axis(ax, values)
    else:
        plain_axis(ax, 0.0 if min(means) >= 0 else None)
    missing = not_on_log(points, "regret") if log else ""
    head(ax, f"{text_of(problem)}, {trials_of(every)}", missing, inches=inches_of(width))
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
    """Regret against the horizon, both logarithmic, with fitted lines and their exponents.

    Args:
        rows: from :func:`surefoot.results.gather`.
        problem: label; the first one unless given.
        algorithms: labels; the first eight of the plan unless given.
        width: "column" for one column of a paper, "page" for both.

    An exponent comes with half the length of its interval of 95 %, and in brackets with that of
    the theorem, where it claims one.
    """
    problem, groups = chosen(rows, problem, algorithms, lambda r: "regret" in r.arrays, "regret")
    groups = {k: g for k, g in groups.items() if len({r.horizon for r in g}) > 1}
    if not groups:
        raise NothingToDraw(f"no algorithm played {problem!r} at two horizons")
    every = [r for group in groups.values() for r in group]
    points = {label: Points.of(group, "regret") for label, group in groups.items()}
    _some_positive(float(m) for p in points.values() for m in p.mean)
    fits = {fit.algorithm: fit for fit in fit_rates(every)}
    texts = {label: _rate_text(group[-1], fits[label]) for label, group in groups.items()}
    figure, axes = sheet(width, (1, 1), _HEIGHT[width], list(texts.values()))
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
    log_time_axis(ax, (r.horizon for r in every))
    log_axis(ax)
    ax.set_ylabel("regret")
    head(
        ax,
        f"{text_of(problem)}, {trials_of(every)}",
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


# --- violation -----------------------------------------------------------------------------------

_MEASURES = {"soft": r"$[\Sigma_t\, g(x_t)]_+$", "hard": r"$\Sigma_t\, [g(x_t)]_+$"}


@in_style
def violation_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    width: Width = "page",
    bounds: bool = True,
) -> Any:
    """Cumulative violation against the horizon: positive part of the sum, sum of positive parts.

    Args:
        rows: from :func:`surefoot.results.gather`.
        problem: label; the first one unless given.
        algorithms: labels; the first eight of the plan unless given.
        width: "column" for one column of a paper, "page" for both.
        bounds: whether the bounds are drawn: dashed, or dotted where a premise broke.

    An algorithm that never violates is drawn at 0 and named above the panel.
    """
    problem, groups = chosen(
        rows, problem, algorithms, lambda r: all(m in r.arrays for m in _MEASURES), "violations"
    )
    every = [r for group in groups.values() for r in group]
    keys = bound_keys(
        {r.claims for r in every for m in _MEASURES if bounds and _sum_bound(m, r) is not None}
    )
    texts = [*map(text_of, groups), *(entry.text for entry in keys)]
    panels, height = ((1, 2), 2.2) if width == "page" else ((2, 1), 3.4)
    figure, axes = sheet(width, panels, height, texts, sharex=True)
    for ax, (measure, name) in zip(axes.flat, _MEASURES.items(), strict=True):
        points = {label: Points.of(group, measure) for label, group in groups.items()}
        entries = [draw_curve(ax, points[k], look(g), text_of(k)) for k, g in groups.items()]
        if bounds:
            for group in groups.values():
                draw_bounds(ax, group, functools.partial(_sum_bound, measure))
        ax.set_ylabel(name)
        limits = [_sum_bound(measure, r) or 0.0 for r in every if bounds]
        zero_axis(ax, [*limits, *(float(m) for p in points.values() for m in p.mean)])
        zero = [k for k, p in points.items() if not p.mean.any() and not p.std.any()]
        silent = f"0 at every $T$: {listed(zero, of=len(points))}" if zero else ""
        about = f"{text_of(problem)}, {trials_of(every)}" if ax is axes.flat[0] else ""
        head(ax, about, silent, inches=inches_of(width) / panels[1])
    for ax in axes[-1]:
        time_axis(ax, (r.horizon for r in every))
    legend(figure, [*entries, *keys])
    return figure


def _sum_bound(measure: str, row: Row) -> float | None:
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
    r"""Violation :math:`[g(x_t)]_+` round by round: mean, one standard deviation, largest.

    Args:
        rows: from :func:`surefoot.results.gather`.
        problem: label; the first one unless given.
        algorithms: labels; the first eight of the plan unless given.
        horizon: the longest that all have unless given.
        width: "column" for one column of a paper, "page" for both.

    The thin line is the largest over the trials and over the rounds since the one kept before, so
    thinning hides no round.
    """
    problem, groups = chosen(
        rows, problem, algorithms, lambda r: "constraint" in r.arrays, "paths over the rounds"
    )
    picked = last_of(groups, horizon)
    peak = key("-", "largest in any trial", thickness=0.5)
    figure, axes = sheet(width, (1, 1), _HEIGHT[width], [*map(text_of, picked), peak.text])
    ax = axes[0, 0]
    entries = _instants(ax, picked)
    horizons = sorted({r.horizon for r in picked.values()})
    where = f", $T$ = {horizons[0]:,}" if len(horizons) == 1 else ""
    never = [label for label, r in picked.items() if (r.arrays["worst"] <= 0).all()]
    head(
        ax,
        f"{text_of(problem)}{where}, {trials_of(picked.values())}",
        f"no violation in any round: {listed(never, of=len(picked))}" if never else "",
        inches=inches_of(width),
    )
    legend(figure, [*entries, peak])
    return figure


def _instants(ax: Any, picked: Mapping[str, Row]) -> list[Entry]:
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
        entries.append(Entry(line, text_of(label)))
    time_axis(ax, (float(r.arrays["rounds"][-1]) for r in picked.values()), "round $t$")
    ax.set_ylabel("$[g(x_t)]_+$")
    seen = max(float(np.nanmax(line.get_ydata(), initial=0.0)) for line in ax.lines)
    if seen == 0:
        ax.set_ylim(0, 1)
    plain_axis(ax, -0.03)
    return entries


# --- what it costs -------------------------------------------------------------------------------

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
    """Oracle calls a round as a table, and the time a round takes as bars beside it.

    Args:
        rows: from :func:`surefoot.results.gather`.
        problem: label; the first one unless given.
        algorithms: labels, as many as wanted; the first eight of the plan unless given.
        horizon: the longest that all have unless given.
        width: "page", or "column" for the bars alone.
    """

    def usable(row: Row) -> bool:
        return row.facts.oracle is not None and _microseconds(row) is not None

    problem, groups = chosen(rows, problem, algorithms, usable, "oracle calls and times")
    picked = list(last_of(groups, horizon).values())
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
    table = ": calls a round, time a round" if width == "page" else ": time a round"
    head(ax, f"{text_of(problem)}, {where}{table}", inches=inches_of(width) / panels)
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
            # Where calls are multiplied out from what an algorithm needs, solves are a limit.
            limit = name == "inner_solves" and calls > 0 and not oracle.counted
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
    ax.set_xlabel("time a round (µs)")
    ax.grid(visible=False)


# --- the paper's own figure ----------------------------------------------------------------------


@in_style
def paper_figure(
    rows: Sequence[Row],
    algorithms: Sequence[str] | Mapping[str, str],
    *,
    problem: str | None = None,
    violation_problem: str | None = None,
    published_regret: Published | None = None,
    published_violation: Published | None = None,
    horizon: int | None = None,
) -> Any:
    """Figures 1a, 1b and 1c of the paper side by side, published points beside measured ones.

    Args:
        rows: from :func:`surefoot.results.gather`.
        algorithms: labels, or labels with the names to show instead.
        problem: of the regret; the first one unless given.
        violation_problem: of the violations; the same unless given.
        published_regret: values read off the paper's figure, by label and horizon: hollow markers.
        published_violation: the same for the cumulative violation.
        horizon: of the instantaneous violation; the longest that all have unless given.
    """
    names = names_of(algorithms)
    second = violation_problem or problem

    def of(where: str | None, name: str) -> dict[str, list[Row]]:
        return chosen(rows, where, list(names), lambda r: name in r.arrays, name)[1]

    panels = (
        ("regret", "regret", of(problem, "regret"), published_regret or {}),
        ("soft", _MEASURES["soft"], of(second, "soft"), published_violation or {}),
    )
    peak = key("-", "largest in any trial", thickness=0.5)
    texts = [*map(text_of, names.values()), "published", peak.text]
    figure, axes = sheet("page", (1, 3), 1.75, texts)
    shown: dict[str, Entry] = {}
    for ax, (measure, name, groups, published) in zip(axes[0], panels, strict=False):
        for label, group in groups.items():
            shown[label] = draw_curve(ax, Points.of(group, measure), look(group), label)
            if published.get(label):
                shown[""] = _published(ax, published[label], look(group))
        ax.set_ylabel(name)
        time_axis(ax, (r.horizon for group in groups.values() for r in group))
        plain_axis(ax, -0.03)
    picked = last_of(of(second, "constraint"), horizon)
    for label, entry in zip(picked, _instants(axes[0, 2], picked), strict=True):
        shown.setdefault(label, entry)
    for ax, letter in zip(axes[0], "abc", strict=True):
        head(ax, f"({letter})", inches=2.0)
    known = [shown[k]._replace(text=text_of(name)) for k, name in names.items() if k in shown]
    read = [shown[""]] if "" in shown else []
    legend(figure, [*known, *read, peak])
    return figure


def _published(ax: Any, values: Mapping[int, float], mine: Look) -> Entry:
    from matplotlib.lines import Line2D

    hollow: dict[str, Any] = {"mfc": "none", "mew": 0.8, "ls": "none", "label": "_published"}
    T, read = list(values), list(values.values())
    ax.plot(T, read, mine.marker, ms=2 * mine.size, color=mine.colour, zorder=4, **hollow)
    return Entry(Line2D([], [], marker="o", ms=6, color=INK, **hollow), "published")


# --- files ---------------------------------------------------------------------------------------

_FIGURES: dict[str, Callable[..., Any]] = {
    "regret": regret_figure,
    "rate": rate_figure,
    "violation": violation_figure,
    "instant": instant_figure,
    "actions": action_figure,
    "oracle": oracle_figure,
}

# What would make two files of the same figure differ.
_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
}


def save_figures(
    results: Results,
    folder: Path | str,
    algorithms: Sequence[str] | None = None,
    formats: Sequence[str] = ("pdf", "png"),
    problems: Sequence[str] | None = None,
) -> list[Path]:
    """Write every figure for which the results have data, and return the files.

    Args:
        results: the open file of an experiment.
        folder: made if need be; a file of the same name is replaced, whole.
        algorithms: labels; the first eight of the plan unless given.
        formats: some of "pdf", "svg", "png".
        problems: labels; all unless given.
    """
    rows = gather(results)
    saved = []
    for problem, stem in _file_names(problems_of(rows)).items():
        if problems is not None and problem not in problems:
            continue
        for kind, draw in _FIGURES.items():
            try:
                figure = draw(rows, problem, algorithms)
            except NothingToDraw:
                continue
            saved += save_figure(figure, Path(folder) / f"{stem}-{kind}", formats)
    return saved


@in_style
def save_figure(
    figure: Any, path: Path | str, formats: Sequence[str] = ("pdf", "png")
) -> list[Path]:
    """Write one figure in several formats, each file whole or not at all.

    Args:
        figure: of this module.
        path: without its ending.
        formats: some of "pdf", "svg", "png".
    """
    for ending in formats:
        if ending not in _METADATA:
            raise InvalidValueError(
                f"formats must be some of {', '.join(_METADATA)}, got {ending!r}"
            )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = []
    for ending, data in _rendered(figure, formats):
        target = path.with_name(f"{path.name}.{ending}")
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.write_bytes(data)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        saved.append(target)
    return saved


def _rendered(figure: Any, formats: Sequence[str]) -> list[tuple[str, bytes]]:
    engine = figure.get_layout_engine()
    rendered = []
    with warnings.catch_warnings():
        # A label in a script that no font here has is drawn as boxes: no reason to stop.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.draw_without_rendering()
        figure.set_layout_engine(None)  # found once, good for all formats
        try:
            for ending in formats:
                buffer = io.BytesIO()
                figure.savefig(buffer, format=ending, metadata=_METADATA[ending])
                rendered.append((ending, buffer.getvalue()))
        finally:
            figure.set_layout_engine(engine)
    return rendered


def _file_names(problems: Sequence[str]) -> dict[str, str]:
    """A file name for each problem: letters, digits and dashes, no two the same.

    >>> _file_names(["Paper toy", "paper-toy", "../.."])
    {'Paper toy': 'paper-toy', 'paper-toy': 'paper-toy-2', '../..': 'problem'}
    """
    names: dict[str, str] = {}
    for problem in problems:
        stem = re.sub(r"[^a-z0-9]+", "-", problem.lower())[:60].strip("-") or "problem"
        name, n = stem, 1
        while name in names.values():
            n += 1
            name = f"{stem}-{n}"
        names[problem] = name
    return names

"""Axes with readable ticks, and curves over horizons with their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.experiments.rows import Row, mean_std
from surefoot.reports.figures._sheet import LegendEntry, key, text_of
from surefoot.reports.style import INK, Look, look_of

__all__ = [
    "Points",
    "bound_keys",
    "draw_bounds",
    "draw_curve",
    "in_thousands",
    "log_axis",
    "log_time_axis",
    "look",
    "not_on_log",
    "number",
    "plain_axis",
    "points_of",
    "signed_log_axis",
    "spread",
    "time_axis",
    "zero_axis",
]

_BOUND, _NO_CLAIM = (0, (3.5, 2)), (0, (1, 1.6))


def look(rows: Row | Sequence[Row]) -> Look:
    """Return how a row's algorithm is drawn."""
    return look_of((rows if isinstance(rows, Row) else rows[0]).number)


# --- ticks ---------------------------------------------------------------------------------------


def number(value: float, _: Any = None) -> str:
    r"""Return the number of a tick in as few characters as it needs.

    >>> print(number(20000), number(0.5), number(3e6), number(1e-4))
    20,000 0.5 $3\times10^{6}$ $10^{-4}$
    """
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.6g}".replace("-", "−")
    power = math.floor(math.log10(abs(value)) + 1e-9)
    factor = value / 10.0**power
    if math.isclose(factor, 1.0):
        return f"$10^{{{power}}}$"
    return f"${factor:.3g}\\times10^{{{power}}}$"


def in_thousands(longest: float) -> tuple[str, Callable[[float, Any], str]]:
    """Return what to add to the label of an axis, and the format of its ticks."""
    if longest >= 5_000:
        return " (thousands)", lambda v, _: f"{v / 1000:g}"
    return "", lambda v, _: f"{v:,.6g}"


def time_axis(ax: Any, times: Iterable[float], word: str = "horizon $T$") -> None:
    """Put ticks at round numbers, in thousands where the numbers are large."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    unit, written = in_thousands(max(times))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(written))
    ax.set_xlabel(word + unit)


def log_time_axis(ax: Any, horizons: Iterable[int]) -> None:
    """Put ticks at the horizons that were played, with as many labels as fit."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    every = sorted(set(horizons))
    unit, written = in_thousands(every[-1])
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(_apart(every)))
    ax.xaxis.set_major_formatter(FuncFormatter(written))
    ax.xaxis.set_minor_locator(FixedLocator(every if len(every) <= 20 else []))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("horizon $T$" + unit)


def _apart(horizons: Sequence[int]) -> list[int]:
    """Return the horizons whose labels fit on a logarithmic axis: first and last, then 1, 2, 5.

    >>> _apart(range(2_000, 20_001, 2_000))
    [2000, 4000, 10000, 20000]
    """
    first, last = horizons[0], horizons[-1]
    room = 0.18 * math.log(last / first)
    shown = {first, last}
    for T in sorted(horizons, key=lambda T: (str(T).rstrip("0") not in ("1", "2", "5"), T)):
        if all(abs(math.log(T / other)) > room for other in shown):
            shown.add(T)
    return sorted(shown)


def log_axis(ax: Any) -> None:
    """Make the y axis logarithmic, with labels at 1, 2 and 5 where powers of ten are too few."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    ax.set_yscale("log", nonpositive="clip")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)  # what follows is for these limits
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    narrow, wide = math.log10(high / low) < 2.7, max(1, len(powers) // 7)
    labelled = [
        f * 10.0**p
        for p in powers[:: 1 if narrow else wide]
        for f in ((1, 2, 5) if narrow else (1,))
    ]
    between = [f * 10.0**p for p in powers for f in range(1, 10)] if wide == 1 else []
    ax.yaxis.set_major_locator(FixedLocator([v for v in labelled if low <= v <= high]))
    ax.yaxis.set_major_formatter(FuncFormatter(number))
    ax.yaxis.set_minor_locator(FixedLocator([v for v in between if low <= v <= high]))
    ax.yaxis.set_minor_formatter(NullFormatter())


def plain_axis(ax: Any, low: float | None = None) -> None:
    """Make the y axis linear; ``low`` times the upper end is the lower end."""
    from matplotlib.ticker import FuncFormatter

    ax.yaxis.set_major_formatter(FuncFormatter(number))
    if low is not None:
        top = ax.get_ylim()[1]
        ax.set_ylim(low * top, top)


def zero_axis(ax: Any, values: Iterable[float]) -> None:
    """Start the y axis at 0; logarithmic above the smallest value where values differ a lot."""
    values = list(values)
    if not any(v > 0 for v in values):
        ax.set_ylim(-0.03, 1.0)  # a line at 0 needs an axis all the same
        return
    if spread(values) <= 50:
        plain_axis(ax, -0.03)
        return
    threshold = signed_log_axis(ax, values)
    ax.set_ylim(-0.2 * threshold, ax.get_ylim()[1])


def signed_log_axis(ax: Any, values: Iterable[float]) -> float:
    """Make the y axis logarithmic on both sides of 0, with a line at 0.

    Returns:
        The limit of the linear part: a power of ten not above the smallest value.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    sizes = [abs(v) for v in values if v != 0 and math.isfinite(v)]
    # Five decades are as many as a panel has room for.
    first = math.floor(math.log10(max(min(sizes), 1e-5 * max(sizes))))
    ax.set_yscale("symlog", linthresh=10.0**first, linscale=0.5)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    last = math.floor(math.log10(max(-low, high)))
    signed = low < -(10.0**first)  # then labels at the end of the linear part would be too near 0
    stride = math.ceil((last - first + 1) / (4 if signed else 6))
    powers = [10.0**p for p in range(last, first - 1 + signed, -stride)]
    ticks = [*(-p for p in powers), 0.0, *powers[::-1]]
    ax.yaxis.set_major_locator(FixedLocator([v for v in ticks if low <= v <= high]))
    ax.yaxis.set_major_formatter(FuncFormatter(number))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.axhline(0, color=INK, lw=0.5, zorder=0.5, label="_zero")
    return 10.0**first


def spread(values: Iterable[float]) -> float:
    """Return the largest over the smallest positive number."""
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    return max(positive) / min(positive) if positive else 1.0


# --- curves over horizons ------------------------------------------------------------------------


class Points(NamedTuple):
    """A curve: horizons, means and standard deviations."""

    T: np.ndarray
    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Row], name: str) -> Points:
        """Return the curve of one of the arrays of trials."""
        pairs = np.array([mean_std(row, name) for row in rows])
        return cls(np.array([row.horizon for row in rows]), pairs[:, 0], pairs[:, 1])


def points_of(groups: Mapping[str, Sequence[Row]], name: str) -> dict[str, Points]:
    """Return the curve of every group, of one of the arrays of trials."""
    return {label: Points.of(group, name) for label, group in groups.items()}


def draw_curve(ax: Any, points: Points, look: Look, text: str, line: Any = None) -> LegendEntry:
    """Draw a curve with error bars of one standard deviation."""
    bars = ax.errorbar(
        points.T,
        points.mean,
        yerr=points.std,
        color=look.colour,
        marker=look.marker,
        markersize=look.size,
        ls=look.line if line is None else line,
        elinewidth=0.7,
        capsize=1.6,
        capthick=0.7,
        markeredgewidth=0.0,
        label=text,
    )
    return LegendEntry(bars, text)


def draw_bounds(ax: Any, rows: Sequence[Row], bound: Callable[[Row], float | None]) -> set[bool]:
    """Draw the bound of a theorem: dashed where its premises held, else dotted.

    Returns:
        Which of the two were drawn, by whether they are claims.
    """
    drawn = set()
    for claims, line, name in ((True, _BOUND, "_bound"), (False, _NO_CLAIM, "_no claim")):
        known = [(r.horizon, b) for r in rows if r.claims is claims and (b := bound(r)) is not None]
        if not known:
            continue
        T, values = zip(*known, strict=True)
        # One horizon makes no line: a short dash stands for it.
        single = {"marker": "_", "markersize": 7} if len(T) == 1 else {}
        ax.plot(T, values, color=look(rows).colour, ls=line, lw=0.9, label=name, **single)
        drawn.add(claims)
    return drawn


def bound_keys(drawn: Iterable[bool]) -> list[LegendEntry]:
    """Return the legend entries of the lines of :func:`draw_bounds`."""
    both = (key(_BOUND, "bound of the theorem"), key(_NO_CLAIM, "no claim: a premise broke"))
    return [entry for entry, claims in zip(both, (True, False), strict=True) if claims in drawn]


def not_on_log(points: Mapping[str, Points], word: str) -> str:
    """Return which points a logarithmic axis cannot show."""
    lost = []
    for label, p in points.items():
        at = p.T[p.mean <= 0]
        if len(at):
            which = "every $T$" if len(at) == len(p.T) else ", ".join(f"{T:,}" for T in at)
            lost.append(f"{text_of(label)} at {which}")
    return f"not shown, {word} ≤ 0: {'; '.join(lost)}" if lost else ""

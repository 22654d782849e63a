"""The charts of a plant: limits, set points, contexts and margins over clock time.

Every chart is drawn twice, for a wide page and for a narrow one, so that nobody scrolls sideways.
A mark has a shape and a word of its own, and colours differ in lightness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core.types import FloatArray
from surefoot.experiments.figures import render_figure
from surefoot.experiments.figures.sheet import (
    COLOURS,
    GRID,
    Width,
    add_legend,
    in_style,
    label_rounds,
    new_key,
    new_sheet,
    text_of,
)

__all__ = ["Chart", "Track", "draw_charts"]

_BINS: dict[Width, int] = {"page": 700, "column": 260}
"""Parts of a curve, of which the extremes are drawn."""
_GREY, _READ, _ALARM, _RECOVERY = "#8C8C8C", "#0B4F8A", "#D55E00", "#009E73"
_DOTS = 200
"""Rounds up to which every reading has a dot."""
_LETTERS = 16
"""Of a name beside an axis."""
_NAMES = 8
"""Names that fit one above the other at the ends of lines; more are in the legend."""
_SEEN = 200
"""Marks that do not cover each other."""
_DASHES: tuple[Any, ...] = ("-", (0, (7, 1.5)), (0, (7, 1.5, 1.5, 1.5)))
"""The lines of the first, second and third turn of colours."""
_MARKS = {
    "alarm": ("v", _ALARM, 0.955),
    "recovery": ("o", _RECOVERY, 0.895),
    "amendment": ("s", "#000000", 0.895),
    "order": ("D", "#7B3294", 0.955),
    "missing": ("|", "#444444", 0.02),
}
"""The shape, the colour and the height of a mark, by its word."""
_WANTED = (0, (1, 1.6))


class Chart(NamedTuple):
    """A chart: what it shows, in words and as SVG, wide and narrow."""

    title: str
    about: str
    wide: bytes
    narrow: bytes


class Track(NamedTuple):
    """The rounds of a plant along an axis.

    Attributes:
        rows: the rounds, as a ``PlantRecord`` describes them.
        at: where they are: days since 1970 by the clock, or their numbers.
        by_clock: whether the axis is the clock's: not where one goes back.
        marks: the places of marks, by their words.
    """

    rows: Sequence[Any]
    at: FloatArray
    by_clock: bool
    marks: Mapping[str, FloatArray]

    @classmethod
    def of(cls, rows: Sequence[Any], marks: Mapping[str, Sequence[int]]) -> Track:
        """Return the track of rounds.

        Args:
            rows: the rounds.
            marks: rounds by the word of their mark.
        """
        clock = _read_clock([row.time for row in rows])
        rounds = np.array([row.round for row in rows], dtype=np.float64)
        at = rounds if clock is None else clock
        places = {
            word: at[np.isin(rounds, np.asarray(which, dtype=np.float64))]
            for word, which in marks.items()
        }
        return cls(rows, at, clock is not None, places)

    def numbers(self, kind: str, name: str) -> FloatArray:
        """Return a number of every round, such as one of its readings; NaN where there is none."""
        return np.array([getattr(row, kind).get(name, np.nan) for row in self.rows], dtype=float)


def _read_clock(times: Sequence[str]) -> FloatArray | None:
    """Return times in days; None if one is none, or if the clock goes back."""
    try:
        seconds = [datetime.fromisoformat(time).astimezone(UTC).timestamp() for time in times]
    except (ValueError, OverflowError):
        return None
    days = np.array(seconds) / 86400.0
    return days if (np.diff(days) >= 0.0).all() else None


def draw_charts(track: Track, plant: Any, key: str) -> list[Chart]:
    """Return the charts of a plant: limits, set points, contexts, margins.

    Args:
        track: its rounds.
        plant: its description at their end.
        key: letters that no other plant of the page has.
    """
    charts = []
    for i, (drawing, title, about) in enumerate(_drawings(track, plant)):
        name = f"{key}x{_letters(i)}"
        wide = _name_ids(drawing.render(track, "page"), f"{name}w")
        narrow = _name_ids(drawing.render(track, "column"), f"{name}n")
        charts.append(Chart(title, about, wide, narrow))
    return charts


def _drawings(track: Track, plant: Any) -> Iterator[tuple[_Drawing, str, str]]:
    """Yield what is drawn, with its title and what it shows in words."""
    for limit in plant.limits:
        yield _Limit(limit), *_state_limit(track, limit)
    for unit, group in _by_unit(plant.actuators):
        about = (
            "Set points that were asked for, and what was wanted, dotted; the axis is the range."
        )
        yield _Actuators(unit, group), f"Set points [{unit}]", about
    if plant.contexts:
        about = "What was reported of the context before each round."
        yield _Contexts(plant.contexts), "Contexts", about
    about = (
        "How far inside its limit each value was certified to be before the round. At 0 nothing "
        "is left."
    )
    yield _Margins(plant.limits), "Margin kept", about


def _letters(number: int) -> str:
    """Return a number in letters.

    >>> _letters(0), _letters(27)
    ('a', 'ab')
    """
    rest, last = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + "abcdefghijklmnopqrstuvwxyz"[last]


_IDS = re.compile(rb'(\bid="|url\(#|href="#)')


def _name_ids(svg: bytes, name: str) -> bytes:
    """Return a drawing whose parts have names that no other one on the page has.

    A pattern of one that is hidden would else be taken for that of one that is shown.
    """
    return _IDS.sub(rb"\1" + name.encode(), svg)


def _state_limit(track: Track, limit: Any) -> tuple[str, str]:
    """Return the title of the chart of a limit, and what it shows in words."""
    values = track.numbers("readings", limit.name)
    sense = limit.sense.replace("_", " ")
    bounds = track.numbers("limits", limit.name)
    each = dict.fromkeys([*bounds[np.isfinite(bounds)].tolist(), limit.bound])
    title = f"{limit.name}: {sense} {', then '.join(f'{b:g}' for b in each)} {limit.unit}"
    about = "Readings with the error of the meter, and what was certified before each round."
    if np.isfinite(values).any():
        low, high = np.nanmin(values), np.nanmax(values)
        about += f" Readings are between {low:.6g} and {high:.6g} {limit.unit}."
    return title, about


def _by_unit(parts: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield parts that have a unit in common."""
    groups: dict[str, list[Any]] = {}
    for part in parts:
        groups.setdefault(part.unit, []).append(part)
    yield from groups.items()


# --- a drawing -----------------------------------------------------------------------------------


class _Drawing:
    """One chart, of one or several panels above each other."""

    height: ClassVar[dict[Width, float]] = {"page": 2.3, "column": 2.0}

    def panels(self) -> int:
        """Return how many panels there are."""
        return 1

    def draw(self, axes: Sequence[Any], track: Track, bins: int) -> list[Any]:
        """Draw the panels; return what the legend shows."""
        raise NotImplementedError

    @in_style
    def render(self, track: Track, width: Width) -> bytes:
        """Return the chart as SVG."""
        count = self.panels()
        height = self.height[width] * (1 if count == 1 else 0.62 * count)
        figure, rows = new_sheet(width, (count, 1), height, sharex=True)
        axes = [row[0] for row in rows]
        handles = self.draw(axes, track, _BINS[width])
        _label_axis(axes[-1], track, width)
        if handles:
            add_legend(figure, handles)
        return render_figure(figure, ("svg",))["svg"]


class _Limit(_Drawing):
    """Readings of a limit, its bound, and what was certified."""

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def draw(self, axes: Sequence[Any], track: Track, bins: int) -> list[Any]:
        """Draw the panel; return what the legend shows."""
        (ax,), limit = axes, self.limit
        values = track.numbers("readings", limit.name)
        bounds = track.numbers("bounds", limit.name)
        lines = track.numbers("limits", limit.name)
        error = limit.meter_error.value
        handles = []
        at, low, high = _thin(track.at, bounds, bins)
        worst = high if limit.sense == "at_most" else low
        handles += ax.plot(at, worst, color=_GREY, lw=1.0, label="certified before the round")
        at, low, high = _thin(track.at, values, bins)
        dot = {"marker": ".", "ms": 1.6, "mew": 0} if len(at) <= _DOTS else {}
        band = {"color": _READ, "alpha": 0.25, "lw": 0, "label": "error of the meter"}
        handles.append(ax.fill_between(at, low - error, high + error, **band))
        worst = high if limit.sense == "at_most" else low
        handles += ax.plot(at, worst, color=_READ, lw=0.9, label="reading", **dot)
        at, low, _ = _thin(track.at, lines, bins)
        look = {"color": "#000000", "lw": 1.1, "ls": (0, (5, 2)), "drawstyle": "steps-pre"}
        handles += ax.plot(at, low, label="the limit", **look)
        ax.set_ylabel(_label_of(limit))
        _pad(ax, above=limit.sense == "at_most")
        gap = _hatch(ax, track.at, np.isnan(values))
        return [*handles, *gap, *_mark(ax, track)]


class _Actuators(_Drawing):
    """Set points of one unit."""

    def __init__(self, unit: str, actuators: Sequence[Any]) -> None:
        self.unit, self.actuators = unit, actuators

    def draw(self, axes: Sequence[Any], track: Track, bins: int) -> list[Any]:
        """Draw the panel; return what the legend shows."""
        (ax,) = axes
        ends: list[tuple[str, float, str]] = []
        key: list[Any] = []
        lines: list[Any] = []
        for i, each in enumerate(self.actuators):
            look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)]}
            look["ls"] = _DASHES[i // len(COLOURS) % 3]
            wanted = track.numbers("wanted", each.name)
            if np.isfinite(wanted).any():
                at, low, high = _thin(track.at, wanted, bins)
                colour = look["color"]
                ax.plot(at, 0.5 * (low + high), color=colour, lw=1.0, ls=_WANTED)
                key = key or [new_key(_WANTED, "wanted")]
            points = track.numbers("set_points", each.name)
            at, low, high = _thin(track.at, points, bins)
            ax.fill_between(at, low, high, step="pre", color=look["color"], alpha=0.25, lw=0)
            look |= {"drawstyle": "steps-pre", "lw": 1.2, "label": text_of(each.name)}
            lines += ax.plot(at, 0.5 * (low + high), **look)
            ends.append((each.name, float(points[-1]), look["color"]))
        least = min(0.0 if each.can_be_off else each.low for each in self.actuators)
        most = max(each.high for each in self.actuators)
        ax.set_ylim(least - 0.08 * (most - least), most + 0.17 * (most - least))
        ax.set_yticks([tick for tick in ax.get_yticks() if least <= tick <= most])
        ax.set_ylabel(text_of(f"set point [{self.unit}]"))
        if len(ends) > _NAMES:
            return [*lines, *key, *_mark(ax, track)]
        _name_ends(ax, ends)
        return [*key, *_mark(ax, track)]


class _Contexts(_Drawing):
    """Contexts: two share a panel, more have one each."""

    def __init__(self, contexts: Sequence[Any]) -> None:
        self.contexts = contexts

    def panels(self) -> int:
        """Return how many panels there are."""
        return 1 if len(self.contexts) <= 2 else len(self.contexts)

    def draw(self, axes: Sequence[Any], track: Track, bins: int) -> list[Any]:
        """Draw the panels; return what the legend shows."""
        if len(axes) < len(self.contexts):
            axes = [axes[0], axes[0].twinx()]
        handles = []
        for i, (ax, each) in enumerate(zip(axes, self.contexts, strict=True)):
            at, low, high = _thin(track.at, track.numbers("context", each.name), bins)
            colour, line = COLOURS[i % len(COLOURS)], _DASHES[i % 2]
            ax.fill_between(at, low, high, color=colour, alpha=0.25, lw=0)
            label = text_of(f"{each.name} [{each.unit}]")
            handles += ax.plot(at, 0.5 * (low + high), color=colour, ls=line, lw=1.1, label=label)
            ax.set_ylabel(_label_of(each))
            ax.tick_params(axis="y", labelsize=7, width=0.6, length=2.5)
        if len(axes) == 2 and len(self.contexts) == 2:
            axes[1].spines["right"].set_visible(True)
            axes[1].grid(visible=False)
        return handles


class _Margins(_Drawing):
    """How far inside the limits what was certified is: a panel for each limit."""

    def __init__(self, limits: Sequence[Any]) -> None:
        self.limits = limits

    def panels(self) -> int:
        """Return how many panels there are."""
        return len(self.limits)

    def draw(self, axes: Sequence[Any], track: Track, bins: int) -> list[Any]:
        """Draw the panels; return what the legend shows."""
        handles: list[Any] = []
        for ax, limit in zip(axes, self.limits, strict=True):
            margins = track.numbers("margins", limit.name)
            at, low, high = _thin(track.at, margins, bins)
            ax.fill_between(at, low, high, color=_GREY, alpha=0.3, lw=0)
            line = ax.plot(at, low, color=_GREY, lw=1.0, label="certified margin")
            zero = ax.axhline(0, color="#000000", lw=1.1, ls=(0, (5, 2)), label="the limit, 0")
            ax.set_ylabel(_label_of(limit))
            gap = _hatch(ax, track.at, np.isnan(margins), "nothing certified")
            handles = handles or [*line, zero]
            if gap and len(handles) == 2:
                handles += gap
        return handles


# --- parts of a drawing --------------------------------------------------------------------------


def _label_of(part: Any) -> str:
    """Return the label of an axis: a name that would be cut off is shortened, its unit is not."""
    name = part.name if len(part.name) <= _LETTERS else f"{part.name[: _LETTERS - 2]}..."
    return text_of(f"{name} [{part.unit}]")


def _thin(
    at: FloatArray, values: FloatArray, bins: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return places with the least and the largest value there, of at most so many parts."""
    n = len(values)
    if n <= bins:
        return at, values, values
    starts = np.unique(np.linspace(0, n, bins, endpoint=False).astype(int))
    ends = np.append(starts[1:], n) - 1
    return at[ends], np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)


def _thin_marks(places: FloatArray, track: Track) -> FloatArray:
    """Return the places of marks, of those that cover each other the first."""
    size = (float(track.at[-1]) - float(track.at[0])) / _SEEN or 1.0
    _, first = np.unique(np.floor((places - track.at[0]) / size), return_index=True)
    return places[first]


def _pad(ax: Any, *, above: bool) -> None:
    """Leave room for marks at the top, and below what is drawn."""
    low, high = ax.get_ylim()
    size = high - low
    ax.set_ylim(low - 0.04 * size, high + (0.14 if above else 0.2) * size)


def _hatch(ax: Any, at: FloatArray, where: Any, word: str = "no reading") -> list[Any]:
    """Hatch rounds, from the end of the round before; return the key."""
    if not where.any():
        return []
    edges = np.append(at[0] - (at[1] - at[0] if len(at) > 1 else 1.0), at)
    spans = np.flatnonzero(np.diff(np.concatenate(([0], where.astype(int), [0]))))
    ranges = [(edges[a], edges[b] - edges[a]) for a, b in spans.reshape(-1, 2).tolist()]
    look = {"facecolor": "none", "edgecolor": _GREY, "hatch": "//////", "lw": 0.0}
    transform = ax.get_xaxis_transform()
    part = ax.broken_barh(ranges, (0.0, 1.0), transform=transform, zorder=0.4, label=word, **look)
    return [part]


def _mark(ax: Any, track: Track) -> list[Any]:
    """Draw a mark at the top for each event; return the keys."""
    handles = []
    transform = ax.get_xaxis_transform()
    for word, places in track.marks.items():
        shape, colour, height = _MARKS[word]
        places = _thin_marks(places, track)
        if not len(places):
            continue
        if word != "missing":
            ax.vlines(places, 0.0, height, transform=transform, color=colour, lw=0.6, alpha=0.6)
        is_line = shape == "|"
        look: dict[str, Any] = {"ls": "none", "marker": shape, "ms": 4.6, "mew": 0.6}
        look |= {"mew": 1.0} if is_line else {"mec": "#FFFFFF"}
        handles += ax.plot(
            places,
            np.full(len(places), height),
            transform=transform,
            color=colour,
            clip_on=False,
            label=word,
            **look,
        )
    return handles


def _name_ends(ax: Any, ends: Sequence[tuple[str, float, str]]) -> None:
    """Write the name of each line at its right end; names do not cover each other."""
    low, high = ax.get_ylim()
    least = 0.09 * (high - low)
    place = -np.inf
    for name, value, colour in sorted(ends, key=lambda end: end[1]):
        at = max(value if np.isfinite(value) else low, place + least)
        place = at
        ax.annotate(
            text_of(name),
            (1.0, at),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=colour,
            annotation_clip=False,
        )


def _label_axis(ax: Any, track: Track, width: Width) -> None:
    """Name the axis of time, which is the same in all charts."""
    first, last = float(track.at[0]), float(track.at[-1])
    pad = 0.015 * (last - first) or 0.5
    ax.set_xlim(first - pad, last + pad)
    if not track.by_clock:
        label_rounds(ax.xaxis, "round")
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=9 if width == "page" else 5, tz=UTC)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))
    ax.set_xlabel("clock, UTC")
    ax.grid(visible=True, axis="x", color=GRID, lw=0.5)

"""What all figures share: colours, which rows they show, sheets of a paper's width, legends.

An algorithm has one colour, marker and line in every figure. Nothing here needs a plotting library
until something is drawn.
"""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np

from surefoot.core.display import BLACK, BLUE, GREEN, ORANGE, PINK, SKY, VERMILLION
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.optional import need
from surefoot.experiments.rows import (
    Row,
    algorithms as labels_of,
    mean_std,
    problems as problems_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_VIOLET = "#7B3294"
COLOURS = (BLUE, VERMILLION, GREEN, PINK, SKY, ORANGE, BLACK, _VIOLET)
"""The palette of all figures; violet stands for its yellow, which white paper swallows."""

INK, GRID, FILL = "#444444", "#E2E2E2", "#F2EFE6"
"""Frames and boundaries, grid lines, the inside of a feasible set."""

# Only bounds are dashed or dotted, so the line of a curve is never one of these.
_LINES: tuple[Line, ...] = ("-", "-.", (0, (9, 2)), (0, (9, 2, 1.5, 2, 1.5, 2)))
# Slim markers are drawn larger.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZES = (3.2, 3.0, 3.6, 3.0, 3.6, 4.2, 4.0, 5.2)


def look_of(number: int) -> Options:
    """Return how the algorithm at a place of the plan, from 0, is drawn; the first 64 differ.

    >>> look_of(1)["color"], look_of(9)["color"], look_of(9)["ls"]
    ('#D55E00', '#D55E00', '-.')
    """
    turn, place = divmod(number, len(COLOURS))
    marker = (number + turn) % len(_MARKERS)
    look: Options = {"color": COLOURS[place], "ls": _LINES[turn % len(_LINES)]}
    return look | {"marker": _MARKERS[marker], "ms": _SIZES[marker], "mew": 0.0}


Width: TypeAlias = Literal["column", "page"]
Line: TypeAlias = str | tuple[int, tuple[float, ...]]
"""A line style, as Matplotlib takes it."""
Options: TypeAlias = dict[str, Any]
"""Keyword options of Matplotlib's functions."""
Handle: TypeAlias = Any
"""What a legend shows: an artist, or a container of some."""

MOST = 8
"""Algorithms in a figure unless they are named: as many as there are colours."""

INCHES: dict[Width, float] = {"column": 3.25, "page": 6.75}
"""The width of a column, and of the page."""

HEIGHT: dict[Width, float] = {"column": 2.0, "page": 2.6}
"""Inches of a panel over the whole width."""

POINTS = 80
"""Points of a curve over the rounds: finer than paper or screen resolve."""

_LINE = 0.145  # inches that a line of the legend takes
_LETTER = 0.045  # inches of a letter at 7 points, on the wide side
_LONGEST = 44  # characters of a label
BOUND: Line = (0, (3.5, 2))
"""The line of a theorem's bound."""
_NO_CLAIM: Line = (0, (1, 1.6))
_P = ParamSpec("_P")
_T = TypeVar("_T")


# --- which rows ----------------------------------------------------------------------------------


class NothingToDraw(SurefootError, ValueError):  # noqa: N818 - missing data, no mistake of the caller
    """The rows have no data for a figure."""


class Selection(NamedTuple):
    """The rows of a problem that a figure shows, by algorithm, horizons ascending."""

    problem: str
    groups: dict[str, list[Row]]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for group in self.groups.values() for row in group]

    @property
    def title(self) -> str:
        """The problem, its horizons, and what points and bars stand for."""
        return describe(self.problem, self.rows)


def select(
    rows: Sequence[Row],
    problem: str | None,
    algorithms: Sequence[str] | None,
    usable: Callable[[Row], bool],
    what: str,
    most: int = MOST,
) -> Selection:
    """Return the rows of a problem that a figure can use; an algorithm without any is left out."""
    problem = _check_names(rows, problem, algorithms)
    groups: dict[str, list[Row]] = {label: [] for label in algorithms or labels_of(rows)}
    for row in sorted(rows, key=lambda r: r.horizon):
        if (row.problem, row.played) == (problem, True) and row.algorithm in groups and usable(row):
            groups[row.algorithm].append(row)
    full = [(label, group) for label, group in groups.items() if group]
    if not full:
        raise NothingToDraw(f"no row of {problem!r} has {what}")
    return Selection(problem, dict(full if algorithms else full[:most]))


def _check_names(rows: Sequence[Row], problem: str | None, algorithms: Sequence[str] | None) -> str:
    """Return the problem, the first one unless given; reject names that no row has."""
    if not rows:
        raise NothingToDraw("there are no rows")
    problems, names = problems_of(rows), labels_of(rows)
    if problem not in (None, *problems):
        raise InvalidValueError(f"problem must be one of {problems}, got {problem!r}")
    if unknown := [label for label in algorithms or () if label not in names]:
        raise InvalidValueError(f"algorithms must be among {names}, got {unknown[0]!r}")
    return problems[0] if problem is None else problem


def pick_longest(groups: Mapping[str, list[Row]]) -> dict[str, Row]:
    """Return one row per algorithm: of the longest horizon that all share, else of the longest."""
    shared = set.intersection(*({r.horizon for r in group} for group in groups.values()))
    return {
        label: next(r for r in reversed(group) if not shared or r.horizon == max(shared))
        for label, group in groups.items()
    }


# --- words ---------------------------------------------------------------------------------------


def text_of(label: str) -> str:
    r"""Return a label as Matplotlib is to show it: nothing in it is a command.

    >>> print(text_of("costs $5"))
    costs \$5
    """
    clean = " ".join(label.split())
    if len(clean) > _LONGEST:
        clean = f"{clean[: _LONGEST - 12].rstrip()} … {clean[-9:].lstrip()}"
    clean = clean.replace("$", r"\$")
    # Matplotlib takes a leading underscore for "not in the legend".
    return f" {clean}" if clean.startswith("_") else clean


def describe(problem: str, rows: Collection[Row]) -> str:
    """Return the problem, its horizon or the longest, and what curves and bars stand for."""
    horizons, counts = ({row.horizon for row in rows}, {row.trials for row in rows})
    where = f"T {'=' if len(horizons) == 1 else 'up to'} {max(horizons):,}"
    many = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    trials = "one trial" if many == "1" else f"mean ± 1 std of {many} trials"
    return f"{text_of(problem)}, {where}, {trials}"


def list_names(names: Sequence[str], of: int) -> str:
    """Return names, or how many they are where a line cannot hold them.

    >>> list_names(["a", "b"], of=3), list_names(["a", "b"], of=2)
    ('a, b', 'all')
    """
    if len(names) == of > 1:
        return "all"
    return ", ".join(map(text_of, names)) if len(names) <= 3 else f"{len(names)} of {of}"


# --- the sheet -----------------------------------------------------------------------------------


def in_style(draw: Callable[_P, _T]) -> Callable[_P, _T]:
    """Draw with the settings of a two-column paper; those of the caller stay."""

    @functools.wraps(draw)
    def draw_in_style(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        matplotlib = need("matplotlib", "plot", "a figure")
        with matplotlib.rc_context(fname=Path(__file__).with_name("paper.mplstyle")):
            return draw(*args, **kwargs)

    return draw_in_style


def figure(
    what: str,
    usable: Callable[[Row], bool],
    width: Width = "column",
    most: Mapping[Width, int] | None = None,
) -> Callable[[Callable[[Selection, Width], Figure]], Callable[..., Figure]]:
    """Make a figure of what draws selected rows, with the arguments that all figures have.

    Args:
        what: which rows it shows, in words.
        usable: whether a row is one of them.
        width: of the figure unless given.
        most: algorithms unless they are named, by width.
    """
    default = width

    def decorate(draw: Callable[[Selection, Width], Figure]) -> Callable[..., Figure]:
        @in_style
        def draw_selected(
            rows: Sequence[Row],
            problem: str | None = None,
            algorithms: Sequence[str] | None = None,
            *,
            width: Width = default,
        ) -> Figure:
            if width not in INCHES:
                raise InvalidValueError(f"width must be 'column' or 'page', got {width!r}")
            limit = MOST if most is None else most[width]
            return draw(select(rows, problem, algorithms, usable, what, limit), width)

        draw_selected.__name__, draw_selected.__doc__ = draw.__name__, draw.__doc__
        return draw_selected

    return decorate


def has(*names: str) -> Callable[[Row], bool]:
    """Return whether a row has all of some arrays, as a function of the row."""
    return lambda row: all(name in row.arrays for name in names)


def new_sheet(
    width: Width, panels: tuple[int, int] = (1, 1), height: float | None = None, **options: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure and its axes, ``(rows, columns)``; the legend makes it higher."""
    figure = _figure_class()(figsize=(INCHES[width], HEIGHT[width] if height is None else height))
    figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.04)
    axes = figure.subplots(*panels, squeeze=False, **options)
    for ax in axes.flat:
        # Ticks that are made while drawing would take the caller's settings, not the paper's.
        ax.tick_params(which="major", labelsize=7, width=0.6, length=2.5)
        ax.tick_params(which="minor", labelsize=6, width=0.4, length=1.5)
        ax.grid(visible=True, axis="y", color=GRID, lw=0.5)
    return figure, axes


@functools.cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that a notebook draws; without pyplot it would show only its name."""

        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png", dpi=200)
            return picture.getvalue()

    return ShownFigure


def add_legend(figure: Figure, handles: Sequence[Handle]) -> None:
    """Put the legend below the axes, where no curve runs, and make room for it."""
    texts = [handle.get_label() for handle in handles]
    wide = 0.44 + _LETTER * max(map(len, texts))
    lines = math.ceil(len(texts) / max(1, min(6, int(figure.get_figwidth() / wide))))
    columns = math.ceil(len(texts) / lines)
    figure.set_figheight(figure.get_figheight() + _LINE * lines)
    figure.legend(handles, texts, loc="outside lower center", ncols=columns)


def new_key(line: Line, text: str, **options: Any) -> Handle:
    """Return the legend's handle of a line style, in a colour that no algorithm has."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": INK, "ls": line, "lw": 0.9, "label": text, **options})


def add_title(ax: Any, *lines: str) -> None:
    """Write above a panel what it shows and what it cannot show."""
    inches = ax.figure.get_figwidth() / ax.get_gridspec().ncols
    letters = max(20, int(inches / _LETTER))
    folded = [part for line in lines if line for part in textwrap.wrap(line, letters)]
    ax.set_title("\n".join(folded), loc="left", fontsize=7, color=INK, linespacing=1.15)


# --- axes and curves -----------------------------------------------------------------------------


def label_rounds(axis: Axis, word: str) -> None:
    """Name an axis of rounds, with ticks in thousands and millions: 20k, 1M."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_major_formatter(EngFormatter(sep=""))
    axis.set_label_text(word)


def scale_axis(ax: Axes, values: Iterable[float], wide: float) -> None:
    """Make the y axis logarithmic around 0 where sizes differ by more than a factor."""
    values = [v for v in values if math.isfinite(v)]
    sizes = [abs(v) for v in values if v]
    if not sizes:
        ax.set_ylim(-0.03, 1.0)  # a line at 0 needs an axis, too
        return
    bottom = -0.03 * ax.get_ylim()[1]
    if max(sizes) > wide * min(sizes):
        # Five decades are as many as a panel has room for.
        linear = 10.0 ** math.floor(math.log10(max(min(sizes), 1e-5 * max(sizes))))
        ax.set_yscale("symlog", linthresh=linear, linscale=1.0)
        ax.autoscale_view(scalex=False)
        ax.axhline(0, color=INK, lw=0.5, zorder=0.5, label="_zero")
        bottom = -0.2 * linear
    if min(values) >= 0:
        ax.set_ylim(bottom, ax.get_ylim()[1])


def means_of(groups: Mapping[str, Sequence[Row]], name: str) -> dict[str, np.ndarray]:
    """Return the means over the trials by algorithm, one per horizon."""
    return {k: np.array([mean_std(r, name)[0] for r in group]) for k, group in groups.items()}


def draw_curve(ax: Axes, rows: Sequence[Row], name: str, **options: Any) -> Handle:
    """Draw an array of trials against the horizon, with bars of one standard deviation."""
    pairs = np.array([mean_std(row, name) for row in rows])
    style: Options = {"elinewidth": 0.7, "label": text_of(rows[0].algorithm)}
    style |= look_of(rows[0].number)
    horizons = [row.horizon for row in rows]
    return ax.errorbar(horizons, pairs[:, 0], yerr=pairs[:, 1], **style | options)


def draw_bounds(
    ax: Axes, groups: Iterable[Sequence[Row]], bound: Callable[[Row], float | None]
) -> list[Handle]:
    """Draw theorems' bounds, dashed where premises held, else dotted; return the keys."""
    keys = {}
    for rows in groups:
        for claims, line, name, words in (
            (True, BOUND, "_bound", "bound of the theorem"),
            (False, _NO_CLAIM, "_no claim", "no claim: a premise broke"),
        ):
            limits = [(r.horizon, bound(r)) for r in rows if r.claims is claims]
            points = [(T, b) for T, b in limits if b is not None]
            if points:
                # One horizon makes no line: a short dash stands for it.
                single: Options = {"marker": "_", "markersize": 7} if len(points) == 1 else {}
                colour = look_of(rows[0].number)["color"]
                look: Options = {"color": colour, "ls": line, "lw": 0.9, "label": name}
                ax.plot(*zip(*points, strict=True), **look, **single)
                keys[words] = new_key(line, words)
    return [keys[words] for words in sorted(keys)]


def draw_band(
    ax: Axes, row: Row, values: np.ndarray, place: float, least: float = -math.inf
) -> Handle:
    """Draw values against the rounds, ``(rounds, trials)``: mean, and a band of one deviation."""
    at = thin(len(values))
    rounds, look = row.arrays["rounds"][at], look_of(row.number)
    mean, std = values[at].mean(axis=1), values[at].std(axis=1)
    stride = max(1, len(at) // 6)
    (line,) = ax.plot(
        rounds,
        mean,
        markevery=(int(place * stride), stride),  # not all in the same round
        label=text_of(row.algorithm),
        **look,
    )
    if values.shape[1] > 1:
        low = np.maximum(mean - std, least)
        ax.fill_between(rounds, low, mean + std, color=look["color"], alpha=0.2, lw=0)
    return line


def thin(count: int, most: int = POINTS) -> np.ndarray:
    """Return which of so many points are drawn: the last of each of as many parts.

    >>> thin(3), len(thin(10_000)), thin(10_000)[-1]
    (array([0, 1, 2]), 80, np.int64(9999))
    """
    parts = min(count, most)
    return (np.arange(1, parts + 1) * count) // parts - 1

"""Page size, titles, legends, and labels from a specification."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np

from surefoot.core.optional import need
from surefoot.experiments.rows import Row
from surefoot.reports.style import GRID, INK, paper_style

__all__ = [
    "HEIGHT",
    "LegendEntry",
    "Width",
    "head",
    "in_style",
    "inches_of",
    "key",
    "legend",
    "listed",
    "names_of",
    "sheet",
    "text_of",
    "trials_of",
]

Width: TypeAlias = Literal["column", "page"]

HEIGHT: dict[Width, float] = {"column": 2.0, "page": 2.6}
"""Inches of a panel over the whole width."""

_LINE = 0.145  # inches that a line of the legend takes
_LETTER = 0.045  # inches of a letter at 7 points, on the wide side
_LONGEST = 44  # characters of a label

_P = ParamSpec("_P")
_T = TypeVar("_T")


class LegendEntry(NamedTuple):
    """A line of the legend."""

    handle: Any
    text: str


@functools.cache
def _style(width: Width = "column") -> dict[str, Any]:
    return paper_style(width)


def inches_of(width: Width) -> float:
    """Return the width of a column, or of the page, in inches."""
    return float(_style(width)["figure.figsize"][0])


def in_style(draw: Callable[_P, _T]) -> Callable[_P, _T]:
    """Draw with the paper's settings and leave the caller's as they are."""

    @functools.wraps(draw)
    def styled(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        matplotlib = need("matplotlib", "plot", "a figure")
        with matplotlib.rc_context(_style()):
            return draw(*args, **kwargs)

    return styled


def text_of(label: str) -> str:
    r"""Return a label as Matplotlib is to show it: nothing in it is a command.

    >>> print(text_of("costs $5"))
    costs \$5
    """
    clean = " ".join(label.split())
    if len(clean) > _LONGEST:
        clean = f"{clean[: _LONGEST - 12].rstrip()} … {clean[-9:].lstrip()}"
    return clean.replace("$", r"\$")


def sheet(
    width: Width,
    panels: tuple[int, int],
    height: float,
    texts: Sequence[str] = (),
    **options: Any,
) -> tuple[Any, np.ndarray]:
    """Return a figure and its axes, ``(rows, columns)``.

    Args:
        width: "column" or "page".
        panels: numbers of rows and columns.
        height: inches without the legend.
        texts: of the legend, which gets room below.
        options: of Matplotlib's ``subplots``.
    """
    from matplotlib.figure import Figure

    inches = inches_of(width)
    lines = math.ceil(len(texts) / _columns(texts, inches)) if texts else 0
    figure: Any = Figure(figsize=(inches, height + _LINE * lines))
    figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.04)
    axes = figure.subplots(*panels, squeeze=False, **options)
    for ax in axes.flat:
        # Ticks that are made while drawing would take the caller's settings, not the paper's.
        ax.tick_params(which="major", labelsize=7, width=0.6, length=2.5)
        ax.tick_params(which="minor", width=0.4, length=1.5)
        ax.grid(visible=True, axis="y", color=GRID, lw=0.5)
    return figure, axes


def _columns(texts: Sequence[str], inches: float) -> int:
    """Return how many columns of a legend, each as wide as its longest text, fit.

    >>> _columns(["x" * 30, "x", "x", "x"], 3.25), _columns(["x" * 30, "x", "x" * 30, "x"], 3.25)
    (4, 1)
    """
    best = 1
    for count in range(2, min(6, len(texts)) + 1):
        split = np.array_split([len(t) for t in texts], count)  # as Matplotlib does
        fits = sum(0.44 + _LETTER * max(column) for column in split) <= inches
        # A column more is worth it only if it saves a line.
        if fits and math.ceil(len(texts) / count) < math.ceil(len(texts) / best):
            best = count
    return best


def legend(figure: Any, entries: Sequence[LegendEntry]) -> None:
    """Put the legend below the axes, where no curve runs."""
    texts = [e.text for e in entries]
    figure.legend(
        [e.handle for e in entries],
        # Matplotlib takes a leading underscore for "not in the legend".
        [f" {t}" if t.startswith("_") else t for t in texts],
        loc="outside lower center",
        ncols=_columns(texts, figure.get_figwidth()),
        columnspacing=1.2,
        labelspacing=0.25,
        handletextpad=0.5,
        borderaxespad=0.1,
    )


def key(line: Any, text: str, thickness: float = 0.9) -> LegendEntry:
    """Return the legend entry of a line style, in a colour that no algorithm has."""
    from matplotlib.lines import Line2D

    return LegendEntry(Line2D([], [], color=INK, ls=line, lw=thickness), text)


def head(ax: Any, *lines: str, inches: float) -> None:
    """Write above a panel what it shows and what it cannot show."""
    letters = max(20, int(inches / _LETTER))
    folded = [part for line in lines if line for part in textwrap.wrap(line, letters)]
    ax.set_title("\n".join(folded), loc="left", fontsize=7, color=INK, linespacing=1.15)


def trials_of(rows: Iterable[Row]) -> str:
    """Return what points and error bars stand for."""
    counts = sorted({row.trials for row in rows})
    if counts[-1] == 1:
        return "one trial"
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean ± 1 std of {many} trials"


def listed(names: Sequence[str], of: int) -> str:
    """Return names, or how many they are where a line cannot hold them.

    >>> listed(["a", "b"], of=3), listed(["a", "b"], of=2)
    ('a, b', 'all')
    """
    if len(names) == of > 1:
        return "all"
    return ", ".join(map(text_of, names)) if len(names) <= 3 else f"{len(names)} of {of}"


def names_of(algorithms: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return labels with the names to show for them."""
    return dict(algorithms) if isinstance(algorithms, Mapping) else {a: a for a in algorithms}

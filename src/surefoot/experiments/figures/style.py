"""Style: one colour, marker and line per algorithm, in every figure.

Nothing here needs a plotting library until :func:`paper_style` is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from surefoot.core.display import BLACK, BLUE, GREEN, ORANGE, PINK, SKY, VERMILLION
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need

_INCHES = {"column": 3.25, "page": 6.75}
_VIOLET = "#7B3294"
COLOURS = (BLUE, VERMILLION, GREEN, PINK, SKY, ORANGE, BLACK, _VIOLET)
"""The palette of all figures; violet stands for its yellow, which white paper swallows."""

INK, GRID, FILL = "#444444", "#E2E2E2", "#F2EFE6"
"""Frames and boundaries, grid lines, the inside of a feasible set."""

# Dashes and dots alone mean bounds, so a curve's own line is never one of these.
_LINES = ("-", "-.", (0, (9, 2)), (0, (9, 2, 1.5, 2, 1.5, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZES = (3.2, 3.0, 3.6, 3.0, 3.6, 4.2, 4.0, 5.2)


class Look(NamedTuple):
    """How an algorithm is drawn.

    Attributes:
        colour: as ``#RRGGBB``.
        marker: Matplotlib's name of the marker.
        size: of the marker in points: slim ones are drawn larger.
        line: Matplotlib's line style.
    """

    colour: str
    marker: str
    size: float
    line: Any


def look_of(number: int) -> Look:
    """Return the look of the algorithm at a place of the plan, from 0; the first 64 differ.

    >>> look_of(1).colour, look_of(9).colour, look_of(9).line
    ('#D55E00', '#D55E00', '-.')
    """
    n, turn = len(COLOURS), number // len(COLOURS)
    marker = (number + turn) % len(_MARKERS)
    line = _LINES[turn % len(_LINES)]
    return Look(COLOURS[number % n], _MARKERS[marker], _SIZES[marker], line)


def paper_style(width: str = "column", height: float | None = None) -> dict[str, Any]:
    """Return Matplotlib settings for a two-column paper (``paper.mplstyle`` beside this file).

    Args:
        width: "column" for one of the two columns, "page" for both.
        height: in inches; None takes the golden ratio.
    """
    matplotlib = need("matplotlib", "plot", "a figure")
    if width not in _INCHES:
        raise InvalidValueError(f"width must be 'column' or 'page', got {width!r}")
    file = Path(__file__).with_name("paper.mplstyle")
    style = dict(matplotlib.rc_params_from_file(file, use_default_template=False))
    inches = _INCHES[width]
    return style | {"figure.figsize": (inches, 0.618 * inches if height is None else height)}

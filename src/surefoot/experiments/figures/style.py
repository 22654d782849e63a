"""Style: one colour, marker and line per algorithm, in every figure.

Nothing here needs a plotting library until :func:`paper_style` is called.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surefoot.core.display import BLACK, BLUE, GREEN, ORANGE, PINK, SKY, VERMILLION
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need

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
    """Return Matplotlib settings for a two-column paper.

    Args:
        width: "column" for one of the two columns, "page" for both.
        height: in inches; None takes the golden ratio.
    """
    bundles = need("tueplots.bundles", "plot", "a figure for a paper")
    if width not in ("column", "page"):
        raise InvalidValueError(f"width must be 'column' or 'page', got {width!r}")
    style: dict[str, Any] = bundles.icml2024(
        column="half" if width == "column" else "full", usetex=False
    )
    inches, golden = style["figure.figsize"]
    # A font that comes with Matplotlib: the same figure on every machine. Times-like, as the text.
    return style | {
        "figure.constrained_layout.use": False,  # figures choose their layout themselves
        "figure.figsize": (inches, golden if height is None else height),
        "font.family": ["STIXGeneral", "DejaVu Sans"],
        "mathtext.fontset": "stix",
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "axes.linewidth": 0.6,
        "axes.edgecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.2,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
        "svg.fonttype": "none",
        "svg.hashsalt": "surefoot",  # else the names inside a file are new each time
        "savefig.dpi": 300,
    }

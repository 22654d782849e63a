"""Figures for a two-column paper, from the rows of a results file.

Each function takes rows and a selection and returns a Matplotlib figure without pyplot: no window
and no global list keeps it. :func:`save_figures` writes all that the
rows have data for, each file complete or absent; those of the paper are in
:mod:`surefoot.experiments.figures.paper`. A figure of one horizon shows the longest that all have;
give the rows of another to see that. Every figure takes these arguments:

- ``rows``: from :func:`surefoot.experiments.gather`;
- ``problem``: a label; the first problem unless given;
- ``algorithms``: labels; the first eight of the plan unless given;
- ``width``: "column" for one column of a paper, "page" for both.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.core.checks import one_of
from surefoot.experiments.export import write_whole
from surefoot.experiments.figures.cost import cost_figure
from surefoot.experiments.figures.plane import action_figure
from surefoot.experiments.figures.regret import path_figure, regret_figure
from surefoot.experiments.figures.sheet import NothingToDraw, in_style
from surefoot.experiments.figures.violation import instant_figure, violation_figure
from surefoot.experiments.rows import Row, problems as problems_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FIGURES",
    "NothingToDraw",
    "action_figure",
    "cost_figure",
    "instant_figure",
    "path_figure",
    "regret_figure",
    "save_figure",
    "save_figures",
    "violation_figure",
]

FIGURES: dict[str, Callable[..., Figure]] = {
    "regret": regret_figure,
    "path": path_figure,
    "violation": violation_figure,
    "instant": instant_figure,
    "actions": action_figure,
    "cost": cost_figure,
}
"""All figures, by the end of their file's name."""

# Metadata that would make two files of the same figure differ.
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
}


def save_figures(
    rows: Sequence[Row],
    folder: Path | str,
    formats: Sequence[str] = ("pdf", "svg"),
    stems: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write every figure for which the rows have data, and return the files.

    Args:
        rows: from :func:`surefoot.experiments.gather`.
        folder: created if missing; a file of the same name is replaced, whole.
        formats: some of "pdf", "svg", "png".
        stems: how the file names of each problem begin; :func:`file_names` of all unless given.
    """
    saved = []
    for problem, stem in (file_names(problems_of(rows)) if stems is None else stems).items():
        for kind, draw in FIGURES.items():
            try:
                figure = draw(rows, problem)
            except NothingToDraw:
                continue
            saved += save_figure(figure, Path(folder) / f"{stem}-{kind}", formats)
    return saved


def save_figure(
    figure: Figure, path: Path | str, formats: Sequence[str] = ("pdf", "svg")
) -> list[Path]:
    """Write one figure in several formats, each file whole or not at all.

    Args:
        figure: of this module.
        path: without its ending.
        formats: some of "pdf", "svg", "png".
    """
    for ending in formats:
        one_of(tuple(_METADATA), formats=ending)
    path = Path(path)
    saved = []
    for ending, data in render_figure(figure, formats).items():
        target = path.with_name(f"{path.name}.{ending}")
        with write_whole(target) as draft:
            draft.write_bytes(data)
        saved.append(target)
    return saved


@in_style
def render_figure(figure: Figure, formats: Sequence[str]) -> dict[str, bytes]:
    """Return one figure in several formats, by their names."""
    rendered = {}
    with warnings.catch_warnings():
        # A label in a script that no font here has is drawn as boxes: no reason to stop.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        for ending in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, metadata=_METADATA[ending])
            rendered[ending] = buffer.getvalue()
    return rendered


def file_name(label: str) -> str:
    """Return a label as part of a file name.

    >>> file_name("as plotted"), file_name("../..")
    ('as-plotted', 'problem')
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower())[:60].strip("-") or "problem"


def file_names(problems: Sequence[str]) -> dict[str, str]:
    """Return a file name for each problem: letters, digits and dashes, no two the same.

    >>> file_names(["Paper toy", "paper-toy", "../.."])
    {'Paper toy': 'paper-toy', 'paper-toy': 'paper-toy-2', '../..': 'problem'}
    """
    names: dict[str, str] = {}
    for problem in problems:
        stem = file_name(problem)
        free = (f"{stem}-{n}" if n > 1 else stem for n in itertools.count(1))
        names[problem] = next(name for name in free if name not in names.values())
    return names

"""The page of a journal: one live run drawn, in a single file without a script."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from surefoot.experiments.figures import render_figure
from surefoot.experiments.figures.sheet import (
    COLOURS,
    INK,
    add_legend,
    in_style,
    label_rounds,
    new_sheet,
)
from surefoot.experiments.page import write_template

Marks: TypeAlias = Sequence[tuple[int, str]]
"""Rounds, and what was said in each."""

_BINS = 300
"""Parts of a curve, of which the extremes are drawn."""


def write_journal_page(
    path: Path,
    g: np.ndarray,
    bounds: np.ndarray,
    lengths: np.ndarray,
    contradictions: Marks,
    notes: Marks,
    **shown: object,
) -> None:
    """Write the page of a journal, which refers to nothing outside.

    Args:
        path: where to; an existing page is replaced in one step.
        g: the largest constraint value of each round; NaN where it was not told.
        bounds: on g before the round was played; NaN without one.
        lengths: certified; NaN without one.
        contradictions: round and sentence of each.
        notes: round and text of each.
        shown: what else the template shows.
    """
    marks = {"contradictions": contradictions, "notes": notes}
    figures = [
        (title, about, _draw(curves, **marks, zero=zero))
        for title, about, curves, zero in (
            (
                "The constraint in every round",
                "g as it was told, and the bound on it that was known before the round was played. "
                "Above 0 is outside.",
                {"g": g, "bound before it was played": bounds},
                True,
            ),
            (
                "Certified length",
                "How far a step was certified in each round: near 0 the player hardly moves.",
                {"certified length": lengths},
                False,
            ),
        )
        if any(np.isfinite(values).any() for values in curves.values())
    ]
    write_template(path, "journal.html", figures=figures, **marks, **shown)


@in_style
def _draw(
    curves: Mapping[str, np.ndarray], contradictions: Marks, notes: Marks, *, zero: bool
) -> bytes:
    """Return curves over the rounds as SVG: the largest of each part, a band to its smallest."""
    figure, ((ax,),) = new_sheet("page")
    handles: list[Any] = []
    for (name, values), colour in zip(curves.items(), COLOURS, strict=False):
        n = len(values)
        starts = np.unique(np.linspace(0, n, min(n, _BINS), endpoint=False).astype(int))
        known = np.where(np.isfinite(values), values, np.nan)
        high, low = np.fmax.reduceat(known, starts), np.fmin.reduceat(known, starts)
        rounds = 0.5 * (starts + 1 + np.append(starts[1:], n))
        handles += ax.plot(rounds, high, color=colour, label=name)
        if n > _BINS:
            ax.fill_between(rounds, low, high, color=colour, alpha=0.2, lw=0)
    if zero:
        handles.append(ax.axhline(0, color=INK, lw=0.9, ls="--", label="the limit, 0"))
    for marks, line, colour, name in (
        (contradictions, "-", COLOURS[1], "contradiction"),
        (notes, ":", INK, "note"),
    ):
        drawn = [ax.axvline(t, color=colour, lw=0.9, ls=line, label=name) for t, _ in marks[:200]]
        handles += drawn[:1]
    label_rounds(ax.xaxis, "round")
    add_legend(figure, handles)
    return render_figure(figure, ("svg",))["svg"]

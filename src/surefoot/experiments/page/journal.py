"""The page of a journal: one live run drawn, in a single file without a script."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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

_BINS = 300
"""Parts of a curve, of which the extremes are drawn."""


class JournalPage(NamedTuple):
    """What the page of a journal shows; plain data.

    Attributes:
        title: the name of the journal.
        lead: its verdict, one sentence.
        facts: about it, by name.
        g: the largest constraint value of each round; NaN where it was not told.
        bounds: on g before the round was played; NaN without one.
        lengths: certified; NaN without one.
        contradictions: round and sentence of each.
        notes: round and text of each.
        head: the columns of the table.
        rows: of the table, the latest decisions.
    """

    title: str
    lead: str
    facts: Mapping[str, str]
    g: np.ndarray
    bounds: np.ndarray
    lengths: np.ndarray
    contradictions: Sequence[tuple[int, str]]
    notes: Sequence[tuple[int, str]]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_journal_page(page: JournalPage, path: str | Path) -> Path:
    """Write the page of a journal, which refers to nothing outside.

    Args:
        page: what it shows.
        path: where to; an existing page is replaced in one step.

    Returns:
        The path.
    """
    constraint = {"g": page.g, "bound before it was played": page.bounds}
    figures = [
        (title, about, _draw(curves, page, zero=zero))
        for title, about, curves, zero in (
            (
                "The constraint in every round",
                "g as it was told, and the bound on it that was known before the round was played. "
                "Above 0 is outside.",
                constraint,
                True,
            ),
            (
                "Certified length",
                "How far a step was certified in each round: near 0 the player hardly moves.",
                {"certified length": page.lengths},
                False,
            ),
        )
        if any(np.isfinite(values).any() for values in curves.values())
    ]
    return write_template(Path(path), "journal.html", page=page, figures=figures)


@in_style
def _draw(curves: Mapping[str, np.ndarray], page: JournalPage, *, zero: bool) -> bytes:
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
        (page.contradictions, "-", COLOURS[1], "contradiction"),
        (page.notes, ":", INK, "note"),
    ):
        drawn = [ax.axvline(t, color=colour, lw=0.9, ls=line, label=name) for t, _ in marks[:200]]
        handles += drawn[:1]
    label_rounds(ax, "round")
    add_legend(figure, handles)
    return render_figure(figure, ("svg",))["svg"]

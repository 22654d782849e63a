"""The page of a journal: one live run drawn, in a single file without a script."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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


def write_journal_page(
    path: Path, record: Any, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Write the page of a journal, without references to other files.

    Args:
        path: where to; an existing page is replaced in one step.
        record: the journal, a ``JournalRecord`` of the controller.
        head: names of the columns of a table of rounds.
        rows: their cells.
    """
    curves = {"g": record.g, "bound before it was played": record.bounds}
    write_template(
        path,
        "journal.html",
        record=record,
        constraint=_draw(curves, record, zero=True),
        lengths=_draw({"certified length": record.lengths}, record),
        head=head,
        rows=rows,
    )


@in_style
def _draw(curves: Mapping[str, np.ndarray], record: Any, *, zero: bool = False) -> bytes:
    """Return curves over the rounds as SVG: the largest of each part, a band to its smallest."""
    if not any(np.isfinite(values).any() for values in curves.values()):
        return b""
    figure, ((ax,),) = new_sheet("page")
    handles: list[Any] = []
    for (name, values), colour in zip(curves.items(), COLOURS, strict=False):
        n = len(values)
        starts = np.unique(np.linspace(0, n, min(n, _BINS), endpoint=False).astype(int))
        finite = np.where(np.isfinite(values), values, np.nan)
        high, low = np.fmax.reduceat(finite, starts), np.fmin.reduceat(finite, starts)
        rounds = 0.5 * (starts + 1 + np.append(starts[1:], n))
        handles += ax.plot(rounds, high, color=colour, label=name)
        if n > _BINS:
            ax.fill_between(rounds, low, high, color=colour, alpha=0.2, lw=0)
    if zero:
        handles.append(ax.axhline(0, color=INK, lw=0.9, ls="--", label="the limit, 0"))
    contradictions, notes = ([m.round for m in ms[:200]] for ms in (record.breaches, record.notes))
    for rounds, line, colour, name in (
        (contradictions, "-", COLOURS[1], "contradiction"),
        (notes, ":", INK, "note"),
    ):
        lines = [ax.axvline(t, color=colour, lw=0.9, ls=line, label=name) for t in rounds]
        handles += lines[:1]
    label_rounds(ax.xaxis, "round")
    add_legend(figure, handles)
    return render_figure(figure, ("svg",))["svg"]

"""The page of a journal: one live run drawn, or those of a fleet, in a single file."""

from collections.abc import Iterable, Mapping, Sequence
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
    text_of,
)
from surefoot.experiments.page import write_template
from surefoot.experiments.page.findings import number
from surefoot.experiments.page.tables import NONE, Cell, Column, Table

_BINS = 300
"""Parts of a curve, of which the extremes are drawn."""
_CURVES = 8
"""Members up to which each is a curve; of more the largest and most of them are drawn."""
_LISTED = 1_000
"""Members in the table of a page, those to look at first."""
_MARKS = 200
"""Lines for contradictions, or for notes, in a chart."""


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
        handles += _plot(ax, name, values, colour)
    if zero:
        handles.append(ax.axhline(0, color=INK, lw=0.9, ls="--", label="the limit, 0"))
    handles += _mark(ax, record.breaches, record.notes)
    label_rounds(ax.xaxis, "round")
    add_legend(figure, handles)
    return render_figure(figure, ("svg",))["svg"]


def _plot(ax: Any, name: str, values: np.ndarray, colour: str) -> list[Any]:
    """Draw a curve: the largest of each part, and a band to its smallest."""
    n = len(values)
    starts = np.unique(np.linspace(0, n, min(n, _BINS), endpoint=False).astype(int))
    finite = np.where(np.isfinite(values), values, np.nan)
    high, low = np.fmax.reduceat(finite, starts), np.fmin.reduceat(finite, starts)
    rounds = 0.5 * (starts + 1 + np.append(starts[1:], n))
    if n > _BINS:
        ax.fill_between(rounds, low, high, color=colour, alpha=0.2, lw=0)
    handles: list[Any] = ax.plot(rounds, high, color=colour, label=name)
    return handles


def _mark(
    ax: Any, breaches: Iterable[Any], notes: Iterable[Any], colour: str = COLOURS[1]
) -> list[Any]:
    """Draw a line for each contradiction, in a colour, and for each note."""
    handles: list[Any] = []
    for marks, line, ink, name in (
        (breaches, "-", colour, "contradiction"),
        (notes, ":", INK, "note"),
    ):
        rounds = sorted({mark.round for mark in marks})[:_MARKS]
        lines = [ax.axvline(t, color=ink, lw=0.9, ls=line, label=name) for t in rounds]
        handles += lines[:1]
    return handles


# --- a fleet -------------------------------------------------------------------------------------


def write_fleet_page(path: Path, record: Any) -> None:
    """Write the page of a fleet's journal, without references to other files.

    Args:
        path: where to; an existing page is replaced in one step.
        record: the journal, a ``FleetRecord`` of the controller.
    """
    order = record.by_need()
    write_template(
        path,
        "fleet.html",
        record=record,
        constraint=_draw_members(order, "g", record, zero=True),
        lengths=_draw_members(order, "lengths", record),
        few=len(order) <= _CURVES,
        members=_members_table(order[:_LISTED]),
        left_out=len(order) - _LISTED,
        breaches=[(each.label, breach) for each in order for breach in each.breaches][:_MARKS],
        notes=_notes_of(record)[:_MARKS],
    )


def _notes_of(record: Any) -> list[tuple[str, Any]]:
    """Return the notes: first the fleet's, then those of members, by the member."""
    whole = [("", note) for note in record.notes]
    return whole + [(each.label, note) for each in record.runs for note in each.notes]


@in_style
def _draw_members(members: Sequence[Any], which: str, record: Any, *, zero: bool = False) -> bytes:
    """Return what members did over their rounds as SVG.

    Of a few each is a curve; of more the extreme one of each round, the median, and the band in
    which nine of ten are.

    Args:
        members: those to look at first, first.
        which: the name of their numbers.
        record: that of the fleet.
        zero: whether 0 is a limit, so that the largest numbers count, not the smallest.
    """
    series = [getattr(member, which) for member in members]
    if not any(np.isfinite(values).any() for values in series):
        return b""
    figure, ((ax,),) = new_sheet("page")
    handles: list[Any] = []
    if len(members) <= _CURVES:
        for member, values, colour in zip(members, series, COLOURS, strict=False):
            if np.isfinite(values).any():
                handles += _plot(ax, text_of(member.label), values, colour)
    else:
        rounds, (extreme, low, middle, high) = _spread(series, largest=zero)
        name = "largest of all members" if zero else "smallest of all members"
        handles += ax.plot(rounds, extreme, color=COLOURS[1], label=name)
        handles += ax.plot(rounds, middle, color=COLOURS[0], label="median")
        band = {"color": COLOURS[0], "alpha": 0.2, "lw": 0, "label": "nine of ten members"}
        handles.append(ax.fill_between(rounds, low, high, **band))
    if zero:
        handles.append(ax.axhline(0, color=INK, lw=0.9, ls="--", label="the limit, 0"))
    breaches = [breach for member in members for breach in member.breaches]
    handles += _mark(ax, breaches, record.notes, colour=INK)  # the others are members
    label_rounds(ax.xaxis, "round of the member")
    add_legend(figure, handles)
    return render_figure(figure, ("svg",))["svg"]


def _spread(
    series: Sequence[np.ndarray], *, largest: bool
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return parts of the rounds, and for each the extreme, two quantiles and between the median.

    Args:
        series: the numbers of each member by its rounds; NaN for none.
        largest: whether the extreme is the largest.
    """
    most = max(len(values) for values in series)
    edges = np.unique(np.linspace(0, most, min(most, _BINS), endpoint=False).astype(int))
    values = np.concatenate(series)
    part = np.searchsorted(edges, np.concatenate([np.arange(len(v)) for v in series]), "right") - 1
    is_finite = np.isfinite(values)
    values, part = values[is_finite], part[is_finite]
    order = np.lexsort((values, part))
    values, part = values[order], part[order]
    parts, first, counts = np.unique(part, return_index=True, return_counts=True)
    shares = (1.0 if largest else 0.0, 0.05, 0.5, 0.95)
    places = [first + np.rint(share * (counts - 1)).astype(int) for share in shares]
    ends = np.append(edges[1:], most)
    rounds = 0.5 * (edges + 1 + ends)
    return rounds[parts], tuple(values[place] for place in places)


def _members_table(members: Sequence[Any]) -> Table:
    """Return the table of members."""
    columns = [
        Column("Member"),
        Column("State", "what the data and the operator's orders leave of it"),
        Column("Rounds", "that were reported", True),
        Column("Certified", "rounds whose action had a certificate", True),
        Column("Not measured", "rounds without a measurement", True),
        Column("Violations", "rounds with g > 0, by more than the error of the reading", True),
        Column("Worst g", "the largest g of all rounds", True),
        Column("Least margin", "between g and the bound before the round was played", True),
    ]
    rows = [[Cell(member.label), _state_cell(member), *_count_cells(member)] for member in members]
    return Table.of("members", "The members of the fleet", columns, rows)


def _count_cells(member: Any) -> list[Cell]:
    """Return the numbers of a member."""
    counts = (member.round_count, member.certified, member.missing, member.violations)
    numbers = (member.worst, member.margin)
    return [
        *(Cell(f"{count:,}", count) for count in counts),
        *(Cell(NONE if value is None else number(value), value) for value in numbers),
    ]


def _state_cell(member: Any) -> Cell:
    """Return the word for a member that matters most, and why."""
    note = next((n.text for n in reversed(member.notes) if n.text.startswith("rejected: ")), "")
    left = "; left" if member.has_left else ""
    if member.breaches:
        return Cell(f"contradicted{left}", badge="failed", aside=member.breaches[0].sentence)
    if member.violations:
        return Cell(f"in violation{left}", badge="failed", aside=member.halted or "")
    if member.rejected:
        aside = f"{member.rejected:,} rejected, the last one {note.removeprefix('rejected: ')}"
        return Cell(f"rejected reports{left}", badge="failed", aside=aside)
    if member.has_left:
        return Cell("left", badge="calm", aside=member.notes[-1].text.removeprefix("left: "))
    if member.halted is not None:
        return Cell("halted", badge="premise-broken", aside=member.halted)
    return Cell("in order", badge="held")

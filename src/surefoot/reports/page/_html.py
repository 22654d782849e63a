"""Tables in HTML that read without a script and sort with one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from surefoot.reports.page._format import escape, number
from surefoot.reports.page._verdicts import BADGES

__all__ = ["Cell", "Column", "badge", "html_table", "joined", "number_cell", "text_cell"]


SHOWN = 8
"""Columns that a table shows at first, its first ones; the style has the same number."""


class Column(NamedTuple):
    """A column of a table: its title, what it means, and whether it holds numbers."""

    title: str
    meaning: str = ""
    numeric: bool = False


class Cell(NamedTuple):
    """A cell: what it shows, as HTML, and the number that sorts it (None: its text does)."""

    html: str
    value: float | None = None


def badge(word: str, text: str | None = None) -> str:
    """Return a verdict that is readable by its words and sign, not only by its colour."""
    slug = word.replace(" ", "-") if word in BADGES else "other"
    return f'<span class="badge {slug}">{escape(text or BADGES.get(word, word))}</span>'


def html_table(
    name: str, caption: str, columns: Sequence[Column], body: Iterable[Sequence[Cell]]
) -> str:
    """Return a table that sorts by each of its columns; the first is the row's header."""
    heads = "".join(
        f'<th scope="col" aria-sort="none"{" class=n" if c.numeric else ""}>'
        f'<button type="button">{escape(c.title)}</button></th>'
        for c in columns
    )
    lines = []
    for cells in body:
        parts = []
        for i, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            kind = " class=n" if column.numeric else ""
            value = "" if not column.numeric else f' data-v="{_sort_key(cell.value)}"'
            tag, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
            parts.append(f"<{tag}{scope}{kind}{value}>{cell.html}</{tag}>")
        lines.append(f"<tr>{''.join(parts)}</tr>")
    if not lines:
        return f"<p>{escape(caption)}: there is nothing to show yet.</p>"
    meanings = "".join(
        f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>" for c in columns if c.meaning
    )
    legend = (
        f"<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>"
        if meanings
        else ""
    )
    return (
        f'<div class="filter" hidden><label for="filter-{name}">Only rows with</label>'
        f'<input type="search" id="filter-{name}" data-table="{name}" autocomplete="off">'
        f'<output for="filter-{name}">{len(lines):,} rows</output>'
        f"{_all_columns(name, columns)}</div>"
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table id="{name}" class="sortable"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{joined(lines)}</tbody></table></div>{legend}"
    )


def _all_columns(name: str, columns: Sequence[Column]) -> str:
    """Return the button that shows the columns which are left out at first, by the style."""
    if len(columns) <= SHOWN:
        return ""
    return (
        f'<button type="button" class="columns" data-table="{name}" aria-pressed="false">'
        f"All {len(columns)} columns</button>"
    )


def joined(lines: Sequence[str]) -> str:
    """Return the rows of a table, a line each."""
    return "\n".join(lines)


def _sort_key(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{float(value):.8g}"


def text_cell(value: Any) -> Cell:
    """Return a cell with a text."""
    return Cell(escape(value))


def number_cell(value: Any, none: str = "–") -> Cell:
    """Return a cell with a number."""
    shown = None if value is None else float(value)
    return Cell(escape(number(value, none=none)), shown)

"""What the parts report: ratios with their bars, other tables, figures; as text, CSV, Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.timing import Spread, spread
from surefoot.core.types import Array


class Row(NamedTuple):
    """One comparison; a ratio is always time of the library over time of the rival.

    Attributes:
        part: which part of the benchmark.
        case: sizes, and what is done.
        library: what of the library is timed.
        rival: what it is compared with; "" where a bar is in seconds.
        ours: seconds of the library for one unit of the case.
        theirs: seconds of the rival.
        ratio: ours/theirs, turn by turn.
        limit: seconds of a C loop that does the same, where there is one.
        bar: what the ratio (without a rival: the seconds) should be at most.
    """

    part: str
    case: str
    library: str
    rival: str
    ours: Spread
    theirs: Spread | None = None
    ratio: Spread | None = None
    limit: Spread | None = None
    bar: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the median is within the bar; None where there is no bar."""
        if self.bar is None:
            return None
        return (self.ours if self.ratio is None else self.ratio).median <= self.bar

    @property
    def name(self) -> str:
        """The comparison in one line."""
        against = f" / {self.rival}" if self.rival else ""
        return f"{self.library}{against}, {self.case}"


class Table(NamedTuple):
    """A table other than that of the ratios.

    Attributes:
        name: of its files and of its place in the documentation.
        title: one line.
        heads: of the columns.
        cells: as they are shown.
        records: as they are saved, numbers in full.
    """

    name: str
    title: str
    heads: Sequence[str]
    cells: Sequence[Sequence[str]]
    records: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Findings:
    """What a part found.

    Attributes:
        rows: ratios.
        tables: other tables.
        figures: by name.
        remarks: sentences; what was left out and why among them.
    """

    rows: list[Row] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def compared(
    part: str,
    case: str,
    times: dict[str, Array],
    library: str,
    rival: str,
    *,
    units: float = 1.0,
    limit: str | None = None,
    bar: float | None = None,
) -> Row:
    """Return the row of one contestant against another, from their turns of ``units`` each."""
    return Row(
        part,
        case,
        library,
        rival,
        spread(times[library] / units),
        spread(times[rival] / units),
        spread(times[library] / times[rival]),
        spread(times[limit] / units) if limit in times else None,
        bar,
    )


# --- as text -------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Return seconds with a unit that fits."""
    for unit, name in ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= (2 * unit if unit > 1 else unit):
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def number(value: float) -> str:
    """Return three digits, and no exponent where it can be helped."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value < 0.995 else f"{value:.2f}"


RATIO_HEADS = (
    "case",
    "library",
    "rival",
    "of rival",
    "of library",
    "ratio",
    "quartiles",
    "C",
    "bar",
)


def ratio_cells(row: Row) -> list[str]:
    """Return a row as it is shown."""
    shown = row.ratio or row.ours
    form = number if row.ratio else duration
    verdict = {None: "", True: "met", False: "MISSED"}[row.is_met]
    bar = "" if row.bar is None else f"{row.bar:g}{'' if row.ratio else ' s'} {verdict}"
    return [
        row.case,
        row.library,
        row.rival,
        "" if row.theirs is None else duration(row.theirs.median),
        duration(row.ours.median),
        "" if row.ratio is None else number(row.ratio.median),
        f"{form(shown.low)} to {form(shown.high)}",
        "" if row.limit is None else duration(row.limit.median),
        bar,
    ]


def ratio_record(row: Row) -> dict[str, Any]:
    """Return a row as it is saved."""
    record: dict[str, Any] = {
        "part": row.part,
        "case": row.case,
        "library": row.library,
        "rival": row.rival,
    }
    for name, value in (("library_s", row.ours), ("rival_s", row.theirs), ("ratio", row.ratio)):
        parts = (None, None, None) if value is None else value
        keys = (name, f"{name}_low", f"{name}_high")
        record |= dict(zip(keys, parts, strict=True))
    record["c_s"] = None if row.limit is None else row.limit.median
    return record | {"bar": row.bar, "met": row.is_met}


def ratio_table(part: str, title: str, rows: Sequence[Row]) -> Table:
    """Return ratios as a table; columns that are empty throughout are left out."""
    cells = [ratio_cells(row) for row in rows]
    kept = [i for i in range(len(RATIO_HEADS)) if any(line[i] for line in cells)]
    return Table(
        part,
        title,
        [RATIO_HEADS[i] for i in kept],
        [[line[i] for i in kept] for line in cells],
        [ratio_record(row) for row in rows],
    )


def show(table: Table, console: Console) -> None:
    """Print a table."""
    drawn = RichTable(box=box.SIMPLE_HEAD, title=table.title, title_justify="left")
    for head in table.heads:
        is_words = head in ("case", "library", "rival", "problem", "method", "size", "cost of")
        drawn.add_column(head, justify="left" if is_words else "right", overflow="fold")
    for line in table.cells:
        style = "bold" if any("MISSED" in cell for cell in line) else None
        drawn.add_row(*line, style=style)
    console.print(drawn)


def ratio_figure(rows: Sequence[Row]) -> Any:
    """Draw every ratio with its quartiles, beside its bar."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row.ratio is not None]
    drawn = Figure(figsize=(9.0, 0.24 * len(rows) + 1.2), layout="constrained")
    ax = drawn.subplots()
    for y, row in enumerate(rows):
        assert row.ratio is not None
        colour = {None: "#999999", True: "#009E73", False: "#D55E00"}[row.is_met]
        ax.plot([row.ratio.low, row.ratio.high], [y, y], color=colour, lw=2)
        ax.plot(row.ratio.median, y, "o", color=colour, ms=5)
        if row.bar is not None:
            ax.plot(row.bar, y, "|", color="black", ms=11, mew=1.5)
    ax.axvline(1.0, color="black", lw=0.8)
    ax.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="time of the library / time of the rival; | is the bar")
    ax.grid(visible=True, axis="x", color="#DDDDDD", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(y=0.01)
    return drawn


def save_csv(records: Sequence[dict[str, Any]], path: Path) -> None:
    """Save records, one per line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def markdown(table: Table) -> str:
    """Return a table for the documentation."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [table.heads, *table.cells]]
    lines.insert(1, "|---" * len(table.heads) + "|")
    return "\n".join(lines)


def put_in(page: str, name: str, text: str) -> str:
    """Return a page with the text between the marks of a name replaced."""
    begin, end = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page must have the marks {begin} and {end}, got neither or one")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page)

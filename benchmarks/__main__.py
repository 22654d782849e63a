"""Run the benchmark: ``python -m benchmarks``, by ``make bench``.

Prints a table of ratios for each part, and saves all of them as CSV, text and figures. A missed bar
is marked and named in the last line; the exit status is 0 all the same, because a busy machine
must not fail a build.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import surefoot
from benchmarks.findings import (
    Findings,
    Row,
    Table,
    duration,
    markdown,
    number,
    put_in,
    ratio_figure,
    ratio_record,
    ratio_table,
    save_csv,
    show,
)
from benchmarks.timing import Effort

PARTS = {
    "step": "One certified step by the compiled kernel, against Python and QP solvers",
    "live": "Live rounds, journalled rounds and fleets, beside what a solver takes",
    "update": "One round of one run, against steps by hand",
    "batch": "Many runs in NumPy, a round of a run, against a program batched by hand",
    "scan": "Many runs compiled, a round of a run, against a JAX scan by hand",
    "games": "Whole games in C, a round of a run, against the other engines",
    "projection": "A round of certified steps against a round that projects",
    "curvature": "Regret on smooth constraints, against projection onto the known set and LB-SGD",
    "start": "From the start of a process",
    "scaling": "What size costs",
}
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _options(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    console.print(machine(), highlight=False)
    effort = Effort(options.seconds, options.tiny)
    found: dict[str, Findings] = {}
    for i, part in enumerate(options.only, start=1):
        console.print(f"[{i}/{len(options.only)}] {part}: {PARTS[part]} ...", markup=False)
        begun = time.perf_counter()
        found[part] = importlib.import_module(f"benchmarks.{part}").run(effort)
        report(part, found[part], console)
        console.print(f"{part} took {time.perf_counter() - begun:.0f} s", highlight=False)
    save(found, options.out)
    if options.write_docs:
        write_docs(found, PAGE)
    console.print(summary(found), highlight=False)
    console.print(f"saved in {options.out}", highlight=False)
    return 0


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--only", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each comparison, about")
    parser.add_argument(
        "--tiny", action="store_true", help="sizes of a smoke test: no numbers to keep"
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    parser.add_argument(
        "--write-docs", action="store_true", help="put tables and figures into docs/performance.md"
    )
    options = parser.parse_args(arguments)
    if options.tiny and options.write_docs:
        parser.error("--tiny has no numbers for the documentation: leave out --write-docs")
    return options


def _parts(text: str) -> list[str]:
    names = text.split(",")
    wrong = [name for name in names if name not in PARTS]
    if wrong:
        raise argparse.ArgumentTypeError(f"parts are {', '.join(PARTS)}; got {', '.join(wrong)}")
    return names


def machine() -> str:
    """Return what the numbers were measured on, in general words."""
    return (
        f"surefoot {surefoot.__version__}, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, {platform.system()} on {platform.machine()}, {os.cpu_count()} "
        "processors, one BLAS thread"
    )


def tables_of(part: str, found: Findings) -> list[Table]:
    """Return all tables of a part, that of its ratios first unless it has its own for them."""
    if not found.rows or any(table.name == part for table in found.tables):
        return found.tables
    return [ratio_table(part, PARTS[part], found.rows), *found.tables]


def report(part: str, found: Findings, console: Console) -> None:
    """Print what a part found."""
    for table in tables_of(part, found):
        show(table, console)
    for remark in found.remarks:
        console.print(remark, highlight=False, soft_wrap=True)


def summary(found: dict[str, Findings]) -> str:
    """Return which bars were met and missed."""
    rows = [row for findings in found.values() for row in findings.rows if row.bar is not None]
    missed = [row for row in rows if not row.is_met]
    line = f"bars met: {len(rows) - len(missed)} of {len(rows)}"
    return line + "".join(f"\nmissed: {row.name}: {_against_bar(row)}" for row in missed)


def _against_bar(row: Row) -> str:
    if row.ratio is None:
        return f"{duration(row.ours.median)}, bar {row.bar:g} s"
    return f"{number(row.ratio.median)}, bar {row.bar:g}"


def save(found: dict[str, Findings], folder: Path) -> None:
    """Save CSV, text and figures."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for findings in found.values() for row in findings.rows]
    if rows:
        save_csv([ratio_record(row) for row in rows], folder / "ratios.csv")
        # Projection has a figure of its own, with regret.
        by_hand = [row for row in rows if row.part != "projection"]
        if by_hand:
            ratio_figure(by_hand).savefig(folder / "ratios.png", dpi=140)
    with (folder / "bench.txt").open("w", encoding="utf-8") as file:
        text = Console(file=file, width=WIDTH)
        text.print(machine(), highlight=False)
        for part, findings in found.items():
            report(part, findings, text)
        text.print(summary(found), highlight=False)
    for findings in found.values():
        for table in findings.tables:
            save_csv(table.records, folder / f"{table.name}.csv")
        for name, figure in findings.figures.items():
            figure.savefig(folder / f"{name}.png", dpi=140)


def write_docs(found: dict[str, Findings], page: Path) -> None:
    """Put tables, remarks and figures of the parts that ran into their places on the page."""
    text = page.read_text(encoding="utf-8")
    for part, findings in found.items():
        for table in tables_of(part, findings):
            text = put_in(text, table.name, markdown(table))
        remarks = "\n".join(f"- {r.removeprefix(f'{part}: ')}." for r in findings.remarks)
        if remarks:
            text = put_in(text, f"{part}-remarks", remarks)
        for name, figure in findings.figures.items():
            figure.savefig(page.parent / "images" / f"{name}.png", dpi=110)
    if set(found) == set(PARTS):
        text = put_in(text, "machine", f"{machine()}.")
        text = put_in(text, "summary", "```text\n" + summary(found) + "\n```")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

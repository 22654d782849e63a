"""Write the whole report of saved results: figures and page, from one reading of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from surefoot.experiments.notes import panels_of
from surefoot.experiments.rows import Row, gather, problems
from surefoot.reports.figures.files import file_names, save_figures
from surefoot.reports.figures.paper import save_panels
from surefoot.reports.page import write_page

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

__all__ = ["Pools", "write_report"]

FEW = 2
"""Problems up to which starting processes, each with its own Matplotlib, takes longer."""


Pools: TypeAlias = Callable[[int], Executor]
"""Makes a pool of at most so many processes."""


def write_report(
    results: Results,
    folder: Path,
    rows: Sequence[Row] | None = None,
    *,
    pools: Pools | None = None,
) -> tuple[Path, list[Path]]:
    """Write figures and page of saved results.

    Args:
        results: the open file.
        folder: for ``report.html`` and the folder ``figures``.
        rows: what :func:`surefoot.experiments.gather` returned, if the file has been read already.
        pools: makes the processes that draw where there are many problems; this process draws
            everything unless given.

    Returns:
        Where the page is, and where the figures are.
    """
    rows = gather(results) if rows is None else rows
    panels = panels_of(results)
    figures, page = folder / "figures", folder / "report.html"
    stems = file_names(problems(rows))
    if pools is None or len(stems) <= FEW:
        drawn = save_figures(rows, figures)
        drawn += [] if panels is None else save_panels(rows, panels, figures)
        return write_page(results, page, rows), drawn
    with pools(len(stems)) as pool:
        futures = []
        if panels is not None:
            shown = [r for r in rows if r.problem in (panels.problem, panels.violation_problem)]
            futures.append(pool.submit(save_panels, shown, panels, figures))
        for problem, stem in stems.items():
            own = [row for row in rows if row.problem == problem]
            futures.append(pool.submit(save_figures, own, figures, stems={problem: stem}))
        write_page(results, page, rows)
        return page, [path for future in futures for path in future.result()]

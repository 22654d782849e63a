"""Write the whole report of saved results: figures and page, from one reading of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from surefoot.experiments.figures.files import FIGURES, file_names, save_figures
from surefoot.experiments.figures.paper import save_panels
from surefoot.experiments.notes import claims_of, panels_of, story_of
from surefoot.experiments.page import write_page
from surefoot.experiments.rows import Row, gather, problems

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

FEW = 2
"""Problems up to which starting processes, each with its own Matplotlib, takes longer."""

_FORMATS = ("pdf", "png", "svg")

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
    panels, *_ = panels_of(results), claims_of(results), story_of(results)  # nothing drawn before
    figures = folder / "figures"
    stems = file_names(problems(rows))
    if pools is None or len(stems) <= FEW:
        drawn = save_figures(rows, figures, formats=_FORMATS, stems=stems)
        drawn += [] if panels is None else save_panels(rows, panels, figures)
    else:
        with pools(len(stems)) as pool:
            futures = []
            if panels is not None:
                shown = [r for r in rows if r.problem in (panels.problem, panels.violation_problem)]
                futures.append(pool.submit(save_panels, shown, panels, figures))
            for problem, stem in stems.items():
                own = [row for row in rows if row.problem == problem]
                job = partial(save_figures, own, figures, formats=_FORMATS, stems={problem: stem})
                futures.append(pool.submit(job))
            drawn = [path for future in futures for path in future.result()]
    page = write_page(results, folder / "report.html", rows, _read_drawings(drawn, stems))
    return page, drawn


def _read_drawings(drawn: Iterable[Path], stems: Mapping[str, str]) -> dict[str, dict[str, bytes]]:
    """Return the files that are SVG, by problem and kind."""
    files = {path.stem: path for path in drawn if path.suffix == ".svg"}
    return {
        problem: {
            kind: files[f"{stem}-{kind}"].read_bytes()
            for kind in FIGURES
            if f"{stem}-{kind}" in files
        }
        for problem, stem in stems.items()
    }

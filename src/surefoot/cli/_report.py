"""Figures and page of saved results, drawn by as many processes as pay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefoot.results import Results

__all__ = ["write_report"]

FEW = 2
"""Problems up to which starting processes, each with a matplotlib of its own, takes too long."""


def write_report(results: Results, folder: Path) -> tuple[Path, list[Path]]:
    """Figures and page of saved results: where the page is, and where the figures are."""
    from surefoot.reports.page import write_page

    problems = list(dict.fromkeys(place.problem for place in results.places()))
    if len(problems) <= FEW:
        figures = _draw(results, folder, None)
        return write_page(results, folder / "report.html"), figures
    from surefoot.experiments.executors import cores, make_executor

    with make_executor(min(cores(), len(problems))) as pool:
        drawn = [pool.submit(_draw_one, results.path, folder, p) for p in [None, *problems]]
        page = write_page(results, folder / "report.html")
        return page, [path for future in drawn for path in future.result()]


def _draw_one(path: Path, folder: Path, problem: str | None) -> list[Path]:
    """A process's share: the figures of a problem, or those that no problem has."""
    from surefoot.reports.paper import save_panels
    from surefoot.results import Results

    with Results.open(path) as results:
        if problem is None:
            return save_panels(results, folder / "figures")
        return _draw(results, folder, [problem])


def _draw(results: Results, folder: Path, problems: list[str] | None) -> list[Path]:
    from surefoot.reports.figures import save_figures
    from surefoot.reports.paper import save_panels

    figures = save_figures(results, folder / "figures", problems=problems)
    return figures if problems else figures + save_panels(results, folder / "figures")

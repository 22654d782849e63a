"""The paper's own figures, laid out as it has them, from the results of a reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.reports.figures import paper_actions, paper_figure, save_figure
from surefoot.results import Results
from surefoot.results.rows import gather

__all__ = ["save_panels"]


def save_panels(
    results: Results, folder: Path | str, formats: Sequence[str] = ("pdf", "png")
) -> list[Path]:
    """Write Figures 1 and 2 of the paper in each setting, if the results are a reproduction.

    Args:
        results: the open file of an experiment; its note "panels" says which rows are which.
        folder: made if need be.
        formats: some of "pdf", "svg", "png".

    Returns:
        The files: ``paper-<setting>`` for Figures 1a to 1c, ``paper-<setting>-actions`` for
        Figure 2.
    """
    layout = results.notes().get("panels")
    if layout is None:
        return []
    rows = gather(results)
    problem = layout["problem"]
    saved: list[Path] = []
    for setting, pairs in layout["settings"]:
        names = dict(pairs)
        path = Path(folder) / f"paper-{setting.replace(' ', '-')}"
        figure = paper_figure(
            rows,
            names,
            problem=problem,
            violation_problem=layout["violation_problem"],
            published_regret=_published(layout, "regret", names),
            published_violation=_published(layout, "soft", names),
        )
        saved += save_figure(figure, path, formats)
        # The paper's Figure 2 has its algorithm and DPP.
        two = {label: name for label, name in names.items() if name in ("PFS", "DPP")}
        if len(two) == 2:
            figure = paper_actions(rows, two, problem=problem, every=layout["every"])
            saved += save_figure(figure, path.with_name(f"{path.name}-actions"), formats)
    return saved


def _published(
    layout: Mapping[str, Any], measure: str, names: Mapping[str, str]
) -> dict[str, dict[int, float]]:
    """Published values by the label of a row, whose setting need not be the one that fits."""
    known = layout["published"][measure]
    return {
        label: {int(T): value for T, value in known[name].items()}
        for label, name in names.items()
        if name in known
    }

"""The paper's own figures, laid out as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.experiments.notes import Panels
from surefoot.experiments.rows import Row
from surefoot.reports.figures._axes import Points, draw_curve, look, plain_axis, time_axis
from surefoot.reports.figures._choice import chosen, last_of
from surefoot.reports.figures._sheet import (
    LegendEntry,
    head,
    in_style,
    key,
    legend,
    names_of,
    sheet,
    text_of,
)
from surefoot.reports.figures.files import file_name, save_figure
from surefoot.reports.figures.plane import paper_actions
from surefoot.reports.figures.violation import MEASURES, draw_instants
from surefoot.reports.style import INK, Look

__all__ = ["paper_figure", "save_panels"]

Published: TypeAlias = Mapping[str, Mapping[int, float]]


@in_style
def paper_figure(
    rows: Sequence[Row],
    algorithms: Sequence[str] | Mapping[str, str],
    *,
    problem: str | None = None,
    violation_problem: str | None = None,
    published_regret: Published | None = None,
    published_violation: Published | None = None,
    horizon: int | None = None,
) -> Any:
    """Draw Figures 1a, 1b and 1c of the paper side by side, published points beside measured ones.

    Args:
        rows: the rows of a reproduction.
        algorithms: labels, or labels with the names to show instead.
        problem: of the regret; the first one unless given.
        violation_problem: of the violations; the same unless given.
        published_regret: values read off the paper's figure, by label and horizon: hollow markers.
        published_violation: the same for the cumulative violation.
        horizon: of the instantaneous violation; the longest that all have unless given.
    """
    names = names_of(algorithms)
    second = violation_problem or problem

    def of(where: str | None, name: str) -> dict[str, list[Row]]:
        return chosen(rows, where, list(names), lambda r: name in r.arrays, name)[1]

    panels = (
        ("regret", "regret", of(problem, "regret"), published_regret or {}),
        ("soft", MEASURES["soft"], of(second, "soft"), published_violation or {}),
    )
    peak = key("-", "largest in any trial", thickness=0.5)
    texts = [*map(text_of, names.values()), "published", peak.text]
    figure, axes = sheet("page", (1, 3), 1.75, texts)
    shown: dict[str, LegendEntry] = {}
    for ax, (measure, name, groups, published) in zip(axes[0], panels, strict=False):
        for label, group in groups.items():
            shown[label] = draw_curve(ax, Points.of(group, measure), look(group), label)
            if published.get(label):
                shown[""] = _published(ax, published[label], look(group))
        ax.set_ylabel(name)
        time_axis(ax, (r.horizon for group in groups.values() for r in group))
        plain_axis(ax, -0.03)
    picked = last_of(of(second, "constraint"), horizon)
    for label, entry in zip(picked, draw_instants(axes[0, 2], picked), strict=True):
        shown.setdefault(label, entry)
    for ax, letter in zip(axes[0], "abc", strict=True):
        head(ax, f"({letter})", inches=2.0)
    known = [shown[k]._replace(text=text_of(name)) for k, name in names.items() if k in shown]
    read = [shown[""]] if "" in shown else []
    legend(figure, [*known, *read, peak])
    return figure


def _published(ax: Any, values: Mapping[int, float], mine: Look) -> LegendEntry:
    from matplotlib.lines import Line2D

    hollow: dict[str, Any] = {"mfc": "none", "mew": 0.8, "ls": "none", "label": "_published"}
    T, read = list(values), list(values.values())
    ax.plot(T, read, mine.marker, ms=2 * mine.size, color=mine.colour, zorder=4, **hollow)
    return LegendEntry(Line2D([], [], marker="o", ms=6, color=INK, **hollow), "published")


def save_panels(
    rows: Sequence[Row], panels: Panels, folder: Path | str, formats: Sequence[str] = ("pdf", "png")
) -> list[Path]:
    """Write Figures 1 and 2 of the paper in each setting.

    Args:
        rows: the rows of a reproduction.
        panels: which rows are which curves of the paper.
        folder: created if missing.
        formats: some of "pdf", "svg", "png".

    Returns:
        The files: ``paper-<setting>`` for Figures 1a to 1c, ``paper-<setting>-actions`` for
        Figure 2.
    """
    saved: list[Path] = []
    for setting, pairs in panels.settings:
        names = dict(pairs)
        path = Path(folder) / f"paper-{file_name(setting)}"
        figure = paper_figure(
            rows,
            names,
            problem=panels.problem,
            violation_problem=panels.violation_problem,
            published_regret=_published_values(panels, "regret", names),
            published_violation=_published_values(panels, "soft", names),
        )
        saved += save_figure(figure, path, formats)
        # The paper's Figure 2 has its algorithm and DPP.
        two = {label: name for label, name in names.items() if name in ("PFS", "DPP")}
        if len(two) == 2:
            figure = paper_actions(rows, two, problem=panels.problem, every=panels.every)
            saved += save_figure(figure, path.with_name(f"{path.name}-actions"), formats)
    return saved


def _published_values(
    panels: Panels, measure: str, names: Mapping[str, str]
) -> dict[str, dict[int, float]]:
    """Return published values by label, whether or not the setting is the one that fits."""
    known = panels.published.get(measure, {})
    return {
        label: {int(T): value for T, value in known[name].items()}
        for label, name in names.items()
        if name in known
    }

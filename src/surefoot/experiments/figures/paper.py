"""The paper's own figures, laid out as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.experiments.figures import file_name, save_figure, sheet
from surefoot.experiments.figures.plane import paper_actions
from surefoot.experiments.figures.sheet import in_style, look_of
from surefoot.experiments.figures.violation import MEASURES, draw_instants
from surefoot.experiments.record import Panels
from surefoot.experiments.rows import Row

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
    names = sheet.names_of(algorithms)
    second = violation_problem or problem

    def find(where: str | None, name: str) -> dict[str, list[Row]]:
        return sheet.select(rows, where, list(names), lambda r: name in r.arrays, name).groups

    figure, axes = sheet.new_sheet("page", (1, 3), 1.75)
    handles: dict[str, Any] = {}
    for ax, measure, word, where, published in (
        (axes[0, 0], "regret", "regret", problem, published_regret or {}),
        (axes[0, 1], "soft", MEASURES["soft"], second, published_violation or {}),
    ):
        for label, group in find(where, measure).items():
            handles[label] = sheet.draw_curve(ax, group, measure, label=sheet.text_of(names[label]))
            if published.get(label):
                handles[""] = _draw_published(ax, published[label], group[0])
        ax.set_ylabel(word)
        sheet.label_rounds(ax, "horizon $T$")
        sheet.scale_axis(ax, [ax.get_ylim()[1]], float("inf"))
    picked = sheet.pick_horizon(find(second, "constraint"), horizon)
    *instants, peak = draw_instants(axes[0, 2], picked)
    handles = dict(zip(picked, instants, strict=True)) | handles
    for ax, letter in zip(axes[0], "abc", strict=True):
        sheet.add_title(ax, f"({letter})")
    sheet.add_legend(figure, [*(handles[k] for k in (*names, "") if k in handles), peak])
    return figure


def _draw_published(ax: Any, values: Mapping[int, float], row: Row) -> Any:
    look = look_of(row.number)
    hollow: dict[str, Any] = {"mfc": "none", "mew": 0.8, "ls": "none", "label": "_published"}
    T, read = list(values), list(values.values())
    ax.plot(T, read, look.marker, ms=2 * look.size, color=look.colour, zorder=4, **hollow)
    return sheet.new_key("none", "published", marker="o", ms=6, mfc="none", mew=0.8)


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

    def published(measure: str, names: Mapping[str, str]) -> dict[str, dict[int, float]]:
        known = panels.published.get(measure, {})
        return {
            label: {int(T): value for T, value in known[name].items()}
            for label, name in names.items()
            if name in known
        }

    saved: list[Path] = []
    for setting, pairs in panels.settings:
        names = dict(pairs)
        path = Path(folder) / f"paper-{file_name(setting)}"
        figure = paper_figure(
            rows,
            names,
            problem=panels.problem,
            violation_problem=panels.violation_problem,
            published_regret=published("regret", names),
            published_violation=published("soft", names),
        )
        saved += save_figure(figure, path, formats)
        # The paper's Figure 2 has its algorithm and DPP.
        two = {label: name for label, name in names.items() if name in ("PFS", "DPP")}
        if len(two) == 2:
            figure = paper_actions(rows, two, problem=panels.problem, every=panels.every)
            saved += save_figure(figure, path.with_name(f"{path.name}-actions"), formats)
    return saved

"""The paper's own figures, laid out as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surefoot.experiments.figures import file_name, save_figure, sheet
from surefoot.experiments.figures.plane import paper_actions
from surefoot.experiments.figures.sheet import Handle, Options, in_style, look_of
from surefoot.experiments.figures.violation import MEASURES, draw_instants
from surefoot.experiments.paper import CURVES, read_data
from surefoot.experiments.rows import Row, algorithms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Panels(NamedTuple):
    """Which rows are which curves of a published figure.

    Attributes:
        problem: label of the problem of the regret.
        violation_problem: label of the problem of the violations.
        settings: for each setting its name, and labels with the names to show for them.
        published: values by measure, shown name and horizon.
        every: which rounds a figure of actions shows.
    """

    problem: str
    violation_problem: str
    settings: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    published: Mapping[str, Mapping[str, Mapping[int, float]]]
    every: int = 1


def paper_panels() -> Panels:
    """Return which rows are the paper's PFS, DPP and DPP-T in each setting."""
    published: dict[str, dict[str, dict[int, float]]] = {"regret": {}, "positive_sum": {}}
    for curve in CURVES:
        published[curve.measure][curve.name] = curve.published
    return Panels(**read_data("figures")["panels"], published=published)


@in_style
def paper_figure(rows: Sequence[Row], panels: Panels, names: Mapping[str, str]) -> Figure:
    """Draw Figures 1a, 1b and 1c of the paper side by side, published points beside measured ones.

    Args:
        rows: the rows of a reproduction.
        panels: the problems, and the values that were published: hollow markers.
        names: the labels of the curves' rows, with the names to show for them.
    """

    def find(problem: str, name: str) -> dict[str, list[Row]]:
        return sheet.select(rows, problem, list(names), sheet.has(name), name).groups

    figure, axes = sheet.new_sheet("page", (1, 3), 1.75)
    handles: dict[str, Handle] = {}
    for ax, measure, word, problem in (
        (axes[0, 0], "regret", "regret", panels.problem),
        (axes[0, 1], "positive_sum", MEASURES["positive_sum"], panels.violation_problem),
    ):
        published = panels.published.get(measure, {})
        for label, group in find(problem, measure).items():
            name = names[label]
            handles[label] = sheet.draw_curve(ax, group, measure, label=sheet.text_of(name))
            if name in published:
                handles[""] = _draw_published(ax, published[name], group[0])
        ax.set_ylabel(word)
        sheet.label_rounds(ax.xaxis, "horizon $T$")
        sheet.scale_axis(ax, [ax.get_ylim()[1]], float("inf"))
    picked = sheet.pick_longest(find(panels.violation_problem, "constraint"))
    *instants, peak = draw_instants(axes[0, 2], picked)
    handles = dict(zip(picked, instants, strict=True)) | handles
    for ax, letter in zip(axes[0], "abc", strict=True):
        sheet.add_title(ax, f"({letter})")
    sheet.add_legend(figure, [*(handles[k] for k in (*names, "") if k in handles), peak])
    return figure


def _draw_published(ax: Axes, values: Mapping[int, float], row: Row) -> Handle:
    look = look_of(row.number)
    hollow: Options = {"ms": 2 * look["ms"], "mfc": "none", "mew": 0.8, "ls": "none", "zorder": 4}
    T, levels = list(values), list(values.values())
    ax.plot(T, levels, label="_published", **look | hollow)
    return sheet.new_key("none", "hollow: published", marker="o", ms=6, mfc="none", mew=0.8)


def save_panels(
    rows: Sequence[Row], panels: Panels, folder: Path | str, formats: Sequence[str] = ("pdf", "svg")
) -> list[Path]:
    """Write Figures 1 and 2 of the paper in each setting that was played.

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
    played = set(algorithms(rows))
    for title, curves in panels.settings:
        played_curves = [(label, name) for label, name in curves if label in played]
        if not played_curves:
            continue
        path = Path(folder) / f"paper-{file_name(title)}"
        saved += save_figure(paper_figure(rows, panels, dict(played_curves)), path, formats)
        # The paper's Figure 2 has its algorithm and DPP.
        two = {label: name for label, name in played_curves if name in ("PFS", "DPP")}
        if len(two) == 2:
            figure = paper_actions(rows, two, panels.problem, panels.every)
            saved += save_figure(figure, path.with_name(f"{path.name}-actions"), formats)
    return saved

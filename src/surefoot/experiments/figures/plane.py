"""Actions in the plane, with the feasible set and the balls that are certified to lie in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefoot.experiments.figures import sheet
from surefoot.experiments.figures.sheet import (
    FILL,
    INK,
    Handle,
    Options,
    Selection,
    Width,
    in_style,
    look_of,
)
from surefoot.experiments.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 40
"""Actions of a panel; the figure of the paper has 66."""

BALLS = 8
"""Certified balls of a panel."""


class Path(NamedTuple):
    """The stored actions of a trial."""

    rounds: np.ndarray
    actions: np.ndarray


class View(NamedTuple):
    """A square of the plane: its centre and half its side."""

    centre: np.ndarray
    half: float

    def frame(self, ax: Axes) -> None:
        """Show this square in a panel."""
        (x, y), half = self.centre, self.half
        ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half))


def _in_plane(row: Row) -> bool:
    return "actions" in row.arrays and row.arrays["actions"].shape[-1] == 2


@sheet.figure("actions in the plane", _in_plane, "page", most={"column": 2, "page": 4})
def action_figure(choice: Selection, width: Width) -> Figure:
    r"""Draw the actions of the first trial in the plane, one panel per algorithm.

    A certified ball has the radius :math:`-g(x_t)/G_g` around an action: every point of it is
    feasible, however the constraint behaves elsewhere. Where the later actions crowd, a second
    panel below enlarges them. Unless algorithms are named there are four at most, two in a column.
    """
    picked = sheet.pick_longest(choice.groups)
    paths = [_read_path(row) for row in picked.values()]
    far, near = _find_views(paths, picked.values())
    down, across = 1 if near is None else 2, len(picked)
    # Beside the panels stand labels and the bar of rounds, below each its ticks.
    side = min((sheet.INCHES[width] - 1.05) / across - 0.06, 2.4)
    figure, axes = sheet.new_sheet(width, (down, across), 0.44 + down * (side + 0.21))
    figure.set_layout_engine("compressed", w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
    handles: dict[str, Handle] = {}
    for column, (row, path) in enumerate(zip(picked.values(), paths, strict=True)):
        for ax in axes[:, column]:
            handles |= _draw_set(ax, row)
            handles |= _draw_balls(ax, row, path)
            at = sheet.thin(len(path.rounds), DOTS)
            dots = ax.scatter(
                *path.actions[at].T,
                c=path.rounds[at],
                s=4,
                lw=0,
                vmin=0,
                vmax=row.horizon,
                zorder=3,
            )
        far.frame(axes[0, column])
        sheet.add_title(axes[0, column], sheet.text_of(row.algorithm))
        if near is not None:
            _enlarge(axes[0, column], axes[1, column], near)
    for ax in axes[:, 1:].flat:
        ax.tick_params(labelleft=False)  # all panels of a line have the same limits
    for ax in axes[:, 0]:
        ax.set_ylabel("$x_2$")
    for ax in axes[-1]:
        ax.set_xlabel("$x_1$")
    bar = figure.colorbar(dots, ax=list(axes.flat), pad=0.015, aspect=30)
    sheet.label_rounds(bar.ax.yaxis, "round $t$")
    bar.ax.tick_params(labelsize=7, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    sheet.add_legend(figure, list(handles.values()))
    return figure


@in_style
def paper_actions(
    rows: Sequence[Row], names: Mapping[str, str], problem: str | None = None, every: int = 300
) -> Figure:
    """Draw Figure 2 of the paper: every 300th action of the first trial, two algorithms together.

    Args:
        rows: from :func:`surefoot.experiments.gather`.
        names: labels with the names to show for them.
        problem: label; the first one unless given.
        every: which rounds; if none of them was kept, all kept rounds.
    """
    choice = sheet.select(rows, problem, list(names), _in_plane, "actions in the plane")
    picked = sheet.pick_longest(choice.groups)
    paths = {label: _read_path(row, every) for label, row in picked.items()}
    far, near = _find_views(list(paths.values()), picked.values())
    figure, axes = sheet.new_sheet(
        "column", (1, 1 if near is None else 2), 2.15 if near is None else 1.6
    )
    for ax in axes.flat:
        handles = {}
        for label, row in picked.items():
            style = look_of(row.number) | {"ls": "none"}
            label_shown = sheet.text_of(names[label])
            (handles[label],) = ax.plot(*paths[label].actions.T, **style, label=label_shown)
        handles |= _draw_set(ax, next(iter(picked.values())))
        ax.set_xlabel("$x_1$")
        far.frame(ax)
    axes[0, 0].set_ylabel("$x_2$")
    if near is not None:
        _enlarge(axes[0, 0], axes[0, 1], near)
    sheet.add_legend(figure, list(handles.values()))
    return figure


def _read_path(row: Row, every: int = 1) -> Path:
    rounds = row.arrays["rounds"]
    at = rounds % every == 0
    at = at if at.any() else np.full(len(rounds), True)
    return Path(rounds[at], row.arrays["actions"][at, 0])


def _draw_set(ax: Axes, row: Row) -> dict[str, Handle]:
    """Draw the feasible set, the start and the best fixed action."""
    arrays, handles = row.arrays, dict[str, Handle]()
    start = None if row.facts.problem is None else row.facts.problem.start
    start = arrays["actions"][0, 0] if arrays["rounds"][0] == 1 else start
    mark: Options = {"ls": "none", "zorder": 4}
    if start is not None:
        (handles["start"],) = ax.plot(*start, "+", color=INK, ms=6, mew=1.0, label="start", **mark)
    if "best" in arrays:
        star: Options = {"mfc": "white", "mec": "black", "mew": 0.6, "ms": 7, **mark}
        best = arrays["best"][0]
        (handles["best"],) = ax.plot(*best, "*", label="best fixed action", **star)
    if "boundary" in arrays:
        area = {"fc": FILL, "ec": INK, "lw": 0.8, "zorder": 0, "label": "feasible set"}
        (handles["set"],) = ax.fill(*arrays["boundary"].T, **area)
    ax.grid(visible=False)
    ax.set_aspect("equal")
    return handles


def _draw_balls(ax: Axes, row: Row, path: Path) -> dict[str, Handle]:
    """Draw balls of radius -g/G_g around some actions, if both are recorded."""
    from matplotlib.patches import Circle

    G_g = row.facts.constants["G_g"].value if "G_g" in row.facts.constants else None
    if not isinstance(G_g, int | float) or G_g == 0 or "constraint" not in row.arrays:
        return {}
    g = row.arrays["constraint"][:, 0]
    # Evenly in the logarithm of the round: most of the way is made early.
    at = np.unique(np.geomspace(1, len(g), BALLS).round().astype(int) - 1)
    colour = look_of(row.number)["color"]
    for i in at[g[at] < 0]:
        ax.add_patch(Circle(path.actions[i], -g[i] / G_g, fill=False, ec=colour, lw=0.6, zorder=2))
    ring = {"marker": "o", "mfc": "none", "mec": INK, "mew": 0.6, "ms": 7}
    return {"balls": sheet.new_key("none", "certified balls", **ring)} if (g[at] < 0).any() else {}


def _find_views(paths: Sequence[Path], rows: Iterable[Row]) -> tuple[View, View | None]:
    """Return a square around all, and one around the later actions if it is much smaller."""
    points = [p.actions for p in paths]
    edges = [row.arrays["boundary"] for row in rows if "boundary" in row.arrays]
    far = _find_square(np.concatenate([*points, *edges]), 0.54)
    late = np.concatenate([p[len(p) // 2 :] for p in points])
    near = _find_square(late, 0.65, least=0.01 * far.half)
    return far, near if near.half < 0.4 * far.half else None


def _find_square(points: np.ndarray, share: float, least: float = 1e-12) -> View:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    return View((low + high) / 2, max(share * float((high - low).max()), least))


def _enlarge(whole: Axes, close: Axes, view: View) -> None:
    from matplotlib.patches import Rectangle

    view.frame(close)
    close.spines[["top", "right"]].set_visible(True)
    corner, side = tuple(view.centre - view.half), 2 * view.half
    whole.add_patch(Rectangle(corner, side, side, fill=False, ec=INK, lw=0.6, zorder=6))

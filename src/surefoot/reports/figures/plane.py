"""Actions in the plane, with the feasible set and the balls that are certified to lie in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.experiments.rows import Row
from surefoot.reports.figures._axes import in_thousands, look
from surefoot.reports.figures._choice import chosen, last_of
from surefoot.reports.figures._sheet import (
    LegendEntry,
    Width,
    head,
    in_style,
    inches_of,
    legend,
    names_of,
    sheet,
    text_of,
)
from surefoot.reports.style import FILL, INK

__all__ = ["action_figure", "paper_actions"]


@in_style
def action_figure(
    rows: Sequence[Row],
    problem: str | None = None,
    algorithms: Sequence[str] | None = None,
    *,
    horizon: int | None = None,
    trial: int = 0,
    balls: int = 8,
    width: Width = "page",
) -> Any:
    r"""Draw the actions of one trial in the plane, one panel per algorithm.

    Args:
        rows: as for every figure, like problem, horizon and width.
        problem: a label.
        algorithms: labels, up to four side by side (two in a column); the first of the plan that
            have actions unless given.
        horizon: number of rounds.
        trial: which of those whose actions were recorded.
        balls: how many certified balls are drawn: of radius :math:`-g(x_t)/G_g` around an action,
            in which every point is feasible, whatever the constraint looks like elsewhere.
        width: "column" or "page".

    Where the later actions crowd, a second panel below enlarges them.
    """
    from matplotlib.ticker import MaxNLocator

    across = 4 if width == "page" else 2
    problem, groups = chosen(rows, problem, algorithms, _in_plane, "actions in the plane", across)
    picked = last_of(groups, horizon)
    paths = [_trial(row, trial) for row in picked.values()]
    far = _whole(paths, picked.values())
    near = _crowd(paths, far)
    across = min(across, len(picked))
    layers = math.ceil(len(picked) / across)
    down = layers * (1 if near is None else 2)
    # Beside the panels stand labels and the bar of rounds, below each its ticks.
    side = min((inches_of(width) - 1.05) / across - 0.06, 2.4)
    height = 0.3 + layers * 0.14 + down * (side + 0.21)
    figure, axes = sheet(width, (down, across), height, ["x" * 16] * 4)
    figure.set_layout_engine("compressed", w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
    shown: dict[str, LegendEntry] = {}
    for i, (label, row) in enumerate(picked.items()):
        layer, column = divmod(i, across)
        whole = axes[layer * down // layers, column]
        dots, found = _draw(whole, row, trial, balls)
        shown |= found
        _look_at(whole, far)
        head(whole, text_of(label), inches=side)
        if near is not None:
            close = axes[layer * down // layers + 1, column]
            _draw(close, row, trial, balls)
            _enlarge(whole, close, near)
    for ax in axes.flat:
        ax.set_visible(ax.has_data())
    for ax in axes[:, 1:].flat:
        ax.tick_params(labelleft=False)  # all panels of a line have the same limits
    for ax in axes[:, 0]:
        ax.set_ylabel("$x_2$")
    for ax in axes[-1]:
        ax.set_xlabel("$x_1$")
    bar = figure.colorbar(dots, ax=list(axes.flat), pad=0.015, aspect=30)
    unit, written = in_thousands(max(r.horizon for r in picked.values()))
    bar.set_label("round $t$" + unit)
    bar.ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    bar.ax.yaxis.set_major_formatter(written)
    bar.ax.tick_params(labelsize=7, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    legend(figure, list(shown.values()))
    return figure


@in_style
def paper_actions(
    rows: Sequence[Row],
    algorithms: Sequence[str] | Mapping[str, str],
    *,
    problem: str | None = None,
    horizon: int | None = None,
    every: int = 300,
    trial: int = 0,
) -> Any:
    """Draw Figure 2 of the paper: every 300th action of one trial, two algorithms in one plane.

    Args:
        rows: from :func:`surefoot.experiments.gather`.
        algorithms: labels, or labels with the names to show instead.
        problem: label; the first one unless given.
        horizon: the longest that all have unless given.
        every: which rounds; where none of them was kept, all that were.
        trial: which of those whose actions were kept.
    """
    names = names_of(algorithms)
    problem, groups = chosen(rows, problem, list(names), _in_plane, "actions in the plane")
    picked = last_of(groups, horizon)
    paths = {label: _trial(row, trial, every) for label, row in picked.items()}
    far = _whole(list(paths.values()), picked.values())
    near = _crowd(list(paths.values()), far)
    texts = [*(text_of(names[label]) for label in picked), "best fixed action", "feasible set"]
    across = 1 if near is None else 2
    figure, axes = sheet("column", (1, across), 2.3 if near is None else 1.75, texts)
    for ax in axes.flat:
        entries = []
        for label, row in picked.items():
            (dots,) = ax.plot(
                *paths[label].actions.T,
                look(row).marker,
                color=look(row).colour,
                ms=0.9 * look(row).size,
                mew=0,
                ls="none",
                label=text_of(names[label]),
            )
            entries.append(LegendEntry(dots, text_of(names[label])))
        found = _surroundings(ax, next(iter(picked.values())), trial)
        ax.set_xlabel("$x_1$")
        _look_at(ax, far)
    axes[0, 0].set_ylabel("$x_2$")
    if near is not None:
        _enlarge(axes[0, 0], axes[0, 1], near)
    legend(figure, [*entries, *found.values()])
    return figure


class Path(NamedTuple):
    """The stored actions of a trial."""

    rounds: np.ndarray
    actions: np.ndarray


class View(NamedTuple):
    """A square of the plane: its centre and half its side."""

    centre: np.ndarray
    half: float


def _in_plane(row: Row) -> bool:
    actions = row.arrays.get("actions")
    return actions is not None and actions.shape[-1] == 2


def _trial(row: Row, trial: int, every: int = 1) -> Path:
    kept, rounds = row.arrays["actions"], row.arrays["rounds"]
    if not 0 <= trial < kept.shape[1]:
        raise InvalidValueError(f"trial must be one of the {kept.shape[1]} kept, got {trial!r}")
    at = rounds % every == 0
    at = at if at.any() else np.full(len(rounds), True)
    return Path(rounds[at], kept[at, trial])


def _draw(ax: Any, row: Row, trial: int, balls: int) -> tuple[Any, dict[str, LegendEntry]]:
    path = _trial(row, trial)
    found = _surroundings(ax, row, trial)
    for circle in _certified_balls(row, path.actions, trial, balls):
        ax.add_patch(circle)
        found["balls"] = _ring()
    dots = ax.scatter(*path.actions.T, c=path.rounds, s=4, lw=0, vmin=0, vmax=row.horizon, zorder=3)
    return dots, found


def _ring() -> LegendEntry:
    from matplotlib.lines import Line2D

    ring = Line2D([], [], marker="o", mfc="none", mec=INK, mew=0.6, ms=7, ls="none")
    return LegendEntry(ring, "certified balls")


def _surroundings(ax: Any, row: Row, trial: int) -> dict[str, LegendEntry]:
    """Draw the feasible set, the start and the best fixed action."""
    found = {}
    start, boundary = _start(row, trial), row.arrays.get("boundary")
    if start is not None:
        (mark,) = ax.plot(*start, "+", color=INK, ms=6, mew=1.0, ls="none", zorder=4)
        found["start"] = LegendEntry(mark, "start")
    if "best" in row.arrays:
        best = row.arrays["best"][trial]
        (star,) = ax.plot(*best, "*", mfc="white", mec="black", mew=0.6, ms=7, ls="none", zorder=5)
        found["best"] = LegendEntry(star, "best fixed action")
    if boundary is not None:
        (area,) = ax.fill(*boundary.T, fc=FILL, ec=INK, lw=0.8, zorder=0)
        found["set"] = LegendEntry(area, "feasible set")
    ax.grid(visible=False)
    ax.set_aspect("equal")
    return found


def _start(row: Row, trial: int) -> Any:
    """Return the first action, if it was recorded or the problem's start is known."""
    if row.arrays["rounds"][0] == 1:
        return row.arrays["actions"][0, trial]
    return None if row.facts.problem is None else row.facts.problem.start


def _certified_balls(row: Row, actions: np.ndarray, trial: int, count: int) -> list[Any]:
    from matplotlib.patches import Circle

    G_g = row.facts.constants["G_g"].value if "G_g" in row.facts.constants else None
    if not isinstance(G_g, int | float) or G_g == 0 or count < 1 or "constraint" not in row.arrays:
        return []
    g = row.arrays["constraint"][:, trial]
    # Evenly in the logarithm of the round: most of the way is made early.
    at = np.unique(np.geomspace(1, len(g), count).round().astype(int) - 1)
    return [
        Circle(actions[i], -g[i] / G_g, fill=False, ec=look(row).colour, lw=0.6, zorder=2)
        for i in at
        if g[i] < 0
    ]


def _whole(paths: Sequence[Path], rows: Iterable[Row]) -> View:
    """Return a square around the feasible set and all actions."""
    points = [p.actions for p in paths]
    points += [row.arrays["boundary"] for row in rows if "boundary" in row.arrays]
    return _around(np.concatenate(points), 0.54)


def _crowd(paths: Sequence[Path], far: View) -> View | None:
    """Return a square around the later half of all actions, if it is much smaller."""
    late = np.concatenate([p.actions[len(p.actions) // 2 :] for p in paths])
    near = _around(late, 0.65, least=0.01 * far.half)
    return near if near.half < 0.4 * far.half else None


def _around(points: np.ndarray, share: float, least: float = 1e-12) -> View:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    return View((low + high) / 2, max(share * float((high - low).max()), least))


def _look_at(ax: Any, window: View) -> None:
    (x, y), half = window
    ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half))


def _enlarge(whole: Any, close: Any, window: View) -> None:
    from matplotlib.patches import Rectangle

    _look_at(close, window)
    close.spines[["top", "right"]].set_visible(True)
    corner, side = tuple(window.centre - window.half), 2 * window.half
    whole.add_patch(Rectangle(corner, side, side, fill=False, ec=INK, lw=0.6, zorder=6))

"""The figure of one game or of several: regret with its bounds, g round by round, and the ends."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surefoot.core.checks import finite_or_none
from surefoot.core.display import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, VERMILLION
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.games.regret import Regret
from surefoot.problems.hindsight import has_closed_form

if TYPE_CHECKING:
    from surefoot.games.trace import Trace

__all__ = ["Curve", "curve_of", "draw", "draw_one", "final_regret"]


COLOURS = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, GREY, BLACK)
_LINES = ("-", "--", "-.", ":")
DECADES = 30.0
"""Ratio of the largest to the smallest curve from which a logarithmic axis shows both better."""


class Curve(NamedTuple):
    """What a figure draws of a game; arrays have the rounds first, then the runs.

    Attributes:
        word: what ``sums`` is: "regret", or "summed cost" where the best action takes long.
        rounds: which rounds are drawn.
        sums: regret or cost up to and with those rounds.
        g: its values in those rounds.
        peak: its largest values since the round before.
        bound: the theorem's bound on the regret after those rounds; None if there is none.
        regret: at the end, of each run; None if it is not known.
        limit: the theorem's bound on that; None if there is none.
        outside: rounds outside, over all runs.
    """

    word: str
    rounds: Array
    sums: Array
    g: Array
    peak: Array
    bound: Array | None
    regret: Array | None
    limit: float | None
    outside: int


def draw(curves: Mapping[str, Curve], *, bounds: bool, path: Any = None) -> Any:
    """Draw curves by their labels: sums, g and the regret at the end."""
    figure, (left, middle, right) = _panels(3, "plot")
    styles = _draw_rounds(left, middle, curves, bounds)
    _draw_ends(right, curves, styles, bounds)
    return _finish(figure, left, path)


def draw_one(trace: Trace, path: Any = None) -> Any:
    """Draw regret with its bound, g round by round, and for d = 2 the actions."""
    in_plane = trace.actions is not None and trace.actions.shape[-1] == 2
    figure, axes = _panels(2 + in_plane, "trace.plot")
    curve, label = curve_of(trace), trace.player
    if curve.word == "regret" and curve.limit is not None:
        label += f", bound {curve.limit:.3g}"
    in_sight = curve.limit is None or curve.limit < 5 * max(float(np.max(curve.sums)), 1e-12)
    _draw_rounds(axes[0], axes[1], {label: curve}, bounds=in_sight)
    if in_plane:
        _draw_plane(axes[2], trace)
    figure.suptitle(f"{trace.problem.name}: {trace.verdict()}", fontsize=9)
    return _finish(figure, axes[0], path)


def _panels(number: int, caller: str) -> tuple[Any, Any]:
    figure = new_figure(caller, figsize=(4.2 * number, 3.6), layout="constrained")
    return figure, figure.subplots(1, number)


def _finish(figure: Any, left: Any, path: Any) -> Any:
    """Add the legend, save where that is wanted, and return the figure."""
    lines = left.get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _draw_rounds(
    left: Any, middle: Any, curves: Mapping[str, Curve], bounds: bool
) -> dict[str, dict[str, Any]]:
    """Draw sums and g over the rounds, and return the style of each label."""
    styles = {
        label: {"color": COLOURS[i % len(COLOURS)], "ls": _LINES[i // len(COLOURS) % len(_LINES)]}
        for i, label in enumerate(curves)
    }
    _draw_sums(left, curves, styles, bounds)
    for label, curve in curves.items():
        middle.plot(curve.rounds, curve.g.mean(axis=1), label=label, lw=1.2, **styles[label])
        if curve.g.shape[1] > 1:
            low, high = curve.g.min(axis=1), curve.peak.max(axis=1)
            _draw_band(middle, curve.rounds, low, high, styles[label])
    middle.axhline(0, color="#333333", lw=1)
    middle.set(xlabel="round", ylabel="g(x), feasible at most 0")
    return styles


def curve_of(trace: Trace) -> Curve:
    """Return what a figure draws of a trace."""
    word, sums = _regret_or_cost(trace)
    known, guarantee = final_regret(trace), trace.guarantee
    bound, limit = None, None
    if guarantee is not None:
        line = np.broadcast_to(guarantee.regret_bound(trace.rounds), trace.rounds.shape)
        bound = line if word == "regret" and np.isfinite(line).all() else None
        limit = finite_or_none(guarantee.regret_bound(trace.horizon))
    return Curve(
        word,
        trace.rounds,
        _runs(sums),
        _runs(trace.constraint),
        _runs(trace.peak),
        bound,
        None if known is None else np.atleast_1d(known.upper[-1]),
        limit,
        int(np.sum(trace.violations.count)),
    )


def final_regret(trace: Trace) -> Regret | None:
    """Return the regret after the last round; None where an adversary's costs are not known."""
    with suppress(ValueError):
        return trace.regret(trace.rounds[-1:])
    return None


def _regret_or_cost(trace: Trace) -> tuple[str, Array]:
    """Return the regret over the rounds, or the summed cost where the best action takes long."""
    with suppress(ValueError):  # an adversary's costs are not known where actions are thinned
        # Without a closed form every round would take a solver: the cost is worth a look too.
        if has_closed_form(trace.costs(), trace.problem.benchmark.region):
            return "regret", trace.regret(trace.rounds).upper
    return "summed cost", trace.cost_sum


def _runs(values: Array) -> Array:
    return np.reshape(values, (len(values), -1))


def _draw_band(ax: Any, rounds: Array, low: Array, high: Array, style: Mapping[str, Any]) -> None:
    ax.fill_between(rounds, low, high, color=style["color"], alpha=0.2, lw=0)


def _draw_sums(
    ax: Any, curves: Mapping[str, Curve], styles: Mapping[str, Mapping[str, Any]], bounds: bool
) -> None:
    for label, curve in curves.items():
        style, mean = styles[label], curve.sums.mean(axis=1)
        ax.plot(curve.rounds, mean, label=label, lw=1.2, **style)
        if curve.sums.shape[1] > 1:
            spread = curve.sums.std(axis=1)
            _draw_band(ax, curve.rounds, mean - spread, mean + spread, style)
        if bounds and curve.bound is not None:
            ax.plot(curve.rounds, curve.bound, color=style["color"], ls=(0, (1, 2)), lw=0.9)
    _scale(ax)
    ax.set(xlabel="round", ylabel=" or ".join(sorted({c.word for c in curves.values()})))


def _draw_ends(
    ax: Any, curves: Mapping[str, Curve], styles: Mapping[str, Mapping[str, Any]], bounds: bool
) -> None:
    for place, (label, curve) in enumerate(curves.items()):
        if curve.regret is None:
            continue
        colour, mean = styles[label]["color"], float(curve.regret.mean())
        spread = float(curve.regret.std()) if curve.regret.size > 1 else None
        ax.errorbar(place, mean, yerr=spread, fmt="o", color=colour, capsize=4)
        if bounds and curve.limit is not None:
            ax.plot([place - 0.3, place + 0.3], [curve.limit] * 2, color=colour, ls=(0, (1, 2)))
        ax.annotate(
            f"{curve.outside:,} outside",
            (place, mean),
            xytext=(6, 6),
            textcoords="offset points",
            fontsize=7,
            rotation=45,
        )
    _scale(ax)
    ax.set(ylabel="regret at the end", xlim=(-0.6, len(curves) - 0.4))
    ax.set_xticks(range(len(curves)), list(curves), rotation=30, ha="right", fontsize=7)


def _scale(ax: Any) -> None:
    """Set a logarithmic axis where the ends of what is drawn are positive and decades apart."""
    data = [np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.get_lines()]
    ends = [float(y[-1]) for y in data if y.size and np.isfinite(y[-1])]
    if ends and min(ends) > 0 and max(ends) > DECADES * min(ends):
        ax.set_yscale("log", nonpositive="mask")


def _draw_plane(ax: Any, trace: Trace) -> None:
    assert trace.actions is not None
    actions = trace.actions.reshape(-1, 2)
    thin = max(1, len(actions) // 3_000)
    ax.plot(*actions[::thin].T, ".", ms=2, color=BLUE, alpha=0.4)
    domain = trace.problem.domain
    centre = np.zeros(2) if domain.centre is None else domain.centre
    span = np.linspace(-1.05, 1.05, 151) * domain.radius
    X, Y = np.meshgrid(centre[0] + span, centre[1] + span)
    points, value = np.column_stack([X.ravel(), Y.ravel()]), trace.problem.benchmark.value
    # After a loop a user's functions are known to take one action, not that they take many.
    G = np.array([float(value(p)) for p in points]) if trace.engine == "loop" else value(points)
    ax.contour(X, Y, G.reshape(X.shape), levels=[0.0], colors=[VERMILLION], linewidths=1)
    if trace.rounds[0] == 1:
        ax.plot(*np.atleast_2d(trace.actions[0]).T, "k+", ms=8)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")


def new_figure(purpose: str, **options: object) -> Any:
    """Return an empty matplotlib figure that a notebook shows without a magic line.

    Args:
        purpose: what it is needed for, as the subject of a sentence.
        options: of ``matplotlib.figure.Figure``.
    """
    need("matplotlib", "plot", purpose)
    return _figure_class()(**options)


@cache
def _figure_class() -> type:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that knows its picture: one outside of pyplot is shown by its name alone."""

        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png", dpi=100)
            return picture.getvalue()

    return ShownFigure

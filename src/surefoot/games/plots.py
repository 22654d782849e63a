"""Draw one game or several: regret with its bounds, g round by round, the ends; and a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import display
from surefoot.core.checks import finite_or_none, one_of
from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT, Style, Table, result_cells
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.games.regret import Regret
from surefoot.games.trace import Trace
from surefoot.games.verdict import judge
from surefoot.problems.hindsight import has_closed_form

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot", "table"]

Traces: TypeAlias = Trace | Sequence[Trace] | Mapping[str, Trace]
FilePath: TypeAlias = str | os.PathLike[str]

_FIRST = (display.BLUE, display.VERMILLION, display.GREEN, display.PINK)
COLOURS = (*_FIRST, display.ORANGE, display.SKY, display.GREY, display.BLACK)
_LINES = ("-", "--", "-.", ":")
_DOTTED = (0, (1, 2))
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


def labelled(traces: Traces) -> dict[str, Trace]:
    """Return traces by their labels: the keys of a mapping, else the names of the players.

    Players of the same name are told apart by their guarantees, then by numbers.
    """
    if isinstance(traces, Trace):
        traces = [traces]
    if not traces:
        raise InvalidValueError("traces must not be empty, got none")
    if isinstance(traces, Mapping):
        return dict(traces)
    for trace in traces:
        if not isinstance(trace, Trace):
            raise InvalidValueError(f"traces must be what play returns, got {trace!r}")
    names = [trace.player for trace in traces]
    if len(set(names)) < len(names):
        names = [f"{t.player}, {t.guarantee.name}" if t.guarantee else t.player for t in traces]
    found = {}
    for i, (name, trace) in enumerate(zip(names, traces, strict=True)):
        again = f" ({names[: i + 1].count(name)})" if names.count(name) > 1 else ""
        found[f"{name}{again}"] = trace
    return found


# --- the table ------------------------------------------------------------------------------------


def table(traces: Traces, style: Style | None = None) -> Table | str:
    """Return one row per trace: regret, share of its bound, promise, rounds outside, verdict.

    Args:
        traces: one, several, or several by label.
        style: "markdown", "latex" (for booktabs), "text" or "html"; without one, an object that
            prints as text and that a notebook shows.

    Example:
        >>> from surefoot import PFS, play, problems
        >>> toy = problems.paper_toy(horizon=200, trials=2)
        >>> print(table(play(PFS.tuned(toy.constants, 200), toy)))
        algorithm    T  regret  of bound  promised      outside  max g  verdict
        PFS        200 ... every g <= 0  0 of 200 ...  held
    """
    if style is not None:
        one_of(("text", "markdown", "latex", "html"), style=style)
    rows = [_cells(label, trace) for label, trace in labelled(traces).items()]
    made = Table(RESULT_HEAD, rows, RESULT_RIGHT)
    return made if style is None else made.as_(style)


def _cells(label: str, trace: Trace) -> tuple[str, ...]:
    ends = final_regret(trace)
    guarantee = trace.guarantee
    share = None
    if guarantee is not None and ends is not None:
        bound = float(guarantee.regret_bound(trace.horizon))
        share = float(np.max(ends.upper)) / bound if 0 < bound < np.inf else None
    return result_cells(
        label,
        trace.horizon,
        regret=None if ends is None else ends.upper[-1],
        share=share,
        promised="" if guarantee is None else guarantee.kind,
        outside=float(np.mean(trace.violations.count)),
        worst=float(np.max(trace.violations.worst)),
        verdict=judge(trace, None if ends is None else ends.lower[-1]).word,
    )


def plot(traces: Traces, *, bounds: bool = True, path: FilePath | None = None) -> Figure:
    """Draw several traces: regret over the rounds, g over the rounds, regret at the end.

    Lines are means over the runs, with a band of one standard deviation; of g the band reaches to
    the largest and the smallest. At the end, bars are one standard deviation over the runs. Where
    curves differ by more than a decade and a half, the axis of the regret is logarithmic.

    Args:
        traces: one, several, or several by label.
        bounds: whether to draw the theorems' bounds on the regret, dotted.
        path: where to save the figure; not saved if None.

    Returns:
        A matplotlib figure, which a notebook shows.
    """
    curves = {label: curve_of(trace) for label, trace in labelled(traces).items()}
    return draw(curves, bounds=bounds, path=path)


def draw(curves: Mapping[str, Curve], *, bounds: bool, path: FilePath | None = None) -> Figure:
    """Draw curves by their labels: sums, g and the regret at the end."""
    figure = new_figure("plot", figsize=(12.6, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_rounds(left, middle, curves, bounds)
    _draw_ends(right, curves, bounds)
    return _finish(figure, left, path)


def draw_one(trace: Trace, path: FilePath | None = None) -> Figure:
    """Draw regret with its bound, g round by round, and for d = 2 the actions."""
    panels = 3 if trace.actions is not None and trace.actions.shape[-1] == 2 else 2
    figure = new_figure("trace.plot", figsize=(4.2 * panels, 3.6), layout="constrained")
    left, middle, *plane = figure.subplots(1, panels)
    curve, label = curve_of(trace), trace.player
    if curve.word == "regret" and curve.limit is not None:
        label += f", bound {curve.limit:.3g}"
    in_sight = curve.limit is None or curve.limit < 5 * max(float(np.max(curve.sums)), 1e-12)
    _draw_rounds(left, middle, {label: curve}, bounds=in_sight)
    for ax in plane:
        _draw_plane(ax, trace)
    figure.suptitle(f"{trace.problem.name}: {trace.verdict()}", fontsize=9)
    return _finish(figure, left, path)


def _finish(figure: Figure, left: Axes, path: FilePath | None) -> Figure:
    """Add the legend, save where that is wanted, and return the figure."""
    lines = left.get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _draw_rounds(left: Axes, middle: Axes, curves: Mapping[str, Curve], bounds: bool) -> None:
    """Draw sums and g over the rounds, with bands over the runs."""
    for ax in (left, middle):
        ax.set_prop_cycle(color=COLOURS * 4, linestyle=np.repeat(_LINES, len(COLOURS)))
    for label, curve in curves.items():
        mean, spread = curve.sums.mean(axis=1), curve.sums.std(axis=1)
        extremes = curve.g.min(axis=1), curve.peak.max(axis=1)
        for ax, values, band in (
            (middle, curve.g.mean(axis=1), extremes),
            (left, mean, (mean - spread, mean + spread)),
        ):
            (line,) = ax.plot(curve.rounds, values, label=label, lw=1.2)
            if curve.g.shape[1] > 1:
                ax.fill_between(curve.rounds, *band, color=line.get_color(), alpha=0.2, lw=0)
        if bounds and curve.bound is not None:
            left.plot(curve.rounds, curve.bound, color=line.get_color(), ls=_DOTTED, lw=0.9)
    _scale(left)
    left.set(xlabel="round", ylabel=" or ".join(sorted({c.word for c in curves.values()})))
    middle.axhline(0, color="#333333", lw=1)
    middle.set(xlabel="round", ylabel="g(x), feasible at most 0")


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


def _draw_ends(ax: Axes, curves: Mapping[str, Curve], bounds: bool) -> None:
    for place, curve in enumerate(curves.values()):
        if curve.regret is None:
            continue
        colour = COLOURS[place % len(COLOURS)]
        mean = float(curve.regret.mean())
        spread = float(curve.regret.std()) if curve.regret.size > 1 else None
        ax.errorbar(place, mean, yerr=spread, fmt="o", color=colour, capsize=4)
        if bounds and curve.limit is not None:
            ax.plot([place - 0.3, place + 0.3], [curve.limit] * 2, color=colour, ls=_DOTTED)
        ax.text(place, mean, f"  {curve.outside:,} outside", fontsize=7, rotation=45)
    _scale(ax)
    ax.set(ylabel="regret at the end", xlim=(-0.6, len(curves) - 0.4))
    ax.set_xticks(range(len(curves)), list(curves), rotation=30, ha="right", fontsize=7)


def _scale(ax: Axes) -> None:
    """Set a logarithmic axis where the ends of what is drawn are positive and decades apart."""
    data = [np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.get_lines()]
    ends = [float(y[-1]) for y in data if y.size and np.isfinite(y[-1])]
    if ends and min(ends) > 0 and max(ends) > DECADES * min(ends):
        ax.set_yscale("log", nonpositive="mask")


def _draw_plane(ax: Axes, trace: Trace) -> None:
    assert trace.actions is not None
    actions = trace.actions.reshape(-1, 2)
    thin = max(1, len(actions) // 3_000)
    ax.plot(*actions[::thin].T, ".", ms=2, color=display.BLUE, alpha=0.4)
    domain = trace.problem.domain
    centre = np.zeros(2) if domain.centre is None else domain.centre
    span = np.linspace(-1.05, 1.05, 151) * domain.radius
    X, Y = np.meshgrid(centre[0] + span, centre[1] + span)
    points, value = np.column_stack([X.ravel(), Y.ravel()]), trace.problem.benchmark.value
    # After a loop a user's functions are known to take one action, not that they take many.
    G = np.array([float(value(p)) for p in points]) if trace.engine == "loop" else value(points)
    ax.contour(X, Y, G.reshape(X.shape), levels=[0.0], colors=[display.VERMILLION], linewidths=1)
    if trace.rounds[0] == 1:
        ax.plot(*np.atleast_2d(trace.actions[0]).T, "k+", ms=8)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")


def new_figure(purpose: str, **options: object) -> Figure:
    """Return an empty matplotlib figure that a notebook shows without a magic line.

    Args:
        purpose: what it is needed for, as the subject of a sentence.
        options: of ``matplotlib.figure.Figure``.
    """
    need("matplotlib", "plot", purpose)
    figure: Figure = _figure_class()(**options)
    return figure


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

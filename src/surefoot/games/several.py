"""Several traces side by side: a figure with error bars and bounds, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.checks import one_of
from surefoot.core.convert import finite
from surefoot.core.display import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RESULT_HEAD,
    RESULT_RIGHT,
    SKY,
    VERMILLION,
    Style,
    Table,
    new_figure,
    result_cells,
)
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.games.quicklook import regret_or_cost
from surefoot.games.regret import Regret
from surefoot.games.trace import Trace
from surefoot.games.verdict import judge

__all__ = ["Curve", "Traces", "draw", "labelled", "plot", "table"]

Traces = Trace | Sequence[Trace] | Mapping[str, Trace]

COLOURS = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, GREY, BLACK)
_LINES = ("-", "--", "-.", ":")
DECADES = 30.0
"""Ratio of the largest to the smallest curve from which a logarithmic axis shows both better."""


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
    often = Counter(names)
    long = [
        f"{name}, {trace.guarantee.name}" if often[name] > 1 and trace.guarantee else name
        for name, trace in zip(names, traces, strict=True)
    ]
    often, seen = Counter(long), Counter[str]()
    found = {}
    for name, trace in zip(long, traces, strict=True):
        seen[name] += 1
        found[f"{name} ({seen[name]})" if often[name] > 1 else name] = trace
    return found


# --- the table ------------------------------------------------------------------------------------


def table(traces: Traces, style: Style | None = None) -> Any:
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
    ends = _final_regret(trace)
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


def _final_regret(trace: Trace) -> Regret | None:
    """Return the regret after the last round; None where an adversary's costs are not known."""
    with suppress(ValueError):
        return trace.regret(trace.rounds[-1:])
    return None


# --- the figure -----------------------------------------------------------------------------------


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


def plot(traces: Traces, *, bounds: bool = True, path: Any = None) -> Any:
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
    curves = {label: _curve(trace) for label, trace in labelled(traces).items()}
    return draw(curves, bounds=bounds, path=path)


def draw(curves: Mapping[str, Curve], *, bounds: bool, path: Any = None) -> Any:
    """Draw curves by their labels; see :func:`plot`."""
    figure = new_figure("plot", figsize=(12.6, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    styles = {
        label: {"color": COLOURS[i % len(COLOURS)], "ls": _LINES[i // len(COLOURS) % len(_LINES)]}
        for i, label in enumerate(curves)
    }
    _sums(left, curves, styles, bounds)
    for label, curve in curves.items():
        middle.plot(curve.rounds, curve.g.mean(axis=1), label=label, lw=1.2, **styles[label])
        if curve.g.shape[1] > 1:
            low, high = curve.g.min(axis=1), curve.peak.max(axis=1)
            _band(middle, curve.rounds, low, high, styles[label])
    middle.axhline(0, color="#333333", lw=1)
    middle.set(xlabel="round", ylabel="g(x), feasible at most 0")
    _ends(right, curves, styles, bounds)
    lines = left.get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _curve(trace: Trace) -> Curve:
    word, sums = regret_or_cost(trace)
    known, guarantee = _final_regret(trace), trace.guarantee
    bound, limit = None, None
    if guarantee is not None:
        line = np.broadcast_to(guarantee.regret_bound(trace.rounds), trace.rounds.shape)
        bound = line if word == "regret" and np.isfinite(line).all() else None
        limit = finite(guarantee.regret_bound(trace.horizon))
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


def _runs(values: Array) -> Array:
    return np.reshape(values, (len(values), -1))


def _band(ax: Any, rounds: Array, low: Array, high: Array, style: Mapping[str, Any]) -> None:
    ax.fill_between(rounds, low, high, color=style["color"], alpha=0.2, lw=0)


def _sums(
    ax: Any, curves: Mapping[str, Curve], styles: Mapping[str, Mapping[str, Any]], bounds: bool
) -> None:
    for label, curve in curves.items():
        style, mean = styles[label], curve.sums.mean(axis=1)
        ax.plot(curve.rounds, mean, label=label, lw=1.2, **style)
        if curve.sums.shape[1] > 1:
            spread = curve.sums.std(axis=1)
            _band(ax, curve.rounds, mean - spread, mean + spread, style)
        if bounds and curve.bound is not None:
            ax.plot(curve.rounds, curve.bound, color=style["color"], ls=(0, (1, 2)), lw=0.9)
    _scale(ax)
    ax.set(xlabel="round", ylabel=" or ".join(sorted({c.word for c in curves.values()})))


def _ends(
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

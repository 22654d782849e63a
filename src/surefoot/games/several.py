"""Several traces side by side: a figure with error bars and bounds, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from surefoot._check import one_of
from surefoot._display import RESULT_HEAD, RESULT_RIGHT, Style, Table, new_figure, result_cells
from surefoot.errors import InvalidValueError
from surefoot.games.trace import Trace
from surefoot.games.verdict import judge
from surefoot.hindsight import has_closed_form
from surefoot.metrics import Regret
from surefoot.types import Array

__all__ = ["Traces", "labelled", "plot", "table"]

Traces = Trace | Sequence[Trace] | Mapping[str, Trace]

# Okabe and Ito's palette keeps its hues apart for colour-blind readers; black comes last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#000000")
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


def plot(traces: Traces, *, bounds: bool = True, path: Any = None) -> Any:
    """Draw several traces: regret over the rounds, g over the rounds, regret at the end.

    Lines are means over the runs, with a band of one standard deviation; of g the band reaches to
    the largest and the smallest. At the end, bars are one standard deviation over the runs. Where
    curves differ by more than a decade and a half, the axis of the regret is logarithmic.

    Args:
        traces: one, several, or several by label.
        bounds: whether to draw the theorems' bounds on the regret, dashed.
        path: where to save the figure; not saved if None.

    Returns:
        A matplotlib figure, which a notebook shows.
    """
    named = labelled(traces)
    figure = new_figure("plot", figsize=(12.6, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    styles = {
        label: {"color": COLOURS[i % len(COLOURS)], "ls": _LINES[i // len(COLOURS) % len(_LINES)]}
        for i, label in enumerate(named)
    }
    _regrets(left, named, styles, bounds)
    for label, trace in named.items():
        g = _runs(trace.constraint)
        middle.plot(trace.rounds, g.mean(axis=1), label=label, lw=1.2, **styles[label])
        if g.shape[1] > 1:
            low, high = g.min(axis=1), _runs(trace.peak).max(axis=1)
            _band(middle, trace.rounds, low, high, styles[label])
    middle.axhline(0, color="#333333", lw=1)
    middle.set(xlabel="round", ylabel="g(x), feasible at most 0")
    _ends(right, named, styles, bounds)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _runs(values: Array) -> Array:
    return np.reshape(values, (len(values), -1))


def _band(ax: Any, rounds: Array, low: Array, high: Array, style: Mapping[str, Any]) -> None:
    ax.fill_between(rounds, low, high, color=style["color"], alpha=0.2, lw=0)


def _path(trace: Trace) -> tuple[str, Array]:
    """Return the regret over the rounds, or the summed cost where the best action takes long."""
    with suppress(ValueError):  # an adversary's costs are not known where actions are thinned
        if has_closed_form(trace.costs(), trace.problem.benchmark.region):
            return "regret", _runs(trace.regret(trace.rounds).upper)
    return "summed cost", _runs(trace.cost_sum)


def _regrets(
    ax: Any, named: Mapping[str, Trace], styles: Mapping[str, Mapping[str, Any]], bounds: bool
) -> None:
    paths = {label: _path(trace) for label, trace in named.items()}
    words = sorted({word for word, _ in paths.values()})
    for label, (word, values) in paths.items():
        trace, style, mean = named[label], styles[label], values.mean(axis=1)
        ax.plot(trace.rounds, mean, label=label, lw=1.2, **style)
        if values.shape[1] > 1:
            spread = values.std(axis=1)
            _band(ax, trace.rounds, mean - spread, mean + spread, style)
        if bounds and word == "regret" and trace.guarantee is not None:
            line = np.broadcast_to(trace.guarantee.regret_bound(trace.rounds), trace.rounds.shape)
            if np.isfinite(line).all():
                ax.plot(trace.rounds, line, color=style["color"], ls=(0, (1, 2)), lw=0.9)
    _scale(ax, [values.mean(axis=1)[-1] for _, values in paths.values()], bounds)
    ax.set(xlabel="round", ylabel=" or ".join(words))


def _ends(
    ax: Any, named: Mapping[str, Trace], styles: Mapping[str, Mapping[str, Any]], bounds: bool
) -> None:
    shown = []
    for place, (label, trace) in enumerate(named.items()):
        known = _final_regret(trace)
        if known is None:
            continue
        regret = np.atleast_1d(known.upper[-1])
        shown.append(float(regret.mean()))
        colour = styles[label]["color"]
        spread = float(regret.std()) if regret.size > 1 else None
        ax.errorbar(place, shown[-1], yerr=spread, fmt="o", color=colour, capsize=4)
        bound = np.inf if trace.guarantee is None else trace.guarantee.regret_bound(trace.horizon)
        if bounds and np.isfinite(bound):
            ax.plot([place - 0.3, place + 0.3], [bound, bound], color=colour, ls=(0, (1, 2)))
        outside = int(np.sum(trace.violations.count))
        ax.annotate(
            f"{outside:,} outside",
            (place, shown[-1]),
            xytext=(6, 6),
            textcoords="offset points",
            fontsize=7,
            rotation=45,
        )
    _scale(ax, shown, bounds)
    ax.set(ylabel="regret at the end", xlim=(-0.6, len(named) - 0.4))
    ax.set_xticks(range(len(named)), list(named), rotation=30, ha="right", fontsize=7)


def _scale(ax: Any, ends: Sequence[float], bounds: bool) -> None:
    """Set a logarithmic axis where what is drawn differs by decades and is positive."""
    drawn = [v for v in (*ends, *(_tops(ax) if bounds else ())) if np.isfinite(v)]
    if drawn and min(drawn) > 0 and max(drawn) > DECADES * min(drawn):
        ax.set_yscale("log", nonpositive="mask")


def _tops(ax: Any) -> Iterator[float]:
    for line in ax.get_lines():
        data = np.asarray(line.get_ydata(), dtype=np.float64)
        if data.size:
            yield float(data[-1])

"""Several traces side by side: a figure with error bars and bounds, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.checks import one_of
from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT, Style, Table, result_cells
from surefoot.core.errors import InvalidValueError
from surefoot.games.curves import curve_of, draw, final_regret
from surefoot.games.trace import Trace
from surefoot.games.verdict import judge

__all__ = ["Traces", "labelled", "plot", "table"]

Traces = Trace | Sequence[Trace] | Mapping[str, Trace]


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
    curves = {label: curve_of(trace) for label, trace in labelled(traces).items()}
    return draw(curves, bounds=bounds, path=path)

"""What a round costs: time, and calls of each oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from surefoot.experiments.figures import sheet
from surefoot.experiments.figures.sheet import INK, Selection, Width, look_of
from surefoot.experiments.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CALLS = {
    "cost_gradients": "cost gradient",
    "constraint_values": "g",
    "constraint_subgradients": "subgradient",
    "projections": "projection",
    "linear_minimisations": "linear minimisation",
    "inner_solves": "inner solve",
}


def _was_timed(row: Row) -> bool:
    return bool(row.facts.oracle.get("rounds") and _microseconds(row))


@sheet.figure("oracle calls and times", _was_timed, "page")
def cost_figure(choice: Selection, width: Width) -> Figure:
    """Draw the time per round as bars; beside each its engine, and the oracle calls of a round."""
    picked = list(sheet.pick_longest(choice.groups).values())
    figure, ((ax,),) = sheet.new_sheet(width, height=0.65 + 0.18 * len(picked))
    times = [_microseconds(row) for row in picked]
    colours = [look_of(row.number)["color"] for row in picked]
    ax.barh(range(len(picked)), times, height=0.62, color=colours)
    for y, (time, row) in enumerate(zip(times, picked, strict=True)):
        # Engines share the work of a round among different numbers of runs: name the engine.
        text = f"{time:.3g} ({row.facts.engine or '?'})"
        text += f": {_list_calls(row.facts.oracle)}" if width == "page" else ""
        style = {"va": "center", "fontsize": 6, "color": INK}
        ax.annotate(text, (time, y), (2, 0), textcoords="offset points", **style)
    room = 2.6 if width == "page" else 1.4
    if max(times) > 20 * min(times):
        ax.set_xscale("log")
        ax.set_xlim(min(times) / 2, max(times) * (max(times) / min(times)) ** (room - 1))
    else:
        ax.set_xlim(0, max(times) * room)
    ax.set_yticks(range(len(picked)), [sheet.text_of(row.algorithm) for row in picked])
    ax.set_ylim(len(picked) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("time per round (µs)")
    ax.grid(visible=False)
    sheet.add_title(ax, f"{sheet.text_of(choice.problem)}: time and oracle calls of a round")
    return figure


def _microseconds(row: Row) -> float:
    return float(row.provenance.get("microseconds_a_round") or 0.0)


def _list_calls(oracle: Mapping[str, int]) -> str:
    """Return the calls of a round; solves are an upper bound, as a feasible point needs none."""
    calls = {name: oracle.get(name, 0) / oracle["rounds"] for name in _CALLS}
    return ", ".join(
        f"{'≤ ' * (name == 'inner_solves')}{calls[name]:.3g} {word}"
        for name, word in _CALLS.items()
        if calls[name]
    )

"""A trace as a pandas frame or an xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.optional import need

if TYPE_CHECKING:
    from surefoot.games.trace import Trace

__all__ = ["frame_of", "set_of"]

_PATHS = ("cost", "cost_sum", "constraint", "peak")


def frame_of(trace: Trace) -> Any:
    """Return a frame with one line per run and kept round; a column ``x0``, ... per entry.

    A pull of the actions into columns is left out where they were not kept.
    """
    pandas = need("pandas", "export", "trace.to_pandas")
    runs = trace.runs or 1
    columns: dict[str, Any] = {
        "run": np.repeat(np.arange(runs), len(trace.rounds)),
        "round": np.tile(trace.rounds, runs),
    }
    for name in _PATHS:
        columns[name] = _by_run(getattr(trace, name), runs).ravel()
    if trace.actions is not None:
        actions = np.reshape(trace.actions, (len(trace.rounds), runs, -1)).swapaxes(0, 1)
        entries = actions.reshape(-1, actions.shape[-1])
        columns |= {f"x{i}": entries[:, i] for i in range(entries.shape[1])}
    frame = pandas.DataFrame(columns)
    return frame.drop(columns="run") if trace.runs is None else frame


def _by_run(values: Any, runs: int) -> Any:
    return np.reshape(values, (len(values), runs)).T


def set_of(trace: Trace) -> Any:
    """Return a dataset with the dimensions round, run and entry, and the totals of each run."""
    xarray = need("xarray", "export", "trace.to_xarray")
    across = () if trace.runs is None else ("run",)
    data: dict[str, Any] = {name: (("round", *across), getattr(trace, name)) for name in (*_PATHS,)}
    if trace.actions is not None:
        data["action"] = (("round", *across, "entry"), trace.actions)
    data["total_cost"] = (across, trace.total_cost)
    for name, value in trace.violations._asdict().items():
        data[f"violation_{name}"] = (across, np.asarray(value))
    coordinates = {"round": trace.rounds}
    if trace.runs is not None:
        coordinates["run"] = np.arange(trace.runs)
    facts = {
        "problem": trace.problem.name,
        "player": trace.player,
        "guarantee": "" if trace.guarantee is None else str(trace.guarantee),
        "verdict": trace.verdict(),
        "engine": trace.engine_note,
    }
    return xarray.Dataset(data, coords=coordinates, attrs=facts)

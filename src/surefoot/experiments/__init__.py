"""Experiments: a specification becomes a grid of games, which is played, stored and resumed.

A specification (:class:`Spec`) is read from TOML (:func:`read_spec`); :func:`run` plays what a
folder does not have yet, and :func:`estimate` says how long that would take.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.core.errors import StoreError
    from surefoot.experiments.driver import Estimate, Outcome, estimate, run
    from surefoot.experiments.executors import RunError
    from surefoot.experiments.export import to_csv, to_netcdf, to_parquet, to_xarray
    from surefoot.experiments.mistakes import SpecError
    from surefoot.experiments.plugins import PluginError, load_plugin
    from surefoot.experiments.record import CellResult, Facts, Place, Status
    from surefoot.experiments.rows import Row, gather, mean_std
    from surefoot.experiments.specification import Spec, build_spec
    from surefoot.experiments.store import DamagedCellError, Results
    from surefoot.experiments.sweep import Event
    from surefoot.experiments.toml import dump_spec, parse_spec, read_spec

__all__ = [
    "CellResult",
    "DamagedCellError",
    "Estimate",
    "Event",
    "Facts",
    "Outcome",
    "Place",
    "PluginError",
    "Results",
    "Row",
    "RunError",
    "Spec",
    "SpecError",
    "Status",
    "StoreError",
    "build_spec",
    "dump_spec",
    "estimate",
    "gather",
    "load_plugin",
    "mean_std",
    "parse_spec",
    "read_spec",
    "run",
    "to_csv",
    "to_netcdf",
    "to_parquet",
    "to_xarray",
]

_HOME = {
    **dict.fromkeys(("Estimate", "Outcome", "estimate", "run"), "driver"),
    **dict.fromkeys(("dump_spec", "parse_spec", "read_spec"), "toml"),
    **dict.fromkeys(("Spec", "build_spec"), "specification"),
    "SpecError": "mistakes",
    **dict.fromkeys(("PluginError", "load_plugin"), "plugins"),
    **dict.fromkeys(("CellResult", "Facts", "Place", "Status"), "record"),
    **dict.fromkeys(("DamagedCellError", "Results", "StoreError"), "store"),
    **dict.fromkeys(("Row", "gather", "mean_std"), "rows"),
    **dict.fromkeys(("to_csv", "to_netcdf", "to_parquet", "to_xarray"), "export"),
    "Event": "sweep",
    "RunError": "executors",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used: who reads a specification need not load what plays it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

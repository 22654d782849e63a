"""Experiments: a specification becomes a grid of games, which is played, stored and resumed.

A specification (:class:`Spec`) is read from TOML (:func:`read_spec`); :func:`run` plays what a
folder does not have yet, and :func:`estimate` says how long that would take.
"""

from surefoot.core.errors import StoreError
from surefoot.experiments.build import PluginError, load_plugin
from surefoot.experiments.executors import RunError
from surefoot.experiments.export import to_xarray
from surefoot.experiments.record import CellResult, Facts, Place, Status
from surefoot.experiments.rows import Row, gather, mean_std
from surefoot.experiments.specification import Spec, SpecError, build_spec
from surefoot.experiments.store import DamagedCellError, Results
from surefoot.experiments.sweep import Estimate, Event, Outcome, estimate, run
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
    "to_xarray",
]

"""Experiments: a specification becomes a grid of games, which is played, stored and resumed.

A specification (:class:`Spec`) is read from TOML (:func:`read_spec`); :func:`run` plays what a
folder does not have yet, and :func:`estimate` says how long that would take.
"""

# ruff: noqa: F401 (what is imported here is exported)

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

# What was imported above, and no submodule.
__all__ = sorted(n for n, v in globals().items() if callable(v) and n[0] != "_")

"""Experiments: a specification becomes a grid of games, which is played, stored and resumed.

A specification (:class:`Spec`) is read from TOML (:func:`read_spec`); :func:`run` plays what a
folder does not have yet, and :func:`estimate` says how long that would take.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.experiments.driver import Estimate, Outcome, estimate, run
    from surefoot.experiments.plugins import PluginError, load_plugin
    from surefoot.experiments.spec import Spec
    from surefoot.experiments.sweep import Event
    from surefoot.experiments.toml import SpecError, dump_spec, parse_spec, read_spec

__all__ = [
    "Estimate",
    "Event",
    "Outcome",
    "PluginError",
    "Spec",
    "SpecError",
    "dump_spec",
    "estimate",
    "load_plugin",
    "parse_spec",
    "read_spec",
    "run",
]

_HOME = {
    **dict.fromkeys(("Estimate", "Outcome", "estimate", "run"), "driver"),
    **dict.fromkeys(("SpecError", "dump_spec", "parse_spec", "read_spec"), "toml"),
    **dict.fromkeys(("PluginError", "load_plugin"), "plugins"),
    "Event": "sweep",
    "Spec": "spec",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used: who reads a specification need not load what plays it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Online decisions under a constraint that must hold in every round.

The packages, from the bottom up: :mod:`~surefoot.sets`, :mod:`~surefoot.costs`,
:mod:`~surefoot.constraints`, :mod:`~surefoot.regions`, :mod:`~surefoot.theory`,
:mod:`~surefoot.hindsight`, :mod:`~surefoot.algorithms`, :mod:`~surefoot.problems`,
:mod:`~surefoot.metrics`, :mod:`~surefoot.games`, :mod:`~surefoot.controller`,
:mod:`~surefoot.calibration`, and :mod:`~surefoot.testing` for your own algorithms. The names that
most programs need are here at the top.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import (
        algorithms,
        calibration,
        constraints,
        controller,
        costs,
        games,
        hindsight,
        metrics,
        problems,
        sets,
        testing,
        theory,
    )
    from surefoot.algorithms import (
        OGD,
        PFS,
        CertifiedDualAveraging,
        CertifiedOGD,
        CertifiedPFS,
        LeaderFollower,
        SafetyFilter,
    )
    from surefoot.calibration import calibrate
    from surefoot.comparison import compare
    from surefoot.constants import Constants
    from surefoot.controller import Controller, replay
    from surefoot.errors import SurefootError
    from surefoot.games import Trace, play, play_all, plot, table
    from surefoot.problems import Problem
    from surefoot.sets import Ball
    from surefoot.theory import Guarantee, Tuned
    from surefoot.types import Feedback

__version__ = "0.1.0"

__all__ = [
    "OGD",
    "PFS",
    "Ball",
    "CertifiedDualAveraging",
    "CertifiedOGD",
    "CertifiedPFS",
    "Constants",
    "Controller",
    "Feedback",
    "Guarantee",
    "LeaderFollower",
    "Problem",
    "SafetyFilter",
    "SurefootError",
    "Trace",
    "Tuned",
    "algorithms",
    "calibrate",
    "calibration",
    "compare",
    "constraints",
    "controller",
    "costs",
    "games",
    "hindsight",
    "metrics",
    "play",
    "play_all",
    "plot",
    "problems",
    "replay",
    "sets",
    "table",
    "testing",
    "theory",
]

_HOME = {
    "OGD": "algorithms",
    "PFS": "algorithms",
    "Ball": "sets",
    "CertifiedDualAveraging": "algorithms",
    "CertifiedOGD": "algorithms",
    "CertifiedPFS": "algorithms",
    "Constants": "constants",
    "Controller": "controller",
    "Feedback": "types",
    "Guarantee": "theory",
    "LeaderFollower": "algorithms",
    "Problem": "problems",
    "SafetyFilter": "algorithms",
    "SurefootError": "errors",
    "Trace": "games",
    "Tuned": "theory",
    "calibrate": "calibration",
    "compare": "comparison",
    "play": "games",
    "play_all": "games",
    "plot": "games",
    "replay": "controller",
    "table": "games",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing surefoot costs no more than importing NumPy's part of it.
    if name not in __all__:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"surefoot.{_HOME[name]}"), name)
    else:
        value = importlib.import_module(f"surefoot.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

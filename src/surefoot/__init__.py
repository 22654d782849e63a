"""Online decisions under a constraint that must hold in every round.

The rooms, from the bottom up: :mod:`~surefoot.core`, :mod:`~surefoot.sets`,
:mod:`~surefoot.regions`, :mod:`~surefoot.algorithms`, :mod:`~surefoot.problems`,
:mod:`~surefoot.games`, :mod:`~surefoot.controller`, and :mod:`~surefoot.testing` for your own
algorithms. The names that most programs need are here at the top.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import (
        algorithms,
        controller,
        games,
        problems,
        sets,
        testing,
    )
    from surefoot.algorithms import (
        OGD,
        PFS,
        CertifiedDualAveraging,
        CertifiedOGD,
        CertifiedPFS,
        Guarantee,
        LeaderFollower,
        SafetyFilter,
        Tuned,
    )
    from surefoot.controller import Controller, replay
    from surefoot.core.constants import Constants
    from surefoot.core.errors import SurefootError
    from surefoot.core.types import Feedback
    from surefoot.experiments.compare import compare
    from surefoot.games import Trace, play, play_all, plot, table
    from surefoot.problems import Problem
    from surefoot.problems.calibration import calibrate
    from surefoot.sets import Ball

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
    "compare",
    "controller",
    "games",
    "kernel",
    "play",
    "play_all",
    "plot",
    "problems",
    "replay",
    "sets",
    "table",
    "testing",
]

# Where each name lives; a room is its own home.
_HOMES = {
    "algorithms": "OGD PFS CertifiedDualAveraging CertifiedOGD CertifiedPFS Guarantee "
    "LeaderFollower SafetyFilter Tuned",
    "sets": "Ball",
    "core.constants": "Constants",
    "controller": "Controller replay",
    "core.types": "Feedback",
    "problems": "Problem",
    "core.errors": "SurefootError",
    "games": "Trace play play_all plot table",
    "problems.calibration": "calibrate",
    "experiments.compare": "compare",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing surefoot costs no more than importing NumPy's part of it.
    if name not in __all__:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        value: Any = importlib.import_module(f"surefoot.{name}")
    else:
        value = getattr(importlib.import_module(f"surefoot.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""Online decisions under a constraint that must hold in every round.

The rooms, from the bottom up: :mod:`~surefoot.core`, :mod:`~surefoot.sets`,
:mod:`~surefoot.regions`, :mod:`~surefoot.algorithms`, :mod:`~surefoot.problems`,
:mod:`~surefoot.games`, :mod:`~surefoot.controller`, and :mod:`~surefoot.testing` for your own
algorithms. The names that most programs need are here at the top.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import algorithms as algorithms
    from surefoot import controller as controller
    from surefoot import games as games
    from surefoot import problems as problems
    from surefoot import sets as sets
    from surefoot import testing as testing
    from surefoot.algorithms import OGD as OGD
    from surefoot.algorithms import PFS as PFS
    from surefoot.algorithms import CertifiedDualAveraging as CertifiedDualAveraging
    from surefoot.algorithms import CertifiedOGD as CertifiedOGD
    from surefoot.algorithms import CertifiedPFS as CertifiedPFS
    from surefoot.algorithms import Guarantee as Guarantee
    from surefoot.algorithms import LeaderFollower as LeaderFollower
    from surefoot.algorithms import SafetyFilter as SafetyFilter
    from surefoot.algorithms import Tuned as Tuned
    from surefoot.controller import Controller as Controller
    from surefoot.controller import replay as replay
    from surefoot.core.constants import Constants as Constants
    from surefoot.core.errors import SurefootError as SurefootError
    from surefoot.core.types import Feedback as Feedback
    from surefoot.experiments.compare import compare as compare
    from surefoot.games import Trace as Trace
    from surefoot.games import play as play
    from surefoot.problems import Problem as Problem
    from surefoot.problems.calibration import calibrate as calibrate
    from surefoot.sets import Ball as Ball

__version__ = "0.2.0"

# Where each name lives.
_HOMES = {
    "algorithms": "OGD PFS CertifiedDualAveraging CertifiedOGD CertifiedPFS Guarantee "
    "LeaderFollower SafetyFilter Tuned",
    "sets": "Ball",
    "core.constants": "Constants",
    "controller": "Controller replay",
    "core.types": "Feedback",
    "problems": "Problem",
    "core.errors": "SurefootError",
    "games": "Trace play",
    "problems.calibration": "calibrate",
    "experiments.compare": "compare",
}
_ROOMS = ("algorithms", "controller", "games", "kernel", "problems", "sets", "testing")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_ROOMS, *_HOME_OF])


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing surefoot costs no more than importing NumPy's part of it.
    if name not in __all__:
        told = f"module 'surefoot' has no attribute {name!r}"
        raise AttributeError(told, name=name, obj=sys.modules[__name__])
    module = importlib.import_module(f"surefoot.{_HOME_OF.get(name, name)}")
    value = vars(module)[name] if name in _HOME_OF else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

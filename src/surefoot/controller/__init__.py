"""An algorithm in a live loop: ask and tell, a reason for each action, a journal, a replay."""

from surefoot._sqlite import StoreError
from surefoot.controller._journal import LostRoundsError
from surefoot.controller._watch import Broken
from surefoot.controller.controller import (
    ContradictionError,
    ContradictionWarning,
    Controller,
    Policy,
)
from surefoot.controller.explanation import Explanation
from surefoot.controller.replaying import Difference, Replay, replay

__all__ = [
    "Broken",
    "ContradictionError",
    "ContradictionWarning",
    "Controller",
    "Difference",
    "Explanation",
    "LostRoundsError",
    "Policy",
    "Replay",
    "StoreError",
    "replay",
]

"""An algorithm in a live loop: ask and tell, a reason for each action, a journal, a replay."""

from surefoot._sqlite import StoreError
from surefoot.algorithms import Breach, Policy, PremiseError, PremiseWarning
from surefoot.controller._journal import LostRoundsError
from surefoot.controller.controller import Controller
from surefoot.controller.explanation import Explanation
from surefoot.controller.reading import (
    JournalNote,
    JournalRecord,
    JournalRound,
    is_journal,
    read_journal,
)
from surefoot.controller.replaying import Difference, Replay, replay

__all__ = [
    "Breach",
    "Controller",
    "Difference",
    "Explanation",
    "JournalNote",
    "JournalRecord",
    "JournalRound",
    "LostRoundsError",
    "Policy",
    "PremiseError",
    "PremiseWarning",
    "Replay",
    "StoreError",
    "is_journal",
    "read_journal",
    "replay",
]

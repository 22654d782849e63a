"""An algorithm in a live loop: ask and tell, a reason for each action, a journal, a replay."""

from surefoot.algorithms import Breach, Policy, PremiseError, PremiseWarning
from surefoot.controller.alarms import Alarm
from surefoot.controller.controller import Controller, JournalWarning
from surefoot.controller.explanation import Explanation
from surefoot.controller.fleet import Fleet
from surefoot.controller.journal import LostRoundsError
from surefoot.controller.reading import (
    JournalNote,
    JournalRecord,
    JournalRound,
    is_journal,
    read_journal,
)
from surefoot.controller.replaying import Difference, Replay, replay
from surefoot.core.errors import StoreError

__all__ = [
    "Alarm",
    "Breach",
    "Controller",
    "Difference",
    "Explanation",
    "Fleet",
    "JournalNote",
    "JournalRecord",
    "JournalRound",
    "JournalWarning",
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

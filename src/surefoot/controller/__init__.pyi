"""The public names of the package, each with its module; they load when they are used."""

from surefoot.controller.alarms import Alarm as Alarm
from surefoot.controller.controller import Controller as Controller
from surefoot.controller.explanation import Explanation as Explanation
from surefoot.controller.fleet import Fleet as Fleet
from surefoot.controller.journal import LostRoundsError as LostRoundsError
from surefoot.controller.journal_record import (
    FleetRecord as FleetRecord,
    JournalNote as JournalNote,
    JournalRecord as JournalRecord,
    JournalRound as JournalRound,
)
from surefoot.controller.live import JournalWarning as JournalWarning
from surefoot.controller.machine import RoundEvent as RoundEvent
from surefoot.controller.plant import (
    Plant as Plant,
    PlantChangedError as PlantChangedError,
)
from surefoot.controller.plant_fleet import PlantFleet as PlantFleet
from surefoot.controller.reading import (
    is_journal as is_journal,
    read_journal as read_journal,
)
from surefoot.controller.replaying import (
    Difference as Difference,
    Replay as Replay,
    replay as replay,
)
from surefoot.core.errors import StoreError as StoreError
from surefoot.guarantees import (
    Breach as Breach,
    Policy as Policy,
    PremiseError as PremiseError,
    PremiseWarning as PremiseWarning,
)

__all__: list[str]

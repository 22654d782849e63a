"""The public names of the package, each with its module; they load when they are used."""

from surefoot.problems.calibration.from_problem import (
    calibrate as calibrate,
    calibrate_constants as calibrate_constants,
)
from surefoot.problems.calibration.log_constants import (
    LogBounds as LogBounds,
    fleet_constant as fleet_constant,
    from_log as from_log,
)
from surefoot.problems.calibration.log_file import Log as Log, read_log as read_log
from surefoot.problems.calibration.offers import (
    Calibration as Calibration,
    Offer as Offer,
    Probe as Probe,
    Standing as Standing,
)
from surefoot.problems.calibration.plant_from_log import (
    LogRequest as LogRequest,
    MissingColumnError as MissingColumnError,
    PlantOfLog as PlantOfLog,
    plant_of_log as plant_of_log,
)
from surefoot.problems.calibration.plant_log import (
    LogColumn as LogColumn,
    PlantLog as PlantLog,
    read_plant_log as read_plant_log,
)
from surefoot.problems.calibration.slopes import (
    Slope as Slope,
    finite_differences as finite_differences,
    through_sensitivity as through_sensitivity,
)
from surefoot.problems.calibration.step_test import (
    StepTest as StepTest,
    read_step_test as read_step_test,
)

__all__: list[str]

"""The public names of the package, each with its module; they load when they are used."""

from surefoot.problems.plant.canonical import (
    check_description as check_description,
    difference_of as difference_of,
    plant_data as plant_data,
    plant_from_data as plant_from_data,
)
from surefoot.problems.plant.description import (
    ActuatorDescription as ActuatorDescription,
    ConstantOrigin as ConstantOrigin,
    ContextDescription as ContextDescription,
    LimitDescription as LimitDescription,
    PlantConstant as PlantConstant,
    PlantDescription as PlantDescription,
    PolicyDescription as PolicyDescription,
    RiseDescription as RiseDescription,
    ServiceDescription as ServiceDescription,
)
from surefoot.problems.plant.grammar import parse_plant as parse_plant, read_plant as read_plant
from surefoot.problems.plant.in_words import (
    FirstStep as FirstStep,
    find_first_steps as find_first_steps,
    needs_confirmation as needs_confirmation,
    plausibility as plausibility,
)
from surefoot.problems.plant.player import player_of as player_of
from surefoot.problems.plant.promise import (
    PlantProof as PlantProof,
    UsedConstant as UsedConstant,
    promises_of_plant as promises_of_plant,
    proof_of as proof_of,
)
from surefoot.problems.plant.scaling import Scaling as Scaling
from surefoot.problems.plant.tables import PlantFileError as PlantFileError
from surefoot.problems.plant.writing import write_plant as write_plant

__all__: list[str]

"""The public names of the package, each with its module; they load when they are used."""

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
from surefoot.problems.plant.scaling import Scaling as Scaling

__all__: list[str]

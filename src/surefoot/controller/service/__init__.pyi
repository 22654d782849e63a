"""The public names of the package, each with its module; they load when they are used."""

from surefoot.controller.service.client import Client as Client, NoServiceError as NoServiceError
from surefoot.controller.service.daemon import Daemon as Daemon
from surefoot.controller.service.endpoints import Address as Address, read_token as read_token
from surefoot.controller.service.fleets import PlantFleetService as PlantFleetService
from surefoot.controller.service.plants import PlantService as PlantService
from surefoot.controller.service.protocol import LONGEST as LONGEST, PROTOCOL as PROTOCOL
from surefoot.controller.service.serving import Service as Service
from surefoot.controller.service.vectors import ControllerService as ControllerService

__all__: list[str]

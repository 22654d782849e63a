"""``surefoot plant``: is a plant file right, and what do its numbers mean?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from surefoot.cli._exit import MistakesError
from surefoot.cli._output import Json, argument, show

if TYPE_CHECKING:
    from surefoot.problems.plant import PlantDescription

__all__ = ["plant"]


def plant(
    file: Annotated[Path, argument("FILE", "The plant file, such as plant.toml.")],
    json: Json = False,
) -> None:
    """Check a plant file, and show what its numbers mean before round 1.

    A plant file says in engineering units what may be set, what moves the limits, and how much. A
    small one is

      surefoot = 1
      round = "1 min"
      [actuator.speed]
      unit = "Hz"
      range = [25, 50]
      start = 50                     # the safe set point
      [limit.pressure]
      unit = "bar"
      at_least = 2.5
      meter_error = 0.02
      start_margin = 0.5             # at the start the pressure is at least 3.0
      steepness = { speed = 0.12 }   # bar per Hz

    All mistakes are shown at once, each with its line. A file without mistakes is shown in words:
    how far each actuator may move in the first round, what the meter's error and the contexts cost
    of the margin, and which numbers are estimates. A steepness in other units shows here: marks are
    "slow", "too flat" and "noisy". Exit codes: 0 it is right, also with marks; 2 it has mistakes.

    Examples:
      surefoot plant plant.toml
      surefoot plant plant.toml --json
    """
    from surefoot.problems.plant import PlantFileError, plausibility, read_plant

    try:
        description = read_plant(file)
    except PlantFileError as error:
        raise MistakesError(str(error)) from error
    show(json, _as_data(file, description), plausibility(description))


def _as_data(file: Path, description: PlantDescription) -> dict[str, Any]:
    """Return what the lines say, for programs."""
    from surefoot.problems.plant import (
        find_first_steps,
        needs_confirmation,
        plant_data,
        plausibility,
    )

    members = description.members or {"": description}
    steps = {
        name: [
            {
                "actuator": step.actuator.name,
                "unit": step.actuator.unit,
                "first_step": step.length,
                "share": step.share,
                "ramp": step.ramp,
                "is_slow": step.is_slow,
                "is_too_flat": step.is_flat,
            }
            for step in find_first_steps(member)
        ]
        for name, member in members.items()
    }
    return {
        "file": file,
        "name": description.name,
        "lines": plausibility(description),
        "needs_confirmation": needs_confirmation(description),
        "estimates": description.estimates,
        "first_steps": steps if description.members else steps[""],
        "plant": plant_data(description),
    }

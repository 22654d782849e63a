"""``surefoot amend``: go on with an edited plant file, in the same journal."""

from pathlib import Path
from typing import Annotated

from surefoot.cli._output import Json, argument, option, show
from surefoot.cli.serve import journal_errors

__all__ = ["amend"]


def amend(
    file: Annotated[Path, argument("FILE", "The plant file as it is now.")],
    by: Annotated[str, option("NAME", "Whose change it is.")],
    reason: Annotated[str, option("TEXT", "Why, in words.")],
    journal: Annotated[
        Path | None, option("FILE", "The journal, in place of that of the plant file.")
    ] = None,
    json: Json = False,
) -> None:
    """Go on with an edited plant file, in the same journal.

    The journal keeps what was changed, by whom and why, and the plant begins anew at its start:
    what was read before is not used. Who changes a limit, a range or a start states the margin of
    the start again, with another why. The service must be stopped, or be asked to amend itself.
    Exit codes are those of `surefoot serve`.

    Examples:
      surefoot amend plant.toml --by "E. Moser" --reason "step test of 3 May"
    """
    from surefoot.controller import Plant, PlantFleet
    from surefoot.problems.plant import read_plant

    with journal_errors():
        kind = PlantFleet if read_plant(file).members else Plant
        with kind.amending(file, by=by, reason=reason, journal=journal) as plant:
            rounds = plant.rounds if isinstance(plant, PlantFleet) else {"": plant.round}
    words = [f"{name or file.name} goes on with round {t}" for name, t in rounds.items()]
    show(json, {"file": file, "rounds": rounds}, words)

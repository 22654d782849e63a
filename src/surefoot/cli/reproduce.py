"""``surefoot reproduce``: the paper's experiment, with a verdict on each figure."""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._exit import same_command
from surefoot.cli._output import Json, option, progress
from surefoot.cli._results import finish
from surefoot.cli.options import Force, Workers


def reproduce(
    ctx: typer.Context,
    out: Annotated[Path, option("DIR", "Folder for the results.")] = Path("out/reproduction"),
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Run the paper's experiment and compare its figures.

    Figures 1a, 1b, 1c and 2 of Hutchinson and Alizadeh (ICML 2025): 30 trials on the published
    streams, ten horizons, with the constants as plotted, as written, as released and as the
    assumptions demand; also every other theorem whose games are compiled, and a variant of the
    problem whose constraint binds. The verdict on a figure is: reproduced, reproduced only with
    other constants than stated, or not reproduced. It takes about a minute; an interrupted run
    continues where it stopped.

    Example:
      surefoot reproduce --out out/reproduction
    """
    from surefoot.experiments.paper import reproduction

    with progress() as report:
        result = reproduction.reproduce(out, workers=workers, force=force, progress=report)
    again = same_command(ctx)
    raise typer.Exit(finish(result.outcome, report=True, json=json, again=again, paper=result))

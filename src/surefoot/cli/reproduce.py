"""``surefoot reproduce``: the paper's experiment, with a verdict on each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import same_command
from surefoot.cli._output import Json, colours, option, progress, table
from surefoot.cli._results import COLOURS, check_output_folder, finish
from surefoot.cli.options import Force, Workers
from surefoot.core.display import paint

if TYPE_CHECKING:
    from surefoot.experiments.record import Claim

SHORT = "with other constants"
"""The middle verdict on a figure, where a table has no room for all of it."""


def reproduce(
    ctx: typer.Context,
    out: Annotated[Path, option("DIR", "Folder for the results.")] = Path("out/reproduction"),
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Run the paper's experiment and compare each of its figures with the results.

    Figures 1a, 1b, 1c and 2 of Hutchinson and Alizadeh (ICML 2025): 30 trials on the published
    streams, ten horizons, with the constants as plotted, as written, as released and as the
    assumptions demand; also every other algorithm that has a theorem, and a variant of the problem
    whose constraint binds. The verdict on a figure is: reproduced, reproduced only with other
    constants than stated, or not reproduced. It takes about a minute; an interrupted run continues
    where it stopped.

    Example:
      surefoot reproduce --out out/reproduction
    """
    from surefoot.experiments.paper import reproduction

    folder = check_output_folder(out)
    with progress() as tell:
        found = reproduction.reproduce(folder, workers=workers, force=force, progress=tell)
    raise typer.Exit(
        finish(
            found.outcome,
            report=True,
            json=json,
            again=same_command(ctx),
            shown=lambda rows: verdicts(found.claims),
            more={"claims": found.claims},
        )
    )


def verdicts(claims: Sequence[Claim]) -> Iterator[str]:
    """Return the verdict on each figure, and what it shows beside what was measured."""
    known = COLOURS if colours() else {}
    if not claims:
        yield "no verdict: cells are missing"
    for figure in dict.fromkeys(claim.figure for claim in claims):
        # A figure's own verdict comes first.
        whole, *parts = [claim for claim in claims if claim.figure == figure]
        horizons = sorted({_horizon(T) for part in parts for T in part.published})
        values = f"; values at T = {', '.join(map(str, horizons))}" if horizons else ""
        yield f"Figure {figure}: {paint(whole.verdict, known.get(whole.verdict))}{values}"
        head = ("shown", "row", "published", "measured", "verdict")
        rows = list(map(_cells, parts))
        filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
        cells = [[row[i] for i in filled] for row in rows]
        yield from table([head[i] for i in filled], cells, paint=COLOURS, indent=2)


def _cells(claim: Claim) -> tuple[str, ...]:
    from surefoot.experiments.record import OTHER_CONSTANTS

    verdict = SHORT if claim.verdict == OTHER_CONSTANTS else claim.verdict
    numbers = _values(claim.published), _values(claim.measured)
    return claim.statement, claim.settings, *numbers, verdict


def _values(values: dict[str, float | None]) -> str:
    # By horizon: a file has them in the order of the texts.
    numbers = (values[T] for T in sorted(values, key=_horizon))
    return ", ".join("-" if v is None else f"{v:.4g}" for v in numbers)


def _horizon(T: str) -> int:
    return int(T) if T.isdecimal() else 0

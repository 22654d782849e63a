"""``surefoot reproduce``: the paper's experiment, with a verdict on each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import Debug
from surefoot.cli._finish import finish, usable
from surefoot.cli._output import Json, colours, option, table
from surefoot.cli._progress import progress
from surefoot.cli._summary import SHORT
from surefoot.cli._summary import colours as verdict_colours
from surefoot.cli.run import Force, Workers
from surefoot.core.display import paint as paint_text

if TYPE_CHECKING:
    from surefoot.experiments.notes import Claim

__all__ = ["reproduce", "verdicts"]

OUT = Path("out/reproduction")


def reproduce(
    out: Annotated[Path, option("DIR", "Folder for the results.")] = OUT,
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,
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

    folder = usable(out)
    with progress() as tell:
        found = reproduction.reproduce(folder, workers=workers, force=force, progress=tell)
    again = ["surefoot", "reproduce"]
    again += ["--out", str(out)] if out != OUT else []
    again += ["--workers", str(workers)] if workers is not None else []
    raise typer.Exit(
        finish(
            found.outcome,
            report=True,
            json=json,
            again=again,
            shown=lambda rows: verdicts(found.claims),
            more={"claims": [claim.to_plain() for claim in found.claims]},
        )
    )


def verdicts(claims: Sequence[Claim]) -> Iterator[str]:
    """Return the verdict on each figure, and what it shows beside what was measured."""
    from surefoot.experiments.notes import OTHER_CONSTANTS

    paint = verdict_colours() if colours() else {}
    if not claims:
        yield "no verdict: cells are missing"
    for figure in dict.fromkeys(claim.figure for claim in claims):
        # A figure's own verdict comes first.
        whole, *parts = [claim for claim in claims if claim.figure == figure]
        horizons = sorted({_horizon(T) for part in parts for T in part.published})
        values = f"; values at T = {', '.join(map(str, horizons))}" if horizons else ""
        yield f"Figure {figure}: {paint_text(whole.verdict, paint.get(whole.verdict))}{values}"
        rows = [
            (
                part.statement,
                part.settings,
                _values(part.published),
                _values(part.measured),
                SHORT if part.verdict == OTHER_CONSTANTS else part.verdict,
            )
            for part in parts
        ]
        head = ("shown", "row", "published", "measured", "verdict")
        filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
        yield from table(
            [head[i] for i in filled],
            [[row[i] for i in filled] for row in rows],
            paint=verdict_colours(),
            indent=2,
        )


def _values(values: dict[str, float | None]) -> str:
    # By horizon: a file has them in the order of the texts.
    numbers = (values[T] for T in sorted(values, key=_horizon))
    return ", ".join("-" if v is None else f"{v:.4g}" for v in numbers)


def _horizon(T: str) -> int:
    return int(T) if T.isdecimal() else 0

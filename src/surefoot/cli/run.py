"""``surefoot run``: run the experiment of a specification."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import OK, RUNTIME, MistakesError, UsageError, same_command
from surefoot.cli._output import Json, argument, duration, option, progress, show, stage, table
from surefoot.cli._results import finish
from surefoot.cli.options import Force, Plugins, Workers, load_plugins

if TYPE_CHECKING:
    from surefoot.experiments import Estimate, Spec


def run(
    ctx: typer.Context,
    spec: Annotated[
        Path, argument("SPEC", "The specification, a TOML file; `surefoot new` writes one.")
    ],
    out: Annotated[
        Path | None, option("DIR", "Folder for the results (default: out/<name>).")
    ] = None,
    plugin: Plugins = None,
    workers: Workers = None,
    cluster: Annotated[
        str | None, option("ADDRESS", "Run on the Dask cluster with this scheduler address.")
    ] = None,
    force: Force = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the number of cells and the expected time; run nothing."
        ),
    ] = False,
    report: Annotated[bool, typer.Option(help="Make the figures and the page at the end.")] = True,
    json: Json = False,
) -> None:
    """Run the experiment of a specification, and print the results.

    Every algorithm sees the same random streams. Each cell (a problem, an algorithm, a horizon and
    a block of up to 30 trials) is saved as soon as it is finished: after Ctrl-C, a crash or a
    change of the specification, the same command runs only what is missing. With --plugin the
    specification can name your problems and algorithms; after a change of their code they are run
    again.

    Each row of the table shows the regret (mean and standard deviation over the trials), the
    largest regret as a share of the theorem's bound, what the theorem promises of the constraint,
    the number of violations (rounds with g > 0, mean over the trials), the largest g, and the
    verdict: whether the promise was kept.

    Examples:
      surefoot run limits.toml --dry-run
      surefoot run limits.toml --workers 4
      surefoot run mine.toml --plugin mine
      surefoot run limits.toml --cluster tcp://127.0.0.1:8786
    """
    from surefoot.experiments import estimate, sweep

    load_plugins(plugin)
    described, text = _read(spec)
    folder = out if out is not None else Path("out") / described.name
    if cluster is not None and workers is not None:
        raise UsageError("--workers is for this machine: a cluster has its workers")
    if dry_run:
        with stage("counting the cells"):
            amount = estimate(described, folder, workers=workers)
        _show_estimate(amount, described.name, folder, json)
        raise typer.Exit(RUNTIME if amount.missing else OK)
    with progress() as report_progress:
        outcome = sweep.run(
            described,
            folder,
            text=text,
            workers=workers,
            cluster=cluster,
            force=force,
            progress=report_progress,
        )
    raise typer.Exit(finish(outcome, report=report, json=json, again=same_command(ctx)))


def _read(path: Path) -> tuple[Spec, str]:
    from surefoot.experiments import SpecError, read_spec

    try:
        # The text is stored beside the results, as it was written.
        return read_spec(path), path.read_text(encoding="utf-8-sig")
    except SpecError as error:
        raise MistakesError(str(error)) from error


# --- what there is to do --------------------------------------------------------------------------


def _show_estimate(amount: Estimate, name: str, folder: Path, json: bool) -> None:
    time = f"about {duration(amount.seconds)}, by what the engines usually take"
    lines = [
        ("cells", f"{amount.cells}, {amount.present} of them in the file already"),
        ("rounds to play", f"{amount.rounds:,}"),
        ("time", time if amount.rounds else "none: everything is in the file"),
        ("folder", str(folder)),
        *(("not installed", missing) for missing in amount.missing),
    ]
    data = {**asdict(amount), "name": name, "folder": folder}
    show(json, data, table((name, ""), lines))

"""``surefoot report``: figures, page and exports from saved results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import OK, PARTIAL, Debug, UsageError
from surefoot.cli._finish import write_report
from surefoot.cli._output import Json, argument, option, say, say_json, warn
from surefoot.cli._progress import stage
from surefoot.cli._summary import rows_as_data, rows_as_table
from surefoot.cli.reproduce import verdicts

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

__all__ = ["Format", "report"]


class Format(StrEnum):
    """Formats that results can be exported to."""

    csv = "csv"
    parquet = "parquet"
    netcdf = "netcdf"


def report(
    folder: Annotated[Path, argument("DIR", "The folder of a run, or its results file.")],
    export: Annotated[
        list[Format] | None,
        option(
            "csv|parquet|netcdf",
            "Also write the results in this format; may be given more than once.",
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make the figures and the page from saved results, and export the results.

    Nothing is run: a report shows what is in the results file. Exports are written beside that
    file: results.csv and results.parquet have one row per trial; results.nc also has the paths over
    the rounds (open it with xarray).

    Examples:
      surefoot report out/limits
      surefoot report out/limits --export csv --export netcdf
    """
    from surefoot.experiments.notes import claims_of
    from surefoot.experiments.record import FILE_NAME
    from surefoot.experiments.rows import gather
    from surefoot.experiments.store import Results

    file = folder if folder.is_file() else folder / FILE_NAME
    if not file.is_file():
        what = f"has no {FILE_NAME}" if folder.is_dir() else "does not exist"
        raise UsageError(f"'{folder}' {what}: give the folder of a run, such as out/limits")
    from surefoot.controller import is_journal

    if is_journal(file):
        raise UsageError(
            f"'{file}' is the journal of a controller, not the results of a run: "
            f"`surefoot journal {file}` shows it"
        )
    home = file.parent
    with Results.open(file) as results:
        with stage("reading the results"):
            claims = claims_of(results)
            rows = gather(results)
            damaged = {address: why for row in rows for address, why in row.damaged.items()}
            planned = {place.address for place in results.places()}
            missing = len(planned - results.have().keys() - damaged.keys())
        if not rows:
            raise UsageError(f"'{file}' has no results yet: run the specification first")
        exports = []
        for form in dict.fromkeys(export or []):
            with stage(f"writing {form}"):
                exports.append(_export(results, file, form))
        with stage("making the figures and the page"):
            page, figures = write_report(results, home, rows)
    bad = any(row.status in ("failed", "set aside") for row in rows)  # a damaged one has failed
    code = PARTIAL if bad else OK
    if json:
        say_json(
            {
                "exit_code": code,
                "results": file,
                "report": page,
                "figures": figures,
                "exports": exports,
                "missing": missing,
                "damaged": damaged,
                "rows": rows_as_data(rows),
            }
        )
    else:
        say(*(verdicts(claims) if claims else rows_as_table(rows)), "")
        say(*(f"export   {path}" for path in exports))
        say(f"figures  {home / 'figures'}", f"report   {page}")
    for address, why in damaged.items():
        warn(f"surefoot: cell {address[:12]} is damaged: {why}")
    if damaged or missing:
        words = [f"{len(damaged)} damaged"] if damaged else []
        words += [f"{missing} missing"] if missing else []
        warn(
            f"surefoot: {' and '.join(words)} of {len(planned)} cells: run the "
            "specification again, which runs only these"
        )
    raise typer.Exit(code)


def _export(results: Results, file: Path, form: Format) -> Path:
    from surefoot.experiments.export import to_csv, to_netcdf, to_parquet

    write, suffix = {
        Format.csv: (to_csv, ".csv"),
        Format.parquet: (to_parquet, ".parquet"),
        Format.netcdf: (to_netcdf, ".nc"),
    }[form]
    path = file.with_suffix(suffix)
    write(results, path)
    return path

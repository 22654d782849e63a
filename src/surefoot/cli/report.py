"""``surefoot report``: figures, page and exports from saved results."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli._exit import OK, PARTIAL, UsageError
from surefoot.cli._output import Json, argument, option, show, stage, warn
from surefoot.cli._results import make_report, row_as_data, rows_as_table, verdicts

if TYPE_CHECKING:
    from surefoot.experiments import Results


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
    pdf: Annotated[bool, typer.Option("--pdf", help="Also write each figure as PDF.")] = False,
    json: Json = False,
) -> None:
    """Make figures, page and exports from saved results.

    Nothing is run: the report shows what the results file has. Exports are written beside that
    file: results.csv has one row per trial; results.nc also has the paths over the rounds (open it
    with xarray).

    Examples:
      surefoot report out/limits
      surefoot report out/limits --pdf --export csv --export netcdf
    """
    from surefoot.experiments import Results, gather
    from surefoot.experiments.record import claims_of

    file = _find_file(folder)
    with Results.open(file) as results:
        with stage("reading the results"):
            claims, rows = claims_of(results), gather(results)
            planned = {place.address for place in results.places()}
            have = results.have().keys()
        if not rows:
            raise UsageError(f"'{file}' has no results yet: run the specification first")
        forms = list(dict.fromkeys(export or []))
        exports = [_export(results, file, form) for form in forms]
        page, figures = make_report(results, rows, pdf=pdf)
    damaged = {address: why for row in rows for address, why in row.damaged.items()}
    missing = len(planned - have - damaged.keys())
    # A damaged cell counts as failed.
    code = PARTIAL if any(row.status in ("failed", "set aside") for row in rows) else OK
    data = {
        "exit_code": code,
        "results": file,
        "report": page,
        "figures": figures,
        "exports": exports,
        "missing": missing,
        "damaged": damaged,
        "rows": [row_as_data(row) for row in rows],
    }
    lines = list(verdicts(claims) if claims else rows_as_table(rows))
    lines += ["", *(f"export   {path}" for path in exports)]
    show(json, data, [*lines, f"figures  {file.parent / 'figures'}", f"report   {page}"])
    _report_lost(damaged, missing, len(planned))
    raise typer.Exit(code)


def _report_lost(damaged: Mapping[str, str], missing: int, planned: int) -> None:
    """List on standard error the cells that are not in the report."""
    warn(*(f"surefoot: cell {address[:12]} is damaged: {why}" for address, why in damaged.items()))
    counts = {"damaged": len(damaged), "missing": missing}
    if words := " and ".join(f"{count} {word}" for word, count in counts.items() if count):
        advice = "run the specification again, which runs only these"
        warn(f"surefoot: {words} of {planned} cells: {advice}")


def _find_file(folder: Path) -> Path:
    """Return the results file of a folder."""
    from surefoot.experiments.record import FILE_NAME

    file = folder if folder.is_file() else folder / FILE_NAME
    if not file.is_file():
        what = f"has no {FILE_NAME}" if folder.is_dir() else "does not exist"
        raise UsageError(f"'{folder}' {what}: give the folder of a run, such as out/limits")
    return file


def _export(results: Results, file: Path, form: Format) -> Path:
    from surefoot.experiments import export

    path = file.with_suffix(".nc" if form is Format.netcdf else f".{form}")
    with stage(f"writing {form}"):
        export.write(results, path)
    return path

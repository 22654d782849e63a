"""The folder of a run, and its end: report, table, paths, how to continue an interrupted run."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli._exit import INTERRUPTED, OK, PARTIAL, UsageError
from surefoot.cli._output import duration, say, say_json, warn
from surefoot.cli._progress import stage
from surefoot.cli._summary import rows_as_data
from surefoot.core.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.experiments import Outcome
    from surefoot.experiments.rows import Row
    from surefoot.experiments.store import Results

__all__ = ["finish", "usable", "write_report"]


def usable(folder: Path) -> Path:
    """Return the folder if results can be written there; it need not exist yet."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder: give another one with --out")
    ground = folder
    while not os.path.lexists(ground):
        ground = ground.parent
    if not ground.is_dir():
        raise UsageError(
            f"'{folder}' cannot be created: '{ground}' is not a folder; give another one with --out"
        )
    if not os.access(ground, os.W_OK | os.X_OK):
        raise UsageError(
            f"'{ground}' cannot be written to: give another folder with --out, or get permission"
        )
    return folder


def write_report(results: Results, folder: Path, rows: Sequence[Row]) -> tuple[Path, list[Path]]:
    """Write figures and page of saved results, and return where they are."""
    from surefoot.experiments import report

    return report.write_report(results, folder, rows, pools=_pool)


def _pool(most: int) -> Executor:
    from surefoot.experiments.executors import cores

    return ProcessPoolExecutor(min(cores(), most), mp_context=get_context("spawn"))


def finish(
    outcome: Outcome,
    *,
    report: bool,
    json: bool,
    again: Sequence[str],
    shown: Callable[[Sequence[Row]], Iterable[str]],
    more: dict[str, Any],
) -> int:
    """Make the report and print the results of a run.

    Args:
        outcome: of the run.
        report: whether to make figures and page.
        json: whether to print JSON.
        again: the command that continues the run.
        shown: returns the lines to print.
        more: further keys of the JSON.

    Returns:
        The exit code.
    """
    from surefoot.experiments.record import FILE_NAME
    from surefoot.experiments.rows import gather
    from surefoot.experiments.store import Results

    folder = outcome.folder
    page: Path | None = None
    figures: list[Path] = []
    unmade = ""
    with Results.open(folder / FILE_NAME) as results:
        report = report and not outcome.interrupted
        rows = gather(results, paths="longest" if report else "none")
        if report and rows:
            try:
                with stage("making the figures and the page"):
                    page, figures = write_report(results, folder, rows)
            except (ImportError, OSError, SurefootError) as error:
                unmade = str(error)
    code = PARTIAL if outcome.failed or outcome.set_aside or unmade else OK
    if outcome.interrupted:
        code = INTERRUPTED
    if json:
        say_json(
            {
                **more,
                "exit_code": code,
                "folder": folder,
                "results": folder / FILE_NAME,
                "report": page,
                "figures": figures,
                "cells": outcome.cells,
                "done": outcome.done,
                "present": outcome.skipped,
                "refused": outcome.refused,
                "failed": outcome.failed,
                "set_aside": outcome.set_aside,
                "seconds": outcome.seconds,
                "interrupted": outcome.interrupted,
                "again": shlex.join(again) if outcome.interrupted else None,
                "notes": outcome.notes,
                "rows": rows_as_data(rows),
            }
        )
    else:
        say(*shown(rows), "", _counts(outcome, rows), f"results  {folder / FILE_NAME}")
        if page is not None:
            say(f"figures  {folder / 'figures'}", f"report   {page}")
    warn(*(f"surefoot: {note}" for note in outcome.notes))
    if unmade:
        warn(
            f"surefoot: no report: {unmade}",
            f"  when that is fixed: {shlex.join(['surefoot', 'report', str(folder)])}",
        )
    if outcome.interrupted:
        warn(
            "surefoot: interrupted; finished cells are saved. To continue:",
            f"  {shlex.join(again)}",
        )
    return code


def _counts(outcome: Outcome, rows: Sequence[Row]) -> str:
    counts = {
        "played": outcome.done,
        "in the file already": outcome.skipped,
        "refused": outcome.refused,
        "failed": outcome.failed,
        "set aside": outcome.set_aside,
    }
    cells = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    verdicts = Counter(row.verdict for row in rows if row.verdict)
    guarantees = ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    said = f"{outcome.cells} cells: {cells or 'none played'}; {duration(outcome.seconds)}"
    return f"{said}\nguarantees: {guarantees}" if guarantees else said

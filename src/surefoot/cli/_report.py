"""Write the report of a run, with the processes that draw it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefoot.experiments.workers import Workers
    from surefoot.results import Results, Row

__all__ = ["write_report"]


def write_report(results: Results, folder: Path, rows: Sequence[Row]) -> tuple[Path, list[Path]]:
    """Write figures and page of saved results, and return where they are."""
    from surefoot import reports

    return reports.write_report(results, folder, rows, pools=_pool)


def _pool(most: int) -> Workers:
    from surefoot.experiments.executors import cores, make_executor

    return make_executor(min(cores(), most))

"""The result of a comparison: rows, table, figure, traces, report and exports."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surefoot.core import checks
from surefoot.core.checks import finite_or_none
from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT, Style, Table, facts_html
from surefoot.core.errors import InvalidValueError
from surefoot.experiments.driver import Outcome
from surefoot.experiments.export import to_csv, to_netcdf, to_parquet, to_xarray
from surefoot.experiments.record import FILE_NAME
from surefoot.experiments.report import write_report
from surefoot.experiments.rows import Row, gather
from surefoot.experiments.store import Results
from surefoot.games import Trace
from surefoot.games.curves import Curve, draw

__all__ = ["Comparison"]


class Comparison:
    """What players did on the same streams; made by :func:`surefoot.compare`.

    Attributes:
        folder: where the results file is; ``surefoot report FOLDER`` makes its page.
        outcome: how many cells were played, were there, were refused or failed.
        rows: one per player and horizon, as in the results file.
    """

    def __init__(
        self,
        folder: Path,
        outcome: Outcome,
        replay: Callable[[str, int], Trace],
    ) -> None:
        self.folder = folder
        self.outcome = outcome
        self._replay = replay
        with Results.open(folder / FILE_NAME) as results:
            self.rows: list[Row] = gather(results, paths="longest")

    def __repr__(self) -> str:
        out = self.outcome
        players = len({row.algorithm for row in self.rows})
        horizons = sorted({row.horizon for row in self.rows})
        trials = max((row.trials for row in self.rows), default=0)
        problem = self.rows[0].problem if self.rows else ""
        left = ", interrupted: call again to go on" if out.interrupted else ""
        bad = f", {out.failed} failed" if out.failed else ""
        return (
            f"<Comparison of {players} players on {problem!r}: {trials} trials of "
            f"{' and '.join(f'{h:,}' for h in horizons)} rounds, {out.cells} cells{bad}{left}; "
            "print its table>"
        )

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:].partition(";")[0], (), self.table())

    def __str__(self) -> str:
        return str(self.table())

    def table(self, style: Style | None = None) -> Any:
        """Return one row per player and horizon: regret, promise, rounds outside, verdict.

        Args:
            style: "markdown", "latex" (for booktabs), "text" or "html"; without one, an object
                that prints as text and that a notebook shows.
        """
        if style is not None:
            checks.one_of(("text", "markdown", "latex", "html"), style=style)
        ordered = sorted(self.rows, key=lambda row: (row.number, row.horizon))
        made = Table(RESULT_HEAD, [row.cells for row in ordered], RESULT_RIGHT)
        return made if style is None else made.as_(style)

    def plot(self, *, bounds: bool = True, path: Any = None) -> Any:
        """Draw all players at their longest horizon; see :func:`surefoot.plot`."""
        longest = {row.algorithm: row for row in sorted(self.rows, key=lambda row: row.horizon)}
        curves = {label: _curve(row) for label, row in longest.items() if row.played}
        if not curves:
            raise InvalidValueError("a figure must have something that was played, got nothing")
        return draw(curves, bounds=bounds, path=path)

    @cached_property
    def traces(self) -> dict[str, Trace]:
        """The games by label, at the longest horizon, of the first 30 trials.

        A results file has totals and paths; the rest is played again when it is first wanted,
        with the same random numbers.
        """
        horizons = {row.algorithm: row.horizon for row in sorted(self.rows, key=_by_horizon)}
        return {label: self._replay(label, horizon) for label, horizon in horizons.items()}

    def export(self, form: Literal["csv", "parquet", "netcdf"] = "csv") -> Path:
        """Write the results beside their file, one row per trial (netCDF: also the paths)."""
        checks.one_of(("csv", "parquet", "netcdf"), form=form)
        suffix = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}[form]
        write: dict[str, Callable[..., Any]] = {
            "csv": to_csv,
            "parquet": to_parquet,
            "netcdf": to_netcdf,
        }
        path = (self.folder / FILE_NAME).with_suffix(suffix)
        with Results.open(self.folder / FILE_NAME) as results:
            write[form](results, path)
        return path

    def report(self) -> Path:
        """Make the figures and the page, and return where the page is."""
        with Results.open(self.folder / FILE_NAME) as results:
            return write_report(results, self.folder, self.rows)[0]

    def to_xarray(self) -> Any:
        """Return all results as an xarray dataset."""
        with Results.open(self.folder / FILE_NAME) as results:
            return to_xarray(results)


def _by_horizon(row: Row) -> int:
    return row.horizon


def _curve(row: Row) -> Curve:
    """Return what a figure draws of a row that kept its paths."""
    arrays = row.arrays
    word = "regret" if "regret_path" in arrays else "summed cost"
    bound = arrays.get("bound_path")
    return Curve(
        word,
        arrays["rounds"],
        arrays["regret_path" if word == "regret" else "cost_sum"],
        arrays["constraint"],
        arrays["peak"],
        bound if bound is not None and np.isfinite(bound).all() else None,
        arrays["regret"],
        None if row.regret_bound is None else finite_or_none(row.regret_bound),
        int(arrays["count"].sum()),
    )

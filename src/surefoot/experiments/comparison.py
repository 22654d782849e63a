"""The result of a comparison: rows, table, figure, rates, traces; saved as a results file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core import checks
from surefoot.core.checks import finite_or_none
from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT, Style, Table, facts_html
from surefoot.core.errors import InvalidValueError
from surefoot.experiments.driver import Outcome
from surefoot.experiments.export import to_xarray, write
from surefoot.experiments.record import FILE_NAME, CellResult, Place, time_now
from surefoot.experiments.rows import Row, arrange, notes_of
from surefoot.experiments.store import Results
from surefoot.games import Trace
from surefoot.games.curves import Curve, draw

if TYPE_CHECKING:
    from surefoot.experiments.rates import Fit


class Comparison:
    """What players did on the same streams; made by :func:`surefoot.compare`.

    Attributes:
        outcome: how many cells were played, were refused or failed.
        rows: one per player and horizon, as in a results file.
    """

    def __init__(
        self,
        places: Sequence[Place],
        cells: Mapping[str, CellResult],
        header: Mapping[str, Any],
        outcome: Outcome,
        replay: Callable[[str, int], Trace],
    ) -> None:
        self._places = places
        self._cells = cells
        self._header = header
        self._replay = replay
        self.outcome = outcome
        self.rows: list[Row] = arrange(places, self.cells())

    def __repr__(self) -> str:
        players = len({row.algorithm for row in self.rows})
        horizons = sorted({row.horizon for row in self.rows})
        trials = max((row.trials for row in self.rows), default=0)
        failed = self.outcome.failed
        bad = f", {failed} cell{'s' * (failed > 1)} failed" if failed else ""
        left = ", interrupted" if self.outcome.interrupted else ""
        return (
            f"<Comparison of {players} players on {self._places[0].problem!r}: {trials} trials of "
            f"{' and '.join(f'{h:,}' for h in horizons)} rounds{bad}{left}>"
        )

    def _repr_html_(self) -> str:
        return facts_html(repr(self)[1:-1], (), self.table())

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *notes_of(self.rows)])

    def table(self, style: Style | None = None) -> Any:
        """Return one row per player and horizon: regret, promise, rounds outside, verdict.

        ``print(found)`` also gives the reasons of those that were not played.

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
        longest = {row.algorithm: row for row in sorted(self.rows, key=_by_horizon)}
        curves = {label: _curve(row) for label, row in longest.items() if row.played}
        if not curves:
            raise InvalidValueError("a figure must have something that was played, got nothing")
        return draw(curves, bounds=bounds, path=path)

    def rates(self) -> list[Fit]:
        """Return the exponent of the regret in the horizon, with its interval, of each player."""
        from surefoot.experiments.rates import fit_rates

        return fit_rates(self.rows)

    @cached_property
    def traces(self) -> dict[str, Trace]:
        """The games by label, at the longest horizon, of the first 30 trials.

        Totals and paths are kept; the rest is played again when it is first wanted, with the same
        random numbers.
        """
        horizons = {row.algorithm: row.horizon for row in sorted(self.rows, key=_by_horizon)}
        return {label: self._replay(label, horizon) for label, horizon in horizons.items()}

    def save(self, path: str | Path) -> Path:
        """Write an ordinary results file, which ``surefoot report`` reads; return where it is.

        Args:
            path: of a folder, made if it is not there; or of the file, if it ends in .sqlite.
        """
        file = Path(path) if Path(path).suffix == ".sqlite" else Path(path) / FILE_NAME
        file.parent.mkdir(parents=True, exist_ok=True)
        with Results.write(file) as results:
            now = time_now()
            results.set_header(**self._header, created=now, updated=now)
            results.set_plan(self._places)
            for cell in self._cells.values():
                results.put(cell)
        return file

    def report(self, folder: str | Path) -> Path:
        """Save to a folder, make the figures and the page, and return where the page is."""
        from surefoot.experiments.report import write_report

        file = self.save(folder)
        with Results.open(file) as results:
            return write_report(results, file.parent, self.rows)[0]

    def export(self, path: str | Path) -> Path:
        """Write a table with one row per trial (.csv, .parquet), or all arrays (.nc)."""
        write(self, Path(path))
        return Path(path)

    def to_xarray(self) -> Any:
        """Return all results as an xarray dataset."""
        return to_xarray(self)

    def header(self) -> dict[str, Any]:
        """Return what was compared, as plain data."""
        return dict(self._header)

    def cells(self) -> Iterator[tuple[Place, CellResult]]:
        """Yield the cells that were played, in order."""
        for place in self._places:
            if place.address in self._cells:
                yield place, self._cells[place.address]


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

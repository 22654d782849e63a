"""Choose which rows a figure shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.experiments.rows import Row
from surefoot.experiments.rows import algorithms as labels_of
from surefoot.experiments.rows import problems as problems_of
from surefoot.reports.figures._sheet import text_of, trials_of

__all__ = ["MOST", "NothingToDraw", "Selection", "chosen", "last_of"]

MOST = 8
"""Algorithms in a figure unless they are named: more curves than colours cannot be told apart."""


class NothingToDraw(SurefootError, ValueError):  # noqa: N818 - no mistake of the caller: data that is not there
    """The rows have nothing that a figure could show."""


class Selection(NamedTuple):
    """The rows of a problem that a figure shows, by algorithm, horizons ascending."""

    problem: str
    groups: dict[str, list[Row]]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for group in self.groups.values() for row in group]

    @property
    def title(self) -> str:
        """The problem, and what points and bars stand for."""
        return f"{text_of(self.problem)}, {trials_of(self.rows)}"


def chosen(
    rows: Sequence[Row],
    problem: str | None,
    algorithms: Sequence[str] | None,
    usable: Callable[[Row], bool],
    what: str,
    most: int = MOST,
) -> Selection:
    """Return the rows of a problem that a figure can use; an algorithm without any is left out.

    Args:
        rows: all there are.
        problem: label; the first one unless given.
        algorithms: labels, in the order of the legend; the first of the plan unless given.
        usable: whether a row that was played has what the figure needs.
        what: what the figure needs, in words.
        most: how many algorithms are taken unless they are named.
    """
    if not rows:
        raise NothingToDraw("there are no rows")
    problem = rows[0].problem if problem is None else problem
    if problem not in problems_of(rows):
        raise InvalidValueError(f"problem must be one of {problems_of(rows)}, got {problem!r}")
    known = labels_of(rows)
    for label in algorithms or ():
        if label not in known:
            raise InvalidValueError(f"algorithms must be among {known}, got {label!r}")
    groups: dict[str, list[Row]] = {label: [] for label in algorithms or known}
    for row in sorted(rows, key=lambda r: r.horizon):
        if row.problem == problem and row.algorithm in groups and row.played and usable(row):
            groups[row.algorithm].append(row)
    full = [(label, group) for label, group in groups.items() if group]
    if not full:
        raise NothingToDraw(f"no row of {problem!r} has {what}")
    return Selection(problem, dict(full if algorithms else full[:most]))


def last_of(groups: Mapping[str, list[Row]], horizon: int | None) -> dict[str, Row]:
    """Return one row per algorithm: at the horizon, else the longest shared, else its own."""
    if horizon is None:
        shared = set.intersection(*({r.horizon for r in group} for group in groups.values()))
        horizon = max(shared, default=None)
    picked = {
        label: next(r for r in reversed(group) if horizon in (None, r.horizon))
        for label, group in groups.items()
        if horizon is None or any(r.horizon == horizon for r in group)
    }
    if not picked:
        raise NothingToDraw(f"no row at the horizon {horizon}")
    return picked

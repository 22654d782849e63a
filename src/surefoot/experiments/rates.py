"""Fit the exponent of the regret in the horizon to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surefoot.experiments.rows import Row, mean_std
from surefoot.games.rates import Rate, fit_rate

__all__ = ["Fit", "fit_rates"]


class Fit(NamedTuple):
    """The rate at which an algorithm's regret grows on a problem, or why there is none.

    Attributes:
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizons: the horizons that were fitted.
        rate: slope, its 95 % interval and scale; None where nothing could be fitted.
        reason: why there is no rate, or what it was fitted to; one sentence without a full stop.
    """

    problem: str
    algorithm: str
    horizons: tuple[int, ...]
    rate: Rate | None
    reason: str


def fit_rates(rows: Sequence[Row], name: str = "regret") -> list[Fit]:
    """Return the exponent of the regret in the horizon for each problem and algorithm.

    Trials are fitted one by one where every regret is positive, which gives the interval of the
    mean slope; else their mean is fitted. Where the mean has no logarithm either, or fewer than
    three horizons were played, there is a reason instead of a rate.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.played and name in row.arrays:
            grouped.setdefault((row.problem, row.algorithm), []).append(row)
    return [_fit(*key, group, name) for key, group in grouped.items()]


def _fit(problem: str, algorithm: str, rows: list[Row], name: str) -> Fit:
    rows = sorted(rows, key=lambda row: row.horizon)
    horizons = tuple(row.horizon for row in rows)
    if len(set(horizons)) < 3:
        reason = f"a rate needs three horizons, there are {len(set(horizons))}"
        return Fit(problem, algorithm, horizons, None, reason)
    # Trial i of every horizon meets the same stream, so trials can be followed across horizons.
    common = min(row.trials for row in rows)
    trials = np.array([row.arrays[name][:common] for row in rows], dtype=np.float64)
    if (trials > 0).all():
        return Fit(problem, algorithm, horizons, fit_rate(horizons, trials), f"{common} trials")
    means = np.array([mean_std(row, name)[0] for row in rows])
    if (means > 0).all():
        reason = f"mean of the trials: the smallest {name} of a trial is {trials.min():.3g}"
        return Fit(problem, algorithm, horizons, fit_rate(horizons, means), reason)
    reason = f"no logarithm: the smallest mean {name} is {means.min():.3g}"
    return Fit(problem, algorithm, horizons, None, reason)

"""The data of the page's charts, one entry per problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.experiments.rows import Row, algorithms, mean_std, problems
from surefoot.reports.rates import Fit, fit_rates
from surefoot.reports.style import look_of

__all__ = ["MEASURES", "SHOWN", "chart_data", "on_dark"]

MEASURES = {
    "hard": "Σ[g]₊: what was violated, summed over the rounds",
    "soft": "[Σg]₊: violations, with slack of other rounds counted against them",
    "squared": "Σ[g]₊²: violations squared",
    "worst": "max g: the worst round of the worst trial",
    "count": "rounds with g > 0: how many there were",
    "sum_g": "Σg: with sign",
}
"""The measures of violation to choose from, the one shown first in front."""

SHOWN = 8
"""So many algorithms are drawn at first: as many as there are colours."""

# Points a curve may have. Finer than a screen resolves; extremes are kept whatever this is.
_POINTS = 400
# Digits of a path, of which a screen resolves three.
_PATH = 4

# The light of the page's dark ground, #14171b, from 0 to 1.
_DARK_GROUND = 0.0086


def chart_data(rows: Sequence[Row]) -> dict[str, Any]:
    """Return all that the figures need, with numbers rounded to what a screen shows."""
    fits = {(f.problem, f.algorithm): f for f in fit_rates(rows)}
    labels = algorithms(rows)
    numbers = {row.algorithm: row.number for row in rows}
    return {
        "shown": SHOWN,
        "measures": [list(item) for item in MEASURES.items()],
        "looks": [_look(numbers[label]) for label in labels],
        "names": labels,
        "problems": [
            _problem(name, [r for r in rows if r.problem == name and r.played], labels, fits)
            for name in problems(rows)
        ],
    }


def on_dark(colour: str) -> str:
    """Return the colour for a dark background: itself if visible there, else a lighter shade.

    >>> on_dark("#E69F00"), on_dark("#000000")
    ('#E69F00', '#D9D9D9')
    """
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    light = sum(w * _linear(part) for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    if (light + 0.05) / (_DARK_GROUND + 0.05) >= 3:  # what the W3C asks of graphics
        return colour
    share = 0.85 if light < 0.01 else 0.4
    return "#" + "".join(f"{round(part + share * (255 - part)):02X}" for part in parts)


def _linear(part: int) -> float:
    """Return the linear light of a colour channel, from 0 to 1."""
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _look(number: int) -> dict[str, str]:
    look = look_of(number)
    return {
        "light": look.colour,
        "dark": on_dark(look.colour),
        "symbol": look.symbol,
        "dash": look.dash,
    }


def _problem(
    name: str, rows: Sequence[Row], labels: list[str], fits: dict[tuple[str, str], Fit]
) -> dict[str, Any]:
    curves = []
    for number, label in enumerate(labels):
        own = sorted((r for r in rows if r.algorithm == label), key=lambda r: r.horizon)
        if own:
            curves.append({"i": number, **_curve(own), **_rate(fits.get((name, label)))})
    with_set = [r for r in rows if "boundary" in r.arrays and "best" in r.arrays]
    plane = {}
    if with_set:
        arrays = with_set[0].arrays
        plane = {"boundary": _listed(arrays["boundary"]), "best": _listed(arrays["best"][0])}
    return {"name": name, "curves": curves, **plane}


def _curve(rows: Sequence[Row]) -> dict[str, Any]:
    """Return one algorithm on one problem: numbers by horizon, and the paths of the longest."""
    regret = [mean_std(row, "regret") for row in rows]
    curve: dict[str, Any] = {
        "T": [row.horizon for row in rows],
        "trials": [row.trials for row in rows],
        "regret": _listed([mean for mean, _ in regret]),
        "std": _listed([std for _, std in regret]),
        "bound": _listed([row.regret_bound for row in rows]),
        "claimed": [row.claims for row in rows],
        "violation": {
            name: _violation(name, rows)
            for name in MEASURES
            if all(name in row.arrays for row in rows)
        },
    }
    with_paths = [row for row in rows if "constraint" in row.arrays]
    if with_paths:
        curve["path"] = _path(with_paths[-1])
    with_actions = [row for row in rows if "boundary" in row.arrays and "actions" in row.arrays]
    if with_actions:
        curve["plane"] = _plane(with_actions[-1])
    return curve


def _violation(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    if name == "worst":  # a mean of worst cases would hide the worst
        value = [float(np.max(row.arrays[name])) for row in rows]
        std: list[Any] = [None] * len(rows)
        bound = [row.bound("round") for row in rows]
    else:
        pairs = [mean_std(row, name) for row in rows]
        value, std = [mean for mean, _ in pairs], [spread for _, spread in pairs]
        bound = [row.bound(name) for row in rows]
    return {"y": _listed(value), "std": _listed(std), "bound": _listed(bound)}


def _path(row: Row) -> dict[str, Any]:
    """Return the constraint by round: mean, and the band between smallest and largest."""
    arrays = row.arrays
    g, rounds = arrays["constraint"], arrays["rounds"]
    peak = np.maximum(arrays.get("peak", g), g)
    starts = _starts(len(rounds))
    ends = np.append(starts[1:], len(rounds)) - 1
    path = {
        "T": row.horizon,
        "t": [int(t) for t in rounds[ends]],
        "mean": _listed(g[ends].mean(axis=1), _PATH),
        "low": _listed(np.minimum.reduceat(g.min(axis=1), starts), _PATH),
        "high": _listed(np.maximum.reduceat(peak.max(axis=1), starts), _PATH),
    }
    if "regret_path" in arrays:
        regret = arrays["regret_path"][ends]
        path["regret"] = _listed(regret.mean(axis=1), _PATH)
        path["spread"] = _listed(regret.std(axis=1), _PATH)
        if "bound_path" in arrays:
            path["bound"] = _listed(arrays["bound_path"][ends], _PATH)
    return path


def _plane(row: Row) -> dict[str, Any]:
    """Return the actions of the first trial, which has the same stream for every algorithm."""
    actions = row.arrays["actions"][:, 0]
    kept = _starts(len(actions))
    return {
        "T": row.horizon,
        "t": [int(t) for t in row.arrays["rounds"][kept]],
        "x": _listed(actions[kept, 0], _PATH),
        "y": _listed(actions[kept, 1], _PATH),
    }


def _rate(fit: Fit | None) -> dict[str, Any]:
    if fit is None or fit.rate is None:
        return {}
    slope, low, high, scale = (float(part) for part in fit.rate)
    return {"rate": _listed([slope, low, high, scale])}


def _starts(n: int) -> np.ndarray:
    """Return where the bins begin into which n points are merged; one each if they are few."""
    return np.unique(np.linspace(0, n, min(n, _POINTS), endpoint=False).astype(int))


def _listed(values: Any, digits: int = 6) -> Any:
    """Return nested lists of rounded numbers; None for a number that is not finite."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [_listed(value, digits) for value in values]
    if values is None or not math.isfinite(values):
        return None
    return float(f"{float(values):.{digits}g}")

"""Check the algorithm rows of a specification beyond the keys and types of their table.

The checks work on plain data, as a constructor receives it, and skip values of the wrong type:
the tables report those.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import fields
from typing import Any

from surefoot.core.constants import Constants
from surefoot.core.player import takes
from surefoot.core.types import needs_of
from surefoot.experiments._mistakes import YOUR_OWN, KeyPath, Mistake, shown, unknown
from surefoot.experiments.players import (
    ALGORITHMS_BY_NAME,
    Wanted,
    constructor_of,
    options_of,
    parameters_of,
    plain_values,
    tunings_of,
)
from surefoot.sets import Ball, Simplex

__all__ = ["mistakes_in_row"]


def mistakes_in_row(row: dict[str, Any], path: KeyPath, horizons: list[int]) -> list[Mistake]:
    """Return the mistakes of a row: names, parameters, options, base and constants.

    Args:
        row: plain data.
        path: where the row is.
        horizons: at which its amounts are tried.
    """
    return _row(row, path, horizons) + _constants(row, path)


def _row(row: dict[str, Any], path: KeyPath, horizons: list[int]) -> list[Mistake]:
    """Return the mistakes of a row of algorithms, or of the base of one."""
    name = row.get("name")
    if not isinstance(name, str):
        return []
    rule = ALGORITHMS_BY_NAME.get(name)
    if rule is None:
        return [Mistake((*path, "name"), unknown("algorithm", name, ALGORITHMS_BY_NAME, YOUR_OWN))]
    tuned, given = row.get("tuning") is not None, row.get("parameters") is not None
    names = ", ".join(parameters_of(rule))
    if tuned and given:
        return [Mistake((*path, "parameters"), "stand beside a tuning: keep one of the two")]
    if not tuned and not given:
        if any(difflib.get_close_matches(str(k), ("tuning", "parameters")) for k in row):
            return []  # mistyped, which is told as an unknown key
        words = f"needs a tuning ({', '.join(tunings_of(rule))}) or parameters ({names})"
        return [Mistake(path, words)]
    found: list[Mistake] = []
    base = row.get("base")
    if isinstance(base, dict):
        found += _row(base, (*path, "base"), horizons)
    if tuned:
        return found + _tuned(rule, row, path, horizons, sound=not found)
    if row.get("options"):
        found.append(Mistake((*path, "options"), "belong to a tuning, and there is none"))
    has_base = "base" in {f.name for f in fields(rule)}
    if has_base and base is None:
        found.append(Mistake(path, f"{name} needs a base: an algorithm inside it"))
    if not has_base and base is not None:
        found.append(Mistake((*path, "base"), f"{name} has no algorithm inside it"))
    parameters = row["parameters"]
    if not isinstance(parameters, dict):
        return found
    here = (*path, "parameters")
    wrong = _values(parameters, parameters_of(rule), here, f"parameter of {name}")
    found += wrong
    return found + ([] if found else _constructed(row, path, horizons))


def _tuned(
    rule: type[Any], row: dict[str, Any], path: KeyPath, horizons: list[int], sound: bool
) -> list[Mistake]:
    tuning, options, base = row["tuning"], row.get("options", {}), row.get("base")
    if not isinstance(tuning, str):
        return []
    if tuning not in tunings_of(rule):
        words = unknown(f"tuning of {rule.__name__}", tuning, tunings_of(rule))
        return [Mistake((*path, "tuning"), words)]
    found: list[Mistake] = []
    if base is not None and not takes(getattr(rule, tuning), "base"):
        found.append(Mistake((*path, "base"), f"{rule.__name__}.{tuning} chooses its own"))
    elif isinstance(base, dict) and base.get("tuning") is None and base.get("parameters"):
        words = f"needs a tuning, not parameters: {rule.__name__}.{tuning} rests on its guarantee"
        found.append(Mistake((*path, "base", "parameters"), words))
    if isinstance(options, dict):
        owner = f"option of {rule.__name__}.{tuning}"
        found += _values(options, options_of(rule, tuning), (*path, "options"), owner)
        if options and sound and not found:
            found += _refused_options(row, path, horizons)
    return found


def _values(
    given: dict[str, Any], wanted: dict[str, Wanted], path: KeyPath, owner: str
) -> list[Mistake]:
    """Return unknown names, missing ones, and values of the wrong form."""
    found = []
    for name, value in given.items():
        if name == "domain":
            found.append(Mistake((*path, name), "is put in from the problem"))
        elif name == "base":
            found.append(Mistake((*path, name), "stands beside the parameters, not among them"))
        elif name not in wanted:
            found.append(Mistake((*path, name), unknown(owner, name, wanted)))
        elif words := _misfit(value, wanted[name].form):
            found.append(Mistake((*path, name), f"must be {words}, got {shown(value)}"))
    missing = [n for n, w in wanted.items() if w.default is ... and n not in given]
    if missing:
        words = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        found.append(Mistake(path, words))
    return found


def _misfit(value: Any, form: str) -> str:
    """Return what it should have been; empty if it is that, or if its table tells."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if form == "switch":
        return "" if isinstance(value, bool) else "true or false"
    if form == "word":
        return "" if isinstance(value, str) else "text in quotes"
    if form == "whole":
        return "" if number and value == value // 1 and value >= 1 else "a whole number >= 1"
    return "" if number or isinstance(value, dict) else "a number or an amount"


def _constructed(row: dict[str, Any], path: KeyPath, horizons: list[int]) -> list[Mistake]:
    """Return what a constructor refuses on a set that stands for the problem's."""
    for horizon in horizons:
        try:
            _dummy(row, horizon)
        except (ValueError, TypeError, ArithmeticError) as error:
            return [_by(error, row["parameters"], path, "parameters")]
    return []


def _by(error: Exception, given: dict[str, Any], path: KeyPath, table: str) -> Mistake:
    """Return a refusal as a mistake at the value that it speaks of."""
    first, _, rest = str(error).partition(" ")
    if first in given:
        return Mistake((*path, table, first), rest)
    if first == "base":
        return Mistake((*path, "base"), rest)
    return Mistake((*path, table), str(error))


def _place(rule: type[Any]) -> Ball | Simplex:
    return Simplex(2) if needs_of(rule).domain == "simplex" else Ball(1.0)


def _dummy(row: dict[str, Any], horizon: int) -> Any:
    """Return a row's algorithm on a set that stands for the problem's."""
    rule = ALGORITHMS_BY_NAME[row["name"]]
    place: Any = _place(rule)
    if row.get("tuning") is not None:
        # Whether a theorem applies is for the problem to say; any algorithm of the class will do.
        return _some_tuned(row, horizon, place)
    settled: dict[str, Any] = {}
    for f in fields(rule):
        if f.name == "domain":
            settled["domain"] = place
        elif f.name == "base":
            settled["base"] = _dummy(row["base"], horizon)
        elif f.name == "rows":
            settled["rows"] = 2
    return rule(**settled | plain_values(row["parameters"], parameters_of(rule), horizon))


_GENEROUS = (1.0, 1e3)
"""Scales of the made-up constants that options are tried with."""


def _made_up(scale: float) -> Constants:
    return Constants(
        R=scale,
        G_f=3.0,
        G_g=1.0,
        sigma=0.5,
        epsilon=0.25 * scale,
        start_slack=0.5 * scale,
        start_reach=2 * scale,
        F=6.0 * scale,
        D_g=2.0 * scale,
        rows=2,
        strong_convexity=1.0,
    )


def _some_tuned(row: dict[str, Any], horizon: int, place: Any) -> Any:
    long = max(horizon, 10**8)
    return constructor_of(row, horizon)(_made_up(1.0), long, place).algorithm


def _refused_options(row: dict[str, Any], path: KeyPath, horizons: list[int]) -> list[Mistake]:
    """Return options that are refused in the same words whatever the constants are."""
    place = _place(ALGORITHMS_BY_NAME[row["name"]])
    for horizon in horizons:
        said = []
        for scale in _GENEROUS:
            try:
                constructor_of(row, horizon)(_made_up(scale), horizon, place)
                said.append("")
            except (ValueError, TypeError, ArithmeticError) as error:
                said.append(str(error))
        first = said[0].partition(" ")[0]
        if len(set(said)) == 1 and first in row["options"]:
            return [_by(ValueError(said[0]), row["options"], path, "options")]
    return []


def _constants(row: dict[str, Any], path: KeyPath) -> list[Mistake]:
    given = row.get("constants")
    if not isinstance(given, dict) or not given:
        return []
    if row.get("parameters") is not None and not _has_tuning(row.get("base")):
        return [Mistake((*path, "constants"), "are for a theorem, and parameters need none")]
    found = []
    names = Constants.names()
    for name, value in given.items():
        here: KeyPath = (*path, "constants", name)
        if name not in names:
            found.append(Mistake(here, unknown("constant", name, names)))
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        elif name != "start_slack" and not value > 0 and math.isfinite(value):
            found.append(Mistake(here, f"must be more than 0, got {shown(value)}"))
    sigma, G_g = given.get("sigma"), given.get("G_g")
    if isinstance(sigma, float) and isinstance(G_g, float) and sigma > G_g:
        words = f"must be at most G_g = {G_g:g}, got {sigma!r}"
        found.append(Mistake((*path, "constants", "sigma"), words))
    return found


def _has_tuning(base: Any) -> bool:
    if not isinstance(base, dict):
        return False
    return base.get("tuning") is not None or _has_tuning(base.get("base"))

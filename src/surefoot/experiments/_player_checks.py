"""Check the algorithm rows of a specification beyond the keys and types of their table.

The checks work on plain data, as a constructor receives it, and skip values of the wrong type:
the tables report those.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from typing import Any

from surefoot.core.algorithm import constructors_of
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Parameter, parameters_of
from surefoot.experiments._mistakes import YOUR_OWN, KeyPath, Mistake, shown, unknown
from surefoot.experiments.players import (
    ALGORITHMS_BY_NAME,
    build_player,
    plain_parameters_of,
    plain_values,
)
from surefoot.problems import Problem, paper_toy

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
    if tuned and given:
        return [Mistake((*path, "parameters"), "stand beside a tuning: keep one of the two")]
    if not tuned and not given:
        if any(difflib.get_close_matches(str(k), ("tuning", "parameters")) for k in row):
            return []  # mistyped, which is told as an unknown key
        tunings, names = ", ".join(constructors_of(rule)), ", ".join(plain_parameters_of(rule))
        return [Mistake(path, f"needs a tuning ({tunings}) or parameters ({names})")]
    base = row.get("base")
    found = _row(base, (*path, "base"), horizons) if isinstance(base, dict) else []
    if tuned:
        return found + _tuned(rule, row, path, horizons)
    if row.get("options"):
        found.append(Mistake((*path, "options"), "belong to a tuning, and there is none"))
    has_base = "base" in parameters_of(rule)
    if has_base and base is None:
        found.append(Mistake(path, f"{name} needs a base: an algorithm inside it"))
    if not has_base and base is not None:
        found.append(Mistake((*path, "base"), f"{name} has no algorithm inside it"))
    parameters, wanted = row["parameters"], plain_parameters_of(rule)
    if not isinstance(parameters, dict):
        return found
    here = (*path, "parameters")
    found += _values(parameters, wanted, here, f"parameter of {name}", horizons)
    return found or _refused(row, path, horizons)


def _tuned(
    rule: type[Any], row: dict[str, Any], path: KeyPath, horizons: list[int]
) -> list[Mistake]:
    tuning, options, base = row["tuning"], row.get("options", {}), row.get("base")
    if not isinstance(tuning, str):
        return []
    if tuning not in constructors_of(rule):
        words = unknown(f"tuning of {rule.__name__}", tuning, constructors_of(rule))
        return [Mistake((*path, "tuning"), words)]
    make, owner = getattr(rule, tuning), f"{rule.__name__}.{tuning}"
    found: list[Mistake] = []
    if base is not None and "base" not in inspect.signature(make).parameters:
        found.append(Mistake((*path, "base"), f"{owner} chooses its own"))
    elif isinstance(base, dict) and base.get("tuning") is None and base.get("parameters"):
        words = f"needs a tuning, not parameters: {owner} rests on its guarantee"
        found.append(Mistake((*path, "base", "parameters"), words))
    if isinstance(options, dict):
        here = (*path, "options")
        found += _values(options, parameters_of(make), here, f"option of {owner}", horizons)
    return found


def _values(
    given: dict[str, Any],
    wanted: dict[str, Parameter],
    path: KeyPath,
    owner: str,
    horizons: list[int],
) -> list[Mistake]:
    """Return unknown names, missing ones, and values that break their declarations."""
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
        elif words := _broken_rule(name, value, wanted, horizons):
            found.append(Mistake((*path, name), words))
    missing = [n for n, parameter in wanted.items() if parameter.is_required and n not in given]
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
    return "" if number or form == "any" or isinstance(value, dict) else "a number or an amount"


def _broken_rule(name: str, value: Any, wanted: dict[str, Parameter], horizons: list[int]) -> str:
    """Return which rule of its declaration a value breaks at one of the horizons; empty if none."""
    for horizon in horizons:
        try:
            wanted[name].check(plain_values({name: value}, wanted, horizon)[name])
        except (InvalidValueError, TypeError, ArithmeticError) as error:
            return str(error).removeprefix(f"{name} ")
    return ""


@functools.cache
def _some_problem() -> Problem:
    return paper_toy(horizon=1, trials=1)


def _refused(row: dict[str, Any], path: KeyPath, horizons: list[int]) -> list[Mistake]:
    """Return what a constructor says of its parameters together, or of its base."""
    for horizon in horizons:
        try:
            build_player(row, _some_problem(), horizon)
        except (ValueError, TypeError, ArithmeticError) as error:
            first, _, rest = str(error).partition(" ")
            if first in row["parameters"]:
                return [Mistake((*path, "parameters", first), rest)]
            if first == "base":
                return [Mistake((*path, "base"), rest)]
    return []


def _constants(row: dict[str, Any], path: KeyPath) -> list[Mistake]:
    given = row.get("constants")
    if not isinstance(given, dict) or not given:
        return []
    if row.get("parameters") is not None and not _has_tuning(row.get("base")):
        return [Mistake((*path, "constants"), "are for a theorem, and parameters need none")]
    known = parameters_of(Constants)
    wanted = {name: known[name]._replace(default=None) for name in Constants.names()}
    # The table tells of what is no finite number.
    told = {n: v for n, v in given.items() if n in wanted and not _is_finite(v)}
    numbers = {n: v for n, v in given.items() if n not in told}
    found = _values(numbers, wanted, (*path, "constants"), "constant", [1])
    sigma, G_g = given.get("sigma"), given.get("G_g")
    if isinstance(sigma, float) and isinstance(G_g, float) and sigma > G_g:
        words = f"must be at most G_g = {G_g:g}, got {sigma!r}"
        found.append(Mistake((*path, "constants", "sigma"), words))
    return found


def _is_finite(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _has_tuning(base: Any) -> bool:
    if not isinstance(base, dict):
        return False
    return base.get("tuning") is not None or _has_tuning(base.get("base"))

"""The keys of ``[limit.NAME]``, and constants with their origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, cast

from surefoot.problems.plant.actuator_keys import LONGEST_NODE, per_minute, read_unit
from surefoot.problems.plant.description import (
    ConstantOrigin,
    LimitDescription,
    PlantConstant,
    RiseDescription,
)
from surefoot.problems.plant.tables import Sign, Table, some_of

__all__ = ["Units", "read_limit"]

Units: TypeAlias = Mapping[str, str] | None
"""The units of actuators or contexts by name; None where names are wrong."""
_KNOWN_BY = ("steepness", "curvature", "unknown")
_LIMIT = (
    "unit",
    "at_most",
    "at_least",
    "meter_error",
    "start_margin",
    *_KNOWN_BY,
    "convex",
    "rise",
    "changes",
    "node",
)


def read_limit(table: Table, units: Mapping[str, Units]) -> LimitDescription | None:
    """Return a limit; None if it has mistakes, which are in the table.

    Args:
        table: of its keys.
        units: of actuators and of contexts.
    """
    table.check_keys(_LIMIT)
    unit = read_unit(table)
    bound = _read_bound(table, unit)
    table.require("meter_error", "a reading is off by at most this")
    error = _read_constant(table, "meter_error", unit, " >= 0")
    table.require("start_margin", "at the start the value is at least this far inside")
    margin = _read_constant(table, "start_margin", unit, " > 0")
    _check_margin(table, unit, bound, error, margin)
    is_convex = table.flag("convex")
    changes = _read_constant(table, "changes", per_minute(unit), " >= 0")
    _check_kind(table)
    actuators = units["actuator"]
    steepness = _read_per_actuator(table, "steepness", unit, actuators)
    curvature = _read_per_actuator(table, "curvature", unit, actuators)
    violations = _read_violations(table)
    rise = _read_rise(table, unit, units["context"])
    node = table.text("node", LONGEST_NODE)
    if not unit or bound is None or error is None or margin is None:
        return None
    return LimitDescription(
        name=str(table.path[-1]),
        unit=unit,
        bound=bound,
        sense="at_most" if table.has("at_most") else "at_least",
        meter_error=error,
        start_margin=margin,
        steepness=steepness,
        curvature=curvature,
        violations=violations,
        is_convex=is_convex is not False,
        rise=rise,
        changes=changes,
        node=node,
    )


def _read_bound(table: Table, unit: str) -> float | None:
    keys = [key for key in ("at_most", "at_least") if table.has(key)]
    if len(keys) == 2:
        table.say("must have at_most or at_least, got both")
    if not keys and not table.meant & {"at_most", "at_least"}:
        table.say("must have at_most or at_least")
    bounds = [table.number(key, unit) for key in keys]
    return bounds[0] if len(bounds) == 1 else None


def _check_margin(
    table: Table,
    unit: str,
    bound: float | None,
    error: PlantConstant | None,
    margin: PlantConstant | None,
) -> None:
    """Add a margin that the first reading could not show."""
    if error is None or margin is None:
        return
    twice = 2 * error.value
    if not margin.value > twice:
        table.mistakes.add(
            (*table.path, "start_margin"),
            f"must exceed 2 x meter_error = {twice:.6g} {unit}, got {margin.value:.12g}: the first "
            "reading could not show it",
        )
    elif bound is not None and not margin.value - twice > 2.0**-38 * (abs(bound) + margin.value):
        table.mistakes.add(
            (*table.path, "start_margin"),
            f"must exceed 2 x meter_error by 2**-38 of the limit's size {abs(bound):.6g} {unit}, "
            f"got {margin.value:.12g}: rounding could hide it",
        )


def _check_kind(table: Table) -> None:
    """Add what is wrong with the one thing that is known of a limit."""
    kinds = [key for key in _KNOWN_BY if table.has(key)]
    if not kinds and not table.meant & set(_KNOWN_BY):
        table.say("must have steepness, curvature or unknown")
    if len(kinds) > 1:
        table.say(f"must have one of {_list(_KNOWN_BY)}, got {_list(kinds)}")


def _list(words: Iterable[str]) -> str:
    *first, last = some_of(words)
    return f"{', '.join(first)} and {last}" if first else last


def _read_per_actuator(
    table: Table, key: str, unit: str, units: Units
) -> dict[str, PlantConstant] | None:
    """Return a constant for every actuator."""
    if units is None:
        return None
    example = f"{{ {next(iter(units), 'NAME')} = 0.1 }}"
    inner = table.table(key, example)
    if inner is None:
        return None
    inner.check_keys(units, "the actuators are")
    _require_all(inner, units, "0 if the limit does not depend on it")
    square = "²" if key == "curvature" else ""
    constants = {
        name: _read_constant(inner, name, _per(unit, f"{other}{square}"), " >= 0")
        for name, other in units.items()
    }
    return {name: constant for name, constant in constants.items() if constant is not None}


def _require_all(table: Table, names: Iterable[str], what: str) -> None:
    missing = [name for name in names if not table.has(name) and name not in table.meant]
    if missing:
        table.say(f"must have {_list(missing)} ({what})")


def _per(unit: str, other: str) -> str:
    return f"{unit} per {other}" if unit and other else unit


def _read_violations(table: Table) -> int | None:
    inner = table.table("unknown", "{ violations = 3 }")
    if inner is None:
        return None
    inner.check_keys(("violations",))
    inner.require("violations", "how many measured rounds may violate")
    return inner.whole("violations", 1, 1_000_000)


def _read_rise(table: Table, unit: str, contexts: Units) -> dict[str, RiseDescription]:
    """Return how a limit moves with every context."""
    if contexts is None:
        return {}
    if not table.has("rise"):
        if contexts and table.has("steepness"):
            table.require("rise", f"what each of {_list(contexts)} adds, 0 for nothing")
        return {}
    inner = table.table("rise", f"{{ {next(iter(contexts), 'NAME')} = 0.1 }}")
    if inner is None:
        return {}
    if not contexts:
        table.say("has rise, and the file has no context", "rise")
        return {}
    inner.check_keys(contexts, "the contexts are")
    _require_all(inner, contexts, "0 if it does not matter")
    rises = {n: _read_one_rise(inner, n, _per(unit, other)) for n, other in contexts.items()}
    return {name: rise for name, rise in rises.items() if rise is not None}


def _read_one_rise(table: Table, name: str, unit: str) -> RiseDescription | None:
    value = table.values.get(name)
    if not isinstance(value, Mapping) or not {"adds", "per", "worse"} & set(value):
        if isinstance(value, Mapping) and not set(value) <= {"value", "origin", "why"}:
            inner = Table((*table.path, name), value, table.mistakes)
            inner.check_keys(("per", "worse", "adds", "value", "origin", "why"))
            return None
        constant = _read_constant(table, name, unit, " >= 0")
        return None if constant is None else RiseDescription(constant)
    inner = Table((*table.path, name), value, table.mistakes)
    if inner.has("adds"):
        inner.check_keys(("adds",), "beside adds it may have no other than")
        adds = inner.number("adds", unit)
        return None if adds is None else RiseDescription(adds=adds)
    inner.check_keys(("per", "worse"), "beside per and worse it may have no other than")
    inner.require("per", "by at most so much")
    per = _read_constant(inner, "per", unit, " >= 0")
    worse = inner.choice("worse", "up", "down")
    return RiseDescription(per, worse=cast("Literal['up', 'down'] | None", worse))


def _read_constant(table: Table, key: str, unit: str, sign: Sign) -> PlantConstant | None:
    """Return the constant of a key: a number, or a table with its origin."""
    if not isinstance(table.values.get(key), Mapping):
        number = table.number(key, unit, sign)
        return None if number is None else PlantConstant(number)
    inner = table.table(key)
    assert inner is not None
    inner.check_keys(("value", "origin", "why"))
    inner.require("value")
    value = inner.number("value", unit, sign)
    origin = inner.choice("origin", "proved", "given", "estimated") or "given"
    why = inner.text("why", 500) if inner.values.get("why") != "" else ""
    if value is None:
        return None
    return PlantConstant(value, cast("ConstantOrigin", origin), why or "")

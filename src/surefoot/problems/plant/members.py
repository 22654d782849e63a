"""Members of a fleet in a file: the plant's tables, with a member's values in their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from surefoot.problems.plant.tables import Table

__all__ = ["merge_member"]

_Tables: TypeAlias = dict[str, dict[str, Any]]
_BY_NAME = ("steepness", "curvature", "rise")
"""Tables of a limit in which a member replaces single entries."""


def merge_member(top: Table, member: Table) -> _Tables:
    """Return the tables of a member: those of the file, with its own values in their places.

    Args:
        top: the file.
        member: what the member has by itself; mistakes are added to it.
    """
    member.check_keys(("start", "actuator", "context", "limit"))
    tables = {kind: _copy(top.values.get(kind)) for kind in ("actuator", "context", "limit")}
    for kind, base in tables.items():
        own = member.table(kind, f"{{ {next(iter(base), 'NAME')} = {{ ... }} }}")
        if own is None:
            continue
        own.check_keys(base, f"the {kind}s are")
        for name in base:
            inner = own.table(name)
            if inner is not None:
                base[name] = _merge(base[name], inner)
    _merge_starts(member, tables["actuator"])
    return tables


def _copy(tables: object) -> dict[str, Any]:
    """Return the tables of one kind; what is wrong with them is said where the plant is read."""
    if not isinstance(tables, Mapping):
        return {}
    return {str(n): dict(t) if isinstance(t, Mapping) else t for n, t in tables.items()}


def _merge(base: Any, own: Table) -> Any:
    """Return a table with the values of another one in their places."""
    if not isinstance(base, Mapping):
        return base
    merged = dict(base)
    for key, value in own.values.items():
        if key == "unit" and value != base.get("unit"):
            own.mistakes.add((*own.path, "unit"), "must be that of the file: members share units")
            continue
        before = base.get(key)
        merged[key] = value
        if key in _BY_NAME and isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = {**before, **value}
    return merged


def _merge_starts(member: Table, actuators: dict[str, Any]) -> None:
    """Put starts that are given by the names of actuators in their places."""
    starts = member.table("start", f"{{ {next(iter(actuators), 'NAME')} = 0 }}")
    if starts is None:
        return
    starts.check_keys(actuators, "the actuators are")
    for name in actuators:
        if not starts.has(name) or not isinstance(actuators[name], Mapping):
            continue
        own = member.values.get("actuator")
        mine = own.get(name) if isinstance(own, Mapping) else None
        if isinstance(mine, Mapping) and "start" in mine:
            starts.say(f"has {name}, and actuator.{name}.start is given, too", name)
        actuators[name]["start"] = starts.values[name]

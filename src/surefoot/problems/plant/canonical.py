"""A plant as plain data, one way for each plant: for journals, and to name what differs.

The data are the tables of a plant file, with three differences: actuators, contexts and limits are
lists, because their order is that of an action's entries, with the name in each; a constant always
is a table; and ``round`` is a number of minutes. Name, journal, service and nodes are left out,
because no action depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from surefoot.core.errors import InvalidValueError
from surefoot.core.plain import Data, PlainTable
from surefoot.problems.plant.description import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    RiseDescription,
    ServiceDescription,
)
from surefoot.problems.plant.grammar import KINDS, VERSION, read_plant_table
from surefoot.problems.plant.tables import Mistakes, PlantFileError, Table

__all__ = ["check_description", "difference_of", "plant_data", "plant_from_data", "take_rest"]

Difference: TypeAlias = tuple[str, Data, Data]
"""A path, the value of before and that of after; None where there is none."""


# --- there ----------------------------------------------------------------------------------------


def plant_data(plant: PlantDescription) -> PlainTable:
    """Return a plant as plain data: keys in their order, floats as they are.

    Args:
        plant: the description.
    """
    members = {name: _parts_of(plant.members[name]) for name in sorted(plant.members)}
    data = {
        "surefoot": VERSION,
        "round": plant.round_minutes,
        "role": plant.role,
        "slopes": plant.has_slopes,
        **_parts_of(plant),
        "policy": {
            "on_contradiction": plant.policy.on_contradiction,
            "recoveries": plant.policy.recoveries,
            "on_missing": plant.policy.on_missing,
        },
    }
    return _sort_table(data | ({"member": members} if members else {}))


def _sort_table(table: PlainTable) -> PlainTable:
    """Return a table with its keys in order, and none whose value is None."""
    return {key: _sort(table[key]) for key in sorted(table) if table[key] is not None}


def _sort(value: Data) -> Data:
    if isinstance(value, dict):
        return _sort_table(value)
    return [_sort(part) for part in value] if isinstance(value, list) else value


def _parts_of(plant: PlantDescription) -> PlainTable:
    """Return actuators, contexts and limits: what a member may have by itself."""
    parts: PlainTable = {"actuator": [_actuator_data(each) for each in plant.actuators]}
    if plant.contexts:
        parts["context"] = [_context_data(each) for each in plant.contexts]
    return parts | {"limit": [_limit_data(each) for each in plant.limits]}


def _actuator_data(actuator: ActuatorDescription) -> PlainTable:
    return {
        "name": actuator.name,
        "unit": actuator.unit,
        "range": [actuator.low, actuator.high],
        "start": actuator.start,
        "ramp": actuator.ramp,
        "step": actuator.step,
        "off": 0.0 if actuator.can_be_off else None,
    }


def _context_data(context: ContextDescription) -> PlainTable:
    return {
        "name": context.name,
        "unit": context.unit,
        "range": [context.low, context.high],
        "changes": context.changes,
    }


def _limit_data(limit: LimitDescription) -> PlainTable:
    return {
        "name": limit.name,
        "unit": limit.unit,
        limit.sense: limit.bound,
        "meter_error": _constant_data(limit.meter_error),
        "start_margin": _constant_data(limit.start_margin),
        "steepness": _constants_data(limit.steepness),
        "curvature": _constants_data(limit.curvature),
        "unknown": None if limit.violations is None else {"violations": limit.violations},
        "convex": None if limit.is_convex else False,
        "rise": {name: _rise_data(rise) for name, rise in limit.rise.items()} or None,
        "changes": None if limit.changes is None else _constant_data(limit.changes),
    }


def _constants_data(constants: Mapping[str, PlantConstant] | None) -> PlainTable | None:
    return None if constants is None else {n: _constant_data(c) for n, c in constants.items()}


def _constant_data(constant: PlantConstant) -> PlainTable:
    return {
        "value": constant.value,
        "origin": constant.origin,
        "why": constant.why or None,
    }


def _rise_data(rise: RiseDescription) -> PlainTable:
    if rise.per is None:
        return {"adds": rise.adds}
    return {"per": _constant_data(rise.per), "worse": rise.worse}


# --- and back -------------------------------------------------------------------------------------


def plant_from_data(data: Data, name: str = "") -> PlantDescription:
    """Return the plant that plain data describe, with the checks of a file.

    Args:
        data: as :func:`plant_data` returns them; nothing is assumed of them.
        name: of the plant.

    Raises:
        PlantFileError: with all mistakes.
    """
    mistakes = Mistakes()
    plant = None
    if isinstance(data, Mapping):
        values = _by_names(data, (), mistakes)
        members = values.get("member")
        if isinstance(members, Mapping):
            values["member"] = {
                str(member): _by_names(parts, ("member", str(member)), mistakes)
                for member, parts in members.items()
            }
        plant = read_plant_table(Table((), values, mistakes), name, is_merged=True)
    else:
        mistakes.add((), "must be a table")
    if plant is None or mistakes.found:
        raise PlantFileError(mistakes.sentences("plant"))
    return plant


def check_description(plant: PlantDescription) -> None:
    """Raise for a description that no file could say, such as one that a program made wrong.

    Args:
        plant: the description.

    Raises:
        PlantFileError: with all mistakes.
        InvalidValueError: for members of another role, policy or round than that of their plant.
    """
    if plant_from_data(plant_data(plant)) != _bare(plant):
        raise InvalidValueError(
            f"plant must be a description that a file could say, got {plant.name!r}: members share "
            "role, round and policy"
        )


def _bare(plant: PlantDescription) -> PlantDescription:
    """Return a plant without what is no part of its data."""
    members = {name: _bare(member) for name, member in plant.members.items()}
    plant = replace(plant, name="", journal=None, service=ServiceDescription(), members=members)
    return _at_nodes(plant, {})


def take_rest(plant: PlantDescription, file: PlantDescription) -> PlantDescription:
    """Return a plant from plain data, with what its file has besides.

    Args:
        plant: from data.
        file: from the file: name, journal, service and nodes are those of it.
    """
    nodes = {part.name: part.node for part in file.actuators}
    nodes |= {part.name: part.node for part in file.contexts}
    nodes |= {part.name: part.node for part in file.limits}
    plant = replace(plant, name=file.name, journal=file.journal, service=file.service)
    return _at_nodes(plant, nodes)


def _at_nodes(plant: PlantDescription, nodes: Mapping[str, str | None]) -> PlantDescription:
    """Return a plant whose parts are at the nodes of their names, and at none without one."""
    return replace(
        plant,
        actuators=tuple(replace(part, node=nodes.get(part.name)) for part in plant.actuators),
        contexts=tuple(replace(part, node=nodes.get(part.name)) for part in plant.contexts),
        limits=tuple(replace(part, node=nodes.get(part.name)) for part in plant.limits),
    )


def _by_names(data: Any, path: tuple[str, ...], mistakes: Mistakes) -> Any:
    """Return tables whose actuators, contexts and limits are tables by name, as in a file."""
    if not isinstance(data, Mapping):
        return data
    values = dict(data)
    for kind in KINDS:
        if kind not in values:
            continue
        rows = values[kind]
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            mistakes.add((*path, kind), "must be a list of tables")
            values[kind] = {}
            continue
        values[kind] = {}
        for row in rows:
            row_name = row.get("name")
            if not isinstance(row_name, str) or row_name in values[kind]:
                mistakes.add((*path, kind), "must have a name in each table, none twice")
                continue
            values[kind][row_name] = {key: row[key] for key in row if key != "name"}
    return values


# --- what differs ---------------------------------------------------------------------------------


def difference_of(old: PlantDescription, new: PlantDescription) -> list[Difference]:
    """Return what differs between two plants, with the paths of a plant file.

    Args:
        old: the plant of before.
        new: the plant of after.

    Returns:
        A path, the old and the new value of each difference, in the order of paths. A constant
        whose number alone differs has the path of its key, and an actuator that is new has None as
        its old value.
    """
    found = _differences("", plant_data(old), plant_data(new))
    return sorted(found, key=lambda difference: difference[0])


def _differences(path: str, old: Data, new: Data) -> Sequence[Difference]:
    if old == new:
        return []
    if not (isinstance(old, dict) and isinstance(new, dict)):
        before, after = _rows_of(old), _rows_of(new)
        if before is None or after is None:
            return [(path.removesuffix(".value"), old, new)]
        ours, theirs = ([n for n in rows if n in before and n in after] for rows in (before, after))
        order = [] if ours == theirs else [(path, list(before), list(after))]
        return [*order, *_differences(path, before, after)]
    found: list[Difference] = []
    for key in [*old, *(key for key in new if key not in old)]:
        found += _differences(f"{path}.{key}".removeprefix("."), old.get(key), new.get(key))
    return found


def _rows_of(value: Data) -> dict[str, PlainTable] | None:
    """Return a list of tables by their names, an empty one for None; None for anything else."""
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        return None
    return {row["name"]: row for row in value}

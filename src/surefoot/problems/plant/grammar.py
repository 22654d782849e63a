"""What a plant file may say: from tables to a description, with all mistakes at once.

The tables come from a file (:func:`read_plant`) or from a journal
(:func:`surefoot.problems.plant.canonical.plant_from_data`); both are checked here, by the same
lines. What must fit together is in :mod:`surefoot.problems.plant.consistency`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from surefoot.core.toml import (
    KeyPath,
    TomlError,
    find_lines,
    parse_toml,
    path_text,
    read_toml_text,
)
from surefoot.problems.plant.actuator_keys import is_unit, read_actuator, read_context
from surefoot.problems.plant.consistency import check_parts, check_plant, check_same_names
from surefoot.problems.plant.description import (
    PlantDescription,
    PolicyDescription,
)
from surefoot.problems.plant.limit_keys import read_limit
from surefoot.problems.plant.members import merge_member
from surefoot.problems.plant.parts import Parts
from surefoot.problems.plant.service_keys import read_service
from surefoot.problems.plant.tables import Mistakes, PlantFileError, Table

__all__ = ["parse_plant", "read_plant", "read_plant_table"]

VERSION = 1
KINDS = ("actuator", "context", "limit")
ROUND = ("0.001 s", "31 d")
"""The shortest and the longest round."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TOP = (
    "surefoot",
    "name",
    "round",
    "journal",
    "role",
    "slopes",
    *KINDS,
    "policy",
    "service",
    "member",
)


# --- files ----------------------------------------------------------------------------------------


def read_plant(path: str | Path) -> PlantDescription:
    """Return the plant that a file describes.

    Args:
        path: of a TOML file.

    Raises:
        PlantFileError: it cannot be read, is not TOML, or has mistakes: all of them, with lines.
    """
    path = Path(path)
    name = path.name or str(path)
    try:
        text = read_toml_text(path)
    except TomlError as error:
        raise _file_error(error, name) from error
    return parse_plant(text, name)


def parse_plant(text: str, name: str = "plant.toml") -> PlantDescription:
    r"""Return the plant that a text describes.

    Args:
        text: TOML.
        name: of its file, for sentences; without its end it is the plant's name unless it has one.

    Raises:
        PlantFileError: it is not TOML, or has mistakes.

    Example:
        >>> parse_plant("surefoot = 1\nround = '1 min'\nrole = 'lerner'")
        Traceback (most recent call last):
        surefoot.problems.plant.tables.PlantFileError: plant.toml: must have actuator (a table
            [actuator.NAME] for each)
        plant.toml: must have limit (a table [limit.NAME] for each)
        plant.toml:3: role must be "filter" or "learner", got "lerner"
    """
    try:
        values = parse_toml(text)
    except TomlError as error:
        raise _file_error(error, name) from error
    mistakes = Mistakes()
    plant = read_plant_table(Table((), values, mistakes), Path(name).stem)
    if plant is None or mistakes.found:
        raise PlantFileError(mistakes.sentences(name, find_lines(text)))
    return plant


def _file_error(error: TomlError, name: str) -> PlantFileError:
    where = name if error.line is None else f"{name}:{error.line}"
    return PlantFileError([f"{where}: {error}"])


# --- a plant --------------------------------------------------------------------------------------


def read_plant_table(top: Table, name: str, *, is_merged: bool = False) -> PlantDescription | None:
    """Return the plant of a table; None if it has mistakes, which are in the table.

    Args:
        top: the table.
        name: of the plant, unless the table has one.
        is_merged: whether every member has all its values, and not only those that differ.
    """
    if not _is_of_this_version(top):
        return None
    top.check_keys(_TOP)
    name = top.text("name") or name
    minutes = _read_round(top, is_number=is_merged)
    role = top.choice("role", "filter", "learner") or "filter"
    has_slopes = bool(top.flag("slopes"))
    journal = top.text("journal", 200)
    tables = _read_tables(top)
    members = _read_members(top)
    frame = _Frame(minutes, has_slopes)
    parts = _read_parts(tables, top, frame)
    each: dict[str, Parts | None] = {}
    for member, table in members.items():
        each[member] = _read_member(top, table, frame, is_merged=is_merged)
        check_same_names(table, parts, each[member])
    everybody = [parts, *each.values()]
    policy = _read_policy(top.table("policy"), everybody)
    service = read_service(top.table("service"), minutes)
    for key in ("member", "service"):
        if top.has(key) and not (top.has("journal") or is_merged):
            top.say(f"must have journal, one file for all, where it has {key}", key)
    if top.mistakes.found or parts is None or minutes is None:
        return None
    plant = PlantDescription(
        name=name,
        round_minutes=minutes,
        journal=journal,
        role=cast("Literal['filter', 'learner']", role),
        has_slopes=has_slopes,
        policy=policy,
        service=service,
        actuators=parts.actuators,
        contexts=parts.contexts,
        limits=parts.limits,
    )
    plants = {member: replace(plant, **part._asdict()) for member, part in each.items() if part}
    for member, part in plants.items() or [("", plant)]:
        check_plant(top, part, member)
    return replace(plant, members=plants)


class _Frame(NamedTuple):
    """What all parts of a plant share.

    Attributes:
        minutes: the length of a round; None if it is wrong.
        has_slopes: whether every round reports the slopes of the limits.
    """

    minutes: float | None
    has_slopes: bool


def _is_of_this_version(top: Table) -> bool:
    """Return whether the file is of this version; what else it says is not read then."""
    if top.require("surefoot", f"{VERSION}, the version of this grammar"):
        value = top.values["surefoot"]
        if value == VERSION and isinstance(value, int) and not isinstance(value, bool):
            return True
        top.reject("surefoot", f"{VERSION}, the version of this grammar", exact=True)
    return not top.has("surefoot")


def _read_round(top: Table, *, is_number: bool) -> float | None:
    """Return the minutes of a round: a time in a file, a number in a journal."""
    if not top.require("round", 'such as "15 min"'):
        return None
    if is_number:
        return top.number("round", "min", " > 0")
    time = top.duration("round", *ROUND)
    return None if time is None else float(time / 60)


# --- names ----------------------------------------------------------------------------------------


def _read_tables(top: Table) -> dict[str, dict[str, Table]]:
    """Return the tables of actuators, contexts and limits, by kind and name."""
    return {kind: _read_named(top, kind) for kind in KINDS}


def _read_named(top: Table, kind: str) -> dict[str, Table]:
    """Return the tables of one kind, by name."""
    if kind in ("actuator", "limit") and not top.values.get(kind):
        if top.require(kind, f"a table [{kind}.NAME] for each"):
            top.reject(kind, f"tables [{kind}.NAME]")
        return {}
    parent = top.table(kind, f"[{kind}.NAME]")
    if parent is None:
        return {}
    tables = {}
    for name in parent.values:
        if not _NAME.fullmatch(str(name)):
            _reject_name(parent, str(name))
        elif (other := _find_name(top, name, kind)) is not None:
            text = f"must have another name: {path_text(other)} has it"
            top.mistakes.add((*parent.path, name), text)
        elif (table := parent.table(name)) is not None:
            tables[name] = table
    return tables


def _reject_name(parent: Table, name: str) -> None:
    short = name if len(name) <= 40 else f"{name[:40]}..."
    text = "must have a name of at most 32 small letters, digits and _, a letter first"
    parent.mistakes.add((*parent.path, name), text, (*parent.path, short))


def _find_name(top: Table, name: str, kind: str) -> KeyPath | None:
    """Return who has a name already, of the kinds before one."""
    kinds = (*KINDS, "member")
    for other in kinds[: kinds.index(kind)]:
        names = top.values.get(other)
        if isinstance(names, Mapping) and name in names:
            return (other, name)
    return None


# --- members --------------------------------------------------------------------------------------


def _read_members(top: Table) -> dict[str, Table]:
    """Return the tables of the members, by name."""
    if not top.has("member"):
        return {}
    members = _read_named(top, "member")
    if top.values["member"] == {}:
        top.reject("member", "tables [member.NAME]")
    return members


def _read_member(top: Table, table: Table, frame: _Frame, *, is_merged: bool) -> Parts | None:
    """Return the parts of a member: those of the plant, with its own values in their places."""
    own = Mistakes()
    values = table.values if is_merged else merge_member(top, table)
    merged = Table(table.path, values, own)
    if is_merged:
        merged.check_keys(KINDS)
    parts = _read_parts(_read_tables(merged), merged, frame)
    known = {(each.subject, each.text) for each in top.mistakes.found}
    length = len(table.path)
    for mistake in own.found:
        if (mistake.subject[length:], mistake.text) not in known:  # a mistake of the plant's own
            path, subject = (_place(table, each) for each in mistake[:2])
            top.mistakes.add(path, mistake.text, subject)
    return None if own.found else parts


def _place(member: Table, path: KeyPath) -> KeyPath:
    """Return where a member has a value: its start may be given by the actuator's name."""
    starts, rest = member.values.get("start"), path[len(member.path) :]
    is_start = len(rest) == 3 and (rest[0], rest[2]) == ("actuator", "start")
    if is_start and isinstance(starts, Mapping) and rest[1] in starts:
        return (*member.path, "start", rest[1])
    return path


# --- parts ----------------------------------------------------------------------------------------


def _read_parts(tables: dict[str, dict[str, Table]], top: Table, frame: _Frame) -> Parts | None:
    """Return actuators, contexts and limits; None if one of them has mistakes."""
    before = len(top.mistakes.found)
    actuators = {n: read_actuator(t, frame.minutes) for n, t in tables["actuator"].items()}
    contexts = {n: read_context(t) for n, t in tables["context"].items()}
    units = {kind: _units_of(tables[kind], top.values.get(kind)) for kind in KINDS[:2]}
    limits = {n: read_limit(t, units) for n, t in tables["limit"].items()}
    check_parts(tables, actuators, frame.minutes, has_slopes=frame.has_slopes)
    if len(top.mistakes.found) > before:
        return None
    return Parts(
        tuple(filter(None, actuators.values())),
        tuple(filter(None, contexts.values())),
        tuple(filter(None, limits.values())),
    )


def _units_of(tables: Mapping[str, Table], declared: object) -> dict[str, str] | None:
    """Return the units by name; None where names are wrong, so that nothing follows from them."""
    if isinstance(declared, Mapping) and len(declared) > len(tables):
        return None
    units = {name: table.values.get("unit") for name, table in tables.items()}
    return {n: u if isinstance(u, str) and is_unit(u) else "" for n, u in units.items()}


# --- policy ---------------------------------------------------------------------------------------


def _read_policy(table: Table | None, plants: Iterable[Parts | None]) -> PolicyDescription:
    if table is None:
        return PolicyDescription()
    table.check_keys(("on_contradiction", "recoveries", "on_missing"))
    words: dict[str, Any] = {
        "on_contradiction": table.choice(
            "on_contradiction", "retreat", "recover", "raise", "record"
        ),
        "recoveries": table.whole("recoveries", 0, 20),
        "on_missing": table.choice("on_missing", "hold", "retreat"),
    }
    moves = any(parts is not None and parts.moves for parts in plants)
    if words["on_contradiction"] == "recover" and moves and not table.has("on_missing"):
        words["on_missing"] = "retreat"
    return PolicyDescription(**{key: word for key, word in words.items() if word is not None})

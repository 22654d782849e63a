"""What a plant file says, as a journal has it: actuators, contexts, limits and their constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .exact import WrongError, number, vector
from .keys import need_keys, need_only

__all__ = [
    "FAR",
    "Actuator",
    "Constant",
    "Context",
    "Description",
    "Limit",
    "Rise",
    "find_differences",
    "read_count",
]

FAR = 1024.0
"""Readings are no further from their limit than this times its size and margin."""
_TOP = "surefoot round role slopes actuator limit policy"
_POLICY = "on_contradiction recoveries on_missing"
_ORIGINS = ("proved", "given", "estimated")
_MOST = 1000
"""How many parts a plant may have."""


class Constant(NamedTuple):
    """A constant of a limit.

    Attributes:
        path: of its key, from the limit on.
        value: as the file has it.
        unit: in words.
        origin: "proved", "given" or "estimated".
        why: where it is from.
    """

    path: str
    value: float
    unit: str
    origin: str
    why: str

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        return f"{self.path} {self.value!r} {self.unit} ({self.origin}{why})"


class Actuator(NamedTuple):
    """One entry of an action; ``low`` and ``high`` are the ends of its range."""

    name: str
    unit: str
    low: float
    high: float
    start: float
    ramp: float | None
    step: float
    can_be_off: bool

    def __str__(self) -> str:
        words = f"{self.name} from {self.low!r} to {self.high!r} {self.unit}"
        words += " or off" if self.can_be_off else ""
        words += f" in steps of {self.step!r}" if self.step else ""
        words += "" if self.ramp is None else f" by {self.ramp!r} per minute"
        return f"{words} starting at {self.start!r}"

    @property
    def width(self) -> float:
        """How far its set points are apart at most."""
        return self.high - (0.0 if self.can_be_off else self.low)

    def largest_step(self, minutes: float) -> float | None:
        """Return how far it may move in a round; None where its ramp allows the whole range."""
        if self.ramp is None or not self.ramp * minutes < self.width:
            return None
        return self.ramp * minutes


class Context(NamedTuple):
    """One number of a context; ``changes`` is per minute, None if unknown."""

    name: str
    unit: str
    low: float
    high: float
    changes: float | None

    def __str__(self) -> str:
        pace = "" if self.changes is None else f" by {self.changes!r} per minute"
        return f"{self.name} from {self.low!r} to {self.high!r} {self.unit}{pace}"


class Rise(NamedTuple):
    """How a limit's value moves with one context: by ``adds`` exactly, or by ``per`` at most."""

    adds: float | None
    per: Constant | None
    worse: str | None


class Limit(NamedTuple):
    """A limit; exactly one of ``steepness`` and ``curvature`` is there, unless it is unknown."""

    name: str
    unit: str
    bound: float
    is_most: bool
    meter_error: Constant
    start_margin: Constant
    steepness: list[Constant] | None
    curvature: list[Constant] | None
    is_unknown: bool
    is_convex: bool
    rise: list[Rise]
    changes: Constant | None

    @property
    def scale(self) -> float:
        """Its unit in the numbers of the player, s: a power of two."""
        return math.ldexp(1.0, math.frexp(self.start_margin.value)[1] - 1)

    @property
    def constants(self) -> Iterator[Constant]:
        """All of its constants."""
        yield from (self.meter_error, self.start_margin)
        yield from self.steepness or ()
        yield from self.curvature or ()
        yield from (rise.per for rise in self.rise if rise.per is not None)
        if self.changes is not None:
            yield self.changes

    def excess(self, reading: float) -> float:
        """Return g, as a player is told it, of a value that was read."""
        over = reading - self.bound if self.is_most else self.bound - reading
        if not abs(over) <= FAR * (abs(self.bound) + self.start_margin.value):
            raise WrongError(f"a reading of {self.name} is further from its limit than is believed")
        return over / self.scale


class Description:
    """What a plant file says.

    Args:
        table: as a journal has it.

    Attributes:
        minutes: the length of a round.
        policies: what happens after a contradiction, and in a round without a measurement.
        recoveries: how many there may be; 0 where the policy is another.
    """

    def __init__(self, table: Any) -> None:
        need_only(table, _TOP, "the description of a plant", "context")
        if table["surefoot"] != 1:
            raise WrongError("the description of a plant must be of version 1")
        self.table: dict[str, Any] = table
        self.minutes: float = _float(table["round"], "round", 0)
        self.actuators: list[Actuator] = [_read_actuator(row) for row in _rows(table, "actuator")]
        self.contexts: list[Context] = [_read_context(row) for row in _rows(table, "context")]
        names = (self.actuators, self.contexts)
        self.limits: list[Limit] = [_read_limit(row, *names) for row in _rows(table, "limit")]
        if not self.actuators or not self.limits:
            raise WrongError("a plant must have an actuator and a limit")
        policy = table["policy"]
        need_only(policy, _POLICY, "the policy of a plant")
        reaction, recoveries = policy["on_contradiction"], policy["recoveries"]
        is_recovering = reaction == "recover"
        self.recoveries: int = read_count(recoveries, "recoveries") if is_recovering else 0
        self.policies: dict[str, Any] = {
            "on_contradiction": "retreat" if is_recovering else reaction,
            "on_missing": policy["on_missing"],
        }

    @property
    def is_unknown(self) -> bool:
        """Whether no constant of a limit is known."""
        return any(limit.is_unknown for limit in self.limits)

    @property
    def estimates(self) -> list[str]:
        """The paths of the constants that are estimates."""
        each = ((limit, constant) for limit in self.limits for constant in limit.constants)
        return [f"{limit.name}.{c.path}" for limit, c in each if c.origin == "estimated"]

    @property
    def words(self) -> list[str]:
        """All numbers in engineering units, a sentence for each limit, and the estimates."""
        parts = [f"rounds of {self.minutes!r} min", *map(str, (*self.actuators, *self.contexts))]
        parts += [f"{name} {value}" for name, value in sorted(self.table["policy"].items())]
        said = [", ".join(parts)]
        for limit in self.limits:
            sense = "at most" if limit.is_most else "at least"
            parts = [f"{limit.name} is {sense} {limit.bound!r} {limit.unit}"]
            parts += map(str, limit.constants)
            for rise, context in zip(limit.rise, self.contexts, strict=False):
                if rise.adds is not None:
                    unit = f"{limit.unit} per {context.unit}"
                    parts.append(f"rise.{context.name} adds {rise.adds!r} {unit}")
            said.append(", ".join(parts))
        count = len(self.estimates)
        said.append(
            {0: "none is an estimate", 1: "1 is an estimate"}.get(count, f"{count} are estimates")
        )
        return said


# --- reading --------------------------------------------------------------------------------------


def _rows(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the tables of a list, each with a name of its own."""
    rows = table.get(name, [])
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise WrongError(f"{name} of a plant must be a list of at most {_MOST} tables")
    for row in rows:
        need_keys(row, "name unit", f"{name} of a plant")
        if not isinstance(row["name"], str) or not isinstance(row["unit"], str):
            raise WrongError(f"name and unit of {name} must be texts")
    if len({row["name"] for row in rows}) != len(rows):
        raise WrongError(f"a name of {name} must be there once")
    return rows


def _float(value: Any, name: str, smallest: float = -math.inf) -> float:
    return float(number(value, name, smallest))


def read_count(value: Any, name: str) -> int:
    """Return a whole number from 0."""
    if type(value) is not int or value < 0:
        raise WrongError(f"{name} must be a whole number from 0, got {value!r}"[:200])
    return value


def _range_of(row: dict[str, Any]) -> tuple[float, float]:
    """Return the ends of a range."""
    low, high = (float(part) for part in vector(row["range"], 2, "range"))
    if not low < high:
        raise WrongError("a range must have its least end first")
    return low, high


def _read_actuator(row: dict[str, Any]) -> Actuator:
    need_only(row, "name unit range start", "an actuator of a plant", "ramp step off")
    low, high = _range_of(row)
    ramp, step = (None if row.get(n) is None else _float(row[n], n, 0) for n in ("ramp", "step"))
    if row.get("off", 0) != 0:
        raise WrongError("an actuator that is off must be at 0")
    start = _float(row["start"], "start")
    if ramp == 0 or step == 0 or not (low <= start <= high or (start == 0 and "off" in row)):
        raise WrongError("an actuator has a ramp or a step of 0, or a start beyond its range")
    return Actuator(row["name"], row["unit"], low, high, start, ramp, step or 0.0, "off" in row)


def _read_context(row: dict[str, Any]) -> Context:
    need_only(row, "name unit range", "a context of a plant", "changes")
    changes = row.get("changes")
    changes = None if changes is None else _float(changes, "changes", 0)
    return Context(row["name"], row["unit"], *_range_of(row), changes)


def _read_constant(table: Any, path: str, unit: str) -> Constant:
    need_only(table, "value origin", "a constant of a plant", "why")
    why = table.get("why", "")
    if table["origin"] not in _ORIGINS or not isinstance(why, str):
        raise WrongError("a constant of a plant must be proved, given or estimated")
    return Constant(path, _float(table["value"], path, 0), unit, table["origin"], why)


def _read_limit(row: dict[str, Any], actuators: list[Actuator], contexts: list[Context]) -> Limit:
    needed = "name unit meter_error start_margin"
    optional = "at_most at_least steepness curvature unknown convex rise changes"
    need_only(row, needed, "a limit of a plant", optional)
    senses = [name for name in ("at_most", "at_least") if name in row]
    kinds = [name for name in ("steepness", "curvature", "unknown") if name in row]
    if len(senses) != 1 or len(kinds) != 1:
        raise WrongError("a limit must be at most or at least something, and be known by one thing")
    unit = row["unit"]
    names, others = [each.name for each in actuators], [each.name for each in contexts]
    slopes: dict[str, list[Constant] | None] = {}
    for key, power in (("steepness", ""), ("curvature", "^2")):
        if key not in row:
            slopes[key] = None
            continue
        need_only(row[key], " ".join(names), f"the {key} of a limit")
        slopes[key] = [
            _read_constant(row[key][a.name], f"{key}.{a.name}", f"{unit} per {a.unit}{power}")
            for a in actuators
        ]
    rises: list[Rise] = []
    if slopes["steepness"] is not None and contexts:
        need_keys(row, "rise", "a limit with contexts")
        need_only(row["rise"], " ".join(others), "the rise of a limit")
        rises = [_read_rise(row["rise"][c.name], c, unit) for c in contexts]
    elif "rise" in row or contexts:
        raise WrongError("a limit rises with a context, and certifies by no steepness or has none")
    margin = _read_constant(row["start_margin"], "start_margin", unit)
    if not margin.value > 0 or row.get("convex", False) is not False:
        raise WrongError("a margin of the start must be above 0, and convex be left out or false")
    changes = row.get("changes")
    return Limit(
        name=row["name"],
        unit=unit,
        bound=_float(row[senses[0]], senses[0]),
        is_most=senses[0] == "at_most",
        meter_error=_read_constant(row["meter_error"], "meter_error", unit),
        start_margin=margin,
        steepness=slopes["steepness"],
        curvature=slopes["curvature"],
        is_unknown="unknown" in row,
        is_convex="convex" not in row,
        rise=rises,
        changes=None
        if changes is None
        else _read_constant(changes, "changes", f"{unit} per minute"),
    )


def _read_rise(table: Any, context: Context, unit: str) -> Rise:
    need_keys(table, "", "the rise of a limit")
    if "adds" in table:
        need_only(table, "adds", "an exact rise")
        return Rise(_float(table["adds"], "adds"), None, None)
    need_only(table, "per", "the rise of a limit", "worse")
    worse = table.get("worse")
    if worse not in (None, "up", "down"):
        raise WrongError("worse must be up or down")
    per = _read_constant(table["per"], f"rise.{context.name}", f"{unit} per {context.unit}")
    return Rise(None, per, worse)


# --- what differs ---------------------------------------------------------------------------------


def find_differences(before: Description, after: Description) -> list[list[Any]]:
    """Return what differs between two plants: paths of the file with old and new values."""
    return list(_differences("", before.table, after.table))


def _differences(path: str, old: Any, new: Any) -> Iterator[list[Any]]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(f"{path}.{key}".lstrip("."), old.get(key), new.get(key))
        return
    before, after = _by_names(old), _by_names(new)
    if before is None or after is None:
        yield [path.removesuffix(".value"), old, new]
        return
    ours, theirs = ([n for n in rows if n in before and n in after] for rows in (before, after))
    if ours != theirs:
        yield [path, list(before), list(after)]
    yield from _differences(path, before, after)


def _by_names(value: Any) -> dict[str, Any] | None:
    """Return a list of tables by their names, an empty one for None; None for anything else."""
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        return None
    return {row["name"]: row for row in value}

"""The keys of ``[actuator.NAME]`` and ``[context.NAME]``."""

from __future__ import annotations

from surefoot.problems.plant.description import ActuatorDescription, ContextDescription
from surefoot.problems.plant.scaling import snap_to_step
from surefoot.problems.plant.tables import Mistakes, Table, as_number

__all__ = [
    "LONGEST_NODE",
    "is_unit",
    "per_minute",
    "read_actuator",
    "read_context",
    "read_unit",
]

LONGEST_UNIT = 20
LONGEST_NODE = 200


def is_unit(text: str) -> bool:
    """Return whether a text is a unit."""
    return len(text) <= LONGEST_UNIT and text.isprintable()


def read_unit(table: Table) -> str:
    """Return the unit, "" if it is missing or wrong."""
    table.require("unit", "printed, never converted")
    return table.text("unit", LONGEST_UNIT) or ""


def _read_range(table: Table, unit: str) -> tuple[float, float] | None:
    """Return the two ends of a range."""
    if not table.require("range", "[least, largest]"):
        return None
    ends = table.values["range"]
    rule = f"[least, largest]{f' in {unit}' if unit else ''}, the largest above the least"
    if isinstance(ends, list | tuple) and len(ends) == 2:
        inner = Table(table.path, {"range": ends[0], "end": ends[1]}, Mistakes())
        low, high = inner.number("range"), inner.number("end")
        if low is not None and high is not None and low < high:
            return low, high
    table.reject("range", rule)
    return None


def read_context(table: Table) -> ContextDescription | None:
    """Return a context; None if it has mistakes, which are in the table."""
    table.check_keys(("unit", "range", "changes", "node"))
    unit = read_unit(table)
    ends = _read_range(table, unit)
    changes = table.number("changes", per_minute(unit), " >= 0")
    node = table.text("node", LONGEST_NODE)
    if not unit or ends is None:
        return None
    return ContextDescription(str(table.path[-1]), unit, *ends, changes, node)


def per_minute(unit: str) -> str:
    """Return the unit of what changes in a minute."""
    return f"{unit} per minute" if unit else ""


def read_actuator(table: Table, minutes: float | None) -> ActuatorDescription | None:
    """Return an actuator; None if it has mistakes, which are in the table.

    Args:
        table: of its keys.
        minutes: the length of a round; None if it is wrong.
    """
    table.check_keys(("unit", "range", "start", "ramp", "step", "off", "node"))
    unit = read_unit(table)
    ends = _read_range(table, unit)
    off = _read_off(table, unit, ends)
    ramp = table.number("ramp", per_minute(unit), " > 0")
    step = _read_step(table, unit, ends)
    start = _read_start(table, unit, ends, step, can_be_off=off is not None)
    node = table.text("node", LONGEST_NODE)
    if ramp is not None and minutes is not None:
        _check_ramp(table, unit, ramp, minutes, step, None if off is None else ends)
    if not unit or ends is None or start is None:
        return None
    return ActuatorDescription(
        str(table.path[-1]), unit, *ends, start, ramp, step, can_be_off=off is not None, node=node
    )


def _read_off(table: Table, unit: str, ends: tuple[float, float] | None) -> float | None:
    """Return the value of a machine that is off: 0, below its range."""
    off = table.number("off", unit)
    if off is None or ends is None:
        return off
    low, high = ends
    if low <= off <= high:
        table.reject("off", f"outside its range {_range_text(ends, unit)}")
        return None
    if off != 0 or low < 0:
        table.reject("off", "0, below its range")
        return None
    return off


def _read_step(table: Table, unit: str, ends: tuple[float, float] | None) -> float | None:
    """Return the step, of which both ends of the range are whole multiples."""
    step = table.number("step", unit, " > 0")
    if step is None or ends is None:
        return step
    if not max(map(abs, ends)) <= 2.0**40 * step:
        table.reject("step", "at least 2**-40 of the ends of its range")
    elif not all(_is_multiple(end, step) for end in ends):
        rule = f"a part of both ends of its range {_range_text(ends, unit)}"
        table.reject("step", rule)
    else:
        return step
    return None


def _read_start(
    table: Table,
    unit: str,
    ends: tuple[float, float] | None,
    step: float | None,
    *,
    can_be_off: bool,
) -> float | None:
    """Return the safe set point; what is wrong with ``off`` is said there, and not again."""
    if not table.require("start", "the safe set point"):
        return None
    start = table.number("start", unit)
    if start is None or ends is None:
        return start
    if table.has("off") and start in (0.0, as_number(table.values["off"])):
        return start
    if not ends[0] <= start <= ends[1]:
        rule = f"in its range {_range_text(ends, unit)}"
        table.reject("start", f"0 or {rule}" if can_be_off else rule)
        return None
    if step is not None and not _is_multiple(start, step):
        table.reject("start", f"a whole multiple of its step {step:.12g} {unit}".rstrip())
        return None
    return start


def _is_multiple(number: float, step: float) -> bool:
    """Return whether a number is a whole multiple but for rounding, as 0.3 is of 0.1."""
    return snap_to_step(number, step) == round(number / step) * step


def _check_ramp(
    table: Table,
    unit: str,
    ramp: float,
    minutes: float,
    step: float | None,
    on: tuple[float, float] | None,
) -> None:
    """Add a ramp within which no other set point is."""
    per_round = ramp * minutes
    text = f"its ramp is {per_round:.6g} {unit} a round ({ramp:.6g} {unit} per minute)"
    if step is not None and per_round < step:
        table.say(f"could never move: {text}, its step {step:.6g} {unit}", "ramp")
    elif on is not None and per_round < on[0]:
        table.say(f"could never be switched: {text}, its range begins at {on[0]:.6g}", "ramp")


def _range_text(ends: tuple[float, float], unit: str) -> str:
    return f"{ends[0]:.12g} to {ends[1]:.12g} {unit}".rstrip()

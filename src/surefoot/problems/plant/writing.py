"""Plant files as a person would write them; what is written is read again as the same plant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.core.errors import InvalidValueError
from surefoot.core.toml import toml_text
from surefoot.problems.plant.description import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PolicyDescription,
    RiseDescription,
    ServiceDescription,
)
from surefoot.problems.plant.durations import duration_text, number_text
from surefoot.problems.plant.grammar import VERSION, parse_plant

__all__ = ["write_plant"]

WIDTH = 100
"""Tables in one line are no longer."""


def write_plant(plant: PlantDescription, path: str | Path | None = None) -> str:
    """Return a plant as the text of a plant file.

    Args:
        plant: the description.
        path: of a file that is written besides; None for none.

    Returns:
        The text. Without a name, what reads it takes that of the file.

    Raises:
        PlantFileError: the description has mistakes.
        InvalidValueError: a file cannot say it, such as a member without the ramp of its plant.
    """
    text = "\n".join(_blocks(plant)) + "\n"
    if replace(parse_plant(text), name=plant.name) != plant:
        raise InvalidValueError(
            f"plant must be one that a file can say, got {plant.name!r}: members share names, "
            "units, policy and service, and have every key of their plant"
        )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _blocks(plant: PlantDescription) -> Iterator[str]:
    """Yield the lines of a file."""
    yield from _top(plant)
    for actuator in plant.actuators:
        yield from _table(f"actuator.{actuator.name}", _actuator_pairs(actuator))
    for context in plant.contexts:
        yield from _table(f"context.{context.name}", _context_pairs(context))
    for limit in plant.limits:
        yield from _table(f"limit.{limit.name}", _limit_pairs(limit, plant))
    yield from _table("policy", _policy_pairs(plant))
    if plant.service != ServiceDescription():
        yield from _table("service", _service_pairs(plant.service))
    for name, member in plant.members.items():
        yield from _table(f"member.{name}", _member_pairs(plant, member))


def _top(plant: PlantDescription) -> Iterator[str]:
    yield f"surefoot = {VERSION}"
    if plant.name:
        yield f"name = {toml_text(plant.name)}"
    yield f"round = {toml_text(duration_text(plant.round_minutes))}"
    if plant.journal is not None:
        yield f"journal = {toml_text(plant.journal)}"
    yield f"role = {toml_text(plant.role)}"
    if plant.has_slopes:
        yield "slopes = true"


def _table(name: str, pairs: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"[{name}]"
    for key, text in pairs.items():
        yield f"{key} = {text}"


def _without_none(pairs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: text for key, text in pairs.items() if text is not None}


# --- tables ---------------------------------------------------------------------------------------


def _actuator_pairs(actuator: ActuatorDescription) -> dict[str, str]:
    pairs = {
        "unit": toml_text(actuator.unit),
        "range": f"[{number_text(actuator.low)}, {number_text(actuator.high)}]",
        "off": "0" if actuator.can_be_off else None,
        "start": number_text(actuator.start),
        "ramp": _number(actuator.ramp),
        "step": _number(actuator.step),
        "node": _text(actuator.node),
    }
    return _without_none(pairs)


def _number(number: float | None) -> str | None:
    return None if number is None else number_text(number)


def _text(text: str | None) -> str | None:
    return None if text is None else toml_text(text)


def _context_pairs(context: ContextDescription) -> dict[str, str]:
    pairs = {
        "unit": toml_text(context.unit),
        "range": f"[{number_text(context.low)}, {number_text(context.high)}]",
        "changes": _number(context.changes),
        "node": _text(context.node),
    }
    return _without_none(pairs)


def _limit_pairs(limit: LimitDescription, plant: PlantDescription) -> dict[str, str]:
    rises = {name: _rise_text(rise) for name, rise in limit.rise.items()}
    per_actuator = [f"{limit.unit} per {each.unit}" for each in plant.actuators]
    per_context = [f"{limit.unit} per {each.unit}" for each in plant.contexts]
    pairs: dict[str, str | None] = {
        "unit": toml_text(limit.unit),
        limit.sense: number_text(limit.bound),
        "meter_error": _constant_text(limit.meter_error),
        "start_margin": _constant_text(limit.start_margin),
    }
    squares = [f"{unit}²" for unit in per_actuator]
    for key, constants, units in (
        ("steepness", limit.steepness, per_actuator),
        ("curvature", limit.curvature, squares),
    ):
        if constants is not None:
            texts = {name: _constant_text(constant) for name, constant in constants.items()}
            pairs |= _inline(key, texts, units)
    if limit.violations is not None:
        pairs["unknown"] = f"{{ violations = {limit.violations} }}"
    pairs["convex"] = None if limit.is_convex else "false"
    if rises:
        pairs |= _inline("rise", rises, per_context)
    pairs["changes"] = None if limit.changes is None else _constant_text(limit.changes)
    pairs["node"] = _text(limit.node)
    return _without_none(pairs)


def _inline(key: str, texts: Mapping[str, str], units: list[str]) -> dict[str, str]:
    """Return a table in one line with its units, or a line for each entry if it were too long."""
    line = f"{{ {', '.join(f'{name} = {text}' for name, text in texts.items())} }}"
    if len(line) <= WIDTH:
        return {key: f"{line}  # {', '.join(dict.fromkeys(units))}"}
    return {
        f"{key}.{name}": f"{text}  # {unit}"
        for (name, text), unit in zip(texts.items(), units, strict=True)
    }


def _constant_text(constant: PlantConstant) -> str:
    number = number_text(constant.value)
    if constant.origin == "given" and not constant.why:
        return number
    words = [f"value = {number}", f"origin = {toml_text(constant.origin)}"]
    if constant.why:
        words.append(f"why = {toml_text(constant.why)}")
    return f"{{ {', '.join(words)} }}"


def _rise_text(rise: RiseDescription) -> str:
    if rise.per is None:
        return f"{{ adds = {number_text(rise.adds or 0.0)} }}"
    per = _constant_text(rise.per)
    return per if rise.worse is None else f"{{ per = {per}, worse = {toml_text(rise.worse)} }}"


def _policy_pairs(plant: PlantDescription) -> dict[str, str]:
    policy = plant.policy
    counts = (
        policy.on_contradiction == "recover" or policy.recoveries != PolicyDescription().recoveries
    )
    pairs = {
        "on_contradiction": toml_text(policy.on_contradiction),
        "recoveries": str(policy.recoveries) if counts else None,
        "on_missing": toml_text(policy.on_missing),
    }
    return _without_none(pairs)


def _service_pairs(service: ServiceDescription) -> dict[str, str]:
    pairs: dict[str, Any] = {
        "listen": service.listen,
        "metrics": service.metrics,
        "token_file": service.token_file,
        "deadline": None if service.deadline is None else duration_text(service.deadline),
        "heartbeat": duration_text(service.heartbeat, "s"),
        "rotate": service.rotate,
        "amend": True if service.can_amend else None,
    }
    return {key: toml_text(value) for key, value in pairs.items() if value is not None}


# --- members --------------------------------------------------------------------------------------


def _member_pairs(plant: PlantDescription, member: PlantDescription) -> dict[str, str]:
    """Return what a member has by itself, in one line for each value."""
    pairs: dict[str, str] = {}
    for ours, mine in zip(plant.actuators, member.actuators, strict=False):
        other = _new(_actuator_pairs(ours), _actuator_pairs(mine))
        pairs |= {f"actuator.{mine.name}.{key}": text for key, text in other.items()}
    for before, after in zip(plant.contexts, member.contexts, strict=False):
        other = _new(_context_pairs(before), _context_pairs(after))
        pairs |= {f"context.{after.name}.{key}": text for key, text in other.items()}
    for first, second in zip(plant.limits, member.limits, strict=False):
        other = _new(_limit_values(first), _limit_values(second))
        pairs |= {f"limit.{second.name}.{key}": text for key, text in other.items()}
    return pairs


def _new(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in after.items() if before.get(key) != text}


def _limit_values(limit: LimitDescription) -> dict[str, str]:
    """Return the values of a limit, a line for each constant."""
    pairs: dict[str, str | None] = {
        "unit": toml_text(limit.unit),
        limit.sense: number_text(limit.bound),
        "meter_error": _constant_text(limit.meter_error),
        "start_margin": _constant_text(limit.start_margin),
        "unknown": None if limit.violations is None else f"{{ violations = {limit.violations} }}",
        "convex": "true" if limit.is_convex else "false",
        "changes": None if limit.changes is None else _constant_text(limit.changes),
        "node": _text(limit.node),
    }
    for key, constants in (("steepness", limit.steepness), ("curvature", limit.curvature)):
        each = (constants or {}).items()
        pairs |= {f"{key}.{name}": _constant_text(constant) for name, constant in each}
    pairs |= {f"rise.{name}": _rise_text(rise) for name, rise in limit.rise.items()}
    return _without_none(pairs)

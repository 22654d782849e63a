"""What a plant's numbers mean before round 1, in lines that its engineer can judge.

The first step of an actuator is how far it may move alone in the first round; a constant in wrong
units shows there. With the margin m, G and a of :mod:`surefoot.problems.plant.scaling` it is
m/(G a) in the units of the actuator. Where the true constant allows r of the range, one that is 100
times too large allows r/100, and is named if that is below 2 %; one that is 100 times too small
allows 100 r, and is named if that is above ten times the range. So an error of 100 is named either
way if r is from 10 % to 200 %. Of several limits the one that allows least decides the step, and
hides another that is 100 times too flat: that one is named by itself, where no actuator that
crosses its range uses a tenth of its margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from surefoot.problems.plant.description import (
    ActuatorDescription,
    LimitDescription,
    PlantDescription,
    RiseDescription,
)
from surefoot.problems.plant.durations import duration_text
from surefoot.problems.plant.scaling import Scaling

__all__ = ["FirstStep", "find_first_steps", "needs_confirmation", "plausibility"]

SLOW, FLAT, NOISY = 0.02, 10.0, 0.25
"""Marks: a first step below this share of the range, above it, a meter above it of the margin."""
MOST_NAMES = 8
"""So many estimates are named; of others their number."""


class FirstStep(NamedTuple):
    """How far an actuator may move alone in the first round.

    Attributes:
        actuator: the actuator.
        length: in its units; infinite if no limit with a steepness depends on it.
        ramp: how far its ramp allows in a round; None for any distance.
    """

    actuator: ActuatorDescription
    length: float
    ramp: float | None

    @property
    def width(self) -> float:
        """The length of its range."""
        return self.actuator.high - self.actuator.low

    @property
    def share(self) -> float:
        """The length, as a share of the range."""
        return self.length / self.width

    @property
    def is_slow(self) -> bool:
        """Whether it is so short that the steepness may be in other units."""
        return self.share < SLOW

    @property
    def is_flat(self) -> bool:
        """Whether it is so long that the steepness may be in other units."""
        return FLAT < self.share < math.inf


def find_first_steps(plant: PlantDescription) -> tuple[FirstStep, ...]:
    """Return the first step of every actuator.

    Args:
        plant: the description.
    """
    lengths = Scaling(plant).first_steps.tolist()
    steps = []
    for actuator, length in zip(plant.actuators, lengths, strict=True):
        steep = [limit.steepness[actuator.name] for limit in plant.limits if limit.steepness]
        has_effect = any(constant.value > 0 for constant in steep)
        ramp = None if actuator.ramp is None else actuator.ramp * plant.round_minutes
        steps.append(FirstStep(actuator, length if has_effect else math.inf, ramp))
    return tuple(steps)


def needs_confirmation(plant: PlantDescription) -> bool:
    """Return whether a step or a limit is marked as slow or too flat, of the plant or a member.

    Args:
        plant: the description.
    """
    plants = plant.members.values() or (plant,)
    steps = [step for each in plants for step in find_first_steps(each)]
    is_flat = any(_find_flat_limits(each) for each in plants)
    return is_flat or any(step.is_slow or step.is_flat for step in steps)


def _find_flat_limits(plant: PlantDescription) -> dict[str, float]:
    """Return those of several limits that are too flat, with the share of the margin in use."""
    shares = {}
    for limit in plant.limits if len(plant.limits) > 1 else ():
        steep = limit.steepness or {}
        ways = [steep[a.name].value * (a.high - a.low) for a in plant.actuators if a.name in steep]
        shares[limit.name] = max(ways, default=0.0) / limit.start_margin.value
    return {name: share for name, share in shares.items() if 0 < share < 1 / FLAT}


def plausibility(plant: PlantDescription) -> list[str]:
    """Return the lines that a command prints before round 1.

    Args:
        plant: the description; of a fleet, members follow with the lines in which they differ.
    """
    usual = list(_lines_of(plant))
    lines = [_head_of(plant), *usual]
    for name, member in plant.members.items():
        others = [line for line in _lines_of(member) if line not in usual]
        lines += [f"  {name}: {'as above' if not others else ''}".rstrip()]
        lines += [f"  {line}" for line in others]
    return lines


def _head_of(plant: PlantDescription) -> str:
    counts = {
        "actuator": len(plant.actuators),
        "context": len(plant.contexts),
        "limit": len(plant.limits),
        "member": len(plant.members),
    }
    parts = [f"{n} {word}{'s' if n > 1 else ''}" for word, n in counts.items() if n]
    return f"{plant.name}: {', '.join(parts)}; rounds of {duration_text(plant.round_minutes)}"


def _lines_of(plant: PlantDescription) -> Iterator[str]:
    """Yield a line for each actuator, the meters, the contexts, and what all of it assumes."""
    steps = find_first_steps(plant)
    width = max(8, *(len(step.actuator.name) for step in steps))
    for step in steps:
        yield f"  {step.actuator.name:<{width}} {_describe_step(step, plant)}"
    flat = _find_flat_limits(plant)
    for limit in plant.limits:
        if limit.name in flat:
            words = _describe_flat(flat[limit.name], limit, plant)
            yield f"  {'too flat':<{width}} {limit.name}: {words}"
    meters = "; ".join(_describe_meter(limit, plant) for limit in plant.limits)
    yield f"  {'meter':<{width}} {meters}"
    if plant.contexts:
        costs = "; ".join(_describe_contexts(limit, plant) for limit in plant.limits)
        yield f"  {'contexts':<{width}} {costs}"
    yield f"  {_describe_constants(plant)}"
    if plant.policy.on_contradiction == "recover":
        times = plant.policy.recoveries
        yield (
            "  if they are too small: back to the start, then on with larger ones, at most "
            f"{times} time{'' if times == 1 else 's'} (Theorem Recovery)"
        )


# --- actuators ------------------------------------------------------------------------------------


def _describe_step(step: FirstStep, plant: PlantDescription) -> str:
    unit = step.actuator.unit
    ramp = "" if step.ramp is None else f"its ramp allows {step.ramp:.3g} {unit} a round"
    if not math.isfinite(step.length):
        parts = [_describe_unknown(step.actuator, plant), ramp]
        return "; ".join(part for part in parts if part)
    is_covered = step.share >= 1
    why = ": the margin covers it" if is_covered else ""
    mark = _mark(step, plant)
    parts = [
        f"first step at most {step.length:.3g} {unit} ({_percent(step.share)} of its range{why})",
        "" if is_covered else _describe_crossing(step, plant),
        ramp,
        mark,
    ]
    return "; ".join(part for part in parts if part)


def _describe_unknown(actuator: ActuatorDescription, plant: PlantDescription) -> str:
    """Return what is known of the first step of an actuator without a steepness."""
    if any(limit.violations is not None for limit in plant.limits):
        return "first step short, then longer: no constant is known"
    curved = (limit.curvature or {} for limit in plant.limits)
    if any(name == actuator.name and c.value > 0 for each in curved for name, c in each.items()):
        return "first step as long as the first slope allows"
    return "moves no limit"


def _describe_crossing(step: FirstStep, plant: PlantDescription) -> str:
    pace = step.length if step.ramp is None else min(step.length, step.ramp)
    rounds = math.ceil(step.width / pace * (1.0 - 1e-12))  # 600 but for rounding is no 601
    time = _long_time(rounds * plant.round_minutes)
    return f"crossing it takes {rounds:,} rounds ({time}) at that pace"


def _long_time(minutes: float) -> str:
    """Return a time in few digits.

    >>> _long_time(45.0), _long_time(0.5), _long_time(12_000.0)
    ('0.8 h', '30 s', '8.3 d')
    """
    if minutes < 1:
        return f"{minutes * 60:.3g} s"
    if minutes < 30:
        return f"{minutes:.3g} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:,.1f} d"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:,.0f} %" if percent >= 5 else f"{percent:.2g} %"


def _mark(step: FirstStep, plant: PlantDescription) -> str:
    """Return what may be wrong with a steepness."""
    if step.is_slow:
        limits = [limit for limit in plant.limits if limit.steepness is not None]
        units = dict.fromkeys(f"{limit.unit} per {step.actuator.unit}" for limit in limits)
        return f"slow: is the steepness in {' and '.join(units)}?"
    if step.is_flat:
        return "too flat: one step may cross the range ten times: is the steepness too small?"
    return ""


# --- limits ---------------------------------------------------------------------------------------


def _of(limit: LimitDescription, plant: PlantDescription) -> str:
    """Return the name of a limit in front of what is said of it, where there are several."""
    return f"{limit.name}: " if len(plant.limits) > 1 else ""


def _describe_meter(limit: LimitDescription, plant: PlantDescription) -> str:
    error = limit.meter_error.value
    share = error / limit.start_margin.value
    text = f"{error:.3g} {limit.unit} is {_percent(share)} of the start's margin"
    mark = ", noisy: is a better meter or a safer start at hand?" if share > NOISY else ""
    return f"{_of(limit, plant)}{text}{mark}"


def _describe_flat(share: float, limit: LimitDescription, plant: PlantDescription) -> str:
    """Return why a limit is too flat, among others that are not."""
    units = dict.fromkeys(f"{limit.unit} per {each.unit}" for each in plant.actuators)
    return (
        f"no actuator that crosses its range uses more than {_percent(share)} of its start's "
        f"margin: is its steepness in {' and '.join(units)}?"
    )


def _describe_contexts(limit: LimitDescription, plant: PlantDescription) -> str:
    """Return what the whole ranges of contexts cost, beside the margin of the start."""
    parts: list[str] = []
    for context in plant.contexts:
        cost = _per_unit(limit.rise[context.name]) * (context.high - context.low)
        times = f"{cost / limit.start_margin.value:.1f} x"
        if parts:
            parts.append(f"{context.name}: {cost:.1f} {limit.unit}, {times}")
        else:
            words = f"its whole range costs {cost:.1f} {limit.unit}, {times} the start's margin"
            parts.append(f"{context.name}: {words}")
    return f"{_of(limit, plant)}{'; '.join(parts)}"


def _per_unit(rise: RiseDescription) -> float:
    return abs(rise.adds or 0.0) if rise.per is None else rise.per.value


def _describe_constants(plant: PlantDescription) -> str:
    """Return on how many numbers all of it rests, and which are estimates."""
    exact = [rise.adds for limit in plant.limits for rise in limit.rise.values()]
    changes = [context.changes for context in plant.contexts]
    others = sum(number is not None for number in [*exact, *changes])
    count, estimates = len(plant.constants) + others, plant.estimates
    text = f"rests on {count} numbers"
    if not estimates:
        return f"{text}, of which none is an estimate"
    first = len("limit.") if len(plant.limits) > 1 else len(f"limit.{plant.limits[0].name}.")
    names = ", ".join(path[first:] for path in estimates[:MOST_NAMES])
    more = f" and {len(estimates) - MOST_NAMES} more" if len(estimates) > MOST_NAMES else ""
    verb = "is an estimate" if len(estimates) == 1 else "are estimates"
    return f"{text}, of which {len(estimates)} {verb}: {names}{more}"

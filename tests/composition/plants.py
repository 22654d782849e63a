"""Plants from files, drawn at random, with what is true of them: judged in exact rationals.

Every limit is a sum of convex parts, one per actuator, of parts that move with one context each,
and of what it moves by itself: so each constant of a file is as it says, and one that is an
estimate may be told too small. Contexts and drift go where the limit comes in, at their pace, and
readings err by as much as they may, mostly to the good side.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PlantFileError,
    PolicyDescription,
    RiseDescription,
    plant_data,
    plant_from_data,
)

__all__ = ["PlantWorld", "Scenario", "draw_scenario"]

Lines = list[tuple[Fraction, Fraction]]
"""The largest of lines, each with its slope and its value at 0."""


def largest(lines: Lines, at: Fraction) -> Fraction:
    """Return the largest of lines."""
    return max(slope * at + value for slope, value in lines)


class TrueLimit(NamedTuple):
    """A limit as it is: at most 0 where it is kept, in its own unit.

    Attributes:
        bends: of each actuator, lines of which the largest counts.
        bows: of each actuator, a second derivative and where its parabola is lowest.
        moves: of each context, a slope and lines, of which the largest is added to it.
        base: what is added to all.
        drift: how far it moves by itself in a round.
        room: how far it may have moved in all.
    """

    bends: list[Lines]
    bows: list[tuple[Fraction, Fraction]]
    moves: list[tuple[Fraction, Lines]]
    base: Fraction
    drift: Fraction
    room: Fraction

    def at(self, x: list[Fraction], c: list[Fraction]) -> Fraction:
        """Return the excess over the limit, without what it has moved by itself."""
        value = sum((largest(b, a) for b, a in zip(self.bends, x, strict=True)), self.base)
        bows = zip(self.bows, x, strict=True)
        value += sum((bow / 2 * (a - low) ** 2 for (bow, low), a in bows), Fraction(0))
        each = zip(self.moves, c, strict=True)
        return value + sum((s * k + largest(b, k) for (s, b), k in each), Fraction(0))


class Scenario(NamedTuple):
    """A plant file and what is true of it.

    Attributes:
        plant: what the file says.
        truth: of each limit.
        short: how much too small the estimates of the file are; 1 where they are right.
    """

    plant: PlantDescription
    truth: list[TrueLimit]
    short: float

    @property
    def right(self) -> PlantDescription:
        """The plant with constants that are right."""
        return self.times(self.short)

    def times(self, factor: float) -> PlantDescription:
        """Return the plant with estimates that are so many times as large."""

        def more(constant: PlantConstant | None) -> Any:
            if constant is None or constant.origin != "estimated":
                return constant
            return replace(constant, value=constant.value * factor * (1 + 2.0**-50), why="amended")

        limits = []
        for limit in self.plant.limits:
            steep = limit.steepness and {n: more(c) for n, c in limit.steepness.items()}
            curved = limit.curvature and {n: more(c) for n, c in limit.curvature.items()}
            rise = {n: replace(r, per=more(r.per)) for n, r in limit.rise.items()}
            changes = more(limit.changes)
            limits.append(
                replace(limit, steepness=steep, curvature=curved, rise=rise, changes=changes)
            )
        return replace(self.plant, limits=tuple(limits))


class PlantWorld:
    """Where a plant is: its context, how far its limits have moved, and what its meters show.

    Args:
        scenario: what is true.
        rng: of all that is random.
    """

    def __init__(self, scenario: Scenario, rng: np.random.Generator) -> None:
        self.plant, self.truth, self.rng = scenario.plant, scenario.truth, rng
        self.context = [0.5 * (each.low + each.high) for each in self.plant.contexts]
        self.moved = [-0.5 * limit.room for limit in self.truth]
        self.ways = rng.choice([-1.0, 1.0], size=len(self.context))
        self.way = 1

    # --- what is true ----------------------------------------------------------------------------

    def excess(self, points: dict[str, float]) -> list[Fraction]:
        """Return by how much each limit is exceeded at set points; at most 0 where it is kept."""
        x = [Fraction(points[each.name]) for each in self.plant.actuators]
        c = [Fraction(part) for part in self.context]
        pairs = zip(self.truth, self.moved, strict=True)
        return [limit.at(x, c) + moved for limit, moved in pairs]

    def read(self, points: dict[str, float]) -> dict[str, float]:
        """Return what the meters show: wrong by as much as they may be, at most."""
        shown = {}
        for limit, over in zip(self.plant.limits, self.excess(points), strict=True):
            error = limit.meter_error.value * (1 - 1e-9)
            off = error * float(self.rng.choice([-1.0, -1.0, 1.0, self.rng.uniform(-1, 1)]))
            sign = 1 if limit.sense == "at_most" else -1
            shown[limit.name] = limit.bound + sign * (float(over) + off)
        return shown

    def slopes(self, points: dict[str, float]) -> dict[str, dict[str, float]]:
        """Return the slopes of the values that are limited."""
        found = {}
        for limit, true in zip(self.plant.limits, self.truth, strict=True):
            sign = 1.0 if limit.sense == "at_most" else -1.0
            row = {}
            for i, each in enumerate(self.plant.actuators):
                at = Fraction(points[each.name])
                slope = max(true.bends[i], key=lambda line: line[0] * at + line[1])[0]
                bow, low = true.bows[i]
                row[each.name] = sign * float(slope + bow * (at - low))
            found[limit.name] = row
        return found

    # --- and what becomes of it ------------------------------------------------------------------

    def pass_by(self) -> None:
        """Let a round pass."""
        for i, each in enumerate(self.plant.contexts):
            width = each.high - each.low
            if self.rng.random() < 0.1:
                self.ways[i] = -self.ways[i]
            if each.changes is None:
                jumps = self.rng.random() < 0.15
                wanted = self.rng.uniform(each.low, each.high) if jumps else self.context[i]
                wanted += 0.03 * width * self.ways[i]
            else:
                pace = each.changes * self.plant.round_minutes * (1 - 1e-9)
                wanted = self.context[i] + pace * self.ways[i]
            self.context[i] = float(np.clip(wanted, each.low, each.high))
        if self.rng.random() < 0.1:
            self.way = -self.way
        for j, limit in enumerate(self.truth):
            moved = self.moved[j] + self.way * limit.drift
            self.moved[j] = min(max(moved, -limit.room), Fraction(0))

    @property
    def told_context(self) -> dict[str, float]:
        """The context of the round, by name."""
        names = [each.name for each in self.plant.contexts]
        return dict(zip(names, self.context, strict=True))


# --- drawing --------------------------------------------------------------------------------------


def draw_scenario(rng: np.random.Generator, *, short: float = 1.0, **fixed: Any) -> Scenario:
    """Return a plant that a file can say, with what is true of it.

    Args:
        rng: of all that is random.
        short: how much too small the estimates are that the file has.
        fixed: what must be so: ``recovers``, ``role``, ``moves``, ``ramps``, ``limits``.
    """
    for _ in range(200):
        scenario = _draw(rng, short, fixed)
        try:
            if plant_from_data(plant_data(scenario.plant), "plant") == scenario.plant:
                return scenario
        except PlantFileError:
            continue
    raise AssertionError(f"no plant is supported that has {fixed}")


def _draw(rng: np.random.Generator, short: float, fixed: dict[str, Any]) -> Scenario:
    recovers = fixed.get("recovers", bool(rng.random() < 0.3))
    role = fixed.get("role", "filter" if rng.random() < 0.5 else "learner")
    has_slopes = bool(rng.random() < 0.4)
    moves = fixed.get("moves", bool(rng.random() < 0.6))
    has_ramp = fixed.get("ramps", bool(rng.random() < 0.4))
    is_chosen = rng.random() < 0.3 and not (has_ramp and moves)
    minutes = float(rng.choice([0.25, 1.0, 15.0]))
    actuators = tuple(
        _draw_actuator(rng, f"a{i}", minutes, has_ramp=has_ramp, is_chosen=is_chosen)
        for i in range(int(rng.integers(1, 4)))
    )
    contexts = []
    for k in range(int(rng.integers(0, 3)) if moves else 0):
        low = float(rng.uniform(-30, 30))
        width = 10.0 ** rng.uniform(-1, 2)
        pace = None
        if has_ramp or rng.random() < 0.3:
            pace = width * float(rng.uniform(0.005, 0.05)) / minutes
        contexts.append(ContextDescription(f"c{k}", "K", low, low + width, pace))
    count = fixed.get("limits", int(rng.choice([1, 1, 2, 3])))
    drawn = []
    bends = drift = False  # of the limits so far: one plant has no curvature and changes
    for j in range(count):
        by_curvature = has_slopes and not contexts and rng.random() < 0.3 and not drift
        drifts = moves and not by_curvature and rng.random() < 0.4 and not bends
        bends, drift = bends or by_curvature, drift or drifts
        told = (minutes, short, by_curvature, drifts)
        drawn.append(_draw_limit(rng, f"y{j}", actuators, contexts, told))
    policy = PolicyDescription(
        "recover" if recovers else str(rng.choice(["retreat", "record", "raise"])),  # type: ignore[arg-type]
        recoveries=6,
        on_missing="retreat" if recovers or rng.random() < 0.5 else "hold",
    )
    plant = PlantDescription(
        name="plant",
        round_minutes=minutes,
        actuators=actuators,
        limits=tuple(limit for limit, _ in drawn),
        contexts=tuple(contexts),
        role=role,
        has_slopes=has_slopes,
        policy=policy,
    )
    return Scenario(plant, [true for _, true in drawn], short)


def _draw_actuator(
    rng: np.random.Generator, name: str, minutes: float, *, has_ramp: bool, is_chosen: bool
) -> ActuatorDescription:
    """Return an actuator: in steps, one that switches, one with a ramp, or any."""
    size = 10.0 ** rng.uniform(-2, 3)
    kind = str(rng.choice(["step", "off", "both", ""])) if is_chosen else ""
    step = None
    low = size * float(rng.uniform(0.1, 0.4) if kind == "off" else rng.uniform(-1, 1))
    high = low + size
    if kind in ("step", "both"):
        step = float(rng.choice([0.1, 0.25, 1.0]))
        first = int(rng.integers(1 if kind == "both" else -20, 10))
        low, high = first * step, (first + int(rng.integers(8, 40))) * step
    start = str(rng.choice(["low", "high", "between"]))
    at = {"low": low, "high": high}.get(start, low + (high - low) * float(rng.uniform(0, 1)))
    if step is not None:
        at = round(at / step) * step
    if kind in ("off", "both") and rng.random() < 0.5:
        at = 0.0
    width = high - (0.0 if kind in ("off", "both") else low)
    ramp = None
    if has_ramp and rng.random() < 0.8:
        least = max(step or 0.0, low if kind in ("off", "both") else 0.0) / width
        ramp = width * float(rng.uniform(max(0.03, 1.01 * least), max(0.5, 1.2 * least))) / minutes
    return ActuatorDescription(name, "%", low, high, at, ramp, step, kind in ("off", "both"))


def _draw_limit(
    rng: np.random.Generator,
    name: str,
    actuators: tuple[ActuatorDescription, ...],
    contexts: list[ContextDescription],
    told: tuple[float, float, bool, bool],
) -> tuple[LimitDescription, TrueLimit]:
    """Return what a file says of a limit, and what is true."""
    minutes, short, by_curvature, drifts = told
    unit = 10.0 ** rng.uniform(-3, 5)

    def say(value: float, *, exact: bool = False) -> PlantConstant:
        """Return a true constant as a file has it: right, a little large, or an estimate."""
        origin = "given" if exact else str(rng.choice(["estimated", "given", "proved"]))
        value *= float(rng.choice([1.0, 1.1, 1.5]))
        value = value / short if origin == "estimated" else value
        return PlantConstant(value, origin)  # type: ignore[arg-type]

    bends: list[Lines] = []
    bows: list[tuple[Fraction, Fraction]] = []
    constants = {}
    for each in actuators:
        width = each.high - min(each.low, 0.0 if each.can_be_off else each.low)
        steep = 0.0 if rng.random() < 0.1 else unit * float(rng.uniform(0.3, 3)) / width
        slopes = steep * np.sort(rng.uniform(-1, 1, size=2))
        slopes[int(rng.integers(0, 2))] = steep * float(rng.choice([-1.0, 1.0]))
        corner = float(rng.uniform(each.low, each.high))
        s = [Fraction(float(slope)) for slope in slopes]
        bends.append([(slope, -slope * Fraction(corner)) for slope in s])
        bow = unit * float(rng.uniform(0.2, 3)) / width**2 if by_curvature else 0.0
        bows.append((Fraction(bow), Fraction(corner)))
        if by_curvature:
            bends[-1] = bends[-1][:1]
        constants[each.name] = say(bow if by_curvature else steep)
    moves, rise = [], {}
    for context in contexts:
        width = context.high - context.low
        steep = unit * float(rng.uniform(0.1, 2)) / width
        kind = str(rng.choice(["adds", "both", "up", "down", "none"]))
        signs = {"both": (-1.0, 1.0), "up": (0.0, 1.0), "down": (-1.0, 0.0)}.get(kind, (0.0, 0.0))
        middle = Fraction(float(rng.uniform(context.low, context.high)))
        each_slope = [Fraction(sign * steep) for sign in signs]
        lines = [(slope, -slope * middle) for slope in each_slope]
        exact = Fraction(steep * float(rng.choice([-1.0, 1.0]))) if kind == "adds" else Fraction(0)
        moves.append((exact, lines))
        if kind == "adds":
            rise[context.name] = ("adds", float(exact))
        else:
            rise[context.name] = (kind, say(steep) if kind != "none" else PlantConstant(0.0))
    pace = unit * float(rng.uniform(0.002, 0.03)) if drifts else 0.0
    changes = say(pace / minutes * (1 + 1e-12)) if drifts else None
    true = TrueLimit(bends, bows, moves, Fraction(0), Fraction(pace), Fraction(unit * 0.7 * drifts))
    return _say_limit(rng, name, unit, actuators, contexts, (constants, rise, changes, true))


def _say_limit(
    rng: np.random.Generator,
    name: str,
    unit: float,
    actuators: tuple[ActuatorDescription, ...],
    contexts: list[ContextDescription],
    drawn: tuple[Any, Any, Any, TrueLimit],
) -> tuple[LimitDescription, TrueLimit]:
    """Return a limit whose start has a margin in every context."""
    constants, rise, changes, true = drawn
    margin = unit * float(rng.uniform(0.1, 1.0))
    error = margin * float(rng.choice([0.0, 0.02, 0.3]))
    start = [Fraction(each.start) for each in actuators]
    highest = [
        max((Fraction(c.low), Fraction(c.high)), key=lambda k, m=move: m[0] * k + largest(m[1], k))
        for c, move in zip(contexts, true.moves, strict=True)
    ]
    true = true._replace(
        base=-true.at(start, highest) - Fraction(margin) * (1 + Fraction(1, 2**40))
    )
    is_most = rng.random() < 0.5
    by_curvature = any(bow for bow, _ in true.bows)
    told = {}
    for context, (kind, constant) in rise.items():
        if kind == "adds":
            told[context] = RiseDescription(adds=constant if is_most else -constant)
        else:
            worse = kind if kind in ("up", "down") else None
            told[context] = RiseDescription(per=constant, worse=worse)
    limit = LimitDescription(
        name,
        "bar",
        float(rng.uniform(-3, 3)) * unit,
        "at_most" if is_most else "at_least",
        PlantConstant(error),
        PlantConstant(margin),
        steepness=None if by_curvature else constants,
        curvature=constants if by_curvature else None,
        rise=told,
        changes=changes,
    )
    return limit, true


def least_factor(scenario: Scenario) -> float:
    """Return a factor with which the estimates of a file are right."""
    return math.nextafter(scenario.short, math.inf) if scenario.short > 1 else 1.0

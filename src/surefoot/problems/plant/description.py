"""What a plant file says, in engineering units: actuators, contexts, limits, what is known of them.

A :class:`PlantDescription` is plain and checked: whoever has one may trust it. Files are read by
:mod:`surefoot.problems.plant.grammar`, which names all mistakes at once. What a limit means for a
rule is :mod:`surefoot.problems.plant.scaling`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "ActuatorDescription",
    "ConstantOrigin",
    "ContextDescription",
    "LimitDescription",
    "PlantConstant",
    "PlantDescription",
    "PolicyDescription",
    "RiseDescription",
    "ServiceDescription",
]

ConstantOrigin: TypeAlias = Literal["proved", "given", "estimated"]
"""proved, which no recovery changes; given, as a bare number is; estimated from data."""


@dataclass(frozen=True, slots=True)
class PlantConstant:
    """A constant with its origin.

    Attributes:
        value: in the units of its key.
        origin: "proved", "given" or "estimated".
        why: where it is from, in words.
    """

    value: float
    origin: ConstantOrigin = "given"
    why: str = ""


@dataclass(frozen=True, slots=True)
class ActuatorDescription:
    """One entry of an action.

    Attributes:
        name: a short word.
        unit: printed, never converted.
        low: the least set point.
        high: the largest.
        start: the safe set point.
        ramp: how far it may move per minute; None for any distance.
        step: set points are whole multiples of it; None for all.
        can_be_off: whether it may be 0, too, below its range.
        node: where a field bus has it; None unless given.
    """

    name: str
    unit: str
    low: float
    high: float
    start: float
    ramp: float | None = None
    step: float | None = None
    can_be_off: bool = False
    node: str | None = None

    def largest_step(self, minutes: float) -> float | None:
        """Return how far it may move in a round; None where its ramp allows the whole range.

        Args:
            minutes: the length of the round.
        """
        width = self.high - (0.0 if self.can_be_off else self.low)
        is_slow = self.ramp is not None and self.ramp * minutes < width
        return self.ramp * minutes if is_slow and self.ramp is not None else None


@dataclass(frozen=True, slots=True)
class ContextDescription:
    """A number that is known before each round and moves the limits, such as a temperature.

    Attributes:
        name: a short word.
        unit: printed, never converted.
        low: the least value; what is below counts as not reported.
        high: the largest, likewise.
        changes: how far it moves per minute at most; None if unknown.
        node: where a field bus has it; None unless given.
    """

    name: str
    unit: str
    low: float
    high: float
    changes: float | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class RiseDescription:
    """How a limit's value moves with one context.

    Attributes:
        per: by at most so much per unit; None where ``adds`` is given.
        adds: by exactly so much per unit; below 0 if it lowers the value.
        worse: which way may be harmful, "up" or "down"; None for both. Of ``per`` alone.
    """

    per: PlantConstant | None = None
    adds: float | None = None
    worse: Literal["up", "down"] | None = None


@dataclass(frozen=True, slots=True)
class LimitDescription:
    """A limit, and what is known of the value that must keep it.

    One of ``steepness``, ``curvature`` and ``violations`` is given.

    Attributes:
        name: a short word.
        unit: printed, never converted.
        bound: the limit itself.
        sense: whether the value must be "at_most" or "at_least" the bound.
        meter_error: by how much a reading may be off.
        start_margin: by how much the true value keeps the limit at the start, in every context.
        steepness: per actuator, how much the value changes per unit at most.
        curvature: per actuator, the largest second derivative.
        violations: how many measured rounds may violate at most, where no constant is known.
        is_convex: whether the excess over the limit is convex in the set points.
        rise: per context, how the value moves with it.
        changes: how much the value moves by itself per minute at most.
        node: where a field bus has its reading; None unless given.
    """

    name: str
    unit: str
    bound: float
    sense: Literal["at_most", "at_least"]
    meter_error: PlantConstant
    start_margin: PlantConstant
    steepness: Mapping[str, PlantConstant] | None = None
    curvature: Mapping[str, PlantConstant] | None = None
    violations: int | None = None
    is_convex: bool = True
    rise: Mapping[str, RiseDescription] = field(default_factory=dict)
    changes: PlantConstant | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyDescription:
    """What happens after a contradiction, and in a round without a measurement.

    Attributes:
        on_contradiction: "retreat" to the start until an operator resumes; "recover": the same,
            then go on with larger constants; "raise" an error; or "record" it and go on.
        recoveries: how many times it may recover.
        on_missing: "hold" or "retreat".
    """

    on_contradiction: Literal["retreat", "recover", "raise", "record"] = "retreat"
    recoveries: int = 3
    on_missing: Literal["hold", "retreat"] = "hold"


@dataclass(frozen=True, slots=True)
class ServiceDescription:
    """How ``surefoot serve`` serves the plant; nothing of it is part of a proof.

    Attributes:
        listen: the path of a Unix socket, or a loopback address and a port; None for standard
            input.
        metrics: a loopback address and a port; None for no metrics.
        token_file: the file with the token that clients over TCP must give.
        deadline: after so many minutes without a report the service records a missing round; None
            for two rounds.
        heartbeat: how many seconds lie between two heartbeats.
        rotate: the size of a file of the journal, such as "64 MB"; None for one file.
        can_amend: whether a client may amend the plant.
    """

    listen: str | None = None
    metrics: str | None = None
    token_file: str | None = None
    deadline: float | None = None
    heartbeat: float = 10.0
    rotate: str | None = None
    can_amend: bool = False


@dataclass(frozen=True, slots=True)
class PlantDescription:
    """A plant: what may be set, what moves its limits, and what is known of them.

    Attributes:
        name: for pages.
        round_minutes: the length of a round.
        journal: the path of the journal; None for none.
        role: "filter" if somebody else wants set points, "learner" if costs are reported.
        has_slopes: whether every round reports the slopes of the limits.
        actuators: in the order of the action's entries.
        contexts: in the order of the context's columns.
        limits: in the order of the rows.
        policy: what happens where a round is not as expected.
        service: how it is served.
        members: of a fleet, the plant of each by name; empty for a single plant.
    """

    name: str
    round_minutes: float
    actuators: tuple[ActuatorDescription, ...]
    limits: tuple[LimitDescription, ...]
    contexts: tuple[ContextDescription, ...] = ()
    journal: str | None = None
    role: Literal["filter", "learner"] = "filter"
    has_slopes: bool = False
    policy: PolicyDescription = PolicyDescription()
    service: ServiceDescription = ServiceDescription()
    members: Mapping[str, PlantDescription] = field(default_factory=dict)

    @property
    def has_ramp(self) -> bool:
        """Whether an actuator cannot cross its range in a round."""
        steps = (each.largest_step(self.round_minutes) for each in self.actuators)
        return any(step is not None for step in steps)

    @property
    def constants(self) -> dict[str, PlantConstant]:
        """Every constant of every limit, by the path of its key: ``limit.heat.steepness.fan1``."""
        constants: dict[str, PlantConstant] = {}
        for limit in self.limits:
            path = f"limit.{limit.name}"
            constants |= {
                f"{path}.meter_error": limit.meter_error,
                f"{path}.start_margin": limit.start_margin,
            }
            for key in ("steepness", "curvature"):
                per_actuator: Mapping[str, PlantConstant] = getattr(limit, key) or {}
                constants |= {f"{path}.{key}.{name}": c for name, c in per_actuator.items()}
            for name, rise in limit.rise.items():
                if rise.per is not None:
                    constants[f"{path}.rise.{name}"] = rise.per
            if limit.changes is not None:
                constants[f"{path}.changes"] = limit.changes
        return constants

    @property
    def estimates(self) -> tuple[str, ...]:
        """The paths of the constants that are estimates."""
        return tuple(p for p, c in self.constants.items() if c.origin == "estimated")

    @property
    def recoverable(self) -> tuple[str, ...]:
        """The paths of the estimates that a recovery may enlarge."""
        fixed = ("meter_error", "start_margin")
        return tuple(path for path in self.estimates if path.split(".")[2] not in fixed)

"""What is proved of a plant: of which limit, by which theorem, given which constants.

The statement is derived from the rule that plays the plant, so that it says nothing that the rule
does not promise. A plant that says in its service, on its page and in ``explain`` what is proved
says what :func:`proof_of` returns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surefoot.guarantees import Promise, Promises, promises_of, unpack
from surefoot.knowledge.base import find_knowledge
from surefoot.problems.plant.description import (
    ConstantOrigin,
    LimitDescription,
    PlantConstant,
    PlantDescription,
)
from surefoot.problems.plant.player import has_rows, player_of
from surefoot.problems.plant.scaling import Scaling

__all__ = ["PlantProof", "UsedConstant", "promises_of_plant", "proof_of"]


class UsedConstant(NamedTuple):
    """A constant that certificates rest on.

    Attributes:
        limit: the limit that it is about; empty for one of all limits.
        name: as the plant file has it, below the limit: ``steepness.fan1``.
        value: as it is used; a recovery may have enlarged it.
        unit: in words.
        origin: proved, given or estimated.
        why: where it is from, in words.
        given: as the file has it.
    """

    limit: str
    name: str
    value: float
    unit: str
    origin: ConstantOrigin
    why: str
    given: float

    @property
    def label(self) -> str:
        """Its name with that of its limit."""
        return f"{self.limit}: {self.name}" if self.limit else self.name

    def __str__(self) -> str:
        words = f"{self.label} {self.value:.6g} {self.unit} ({self.origin}"
        words += f", {self.given:.6g} x {self.value / self.given:.4g}" if self.is_enlarged else ""
        return f"{words}: {self.why})" if self.why else f"{words})"

    @property
    def is_enlarged(self) -> bool:
        """Whether a recovery has enlarged it."""
        return self.value != self.given


@dataclass(frozen=True, slots=True)
class PlantProof:
    """What is proved of a plant.

    Attributes:
        statements: what is certified, one sentence each.
        theorem: by which theorems.
        premises: what must be true beside the constants, one phrase each.
        constants: that certificates rest on.
        if_wrong: what holds if a constant that is not proved is wrong, one sentence each.
        not_covered: what is not promised, one phrase each.
    """

    statements: tuple[str, ...]
    theorem: str
    premises: tuple[str, ...]
    constants: tuple[UsedConstant, ...]
    if_wrong: tuple[str, ...]
    not_covered: tuple[str, ...]

    @property
    def estimates(self) -> int:
        """How many of the constants are estimates."""
        return sum(constant.origin == "estimated" for constant in self.constants)

    @property
    def word(self) -> str:
        """What may be said of a certified set point: "proved" only if nothing is an estimate."""
        n = self.estimates
        return f"certified given {n} estimate{'s'[: n != 1]}" if n else "proved"

    @property
    def name(self) -> str:
        """The theorems."""
        return self.theorem

    @property
    def promise(self) -> Promise:
        """The same as the promise of feasibility."""
        needs = (*self.premises, *map(str, self.constants))
        return Promise(f"{self.theorem}, {self.word}", needs, self.not_covered)

    def __str__(self) -> str:
        return f"{'; '.join(self.statements)} ({self.theorem}, {self.word})"


def promises_of_plant(
    plant: PlantDescription, left: int, factor: float = 1.0, *, one_limit: bool = False
) -> Promises:
    """Return what is promised of a plant, in three parts.

    Args:
        plant: the description.
        left: how many recoveries are left.
        factor: on its constants that are not proved.
        one_limit: whether the largest of several limits counts as one.

    Example:
        >>> from surefoot.problems.plant.description import ActuatorDescription
        >>> speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
        >>> pressure = LimitDescription(
        ...     "pressure", "bar", 2.5, "at_least", PlantConstant(0.02), PlantConstant(0.5),
        ...     steepness={"speed": PlantConstant(0.12, "estimated")},
        ... )
        >>> pumps = PlantDescription("pumps", 1.0, (speed,), (pressure,))
        >>> found = promises_of_plant(pumps, left=0)
        >>> found.feasibility.theorem
        'Theorem E with N, certified given 1 estimate'
        >>> found.feasibility.needs[-1]
        'pressure: steepness.speed 0.12 bar per Hz (estimated)'
        >>> print(proof_of(pumps, left=0).if_wrong[0])
        If a constant that is not proved is wrong: at most 1 measured round is outside by more than
        twice the meter error (0.04 bar of pressure), and then the start is used (Theorem Recovery).
    """
    player = player_of(plant, Scaling(plant, factor), one_limit=one_limit)
    of_rule = promises_of(*unpack(player))
    if of_rule.feasibility is None:
        return of_rule
    proof = proof_of(plant, left, factor, one_limit=one_limit)
    return of_rule._replace(feasibility=proof.promise)


def proof_of(
    plant: PlantDescription, left: int, factor: float = 1.0, *, one_limit: bool = False
) -> PlantProof:
    """Return what is proved of a plant; the arguments are those of :func:`promises_of_plant`."""
    scaling = Scaling(plant, factor)
    is_one = one_limit or not has_rows(plant)
    hidden = tuple(_list_hidden(scaling, is_one=is_one))
    sizes = ", ".join(hidden)
    if is_one and len(hidden) > 1:
        sizes += "; the largest counts for all, which are one limit for the rule"
    return PlantProof(
        statements=tuple(_state(plant, scaling)),
        theorem=_name_theorems(plant, scaling, one_limit=one_limit),
        premises=tuple(_list_premises(plant)),
        constants=tuple(_list_constants(plant, factor)),
        if_wrong=tuple(_state_recovery(plant, scaling, left, sizes)),
        not_covered=tuple(_list_uncovered(plant, scaling, hidden)),
    )


# --- what is certified ---------------------------------------------------------------------------


def _name_theorems(plant: PlantDescription, scaling: Scaling, *, one_limit: bool) -> str:
    """Return the theorems of the rule that plays a plant, each once."""
    algorithm, guarantee = unpack(player_of(plant, scaling, one_limit=one_limit))
    if guarantee is not None:
        return guarantee.name.partition(" (")[0]
    knowledge = find_knowledge(algorithm)
    rows = () if knowledge is None else knowledge.parts or (knowledge,)
    names = [row.theorem.partition(" (")[0].rpartition("Theorem ")[2] for row in rows]
    if scaling.ramp is not None and _moves(plant):
        names.append("R")
    return "Theorem " + " and ".join(dict.fromkeys(names))


def _moves(plant: PlantDescription) -> bool:
    """Return whether a limit moves between rounds."""
    return bool(plant.contexts) or any(limit.changes is not None for limit in plant.limits)


def _state(plant: PlantDescription, scaling: Scaling) -> Iterator[str]:
    """Yield what is certified of each limit, and of steps."""
    where = "in every round"
    if plant.contexts:
        where = "in every round, in every context within its range"
    for limit in plant.limits:
        if limit.violations is not None:
            n = limit.violations
            yield (
                f"{_describe_limit(limit)} but for at most {n} measured round{'s'[: n != 1]}, "
                "from which its steepness is learnt"
            )
        else:
            yield f"{_describe_limit(limit)} {where}"
    if scaling.ramp is not None:
        yield "no step is longer than its ramp"


def _describe_limit(limit: LimitDescription) -> str:
    return f"{limit.name} is {limit.sense.replace('_', ' ')} {limit.bound:g} {limit.unit}"


def _list_premises(plant: PlantDescription) -> Iterator[str]:
    """Yield what must be true beside the constants."""
    for limit in plant.limits:
        if limit.is_convex:
            shape = "convex" if limit.sense == "at_most" else "concave"
            yield f"{limit.name} is {shape} in the set points"
    yield "limits have settled when they are read"
    if plant.contexts:
        yield "reported contexts are right"
    if plant.has_slopes:
        yield "reported slopes are right"


def _list_constants(plant: PlantDescription, factor: float) -> Iterator[UsedConstant]:
    """Yield the constants, in the order of the file."""
    units = {each.name: each.unit for each in plant.actuators}
    units |= {each.name: each.unit for each in plant.contexts}
    for limit in plant.limits:
        yield _use(limit.name, "meter_error", limit.meter_error, limit.unit)
        yield _use(limit.name, "start_margin", limit.start_margin, limit.unit)
        for name, constant in (limit.steepness or {}).items():
            unit = f"{limit.unit} per {units[name]}"
            yield _use(limit.name, f"steepness.{name}", constant, unit, factor)
        for name, constant in (limit.curvature or {}).items():
            unit = f"{limit.unit} per {units[name]} squared"
            yield _use(limit.name, f"curvature.{name}", constant, unit, factor)
        for name, rise in limit.rise.items():
            unit, words = f"{limit.unit} per {units[name]}", f"rise.{name}"
            if rise.per is None:
                yield _use(limit.name, words, PlantConstant(rise.adds or 0.0), f"{unit}, exactly")
                continue
            way = "" if rise.worse is None else f", harmful {rise.worse} only"
            yield _use(limit.name, words, rise.per, unit + way, factor)
        if limit.changes is not None:
            yield _use(limit.name, "changes", limit.changes, f"{limit.unit} per minute", factor)
    for context in plant.contexts:
        if context.changes is not None:
            unit = f"{context.unit} per minute"
            yield _use("", f"context.{context.name}.changes", PlantConstant(context.changes), unit)


def _use(
    limit: str, name: str, constant: PlantConstant, unit: str, factor: float = 1.0
) -> UsedConstant:
    """Return a constant as it is used: a recovery enlarges all but proved ones."""
    value, origin, why = constant.value, constant.origin, constant.why
    enlarged = value if origin == "proved" else value * factor
    return UsedConstant(limit, name, enlarged, unit, origin, why, value)


# --- what is not ---------------------------------------------------------------------------------


def _state_recovery(
    plant: PlantDescription, scaling: Scaling, left: int, sizes: str
) -> Iterator[str]:
    """Yield what holds if a constant is wrong: Theorem Recovery."""
    policy = plant.policy.on_contradiction
    if any(limit.violations is not None for limit in plant.limits):
        return
    wrong = "If a constant that is not proved is wrong"
    if policy not in ("recover", "retreat"):
        yield f"{wrong}: nothing is promised, because on_contradiction is {policy!r}."
        return
    most = left + 1 if policy == "recover" else 1
    rounds = "1 measured round is" if most == 1 else f"{most} measured rounds are"
    end = "and then the start is used" if most == 1 else "no two in a row"
    way = _rounds_to_start(plant, scaling)
    if way > 1:
        which = "it" if most == 1 else "each"
        end = f"and up to {way - 1} more follow {which} on the way to the start"
    yield (
        f"{wrong}: at most {rounds} outside by more than twice the meter error "
        f"({sizes}), {end} (Theorem Recovery)."
    )
    contexts = ", start_margin and reported contexts" if plant.contexts else " and start_margin"
    yield f"That rests on the meter_error{contexts}."


def _list_hidden(scaling: Scaling, *, is_one: bool) -> Iterator[str]:
    """Yield how far each limit may be violated unnoticed: twice the error of its reading.

    Where the largest of several limits counts as one, the largest error counts for each.
    """
    errors = [limit.value_error for limit in scaling.limits]
    units = scaling.limit_units.tolist()
    for limit, error, unit in zip(scaling.plant.limits, errors, units, strict=True):
        size = 2 * unit * (max(errors) if is_one else error)
        yield f"{size:.6g} {limit.unit} of {limit.name}"


def _rounds_to_start(plant: PlantDescription, scaling: Scaling) -> int:
    """Return after how many rounds the start is reached from any set points."""
    if scaling.ramp is None:
        return 1
    ends = [
        max(each.high - each.start, each.start - (0.0 if each.can_be_off else each.low))
        for each in plant.actuators
    ]
    farthest = math.hypot(*scaling.to_action(ends).tolist())
    return math.ceil(farthest / min(scaling.ramp))


def _list_uncovered(
    plant: PlantDescription, scaling: Scaling, hidden: Sequence[str]
) -> Iterator[str]:
    """Yield what is not promised."""
    yield "cost"
    yield "what happens between readings"
    yield "set points that others choose"
    for limit, size in zip(plant.limits, hidden, strict=True):
        if limit.violations is not None:
            yield f"violations of at most {size}, which errors may hide"
    if scaling.ramp is not None:
        yield "the ramp where an operator orders a step"
    if plant.policy.on_contradiction in ("recover", "retreat"):
        yield "rounds that nobody measured, if a constant is wrong"

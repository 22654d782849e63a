"""Play a plant from its file, with orders at random, and judge every set point asked for."""

from __future__ import annotations

import logging
import math
import traceback
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot import replay
from surefoot.controller import Plant, PlantFleet, PremiseError
from surefoot.controller.alarms import Alarm
from surefoot.controller.check import Report, check
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.problems.plant import (
    ActuatorDescription,
    PlantDescription,
    ServiceDescription,
    write_plant,
)
from tests.composition.plants import PlantWorld, Scenario, draw_scenario

__all__ = ["ORDERS", "PlantOutcome", "play_fleet", "play_plant"]

ORDERS = {
    "hold": 2.0,
    "retreat": 2.0,
    "resume": 8.0,
    "amend": 0.7,
    "reopen": 3.0,
    "note": 1.0,
    "announce again": 2.0,
    "context unknown": 3.0,
    "context beyond its range": 1.0,
    "context later": 2.0,
    "own action": 3.0,
    "missing": 3.0,
    "no reading": 2.0,
}
"""What may happen in a round, and how often."""


class PlantOutcome(NamedTuple):
    """What became of a plant.

    Attributes:
        findings: what must not be.
        report: of the checker.
        rounds: how many were told.
        proved: how many set points were called proved, and judged.
        beyond: the measured rounds in which what was asked for was beyond a limit by more than
            twice its meter error.
        contradictions: how many there were.
        orders: how often each was given.
    """

    findings: list[str]
    report: Report
    rounds: int
    proved: int
    beyond: list[int]
    contradictions: int
    orders: Counter[str]


def play_plant(
    scenario: Scenario,
    seed: int,
    folder: Path,
    *,
    rounds: int = 40,
    orders: tuple[str, ...] | None = None,
    often: float = 0.25,
    far: bool = False,
) -> PlantOutcome:
    """Return what becomes of a plant.

    Args:
        scenario: the plant and what is true.
        seed: of the orders, the contexts and the readings.
        folder: for its file and its journal.
        rounds: how many are played.
        orders: which are given; some of them unless said.
        often: the probability of one in a round.
        far: whether somebody's own actions are anywhere in their ranges, feasible or not, and
            measured or not.
    """
    logging.disable(logging.CRITICAL)
    try:
        run = _PlantRun(scenario, np.random.default_rng([seed, 7]), folder)
        run.goes_far = far
        if orders is None:
            orders = tuple(name for name in ORDERS if run.rng.random() < 0.5)
        run.play(rounds, orders, often)
        return run.outcome
    finally:
        logging.disable(logging.NOTSET)


class _PlantRun:
    """A plant against an adversary."""

    def __init__(self, scenario: Scenario, rng: np.random.Generator, folder: Path) -> None:
        self.scenario, self.rng, self.world = scenario, rng, PlantWorld(scenario, rng)
        self.path, self.journal = folder / "plant.toml", folder / "run.jsonl"
        rotate = "20 kB" if rng.random() < 0.3 else None
        self.keep: dict[str, Any] = {
            "journal": "run.jsonl",
            "service": ServiceDescription(rotate=rotate),
        }
        self.write(scenario.plant)
        self.is_right, self.is_known = scenario.short == 1.0, True
        self.goes_far = False
        self.plant = Plant.open(self.path, on_alarm=self.hear)
        self.alarms: list[Alarm] = []
        self.before: dict[str, float] | None = None  # from where a ramp counts
        self.rounds = self.proved = self.contradictions = 0
        self.beyond: list[int] = []
        self.orders: Counter[str] = Counter()
        self.findings: list[str] = []

    @property
    def outcome(self) -> PlantOutcome:
        """What was found."""
        self.plant.close()
        report = check(str(self.journal))
        if not report.is_right:
            self.find("blamed", report.said[0])
        if not (found := replay(self.journal)).is_same:
            self.find("replayed otherwise", found.difference)
        counts = (self.rounds, self.proved, self.beyond, self.contradictions, self.orders)
        return PlantOutcome(self.findings, report, *counts)

    def find(self, kind: str, words: object) -> None:
        """Note something that must not be."""
        self.findings.append(f"{kind}: round {self.plant.round}: {words}")

    def hear(self, alarm: Alarm) -> None:
        """Count contradictions: where constants are right, none may be."""
        if alarm.kind == "contradiction" and alarm.level >= logging.ERROR:
            self.contradictions += 1
            if self.is_right:
                self.find("contradicted", alarm.sentence)

    def write(self, plant: PlantDescription) -> None:
        """Write the file of a plant."""
        write_plant(replace(plant, **self.keep), self.path)

    # --- the loop --------------------------------------------------------------------------------

    def play(self, rounds: int, orders: tuple[str, ...], often: float) -> None:
        """Play all rounds."""
        names = {*orders, "resume"} if orders else set()
        weights = np.array([ORDERS[name] for name in sorted(names)])
        try:
            if self.world.context:
                self.plant.announce(self.world.told_context)
            for _ in range(rounds):
                order = ""
                if names and self.rng.random() < often:
                    order = str(self.rng.choice(sorted(names), p=weights / weights.sum()))
                    self.orders[order] += 1
                self.give(order)
                self.judge(self.plant.ask())
                self.tell(order)
                self.rounds += 1
        except Exception:
            self.find("an error", traceback.format_exc(limit=-4))

    def give(self, order: str) -> None:
        """Give an order before a round."""
        plant = self.plant
        if order in ("hold", "retreat"):
            getattr(plant, order)(order)
            self.before = None  # an order counts from what would be next
        elif order == "resume" and plant.halted is not None:
            try:
                plant.resume("resume")
            except InvalidValueError as error:  # of a plant that was contradicted
                if "what was contradicted is" not in str(error):
                    raise
        elif order == "note":
            plant.note("a note")
        elif order == "reopen":
            self.reopen()
        elif order == "amend":
            self.amend()
        elif order == "announce again" and self.world.context:
            plant.announce(self.world.told_context)
            self.is_known = True
        elif order in ("context unknown", "context beyond its range") and self.world.context:
            told: dict[str, Any] = dict(self.world.told_context)
            name = str(self.rng.choice(sorted(told)))
            each = next(c for c in self.scenario.plant.contexts if c.name == name)
            told[name] = None if order == "context unknown" else each.high + 1.0
            plant.announce(told)
            self.is_known = False

    def reopen(self) -> None:
        """Open the journal again: the same set points must be at hand, and be called the same."""
        is_known = not self.plant.controller.loop.awaits_context
        before = (self.plant.ask(), self.plant.explain().is_proven) if is_known else None
        self.plant.close()
        self.plant = Plant.open(self.path, on_alarm=self.hear)
        if before is not None:
            after = self.plant.ask(), self.plant.explain().is_proven
            if before != after:
                self.find("another action after opening", f"{before} and {after}")

    def amend(self) -> None:
        """Change what the file says: estimates that are right, or larger."""
        factor = self.scenario.short * float(self.rng.choice([1.0, 1.25]))
        after = self.scenario.times(factor)
        # A plant with a ramp goes to its start first: there is no other way.
        if self.scenario.plant.has_ramp and self.plant.ask() != self.start:
            return
        try:
            if self.rng.random() < 0.5:
                self.plant.amend(replace(after, **self.keep), by="somebody", reason="another look")
                self.write(after)
            else:
                self.plant.close()
                self.write(after)
                self.plant = Plant.amending(self.path, by="somebody", reason="another look")
                self.plant._on_alarm = self.hear
        except SurefootError as error:
            if "amend must change the plant" not in str(error):
                raise
            self.plant.close()
            self.plant = Plant.open(self.path, on_alarm=self.hear)
            return
        self.is_right = True
        if self.world.context and self.is_known:
            self.plant.announce(self.world.told_context)

    @property
    def start(self) -> dict[str, float]:
        """The safe set points."""
        return {each.name: each.start for each in self.scenario.plant.actuators}

    @property
    def has_choices(self) -> bool:
        """Whether some actuator moves in steps, or may be off."""
        return any(each.step or each.can_be_off for each in self.scenario.plant.actuators)

    # --- a round ---------------------------------------------------------------------------------

    def judge(self, points: dict[str, float]) -> None:
        """Find what must not be in the set points of a round."""
        is_proven = self.plant.explain().is_proven
        self.proved += is_proven
        over = max(self.world.excess(points))
        if is_proven and over > 0 and self.is_right:
            self.find("violation", f"{float(over):.3g} at {points}")
        minutes = self.scenario.plant.round_minutes
        is_start = points == self.start
        for each in self.scenario.plant.actuators:
            at = points[each.name]
            is_off = each.can_be_off and at == 0
            if not (is_off or each.low <= at <= each.high):
                self.find("outside of its range", f"{each} at {at}")
            if each.step is not None and round(at / each.step) * each.step != at:
                self.find("off its steps", f"{each} at {at}")
            if self.before is None or each.ramp is None or (self.has_choices and is_start):
                continue  # between choices nothing is proved, so that a return is a jump
            if abs(at - self.before[each.name]) > each.ramp * minutes * (1 + 1e-9):
                self.find("beyond its ramp", f"{each} from {self.before[each.name]} to {at}")
        self.before = points

    def tell(self, order: str) -> None:
        """Report a round, with the context of the next."""
        is_other = order == "own action" and self.has_read_start
        if is_other and self.goes_far and self.rng.random() < 0.4:
            self.tell_of_others()
            return
        points, world = self.plant.ask(), self.world
        told: dict[str, Any] = {}
        if is_other:
            self.before = told["played"] = self.draw_own(points)
        at = told.get("played", points)
        readings: dict[str, Any] = world.read(at)
        if order == "no reading":
            readings[str(self.rng.choice(sorted(readings)))] = math.nan
        told |= {"readings": readings, "missing": order == "missing"}
        names = [each.name for each in self.scenario.plant.actuators]
        if self.scenario.plant.role == "filter":
            far = self.rng.choice([1.0, 1.0, 3.0])
            told["wanted"] = {
                each.name: each.start
                + float(far * self.rng.uniform(-1, 1)) * (each.high - each.low)
                for each in self.scenario.plant.actuators
            }
        else:
            told["cost_slopes"] = {name: float(self.rng.normal()) for name in names}
        if self.scenario.plant.has_slopes:
            told["slopes"] = world.slopes(at)
        is_measured = order not in ("missing", "no reading") and self.is_known
        is_measured = is_measured and "played" not in told
        if is_measured and self.is_beyond():
            self.beyond.append(self.plant.round)
        world.pass_by()
        if world.context:
            self.is_known = order != "context later"
            if self.is_known:
                told["context"] = world.told_context
        try:
            self.plant.tell(**told)
        except PremiseError:
            self.plant.retreat("a contradiction")
            self.plant.ask()
            self.plant.tell(readings=readings, missing=True)

    @property
    def has_read_start(self) -> bool:
        """Whether something was read since the plant began: until then the start is played."""
        state: Any = self.plant.controller.loop.state
        return bool(np.any(state.memory.rounds))

    def is_beyond(self) -> bool:
        """Return whether a limit is exceeded by more than twice its meter error."""
        over = self.world.excess(self.plant.ask())
        errors = [2 * Fraction(limit.meter_error.value) for limit in self.scenario.plant.limits]
        return any(a > b for a, b in zip(over, errors, strict=True))

    def draw_own(self, points: dict[str, float]) -> dict[str, float]:
        """Return set points of somebody's own: near, in range, and no worse than feasible."""
        if self.goes_far:
            return {
                each.name: self.draw_far(each, points) for each in self.scenario.plant.actuators
            }
        for _ in range(5):
            own = {}
            for each in self.scenario.plant.actuators:
                width = each.high - each.low
                at = points[each.name] + 0.05 * width * float(self.rng.normal())
                at = float(np.clip(at, each.low, each.high))
                own[each.name] = points[each.name] if each.step or each.can_be_off else at
            if max(self.world.excess(own)) < 0:
                return own
        return points

    def draw_far(self, each: ActuatorDescription, points: dict[str, float]) -> float:
        """Return a set point anywhere in its range, or the one asked for, or the start."""
        drawn = self.rng.random()
        if drawn < 0.3:
            return points[each.name]
        at = each.start if drawn < 0.4 else float(self.rng.uniform(each.low, each.high))
        if each.step:
            at = round(at / each.step) * each.step
        return 0.0 if each.can_be_off and self.rng.random() < 0.2 else at

    def tell_of_others(self) -> None:
        """Report that somebody else chose set points, and that nothing was measured."""
        own = self.before = self.draw_own(self.plant.ask())
        told: dict[str, Any] = {"played": own, "missing": True}
        self.world.pass_by()
        if self.world.context:
            self.is_known = self.rng.random() < 0.8
            if self.is_known:
                told["context"] = self.world.told_context
        self.plant.tell(**told)


def play_fleet(rng: np.random.Generator, folder: Path, *, rounds: int) -> tuple[list[str], Report]:
    """Play a fleet of three machines of one kind, of which one has estimates that are too small.

    Args:
        rng: of all that is random.
        folder: for its journal.
        rounds: how many calls there are.

    Returns:
        What must not be, and the report of the checker.
    """
    first = draw_scenario(rng, recovers=True, limits=int(rng.integers(1, 3)))
    scenarios = {"a": first._replace(plant=first.times(0.25), short=4.0), "b": first, "c": first}
    worlds = {name: PlantWorld(scenario, rng) for name, scenario in scenarios.items()}
    plants = {name: scenario.plant for name, scenario in scenarios.items()}
    journal, findings = folder / "fleet.jsonl", list[str]()
    service = ServiceDescription(rotate="30 kB")
    fleet = PlantFleet.of(replace(first.plant, members=plants, service=service), journal=journal)
    logging.disable(logging.CRITICAL)
    try:
        if first.plant.contexts:
            fleet.announce({name: world.told_context for name, world in worlds.items()})
        for t in range(1, rounds + 1):
            _order_fleet(fleet, rng, t)
            told = {}
            for name, points in fleet.ask().items():
                world, is_told = worlds[name], rng.random() < 0.9
                over = max(world.excess(points))
                if fleet.explain(name).is_proven and over > 0 and name != "a":
                    findings.append(f"violation: {name}, round {t}: {float(over):.3g}")
                if is_told or rng.random() < 0.5:
                    told[name] = _report_of(world, points, is_missing=not is_told)
            for name, answer in fleet.tell(told).items():
                if answer is not None:
                    findings.append(f"rejected: {name}, round {t}: {answer}")
    finally:
        logging.disable(logging.NOTSET)
        fleet.close()
    return findings, check(str(journal))


def _order_fleet(fleet: PlantFleet, rng: np.random.Generator, t: int) -> None:
    """Give orders to members, once in a while."""
    name = str(rng.choice(fleet.names))
    if rng.random() < 0.05:
        fleet.hold("a look", (name,))
    elif rng.random() < 0.05:
        fleet.retreat("a storm", (name,))
    elif rng.random() < 0.3:
        for halted in fleet.halted:
            try:
                fleet.resume("go on", (halted,))
            except InvalidValueError as error:
                if "what was contradicted is" not in str(error):
                    raise


def _report_of(world: PlantWorld, points: dict[str, float], *, is_missing: bool) -> dict[str, Any]:
    """Return what a machine reports of a round, with the context of the next."""
    plant, rng = world.plant, world.rng
    told: dict[str, Any] = {"readings": world.read(points), "missing": is_missing}
    if plant.role == "filter":
        told["wanted"] = {a.name: float(rng.uniform(a.low, a.high)) for a in plant.actuators}
    else:
        told["cost_slopes"] = {a.name: float(rng.normal()) for a in plant.actuators}
    if plant.has_slopes:
        told["slopes"] = world.slopes(points)
    world.pass_by()
    if world.context and rng.random() < 0.9:
        told["context"] = world.told_context
    return told

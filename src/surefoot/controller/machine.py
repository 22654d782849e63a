"""One machine of a plant file: its units to the numbers of a rule and back, and its recoveries."""

from __future__ import annotations

import logging
import math
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from surefoot.controller.alarms import Alarm
from surefoot.controller.explanation import Explanation
from surefoot.controller.live import Amendment, player_difference
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.plant_units import name_bounds
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, StoreError, first_line, suggest
from surefoot.core.plain import PlainTable
from surefoot.core.types import FloatArray
from surefoot.guarantees import Promises
from surefoot.problems.plant import (
    PlantDescription,
    PlantProof,
    Scaling,
    check_description,
    difference_of,
    plant_data,
    plant_from_data,
    promises_of_plant,
    proof_of,
)
from surefoot.problems.plant.canonical import take_rest
from surefoot.problems.plant.player import has_rows, player_of
from surefoot.problems.plant.recovery import MeterReading, next_factor

__all__ = ["Machine", "PlantReport", "RoundEvent"]

_KEPT = 256
"""How many readings are kept to find out by how much constants were too small."""
_RECOVERY = re.compile(r"recovery \d+ of \d+")
"""Who amends a plant when it recovers."""
_STEEP = 1.0 + 2.0**-40
"""What rounding may make of a step as long as its ramp."""
_REPEAT = 10
"""A start that is not safe is reported again after so many rounds."""


class RoundEvent(NamedTuple):
    """A round of a plant that is over, in engineering units.

    Attributes:
        member: of a fleet, whose round it was; None of a single plant.
        round: its number.
        time: when it was reported, as the journal has it; empty without a journal.
        set_points: that were asked for.
        readings: of the limits; NaN where nothing was read.
        context: of the round; empty where it is unknown, and without contexts.
        g: the largest excess over a limit, in the unit of its scale; None without a reading.
        bound: the bound on it that was certified before; None without one.
        is_proven: whether the set points were certified before they were used.
        how: the next set points came about: "stepped", "held" or "retreated".
        alarms: those of the round.
    """

    member: str | None
    round: int
    time: str
    set_points: dict[str, float]
    readings: dict[str, float]
    context: dict[str, float]
    g: float | None
    bound: float | None
    is_proven: bool
    how: str
    alarms: tuple[Alarm, ...]


class PlantReport(NamedTuple):
    """What a round of a plant reported, in the numbers of its rule.

    Attributes:
        arguments: of ``tell``, without the context.
        context: of the next round; None if it is unknown.
        is_missing: whether nothing was measured that counts.
        readings: of the limits in their units; NaN where nothing was read.
        alarms: about what could not be used.
    """

    arguments: dict[str, Any]
    context: FloatArray | None
    is_missing: bool
    readings: FloatArray
    alarms: tuple[Alarm, ...]


@dataclass
class Machine:
    """A machine of a plant file, between its units and the numbers of its rule.

    Args:
        plant: the description.
        one_limit: whether the largest of several limits counts as one.
        factor: on every constant that is not proved.
        left: how many recoveries are left.
    """

    plant: PlantDescription
    one_limit: bool = False
    factor: float = 1.0
    left: int = 0
    _scaling: Scaling = field(init=False, repr=False)
    _read: deque[MeterReading] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._scaling = Scaling(self.plant, self.factor)
        self._read = deque(maxlen=_KEPT)

    @classmethod
    def of(cls, plant: PlantDescription, *, one_limit: bool = False) -> Self:
        """Return a machine before its first round; a description is checked as a file is."""
        check_description(plant)
        return cls(plant, one_limit, left=plant.policy.recoveries if _recovers(plant) else 0)

    @classmethod
    def of_run(cls, run: Run, plant: PlantDescription | None, *, one_limit: bool = False) -> Self:
        """Return a machine as it is at the end of a journal.

        Args:
            run: what is played there.
            plant: the description with what a journal does not have; None for the journal's own.
            one_limit: whether the largest of several limits counts as one.
        """
        stored = run.plant
        if stored is None:
            raise InvalidValueError("the journal is that of a controller, and of no plant file")
        try:
            description = plant_from_data(stored["description"])
            factor, left = float(stored["factor"]), int(stored["left"])
            description = replace(description, name=str(stored["name"]))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"the plant of the journal cannot be read: {first_line(error)}"
            ) from error
        if plant is not None:
            description = take_rest(description, plant)
        machine = cls(description, one_limit, factor, left)
        machine.refuse_another(run)
        return machine

    def refuse_another(self, run: Run) -> None:
        """Raise unless a run is that of the machine: files are untrusted, and versions differ."""
        most = self.plant.policy.recoveries if _recovers(self.plant) else 0
        used = most - self.left
        if not 0 <= used <= most or not 2.0**used <= self.factor < math.inf:
            raise StoreError(
                f"the plant of the journal cannot have factor = {self.factor:.6g} and "
                f"left = {self.left} of {most} recoveries"
            )
        if not used and self.factor > 1.0:
            raise StoreError(f"the plant of the journal cannot have factor = {self.factor:.6g}")
        mine = self.run()
        words = player_difference(run, (mine.algorithm, mine.guarantee))
        if not words and (run.start.shape != mine.start.shape or (run.start != mine.start).any()):
            words = f"start is {run.start.tolist()} there and {mine.start.tolist()} here"
        if words:
            raise StoreError(f"the journal plays no rule of its plant: {words}")

    # --- what is played --------------------------------------------------------------------------

    @property
    def scaling(self) -> Scaling:
        """Its units in the numbers of the rule."""
        return self._scaling

    @property
    def data(self) -> PlainTable:
        """What the journal has of the plant."""
        return {
            "name": self.plant.name,
            "description": plant_data(self.plant),
            "factor": self.factor,
            "left": self.left,
        }

    @property
    def proof(self) -> PlantProof:
        """What is proved of it."""
        return proof_of(self.plant, self.left, self.factor, one_limit=self.one_limit)

    @property
    def promises(self) -> Promises:
        """The same in three parts."""
        return promises_of_plant(self.plant, self.left, self.factor, one_limit=self.one_limit)

    def explain(self, explanation: Explanation) -> Explanation:
        """Return why set points may be used, with what is certified and promised in units."""
        bounds = self.name_bounds(explanation)
        return replace(
            explanation,
            guarantee=self.proof,
            promises=self.promises,
            limits=tuple(
                f"{limit.name} {limit.sense.replace('_', ' ')} {bounds[limit.name]:.6g} "
                f"{limit.unit}, of {limit.bound:g}"
                for limit in self.plant.limits
                if limit.name in bounds
            ),
        )

    def run(self) -> Run:
        """Return what is played."""
        policy = self.plant.policy
        player = player_of(self.plant, self._scaling, one_limit=self.one_limit)
        reaction = "retreat" if policy.on_contradiction == "recover" else policy.on_contradiction
        run = Run.of(
            player, self._scaling.start, on_contradiction=reaction, on_missing=policy.on_missing
        )
        return replace(run, plant=self.data)

    @property
    def has_rows(self) -> bool:
        """Whether the rule takes every limit separately."""
        return has_rows(self.plant) and not self.one_limit

    @property
    def needs_proposal(self) -> bool:
        """Whether somebody else proposes the set points."""
        return self.plant.role == "filter"

    # --- names -----------------------------------------------------------------------------------

    def name_set_points(self, action: FloatArray) -> dict[str, float]:
        """Return the set points of an action by name."""
        points = self._scaling.to_set_points(action).tolist()
        names = (each.name for each in self.plant.actuators)
        return dict(zip(names, points, strict=True))

    def name_context(self, place: Sequence[float] | FloatArray) -> dict[str, float]:
        """Return the numbers of a context by name."""
        names = (each.name for each in self.plant.contexts)
        return dict(zip(names, map(float, place), strict=True))

    def name_bounds(self, explanation: Explanation) -> dict[str, float]:
        """Return what is certified of limits, in their units, by name; empty if nothing is."""
        if explanation.bound is None:
            return {}
        return name_bounds(self._scaling, explanation.certificate, explanation.bound)

    def has_range_for(self, place: FloatArray) -> bool:
        """Return whether the numbers of a context are in their ranges."""
        pairs = zip(self.plant.contexts, place.tolist(), strict=True)
        return all(each.low <= number <= each.high for each, number in pairs)

    def _read_actuators(
        self, given: object, name: str, missing: FloatArray | None = None
    ) -> FloatArray:
        """Return a number for each actuator.

        Args:
            given: by name.
            name: in sentences.
            missing: what an actuator has that is not named; None if all must be.
        """
        names = [each.name for each in self.plant.actuators]
        table = _read_table(given, name, names, is_whole=missing is None)
        defaults = [math.nan] * len(names) if missing is None else missing.tolist()
        pairs = zip(names, defaults, strict=True)
        numbers = [_read_number(table[n], f"{name}.{n}") if n in table else d for n, d in pairs]
        return np.array(numbers)

    # --- a round ---------------------------------------------------------------------------------

    def read_report(
        self,
        loop: LoopState,
        *,
        readings: Mapping[str, float | None] | None,
        wanted: Mapping[str, float] | None,
        cost_slopes: Mapping[str, float] | None,
        slopes: Mapping[str, Mapping[str, float]] | None,
        played: Mapping[str, float] | None,
        context: Mapping[str, float | None] | None,
        missing: bool,
    ) -> PlantReport:
        """Return what a round reported, in the numbers of the rule; see :meth:`Plant.tell`."""
        t, alarms = loop.round, []
        seen = self._read_readings(readings)
        place, sentence = self.read_context(context)
        if sentence:
            alarms.append(Alarm.of(t + 1, "context", f"round {t + 1}: {sentence}"))
        arguments: dict[str, Any] = {"readings": seen}
        if played is not None:
            asked = self._scaling.to_set_points(loop.x)
            points = self._read_actuators(played, "played", asked)
            arguments["action"] = self._scaling.to_action(points.tolist())
            self._refuse_before_start(loop, arguments["action"])
        absent = [each.name for each, g in zip(self.plant.limits, seen, strict=True) if g != g]
        is_missing = bool(missing or absent or loop.has_no_context)
        if not isinstance(missing, bool):
            raise checks.invalid("missing", "True or False", missing)
        excess = None
        if not is_missing:
            excess = self._scaling.to_excess(seen.tolist())
            if words := self._distrust_start(loop, seen, excess):
                is_missing = True
                if t == 1 or not t % _REPEAT:
                    alarm = Alarm.of(t, "contradiction", f"round {t}: {words}", logging.CRITICAL)
                    alarms.append(alarm)
        proposal = self._read_proposal(wanted, cost_slopes, is_missing)
        if is_missing or excess is None:
            if not missing and readings is not None and absent and not loop.has_no_context:
                words = f"round {t}: no reading of {', '.join(absent)}, so nothing was measured"
                alarms.append(Alarm.of(t, "missing", words))
            return PlantReport(arguments, place, True, seen, tuple(alarms))
        arguments |= proposal | {"constraint_value": excess if self.has_rows else excess.max()}
        if (rows := self._read_slopes(slopes)) is not None:
            at = rows if self.has_rows else rows[int(excess.argmax())]
            arguments["constraint_subgradient"] = at
        return PlantReport(arguments, place, False, seen, tuple(alarms))

    def _refuse_before_start(self, loop: LoopState, action: FloatArray) -> None:
        """Raise where others chose set points before a reading has shown that the start is safe."""
        memory = getattr(loop.state, "memory", None)
        if memory is None or memory.rounds:
            return
        points = self._scaling.to_set_points(action).tolist()
        for each, point, here, there in zip(
            self.plant.actuators, points, loop.x.tolist(), action.tolist(), strict=True
        ):
            if here != there:
                raise InvalidValueError(
                    f"played must be the start until it was measured, got {each.name} = "
                    f"{point:.6g} {each.unit}, and its start is {each.start:.6g}: leave played "
                    "out, and say missing"
                )

    def remember(self, loop: LoopState, report: PlantReport) -> None:
        """Keep a reading, to find out by how much constants were too small.

        Args:
            loop: the state in which the round was played.
            report: of the round.
        """
        if report.is_missing:
            return
        action = report.arguments.get("action", loop.x)
        points = self._scaling.to_set_points(np.asarray(action))
        place = self.context_of(loop)
        where = np.zeros(0) if place is None else place
        excess = self._scaling.to_excess(report.readings.tolist())
        self._read.append(MeterReading(loop.round, points, where, excess))

    def _read_readings(self, readings: Mapping[str, float | None] | None) -> FloatArray:
        """Return a number for each limit; NaN for no reading."""
        names = [limit.name for limit in self.plant.limits]
        table = _read_table({} if readings is None else readings, "readings", names)
        numbers = [table.get(name) for name in names]
        pairs = zip(names, numbers, strict=True)
        each = [math.nan if v is None else _read_number(v, f"readings.{n}", True) for n, v in pairs]
        return np.array(each)

    def _read_proposal(self, wanted: Any, cost_slopes: Any, is_missing: bool) -> dict[str, Any]:
        """Return the proposal, or the cost gradient."""
        if self.needs_proposal:
            if cost_slopes is not None:
                raise InvalidValueError("cost_slopes must be left out for a filter: give wanted")
            if wanted is None and is_missing:
                return {}
            points = self._read_actuators(wanted, "wanted")
            return {"proposal": self._scaling.to_action(points.tolist())}
        if wanted is not None:
            raise InvalidValueError("wanted must be left out for a learner: give cost_slopes")
        if cost_slopes is None and is_missing:
            return {}
        gradient = self._read_actuators(cost_slopes, "cost_slopes")
        return {"cost_gradient": self._scaling.to_gradient(gradient.tolist())}

    def _read_slopes(self, slopes: Any) -> FloatArray | None:
        """Return the slope of each limit, a row each; None if none were reported."""
        if slopes is None:
            if self.plant.has_slopes:
                raise InvalidValueError(
                    "slopes must be given, because the plant file says slopes = true"
                )
            return None
        names = [limit.name for limit in self.plant.limits]
        table = _read_table(slopes, "slopes", names, is_whole=True)
        rows = [self._read_actuators(table[name], f"slopes.{name}") for name in names]
        return np.array([self._scaling.to_slopes(i, row.tolist()) for i, row in enumerate(rows)])

    def read_context(self, context: object) -> tuple[FloatArray | None, str]:
        """Return the numbers of a context, None if it is unknown, and why it is not used."""
        columns = self.plant.contexts
        if context is None or not columns:
            if context:
                raise InvalidValueError(f"context must be left out: {self._name} has none")
            return None, ""
        table = _read_table(context, "context", [each.name for each in columns])
        numbers, wrong = [], []
        for each in columns:
            value = table.get(each.name)
            number = (
                math.nan if value is None else _read_number(value, f"context.{each.name}", True)
            )
            if not each.low <= number <= each.high:
                what = "is unknown" if number != number else f"is {number:.6g} {each.unit}"
                beyond = f", beyond its range {each.low:g} to {each.high:g}"
                wrong.append(f"{each.name} {what}{'' if number != number else beyond}")
            numbers.append(number)
        if wrong:
            return None, f"{' and '.join(wrong)}: the start is used"
        return np.array(numbers), ""

    @property
    def _name(self) -> str:
        return self.plant.name or "the plant"

    def _distrust_start(self, loop: LoopState, seen: FloatArray, excess: FloatArray) -> str:
        """Return why the first reading does not show that the start is safe; empty if it does."""
        memory = getattr(loop.state, "memory", None)
        if memory is None or memory.rounds:
            return ""
        pairs = zip(self.plant.limits, seen.tolist(), excess.tolist(), strict=True)
        for (limit, reading, g), known in zip(pairs, self._scaling.limits, strict=True):
            if not g + known.value_error < 0:
                return (
                    f"{limit.name} = {reading:.6g} {limit.unit} at the start does not show that it "
                    f"is {limit.sense.replace('_', ' ')} {limit.bound:g}: nothing moves"
                )
        return ""

    @staticmethod
    def context_of(loop: LoopState) -> FloatArray | None:
        """Return the numbers of the context of a round; None where it is unknown."""
        state: Any = loop.state
        memory = getattr(state, "memory", None)
        context = getattr(memory, "context", None)
        return None if context is None else np.asarray(context.place)

    def event(
        self,
        member: str | None,
        loop: LoopState,
        after: LoopState,
        run: Run,
        report: PlantReport,
        alarms: Sequence[Alarm],
        time: str,
    ) -> RoundEvent:
        """Return a round that is over.

        Args:
            member: whose round it was.
            loop: the state in which it was played.
            after: the state after it.
            run: what was played.
            report: what was reported.
            alarms: that were raised.
            time: when it was reported.
        """
        place, bound = self.context_of(loop), loop.bound(run)
        names = [limit.name for limit in self.plant.limits]
        proof = after.proof
        value = None if report.is_missing else float(np.max(report.arguments["constraint_value"]))
        return RoundEvent(
            member=member,
            round=loop.round,
            time=time,
            set_points=self.name_set_points(loop.x),
            readings=dict(zip(names, report.readings.tolist(), strict=True)),
            context={} if place is None else self.name_context(place),
            g=value,
            bound=bound if bound < math.inf else None,
            is_proven=bound <= 0,
            how=str(getattr(proof, "how", "stepped")),
            alarms=tuple(alarms),
        )

    # --- what changes it -------------------------------------------------------------------------

    def find_recovery(self, run: Run, loop: LoopState) -> tuple[Machine, Amendment] | None:
        """Return the machine after a recovery, if one is due: at the start, when contradicted.

        An operator's order stands: what was contradicted before it waits for its end.
        """
        if not self.left or loop.halt is None or loop.halt.is_order or not loop.is_refuted:
            return None
        if loop.refused or not (loop.x == run.start).all() or self._is_start_refuted(run, loop):
            return None
        factor = self.factor * 2.0
        if self._read:
            factor = next_factor(self.plant, self.factor, list(self._read))
        number = self.plant.policy.recoveries - self.left + 1
        after = Machine(self.plant, self.one_limit, factor, self.left - 1)
        return after, Amendment(
            run=after.run(),
            by=f"recovery {number} of {self.plant.policy.recoveries}",
            reason=_reason_of(loop),
            changes=(("factor", self.factor, factor),),
        )

    def check_resume(self, loop: LoopState) -> None:
        """Raise where constants that were contradicted would decide again.

        Then only a plant that recovers goes on by itself, by larger ones; else an amendment does.
        """
        halt = loop.halt
        if halt is None or halt.is_order or not loop.is_refuted:
            return
        waits = _recovers(self.plant) and self.left
        rule = "wait until the plant recovers at its start" if waits else "follow an amendment"
        raise InvalidValueError(f"resume must {rule}: what was contradicted is {_reason_of(loop)}")

    def _is_start_refuted(self, run: Run, loop: LoopState) -> bool:
        """Return whether a reading at the start was above what its margin says."""
        if any(breach.constant == "anchor" for breach in loop.breaches):
            return True
        limits = self._scaling.limits
        errors = np.array([known.value_error + known.evaluation_error for known in limits])
        for reading in self._read:
            is_start = (self._scaling.to_action(reading.set_points.tolist()) == run.start).all()
            if is_start and (reading.excess - errors > -self._scaling.margins).any():
                return True
        return False

    def amend(self, plant: PlantDescription, by: str, reason: str) -> tuple[Machine, Amendment]:
        """Return the machine by another description of the same plant, and what the journal says.

        Raises:
            InvalidValueError: if nothing changes, or what cannot.
        """
        if _RECOVERY.fullmatch(by):
            raise InvalidValueError(f"by must be a person's words, got those of a recovery: {by!r}")
        changes = difference_of(self.plant, plant)
        if self.factor != 1.0:
            changes.append(("factor", self.factor, 1.0))
        if not changes:
            raise InvalidValueError("amend must change the plant, got the same description")
        for part, names in _names_of(self.plant).items():
            if names != _names_of(plant)[part]:
                raise InvalidValueError(
                    f"amend must keep the {part}, {', '.join(names)}: another plant has another "
                    "journal"
                )
        self._check_margins(plant, [path for path, _, _ in changes])
        after = Machine.of(plant, one_limit=self.one_limit)
        return after, Amendment(after.run(), by, reason, tuple(changes))

    def begin_anew(self, loop: LoopState, by: str, reason: str) -> tuple[Machine, Amendment]:
        """Return the same machine without what it has read, and what the journal says.

        Args:
            loop: its state.
            by: who orders it, in words.
            reason: in words.

        Raises:
            InvalidValueError: if data contradict its constants, which it would forget.
        """
        if loop.is_refuted:
            words = _reason_of(loop)
            raise InvalidValueError(f"a plant must be amended to begin anew, because {words}")
        after = Machine(self.plant, self.one_limit, self.factor, self.left)
        self.refuse_jump(loop, after.plant)
        return after, Amendment(after.run(), by, reason, ())

    def refuse_jump(self, loop: LoopState, plant: PlantDescription) -> None:
        """Raise where a ramp keeps an actuator from its start in the current round.

        Who begins anew is at the start, and takes the next reading as one of the start.

        Args:
            loop: its state.
            plant: which begins.
        """
        points = self._scaling.to_set_points(loop.x).tolist()
        for each, point in zip(plant.actuators, points, strict=True):
            step, way = each.largest_step(plant.round_minutes), abs(point - each.start)
            if step is not None and way > step * _STEEP:
                raise InvalidValueError(
                    f"a plant must be at its start to begin anew, got {each.name} = {point:.6g} "
                    f"{each.unit}, {way:.4g} {each.unit} away, and its ramp allows {step:.4g} "
                    f"{each.unit} a round: order it to retreat first"
                )

    def difference(self, plant: PlantDescription) -> list[tuple[str, Any, Any]]:
        """Return how another description differs: the paths of keys, with both values."""
        return difference_of(self.plant, plant)

    def _check_margins(self, plant: PlantDescription, paths: Sequence[str]) -> None:
        """Raise where the margin of the start must be stated again, and was not."""
        for limit, before in zip(plant.limits, self.plant.limits, strict=True):
            own = [p for p in paths if p.startswith("actuator.") and not p.endswith(".ramp")]
            own += [p for p in paths if p.startswith("context.") and p.endswith(".range")]
            own += [p for p in paths if p in _bounds_of(limit.name)]
            if own and limit.start_margin == before.start_margin:
                raise InvalidValueError(
                    f"limit.{limit.name}.start_margin must be stated again, with another why, "
                    f"because {own[0]} changes"
                )


def _reason_of(loop: LoopState) -> str:
    """Return what was contradicted, in words."""
    each = (b.sentence for b in (*loop.breaches, *loop.refused) if b.affects != "regret")
    sentence = next(each, "a constant")
    return sentence.partition(": ")[2] or sentence


def _bounds_of(limit: str) -> tuple[str, str]:
    return f"limit.{limit}.at_most", f"limit.{limit}.at_least"


def _recovers(plant: PlantDescription) -> bool:
    return plant.policy.on_contradiction == "recover"


def _names_of(plant: PlantDescription) -> dict[str, list[str]]:
    return {
        "actuators": [each.name for each in plant.actuators],
        "contexts": [each.name for each in plant.contexts],
        "limits": [each.name for each in plant.limits],
    }


def _read_table(
    given: object, name: str, names: Sequence[str], *, is_whole: bool = False
) -> Mapping[str, Any]:
    """Return a table with some of the names, or with all of them."""
    if not isinstance(given, Mapping):
        example = f"{{{names[0]!r}: ...}}"
        raise checks.invalid(name, f"a table by name such as {example}", given)
    for key in given:
        if key not in names:
            raise InvalidValueError(
                f"{name} must have names of the plant file, got {key!r}{suggest(key, names)}"
            )
    if is_whole and (absent := [each for each in names if each not in given]):
        raise InvalidValueError(f"{name} must have {', '.join(absent)}")
    return given


def _read_number(value: object, name: str, may_be_nan: bool = False) -> float:
    """Return one number."""
    number = float(checks.to_number(value, np.zeros(1), name))
    if math.isinf(number) or (number != number and not may_be_nan):
        raise checks.invalid(name, "a finite number", value)
    return number

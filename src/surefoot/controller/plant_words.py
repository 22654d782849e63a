"""What a plant says in its units: violations, other set points, and why a reading contradicts it.

A rule knows numbers, and its sentences are about g. Who runs a plant knows limits, set points and
constants by name: so a contradiction says what was read and what was certified, and its causes are
the constants that the certificate used, the one with the largest term first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from surefoot.controller.loop import LoopState, Run
from surefoot.controller.plant_units import name_bounds, name_start_bounds
from surefoot.core.feedback import Feedback
from surefoot.core.types import FloatArray
from surefoot.guarantees import Breach
from surefoot.knowledge.context import BEYOND_CHANGES
from surefoot.problems.plant import (
    LimitDescription,
    PlantDescription,
    Scaling,
    UsedConstant,
    plant_from_data,
    proof_of,
)

__all__ = ["PlantWords"]


class _Source(NamedTuple):
    """A reading that a certificate rests on.

    Attributes:
        weight: its share.
        x: where it was.
        place: in which context; None where that is the one of the certificate, or without one.
        age: how many rounds before.
    """

    weight: float
    x: FloatArray
    place: FloatArray | None
    age: float


class PlantWords:
    """The words of a plant.

    Args:
        stored: what a journal has of it.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._stored = stored

    @cached_property
    def scaling(self) -> Scaling:
        """Its units in the numbers of its rule."""
        return Scaling(plant_from_data(self._stored["description"]), float(self._stored["factor"]))

    @property
    def plant(self) -> PlantDescription:
        """Its description."""
        return self.scaling.plant

    # --- what happened ---------------------------------------------------------------------------

    def describe_violation(self, feedback: Feedback) -> str:
        """Return the limits beyond which something was read, with their readings."""
        values = self._values(feedback)
        words = [
            f"{limit.name} = {values[limit.name]:.6g} {limit.unit}, beyond its limit of "
            f"{limit.bound:g}"
            for limit in self.plant.limits
            if limit.name in values and _excess(limit, values[limit.name]) > 0
        ]
        return " and ".join(words)

    def describe_others(self, asked: FloatArray, played: FloatArray) -> str:
        """Return which set points were used instead of those that were asked for."""
        points = (self.scaling.to_set_points(x).tolist() for x in (asked, played))
        words = [
            f"{actuator.name} was {there:.6g} {actuator.unit} instead of {here:.6g}"
            for actuator, here, there in zip(self.plant.actuators, *points, strict=True)
            if here != there
        ]
        return " and ".join(words) or "the same set points were reported as others"

    # --- why a reading contradicts it ------------------------------------------------------------

    def explain(
        self, run: Run, loop: LoopState, feedback: Feedback, breach: Breach
    ) -> tuple[Breach, tuple[str, ...]]:
        """Return a contradiction in words, and its likely causes, the most likely first.

        Args:
            run: what is played.
            loop: the state in which the round was played.
            feedback: what it reported.
            breach: the contradiction in the words of its rule.
        """
        t, values = loop.round, self._values(feedback)
        is_own = feedback.action is not None
        if not is_own and (loop.x == run.start).all():
            words, limit = self._find_start(t, values)
            if limit is not None:
                margin = f"{limit.start_margin.value:.6g} {limit.unit}"
                cause = f"{limit.name}: start_margin {margin} is too large"
                return breach._replace(sentence=words), (cause, *_blame_meters([limit]))
        if BEYOND_CHANGES in breach.sentence:
            words, name = self._name_jump(breach.sentence)
            cause = f"changes of {name} is too small"
            return breach._replace(sentence=words), (cause, "an error of the context")
        known = {} if is_own else self._bounds(run, loop)
        found = self._find_above(values, known)
        if found is not None:
            words = (
                f"round {t}: {found.name} = {values[found.name]:.6g} {found.unit} was read, and "
                f"{_side(found)} {known[found.name]:.6g} {found.unit} was certified: more than "
                f"{_error(found)} explains"
            )
            causes = (*self._blame_constants(run, loop, found), *self._blame_others([found]))
            return breach._replace(sentence=words), causes
        limits = self.plant.limits
        words = breach.sentence.partition(": ")[2] or breach.sentence
        names = ", ".join(limit.name for limit in limits)
        words = f"round {t}: what was read of {names} contradicts a constant: {words}"
        constants = [each for limit in limits for each in self._suspects(limit)]
        causes = tuple(f"{_name(each)} is too small" for each in constants)
        return breach._replace(sentence=words), (*causes, *self._blame_others(limits))

    def _name_jump(self, sentence: str) -> tuple[str, str]:
        """Return how a context moved further than it changes, by its name, and the name."""
        contexts = self.plant.contexts
        for i, each in enumerate(contexts):
            column = "the context" if len(contexts) == 1 else f"column {i} of the context"
            if f": {column} changed" in sentence:
                return f"{sentence.replace(column, each.name)} {each.unit} a round", each.name
        return sentence, "a context"

    def explain_start(self, t: int, feedback: Feedback) -> str:
        """Return which margin of the start a round contradicts, in words; empty for none."""
        return self._find_start(t, self._values(feedback))[0]

    def _find_start(
        self, t: int, values: Mapping[str, float]
    ) -> tuple[str, LimitDescription | None]:
        """Return which limit is nearer at the start than its margin says, in words first."""
        bounds = name_start_bounds(self.plant)
        limit = self._find_above(values, bounds)
        if limit is None:
            return "", None
        words = (
            f"round {t}: {limit.name} = {values[limit.name]:.6g} {limit.unit} was read at the "
            f"start, where it is {_side(limit)} {bounds[limit.name]:.6g} {limit.unit} by its "
            f"start_margin: more than {_error(limit)} explains"
        )
        return words, limit

    def _values(self, feedback: Feedback) -> dict[str, float]:
        """Return what was read of limits, in their units, by name."""
        if feedback.readings is None:
            return {}
        pairs = zip(self.plant.limits, np.asarray(feedback.readings).tolist(), strict=True)
        return {limit.name: value for limit, value in pairs if math.isfinite(value)}

    def _bounds(self, run: Run, loop: LoopState) -> dict[str, float]:
        """Return what was certified of limits at the action at hand; empty if nothing was."""
        bound = loop.bound(run)
        return name_bounds(self.scaling, loop.certificate, bound) if bound < math.inf else {}

    def _find_above(
        self, values: Mapping[str, float], known: Mapping[str, float]
    ) -> LimitDescription | None:
        """Return the limit whose reading is furthest beyond what is known, in errors; or None."""
        worst, found = 0.0, None
        for limit in self.plant.limits:
            if limit.name not in values or limit.name not in known:
                continue
            over = _excess(limit, values[limit.name]) - _excess(limit, known[limit.name])
            over = (over - limit.meter_error.value) / limit.start_margin.value
            if over > worst:
                worst, found = over, limit
        return found

    def _suspects(self, limit: LimitDescription) -> list[UsedConstant]:
        """Return the constants of a limit by which certificates let it change."""
        proof = proof_of(self.plant, int(self._stored["left"]), self.scaling.factor)
        own = [each for each in proof.constants if each.limit == limit.name]
        moving = [each for each in own if each.name not in ("meter_error", "start_margin")]
        return [each for each in moving if each.origin != "proved"] or moving

    def _blame_constants(self, run: Run, loop: LoopState, limit: LimitDescription) -> Iterator[str]:
        """Yield the constants of a limit, those with the largest terms in the certificate first."""
        suspects = self._suspects(limit)
        terms = self._terms(run, loop, limit)
        if terms is None:
            yield from (f"{_name(each)} is too small" for each in suspects)
            return
        whole = sum(terms.values())
        used = [each for each in suspects if terms.get(each.name, 0.0) > 0.0]
        for each in sorted(used, key=lambda each: -terms[each.name]):
            part = f"its term was {terms[each.name]:.3g} of {whole:.3g} {limit.unit}"
            yield f"{_name(each)} is too small ({part})"
        if not used:
            yield from (f"{_name(each)} is too small" for each in suspects)

    def _blame_others(self, limits: Sequence[LimitDescription]) -> Iterator[str]:
        """Yield what else may be wrong."""
        yield from _blame_meters(limits)
        for limit in limits:
            if limit.is_convex:
                shape = "convex" if limit.sense == "at_most" else "concave"
                yield f"{limit.name} is not {shape} in the set points"
        if self.plant.contexts:
            yield "a reported context is wrong"
        for limit in limits:
            if limit.changes is None:
                yield f"{limit.name} has changed by itself (changes is 0)"

    # --- the terms of a certificate --------------------------------------------------------------

    def _terms(self, run: Run, loop: LoopState, limit: LimitDescription) -> dict[str, float] | None:
        """Return by how much each constant let a limit change in the certificate, in its unit.

        None where the certificate does not say on which readings it rests.
        """
        j = self.plant.limits.index(limit)
        state: Any = loop.state
        memory: Any = getattr(state, "memory", None)
        certificate: Any = loop.certificate
        place = getattr(getattr(memory, "context", None), "place", None)
        parts = getattr(certificate, "rows", None)
        if hasattr(memory, "rows"):
            if not parts:
                return None
            memory, certificate = memory.rows[j], parts[j]
        sources = _find_sources(memory, certificate, run.start)
        if sources is None:
            return None
        way = abs(self.scaling.to_set_points(loop.x - sum(s.weight * s.x for s in sources)))
        unit = float(self.scaling.limit_units[j])
        slopes = self.scaling.slopes_of(limit) * unit
        names = [f"steepness.{each.name}" for each in self.plant.actuators]
        terms = dict(zip(names, (slopes * way).tolist(), strict=True))
        known = self.scaling.limits[j]
        if known.drift:
            terms["changes"] = known.drift * unit * sum(s.weight * s.age for s in sources)
        for k, context in enumerate(self.plant.contexts):
            moves = [
                s.weight * _rise(known.columns[k], float(place[k] - s.place[k]))
                for s in sources
                if s.place is not None and place is not None
            ]
            terms[f"rise.{context.name}"] = unit * sum(moves)
        return terms


def _rise(column: Any, way: float) -> float:
    """Return how much g may rise over a way of one number of a context."""
    if column.adds is not None:
        return float(column.adds) * way
    is_harmless = column.worse == ("down" if way > 0 else "up")
    return 0.0 if is_harmless else float(column.G_c) * abs(way)


def _find_sources(memory: Any, certificate: Any, start: FloatArray) -> list[_Source] | None:
    """Return the readings that a certificate rests on, by what a memory keeps of them; or None."""
    now = float(getattr(memory, "rounds", 0.0)) + 1.0
    if hasattr(memory, "seen") and hasattr(certificate, "weights"):
        seen, places = memory.seen, {}
        for i, t in enumerate(seen.round.tolist()):
            places[int(t)] = (seen.x[i], seen.place[i], now - t)
        places[0] = (start, None, 0.0)
        pairs = zip(certificate.rounds, certificate.weights, strict=True)
        if any(t not in places for t in certificate.rounds):
            return None
        return [_Source(weight, *places[t]) for t, weight in pairs]
    if hasattr(memory, "last") and hasattr(certificate, "share") and hasattr(memory, "anchor"):
        anchors = [memory.anchor, memory.start, memory.last]
        anchor = next((a for a in anchors if int(a.round) == certificate.anchor_round), None)
        if anchor is None:
            return None
        shares = ((1.0 - certificate.share, anchor), (certificate.share, memory.last))
        return [_Source(weight, a.x, None, now - float(a.round)) for weight, a in shares]
    return None


def _excess(limit: LimitDescription, value: float) -> float:
    """Return how far a value is beyond a limit; below 0 inside."""
    over = value - limit.bound
    return over if limit.sense == "at_most" else -over


def _side(limit: LimitDescription) -> str:
    return limit.sense.replace("_", " ")


def _error(limit: LimitDescription) -> str:
    return f"its meter_error of {limit.meter_error.value:.6g} {limit.unit}"


def _blame_meters(limits: Sequence[LimitDescription]) -> Iterator[str]:
    """Yield what may be wrong with readings."""
    for limit in limits:
        error = f"{limit.meter_error.value:.6g} {limit.unit}"
        yield f"the meter of {limit.name} errs by more than {error}"
    yield "the plant had not settled when it was read"


def _name(constant: UsedConstant) -> str:
    unit = constant.unit.partition(",")[0]  # without which way is harmful
    return f"{constant.label} {constant.value:.6g} {unit}"

"""Try every theorem of the catalogue with the proved and with the estimated constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from surefoot.algorithms import ALGORITHMS, Entry, Guarantee, Tuned, try_tuning
from surefoot.core.constants import Constants
from surefoot.core.types import Region, needs_of
from surefoot.sets import Ball

__all__ = ["Offer", "Standing"]

Standing: TypeAlias = Literal["proved", "estimated", "none"]
"""The guarantee holds as the constants do; only if the estimates among them do; not to be had."""


class Offer(NamedTuple):
    """What one algorithm promises by one theorem before the run, or why it cannot.

    Attributes:
        name: class and constructor.
        standing: whether it is proved, rests on estimates, or cannot be had.
        tuned: the algorithm and its guarantee; None where it cannot be had.
        kind: what is promised of the constraint; "none" where it cannot be had.
        constraint: the same with its number for this horizon.
        regret: the bound for this horizon; inf where none is promised.
        regret_if: the bound if the estimates hold, where those would give a smaller one.
        rests_on: the estimates that it stands or falls with.
        missing: why it cannot be had.
    """

    name: str
    standing: Standing
    tuned: Tuned[Any] | None = None
    kind: str = "none"
    constraint: str = ""
    regret: float = math.inf
    regret_if: float = math.inf
    rests_on: tuple[str, ...] = ()
    missing: str = ""


def estimates_in(constants: Constants) -> tuple[str, ...]:
    """Return the names of the constants that are only estimates."""
    return tuple(name for name, origin in constants.origins.items() if origin == "estimated")


class Conditions(NamedTuple):
    """The problem that a theorem is applied to.

    Attributes:
        horizon: number of rounds.
        domain: the ball around the feasible set.
        feasible: the feasible set, where it knows its own geometry.
        linear: whether every constraint is known to be linear.
        changing: whether the constraint is another one in each round.
    """

    horizon: int
    domain: Ball
    feasible: Region | None
    linear: bool
    changing: bool


def offers_for(constants: Constants, conditions: Conditions) -> tuple[Offer, ...]:
    """Return one offer per algorithm and theorem, in the order of the catalogue."""
    return tuple(
        _make_offer(partial(_attempt, kind, tuning, conditions), constants, conditions.horizon)
        for kind in ALGORITHMS
        for tuning in kind.tunings
    )


def _attempt(kind: type, tuning: str, conditions: Conditions, known: Constants) -> Entry:
    """Return what a theorem says for some constants."""
    entry = try_tuning(kind, tuning, known, *conditions[:3])
    why_not = None if entry.tuned is None else _refuse(entry.tuned, conditions, known)
    return entry if why_not is None else entry._replace(tuned=None, note=why_not)


def _refuse(tuned: Tuned[Any], conditions: Conditions, known: Constants) -> str | None:
    """Return why a theorem is not for such a problem; None if it is."""
    guarantee = tuned.guarantee
    if conditions.changing and not guarantee.changing:
        return f"{guarantee.name} is for a constraint that does not change"
    if guarantee.constraint_form == "linear" and not conditions.linear:
        return f"{guarantee.name} needs linear constraints, which these are not known to be"
    allowed = tuned.algorithm.errors
    errors = {"slope": known.slope_error, "value": known.value_error, "drift": known.drift}
    if not needs_of(tuned.algorithm).constraint_subgradients:
        del errors["slope"]  # it sees none
    for name, error in errors.items():
        if error and (allowed is None or not vars(allowed)[name]):
            full = name if name == "drift" else f"{name}_error"
            return f"{guarantee.name} does not allow for {full} = {error:g}"
    return None


def _make_offer(attempt: Callable[[Constants], Entry], constants: Constants, horizon: int) -> Offer:
    """Try the proved constants first; if they do not suffice, the estimates, labelled so."""
    guesses = estimates_in(constants)
    hoped = attempt(constants)
    sure = attempt(_without(constants, *guesses)) if guesses else hoped
    if hoped.tuned is None and sure.tuned is None:
        return Offer(hoped.name, "none", missing=hoped.note)
    regret_if = _regret(hoped, horizon)
    without = {n: attempt(_without(constants, n)) for n in guesses}
    if sure.tuned is not None:
        offer = _offer(sure.name, "proved", sure.tuned, horizon)
        if regret_if < offer.regret:
            counts = [n for n in guesses if _regret(without[n], horizon) > regret_if]
            offer = offer._replace(regret_if=regret_if, rests_on=tuple(counts) or guesses)
        return offer
    assert hoped.tuned is not None
    needed = [n for n in guesses if without[n].tuned is None]
    return _offer(hoped.name, "estimated", hoped.tuned, horizon)._replace(
        regret=math.inf, regret_if=regret_if, rests_on=tuple(needed) or guesses
    )


def _offer(name: str, standing: Standing, tuned: Tuned[Any], horizon: int) -> Offer:
    kind, promise = tuned.guarantee.kind, _promise(tuned.guarantee, horizon)
    return Offer(name, standing, tuned, kind, promise, float(tuned.guarantee.regret_bound(horizon)))


def _without(constants: Constants, *names: str) -> Constants:
    """Return the constants without some of them; sigma and its level are dropped together."""
    gone = set(names) | ({"sigma", "epsilon"} if {"sigma", "epsilon"} & set(names) else set())
    return constants.with_origin("given", **dict.fromkeys(gone)) if gone else constants


def _regret(entry: Entry, horizon: int) -> float:
    """Return the bound of a theorem; inf where it does not apply."""
    return math.inf if entry.tuned is None else float(entry.tuned.guarantee.regret_bound(horizon))


def _promise(guarantee: Guarantee, horizon: int) -> str:
    """Return what is promised about the constraint, with its number for a horizon."""
    if guarantee.kind == "every round":
        return "g <= 0 in every round"
    if guarantee.kind == "after t0":
        first = guarantee.first_feasible
        if not first <= horizon:
            return f"g <= 0 from round {first:g}, after the last"
        return f"g <= 0 from round {first}"
    bounds = {measure: float(bound) for measure, bound in guarantee.bounds(horizon).items()}
    if guarantee.kind == "bounded":
        return f"g <= {bounds['round']:.3g} in round {horizon}"
    for measure, words in (("squared", "sum [g]+^2"), ("hard", "sum [g]+"), ("soft", "sum g")):
        if measure in bounds:
            return f"{words} <= {bounds[measure]:.3g}"
    return f"sum g_i <= {bounds['rows']:.3g} for each i" if "rows" in bounds else "nothing"

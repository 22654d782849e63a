"""Try every theorem of the catalogue with proved and estimated constants, and report."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.core.constants import Constants, constants_table
from surefoot.core.display import PROMISES, Table, facts_html
from surefoot.core.types import Array, Set, needs_of
from surefoot.guarantees import Guarantee, Tuned
from surefoot.rules import ALGORITHMS, Entry, try_tuning
from surefoot.sets import Ball

__all__ = ["Calibration", "Offer", "Probe", "Standing"]

Standing: TypeAlias = Literal["proved", "estimated", "none"]
"""The guarantee is proved; it holds only if the estimates do; it does not apply."""


class Offer(NamedTuple):
    """What one algorithm promises by one theorem before the run, or why that does not apply.

    Attributes:
        name: class and constructor.
        standing: whether it is proved, assumes estimates, or does not apply.
        tuned: the algorithm and its guarantee; None if it does not apply.
        kind: what is promised of the constraint; "none" if it does not apply.
        constraint: the same with its number for this horizon.
        regret: the bound for this horizon; inf if none is promised.
        regret_if: the bound if the estimates hold, if that is smaller.
        assumes: the estimates that must hold.
        missing: why it does not apply.
        worth: words for a bound that every rule keeps; else empty.
    """

    name: str
    standing: Standing
    tuned: Tuned[Any] | None = None
    kind: str = "none"
    constraint: str = ""
    regret: float = math.inf
    regret_if: float = math.inf
    assumes: tuple[str, ...] = ()
    missing: str = ""
    worth: str = ""


def estimates_in(constants: Constants) -> tuple[str, ...]:
    """Return the names of the constants that are only estimates."""
    return tuple(name for name, origin in constants.origins.items() if origin == "estimated")


class Conditions(NamedTuple):
    """The problem that a theorem is applied to.

    Attributes:
        horizon: number of rounds.
        domain: the ball around the feasible set.
        feasible: the feasible set, if its geometry is known.
        linear: whether every constraint is known to be linear.
        changing: whether the constraint changes from round to round.
    """

    horizon: int
    domain: Ball
    feasible: Set | None
    linear: bool
    changing: bool


def offers_for(constants: Constants, conditions: Conditions) -> tuple[Offer, ...]:
    """Return one offer per algorithm and theorem, in the order of the catalogue."""
    return tuple(
        _make_offer(partial(_attempt, kind, tuning, conditions), constants, conditions.horizon)
        for kind in ALGORITHMS
        for tuning in kind.tunings
    )


def _attempt(kind: type, tuning: str, conditions: Conditions, constants: Constants) -> Entry:
    """Return the entry of a theorem for some constants."""
    entry = try_tuning(kind, tuning, constants, *conditions[:3])
    why_not = None if entry.tuned is None else _explain_mismatch(entry.tuned, conditions, constants)
    return entry if why_not is None else entry._replace(tuned=None, note=why_not)


def _explain_mismatch(
    tuned: Tuned[Any], conditions: Conditions, constants: Constants
) -> str | None:
    """Return why a theorem does not apply to a problem; None if it does."""
    guarantee = tuned.guarantee
    if conditions.changing and not guarantee.changing:
        return f"{guarantee.name} is for a constraint that does not change"
    if guarantee.constraint_form == "linear" and not conditions.linear:
        return f"{guarantee.name} needs linear constraints, which these are not known to be"
    allowed = tuned.algorithm.errors
    errors = {
        "slope": constants.slope_error,
        "value": constants.value_error,
        "drift": constants.drift,
    }
    if not needs_of(tuned.algorithm).constraint_subgradients:
        del errors["slope"]  # it receives none
    for name, error in errors.items():
        if error and (allowed is None or not vars(allowed)[name]):
            full = name if name == "drift" else f"{name}_error"
            return f"{guarantee.name} does not allow for {full} = {error:g}"
    return None


def _make_offer(attempt: Callable[[Constants], Entry], constants: Constants, horizon: int) -> Offer:
    """Try the proved constants first; if they do not suffice, the estimates."""
    guesses = estimates_in(constants)
    with_estimates = attempt(constants)
    without_estimates = attempt(_without(constants, *guesses)) if guesses else with_estimates
    tuned = without_estimates.tuned or with_estimates.tuned
    if tuned is None:
        return Offer(with_estimates.name, "none", missing=with_estimates.note)
    offer = Offer(
        with_estimates.name,
        "estimated" if without_estimates.tuned is None else "proved",
        tuned,
        tuned.guarantee.kind,
        _promise(tuned.guarantee, horizon),
        _rank(without_estimates, horizon)[1],
        worth=tuned.guarantee.describe_worth(horizon),
    )
    best = _rank(with_estimates, horizon)
    if best >= _rank(without_estimates, horizon):
        return offer
    # An estimate counts if, without it, the theorem does not apply or has a larger bound.
    part = int(without_estimates.tuned is not None)
    ranks = {n: _rank(attempt(_without(constants, n)), horizon) for n in guesses}
    counts = [n for n, rank in ranks.items() if rank[part] > best[part]]
    return offer._replace(regret_if=best[1], assumes=tuple(counts) or guesses)


def _without(constants: Constants, *names: str) -> Constants:
    """Return the constants without some of them; sigma and its level are dropped together."""
    dropped = set(names) | ({"sigma", "epsilon"} if {"sigma", "epsilon"} & set(names) else set())
    return constants.with_origin("given", **dict.fromkeys(dropped)) if dropped else constants


def _rank(entry: Entry, horizon: int) -> tuple[bool, float]:
    """Return whether a theorem does not apply, and its bound on the regret; less is better."""
    tuned = entry.tuned
    if tuned is None or tuned.guarantee.promises.in_advance is None:
        return tuned is None, math.inf
    return False, float(tuned.guarantee.regret_bound(horizon))


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
    for measure, words in (
        ("sum_squared", "sum [g]+^2"),
        ("sum_positive", "sum [g]+"),
        ("positive_sum", "sum g"),
    ):
        if measure in bounds:
            return f"{words} <= {bounds[measure]:.3g}"
    return f"sum g_i <= {bounds['rows']:.3g} for each i" if "rows" in bounds else "nothing"


class Probe(NamedTuple):
    """The answer of the constraint at a point.

    Attributes:
        point: where it was queried.
        value: g there.
        subgradient: one subgradient there.
    """

    point: Array
    value: float
    subgradient: Array

    @property
    def slope_norm(self) -> float:
        """The norm of the subgradient."""
        return float(np.linalg.norm(self.subgradient))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants with their origins, and every guarantee that they allow or do not allow.

    Print it for a table.

    Attributes:
        constants: all of them; an origin of "estimated" proves nothing.
        horizon: number of rounds.
        offers: one for each algorithm and theorem.
        probes: the answers of the constraint, the start first.
        radius: of the ball around the start in which it was queried, which is certainly feasible.
        notes: further remarks.
    """

    constants: Constants
    horizon: int
    offers: tuple[Offer, ...]
    probes: tuple[Probe, ...] = ()
    radius: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def proved(self) -> tuple[Offer, ...]:
        """The guarantees that apply, best first.

        Those of every round come first, and among them the rules that observations certify: with
        a smoothness constant, then with only G_g. They have the least regret
        of the rules that need no more than the feedback of a round; then by the regret bound.
        """
        return _sort(o for o in self.offers if o.standing == "proved")

    @property
    def only_if(self) -> tuple[Offer, ...]:
        """The guarantees that assume an estimate."""
        return _sort(o for o in self.offers if o.standing == "estimated")

    @property
    def missing(self) -> tuple[Offer, ...]:
        """The guarantees that do not apply, each with what is missing."""
        return tuple(o for o in self.offers if o.standing == "none")

    @property
    def best(self) -> Offer | None:
        """The guarantee to begin with, the first proved one; None if there is none."""
        return next(iter(self.proved), None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        best = self.best
        first = "" if best is None else f", first {best.name} ({best.constraint})"
        return (
            f"<Calibration for T = {self.horizon}: {len(self.proved)} guarantees proved{first}; "
            f"{len(self.only_if)} only if estimates hold; {len(self.missing)} do not apply; "
            "print it for the table>"
        )

    def _repr_html_(self) -> str:
        facts = {"probes": self._describe_probes()} | {
            f"note {i + 1}": n for i, n in enumerate(self.notes)
        }
        tables = [table._replace(head=(title, *table.head[1:])) for title, table in self._tables()]
        constants = constants_table(self.constants)
        return facts_html(f"Calibration for T = {self.horizon}", facts, constants, *tables)

    def _describe_probes(self) -> str:
        if not self.probes:
            return "from the constants only: g was not queried"
        points = f"{len(self.probes)} point{'s' if len(self.probes) > 1 else ''}"
        where = f" within {self.radius:.3g} of the start, all feasible" if self.radius else ""
        return f"g queried at {points}{where}"

    def _tables(self) -> Iterator[tuple[str, Table]]:
        """Return the tables of what applies, only if estimates hold, and not at all."""
        head = ("tuned by", "constraint", "regret at most")
        proved = [(o.name, o.constraint, _state_regret(o)) for o in self.proved]
        yield "guarantees that apply" if proved else "no guarantee applies", Table(head, proved)
        if self.only_if:
            guesses = ", ".join(estimates_in(self.constants))
            rows = [
                (o.name, o.constraint, f"{o.regret_if:.4g}", ", ".join(o.assumes))
                for o in self.only_if
            ]
            title = f"only if the estimates hold ({guesses}): no guarantee"
            yield title, Table((*head, "assumes"), rows)
        if self.missing:
            missing = [(o.name, o.missing) for o in self.missing]
            yield "guarantees that do not apply", Table(("tuned by", "because"), missing)

    def _lines(self) -> Iterator[str]:
        yield f"for T = {self.horizon}; {self._describe_probes()}"
        yield from (*self.notes, "")
        yield from _indent(constants_table(self.constants)._replace(right=()))
        for title, table in self._tables():
            yield from ("", title)
            yield from _indent(table) if table.rows else ()


# The rules to begin with: in measurements they lead by far; their bounds for any costs do not.
_FIRST = ("CertifiedDualAveraging.default", "CertifiedOGD.default", "LeaderFollower.default")


def _sort(offers: Iterator[Offer]) -> tuple[Offer, ...]:
    def place(offer: Offer) -> tuple[int, int, float, str]:
        first = _FIRST.index(offer.name) if offer.name in _FIRST else len(_FIRST)
        regret = min(offer.regret, offer.regret_if)
        return list(PROMISES).index(offer.kind), first, regret, offer.name

    return tuple(sorted(offers, key=place))


def _state_regret(offer: Offer) -> str:
    if offer.regret < math.inf:
        return f"{offer.regret:.4g}" + (f", {offer.worth}" if offer.worth else "")
    if offer.regret_if < math.inf:
        return f"no number; {offer.regret_if:.4g} if {', '.join(offer.assumes)} holds"
    has_G_f = offer.tuned is not None and offer.tuned.guarantee.constants.G_f is not None
    return "no number in advance" if has_G_f else "no number without G_f"


def _indent(table: Table) -> Iterator[str]:
    return (f"  {line}" for line in table.lines())

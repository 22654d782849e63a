"""The result of a calibration, as a record and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.core.constants import Constants, constants_table
from surefoot.core.display import Table, facts_html
from surefoot.problems.calibration.offers import Offer, estimates_in
from surefoot.problems.calibration.probes import Probe

__all__ = ["Calibration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants with their origins, and every guarantee that they allow or do not allow.

    Print it for a table.

    Attributes:
        constants: all that is known; an origin of "estimated" proves nothing.
        horizon: number of rounds.
        offers: one for each algorithm and theorem.
        probes: what the constraint said, the start first.
        radius: how far from the start it was asked: every point within is certainly feasible.
        notes: what else is worth knowing.
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

        Those of every round come first, and among them the rules that are certified by what was
        observed: with a bound on the curvature, then with G_g alone. They have the least regret
        of the rules that need no more than the feedback of a round; then by the regret bound.
        """
        return _sort(o for o in self.offers if o.standing == "proved")

    @property
    def only_if(self) -> tuple[Offer, ...]:
        """The guarantees that rest on an estimate."""
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
        facts = {"asked": self._say_where()} | {
            f"note {i + 1}": n for i, n in enumerate(self.notes)
        }
        tables = [table._replace(head=(title, *table.head[1:])) for title, table in self._tables()]
        constants = constants_table(self.constants)
        return facts_html(f"Calibration for T = {self.horizon}", facts, constants, *tables)

    def _say_where(self) -> str:
        if not self.probes:
            return "from the constants alone: g was not queried"
        points = f"{len(self.probes)} point{'s' if len(self.probes) > 1 else ''}"
        where = f" within {self.radius:.3g} of the start, all feasible" if self.radius else ""
        return f"g queried at {points}{where}"

    def _tables(self) -> Iterator[tuple[str, Table]]:
        """Return the tables of what applies, only if estimates hold, and not at all."""
        head = ("tuned by", "constraint", "regret at most")
        proved = [(o.name, o.constraint, _regret(o)) for o in self.proved]
        yield "guarantees that apply" if proved else "no guarantee applies", Table(head, proved)
        if self.only_if:
            guesses = ", ".join(estimates_in(self.constants))
            rows = [
                (o.name, o.constraint, f"{o.regret_if:.4g}", ", ".join(o.rests_on))
                for o in self.only_if
            ]
            title = f"only if the estimates hold ({guesses}): no guarantee"
            yield title, Table((*head, "rests on"), rows)
        if self.missing:
            missing = [(o.name, o.missing) for o in self.missing]
            yield "guarantees that do not apply", Table(("tuned by", "because"), missing)

    def _lines(self) -> Iterator[str]:
        yield f"for T = {self.horizon}; {self._say_where()}"
        yield from (*self.notes, "")
        yield from _indent(constants_table(self.constants)._replace(right=()))
        for title, table in self._tables():
            yield from ("", title)
            yield from _indent(table) if table.rows else ()


# What to begin with: measured, they lead by far; their bounds, which hold for any costs, do not.
_FIRST = (
    "CertifiedDualAveraging.default",
    "CertifiedOGD.default",
    "LeaderFollower.default",
)
_ORDER = ("every round", "after t0", "bounded", "cumulative", "hard", "squared", "none")


def _sort(offers: Iterator[Offer]) -> tuple[Offer, ...]:
    def place(offer: Offer) -> tuple[int, int, float, str]:
        first = _FIRST.index(offer.name) if offer.name in _FIRST else len(_FIRST)
        regret = min(offer.regret, offer.regret_if)
        return _ORDER.index(offer.kind), first, regret, offer.name

    return tuple(sorted(offers, key=place))


def _regret(offer: Offer) -> str:
    if offer.regret < math.inf:
        return f"{offer.regret:.4g}"
    if offer.regret_if < math.inf:
        return f"no number; {offer.regret_if:.4g} if {', '.join(offer.rests_on)} holds"
    return "no number without G_f"


def _indent(table: Table) -> Iterator[str]:
    return (f"  {line}" for line in table.lines())

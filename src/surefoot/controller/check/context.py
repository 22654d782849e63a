"""Contexts that are told before a round: the mean of up_i + w(c_i, c) over rounds.

With w what g can rise by from the contexts of the rounds to that of p, a sum over columns, the
drift since then, and G_g |p - the mean of their actions|. Where g is convex in actions and contexts
together, w from the mean of the c_i instead.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

from .exact import Bounds, Point, UnjudgedError, WrongError, distance, mean, number, numbers
from .hull import Hull
from .kind import UNIT, Certificate, Reading, Run, close, is_known, refuse_other_keys

__all__ = ["Contexts", "read_column"]

_UNKNOWN = "it rests on a reading that errs, and may be certified by what else was known there"
_KINDS = {"Columns": "columns joint", "AnnouncedDrift": ""}


class Column(NamedTuple):
    """What is known of one number of a context.

    Attributes:
        up: what a unit more of it adds to g at most.
        down: what a unit less adds.
        changes: how far it moves from a round to the next at most; None if unknown.
    """

    up: Fraction
    down: Fraction
    changes: Fraction | None

    def rise(self, way: Fraction) -> Fraction:
        """Return what g can rise by over a way."""
        return self.up * way if way > 0 else self.down * -way

    @property
    def step(self) -> Fraction | None:
        """What g can rise by from a round to the next; None if nothing bounds it."""
        return None if self.changes is None else max(self.up, self.down) * self.changes


def read_column(table: Any) -> Column:
    """Return a column, as a journal has it."""
    refuse_other_keys(table, "class adds G_c worse changes")
    worse, zero = table["worse"], Fraction(0)
    if (table["adds"] is None) == (table["G_c"] is None) or worse not in (None, "up", "down"):
        raise WrongError("a column of a context has both adds and G_c, or neither")
    changes = None if table["changes"] is None else number(table["changes"], "changes", 0)
    if table["adds"] is not None:
        adds = number(table["adds"], "adds")
        return Column(adds, -adds, changes)
    G_c = number(table["G_c"], "G_c", 0)
    return Column(zero if worse == "down" else G_c, zero if worse == "up" else G_c, changes)


class Contexts(Hull):
    """ContextHull."""

    keys: ClassVar[str] = f"{Hull.keys} context"
    certificates: ClassVar[tuple[str, ...]] = ("ContextCertificate",)
    in_contexts: bool = True
    columns: tuple[Column, ...]
    is_joint: bool

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        told = table["context"]
        name = told.get("class")
        if name not in _KINDS:
            raise WrongError(f"no kind of context is called {name!r}")
        refuse_other_keys(told, f"class {_KINDS[name]}")
        self.is_joint = told.get("joint", False) is True
        if name == "AnnouncedDrift":  # a sum of what g rose by, so far nothing
            self.first_context = {"place": [0.0]}
            self.columns = (Column(Fraction(1), Fraction(1), None),)
        else:
            self.columns = tuple(read_column(table) for table in told["columns"]["tuple"])

    def rise(self, before: Point, now: Point) -> Fraction:
        """Return what g can rise by from a context to another."""
        if not len(self.columns) == len(before) == len(now):
            raise WrongError("a context has another length than its columns")
        each = zip(self.columns, before, now, strict=True)
        return sum((column.rise(b - a) for column, a, b in each), Fraction(0))

    @property
    def step(self) -> Fraction | None:
        """What g can rise by from the context of a round to the next; None if nothing bounds it."""
        steps = [column.step for column in self.columns]
        known = [step for step in steps if step is not None]
        return sum(known, Fraction(0)) if len(known) == len(steps) else None

    def find_jump(self, before: Point, now: Point, rounds: int) -> bool:
        """Return whether a context moved further than it changes in so many rounds."""
        each = zip(self.columns, before, now, strict=True)
        return any(
            column.changes is not None and abs(b - a) > rounds * column.changes * (1 + 16 * UNIT)
            for column, a, b in each
        )

    def _mean(
        self, run: Run, c: Certificate, counts: Literal["own", "least", "raw"] = "own"
    ) -> tuple[Point, Fraction]:
        """Return the mean of the actions of a certificate, and what g is at most there.

        Args:
            run: the rounds so far.
            c: the certificate.
            counts: what each round counts as: what is known of it here, the least that its player
                may have known, or what was read alone.
        """
        now, rows = run.place, []
        if now is None:
            raise WrongError("its context was not told")
        for count in numbers(c["rounds"], "rounds"):
            i = run.round_of(count)
            if count == 0:  # what is known of the start in every context
                if run.start_bound is None:
                    raise WrongError("its certificate rests on a start_bound, and there is none")
                x, up, place = run.start, run.start_bound, now
            else:
                x, up, known = self._row(run, i, counts)
                up += (run.t - i) * run.drift
                if known is None:  # its context was unknown, and moved as it changes since then
                    up += (run.t - i) * (self.step or Fraction(0))
                place = now if known is None else known
            rows.append((x, [up if self.is_joint else up + self.rise(place, now)], place))
        weights = [number(part, "a weight", 0) for part in numbers(c["weights"], "weights")]
        points, levels, places = zip(*rows, strict=True) if rows else ((), (), ())
        (level,) = mean(weights, levels)
        if self.is_joint:
            level += self.rise(mean(weights, places), now)
        return mean(weights, points), level

    def _row(self, run: Run, i: int, counts: str) -> tuple[Point, Fraction, Point | None]:
        """Return the action of a round, what g was at most there, and its context.

        A round that was not read has what was certified of its action, at most 0; that may be so
        in a context that nobody knows.
        """
        reading, proof = run.readings.get(i), run.proofs.get(i)
        has_place = i in run.places or (reading is None and self.step is not None)
        if not has_place or (reading is None and proof is None):
            raise WrongError(f"its certificate rests on round {i}, which was not read")
        if reading is None:
            assert proof is not None
            up = Fraction(0) if counts == "raw" else proof[0]
            return run.actions[i], up, run.places.get(i)
        if counts == "least":
            up = self._least(run, reading)
        else:
            up = (reading.raw if counts == "raw" else reading.own)[0]
        if counts == "raw" and proof is not None:  # of an action that may be held
            up = max(up, Fraction(0))
        return reading.x, up, run.places[i]

    def _least(self, run: Run, reading: Reading) -> Fraction:
        """Return the least that a player may have known of g where it was read.

        Where readings err, it knows what all balls together certify of an action, which would take
        a search; but never less than g itself, which is at least the reading less its error.
        """
        is_exact = reading.raw[0] - reading.low[0] <= 2 * self.noise
        return reading.own[0] if is_exact or reading == run.first() else reading.low[0]

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound by the weights of rounds, in the context of the current one."""
        point, level = self._mean(run, c)
        far = self.G_g * distance(p, point)
        if level + far > 0 and self._mean(run, c, "least")[1] + far <= 0:
            raise UnjudgedError(_UNKNOWN)
        return [level + far]

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return nothing: see :meth:`_least`."""
        return None

    def confirm(self, run: Run, p: Point, c: Certificate, less: Fraction = Fraction(0)) -> None:
        """Raise unless place, level and bound are those of the rounds."""
        point, level = self._mean(run, c)
        levels = [level, *(self._mean(run, c, counts)[1] for counts in ("least", "raw"))]
        place = [number(part, "place") for part in numbers(c["place"], "place")]
        if place != run.place or number(c["G_g"], "G_g") != self.G_g:
            raise WrongError("its certificate has another context or G_g than was told")
        steep = max(abs(part) for column in self.columns for part in column[:2])
        sizes = abs(level) + sum(abs(part) for part in place) * max(steep, Fraction(1))
        noise = 4 * self.noise + 256 * UNIT * (sizes + self.G_g * self.reach)
        rest = self.G_g * distance(p, point) + self.noise
        claimed = number(c["level"], "level")
        if not is_known(claimed, levels, noise):
            raise WrongError("the level of its certificate is not that of its rounds")
        if not close(number(c["bound"], "bound"), min(claimed + rest, Fraction(0)), noise):
            raise WrongError("the bound of its certificate is not that of its rounds")

"""Contexts that are told before a round: the mean of up_i + w(c_i, c) over rounds.

With w what g can rise by from the contexts of the rounds to that of p, and G_g |p - the mean of
their actions|. Where g is convex in actions and contexts together, G_c |c - the mean of the c_i|
instead.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from .exact import Bounds, Point, UnjudgedError, WrongError, distance, mean, number, numbers
from .hull import Hull
from .kind import UNIT, Certificate, Reading, Run, close, is_known, refuse_other_keys

__all__ = ["Contexts"]

_UNKNOWN = "it rests on a reading that errs, and may be certified by what else was known there"
_KINDS = {
    "Additive": "q",
    "LipschitzContext": "G_c one_sided",
    "JointContext": "G_c one_sided",
    "AnnouncedDrift": "",
}


class Contexts(Hull):
    """ContextHull."""

    keys: ClassVar[str] = f"{Hull.keys} context"
    certificates: ClassVar[tuple[str, ...]] = ("ContextCertificate",)
    in_contexts: ClassVar[bool] = True
    name: Any
    G_c: Fraction
    is_joint: Any
    is_one_sided: Any

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        told = table["context"]
        self.name = told.get("class")
        if self.name not in _KINDS:
            raise WrongError(f"no kind of context is called {self.name!r}")
        refuse_other_keys(told, f"class {_KINDS[self.name]}")
        self.G_c = number(told.get("G_c", 0.0), "G_c", 0)
        if self.name == "AnnouncedDrift":  # a sum of what g rose by, so far nothing
            self.first_context = {"place": [0.0]}
        self.is_joint, self.is_one_sided = self.name == "JointContext", told.get("one_sided")

    def rise(self, before: Point, now: Point) -> Fraction:
        """Return what g can rise by from a context to another."""
        if self.name in ("Additive", "AnnouncedDrift"):
            way = now[0] - before[0]
            return abs(way) if self.name == "AnnouncedDrift" else way
        if self.is_one_sided:
            before = [min(pair) for pair in zip(before, now, strict=True)]
        return self.G_c * distance(now, before)

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
            elif i not in run.readings or i not in run.places:
                raise WrongError(f"its certificate rests on round {i}, which was not read")
            else:
                reading, place = run.readings[i], run.places[i]
                x, up = reading.x, self._count(run, reading, counts)
            rows.append((x, [up if self.is_joint else up + self.rise(place, now)], place))
        weights = [number(part, "a weight", 0) for part in numbers(c["weights"], "weights")]
        points, levels, places = zip(*rows, strict=True) if rows else ((), (), ())
        (level,) = mean(weights, levels)
        if self.is_joint:
            level += self.G_c * distance(now, mean(weights, places))
        return mean(weights, points), level

    def _count(self, run: Run, reading: Reading, counts: str) -> Fraction:
        if counts == "least":
            return self._least(run, reading)
        return (reading.raw if counts == "raw" else reading.own)[0]

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
        sizes = abs(level) + sum(abs(part) for part in place) * max(self.G_c, Fraction(1))
        noise = 4 * self.noise + 256 * UNIT * (sizes + self.G_g * self.reach)
        rest = self.G_g * distance(p, point) + self.noise
        claimed = number(c["level"], "level")
        if not is_known(claimed, levels, noise):
            raise WrongError("the level of its certificate is not that of its rounds")
        if not close(number(c["bound"], "bound"), min(claimed + rest, Fraction(0)), noise):
            raise WrongError("the bound of its certificate is not that of its rounds")

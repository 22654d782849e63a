"""Readings that lag behind the action: any kind, for readings that err by their lag as well.

With w_j and rho_j the shares and ratios of the modes, m_j <- rho_j (m_j + w_j (G_g |x - x'| + v)),
and e = sum of m_j + first v. A dead time and a window come before the modes, as a table. Lengths
are rounded up; ratios and the table are those of double precision, rounded up by 2^-40.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from .exact import Bounds, Point, WrongError, distance, number, numbers
from .kind import Certificate, Errors, Kind, Reading, Run, close, refuse_other_keys

__all__ = ["Settling"]

_UP = 1 + Fraction(1, 2**40)
_SLACK = Fraction(1, 10**9)
"""How much larger a lag may be stated than it is."""
_LONGEST = 4096
_PLACES = 2**200
"""Lags are rounded up to multiples of 1 over this."""


class Response:
    """What readings may miss of a step, from the table of a player."""

    round: Fraction
    dead: Fraction
    window: Fraction
    at_once: Fraction
    through: bool
    taus: list[Fraction]
    has_gains: bool
    weights: list[Fraction]
    steepness: Fraction
    ratios: list[Fraction]
    table: list[Fraction]
    later: list[Fraction]

    def __init__(self, table: dict[str, Any], steepness: Fraction | None) -> None:
        keys = "class round time_constants shares gains dead_time window at_once through"
        refuse_other_keys(table, keys)
        if table["class"] != "Response":
            raise WrongError("the response of a player must be a Response")
        self.round = number(table["round"], "round", 5e-324)
        self.dead, self.window = (number(table[n], n, 0) for n in ("dead_time", "window"))
        self.at_once, self.through = number(table["at_once"], "at_once", 0, 1), table["through"]
        self.taus = _numbers(table["time_constants"], "time_constants")
        gains, shares = table["gains"], table["shares"]
        self.has_gains = gains is not None
        if self.has_gains:
            self.weights = _numbers(gains, "gains")
        else:
            self.weights = [1 - self.at_once] if shares is None else _numbers(shares, "shares")
        if len(self.weights) != max(len(self.taus), 1) or type(table["through"]) is not bool:
            raise WrongError("a response must have a share or a gain per time constant")
        if not self.has_gains and sum(self.weights) + self.at_once < 1 - Fraction(1, 2**30):
            raise WrongError("the shares of a response must add up to 1")
        if steepness is None and not self.has_gains:
            raise WrongError("a response without gains needs a G_g")
        self.steepness = steepness or Fraction(0)
        n = math.ceil((self.dead + self.window) / self.round)
        if n > _LONGEST:
            raise WrongError("the dead time and the window of a response are too long")
        self.ratios = [self._decay(self.round, tau) for tau in self.taus] or [Fraction(0)]
        if any(ratio >= 1 for ratio in self.ratios):
            raise WrongError("a plant with such a response never settles")
        self.table = [self._left(i * self.round - self.dead) for i in range(1, n + 1)]
        self.later = self._coefficients(n)

    @staticmethod
    def _decay(time: Fraction, tau: Fraction) -> Fraction:
        return Fraction(math.exp(-float(time) / float(tau))) * _UP

    def _left(self, time: Fraction) -> Fraction:
        """Return what is left of a step, so long after the dead time."""
        parts = [*zip(self.taus or [Fraction(0)], self.weights, strict=True)]
        parts += [(Fraction(0), Fraction(0) if self.has_gains else self.at_once)]
        return sum((w * self._left_of(tau, time) for tau, w in parts), Fraction(0))

    def _left_of(self, tau: Fraction, time: Fraction) -> Fraction:
        if time <= 0:
            return Fraction(1)
        within = max(self.window - time, Fraction(0))
        if not tau:
            return within / self.window if self.window else Fraction(0)
        if not self.window:
            return self._decay(time, tau)
        since = max(time - self.window, Fraction(0))
        fall = -math.exp(-float(since) / float(tau)) * math.expm1(float(since - time) / float(tau))
        return (tau * Fraction(fall) * _UP + within) / self.window

    def _coefficients(self, n: int) -> list[Fraction]:
        """Return what each mode has of a step at the end of the table."""
        if not n:
            return self.weights
        if not self.taus:
            return [Fraction(0)]
        late, found = n * self.round - self.dead, []
        for tau, weight in zip(self.taus, self.weights, strict=True):
            spread = Fraction(1)
            if self.window:
                share = float(self.window) / float(tau)
                spread = Fraction(-math.expm1(-share) / share)
            found.append(weight * spread * self._decay(late - self.window, tau))
        return found

    @property
    def first(self) -> Fraction:
        """What is left of a change at once."""
        if not self.taus and not self.table:
            return Fraction(0)
        if self.has_gains or self.table:
            return Fraction(1)
        return min(Fraction(1), sum(self.weights) * _UP)

    @property
    def total(self) -> Fraction:
        """The sum of what is left at once, after 1, 2, ... rounds."""
        later = sum(c * r / (1 - r) for c, r in zip(self.later, self.ratios, strict=True))
        return (self.first + sum(self.table) + later) * _UP


class Lag:
    """The lag of a plant, round by round.

    Args:
        response: how it settles.
        start: the action at which it is at rest.
        drift: what g may change by in a round.
        jump: how far the action may have moved before.
    """

    response: Response
    x: Point
    drift: Fraction
    modes: list[Fraction]
    moves: list[Fraction]
    ahead: Fraction

    def __init__(self, response: Response, start: Point, drift: Fraction, jump: Fraction) -> None:
        self.response, self.x, self.drift = response, start, drift
        self.modes = [Fraction(0)] * len(response.ratios)
        self.moves = [Fraction(0)] * len(response.table)
        steepness = Fraction(1) if response.has_gains else response.steepness
        self.ahead = steepness * jump

    def move(self, x: Point) -> Fraction:
        """Return the lag of a reading after one more round, with an action in force."""
        r = self.response
        length = Fraction(0) if x == self.x else distance(x, self.x)
        step = self.ahead + (length if r.has_gains else r.steepness * length)
        moves = [step, *self.moves]
        last = moves[len(r.table)]
        each = zip(r.ratios, self.modes, r.later, strict=True)
        self.modes = [_round_up(rho * (mode + c * last)) for rho, mode, c in each]
        self.moves, self.x, self.ahead = moves[: len(r.table)], x, self.drift
        table = sum((w * m for w, m in zip(r.table, self.moves, strict=True)), Fraction(0))
        return sum(self.modes, table) + r.first * self.drift


class Settling(Kind):
    """Settling.

    Args:
        table: the knowledge, as a journal has it.
        d: the length of an action.
        part: what is known of g at rest.
    """

    keys: ClassVar[str] = "knowledge response"
    certificates: ClassVar[tuple[str, ...]] = ("SettlingCertificate",)
    part: Kind
    noise: Fraction
    own_noise: Fraction
    response: Response
    drift: Fraction
    margin: Fraction
    reach: Fraction | None
    longest: Fraction

    def __init__(self, table: dict[str, Any], d: int, part: Kind) -> None:
        super().__init__(table, d)
        if part.rows != 1 or part.in_contexts or not part.certificates:
            raise WrongError("the knowledge at rest must be of one limit, without contexts")
        inner = table["knowledge"]
        if any(inner[name] != table[name] for name in ("errors", "domain", "convex")):
            raise WrongError("the knowledge at rest must have the errors and the domain of all")
        self.part, self.noise, self.own_noise = part, part.noise, part.noise
        self.response = Response(table["response"], getattr(part, "G_g", None))
        self.drift = number(table["errors"]["drift"], "drift", 0)
        self.margin = Fraction(0)
        if not self.response.through:
            self.margin = self.drift * self.response.total
        self.reach = number(inner["reach"], "reach", 0) if "reach" in inner else None
        self.lag: Lag | None = None
        self.longest = Fraction(0)
        self.lags: dict[int, Fraction] = {}

    def begin(self, start: Point, reach: Fraction | None) -> None:
        """Begin at a start: at rest, or where others acted before.

        Args:
            start: the first action.
            reach: the largest norm of an action before; None where nobody acted.
        """
        jump = Fraction(0)
        if reach is not None:
            own = Fraction(0) if self.reach is None else self.reach
            jump = max(own, reach) + distance(start, [Fraction(0)] * len(start))
        self.lag, self.lags = Lag(self.response, start, self.drift, jump), {}

    def move(self, x: Point, t: int) -> None:
        """Count the action of a round."""
        assert self.lag is not None
        self.lags[t] = self.lag.move(x)
        self.longest = max(self.longest, self.lags[t])

    def gaps(self, t: int) -> list[tuple[Fraction, Fraction]]:
        """Return how far below and above the reading of a round g may be, beyond its error."""
        lag = self.lags[t]
        return [(lag * (1 + _SLACK), lag + self.margin)]

    def bounds_of_start(self, table: dict[str, Any]) -> list[Any]:
        """Return what g plus the margin is at most at the start for ever."""
        bounds = self.part.bounds_of_start(table["knowledge"])
        return [None if bound is None else bound + self.margin for bound in bounds]

    @property
    def settling(self) -> list[Kind]:
        """The rows whose readings lag."""
        return [self]

    @property
    def steepness(self) -> list[Fraction] | None:
        """A bound on the slopes."""
        return self.part.steepness

    def refuse_start(self, reading: Reading) -> None:
        """Raise unless the first reading is strictly feasible."""
        self.part.refuse_start(reading)

    def holds(self, x: Point) -> bool:
        """Return whether the constants hold at an action."""
        return self.part.holds(x)

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound on g at rest, by the part of the certificate."""
        return self.part.certify(run, p, self._part(c))

    def _part(self, c: Certificate) -> Certificate:
        names = {"class", "round", "part", "lag", "margin", "bound", "cut", "errors"}
        if set(c) != names or not isinstance(c["part"], dict):
            raise WrongError("its certificate must have a part, a lag and a margin")
        if c["part"].get("class") not in self.part.certificates:
            raise WrongError("the part of its certificate is of another kind")
        part: Certificate = c["part"]
        return part

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless the numbers are those of the lag, and of the knowledge at rest."""
        part, lag = self._part(c), self._lag_of(run)
        if not _is_about(number(c["lag"], "lag", 0), lag):
            raise WrongError("the lag of its certificate is not that of its actions")
        if not _is_about(number(c["margin"], "margin", 0), self.margin):
            raise WrongError("the margin of its certificate is not that of its drift")
        if not c["bound"] == part["bound"]:
            raise WrongError("the bound of its certificate is not that of its part")
        # What is stated of older readings may be a little larger, as lags are.
        self.part.noise = self.own_noise + _SLACK * self.longest
        try:
            self.part.confirm(run, p, part)
        finally:
            self.part.noise = self.own_noise

    def _lag_of(self, run: Run) -> Fraction:
        """Return the lag of the last reading that a step was taken with."""
        used = [t for t in run.used if t in self.lags]
        return self.lags[max(used)] if used else Fraction(0)

    def confirm_errors(
        self, c: Certificate, rows: list[Errors], told: dict[str, Any], whole: Errors
    ) -> None:
        """Raise unless a certificate counts with the errors of its player, and with the lag."""
        super().confirm_errors(c, rows, told, whole)
        stated, own = self._part(c).get("errors"), c["errors"]
        if not isinstance(stated, dict) or set(stated) != set(own):
            raise WrongError("the part of its certificate has no errors")
        value = number(own["value"], "value", 0) + number(c["lag"], "lag", 0)
        if not close(number(stated["value"], "value", 0), value, Fraction(0)):
            raise WrongError("the part of its certificate has other errors than the lag")
        if any(stated[name] != own[name] for name in own if name != "value"):
            raise WrongError("the part of its certificate has other errors than the player")

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return what a player knew of an action that no certificate of its own was for."""
        return self.part.search(run, reading, earlier)


def _is_about(stated: Fraction, exact: Fraction) -> bool:
    """Return whether a number is stated as it is, or a little larger."""
    tiny = Fraction(1, 2**40)
    return exact * (1 - tiny) <= stated <= exact * (1 + _SLACK) + Fraction(1, 10**280)


def _round_up(value: Fraction) -> Fraction:
    """Return a number with fewer digits that is not below it."""
    return Fraction(-(-value.numerator * _PLACES // value.denominator), _PLACES)


def _numbers(values: Any, name: str) -> list[Fraction]:
    found = [number(part, name, 5e-324) for part in numbers(values, name)]
    if len(found) > 100:
        raise WrongError(f"{name} must be at most 100 numbers, got {len(found)}")
    return found

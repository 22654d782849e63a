r"""Charging at two car parks: real sessions of electric cars on the real networks of the sites.

Every minute the operator sets the current of each charger, in :math:`[0, 32]` ampere and 0 where no
car is plugged in. A line carries the phasor sum :math:`z_k(x) = \sum_j A_{kj}e^{i\phi_j}x_j`; its
rating :math:`c_k` may not be exceeded in any minute. As a constraint this is

.. math:: g_k(x) = \frac{|z_k(x)|^2 - c_k^2}{2c_k} \le 0,

convex and quadratic: in ampere near the rating, and without the kink that :math:`|z_k| - c_k` has
where no current flows. Which cars are there is known before the minute begins; the network is
measured: the value and the sensitivities of each line at the currents that flow.

The sessions are ACN-Data's, the networks acnportal's (``data/README.md`` names sources and
licences). Nothing is downloaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cases.files import load
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine, Constraint, QuadraticForm, max_of
from surefoot.problems.costs import Quadratic
from surefoot.problems.problem import Problem
from surefoot.problems.ready import Draws
from surefoot.sets import Ball

__all__ = [
    "LARGEST",
    "PER_AMPERE",
    "ChargingNetwork",
    "ChargingRecord",
    "ChargingRule",
    "ChargingSite",
    "Minute",
    "Site",
    "charging_site",
    "ev_charging",
]

LARGEST = 32.0
"""The largest current of a charger, in ampere."""

PER_AMPERE = 208.0 / 60.0
"""Wh that a charger delivers per minute and ampere, at 208 V."""

_EPOCH = datetime(2019, 1, 1, tzinfo=UTC)
_MIDNIGHT = 7 * 60  # of the sites, in minutes of UTC
Site: TypeAlias = Literal["caltech", "jpl"]


@dataclass(frozen=True, slots=True, eq=False)
class ChargingNetwork:
    """The lines of a site.

    Attributes:
        matrix: what a charger contributes to the phasor of a line, ``(m, d)``, complex.
        ratings: the largest current of each line, in ampere.
        names: of the lines.
    """

    matrix: Array
    ratings: Array
    names: tuple[str, ...]

    def loads(self, x: Array) -> Array:
        """Return the current of each line as a share of its rating."""
        return abs(self.matrix @ x) / self.ratings

    def values(self, x: Array) -> Array:
        """Return g of each line: above 0 where its rating is exceeded."""
        z = self.matrix @ x
        return (z.real * z.real + z.imag * z.imag - self.ratings**2) / (2.0 * self.ratings)

    def measure(self, x: Array) -> tuple[Array, Array]:
        """Return what meters report at the currents that flow: g and its gradient, per line.

        Example:
            >>> site = charging_site("caltech", days=1)
            >>> g, s = site.network.measure(np.full(54, 8.0))
            >>> g.shape, s.shape, bool((g <= 0).all())
            ((8,), (8, 54), True)
        """
        z = self.matrix @ x
        slopes = (z.conj()[:, None] * self.matrix).real / self.ratings[:, None]
        return self.values(x), slopes

    @property
    def curvatures(self) -> Array:
        r"""The largest eigenvalue of each Hessian :math:`\mathrm{Re}(\bar a_ka_k^\top)/c_k`."""
        found = [np.linalg.eigvalsh((a.conj()[:, None] * a).real)[-1] for a in self.matrix]
        return np.array(found) / self.ratings * (1 + 1e-12)

    @property
    def constraint(self) -> Constraint:
        """The lines as quadratic constraints."""
        zero = np.zeros(self.matrix.shape[1])
        forms = [
            QuadraticForm((a.conj()[:, None] * a).real / c, zero, 0.5 * float(c))
            for a, c in zip(self.matrix, self.ratings, strict=True)
        ]
        return max_of(*forms)

    def equal_share(self) -> float:
        """Return the largest current that all chargers may draw at the same time."""
        return float(min(LARGEST, 1.0 / self.loads(np.ones(self.matrix.shape[1])).max()))


class Minute(NamedTuple):
    """What is known when the currents of a minute are set.

    Attributes:
        number: of the minute, from 0.
        upper: the most that each charger may draw: 0 where no car is plugged in, and no more than
            what the car still asks for.
        remaining: what each car still asks for, in Wh.
        left: minutes until each car leaves.
        intensity: of the grid, kg of CO2 per kWh.
        clean: whether the intensity is below the mean of the last day.
        action: the currents of the last minute.
        values: g of each line at that time.
        slopes: its gradient, per line.
    """

    number: int
    upper: Array
    remaining: Array
    left: Array
    intensity: float
    clean: bool
    action: Array
    values: Array
    slopes: Array


ChargingRule: TypeAlias = Callable[[Minute], Array]


class ChargingRecord(NamedTuple):
    """What a rule did at a site.

    Attributes:
        minutes: how many there were.
        over: in how many of them a rating was exceeded.
        worst: the largest g, in ampere above a rating where it is above 0.
        asked: energy that was asked for, in kWh.
        possible: the most that cars could take at 32 A while they were there.
        delivered: energy that was delivered.
        carbon: kg of CO2.
        microseconds: median time per decision, of the minutes with a car.
        loads: the largest share of a rating, minute by minute.
        power: the power of the site, minute by minute, in kW.
    """

    minutes: int
    over: int
    worst: float
    asked: float
    possible: float
    delivered: float
    carbon: float
    microseconds: float
    loads: Array
    power: Array


@dataclass(frozen=True, slots=True, eq=False)
class ChargingSite:
    """A site in a month: its network, its sessions and the carbon intensity.

    Attributes:
        name: of the site.
        network: its lines.
        sessions: arrival and departure (minutes from the start), request (Wh), charger.
        intensity: of every minute.
    """

    name: str
    network: ChargingNetwork
    sessions: dict[str, Array]
    intensity: Array

    @property
    def minutes(self) -> int:
        """The number of minutes."""
        return len(self.intensity)

    @property
    def chargers(self) -> int:
        """The number of chargers."""
        return int(self.network.matrix.shape[1])

    def run(self, rule: ChargingRule, minutes: int | None = None) -> ChargingRecord:
        """Let a rule set the currents of every minute.

        Args:
            rule: from a :class:`Minute` to the currents. They are held against the network
                exactly, without a tolerance; a rule that exceeds what was announced is refused.
            minutes: how many; all unless given.

        Example:
            >>> site = charging_site("caltech", days=1)
            >>> share = site.network.equal_share()
            >>> done = site.run(lambda minute: np.minimum(minute.upper, share))
            >>> done.over, round(done.delivered), round(done.asked)
            (0, 374, 856)
        """
        network, d = self.network, self.chargers
        T = (
            self.minutes
            if minutes is None
            else min(self.minutes, checks.positive_int(minutes, "minutes"))
        )
        arrival, departure, request, charger = self.sessions.values()
        remaining, leaves, x = np.zeros(d), np.zeros(d, dtype=np.int64), np.zeros(d)
        asked = possible = delivered = carbon = 0.0
        over, worst, following = 0, -np.inf, 0
        loads, power, seconds = np.zeros(T), np.zeros(T), np.full(T, np.nan)
        means = _daily_mean(self.intensity)
        for t in range(T):
            remaining[leaves <= t] = 0.0
            while following < len(arrival) and arrival[following] <= t:
                j, end, wanted = charger[following], departure[following], request[following]
                following += 1
                if end > t:
                    remaining[j], leaves[j] = wanted, end
                    asked += wanted
                    possible += min(wanted, LARGEST * PER_AMPERE * (end - t))
            upper = np.minimum(remaining / PER_AMPERE, LARGEST)
            now = float(self.intensity[t])
            values, slopes = network.measure(x)
            left = np.maximum(leaves - t, 0)
            seen = Minute(t, upper, remaining.copy(), left, now, now < means[t], x, values, slopes)
            begin = time.perf_counter()
            x = rule(seen)
            seconds[t] = time.perf_counter() - begin if upper.any() else np.nan
            if not ((x >= 0) & (x <= upper)).all():
                raise InvalidValueError(f"the currents of minute {t} must be within the announced")
            largest = float(network.values(x).max())
            over, worst = over + (largest > 0), max(worst, largest)
            energy = PER_AMPERE * x
            remaining = np.maximum(remaining - energy, 0.0)
            total = float(energy.sum())
            delivered, carbon = delivered + total, carbon + total * now
            loads[t], power[t] = float(network.loads(x).max()), 60e-3 * total
        busy = seconds[~np.isnan(seconds)]
        microseconds = 1e6 * float(np.median(busy)) if len(busy) else 0.0
        return ChargingRecord(
            T, over, worst, asked / 1e3, possible / 1e3, delivered / 1e3,
            carbon / 1e3, microseconds, loads, power,
        )  # fmt: skip


def charging_site(name: Site, month: str = "2019-10", days: int | None = None) -> ChargingSite:
    """Return a site in a month, or in its first days.

    Args:
        name: "caltech" with 54 chargers and 8 limits, or "jpl" with 52 and 24.
        month: as 2019-10; there are sessions from May to December 2019, from February to May 2020
            and from May to August 2021.
        days: how many; the whole month unless given.

    Example:
        >>> site = charging_site("jpl", days=2)
        >>> site.minutes, site.chargers, len(site.network.ratings), len(site.sessions["arrival"])
        (2880, 52, 24, 150)
    """
    checks.one_of(("caltech", "jpl"), name=name)
    data = load(name)
    first, last = _span(month, days)
    arrival = data["arrival"]
    some = (arrival >= first) & (arrival < last)
    if not some.any():
        raise InvalidValueError(f"month must be one with sessions, as 2019-10, got {month!r}")
    carbon = load("carbon")
    at = np.searchsorted(carbon["minute"], np.arange(first, last), side="right") - 1
    phasors = data["matrix"] * np.exp(1j * np.deg2rad(data["phases"]))
    names = tuple(str(row) for row in data["rows"])
    return ChargingSite(
        name=name,
        network=ChargingNetwork(phasors, data["ratings"], names),
        sessions={
            "arrival": arrival[some] - first,
            "departure": data["departure"][some] - first,
            "request": data["requested"][some].astype(np.float64),
            "charger": data["station"][some],
        },
        intensity=1e-3 * carbon["intensity"][at],
    )


def ev_charging(
    site: Site = "caltech",
    *,
    horizon: int,
    trials: int | None = None,
    streams: int | None = None,
    month: str = "2019-10",
) -> Problem:
    r"""Return the charging of a site as a problem: :math:`f_t(x) = \frac12\|x - w_t\|^2`.

    Currents are shares of 32 A, values of g shares of a rating. The wish :math:`w_t` is what the
    cars would draw if no rating counted, and no box is announced: that no current is negative is
    part of the constraint. :meth:`ChargingSite.run` is the case with the box, in which cars that
    were not served ask again.

    Args:
        site: "caltech" or "jpl".
        horizon: minutes; the month begins again after its last.
        trials: runs, which begin with different cars of the month.
        streams: seed of these beginnings; without it the first car of the month is the first run's.
        month: as 2019-10.

    Example:
        >>> p = ev_charging("caltech", horizon=100)
        >>> p.costs.dimension, p.constraint.rows, p.constraint.value(p.start) < 0
        (54, 62, True)
    """
    found = charging_site(site, month)
    wishes, arrival = _wishes(found), found.sessions["arrival"]

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        car = source.integers(len(arrival), size=lead[1:])
        begin = arrival[car if streams is not None else car - np.ravel(car)[0]]
        rounds = np.arange(horizon).reshape(-1, *[1] * (len(lead) - 1))
        return wishes[(begin + rounds) % found.minutes]

    targets = Draws(horizon, trials, streams).draw(draw)
    network, d = found.network, found.chargers
    # In shares of 32 A and of the rating: |z/c|^2/2 - 1/2.
    shares = ChargingNetwork(
        network.matrix * LARGEST / network.ratings[:, None], np.ones(len(network.ratings)), ()
    )
    return Problem.of(
        Quadratic(targets, 1.0),
        max_of(shares.constraint, Affine(-np.eye(d), np.zeros(d))),
        Ball(float(np.sqrt(d))),
        np.full(d, 0.5 * network.equal_share() / LARGEST),
        name=f"charging at {site}",
    )


def _wishes(site: ChargingSite) -> Array:
    """Return what each car would draw in every minute if no rating counted, as a share of 32 A."""
    wishes = np.zeros((site.minutes, site.chargers))
    for begin, end, request, j in zip(*site.sessions.values(), strict=True):
        left = request / (LARGEST * PER_AMPERE) - np.arange(min(end, site.minutes) - begin)
        wishes[begin : begin + len(left), j] = np.clip(left, 0.0, 1.0)
    return wishes


def _daily_mean(values: Array) -> Array:
    """Return the mean over the day before each minute, or over what there is of it."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(len(values)) + 1
    start = np.maximum(end - 1440, 0)
    return (sums[end] - sums[start]) / (end - start)


def _span(month: str, days: int | None) -> tuple[int, int]:
    try:
        begin = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise InvalidValueError(f"month must be as 2019-10, got {month!r}") from None
    year, number = divmod(begin.month, 12)
    end = begin.replace(year=begin.year + year, month=number + 1)
    first, last = (int((day - _EPOCH).total_seconds()) // 60 + _MIDNIGHT for day in (begin, end))
    if days is not None:
        last = min(last, first + 1440 * checks.positive_int(days, "days"))
    return first, last

r"""Charging at two car parks: real sessions of electric cars on the real networks of the sites.

Every minute the operator sets the current of each charger, in :math:`[0, 32]` ampere and 0 where no
car is plugged in. A line carries the phasor sum :math:`z_k(x) = \sum_j A_{kj}e^{i\phi_j}x_j`; its
rating :math:`c_k` may not be exceeded in any minute. As a constraint this is

.. math:: g_k(x) = \frac{|z_k(x)|^2 - c_k^2}{2c_k} \le 0,

convex and quadratic: in ampere near the rating, and without the kink that :math:`|z_k| - c_k` has
where no current flows. The building beside the car park takes a share of every rating, which is
metered before the minute begins: :math:`g_k + c_k\ell_t \le 0`. It is made up; all else is real.
Which cars are there is known before the minute begins as well; the network is measured: the value
and the sensitivities of each line at the currents that flow.

The sessions are ACN-Data's, the networks acnportal's (``data/README.md`` names sources and
licences). Nothing is downloaded.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cases.files import load
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine, QuadraticForm, max_of
from surefoot.problems.costs import Quadratic
from surefoot.problems.problem import Problem
from surefoot.problems.ready import Draws
from surefoot.sets import Ball

__all__ = ["ChargingNetwork", "ChargingSite", "Minute", "charging_site", "ev_charging"]

LARGEST = 32.0
"""The largest current of a charger, in ampere."""

PER_AMPERE = 208.0 / 60.0
"""Wh that a charger delivers per minute and ampere, at 208 V."""

MOST = 0.15
"""The largest load of the building."""

_MIDNIGHT = 7 * 60  # of the sites, in minutes of UTC
Site: TypeAlias = Literal["caltech", "jpl"]


@dataclass(frozen=True, slots=True, eq=False)
class ChargingNetwork:
    """The lines of a site.

    Attributes:
        matrix: what a charger contributes to the phasor of a line, ``(m, d)``, complex.
        ratings: the largest current of each line, in ampere.
    """

    matrix: Array
    ratings: Array

    def values(self, x: Array, load: float = 0.0) -> Array:
        """Return g of each line: above 0 where its rating is exceeded.

        Args:
            x: the currents.
            load: of the building.
        """
        z, c = self.matrix @ x, self.ratings
        return (z.real * z.real + z.imag * z.imag - c * c) / (2.0 * c) + load * c

    def leave(self, load: float) -> "ChargingNetwork":
        """Return the lines with what the building leaves of their ratings, less their rounding."""
        left = np.sqrt(1.0 - 2.0 * load) * (1 - 1e-12)
        return ChargingNetwork(self.matrix, self.ratings * left)

    def measure(self, x: Array, load: float = 0.0) -> tuple[Array, Array]:
        """Return what meters report at the currents that flow: g and its gradient, per line.

        Example:
            >>> site = charging_site("caltech", days=1)
            >>> g, s = site.network.measure(np.full(54, 8.0))
            >>> g.shape, s.shape, bool((g <= 0).all())
            ((8,), (8, 54), True)
        """
        z = self.matrix @ x
        slopes = (z.conj()[:, None] * self.matrix).real / self.ratings[:, None]
        return self.values(x, load), slopes

    @property
    def curvatures(self) -> Array:
        r"""The largest eigenvalue of each Hessian :math:`\mathrm{Re}(\bar a_ka_k^\top)/c_k`."""
        found = [np.linalg.eigvalsh((a.conj()[:, None] * a).real)[-1] for a in self.matrix]
        return np.array(found) / self.ratings * (1 + 1e-12)

    def equal_share(self) -> float:
        """Return the largest current that all chargers may draw at the same time."""
        return float(min(LARGEST, (self.ratings / abs(self.matrix.sum(axis=1))).min()))


class Minute(NamedTuple):
    """What is known when the currents of a minute are set.

    Attributes:
        number: of the minute, from 0.
        upper: the most that each charger may draw: 0 where no car is plugged in, and no more than
            what the car still asks for.
        remaining: what each car still asks for, in Wh.
        left: minutes until each car leaves.
        load: of the building in this minute.
        action: the currents of the last minute.
        values: g of each line at these currents, under the load of this minute.
        slopes: its gradient, per line.
    """

    number: int
    upper: Array
    remaining: Array
    left: Array
    load: float
    action: Array
    values: Array
    slopes: Array


ChargingRule: TypeAlias = Callable[[Minute], Array]


class ChargingRecord(NamedTuple):
    """What a rule did at a site.

    Attributes:
        values: the largest g of every minute, in ampere above a rating where it is above 0.
        asked: energy that was asked for, in kWh.
        delivered: energy that was delivered.
        microseconds: median time per decision, of the minutes with a car.
    """

    values: Array
    asked: float
    delivered: float
    microseconds: float


@dataclass(frozen=True, slots=True, eq=False)
class ChargingSite:
    """A site in a month: its network and its sessions.

    Attributes:
        name: of the site.
        network: its lines.
        sessions: arrival and departure (minutes from the start), request (Wh), charger.
        load: of the building in every minute, in ratings: 0.1 where g is higher by a tenth of each.
    """

    name: Site
    network: ChargingNetwork
    sessions: dict[str, Array]
    load: Array

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
            >>> done = site.run(lambda minute: 0.0 * minute.upper, minutes=600)
            >>> bool((done.values <= 0).all()), done.delivered, round(done.asked)
            (True, 0.0, 253)
        """
        network, d = self.network, self.chargers
        T = len(self.load) if minutes is None else checks.positive_int(minutes, "minutes")
        arrival, departure, request, charger = self.sessions.values()
        remaining, leaves, x = np.zeros(d), np.zeros(d, dtype=np.int64), np.zeros(d)
        asked = delivered = 0.0
        following, largest, seconds = 0, np.zeros(T), []
        for t in range(T):
            remaining[leaves <= t] = 0.0
            while following < len(arrival) and arrival[following] <= t:
                j, end, wanted = charger[following], departure[following], request[following]
                following += 1
                if end > t:
                    remaining[j], leaves[j] = wanted, end
                    asked += wanted
            upper = np.minimum(remaining / PER_AMPERE, LARGEST)
            left = np.maximum(leaves - t, 0)
            load = float(self.load[t])
            seen = Minute(t, upper, remaining.copy(), left, load, x, *network.measure(x, load))
            begin = time.process_time()
            x = rule(seen)
            if upper.any():
                seconds.append(time.process_time() - begin)
            if not ((x >= 0) & (x <= upper)).all():
                raise InvalidValueError(f"the currents of minute {t} must be within the announced")
            largest[t] = network.values(x, load).max()
            energy = PER_AMPERE * x
            remaining, delivered = np.maximum(remaining - energy, 0.0), delivered + energy.sum()
        median = 1e6 * float(np.median(seconds)) if seconds else 0.0
        return ChargingRecord(largest, asked / 1e3, float(delivered) / 1e3, median)


def charging_site(name: Site, month: str = "2019-10", days: int | None = None) -> ChargingSite:
    """Return a site in a month, or in its first days.

    Args:
        name: "caltech" with 54 chargers and 8 limits, or "jpl" with 52 and 24.
        month: as 2019-10; there are sessions from May to December 2019, from February to May 2020
            and from May to August 2021.
        days: how many; the whole month unless given.

    Example:
        >>> site = charging_site("jpl", days=2)
        >>> len(site.load), site.chargers, len(site.network.ratings), len(site.sessions["arrival"])
        (2880, 52, 24, 150)
    """
    checks.one_of(("caltech", "jpl"), name=name)
    data = load(name)
    first, last = _span(month, days)
    arrival = data["arrival"]
    some = (arrival >= first) & (arrival < last)
    if not some.any():
        raise InvalidValueError(f"month must be one with sessions, as 2019-10, got {month!r}")
    phasors = data["matrix"] * np.exp(1j * np.deg2rad(data["phases"]))
    return ChargingSite(
        name=name,
        network=ChargingNetwork(phasors, data["ratings"]),
        sessions={
            "arrival": arrival[some] - first,
            "departure": data["departure"][some] - first,
            "request": data["requested"][some].astype(np.float64),
            "charger": data["station"][some],
        },
        load=building_load(last - first),
    )


def building_load(minutes: int) -> Array:
    """Return what a building takes of the ratings: a wave of a day, up to MOST, and some noise."""
    wave = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(minutes) / 1440)
    return MOST * wave * np.random.default_rng(0).uniform(0.8, 1.0, minutes)


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
        return wishes[(begin + rounds) % len(wishes)]

    targets = Draws(horizon, trials, streams).draw(draw)
    network, d = found.network, found.chargers
    # In shares of 32 A and of the rating: |z/c|^2/2 - 1/2.
    shares = network.matrix * LARGEST / network.ratings[:, None]
    forms = [QuadraticForm((a.conj()[:, None] * a).real, np.zeros(d), 0.5) for a in shares]
    return Problem.of(
        Quadratic(targets, 1.0),
        max_of(max_of(*forms), Affine(-np.eye(d), np.zeros(d))),
        Ball(float(np.sqrt(d))),
        np.full(d, 0.5 * network.equal_share() / LARGEST),
        name=f"charging at {site}",
    )


def _wishes(site: ChargingSite) -> Array:
    """Return what each car would draw in every minute if no rating counted, as a share of 32 A."""
    wishes = np.zeros((len(site.load), site.chargers))
    for begin, end, request, j in zip(*site.sessions.values(), strict=True):
        left = request / (LARGEST * PER_AMPERE) - np.arange(min(end, len(wishes)) - begin)
        wishes[begin : begin + len(left), j] = np.clip(left, 0.0, 1.0)
    return wishes


def _span(month: str, days: int | None) -> tuple[int, int]:
    """Return the first minute of a month, from the beginning of 2019 on, and the one after it."""
    try:
        begin = np.datetime64(month, "M")
    except ValueError:
        raise InvalidValueError(f"month must be as 2019-10, got {month!r}") from None
    ends = np.array([begin, begin + 1], "datetime64[m]") - np.datetime64("2019-01", "m")
    first, last = (ends.astype(int) + _MIDNIGHT).tolist()
    if days is not None:
        last = min(last, first + 1440 * checks.positive_int(days, "days"))
    return first, last

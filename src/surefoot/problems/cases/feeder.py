r"""PV on a feeder: power limits of 54 inverters under voltage, cable and transformer limits.

Every second the operator sets the power of each inverter between 0 and what the sun gives. The
network answers by AC power flow (power-grid-model, extra ``cases``), which the certified rule does
not know: it measures the values of all limits and their sensitivities at the power that flows. As
constraints the limits are smooth, and near 0 they are per-unit excess:

.. math:: g_i = u_i - 1.05, \qquad g_k = \tfrac12\big((I_k/I_k^{max})^2 - 1\big), \qquad
          g_s = \tfrac12\big((S_s/S^{max})^2 - 1\big)

for the voltage of each low-voltage bus, the current of each cable, and the apparent power at each
side of the transformer. AC power flow is not convex; a bound on the curvature needs no convexity.

The network is made here, by a fixed seed, in the manner of a rural low-voltage feeder of 97 buses:
a 10 kV bus held at 1.01 p.u., a transformer 10/0.4 kV of 315 kVA (4 %, 3.9 kW of copper losses), a
busbar and five radial cables of 19 buses each. The stretches are 20 to 40 m long, half as long on
the second cable; the first ten of each have 0.206 + 0.080j ohm/km and a fuse of 125 A, the others
0.642 + 0.083j ohm/km and 100 A (aluminium of 150 and 50 mm2; capacities are left out). Every bus
has a load of 0.2 to 1.2 kW with 0.3 kvar per kW, which stays as it is. 18, 14, 10, 7 and 5
inverters of 5 to 14 kW stand at buses of the five cables, drawn without repetition, and feed in
without reactive power. Clouds pass along the cables, one every two minutes, and take up to 70 % of
the power.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array
from surefoot.problems.cases._certified import CertifiedRows
from surefoot.regions import CurvatureRows, Errors

__all__ = [
    "CertifiedFeeder",
    "Feeder",
    "FeederRecord",
    "FeederRule",
    "Second",
    "linearised",
    "pv_feeder",
    "uniform_share",
]

INVERTERS = (18, 14, 10, 7, 5)
"""Inverters of each cable."""

BUSES = 19
"""Buses of each cable."""

HIGHEST = 1.05
"""The highest voltage of a low-voltage bus, per unit."""

CAPACITY = 315e3
"""Of the transformer, in VA."""

VALUE_ERROR, SLOPE_ERROR = 1e-9, 1e-6
"""Of measurements: the power flow stops at 1e-12 p.u., slopes are central differences (per kW)."""

_STEP = 0.1  # kW, of the central differences


class Second(NamedTuple):
    """What is known when the powers of a second are set.

    Attributes:
        number: of the second, from 0.
        upper: what the sun gives to each inverter, in kW.
        action: the powers of the last second.
        values: g of each limit at that time.
        slopes: its gradient, per limit and kW.
    """

    number: int
    upper: Array
    action: Array
    values: Array
    slopes: Array


FeederRule: TypeAlias = Callable[[Second], Array]


class FeederRecord(NamedTuple):
    """What a rule did on the feeder.

    Attributes:
        seconds: how many there were.
        over: in how many of them a limit was exceeded.
        worst: the largest g, per unit.
        available: energy that the sun gave, in kWh.
        delivered: energy that was fed in.
        microseconds: median time per decision.
        values: the largest g, second by second.
        power: of all inverters, second by second, in kW.
    """

    seconds: int
    over: int
    worst: float
    available: float
    delivered: float
    microseconds: float
    values: Array
    power: Array


@dataclass(frozen=True, slots=True, eq=False)
class Feeder:
    """A low-voltage network with inverters.

    Attributes:
        rated: power of each inverter, in kW.
        places: of the inverters along their cables, from 0 to 1, which clouds pass.
        model: power-grid-model's network.
        ratings: the largest current of each cable, in ampere.
        data: what power-grid-model was told.
    """

    rated: Array
    places: Array
    model: Any
    ratings: Array
    data: dict[Any, Array]

    def all_values(self, points: Array) -> Array:
        """Return g of every limit at several points, ``(n, m)``."""
        pgm = need("power_grid_model", "cases", "the power flow of a feeder")
        change = pgm.initialize_array("update", "sym_gen", points.shape)
        change["id"] = self.data["sym_gen"]["id"]
        change["p_specified"] = 1e3 * points
        found = self.model.calculate_power_flow(
            update_data={"sym_gen": change},
            error_tolerance=1e-12,
            output_component_types={
                "node": ["u_pu"],
                "line": ["i_from"],
                "transformer": ["s_from", "s_to"],
            },
        )
        sides = np.concatenate([found["transformer"]["s_from"], found["transformer"]["s_to"]], 1)
        shares = np.concatenate([found["line"]["i_from"] / self.ratings, sides / CAPACITY], axis=1)
        voltages = found["node"]["u_pu"][:, 1:]  # the first bus is the 10 kV side
        return np.concatenate([voltages - HIGHEST, 0.5 * (shares * shares - 1.0)], axis=1)

    def values(self, x: Array) -> Array:
        """Return g of every limit: above 0 where it is exceeded."""
        found: Array = self.all_values(x[None])[0]
        return found

    def measure(self, x: Array) -> tuple[Array, Array]:
        """Return g of every limit and its sensitivities, by central differences of power flows.

        Example:
            >>> feeder = pv_feeder()  # doctest: +SKIP
            >>> g, s = feeder.measure(0.0 * feeder.rated)  # doctest: +SKIP
            >>> g.shape, s.shape, bool((g < 0).all())  # doctest: +SKIP
            ((193,), (193, 54), True)
        """
        moves = _STEP * np.eye(len(x))
        found = self.all_values(np.concatenate([x[None], x + moves, x - moves]))
        d = len(x)
        return found[0], (found[1 : d + 1] - found[d + 1 :]).T / (2 * _STEP)

    def curvatures(self, points: int = 3, inflation: float = 2.0) -> Array:
        """Return an estimate of the largest curvature of each limit: measured, then inflated.

        The spectral norms of Hessians by differences of slopes at no power, at full power and at
        random powers, of which the largest is multiplied. An estimate, no proof.

        Args:
            points: how many, at least the two ends.
            inflation: the factor.
        """
        d = len(self.rated)
        shares = np.random.default_rng(5).uniform(size=(max(points - 2, 0), d))
        worst = np.zeros(len(self.values(self.rated)))
        for x in (0.0 * self.rated, self.rated, *(shares * self.rated)):
            ahead = np.stack([self.measure(x + e)[1] for e in np.eye(d)], axis=1)
            hessians = ahead - self.measure(x)[1][:, None]
            hessians = 0.5 * (hessians + hessians.swapaxes(1, 2))
            worst = np.maximum(worst, abs(np.linalg.eigvalsh(hessians)).max(axis=1))
        return inflation * worst

    def sun(self, second: int) -> Array:
        """Return what the sun gives to each inverter, in kW."""
        shade = np.maximum(np.sin(2 * np.pi * (second / 120.0 - 0.3 * self.places)), 0.0)
        return self.rated * (1.0 - 0.7 * shade * shade)

    def run(self, rule: FeederRule, seconds: int) -> FeederRecord:
        """Let a rule set the powers of every second.

        Args:
            rule: from a :class:`Second` to the powers, in kW. The limits are held against the power
                flow exactly, without a tolerance; powers beyond the sun's are refused.
            seconds: how many.

        Example:
            >>> feeder = pv_feeder()  # doctest: +SKIP
            >>> done = feeder.run(lambda second: second.upper, 2)  # doctest: +SKIP
            >>> done.over, round(done.power[0])  # doctest: +SKIP
            (2, 520)
        """
        T, x = checks.whole(seconds, "seconds"), 0.0 * self.rated
        values, power, spent, given = np.zeros(T), np.zeros(T), np.zeros(T), 0.0
        measured = self.measure(x)
        for t in range(T):
            upper = self.sun(t)
            seen = Second(t, upper, x, *measured)
            begin = time.perf_counter()
            x = rule(seen)
            spent[t] = time.perf_counter() - begin
            if not ((x >= 0) & (x <= upper)).all():
                raise InvalidValueError(f"the powers of second {t} must be within the sun's")
            measured = self.measure(x)
            values[t], power[t] = measured[0].max(), x.sum()
            given += float(upper.sum())
        return FeederRecord(
            T, int((values > 0).sum()), float(values.max()), given / 3600.0,
            float(power.sum()) / 3600.0, 1e6 * float(np.median(spent)), values, power,
        )  # fmt: skip


def pv_feeder(seed: int = 97) -> Feeder:
    """Return the feeder: 97 buses, 95 cables, one transformer, 54 inverters.

    Args:
        seed: of lengths, loads, places and rated powers.

    Example:
        >>> feeder = pv_feeder()  # doctest: +SKIP
        >>> len(feeder.rated), len(feeder.ratings), round(feeder.rated.sum())  # doctest: +SKIP
        (54, 95, 520)
    """
    pgm = need("power_grid_model", "cases", "the power flow of a feeder")
    draw, n = np.random.default_rng(seed), BUSES * len(INVERTERS)

    def rows(kind: str, first: int, count: int, **values: Any) -> Array:
        made: Array = pgm.initialize_array("input", kind, count)
        made["id"] = np.arange(first, first + count)
        for name, value in values.items():
            made[name] = value
        return made

    place = np.tile(np.arange(BUSES), len(INVERTERS))
    bus = np.arange(2, n + 2)
    thick, km = place < 10, draw.uniform(0.02, 0.04, n)
    km[BUSES : 2 * BUSES] *= 0.5
    load = draw.uniform(200.0, 1200.0, n)
    at = [
        BUSES * k + np.sort(draw.choice(BUSES, many, replace=False))
        for k, many in enumerate(INVERTERS)
    ]
    sites = np.concatenate(at)
    rated = draw.uniform(5.0, 14.0, len(sites))
    ratings = np.where(thick, 125.0, 100.0)
    shared = {"status": 1, "type": pgm.LoadGenType.const_power}
    data = {
        "node": rows("node", 0, n + 2, u_rated=np.r_[10e3, np.full(n + 1, 400.0)]),
        "source": rows("source", 1000, 1, node=0, status=1, u_ref=1.01),
        "transformer": rows(
            "transformer", 1001, 1, from_node=0, to_node=1, from_status=1, to_status=1, u1=10e3,
            u2=400.0, sn=CAPACITY, uk=0.04, pk=3900.0, i0=0.002, p0=300.0, winding_from=2,
            winding_to=1, clock=5, tap_side=0, tap_pos=0, tap_min=0, tap_max=0, tap_size=0.0,
        ),
        "line": rows(
            "line", 2000, n, from_node=np.where(place > 0, bus - 1, 1), to_node=bus, from_status=1,
            to_status=1, r1=km * np.where(thick, 0.206, 0.642),
            x1=km * np.where(thick, 0.08, 0.083), c1=0.0, tan1=0.0, i_n=ratings,
        ),
        "sym_load": rows(
            "sym_load", 3000, n, node=bus, p_specified=load, q_specified=0.3 * load, **shared
        ),
        "sym_gen": rows(
            "sym_gen", 4000, len(sites), node=bus[sites], p_specified=0.0, q_specified=0.0, **shared
        ),
    }  # fmt: skip
    places = place[sites] / (BUSES - 1.0)
    return Feeder(rated, places, pgm.PowerGridModel(data), ratings, data)


def uniform_share(feeder: Feeder) -> FeederRule:
    """Return static curtailment: the share of the rated power that all may feed in at once."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        fits = bool((feeder.values(middle * feeder.rated) <= 0).all())
        low, high = (middle, high) if fits else (low, middle)
    most = low * feeder.rated
    return lambda second: np.minimum(second.upper, most)


def linearised(feeder: Feeder, share: float = 0.5) -> FeederRule:
    r"""Return projection onto the limits as they are to first order at a share of rated power.

    The cost of a second is :math:`\frac12\|x - w_t\|^2`, w what the sun gives, and the step size 1:
    the powers nearest to w that keep the linear model (a known network; extra ``solve``).

    Args:
        feeder: the network.
        share: where it is linearised.
    """
    clarabel = need("clarabel", "solve", "projection onto a linear model")
    sparse = need("scipy.sparse", "solve", "projection onto a linear model")
    point, d = share * feeder.rated, len(feeder.rated)
    g, s = feeder.measure(point)
    eye = np.eye(d)
    A, P = sparse.csc_matrix(np.vstack([s, eye, -eye])), sparse.csc_matrix(eye)
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(g) + 2 * d)]

    def rule(second: Second) -> Array:
        b = np.concatenate([s @ point - g, second.upper, np.zeros(d)])
        found = clarabel.DefaultSolver(P, -second.upper, A, b, cones, options).solve()
        return np.clip(np.array(found.x), 0.0, second.upper)

    return rule


@dataclass(slots=True)
class CertifiedFeeder(CertifiedRows[Second]):
    r"""The powers nearest to what the sun gives that are certainly feasible; no network is known.

    What is known: a bound on the curvature of each limit (:class:`surefoot.regions.CurvatureRows`),
    the errors of measurements, what the sun gives, and that without PV no limit is exceeded. Where
    a cloud takes so much that the last measurement certifies nothing, the first one does.

    Args:
        curvatures: one per limit.

    Attributes:
        restarts: how often the first measurement was needed.

    Example:
        >>> feeder = pv_feeder()  # doctest: +SKIP
        >>> betas = np.full(193, 4e-4)  # doctest: +SKIP
        >>> done = feeder.run(CertifiedFeeder(betas), 3)  # doctest: +SKIP
        >>> done.over, bool(done.power[2] > done.power[0] > 0)  # doctest: +SKIP
        (0, True)
    """

    def _knowledge(self, second: Second) -> CurvatureRows:
        return CurvatureRows(
            beta=tuple(self.curvatures),
            reach=2.0 * float(np.linalg.norm(second.upper)),
            errors=Errors(value=VALUE_ERROR, slope=SLOPE_ERROR),
        )

    def _wanted(self, second: Second) -> Array:
        return second.upper

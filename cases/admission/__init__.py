r"""Admission under a latency limit: token rates of tenants at a simulated server.

Every second the gateway of a server sees how many tokens each tenant asks for, and admits
:math:`0 \le x \le a_t` of them; the rest is rejected. Rates are shares of the server's nominal
speed, 10,000 tokens per second, and a token of tenant i is :math:`w_i` tokens of work. **The server
is simulated**: an M/M/1 queue with speed :math:`c_t`, whose sojourn time is exponential, with the
95th percentile :math:`\ln(20)/(\mu(c_t - w^\top x))`. In shares of its limit,

.. math:: g_t(x) = \frac{k}{u} - 1, \quad u = c_t - w^\top x, \quad
          k = \frac{\ln 20}{\mu\,\text{limit}},

with k = 0.2 for requests of 20 ms and a limit of 300 ms. It is convex, rises in every rate, and is
at most 0 where :math:`u \ge k`. Below :math:`u = k/2`, where the percentile is twice its limit, it
goes on along its tangent: a second of overload makes a finite backlog. So g is convex
everywhere, and

- the Hessian :math:`2k\,ww^\top/u^3` is at most :math:`\beta = 2\|w\|^2/k^2` where :math:`g \le 0`,
  which is all that an upper model asks for (docs/errors.md);
- no slope in c is steeper than :math:`4/k`, so a speed that moves by at most :math:`\delta` per
  second makes a drift of at most :math:`v = 4\delta/k`, at every x.

The percentile is read with an error of at most ``value_error``, its slope with one of at most
``slope_error``. Demand is drawn by :func:`tenant_demand` from a seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, EmptyRegionError, Errors, Reading
from surefoot.sets import Box

__all__ = [
    "AdmissionRecord",
    "AdmissionRule",
    "AdmissionServer",
    "CertifiedAdmission",
    "Window",
    "additive_increase",
    "admit_everything",
    "by_value_per_work",
    "fixed_rates",
    "tenant_demand",
]

STEP = 0.05
"""The length of a step at which the error of the slope is allowed for most closely."""

WORK = (1.0, 0.8, 1.2, 0.9, 1.3, 1.0)
PRIORITY = (3.0, 2.0, 2.0, 1.0, 1.0, 1.0)
CAPS = (0.45, 0.4, 0.5, 0.4, 0.4, 0.35)


class Window(NamedTuple):
    """What is known when the rates of a second are set.

    Attributes:
        number: of the second, from 0.
        demand: what each tenant asks for.
        action: the rates of the last second.
        value: what was read there: g with an error.
        slope: its gradient, with an error.
    """

    number: int
    demand: Array
    action: Array
    value: float
    slope: Array


AdmissionRule: TypeAlias = Callable[[Window], Array]


class AdmissionRecord(NamedTuple):
    """What a rule did.

    Attributes:
        values: the true g of every second.
        admitted: tokens that were admitted, as a share of those asked for.
        weighted: the same, each token weighted by the priority of its tenant.
        microseconds: median time per decision.
    """

    values: Array
    admitted: float
    weighted: float
    microseconds: float

    @property
    def over(self) -> int:
        """In how many seconds the true percentile was above its limit."""
        return int((self.values > 0).sum())


def tenant_demand(seconds: int, seed: int = 0) -> Array:
    """Return what six tenants ask for: a daily wave pressed into an hour, noise and bursts.

    Tenant i asks for 30 % of its cap, times a sine wave of an hour between 0.5 and 1.5 with a phase
    of its own, times a factor between 0.9 and 1.1 drawn anew every second, times 3 in bursts, but
    never more than its cap. A burst begins with probability 1/300 and ends with probability 1/40
    per second.

    Args:
        seconds: how many.
        seed: of all draws.

    Example:
        >>> a = tenant_demand(3600)
        >>> a.shape, bool((a >= 0).all() and (a <= CAPS).all()), a.sum(axis=1).mean().round(2)
        ((3600, 6), True, np.float64(0.91))
    """
    T, n, rng = checks.positive_int(seconds, "seconds"), len(CAPS), np.random.default_rng(seed)
    wave = 1.0 + 0.5 * np.sin(2 * np.pi * (np.arange(T)[:, None] / 3600 + rng.uniform(0, 1, n)))
    # Drawn second by second, so that a shorter run is the beginning of a longer one.
    noise, coin = rng.uniform(0, 1, (T, 2, n)).transpose(1, 0, 2)
    bursts, going = np.zeros((T, n), dtype=bool), np.zeros(n, dtype=bool)
    for t in range(T):
        going = np.where(going, coin[t] >= 1 / 40, coin[t] < 1 / 300)
        bursts[t] = going
    caps = np.array(CAPS)
    return np.minimum(0.3 * caps * wave * (0.9 + 0.2 * noise) * np.where(bursts, 3.0, 1.0), caps)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionServer:
    """The simulated server with its tenants.

    Args:
        seconds: how many windows there are.
        seed: of the demand and of the errors.
        knee: k, the percentile of the idle server as a share of its limit.
        swing: by how much the speed rises and falls around 1, in a sine wave of an hour.
        value_error: bound on the error of the percentile that is read, as a share of the limit.
        slope_error: bound on the length of the error of the slope.
    """

    seconds: int = 3600
    seed: int = 0
    knee: float = 0.2
    swing: float = 0.1
    value_error: float = 0.02
    slope_error: float = 0.1

    def __post_init__(self) -> None:
        checks.positive_int(self.seconds, "seconds")
        checks.positive(knee=self.knee)
        checks.nonnegative(
            swing=self.swing, value_error=self.value_error, slope_error=self.slope_error
        )
        if not self.knee + self.swing < 1:
            raise InvalidValueError(
                f"knee + swing must be below 1, got {self.knee!r} + {self.swing!r}"
            )

    @property
    def beta(self) -> float:
        r"""Bound on the curvature where g is at most 0: :math:`2\|w\|^2/k^2`."""
        return 2.0 * float(np.square(WORK).sum()) / self.knee**2 * (1 + 1e-12)

    @property
    def drift(self) -> float:
        r"""Bound on the change of g per second, at every x: :math:`4\delta/k`."""
        return 4.0 * self.swing * 2.0 * math.pi / 3600.0 / self.knee * (1 + 1e-12)

    def speed(self, t: int) -> float:
        """Return the speed of a second."""
        return 1.0 - self.swing * math.sin(2.0 * math.pi * t / 3600.0)

    def value(self, t: int, x: Array) -> float:
        """Return the true g of a second: above 0 where the percentile is above its limit.

        Example:
            >>> server = AdmissionServer()
            >>> [round(server.value(0, np.full(6, rate)), 3) for rate in (0.0, 0.1, 0.2)]
            [-0.8, -0.474, 7.8]
        """
        k, u = self.knee, self.speed(t) - float(np.dot(WORK, x))
        return k / u - 1.0 if u >= 0.5 * k else 3.0 - 4.0 * u / k

    def slope(self, t: int, x: Array) -> Array:
        """Return the true gradient of g."""
        k, u = self.knee, self.speed(t) - float(np.dot(WORK, x))
        return k / max(u, 0.5 * k) ** 2 * np.array(WORK)

    def run(self, rule: AdmissionRule) -> AdmissionRecord:
        """Let a rule set the rates of every second, beginning with an idle server.

        Args:
            rule: from a :class:`Window` to the rates. One that admits more than was asked for is
                refused. The true percentile is held against its limit exactly.

        Example:
            >>> done = AdmissionServer(seconds=200).run(admit_everything)
            >>> done.over > 0, done.admitted
            (True, 1.0)
        """
        T, n = self.seconds, len(WORK)
        demand = tenant_demand(T, self.seed)
        first, second, third = np.random.default_rng((self.seed, 1)).spawn(3)
        errors = self.value_error * first.uniform(-1, 1, T)
        ways = second.normal(size=(T, n))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        ways *= self.slope_error * third.uniform(0, 1, (T, 1))
        x, values, seconds, admitted = np.zeros(n), np.zeros(T), np.zeros(T), np.zeros((T, n))
        for t in range(T):
            before = max(t - 1, 0)
            read = self.value(before, x) + float(errors[t])
            seen = Window(t, demand[t], x, read, self.slope(before, x) + ways[t])
            begin = time.process_time()
            x = rule(seen)
            seconds[t] = time.process_time() - begin
            if not ((x >= 0) & (x <= demand[t])).all():
                raise InvalidValueError(f"the rates of second {t} must be from 0 to the demand")
            values[t], admitted[t] = self.value(t, x), x
        return AdmissionRecord(
            values=values,
            admitted=float(admitted.sum() / demand.sum()),
            weighted=float((admitted @ PRIORITY).sum() / (demand @ PRIORITY).sum()),
            microseconds=1e6 * float(np.median(seconds)),
        )


def admit_everything(window: Window) -> Array:
    """Return the demand: no limit."""
    return window.demand


def fixed_rates(server: AdmissionServer) -> AdmissionRule:
    """Return token buckets: the same rate for all tenants, safe at the server's lowest speed.

    A bucket holds the tokens of one second. The rate is the largest that all may use at once.
    """
    rate = (1.0 - server.swing - server.knee) / sum(WORK) * (1 - 1e-12)
    return lambda window: np.minimum(window.demand, rate)


def additive_increase(
    add: float = 0.02, factor: float = 0.5, target: float = 1.0, start: float = 0.3
) -> AdmissionRule:
    """Return AIMD on the total rate, which is given to tenants in the order of their priority.

    Where the percentile that was read is above the target the total is multiplied by the factor;
    else, and if all of it was used, it rises.

    Args:
        add: to the total, per second.
        factor: below 1.
        target: as a share of the limit.
        start: the first total.

    Example:
        >>> rule = additive_increase(start=0.5)
        >>> idle = Window(0, np.full(6, 0.2), np.zeros(6), -0.8, np.ones(6))
        >>> rule(idle).round(2)
        array([0.2, 0.2, 0.1, 0. , 0. , 0. ])
    """
    total = start

    def rule(window: Window) -> Array:
        nonlocal total
        if window.value > target - 1.0:
            total *= factor
        elif float(window.action.sum()) >= total * (1 - 1e-9):
            total += add
        return _in_order(window.demand, np.ones(len(WORK)), np.array(PRIORITY), total)

    return rule


def by_value_per_work(server: AdmissionServer) -> AdmissionRule:
    """Return the best admission there is; it knows the server and its speed in the second."""
    work, worth = np.array(WORK), np.array(PRIORITY) / WORK

    def rule(window: Window) -> Array:
        room = (server.speed(window.number) - server.knee) * (1 - 1e-12)
        return _in_order(window.demand, work, worth, room)

    return rule


def _in_order(demand: Array, work: Array, worth: Array, room: float) -> Array:
    """Return what fits into the room if tenants are served in the order of their worth."""
    x = np.zeros_like(demand)
    for i in np.argsort(-worth, kind="stable"):
        x[i] = min(float(demand[i]), max(room, 0.0) / float(work[i]))
        room -= float(work[i] * x[i])
    return x


@dataclass(slots=True)
class CertifiedAdmission:
    r"""A step towards the weighted demand, as far as the readings prove that g is at most 0.

    The cost of a second is :math:`f_t(x) = p^\top(a_t - x)`, the weighted tokens that are rejected.
    The next rates are those of a descent step, :math:`x_{t-1} + \eta p`, projected onto the points
    of :math:`[0, a_t]` that :class:`surefoot.knowledge.CurvatureRows` certifies for the bounds on
    the errors and the drift. Known: these bounds, the curvature, and that g rises in every rate.
    Neither the work per token nor the speed is known. The error of the slope adds at most
    :math:`\tau\|q\| \le \frac\tau2(\ell + \|q\|^2/\ell)` over a step q, for any length
    :math:`\ell`: with that of a usual step (``STEP``) it counts as a little more error of the value
    and a little more curvature, which is searched five times as fast as ``slope_error``.

    Where demand falls so far that no point of the box is certified, the certified point nearest to
    the last rates is taken and lowered to the demand, which makes g smaller. If there is none,
    nothing is admitted for a second: the idle server is feasible.

    Args:
        server: for its bounds: ``beta``, ``value_error``, ``slope_error``, ``drift``.
        eta: the step size.

    Attributes:
        lowered: how often the certified point was lowered to the demand.
        idle: how often nothing was admitted.

    Example:
        >>> server = AdmissionServer(seconds=100)
        >>> server.run(CertifiedAdmission(server)).over
        0
    """

    server: AdmissionServer
    eta: float = 0.1
    lowered: int = field(default=0, init=False)
    idle: int = field(default=0, init=False)
    _known: CurvatureRows = field(init=False, repr=False)
    _memory: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.positive(eta=self.eta)
        server, tau = self.server, self.server.slope_error
        self._known = CurvatureRows(
            beta=(server.beta + tau / STEP,),
            reach=float(np.linalg.norm(CAPS)),
            errors=Errors(value=server.value_error + 0.5 * tau * STEP, drift=server.drift),
        )

    def __call__(self, window: Window) -> Array:
        """Return the rates of a second."""
        x, demand = window.action, window.demand
        if self._memory is None:
            self._memory = self._known.init(x)
        known = self._known
        g, s = np.atleast_1d(window.value), np.atleast_2d(window.slope)
        reading = Reading(x, g, s, known.errors)
        self._memory = known.observe(self._memory, reading)
        region = known.region(self._memory, known.errors)
        zero = np.zeros_like(x)
        try:
            point: Array = region.within(Box(zero, demand)).nearest(
                x + self.eta * np.array(PRIORITY)
            )
            return point
        except EmptyRegionError:
            self.lowered += 1
        try:
            return np.minimum(region.within(Box(zero, np.maximum(x, demand))).nearest(x), demand)
        except EmptyRegionError:
            self.idle += 1
            return zero

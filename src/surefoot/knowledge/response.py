r"""How readings follow actions in a plant with memory: heat, tanks, filters, meters that average.

:math:`x_t` is in force during round t and y_t is read at its end. At rest under x the reading would
be :math:`g(x)`. The plant *settles without overshoot* if y is a weighted mean of the past,

.. math:: y_t = \sum_{k \ge 0} h_k\,g_{t-k}(x_{t-k}), \qquad h_k \ge 0,\ \sum_k h_k = 1,

at readings and between them. :math:`\mathrm{left}(i)`, at least :math:`\sum_{k \ge i}h_k`, is what
may be missing of a step i rounds after it. Only this envelope must be known: the weights may change
with time.

**Lemma (lag).** *At rest before round 1, with* :math:`d_t` *at least*
:math:`|g_t(x_t) - g_t(x_{t-1})|` *and* :math:`|g_{t+1} - g_t| \le v` *everywhere,*

.. math:: |y_t - g_t(x_t)| \le e_t := \sum_{i \ge 1}\mathrm{left}(i)\,(d_{t+1-i} + v_{t-i})
          + \mathrm{left}(0)\,v ,

*with* :math:`v_s = v` *for rounds s that were played, else 0.* *Proof.*
:math:`g_t(x_t) - y_t = \sum_k h_k(g_t(x_t) - g_{t-k}(x_{t-k}))` is
:math:`\sum_{i \ge 0}(\sum_{k > i}h_k)D_{t-i}` with :math:`D_s = g_s(x_s) - g_{s-1}(x_{s-1})`, and 0
before round 1. The action of round s has been in force for a whole round at its reading, so that
its part :math:`d_s` of :math:`D_s` has :math:`\mathrm{left}(1)` in round s, and one more round in
each later one. Drift may come at any time of a round, also right before the reading: so its part
has :math:`\mathrm{left}(0) \le 1` in the same round. ∎

With modes, :math:`\mathrm{left}(i) = \sum_jw_j\rho_j^i` and :math:`\rho_j = e^{-\Delta/\tau_j}` for
rounds of length :math:`\Delta`, the sum is one number per mode. A dead time and a meter that shows
the mean over a window come before the modes: for so many rounds :math:`\mathrm{left}` is a table.

*Gains.* Where :math:`g = \sum_jm_j(\kappa(x))`, each :math:`m_j` non-decreasing in one load
:math:`\kappa`, and each passes through a mode of its own, all of the above holds with
:math:`M_j|x_t - x_{t-1}|` in place of :math:`w_jd_t`, :math:`M_j` the Lipschitz constant of
:math:`m_j(\kappa(x))`. Every part then lies between its values at the least and at the largest load
of the past, and so does their sum. With two loads that is false: then g may be 0 before and
after a step, and y above 0 in between.

Rounding. All terms are at least 0, so that relative errors add up. With n coordinates and
u = 2^-53, a length has less than (n + 4)u, and a move of the sums a few u more: every move is
multiplied by 1 + 2(n + 16)u, and the sum by 1 + 2(m + 8)u for m terms. Underflow loses less than
1e-307 in all: 1e-290 is added to what moved. Ratios and the table are rounded up by 2^-40.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.forms import NonNegative, Span
from surefoot.core.parameters import Declared, anything, flag, nonnegative, positive
from surefoot.core.points import UNIT
from surefoot.core.types import Array

__all__ = ["Lag", "Response"]

_UP = 1.0 + 2.0**-40
"""An exponent of at most 700 is rounded by less, relative to its exponential."""
_LOST = 1e-290
"""More than all that underflow may take from a lag."""
_LONGEST = 4096
"""How many rounds a table of what is left may have."""


class Lag(NamedTuple):
    """What readings may still miss of the moves so far.

    Attributes:
        x: the action in force.
        modes: what is left of older moves, for each mode.
        moves: the latest moves, the newest first, which the table counts.
        ahead: what is to join the next move: the drift of the last round, or an unknown jump.
        error: how far the reading of the last round may be from g at its action.
    """

    x: Array
    modes: Annotated[Array, Span(0)]
    moves: Annotated[Array, Span(0)]
    ahead: NonNegative
    error: NonNegative


class Response(Declared):
    """How much of a step of the action a reading may still miss, after some time.

    Times are in one unit, minutes or any other. The plant must not overshoot, and must be at rest
    when the first action is read.

    Args:
        time_constants: those of the modes; none for a plant that follows after the dead time and
            the window.
        shares: how much of a step passes through each mode; 1 for one mode. With ``at_once`` they
            add up to 1 at least.
        gains: instead of shares, by how much each mode moves at most per unit of length of the
            action; without drift.
        round: the shortest time from when an action is in force to its reading.
        dead_time: after which a step begins to show.
        window: of a meter that shows the mean over it.
        at_once: the share of a step that shows without inertia.
        through: whether drift and contexts pass through the same inertia as the action.

    Example:
        >>> slow = Response(time_constants=[20.0], round=5.0)  # minutes
        >>> slow.remainder(1), slow.remainder(4)
        (0.77880078..., 0.36787944...)
        >>> Response(window=15.0, round=5.0).table.round(6)
        array([0.666667, 0.333333, 0.      ])
    """

    round: float = positive()
    time_constants: Any = anything("one time > 0 per mode", default=())
    shares: Any = anything("one share > 0 per mode", default=None)
    gains: Any = anything("one number > 0 per mode", default=None)
    dead_time: float = nonnegative(default=0.0)
    window: float = nonnegative(default=0.0)
    at_once: float = nonnegative(default=0.0)
    through: bool = flag(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("time_constants", "shares", "gains"):
            numbers = getattr(self, name)
            if numbers is not None:
                object.__setattr__(self, name, _read(numbers, name))
        modes = max(len(self.time_constants), 1)
        if not self.at_once < 1.0:
            raise checks.invalid("at_once", "below 1, or there is no inertia", self.at_once)
        if self.shares is not None and self.gains is not None:
            rule = "None where gains are given, which say how far each mode moves"
            raise checks.invalid("shares", rule, self.shares)
        for name in ("shares", "gains"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) != modes:
                rule = f"{modes} numbers, one per time constant"
                raise checks.invalid(name, rule, numbers)
        if self.shares is None and self.gains is None and modes > 1:
            raise checks.invalid("shares", "given for several time constants", None)
        if self.gains is not None and self.at_once:
            rule = "0 where gains are given: a mode that follows at once has none"
            raise checks.invalid("at_once", rule, self.at_once)
        if self.gains is None and sum(self._weights) + self.at_once < 1.0 - 2.0**-40:
            total = sum(self._weights) + self.at_once
            raise InvalidValueError(
                f"shares and at_once must add up to at least 1, got {total:g}: the rest of a step "
                "would never show"
            )
        self._check_times()

    def _check_times(self) -> None:
        if self.table_length > _LONGEST:
            raise InvalidValueError(
                f"dead_time and window must be at most {_LONGEST} rounds together, got "
                f"{self.dead_time + self.window:g} with rounds of {self.round:g}"
            )
        for tau, rho in zip(self.time_constants, self.ratios, strict=False):
            if not rho < 1.0:
                raise InvalidValueError(
                    f"time_constants must be at most 10^13 rounds, got {tau:g} with rounds of "
                    f"{self.round:g}: such a plant never settles"
                )

    @property
    def _weights(self) -> tuple[float, ...]:
        """The shares or the gains."""
        if self.gains is not None:
            return tuple(self.gains)
        if self.shares is not None:
            return tuple(self.shares)
        return (1.0 - self.at_once,)

    @cached_property
    def ratios(self) -> Array:
        """What is left of each mode after one round more, rounded up; 0 without a time constant."""
        if not self.time_constants:
            return np.zeros(1)
        return np.exp(-self.round / np.array(self.time_constants)) * _UP

    @property
    def table_length(self) -> int:
        """How many rounds the dead time and the window last."""
        return math.ceil((self.dead_time + self.window) / self.round)

    @cached_property
    def table(self) -> Array:
        """What is left after 1, 2, ... rounds, while the dead time and the window last."""
        times = self.round * np.arange(1, self.table_length + 1) - self.dead_time
        taus = self.time_constants or (0.0,)
        each = [*zip(taus, self._weights, strict=True), (0.0, self.at_once)]
        return np.sum([w * self._remainder_of(tau, times) for tau, w in each], axis=0) * _UP

    @cached_property
    def coefficients(self) -> Array:
        """What the first mode, the second, ... have of a step at the end of the table."""
        late = self.table_length * self.round - self.dead_time
        weights = np.array(self._weights)
        if not self.table_length:
            return weights
        if not self.time_constants:
            return np.zeros(1)
        tau, window = np.array(self.time_constants), self.window
        spread = 1.0
        if window:  # the mean over the window, of which all is after the step
            spread = -np.expm1(-window / tau) * tau / window
        return weights * np.exp(-(late - window) / tau) * spread * _UP

    def _remainder_of(self, tau: float, times: Array) -> Array:
        """Return what is left of a mode some times after the dead time.

        Args:
            tau: its time constant; 0 for one without inertia.
            times: from the end of the dead time.
        """
        window, after = self.window, np.maximum(times, 0.0)
        within = np.maximum(window - after, 0.0)  # of the window, from before the step
        if tau and window:
            since = np.maximum(after - window, 0.0)
            fall = -np.exp(-since / tau) * np.expm1((since - after) / tau)
            share = (tau * fall + within) / window
        elif tau:
            share = np.exp(-after / tau)
        else:
            share = within / window if window else 0.0 * after
        return np.where(times <= 0.0, 1.0, share)

    def remainder(self, rounds: int) -> float:
        """Return what may be missing of a step some rounds after it, rounded up.

        Args:
            rounds: how many, at least 1.
        """
        n = self.table_length
        if rounds <= n:
            return float(self.table[rounds - 1])
        return float((self.coefficients * self.ratios ** (rounds - n)).sum()) * _UP

    @cached_property
    def first(self) -> float:
        """What may be missing of a change at once, at most 1."""
        if self.is_quick:
            return 0.0
        if self.gains is not None or self.table_length:
            return 1.0
        return min(1.0, sum(self._weights) * _UP)

    @property
    def is_quick(self) -> bool:
        """Whether nothing is missing a round after a step."""
        return not self.time_constants and not self.table_length

    @cached_property
    def total(self) -> float:
        """The sum of what is left at once, after 1, 2, ... rounds, rounded up."""
        later = (self.coefficients * self.ratios / (1.0 - self.ratios)).sum()
        return float(self.first + self.table.sum() + later) * _UP

    def begin(self, x: Array) -> Lag:
        """Return the lag of a plant at rest at an action."""
        return Lag(x, np.zeros(len(self.ratios)), np.zeros(self.table_length), 0.0, 0.0)

    def move(self, lag: Lag, x: Array, G_g: float, drift: float) -> Lag:
        """Return the lag after one more round.

        Args:
            lag: before it.
            x: the action that was in force.
            G_g: the Lipschitz constant of g; not used with gains.
            drift: what g may change by in a round.
        """
        length = length_of(x - lag.x)
        step = lag.ahead + (length if self.gains is not None else G_g * length)
        return self._advance(lag, x, step, drift)

    def jump(self, lag: Lag, length: float, G_g: float) -> Lag:
        """Return the lag where the next action may have moved by a length more than is known.

        Args:
            lag: of the action in force.
            length: how far it may have moved.
            G_g: the Lipschitz constant of g; not used with gains.
        """
        step = length if self.gains is not None else G_g * length
        return lag._replace(ahead=lag.ahead + step)

    def _advance(self, lag: Lag, x: Array, step: float, drift: float) -> Lag:
        up = 1.0 + 2.0 * (len(x) + 16) * UNIT
        moves = np.concatenate([[step * up], lag.moves])
        n = len(self.table)
        modes = self.ratios * (lag.modes + self.coefficients * moves[n]) * up
        total = float(modes.sum() + self.table @ moves[:n])
        total = (total + self.first * drift) * (1.0 + 2.0 * (len(modes) + n + 8) * UNIT)
        lost = _LOST if step > 0.0 and not self.is_quick else 0.0
        return Lag(x, modes, moves[:n], drift, total + max(lost, _LOST * (lag.error > 0.0)))

    def describe(self) -> str:
        """Return what must be true of the plant, in words.

        >>> print(Response(time_constants=[20.0], round=5.0).describe())
        a round after a step at most 0.779 of it is missing, after 2 rounds 0.607
        """
        if self.gains is not None:
            each = ", ".join(f"{gain:g}" for gain in self.gains)
            words = f"modes move by at most {each} per unit of length of the action, and a round "
            words += "after a step at most "
            return words + ", ".join(f"{rho:.3g}" for rho in self.ratios) + " of each is missing"
        words = f"a round after a step at most {self.remainder(1):.3g} of it is missing"
        return f"{words}, after 2 rounds {self.remainder(2):.3g}"


def length_of(way: Array) -> float:
    """Return the length of a way, also where the squares of its entries underflow.

    >>> length_of(np.array([3e-200, 4e-200])) >= 5e-200
    True
    """
    length = norm(way)
    return float(length) if length > 1e-140 else float(np.abs(way).sum())


def _read(values: Any, name: str) -> tuple[float, ...]:
    """Return a tuple of numbers above 0."""
    rule = "finite numbers > 0, one per mode"
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise checks.invalid(name, rule, values)
    numbers: Any = ()
    if len(values):
        numbers = checks.to_vector(checks.to_numbers(values, name, rule), name)
    if not all(0 < number < math.inf for number in numbers):
        raise checks.invalid(name, rule, values)
    return tuple(float(number) for number in numbers)

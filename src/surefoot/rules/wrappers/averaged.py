"""Any certified rule with readings that are noisy: averages with bounds that hold in all rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, errors_of, move_to, rest
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback, refuse_unused
from surefoot.core.forms import Count
from surefoot.core.parameters import count, nonnegative, positive, share
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Info, Number
from surefoot.guarantees.guarantee import Guarantee, Measure
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.promise import Promise
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.errors import EmptyRegionError, Errors
from surefoot.knowledge.region import OnePoint, Region
from surefoot.rules.wrappers.wrapper import (
    UNKNOWN,
    FromBase,
    Wrapper,
    action_played,
    start_one_run,
)

__all__ = ["Averaged", "WithProbability"]


# Columns of the sums: how many, those with a slope, those at actions that may be infeasible, round
# numbers, readings, |X|^2, s'X; then X and s.
_COUNT, _SLOPES, _BEYOND, _ROUND, _VALUE, _SQUARE, _PRODUCT, _REST = range(8)


class AveragedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the base.
        start: the first action.
        windows: the sums of the readings.
        low: g was at least this where it was read last.
        high: the last action with a reading, and an upper bound on g there.
        gradients: the sum of the cost gradients that the base has not received yet.
        waited: for how many rounds the start was measured; -1 once the base has a reading.
        rounds: how many rounds have been played.
    """

    x: Array
    base: Any
    start: Array
    windows: Windows
    low: float
    high: Anchor
    gradients: Array
    waited: float
    rounds: Count


class Averaged(Wrapper):
    r"""A certified rule whose readings of g are noisy: they are averaged, with honest bounds.

    What is read in a round is :math:`g(x_t) + \varepsilon_t`, with noise that is
    :math:`\sigma`-sub-Gaussian given the rounds before: normal with that standard deviation, or
    anything of mean 0 within :math:`\pm\sigma`. Convexity carries a reading from the action it was
    made at to the last one, so readings are averaged over windows of the last 1, 2, 4, ... of them
    although actions move, and the best window counts. The bounds hold in all rounds together
    with probability :math:`1 - \delta`; so then does the feasibility of the *true* g. The base is
    told the middle of the bounds and, as ``value_error``, half of their distance.

    First of all the start is measured, until its slack is known well enough: so long the action
    stays, and the gradients are added up.

    Where the base certifies by a ``G_g`` no slope need be reported: :math:`G_g` carries a reading
    that has none. What is read outside of the domain, where the constants need not hold, is in no
    average.

    Args:
        base: a rule for one constraint that takes a ``value_error`` with each round's feedback.
        sigma: :math:`\sigma`.
        failure: :math:`\delta`, the probability with which any bound may fail.
        longest: the longest blocks of readings that are averaged, a power of 2.
        warm: the error of the start's slack that is accepted, relative to the slack; it is measured
            for at most ``longest`` rounds.

    Example:
        >>> from surefoot import Ball
        >>> from surefoot.rules import LeaderFollower
        >>> player = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> noisy = Averaged(base=player, sigma=0.02)
        >>> state, rng = noisy.init(np.zeros(2)), np.random.default_rng(0)
        >>> for t in range(200):  # the constraint is x[1] <= 0.5
        ...     reading = float(state.x[1]) - 0.5 + 0.02 * rng.normal()
        ...     seen = Feedback(np.array([0.0, -1.0]), reading, np.array([0.0, 1.0]))
        ...     state = noisy.update(state, seen)
        >>> bool(0.45 < state.x[1] <= 0.5)
        True
    """

    uses: ClassVar[frozenset[str]] = frozenset({"action", "age", "within"})
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "every round"
    rests_on_convexity: ClassVar[bool] = True
    refusals: ClassVar[Mapping[str, str | None]] = {
        "unknown": UNKNOWN.format("that repeats an action until it knows that it violates"),
        "ramp": None,
        "context": "an average is of readings of one g, and those of several contexts are of "
        "several, so give the base a value_error that no reading exceeds, and leave Averaged out",
    }
    is_one_run: ClassVar[bool] = True
    takes_late: ClassVar[bool] = True

    sigma: Number = positive()
    failure: float = share(default=0.01)
    longest: int = count(default=1024)
    warm: Number = nonnegative(default=0.25)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest & (self.longest - 1):
            raise InvalidValueError(f"longest must be a power of 2, got {self.longest!r}")
        errors, needs, name = errors_of(self.base), self.needs, type(self.base).__name__
        if errors is None:
            rule = f"a certified rule, which allows for the error of an average, got {name}"
        elif needs.separately:
            rule = (
                "a rule for one limit, because an average is of one number, and the largest of "
                "several noisy ones is too large in the mean: give the base a value_error that no "
                f"reading exceeds, and leave Averaged out, got a {name} of several"
            )
        elif not (needs.constraint_subgradients or self._G_g < math.inf):
            kind = type(self.knowledge).__name__
            rule = (
                "told slopes, or have a G_g, by which readings of several actions are one average, "
                f"got a {name} by {kind}"
            )
        elif errors.value:
            rule = (
                "without a value_error, which Averaged estimates: leave one of both out, got "
                f"{errors.value!r}"
            )
        else:
            return
        raise InvalidValueError(f"base must be {rule}")

    def inherit(self, each: Guarantee) -> Guarantee:
        """Return the guarantee that remains if readings are noisy.

        Example:
            >>> from surefoot import Constants
            >>> from surefoot.rules import LeaderFollower
            >>> c = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
            >>> print(Averaged.of(LeaderFollower.default(c), sigma=0.01).guarantee)
            Theorem E (hulls of certified balls), with probability 0.99 for any number of rounds
            (every round)
        """
        return WithProbability(each.constants, each, self.failure)

    @property
    def needs_slopes(self) -> bool:
        """Whether a round must report a slope: an average carries readings by slopes or by G_g."""
        return super().needs_slopes or not self._G_g < math.inf

    @property
    def _G_g(self) -> float:
        """How fast g changes at most between actions; infinite if that is unknown."""
        return float(self.knowledge.constants.get("G_g", math.inf))

    @property
    def errors(self) -> Errors:
        """What the base allows for, with what no reading of a million rounds errs by.

        That is so with the same probability.
        """
        noise = float(self.sigma) * math.sqrt(2 * math.log(2e6 / self.failure))
        errors: Errors = replace(errors_of(self.base), value=noise)
        return errors

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors but those of values, which are noise."""
        return super().allowing(replace(errors, value=0.0))

    def carry(self, promise: Promise) -> Promise:
        """Return the promise of the base with a probability, for values with random errors."""
        needs = tuple(words for words in promise.needs if not words.startswith("values err"))
        noise = f"the noise of values is sub-Gaussian with sigma = {float(self.sigma):g}"
        return replace(promise, needs=needs).with_more(
            f"with probability {1 - self.failure:g}",
            f"{noise}, given the rounds before",
            not_covered=WithProbability.leaves_out,
        )

    def init(self, x1: Array) -> AveragedState:
        """Start at x1."""
        base = start_one_run(self.base, x1)
        windows = empty_windows(len(base.x), self.longest)
        nothing = Anchor(base.x, math.inf, 0.0)
        zeros = np.zeros_like(base.x)
        return AveragedState(base.x, base, base.x, windows, -math.inf, nothing, zeros, 0.0, 0.0)

    def locate(self, state: AveragedState, feedback: Feedback) -> Feedback:
        """Return feedback with the action and the age of its measurements."""
        refuse_unused(feedback, self.needs.fields, type(self).__name__)
        located: Feedback = self.base.locate(self._base_at(state, state.x), feedback)
        return located

    def step(self, state: AveragedState, feedback: Feedback) -> tuple[AveragedState, Info]:
        """Return the state after a round and the details of the base's step."""
        located, t = self.locate(state, feedback), state.rounds + 1.0
        state = state._replace(rounds=t, base=self._base_at(state, action_played(state, feedback)))
        if located.cost_gradient is not None:
            gradient = checks.read_gradient(located.action, located)
            state = state._replace(gradients=state.gradients + gradient)
        suspects: tuple[Callable[[], tuple[str, ...]], ...] = ()
        if located.constraint_value is not None:
            state, located = self._read(state, located)
            suspects = (partial(_contradict, t, state.low, state.high.value),)
        elif not state.windows.readings:
            return self._stay(state), Info(state.x, proposal=state.x)
        region = self._wait(state, located)
        if region is not None:
            region = region.within(located.within)
            x = region.nearest(state.start)
            return self._stay(state), Info(x, x, region, suspects)
        if self.needs.cost_gradients:
            located = located._replace(cost_gradient=state.gradients)
        base, info = self.base.step(state.base, located)
        zeros, suspects = np.zeros_like(state.gradients), (*info.suspects, *suspects)
        after = state._replace(x=base.x, base=base, gradients=zeros, waited=-1.0)
        return after, info._replace(suspects=suspects, round=int(t))

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    def move_to(self, state: AveragedState, x: Array) -> AveragedState:
        """Return the state, of the same round, whose action is x, and so the base's."""
        base = self._base_at(state, x)
        return state._replace(x=base.x, base=base)

    def rest(self, state: AveragedState, x: Array) -> AveragedState:
        """Return the state after a round without a reading; x is the next action."""
        base = rest(self.base, self._base_at(state, state.x), x)
        return state._replace(x=base.x, base=base, rounds=state.rounds + 1.0)

    def _base_at(self, state: AveragedState, x: Array) -> Any:
        """Return the state of the base at the action that was really played."""
        is_there = state.base.x is x or np.array_equal(state.base.x, x)
        return state.base if is_there else move_to(self.base, state.base, x)

    def _read(self, state: AveragedState, feedback: Feedback) -> tuple[AveragedState, Feedback]:
        """Return the state with a reading, and the feedback of the base in its place."""
        x, errors, G_g = feedback.action, errors_of(self.base), self._G_g
        if self.needs_slopes or feedback.constraint_subgradient is not None:
            g, s = checks.read_constraint(x, feedback)
        else:
            g, s = checks.read_constraint_value(feedback.constraint_value, x), None
        checks.finite(constraint_value=g)
        if not self.knowledge.holds(x):  # the base does not use it either
            return state, feedback
        X, when = x - state.start, state.rounds - feedback.age
        # A slope that errs by as much as G_g says no more than G_g.
        known = s if errors.slope < G_g else None
        sizes = {"slope_error": errors.slope, "G_g": G_g, "drift": errors.drift}
        is_own = feedback.age > 0 or not np.array_equal(x, state.x)
        windows = state.windows.add(X, g, known, when, is_own)
        low, high = windows.bounds(X, known, when, self.sigma, self.failure, **sizes)
        if is_own and high <= 0.0:  # it is feasible
            windows = state.windows.add(X, g, known, when)
            low, high = windows.bounds(X, known, when, self.sigma, self.failure, **sizes)
        average = feedback._replace(
            constraint_value=0.5 * (low + high),
            constraint_subgradient=s,
            value_error=0.5 * abs(high - low),
        )
        return state._replace(windows=windows, low=low, high=Anchor(x, high, when)), average

    def _wait(self, state: AveragedState, feedback: Feedback) -> Region | None:
        """Return the start, while it is to be measured on, and certified for the next round."""
        g, error = feedback.constraint_value, feedback.value_error
        is_enough = state.waited >= self.longest or (error or 0.0) <= self.warm * -(g or 0.0)
        if state.waited < 0.0 or (g is not None and is_enough):
            return None
        t, drift = state.rounds, errors_of(self.base).drift
        is_start = bool((state.high.x == state.start).all())
        bound = state.high.level(t + 1.0, drift) if is_start else math.inf
        if drift and bound > 0.0:
            if g is None:
                raise EmptyRegionError.of_drift(t, state.start, bound, drift)
            return None
        low, high = state.low, state.high.value
        estimate = f"{0.5 * (low + high):.3g} to within {0.5 * abs(high - low):.3g}"
        reason = (
            "the action stays, which was certified before it was played; g is "
            f"{estimate if is_start else 'unknown there'}, and is measured on"
        )
        return OnePoint(t, state.start, min(bound, 0.0), errors_of(self.base), reason)

    def _stay(self, state: AveragedState) -> AveragedState:
        """Return the state in which the start is played once more."""
        base = rest(self.base, state.base, state.start)
        return state._replace(x=state.start, base=base, waited=state.waited + 1.0)


def _contradict(t: float, low: float, high: float) -> tuple[str, ...]:
    """Return a sentence if the bounds of the averages contradict each other."""
    if low <= high:
        return ()
    return (
        f"round {int(t)}: by some readings g is at least {low:.6g} and by others at most "
        f"{high:.6g}: sigma is too small, or g is not convex or not the same",
    )


class Windows(NamedTuple):
    r"""Sums over blocks of 1, 2, 4, ... readings, and what they say about g at the last action.

    For each size :math:`2^j` the readings are cut into blocks of that many; kept are the sums over
    the last full block and over the one being filled. Together they are a window of between
    :math:`2^j` and :math:`2^{j+1} - 1` readings that ends with the last one. Which readings a
    window has depends on their number alone, not on what was read, which is what the proof needs.
    The memory has :math:`2\lfloor\log_2 n\rfloor + 2` rows for windows of up to 2n readings.

    Attributes:
        readings: how many there were.
        full: sums over the last full block of each size, a row per size.
        filling: sums over the block that is being filled.
        scale: the largest size of a term so far, which rounding scales with.
        latest: the last round that was read.
    """

    readings: Count
    full: Array
    filling: Array
    scale: float
    latest: float

    def add(
        self, X: Array, g: float, s: Array | None, when: float, is_beyond: bool = False
    ) -> Windows:
        """Return the sums with one more reading.

        Args:
            X: the action, relative to the first.
            g: the reading.
            s: the slope; None where there is none.
            when: the round that was read.
            is_beyond: whether the action may be infeasible, where G_g need not hold.
        """
        n, d = self.readings + 1.0, len(X)
        row = np.zeros(_REST + 2 * d)
        row[:_PRODUCT] = 1.0, s is not None, is_beyond, when, g, X @ X
        row[_REST : _REST + d] = X
        size = abs(g) + float(np.sqrt(X @ X))
        if s is not None:
            row[_PRODUCT], row[_REST + d :] = s @ X, s
            size += float(np.sqrt((X @ X) * (s @ s)))
        filling = self.filling + row
        done = (n % 2.0 ** np.arange(len(filling)) == 0)[:, None]
        full, filling = np.where(done, filling, self.full), np.where(done, 0.0, filling)
        return Windows(n, full, filling, max(self.scale, size), max(self.latest, when))

    def bounds(
        self,
        X: Array,
        s: Array | None,
        when: float,
        sigma: float,
        failure: float,
        *,
        slope_error: float,
        G_g: float,
        drift: float,
    ) -> tuple[float, float]:
        r"""Return a lower and an upper bound on g at the last action, in the round it was read.

        With k of t readings in a window, m windows, and means over a window:

        .. math::
            c &= \sigma\sqrt{2\ln(2t(t+1)m/\delta)/k} \\
            g(x_t) &\le \bar g + s_t^\top(x_t - \bar x) + c + \tau\bar d + v\bar a \\
            g(x_t) &\ge \bar g + \overline{s_i^\top(x_t - x_i)} - c - \tau\bar d - v\bar a

        where :math:`\bar d` is the root of the mean squared distance to :math:`x_t` and
        :math:`\bar a` the mean age. Where a slope is missing, :math:`s_t` or one of a window's
        :math:`s_i`, the bound has no slopes and :math:`G_g` in the place of :math:`\tau`. Of
        :math:`G_g` only feasible points are known: an upper bound by it counts where one of them
        is at most 0, else that of the last reading alone, and a lower bound where no action of the
        window may be infeasible. A reading that comes after later ones is as far from these as both
        are from the latest.

        Args:
            X: the last action, relative to the first.
            s: the slope there; None where there is none.
            when: the round of the last reading.
            sigma: of the noise.
            failure: :math:`\delta`.
            slope_error: :math:`\tau`, of the slopes that there are.
            G_g: how fast g changes at most; infinite if no slope may be missing.
            drift: v.
        """
        t, d = self.readings, len(X)
        many = min(int(math.log2(t)) + 1, len(self.full))
        sums = (self.full + self.filling)[:many]
        count = sums[:, _COUNT]
        means = sums / count[:, None]
        where, slopes = means[:, _REST : _REST + d], means[:, _REST + d :]
        g, age = means[:, _VALUE], (self.latest - means[:, _ROUND]) + (self.latest - when)
        c = sigma * np.sqrt(2 * math.log(2 * t * (t + 1) * many / failure) / count)
        # A bound on the rounding of a sum of n terms and its uses.
        unit = 8 * (2 * len(sums[0]) + 2.0 ** len(self.full)) * UNIT * self.scale
        distance = np.maximum(X @ X - 2 * (where @ X) + means[:, _SQUARE], 0.0)
        distance = np.sqrt(distance + unit * self.scale)
        spread = c + drift * age + unit
        far = G_g * distance if G_g < math.inf else np.full(many, math.inf)
        error = slope_error * distance if slope_error else 0.0
        down = slopes @ X - means[:, _PRODUCT] - error
        is_unknown = (sums[:, _BEYOND] > 0.0) & (np.arange(many) > 0)  # the first is of X alone
        down = np.where(sums[:, _SLOPES] == count, down, np.where(is_unknown, -math.inf, -far))
        low = float((g + down - spread).max())
        if s is not None:
            return low, float((g + (X - where) @ s + error + spread).min())
        high = g + far + spread
        return low, float(high.min() if high.min() <= 0.0 else high[0])


def empty_windows(dimension: int, longest: int) -> Windows:
    """Return the sums before the first reading, of blocks of up to so many."""
    empty = np.zeros((int(math.log2(longest)) + 1, _REST + 2 * dimension))
    return Windows(0.0, empty, empty, 0.0, -math.inf)


class WithProbability(FromBase):
    r"""Feasible in every round with a probability, from noisy readings or a fleet's constant.

    With probability :math:`1 - \delta`, over the noise of all rounds together or over the machines
    of a fleet, the true g has :math:`g(x_t) \le 0` in every round. No bound is certain, so that
    none is watched; nor is a regret bound claimed. The proofs are in docs/errors.md and beside
    ``problems.calibration.fleet_constant``.

    Args:
        constants: those of the guarantee for exact readings.
        each: that guarantee, which must be one for every round.
        failure: :math:`\delta`.
    """

    regret_exponent: ClassVar[None] = None
    leaves_out: ClassVar[tuple[str, ...]] = ("the runs that the probability leaves",)

    failure: float = share(default=0.01)

    @property
    def name(self) -> str:
        """The theorem for exact readings, and the probability."""
        return f"{self.each.name}, with probability {1 - self.failure:g}"

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return no bound: none holds for certain."""
        return {}

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Those on slopes, gradients and rounds; a reading of g is not g."""
        quantities = ("constraint subgradient", "cost gradient", "horizon")
        return tuple(p for p in self.each.premises if p.quantity in quantities)

"""Any certified rule with readings that are noisy: averages with bounds that hold in all rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from surefoot.algorithms._windows import Windows, no_windows
from surefoot.core import checks
from surefoot.core.arrays import ndarray
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import known_in, value_in
from surefoot.core.types import (
    Array,
    Certificate,
    Explaining,
    Feedback,
    Info,
    Needs,
    Number,
    needs_of,
)
from surefoot.theory import Tuned, unpack
from surefoot.theory.wrapped import WithProbability

__all__ = ["Averaged", "AveragedState", "WaitCertificate"]


class AveragedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the base.
        start: the first action.
        windows: the sums of the readings.
        gradients: the sum of the cost gradients that the base has not been told yet.
        waited: for how many rounds the start was measured; -1 once the base has been told.
    """

    x: Array
    base: Any
    start: Array
    windows: Windows
    gradients: Array
    waited: float


class WaitCertificate(NamedTuple):
    """Why an action that stays is feasible.

    Attributes:
        round: the round that was played.
        value: the average of the readings.
        value_error: what it is known to.
        bound: the next g is at most this.
        cut: always False: nothing was wanted.
    """

    round: int
    value: float
    value_error: float
    bound: float
    cut: bool = False

    def __str__(self) -> str:
        return (
            f"round {self.round}: the action stays, which was certified before it was played; g is "
            f"{self.value:.3g} to within {self.value_error:.3g}, and is measured on"
        )


class AveragedInfo(NamedTuple):
    """What a step knew.

    Attributes:
        round: the round that was played.
        low: g was at least this.
        high: g was at most this.
        inner: what the step of the player knew; None where the action stays.
    """

    round: int
    low: float
    high: float
    inner: Info | None

    @property
    def cut(self) -> bool:
        """Whether a half-space or a region changed the proposed action."""
        return self.inner is not None and bool(self.inner.cut)

    @property
    def certificate(self) -> Certificate | None:
        """Why the next action is feasible."""
        if self.inner is not None:
            return self.inner.certificate
        value, error = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return WaitCertificate(self.round, value, error, min(self.high, 0.0))

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What cannot be, or hardly, if the constants are right, one sentence each."""
        found = () if self.inner is None else self.inner.contradictions
        if self.low <= self.high:
            return found
        sentence = (
            f"round {self.round}: by some readings g is at least {self.low:.6g} and by others at "
            f"most {self.high:.6g}: sigma is too small, or g is not convex or not the same"
        )
        return (*found, sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged:
    r"""A certified rule whose readings of g are noisy: they are averaged, with honest bounds.

    What is read in a round is :math:`g(x_t) + \varepsilon_t`, with noise that is
    :math:`\sigma`-sub-Gaussian given the rounds before: normal with that standard deviation, or
    anything of mean 0 within :math:`\pm\sigma`. Convexity carries a reading from the action it was
    made at to the last one, so readings are averaged over windows of the last 1, 2, 4, ... rounds
    although actions move, and the best window counts. The bounds hold in all rounds together
    with probability :math:`1 - \delta`; so then does the feasibility of the *true* g. The base is
    told the middle of the bounds and, as ``value_error``, half of their distance.

    First of all the start is measured, until its slack is known well enough: so long the action
    stays, and the gradients are added up.

    Args:
        base: a rule for one constraint that takes a ``value_error`` with each round's feedback.
        sigma: :math:`\sigma`.
        failure: :math:`\delta`, the probability with which any bound may fail.
        longest: the longest blocks of rounds that are averaged, a power of 2.
        warm: the error of the start's slack that is accepted, relative to the slack; it is measured
            for at most `longest` rounds.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball
        >>> from surefoot.algorithms import LeaderFollower
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

    base: Any
    sigma: Number
    failure: float = 0.01
    longest: int = 1024
    warm: Number = 0.25

    def __post_init__(self) -> None:
        checks.parameters(self, "sigma", "failure", nonnegative=("warm",))
        if not self.failure < 1:
            raise InvalidValueError(f"failure must be below 1, got {self.failure!r}")
        longest = checks.whole(self.longest, "longest")
        if longest & (longest - 1):
            raise InvalidValueError(f"longest must be a power of 2, got {longest!r}")
        known = known_in(self.base)
        if not (isinstance(self.base, Explaining) and hasattr(known, "value_error")):
            raise InvalidValueError(
                "base must be a certified rule that takes a value_error, got "
                f"{type(self.base).__name__}"
            )
        if needs_of(self.base).apart:
            raise InvalidValueError(
                "base must be a rule for one constraint, got one that sees several"
            )
        if not (needs_of(self.base).constraint_subgradients or hasattr(self.base, "G_g")):
            raise InvalidValueError(
                "base must see slopes or have a G_g, which carry a reading from action to action, "
                f"got {type(self.base).__name__}"
            )
        if known.value_error:
            raise InvalidValueError(
                "base must be told no value_error, which the averages tell it in each round, "
                f"got {known.value_error!r}"
            )

    @classmethod
    def of(cls, player: Any, *, sigma: float, **options: Any) -> Tuned[Averaged]:
        """Return a tuned rule with noisy readings, and what is left of its guarantee.

        Args:
            player: a certified rule with its guarantee (``Tuned``).
            sigma: of the noise.
            options: the other arguments of the class.

        Example:
            >>> from surefoot import Constants
            >>> from surefoot.algorithms import LeaderFollower
            >>> c = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
            >>> print(Averaged.of(LeaderFollower.default(c), sigma=0.01).guarantee)
            Theorem G (leader and follower), with probability 0.99 for any number of rounds
            (every round)
        """
        algorithm, guarantee = unpack(player)
        if guarantee is None:
            raise InvalidValueError(f"player must have a guarantee (Tuned), got {player!r}")
        made = cls(base=algorithm, sigma=sigma, **options)
        return Tuned(made, WithProbability(guarantee.constants, guarantee, made.failure))

    @property
    def needs(self) -> Needs:
        """What the base asks for."""
        return needs_of(self.base)._replace(numpy_only=True, one_run=True)

    @property
    def domain(self) -> Any:
        """The set that the base works on."""
        return value_in(self.base, "domain")

    @property
    def value_error(self) -> float:
        """What no reading of a million rounds errs by, with the same probability."""
        return float(self.sigma) * math.sqrt(2 * math.log(2e6 / self.failure))

    def init(self, x1: Array) -> AveragedState:
        """Start at x1."""
        base = self.base.init(x1)
        if type(base.x) is not ndarray or base.x.ndim != 1:
            raise InvalidValueError("x1 must be the action of one run, got several")
        windows = no_windows(len(base.x), self.longest)
        return AveragedState(base.x, base, base.x, windows, 0.0 * base.x, 0.0)

    def moved(self, state: AveragedState, x: Array, missed: int = 0) -> AveragedState:
        """Return the state that starts from another action; readings age with rounds missed."""
        base = self.base.moved(state.base, x, missed)
        return state._replace(x=base.x, base=base, windows=state.windows.aged(missed))

    def update(self, state: AveragedState, feedback: Feedback) -> AveragedState:
        """Return the state after a round."""
        return self.step(state, feedback)[0]

    def step(self, state: AveragedState, feedback: Feedback) -> tuple[AveragedState, AveragedInfo]:
        """Return the state after a round and what the step knew."""
        x, base, start, windows, gradients, waited = state
        s, known = feedback[2], known_in(self.base)
        grad, reading = checks.cost_gradient(x, feedback), checks.constraint_value(feedback[1], x)
        checks.finite(constraint_value=reading)
        if feedback[4] is not None:
            raise InvalidValueError(
                f"value_error must be left to the averages, got {feedback[4]!r}"
            )
        if needs_of(self.base).constraint_subgradients:
            grad, _, s = checks.feedback(x, feedback)
            steep = known.slope_error or 0.0
        else:
            s, steep = None, self.base.G_g
        X, drift = x - start, known.drift or 0.0
        windows = windows.add(X, reading, s)
        low, high = windows.bounds(X, s, self.sigma, self.failure, steep, drift)
        t, middle, error = int(windows.rounds), 0.5 * (low + high), 0.5 * abs(high - low)
        gradients = gradients + grad
        waits = 0.0 <= waited < self.longest and error > self.warm * -middle
        # Under drift an action that stays must be certified for the next round.
        if waits and (drift == 0.0 or high + drift <= 0.0):
            after = AveragedState(x, base, start, windows, gradients, waited + 1.0)
            return after, AveragedInfo(t, low, high, None)
        told = Feedback(gradients, middle, s, feedback[3], error)
        base, inner = self.base.step(base._replace(x=x), told)
        after = AveragedState(base.x, base, start, windows, 0.0 * gradients, -1.0)
        return after, AveragedInfo(t, low, high, inner)

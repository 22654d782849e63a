"""Constants from observations: bounds from a log, and from a fleet for its next machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, ArrayLike
from surefoot.problems.calibration.missing import Repeats, compare_repeats

__all__ = ["LogBounds", "fleet_constant", "from_log"]

_BLOCK = 256  # rows whose pairs with all others are compared at a time
_ROUND = 2.0**-48  # the rounding of a sum, as a share of its largest terms
_SCALES = 64  # pairs are sorted by distance: half of the log's extent, a quarter, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBounds:
    r"""Lower bounds on constants from a log; print it for the summary.

    **No guarantee.** A log shows slopes and curvatures that g has; a kink between its points may be
    steeper. With :math:`G_g` unknown no move can be certified: :math:`\max(g, M\|x - x_1\| -
    \alpha)` agrees with any log of one point for every M. So :meth:`inflate` labels its constants
    as estimates, and a controller watches them: each violation raises an alarm in its round, and
    each alarm multiplies the estimate. So there are at most :meth:`violations_at_most` violations
    in any number of rounds, for exact values of a fixed convex g.

    Attributes:
        rows: how many rounds the log has.
        pairs: how many pairs of them were compared.
        G_g: no Lipschitz constant of g is smaller; 0 where the log shows none.
        beta: no bound on the curvature is smaller; None without slopes.
        G_c: g changes at least by so much per unit of context; None without a context.
        rounds: by constant, the rounds that prove it, counted from 1.
        value_error: a bound on the errors of the values: as given; else that of their rounding, or
            half of what neighbours in time show, rows of one action and the same context.
        slope_error: a bound on the errors of the slopes, as given.
        noise: standard deviation of the values, as such neighbours show it; None without any.
        is_estimate: whether nobody gave ``value_error``.
        start: the action with the smallest g.
        value: g there, as it was logged.
        largest: the largest g.
        radius: the norm of the longest action: R is at least this.
        still: which entries of the action, counted from 1, are the same in all rounds.
        disagreement: which rounds of one action, or of near ones, differ by more than the errors,
            in a sentence: g depends on something that is not in the log. Then differences of values
            prove nothing, and do not count. None without any.
        not_convex: what contradicts the convexity of g, in a sentence; None if nothing does.
    """

    rows: int
    pairs: int
    G_g: float
    beta: float | None
    G_c: float | None
    rounds: dict[str, tuple[int, ...]]
    value_error: float
    slope_error: float
    noise: float | None
    start: np.ndarray
    value: float
    largest: float
    radius: float
    still: tuple[int, ...]
    disagreement: str | None
    not_convex: str | None
    is_estimate: bool = True

    def inflate(self, factor: float = 2.0, *, R: float, **given: float) -> Constants:
        """Return the lower bounds times a factor as estimated constants, with the given ones.

        Args:
            factor: above 1; 2 to 4 is usual.
            R: radius of a ball around 0 that contains the feasible set.
            given: constants that are true of your problem.
        """
        constants = Constants(R=R).with_origin("given", **given)
        guesses = {"G_g": self._first_guess(factor), "value_error": self.value_error}
        if self.beta is not None:
            guesses["beta"] = factor * self.beta
        errors = {"slope_error": self.slope_error}
        if not self.is_estimate:
            errors["value_error"] = guesses.pop("value_error")
        constants = constants.with_origin("estimated", **_missing_from(constants, guesses))
        constants = constants.with_origin("given", **_missing_from(constants, errors))
        reach = R + float(np.linalg.norm(self.start))
        error = max(self.value_error, constants.value_error or 0.0)
        return constants.complete(reach, value=self.value + error)

    def violations_at_most(self, G_g: float, factor: float = 2.0) -> int:
        r"""Return how many violations inflate-and-watch can have if the true constant is this.

        :math:`\lceil\log_\kappa(G_g/\hat G_1)\rceil`, where :math:`\hat G_1` is the first estimate.

        Args:
            G_g: the true constant.
            factor: by which the lower bound was inflated, and is at each alarm.
        """
        checks.positive(G_g=G_g)
        first = self._first_guess(factor)
        return max(0, math.ceil(math.log(G_g / first) / math.log(factor) - 1e-12))

    def _first_guess(self, factor: float) -> float:
        checks.above(1.0, factor=factor)
        if not self.G_g > 0:
            why = self.disagreement or f"none in {self.rows} rounds"
            raise InvalidValueError(f"the log must show a slope, got {why}")
        return factor * self.G_g

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.rows} rounds, {self.pairs} pairs compared: lower bounds, no guarantee"
        for name, bound in (("G_g", self.G_g), ("beta", self.beta), ("G_c", self.G_c)):
            if name in self.rounds:
                proof = " and ".join(map(str, self.rounds[name]))
                s = "s"[: len(self.rounds[name]) - 1]
                yield f"  {name:<12} at least {bound:.6g}, by round{s} {proof}"
        for name, error in (("value_error", self.value_error), ("slope_error", self.slope_error)):
            if error:
                yield f"  {name:<12} {error:.3g} is allowed for"
        if self.noise is not None:
            yield f"  noise        {self.noise:.3g}, the deviation of actions repeated at once"
        yield f"  R            at least {self.radius:.6g}"
        unsafe = "" if self.value < 0 else ": it is not safe, as no action of the log is"
        yield f"  start        {self.start} with g = {self.value:.6g}{unsafe}"
        yield f"  largest g    {self.largest:.6g}"
        for name, sentence in (
            ("disagreement", self.disagreement),
            ("not convex", self.not_convex),
        ):
            if sentence is not None:
                yield f"  {name:<12} {sentence}"
        yield f"  unknown      {'; '.join(self._unknown())}"

    def _unknown(self) -> Iterator[str]:
        yield "upper bounds, as g may be steeper between the rounds"
        if "G_g" not in self.rounds:
            yield "G_g" + ("" if self.G_c is None else ", unless G_c is given")
        if self.beta is None:
            yield "beta, without slopes"
            yield from (f"what action {i} does, which is always the same" for i in self.still)
        if self.noise is None:
            yield "noise, as no action was repeated at once"
        if self.G_c is not None and "G_c" not in self.rounds:
            yield "G_c, without slopes or an action in two contexts"


def from_log(
    x: Array,
    g: Array | None = None,
    s: Array | None = None,
    *,
    context: Array | None = None,
    G_c: float | None = None,
    value_error: float | None = None,
    slope_error: float = 0.0,
    rounding: float = 0.0,
    most: int = 4_000,
    seed: int = 0,
) -> LogBounds:
    r"""Return what a log proves of :math:`G_g` and :math:`\beta`: only lower bounds.

    For each pair, with :math:`d = x_j - x_i`, h the distance of their contexts and errors
    :math:`\nu`, :math:`\tau`:

    .. math::
        G_g &\ge (|g_j - g_i| - 2\nu - G_ch)/\|d\|, \qquad G_g \ge \|s_i\| - \tau \\
        \beta &\ge 2(g_j - g_i - s_i^\top d - 2\nu - \tau\|d\| - G_ch)/\|d\|^2, \\
        \beta &\ge ((s_j - s_i)^\top d - 2\tau\|d\|)/\|d\|^2 \text{ where } h = 0, \\
        G_c &\ge (g_i + s_i^\top d - g_j - 2\nu - \tau\|d\|)/h,

    the last for a g that is convex in x: what :math:`g(x_j; c_i)` is above the tangent of round i.
    If :math:`G_c` is unknown, the first two compare rounds of the same context.

    *Disagreement.* Values at one action that was held or repeated say whether a column is missing:
    :mod:`surefoot.problems.calibration.missing` has the tests T0, T1, T2 and Proposition T. Where
    they find nothing, near actions are compared: if the steepest pair is near and three times as
    steep as a plane through the rounds around it, its difference is not one that the actions
    explain. With slopes it is that by which a value is below a tangent, if it shrinks more slowly
    with the distance than at a kink.

    Args:
        x: the actions, one row each; or a record of a journal (``read_journal``).
        g: the constraint value of each.
        s: one subgradient of each, if they were logged.
        context: what else g depends on, one row each: a temperature, another load.
        G_c: bound on the change of g per unit of context, if one is known.
        value_error: bound on the errors of g: of the meter, and of the rounding in the log. None
            if nobody knows one: then neighbours in time show what is allowed for.
        slope_error: bound on the distance of each s to a subgradient.
        rounding: without ``value_error``: the least that it is, by the digits of the log.
        most: rounds of which all pairs are compared; of a longer log so many are drawn.
        seed: for drawing them.

    Example:
        >>> x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
        >>> bounds = from_log(x, x[:, 0] ** 2 - 1.0, np.stack([2 * x[:, 0], 0 * x[:, 1]], axis=1))
        >>> bounds.G_g, round(bounds.beta, 9), bounds.value
        (1.0, 2.0, -1.0)
        >>> bounds.rounds
        {'G_g': (2,), 'beta': (1, 2)}
        >>> bounds.inflate(2.0, R=1.0).origins["G_g"]
        'estimated'
        >>> bounds.violations_at_most(G_g=16.0)
        3
    """
    checks.nonnegative(slope_error=slope_error, rounding=rounding)
    checks.nonnegative(G_c=0.0 if G_c is None else G_c, value_error=value_error or 0.0)
    checks.positive_int(most, "most")
    points, values, slopes, contexts = _columns(x, g, s, context)
    repeats = compare_repeats(points, values, contexts, error=value_error, seed=seed)
    n, error = len(points), value_error
    if error is None:
        error = max(rounding, repeats.jump / 2)
    chosen = np.arange(n)
    if n > most:
        chosen = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    few = (points[chosen], values[chosen], None if slopes is None else slopes[chosen])
    pairs = Pairs(*few, contexts[chosen], error, slope_error, math.inf if G_c is None else G_c)
    for at in range(0, len(chosen), _BLOCK):
        pairs.compare(slice(at, at + _BLOCK))
    disagreement = _describe_finding(repeats) or pairs.find_disagreement(chosen)
    rise, bend = _Largest(), pairs.turn
    if disagreement is None:
        rise, bend = pairs.rise, max(pairs.turn, pairs.bend)
    largest = {"G_g": rise, "beta": bend, "G_c": pairs.change}
    rounds = {k: tuple(sorted(chosen[list(v.rows)] + 1)) for k, v in largest.items() if v.rows}
    steepest = rise.value
    if slopes is not None:
        lengths = np.linalg.norm(slopes, axis=1) - slope_error
        if lengths.max() >= steepest and lengths.max() > 0:
            steepest, rounds["G_g"] = float(lengths.max()), (int(lengths.argmax()) + 1,)
    deepest = int(values.argmin())
    return LogBounds(
        rows=n,
        pairs=len(chosen) * (len(chosen) - 1) // 2,
        G_g=steepest,
        beta=None if slopes is None else bend.value,
        G_c=None if context is None else pairs.change.value,
        rounds={name: tuple(map(int, proof)) for name, proof in rounds.items()},
        value_error=error,
        slope_error=slope_error,
        noise=repeats.noise,
        start=points[deepest],
        value=float(values[deepest]),
        largest=float(values.max()),
        radius=float(np.linalg.norm(points, axis=1).max()),
        still=tuple((np.flatnonzero(np.ptp(points, axis=0) == 0) + 1).tolist()),
        disagreement=disagreement,
        not_convex=None if disagreement is not None else pairs.find_concave(chosen),
        is_estimate=value_error is None,
    )


def _missing_from(constants: Constants, numbers: dict[str, float]) -> dict[str, float]:
    """Return the positive numbers for which there is no constant yet."""
    return {n: v for n, v in numbers.items() if v > 0 and vars(constants)[n] is None}


def _describe_finding(repeats: Repeats) -> str | None:
    """Return what values at one action say of a column that is missing, in a sentence."""
    if repeats.finding is None:
        return None
    why = repeats.explain("g", "", "rounds", np.arange(1, repeats.rows + 1))
    enough = max(repeats.spread, repeats.difference) / 2
    end = "" if repeats.finding == "size" else ", unless it had not settled, or the sensor drifts"
    return f"{why}; name its column as context, or give a value_error of {enough:.3g} or more{end}"


class _Largest(NamedTuple):
    """The largest number of all pairs, and the pair; no pair if none is above 0."""

    value: float = 0.0
    rows: tuple[int, ...] = ()

    def raise_to(self, numbers: np.ndarray, first: int) -> _Largest:
        i, j = np.unravel_index(int(numbers.argmax()), numbers.shape)
        if numbers[i, j] <= self.value:
            return self
        return _Largest(float(numbers[i, j]), (first + int(i), int(j)))


class Pairs:
    """The extremes over all pairs of rounds."""

    x: Array
    g: Array
    s: Array | None
    c: Array
    G_c: float
    value_error: float
    slope_error: float
    extent: float
    rise: _Largest
    bend: _Largest
    turn: _Largest
    change: _Largest
    fall: _Largest
    falls: Array
    rates: Array

    def __init__(
        self,
        x: np.ndarray,
        g: np.ndarray,
        s: np.ndarray | None,
        c: np.ndarray,
        value_error: float,
        slope_error: float,
        G_c: float = math.inf,
    ) -> None:
        self.x, self.g, self.s, self.c, self.G_c = x, g, s, c, G_c
        # Of actions that differ in their last bits the values differ by rounding as well.
        steep = 0.0 if s is None else float(np.linalg.norm(s, axis=1).max())
        size = float(np.abs(g).max()) + steep * float(np.linalg.norm(x, axis=1).max())
        self.value_error = value_error + _ROUND * size
        self.slope_error = slope_error + _ROUND * steep
        self.extent = float(np.linalg.norm(np.ptp(x, axis=0))) or 1.0
        self.rise = self.bend = self.turn = self.change = self.fall = _Largest()
        # By distance: how far a value is below a tangent at most, and how far per square of it.
        self.falls, self.rates = np.full((2, _SCALES), -np.inf)

    def compare(self, rows: slice) -> None:
        """Compare a block of rows with all."""
        first, way = rows.start, self.x[None, :, :] - self.x[rows, None, :]
        far = np.linalg.norm(way, axis=2)
        gap = np.linalg.norm(self.c[None, :, :] - self.c[rows, None, :], axis=2)
        up = self.g[None, :] - self.g[rows, None]
        same, other = far == 0, gap > 0
        reach = np.where(same, np.inf, far)  # a pair of one action has neither rise nor bend
        error = np.full_like(up, 2 * self.value_error)
        error[other] += self.G_c * gap[other]
        rise = np.where(same, 0.0, np.abs(up) - error) / reach
        self.rise = self.rise.raise_to(rise, first)
        drop = np.where(same, -up - 2 * self.value_error, -np.inf)
        if self.s is not None:
            along = np.einsum("id,ijd->ij", self.s[rows], way)
            blur, above = self.slope_error * far, up - along
            bend = 2 * (np.where(same, 0.0, above - error - blur) / reach) / reach
            self.bend = self.bend.raise_to(bend, first)
            turn = np.einsum("jd,ijd->ij", self.s, way) - along - 2 * blur
            turn = np.where(same | other, 0.0, turn) / reach / reach
            self.turn = self.turn.raise_to(turn, first)
            # A convex g lies above its tangents; rounding is of the size of what is added.
            size = np.abs(up) + np.abs(along) + np.abs(self.g[rows, None])
            fall = np.where(same, 0.0, -above - error - blur - 1e-9 * size)
            rate = fall / reach / reach
            self.fall = self.fall.raise_to(rate, first)
            scale = np.clip(np.log2(self.extent / np.where(same, self.extent, far)), 0, _SCALES - 1)
            np.maximum.at(self.falls, scale.astype(int), fall)
            np.maximum.at(self.rates, scale.astype(int), rate)
            drop = -above - 2 * self.value_error - blur - 1e-9 * size
        drop = np.where(other, drop, -np.inf) / np.where(other, gap, 1.0)
        self.change = self.change.raise_to(drop, first)

    def find_disagreement(self, chosen: np.ndarray) -> str | None:
        """Return which near rounds differ by more than the errors, in a sentence."""
        largest = self.rise if self.s is None else self.fall
        if not largest.rows:
            return None
        i, j = largest.rows
        way, up, kink = self.x[j] - self.x[i], float(self.g[j] - self.g[i]), ""
        far, first, second = float(np.linalg.norm(way)), chosen[i] + 1, chosen[j] + 1
        if self.s is None:
            slope = self._fit_slope(i, j)
            if slope is None or 3 * slope > largest.value:
                return None
            most = abs(up) - 2 * self.value_error - slope * far
            kink = f" (or it has a kink there, and G_g is at least {largest.value:.3g})"
            what = f"g differs by {abs(up):.3g} in rounds {first} and {second}"
        else:
            near = max(int(self.rates.argmax()) - 3, 0)
            beyond = self.rates[:near].max(initial=-np.inf)
            if beyond == -np.inf or 30 * beyond > largest.value:
                return None
            most = float(self.falls[near:].max())
            what = f"g of round {second} is {self.s[i] @ way - up:.3g} below the tangent of {first}"
        return (
            f"{what}, whose actions are {far:.3g} apart: it depends on something that is not in "
            f"the log{kink}; name its column as context, or give a value_error of "
            f"{self.value_error + most / 2:.3g} or more"
        )

    def _fit_slope(self, i: int, j: int) -> float | None:
        """Return the slope of a plane through the rounds around two near ones; None without any."""
        far = np.linalg.norm(self.x - self.x[i], axis=1)
        others = (far > 0) & (self.x != self.x[j]).any(axis=1)
        regressors = np.hstack([np.ones((len(far), 1)), self.x - self.x[i], self.c - self.c[i]])
        distances, enough = np.unique(far[others]), 2 * regressors.shape[1]
        radius = distances[enough - 1] if len(distances) >= enough else math.inf
        if not 5 * far[j] <= radius <= self.extent / 3:
            return None
        near = others & (far <= radius)
        fit = np.linalg.lstsq(regressors[near], self.g[near], rcond=None)[0]
        return float(np.linalg.norm(fit[1 : 1 + self.x.shape[1]]))

    def find_concave(self, chosen: np.ndarray, word: str = "round") -> str | None:
        """Return what contradicts the convexity of g, in a sentence."""
        if not self.fall.rows:
            return None
        i, j = self.fall.rows
        assert self.s is not None
        tangent = self.g[i] + self.s[i] @ (self.x[j] - self.x[i])
        return (
            f"g = {self.g[j]:.6g} of {word} {chosen[j] + 1} is below the tangent of {word} "
            f"{chosen[i] + 1}, {tangent:.6g} there: g is not convex, it has changed, s is no "
            "subgradient of it, or the errors are larger"
        )


def _columns(
    x: Array, g: Array | None, s: Array | None, context: Array | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return actions, values, slopes and contexts of the rounds that have a value."""
    if g is None:
        x, g, s = _read_record(x)
    points = checks.to_matrix(x, "x")
    values = checks.to_vector(g, "g", length=len(points))
    slopes = None if s is None else checks.to_matrix(s, "s")
    if slopes is not None and slopes.shape != points.shape:
        raise InvalidValueError(f"s must have the shape of x, {points.shape}, got {slopes.shape}")
    if len(points) < 2:
        raise InvalidValueError(f"the log must have at least 2 rounds, got {len(points)}")
    empty = np.zeros((len(points), 0))
    contexts = empty if context is None else checks.to_matrix(context, "context")
    if len(contexts) != len(points):
        raise InvalidValueError(
            f"context must have a row per action, {len(points)}, got {len(contexts)}"
        )
    return points, values, slopes, contexts


def _read_record(record: object) -> tuple[list[Array], list[float], list[Array] | None]:
    """Return actions, values and slopes of the rounds of a journal that have a value."""
    rounds = [row for row in getattr(record, "rounds", ()) if row.g is not None]
    if not rounds:
        raise InvalidValueError(
            "g must be given with the actions, or the record of a journal with rounds (of a fleet, "
            f"that of one member), got only {type(record).__name__}"
        )
    slopes = [row.constraint_subgradient for row in rounds]
    return (
        [row.action if row.played is None else row.played for row in rounds],
        [row.g for row in rounds],
        slopes if all(v is not None and np.ndim(v) == 1 for v in slopes) else None,
    )


def fleet_constant(constants: ArrayLike, delta: float) -> float:
    r"""Return a constant that the next machine of a fleet exceeds at most with a probability.

    *Let n machines and a new one be exchangeable, as if drawn from one urn, and the constants (G_g,
    or beta) of the n be known. Then that of the new one is at most the*
    :math:`\lceil(n+1)(1-\delta)\rceil`\ *-th smallest with probability* :math:`1-\delta`\ *, and on
    that event a certified rule with this constant never violates: the probability of any violation
    is at most* :math:`\delta`. *Proof.* The rank of the new one among all n + 1 is
    uniform, ties broken at random. ∎ A log of only the new machine gives no probability: its rounds
    are chosen, not exchangeable.

    Args:
        constants: of the n machines, :math:`n \ge 1/\delta - 1`.
        delta: :math:`\delta`.

    Example:
        >>> from surefoot import Constants
        >>> G_g = fleet_constant([1.0, 1.4, 0.8, 2.1, 1.1, 0.9, 1.3, 1.6, 1.2], delta=0.1)
        >>> print(Constants(R=1.0).with_origin("conformal", G_g=G_g))
        R = 1 (given), G_g = 2.1 (conformal)
    """
    values = checks.to_vector(constants, "constants")
    checks.between(0, 1, delta=delta)
    if not (values >= 0).all():
        raise InvalidValueError(f"constants must be at least 0, got {float(values.min()):g}")
    rank = math.ceil((len(values) + 1) * (1 - delta))
    if rank > len(values):
        raise InvalidValueError(
            f"constants must be those of at least {math.ceil(1 / delta - 1)} machines for delta = "
            f"{delta:g}, got {len(values)}"
        )
    return float(np.sort(values)[rank - 1])

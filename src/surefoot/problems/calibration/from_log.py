"""Constants from what was seen: bounds from a log, and what a fleet says of the next machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, ArrayLike

__all__ = ["LogBounds", "fleet_constant", "from_log"]

_BLOCK = 256  # rows whose pairs with all others are compared at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBounds:
    r"""Lower bounds on constants from a log; print it for the summary.

    **No guarantee.** A log shows slopes and curvatures that g has; a kink between its points may be
    steeper. With :math:`G_g` unknown no move can be certified: :math:`\max(g, M\|x - x_1\| -
    \alpha)` agrees with any log of one point for every M. So :meth:`inflate` labels its constants
    as estimates, and a controller watches them: each violation raises an alarm in its own
    round, and each alarm multiplies the estimate, so that there are at most
    :meth:`violations_at_most` of them in all time, for exact values of a fixed convex g.

    Attributes:
        rows: how many rounds the log has.
        pairs: how many pairs of them were compared.
        G_g: no Lipschitz constant of g is smaller; 0 where the log shows none.
        beta: no bound on the curvature is smaller; None without slopes.
        value_error: the values err at least by so much, by points that were logged twice.
        start: the action with the smallest g.
        value: g there, as it was logged.
        worst: the largest g.
        radius: the norm of the longest action: R is at least this.
        not_convex: what contradicts the convexity of g, in a sentence; None if nothing does.
    """

    rows: int
    pairs: int
    G_g: float
    beta: float | None
    value_error: float
    start: np.ndarray
    value: float
    worst: float
    radius: float
    not_convex: str | None

    def inflate(self, factor: float = 2.0, *, R: float, **given: float) -> Constants:
        """Return the lower bounds times a factor as estimated constants, with what is known.

        Args:
            factor: above 1; 2 to 4 is usual.
            R: radius of a ball around 0 that contains the feasible set.
            given: constants that you know to be true.
        """
        known = Constants(R=R).with_origin("given", **given)
        guesses = {"G_g": self._first_guess(factor)}
        if self.beta is not None and self.beta > 0:
            guesses["beta"] = factor * self.beta
        guesses = {name: v for name, v in guesses.items() if vars(known)[name] is None}
        known = known.with_origin("estimated", **guesses)
        reach = R + float(np.linalg.norm(self.start))
        error = max(self.value_error, known.value_error or 0.0)
        return known.complete(reach, value=self.value + error)

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
            raise InvalidValueError(f"the log must show a slope, got none in {self.rows} rounds")
        return factor * self.G_g

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.rows} rounds, {self.pairs} pairs compared: lower bounds, no guarantee"
        yield f"  G_g          at least {self.G_g:.6g}"
        beta = "not known without slopes" if self.beta is None else f"at least {self.beta:.6g}"
        yield f"  beta         {beta}"
        if self.value_error:
            yield f"  value_error  at least {self.value_error:.3g}"
        yield f"  R            at least {self.radius:.6g}"
        yield f"  start        {self.start} with g = {self.value:.6g}"
        yield f"  worst g      {self.worst:.6g}"
        if self.not_convex is not None:
            yield f"  not convex   {self.not_convex}"


def from_log(
    x: Array,
    g: Array | None = None,
    s: Array | None = None,
    *,
    value_error: float = 0.0,
    slope_error: float = 0.0,
    most: int = 4_000,
    seed: int = 0,
) -> LogBounds:
    r"""Return what a log says about :math:`G_g` and :math:`\beta`: lower bounds, and no more.

    For each pair, with :math:`d = x_j - x_i` and errors :math:`\nu`, :math:`\tau`:

    .. math::
        G_g &\ge (|g_j - g_i| - 2\nu)/\|d\|, \qquad G_g \ge \|s_i\| - \tau \\
        \beta &\ge 2(g_j - g_i - s_i^\top d - 2\nu - \tau\|d\|)/\|d\|^2, \qquad
        \beta \ge ((s_j - s_i)^\top d - 2\tau\|d\|)/\|d\|^2

    Args:
        x: the actions, one row each; or a record of a journal (``read_journal``), which has all.
        g: the constraint value of each.
        s: one subgradient of each, if they were logged.
        value_error: bound on the errors of g.
        slope_error: bound on the distance of each s to a subgradient.
        most: rounds of which all pairs are compared; of a longer log so many are drawn.
        seed: for drawing them.

    Example:
        >>> x = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
        >>> found = from_log(x, x[:, 0] ** 2 - 1.0, np.stack([2 * x[:, 0], 0 * x[:, 1]], axis=1))
        >>> found.G_g, found.beta, found.value
        (1.0, 2.0, -1.0)
        >>> found.inflate(2.0, R=1.0).origins["G_g"]
        'estimated'
        >>> found.violations_at_most(G_g=16.0)
        3
    """
    checks.nonnegative(value_error=value_error, slope_error=slope_error)
    checks.positive_int(most, "most")
    points, values, slopes = _columns(x, g, s)
    n = len(points)
    deepest = int(values.argmin())
    steepest = 0.0
    if slopes is not None:
        steepest = max(0.0, float(np.linalg.norm(slopes, axis=1).max()) - slope_error)
    chosen = np.arange(n)
    if n > most:
        chosen = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    few = (points[chosen], values[chosen], None if slopes is None else slopes[chosen])
    found = _Pairs(*few, value_error, slope_error)
    for at in range(0, len(few[0]), _BLOCK):
        found.compare(slice(at, at + _BLOCK))
    return LogBounds(
        rows=n,
        pairs=len(chosen) * (len(chosen) - 1) // 2,
        G_g=max(steepest, found.rise),
        beta=None if slopes is None else found.bend,
        value_error=max(found.spread / 2, 0.0),
        start=points[deepest],
        value=float(values[deepest]),
        worst=float(values.max()),
        radius=float(np.linalg.norm(points, axis=1).max()),
        not_convex=found.not_convex,
    )


class _Pairs:
    """The largest rise, bend and spread of all pairs."""

    def __init__(
        self, x: Array, g: Array, s: Array | None, value_error: float, slope_error: float
    ) -> None:
        self.x, self.g, self.s = x, g, s
        self.value_error, self.slope_error = value_error, slope_error
        self.rise = self.bend = self.spread = 0.0
        self.not_convex: str | None = None
        self._lowest = 0.0

    def compare(self, rows: slice) -> None:
        """Compare a block of rows with all."""
        way = self.x[None, :, :] - self.x[rows, None, :]
        far = np.linalg.norm(way, axis=2)
        up = self.g[None, :] - self.g[rows, None]
        same = far == 0
        self.spread = max(self.spread, float(np.where(same, np.abs(up), 0.0).max()))
        far[same] = np.inf  # a pair of the same point has neither rise nor bend
        self.rise = max(self.rise, float(((np.abs(up) - 2 * self.value_error) / far).max()))
        if self.s is None:
            return
        along = np.einsum("id,ijd->ij", self.s[rows], way)
        error = 2 * self.value_error + self.slope_error * np.where(same, 0.0, far)
        above = up - along
        self.bend = max(self.bend, float((2 * ((above - error) / far) / far).max()))
        turn = np.einsum("jd,ijd->ij", self.s, way) - along
        blur = 2 * self.slope_error * np.where(same, 0.0, far)
        self.bend = max(self.bend, float((((turn - blur) / far) / far).max()))
        # A convex g lies above its tangents; rounding is of the size of what is added.
        size = np.abs(up) + np.abs(along) + np.abs(self.g[rows, None])
        below = np.where(same, 0.0, above + error + 1e-9 * size)
        i, j = np.unravel_index(int(below.argmin()), below.shape)
        if below[i, j] < self._lowest:
            self._lowest = float(below[i, j])
            a, b = rows.start + int(i), int(j)
            self.not_convex = (
                f"g = {self.g[b]:.6g} of row {b} is below the tangent of row {a}, "
                f"{self.g[a] + along[i, j]:.6g} there: g is not convex, it has changed, or the "
                "errors are larger"
            )


def _columns(
    x: Array, g: Array | None, s: Array | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return actions, values and slopes of the rounds that have a value."""
    if g is None:
        rounds = [row for row in getattr(x, "rounds", ()) if row.g is not None]
        if not rounds:
            raise InvalidValueError(
                "g must be given with the actions, or a record of a journal with rounds, "
                f"got {type(x).__name__} alone"
            )
        x = [row.action if row.played is None else row.played for row in rounds]
        g = [row.g for row in rounds]
        rows = [row.constraint_subgradient for row in rounds]
        s = rows if all(v is not None and np.ndim(v) == 1 for v in rows) else None
    points = checks.to_matrix(x, "x")
    values = checks.to_vector(g, "g", length=len(points))
    slopes = None if s is None else checks.to_matrix(s, "s")
    if slopes is not None and slopes.shape != points.shape:
        raise InvalidValueError(f"s must have the shape of x, {points.shape}, got {slopes.shape}")
    return points, values, slopes


def fleet_constant(constants: ArrayLike, delta: float) -> float:
    r"""Return a constant that the next machine of a fleet does not exceed, but with probability.

    *Let n machines and a new one be exchangeable, as if drawn from one urn, and the constants (G_g,
    or beta) of the n be known by now. Then that of the new one is at most the*
    :math:`\lceil(n+1)(1-\delta)\rceil`\ *-th smallest with probability* :math:`1-\delta`\ *, and on
    that event a certified rule with this constant is never outside: the probability of any round
    outside, ever, is at most* :math:`\delta`. *Proof.* The rank of the new one among all n + 1 is
    uniform, ties broken at random. ∎ A log of the new machine alone gives no such thing: its rounds
    are chosen, not exchangeable.

    Args:
        constants: of the n machines, :math:`n \ge 1/\delta - 1`.
        delta: :math:`\delta`.

    Example:
        >>> from surefoot import Constants
        >>> found = fleet_constant([1.0, 1.4, 0.8, 2.1, 1.1, 0.9, 1.3, 1.6, 1.2], delta=0.1)
        >>> print(Constants(R=1.0).with_origin("conformal", G_g=found))
        R = 1 (given), G_g = 2.1 (conformal)
    """
    known = checks.to_vector(constants, "constants")
    checks.between(0, 1, delta=delta)
    if not (known >= 0).all():
        raise InvalidValueError(f"constants must be at least 0, got {float(known.min()):g}")
    rank = math.ceil((len(known) + 1) * (1 - delta))
    if rank > len(known):
        raise InvalidValueError(
            f"constants must be those of at least {math.ceil(1 / delta - 1)} machines for delta = "
            f"{delta:g}, got {len(known)}"
        )
    return float(np.sort(known)[rank - 1])

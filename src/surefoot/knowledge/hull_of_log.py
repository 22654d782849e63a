r"""A region from a log, without constants: the convex hull of actions measured as feasible.

**Theorem (exact).** *Values* :math:`g_i` *of a convex g at points* :math:`x_i` *were seen, some of
them perhaps above 0, and nothing else is known. The certified set is*

.. math:: K = \Big\{\sum_i\lambda_ix_i : \lambda \ge 0,\ \sum_i\lambda_i = 1,\
          \sum_i\lambda_ig_i \le 0\Big\},

*the convex hull of the points if all of them are feasible.*

*Proof.* By convexity :math:`g(\sum\lambda_ix_i) \le \sum\lambda_ig_i`. Conversely let
:math:`s_i` be slopes of g at the points, :math:`M \ge \|s_i\|` and
:math:`g_M(y) = \min_\lambda\sum\lambda_ig_i + M\|y - \sum\lambda_ix_i\|`, which is convex. The
lower model :math:`l(y) = \max_jg_j + s_j^\top(y-x_j)` rises by at most M per unit of length, is
convex and has :math:`l(x_i) = g_i`; so :math:`l(y) \le l(\sum\lambda_ix_i) + M\|\ldots\| \le
\sum\lambda_ig_i + M\|\ldots\|` for all :math:`\lambda`, that is :math:`l \le g_M`. With
:math:`g_M(x_i) \le g_i` the values of :math:`g_M` are those seen, and :math:`s_i`, a subgradient of
l, is one of :math:`g_M`. As M grows, :math:`g_M(p)` rises to the least
:math:`\sum\lambda_ig_i` over :math:`\sum\lambda_ix_i = p`, which is above 0 for every p outside of
K, and infinite off the hull. ∎ So no rule that is safe for every convex g leaves K, and whoever
leaves the hull has no bound on the violation. Projected descent on K
(:class:`surefoot.proposers.Descent`) has regret at most :math:`D_KL\sqrt{2T}` against the best
point of K, :math:`D_K` its diameter.

The vertices of :math:`\{\lambda : \sum\lambda_ig_i \le 0\}` have one or two entries: K is the hull
of the feasible points and, for each pair of a feasible point a and one y with
:math:`g(y) = v > 0`, of :math:`a + \frac\sigma{\sigma+v}(y - a)`, :math:`\sigma = -g(a)`.

Rounding. A computed action is within :math:`e = 16(n+8)uM` of K, u = 2^-53, M the largest norm of a
point, n the dimension: its sum has at most 2n + 3 terms, and the weight of a point above 0 is
rounded down (:mod:`surefoot.knowledge.mean_ball`). If any bound on the slopes is known, be it a
thousand times too large, K is drawn towards the deepest point, by the share :math:`m/\sigma` of its
slack :math:`\sigma`, with :math:`m = 2\delta + G_ge` and :math:`\delta` the error of an evaluation:
then :math:`\sum\lambda_ig_i \le -m`, and g, the true one and the computed one, is at most 0.
Without one this is so up to rounding.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import norm
from surefoot.core.forms import Axes, Count
from surefoot.core.parameters import matrix, positive, vector
from surefoot.core.points import UNIT
from surefoot.core.types import Array, Number
from surefoot.knowledge.base import BALLS, Capability, Knowledge, Reading
from surefoot.knowledge.contradictions import check_bound, check_proposal
from surefoot.knowledge.errors import Errors, describe_errors
from surefoot.knowledge.mean_ball import find_mean_ball
from surefoot.knowledge.region import Region

__all__ = ["HullOfLog", "LogCertificate", "LogMemory", "LogRegion"]


class LogCertificate(NamedTuple):
    """Why the next action is feasible: it is a mean of logged points, or of actions played.

    Attributes:
        round: the round that was played.
        points: the numbers of the points in the log, from 0; or the rounds of actions.
        weights: their weights, which add up to 1.
        bound: the next g is at most this; never above 0.
        cut: whether the region changed the proposal.
        errors: the errors that the bound allows for.
        of: what the numbers count.
    """

    round: int
    points: Annotated[tuple[int, ...], Axes("points")]
    weights: Annotated[tuple[float, ...], Axes("points")]
    bound: float
    cut: bool = False
    errors: Errors = Errors()
    of: str = "logged point"

    def __str__(self) -> str:
        each = zip(self.weights, self.points, strict=True)
        parts = " + ".join(f"{weight:.3g} of {self.of} {i}" for weight, i in each)
        return (
            f"round {self.round}: the action is {parts}{describe_errors(self.errors)}, and g is "
            f"convex; the next g is at most {self.bound:.3g}"
        )


class LogMemory(NamedTuple):
    """The number of rounds so far, and the last action with the bound on g there."""

    rounds: Count
    x: Array
    upper: float


class HullOfLog(Knowledge):
    r"""Knowledge that g is convex and fixed, and its values at the points of a log.

    Args:
        points: the points, one per row.
        values: g there, at least one of them at most 0; those above 0 are used, too.
        G_g: a bound on the norm of every subgradient, however rough; it is used only for rounding.
            Without it, feasible means up to rounding.
        domain: a known set that contains every action.
        errors: how wrong the values of the log, and readings, may be; without drift.

    Example:
        >>> log = HullOfLog(points=[[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], values=[-1.0, 1.0, -0.5])
        >>> region = log.region(log.init(np.zeros(2)), log.errors)
        >>> region.nearest(np.array([3.0, 0.0]))  # half of the way to where g was 1
        array([1., 0.])
        >>> print(region.certificate(np.array([0.5, 0.0])))
        round 0: the action is 0.75 of logged point 0 + 0.25 of logged point 1, and g is convex;
        the next g is at most -0.5
    """

    proved_by: ClassVar[str] = "the theorem of hulls of a log"
    allows: ClassVar[frozenset[Capability]] = frozenset({"value", "late", "known start"})
    refusals: ClassVar[Mapping[Capability, str]] = {"margin": "which certifies by a log"}
    slopes: ClassVar[Literal["certify", "steer", "unused"]] = "unused"
    offers = BALLS

    points: Array = matrix()
    values: Array = vector()
    G_g: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.points) != len(self.values):
            raise checks.invalid("values", f"{len(self.points)}, one per point", len(self.values))
        if not self.levels.min() <= -self.margin:
            least = float(self.values.min())
            raise checks.invalid("the least of values", "below 0 by more than its error", least)

    @property
    def constants(self) -> dict[str, float]:
        """Empty: a contradiction disproves no constant."""
        return {}

    @property
    def premises(self) -> tuple[str, ...]:
        """The assumptions of certificates."""
        return ("the points and values of the log are those of g", *super().premises)

    @cached_property
    def reach(self) -> float:
        """The largest norm of a point."""
        return float(np.linalg.norm(self.points, axis=1).max())

    @property
    def rounding(self) -> float:
        """e, how far a computed action may be from K."""
        d: int = self.points.shape[1]
        return 16 * (d + 8) * UNIT * self.reach

    @cached_property
    def levels(self) -> Array:
        """Upper bounds on g at the points."""
        return self.values + self.errors.value

    def noise(self, d: int) -> float:
        """Return a bound on the error of an observed g, beyond that of its reading."""
        return float(self.errors.evaluation) + (self.G_g or 0.0) * self.rounding

    @property
    def margin(self) -> float:
        """m, the margin of the mean of the values below 0."""
        return 2 * self.noise(0) + (self.G_g or 0.0) * self.rounding

    @cached_property
    def centres(self) -> Array:
        """The points of the log, drawn towards the deepest one."""
        return (1 - self.back) * self.points + self.back * self.points[self.levels.argmin()]

    @property
    def back(self) -> float:
        """The share of the way to the deepest point that keeps the margin."""
        return self.margin / -float(self.levels.min()) * (1 + 8 * UNIT) if self.margin else 0.0

    def first(self, x1: Array) -> LogMemory:
        """Return the memory before the first round; raise for an uncertified start."""
        if x1.shape != self.points.shape[1:]:
            raise checks.invalid("x1", f"of {self.points.shape[1]} entries, as the log", x1)
        memory = LogMemory(0.0, x1, 0.0)
        if not LogRegion(self, memory, self.errors).contains(x1):
            raise checks.invalid("the start", "in the hull of the log", x1)
        return memory

    def learn(self, memory: LogMemory, reading: Reading) -> LogMemory:
        """Return the memory after a reading: it certifies no more."""
        return LogMemory(memory.rounds + 1.0, reading.x, reading.g + reading.errors.value)

    def certify(self, memory: LogMemory, errors: Errors) -> Region:
        """Return K, in the known set if there is one."""
        return LogRegion(self, memory, errors)

    def contradictions(self, memory: LogMemory, reading: Reading) -> tuple[str, ...]:
        """Return a sentence if a reading is above the bound of the log and convexity."""
        region = LogRegion(self, memory, reading.errors)
        if not region.contains(reading.x):
            return ()
        bound = region.certificate(reading.x).bound
        # Without G_g the effect of rounding on g is unknown.
        size = float(np.abs(self.values).max() + reading.errors.value)
        noise = self.noise(0) + (8 * UNIT if self.G_g else 1e-9) * size
        words = "a value of the log is wrong"
        return check_bound(int(memory.rounds) + 1, reading, bound, noise, words)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """The rounding of an action, where no G_g bounds what it does."""
        return ("what the rounding of an action changes, without a G_g",) * (self.G_g is None)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> float:
        """Return how much g can rise over a length; unknown without G_g."""
        return math.inf if self.G_g is None else self.G_g * length


class LogRegion(Region):
    """The certified set of a log, the same in every round.

    Args:
        knowledge: the log.
        memory: the last round.
        errors: the errors that it allows for.
    """

    radius = depth = slope_norm = 0.0  # no certified ball around an action
    longest = math.inf
    knowledge: HullOfLog
    errors: Errors
    round: float
    x: Array
    upper: Number
    noise: Number
    reach: Number

    def __init__(self, knowledge: HullOfLog, memory: LogMemory, errors: Errors) -> None:
        self.knowledge, self.errors = knowledge, errors
        self.round, self.x, self.upper = memory
        self.noise, self.reach = knowledge.noise(0), knowledge.reach
        self.found: tuple[Array, Array] | None = None

    def contains(self, w: Array) -> bool:
        """Return whether a point is in K, but for half of the rounding."""
        return bool(norm(w - self._mean(w)[1]) <= 0.5 * self.knowledge.rounding)

    def nearest(self, w: Array) -> Array:
        """Return the point of K nearest to w; w itself if it is in K."""
        check_proposal(w, self.x)
        mean = self._mean(w)[1]
        return w if norm(w - mean) <= 0.5 * self.knowledge.rounding else mean

    def _mean(self, w: Array) -> tuple[Array, Array]:
        """Return the nearest mean of the points drawn together: their weights, and the point.

        The weights of a mean that was found before are stored. If points nearly coincide, a second
        search may end with other weights and a slightly different point.
        """
        if self.found is None or not np.array_equal(w, self.found[1]):
            centres, levels = self.knowledge.centres, self.knowledge.levels
            weights = find_mean_ball(w, centres, 0.0 * levels, -levels)
            self.found = weights, weights @ centres
        return self.found

    def certificate(self, x: Array, cut: bool = False) -> LogCertificate:
        """Return the weights of the log's points in an action, and the bound on g there."""
        knowledge = self.knowledge
        each = (1 - knowledge.back) * self._mean(x)[0]
        each[knowledge.levels.argmin()] += knowledge.back
        used = np.flatnonzero(each)
        bound = min(float(each @ knowledge.levels) + knowledge.margin, 0.0)
        points, weights = tuple(used.tolist()), tuple(each[used].tolist())
        return LogCertificate(int(self.round), points, weights, bound, cut, self.errors)

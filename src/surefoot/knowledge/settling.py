r"""Knowledge around knowledge, for plants that are slow: readings that lag behind the action.

A hot spot, a tank or a filtered meter is read before it has settled. With the *lag* :math:`e_t` of
:mod:`surefoot.knowledge.response`, a reading says of g, the limit at rest,

.. math:: y_t - \nu - e_t \le g_t(x_t) \le y_t + \nu + e_t ,

so that any knowledge that allows for errors of values certifies g by it.

**Theorem Settling.** *Let the plant settle without overshoot, as*
:mod:`surefoot.knowledge.response` *says, be at rest at the start, and let every action be
certified for g by readings that err by* :math:`\nu + e_t`\ *. Then* :math:`g_t(x_t) \le 0` *in
every round, and the plant itself keeps the limit,* :math:`y \le 0`\ *, at readings and between
them.* *Proof.* The first is the theorem of the knowledge, of which only the errors of its readings
are others. And y is a weighted mean of :math:`g_s(x_s) \le 0`\ , of rounds :math:`s \le t`\ , at
any time. ∎ The same holds for a sum of parts that are non-decreasing in one load: it is at most
what it would be at rest under the largest load of the past.

**Drift.** *Let* :math:`g_t = h + q_t`\ *, let h pass through the response and q through any weights
that are no slower, and let actions be certified for* :math:`g + V`\ *,
V =* :math:`v\sum_{i \ge 0}\mathrm{left}(i)`\ *. Then* :math:`y \le 0` *at readings and between.*
*Proof.* At a time s of round t + 1, let :math:`a_0, a_1, \dots` be the weights of
:math:`x_{t+1}, x_t, \dots` in y and b those of q, and q(s) the present drift. Then
:math:`y = \sum_ka_k(h(x_{t+1-k}) + q_{t+1-k}) + \sum_k(b_k - a_k)q_{t+1-k}`\ , where
:math:`q_{t+1}` stands for q(s). The first sum is at most -V, because what is certified holds for
the whole round. The tails of a are at most :math:`\mathrm{left}(i-1)` from k = i on, in whatever
part of the round s is, those of b are less, and q changes by at most v from one index to the next:
by parts the second sum is at most V. ∎ Without the term of i = 0 it is false between readings:
y = 0 is read, and g rises by v right after. If drift passes through the same response
(``through``), y is a mean of g, and V = 0 is enough.

**Counterexamples.** *Not at rest:* with two modes of share 1/2, ratios 9/10 and 1/10, at 1 and
-3/2, y is -1/4, and after g = -1/10 in every round +0.325. *Contexts* that do not pass through the
inertia: let q jump from -1 to 0 while x answers; y is +1 a moment later. *Others' actions* count as
moves, so that all must be reported, and :math:`G_g` must hold between them, feasible or not.

What a refuted constant leaves: nothing, because the lag rests on :math:`G_g`. A reading of at most
0 does not show that its action may stay. Only a start with a ``start_bound`` stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import round_up
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Count, NonNegative
from surefoot.core.parameters import anything
from surefoot.core.types import Array, Certificate, Number
from surefoot.knowledge.anchor import Anchor
from surefoot.knowledge.base import Capability, Knowledge, Memory, Reading
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.region import OnePoint, Recertified, Region
from surefoot.knowledge.response import Lag, Response, length_of

__all__ = ["Settling", "SettlingCertificate", "SettlingMemory"]

_SLOWER = "the plant is slower than its response says (time_constants)"
_CAUSES = "somebody acted and it was not reported, or the plant overshoots"


class SettlingMemory(NamedTuple):
    """What the next region is built from.

    Attributes:
        rounds: the number of rounds so far.
        part: the memory of the knowledge of g at rest.
        lag: what readings may miss of the moves so far.
        read_error: the lag of the last reading.
        read_upper: what g is at most at the start, by the last reading before it has settled there.
    """

    rounds: Count
    part: Memory
    lag: Lag
    read_error: NonNegative
    read_upper: float


class SettlingCertificate(NamedTuple):
    """Why the next action is feasible, at rest and on the way there.

    Attributes:
        round: the round that was played.
        part: the reason for g at rest.
        lag: how far the reading of the round may be from g at rest.
        margin: how far below 0 g is kept for drift that shows at once.
        bound: the next g, and the margin, are together at most this.
        cut: whether the region changed the proposal.
        errors: the errors of readings, without the lag.
    """

    round: int
    part: Any
    lag: float
    margin: float
    bound: float
    cut: bool = False
    errors: Errors = Errors()

    def __str__(self) -> str:
        why = str(self.part).partition(": ")[2]
        lag = f"readings may be {self.lag:.3g} from rest" if self.lag else "the plant is at rest"
        keep = f", and g is kept below {-self.margin:.3g}" if self.margin else ""
        return f"round {self.round}: {lag}{keep}; {why}"


class Settling(Knowledge):
    """Knowledge of a plant whose readings lag behind its actions, by a response.

    Args:
        knowledge: of g, the limit at rest.
        response: what readings may miss of a step of the action.
        errors: of readings, without the lag; those of the knowledge unless given.

    Example:
        >>> from surefoot.knowledge import LipschitzHull
        >>> from surefoot.sets import Box
        >>> hull = LipschitzHull(G_g=1.0, domain=Box([0.0], [2.0]))
        >>> half = Response(time_constants=[1.4427], round=1.0)  # half of a step in each round
        >>> knowledge = Settling(knowledge=hull, response=half)
        >>> memory = knowledge.init(np.zeros(1))  # g(x) = x - 1
        >>> for x, y in [(0.0, -1.0), (1.0, -0.5)]:
        ...     reading = Reading(np.array([x]), y, None, knowledge.errors)
        ...     memory = knowledge.observe(memory, reading)
        ...     print(knowledge.region(memory, knowledge.errors).nearest(np.array([2.0])).round(3))
        [1.]
        [1.]
    """

    proved_by: ClassVar[str] = "Theorem Settling"
    passes: ClassVar[frozenset[Capability]] = frozenset({"value"})
    refusals: ClassVar[Mapping[Capability, str]] = {
        "late": "0 for Settling: give the response a dead_time instead",
        "margin": "whose lag is that of the actions that are reported, not of points near them",
    }

    errors: Any = anything("the errors of readings", default=None)
    knowledge: Any = anything("the knowledge of g at rest")
    response: Any = anything("a Response")

    def __post_init__(self) -> None:
        part, response = self.knowledge, self.response
        if not isinstance(part, Knowledge):
            raise checks.invalid("knowledge", "an object of surefoot.knowledge", part)
        if not isinstance(response, Response):
            raise checks.invalid("response", "Response(...)", response)
        if self.errors is None:
            object.__setattr__(self, "errors", part.errors)
        if self.domain is None:
            object.__setattr__(self, "domain", part.domain)
        object.__setattr__(self, "convex", self.convex and part.convex)
        self._check_part(part)
        shared = {"errors": self.errors, "domain": self.domain, "convex": self.convex}
        changes = {name: own for name, own in shared.items() if getattr(part, name) is not own}
        object.__setattr__(self, "knowledge", replace(part, **changes))
        super().__post_init__()
        if response.gains is not None and self.errors.drifts:
            raise checks.invalid(
                "gains",
                "None under drift, whose share of each mode they do not say",
                response.gains,
            )
        _ = self.at_rest  # which checks the start_bound

    def _check_part(self, part: Knowledge) -> None:
        """Raise for knowledge that Theorem Settling is not about."""
        name, rule = type(part).__name__, "of g in every round"
        if isinstance(part, Settling):
            reason = "one Response may have several modes, a dead time and a window"
        elif part.row_count > 1:
            reason = "every limit has a response of its own: Together(rows=(Settling(...), ...))"
        elif part.kind == "cumulative":
            reason = "its sum is of g at rest, and a limit on the average is one of readings"
        elif part.kind == "few violations":
            reason = "the lag rests on the constant that is unknown"
        elif part.in_contexts:
            reason = (
                "contexts act at once where the action does not, and no margin below their whole "
                "effect is enough: bound what they change by a drift"
            )
        elif self.response.gains is None and "G_g" not in part.constants:
            reason = "without a G_g the response needs gains: how far each mode moves per unit"
        else:
            return
        raise InvalidValueError(f"knowledge must be {rule} for Settling, got {name}: {reason}")

    @cached_property
    def margin(self) -> float:
        """How far below 0 g is kept for drift that does not pass through the response."""
        drift = float(np.max(self.errors.drift))
        return 0.0 if self.response.through else drift * self.response.total * (1.0 + 2.0**-48)

    @cached_property
    def at_rest(self) -> Any:
        """The knowledge of g plus the margin, which is to be at most 0."""
        bound = getattr(self.knowledge, "start_bound", None)
        if bound is None or not self.margin:
            return self.knowledge
        raised = round_up(bound + self.margin)
        if not raised < 0:
            raise InvalidValueError(
                f"start_bound must be below {-self.margin:.6g}, which drift may add before the "
                f"plant has settled, got {bound!r}"
            )
        return replace(self.knowledge, start_bound=raised)

    def lag_after(self, memory: SettlingMemory, x: Array) -> Lag:
        """Return the lag after a round in which an action was in force."""
        response: Response = self.response
        return response.move(memory.lag, x, self._steepness, float(self.errors.drift))

    @property
    def _steepness(self) -> float:
        """The Lipschitz constant of g; 0 where gains are in its place."""
        return float(self.knowledge.constants.get("G_g", 0.0))

    def gap_of(self, memory: SettlingMemory, x: Array) -> tuple[float, float]:
        """Return the lag, and the lag with the margin that is kept for drift."""
        lag = self.lag_after(memory, x).error
        return lag, round_up(lag + self.margin)

    def at_rest_of(self, memory: SettlingMemory) -> tuple[Knowledge, Memory]:
        """Return the knowledge of g at rest, plus the margin, with its memory."""
        return self.at_rest, memory.part

    def unsettle(self, memory: SettlingMemory, reach: float) -> SettlingMemory:
        """Return the memory of a new start, to which the plant comes from some action."""
        x = memory.lag.x
        size = (max(float(self.reach), reach) + length_of(x)) * (1.0 + 2.0**-48)
        return memory._replace(lag=self.response.jump(memory.lag, size, self._steepness))

    def _lagging(self, reading: Reading, lag: float) -> Reading:
        """Return a reading of g plus the margin, with the lag among its errors."""
        g = reading.g + self.margin if self.margin else reading.g
        if self.margin:
            lag += 2.0**-50 * (abs(reading.g) + self.margin)
        errors = self._wider(reading.errors, lag)
        return reading._replace(g=g, errors=errors)

    @staticmethod
    def _wider(errors: Errors, lag: float) -> Errors:
        return replace(errors, value=round_up(errors.value + lag)) if lag else errors

    # --- what a kind writes ----------------------------------------------------------------------

    @property
    def allows(self) -> frozenset[Capability]:  # type: ignore[override]
        """What the knowledge at rest allows for, of one run and of readings in time."""
        every: frozenset[Capability] = frozenset(
            {"value", "slope", "drift", "nonconvex", "known start"}
        )
        part: Knowledge = self.knowledge
        return every & part.allows

    @property
    def slopes(self) -> Any:  # type: ignore[override]
        """What the knowledge at rest uses them for; they are those of g at rest."""
        return self.knowledge.slopes

    @property
    def offers(self) -> frozenset[str]:  # type: ignore[override]
        """The numbers of its regions."""
        return frozenset(self.knowledge.offers)

    @property
    def parts(self) -> tuple[Knowledge, ...]:
        """The knowledge of g at rest."""
        return (self.knowledge,)

    @property
    def reach(self) -> Any:
        """The largest norm of a feasible point."""
        return self.knowledge.reach

    @property
    def takes_batches(self) -> bool:
        """Whether a memory may be that of several runs: never."""
        return False

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """Whether readings depend on earlier actions, all of which must be reported."""
        return True

    @property
    def constants(self) -> dict[str, float]:
        """The constants that a contradiction may disprove."""
        return dict(self.knowledge.constants)

    @property
    def premises(self) -> tuple[str, ...]:
        """What must be true for certificates to be right, one phrase each."""
        words = [*self.knowledge.premises, self.response.describe(), "the plant does not overshoot"]
        words.append("the plant is at rest at the start, and every action is reported")
        if self.response.gains is None:
            words.append("G_g holds between all actions, also infeasible ones of somebody else")
        if self.errors.drifts:
            how = "through the same inertia" if self.response.through else "no slower than actions"
            words.append(f"drift shows {how}")
        return tuple(words)

    @property
    def theorem(self) -> str:
        """The statements that certify actions."""
        return f"Theorem Settling, with {self.knowledge.theorem}"

    @property
    def claim(self) -> str:
        """What certified actions keep, in words."""
        return "g <= 0 in every round, at rest and on the way there"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the statement does not cover."""
        return ("what is left of actions before the start, or of infeasible ones",)

    @property
    def bounds_start(self) -> bool:
        """Whether a bound on g at the start is known."""
        return bool(self.knowledge.bounds_start)

    def standing(self, start: Array) -> Anchor | None:
        """Return the bound on g at the start that holds in every round; None without one."""
        anchor: Anchor | None = self.at_rest.standing(start)
        return anchor

    @property
    def obstacle_to_choices(self) -> str:
        """Why the domain must be convex; empty where there always is a certified choice."""
        return str(self.knowledge.obstacle_to_choices)

    @property
    def obstacle_to_margins(self) -> str:
        """Why g may not be reported larger than it is: other actions would not be counted."""
        return self.refusals["margin"]

    def every(self, rounds: int) -> Knowledge:
        """Raise: rounds that are not reported would not be counted in the lag."""
        raise InvalidValueError(
            "response must be None where several rounds pass between two readings: the lag counts "
            "every action, so report each round"
        )

    def first(self, x1: Array) -> SettlingMemory:
        """Return the memory before the first round, of a plant at rest."""
        return SettlingMemory(0.0, self.at_rest.init(x1), self.response.begin(x1), 0.0, 0.0)

    def learn(self, memory: SettlingMemory, reading: Reading) -> SettlingMemory:
        """Return the memory after a reading."""
        lag = self.lag_after(memory, reading.x)
        lagging = self._lagging(reading, lag.error)
        if not memory.rounds and lag.error > 0.0 and not self._shows_start(lagging):
            upper = float(lagging.upper)
            return memory._replace(lag=lag, read_error=lag.error, read_upper=upper)
        part = self.at_rest.observe(memory.part, lagging)
        return SettlingMemory(memory.rounds + 1.0, part, lag, lag.error, 0.0)

    def _shows_start(self, lagging: Reading) -> bool:
        """Return whether the first reading shows that the start is strictly feasible."""
        margin = float(np.max(self.knowledge.start_margin(len(lagging.x))))
        return bool(lagging.upper + margin < 0.0)

    def age(self, memory: SettlingMemory, x: Array) -> SettlingMemory:
        """Return the memory after a round without a reading, whose action counts all the same."""
        lag = self.lag_after(memory, x)
        if not memory.rounds:
            return memory._replace(lag=lag)
        part = self.at_rest.age(memory.part, x)
        return memory._replace(rounds=memory.rounds + 1.0, part=part, lag=lag)

    def certify(self, memory: SettlingMemory, errors: Errors) -> Region:
        """Return the certified actions of the knowledge at rest; the start until it has settled."""
        lag, margin = memory.read_error, self.margin
        wider = self._wider(errors, lag)
        if not memory.rounds:
            standing = self.at_rest.standing(memory.lag.x)
            bound = memory.read_upper if standing is None else float(standing.value)
            reason = "the start, until the plant has settled there"
            return OnePoint(0.0, memory.lag.x, bound, wider, reason)
        part = self.at_rest.region(memory.part, wider)

        def certify(reason: Any) -> Certificate:
            numbers = (int(memory.rounds), reason, lag, margin, reason.bound)
            return SettlingCertificate(*numbers, reason.cut, errors)

        return Recertified(part, certify)

    def contradictions(self, memory: SettlingMemory, reading: Reading) -> tuple[str, ...]:
        """Return how a reading contradicts the constants or the response, in sentences."""
        lag = self.lag_after(memory, reading.x).error
        if not memory.rounds and lag > 0.0:
            return ()
        sentences = self.at_rest.contradictions(memory.part, self._lagging(reading, lag))
        words = f"; or {_SLOWER}, {_CAUSES}"
        return tuple(sentence + words for sentence in sentences)

    def rise(self, s: Array, length: float, *, ahead: bool = False) -> Number:
        """Return how much g can rise over a length."""
        return self.knowledge.rise(s, length, ahead=ahead)

    def start_margin(self, d: int) -> Number:
        """Return the margin, beyond its error, by which the first reading must be below 0."""
        first = self.response.first * float(self.errors.drift)
        return self.knowledge.start_margin(d) + self.margin + first

    def noise(self, d: int) -> Number:
        """Return a bound on the error of an observed g, beyond that of its reading."""
        return self.knowledge.noise(d)

    def holds(self, x: Array) -> bool:
        """Return whether the constants hold at an action; other readings are not used."""
        return bool(self.knowledge.holds(x))

    def read(self, x: Array, feedback: Feedback) -> tuple[Number, Array | None]:
        """Return value and subgradient of a round in their forms; raise for other forms."""
        part: Knowledge = self.knowledge
        return part.read(x, feedback)

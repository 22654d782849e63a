"""A certified rule with values of g and a smoothness constant: it measures subgradients."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from surefoot.certified import Certified, copy_point
from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, tuning
from surefoot.core.arrays import freeze, norm
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Count
from surefoot.core.parameters import positive
from surefoot.core.types import Array, Info, Needs, Set
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import PossibleHorizon
from surefoot.guarantees.promise import Promise
from surefoot.guarantees.tuning import Tuned
from surefoot.knowledge.anchor import Anchor, pull_share
from surefoot.knowledge.base import Reading
from surefoot.knowledge.contradictions import check_bound, check_reach, check_start
from surefoot.knowledge.curvature import Curvature, CurvatureMemory, curvature_margin
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.region import OnePoint, Region
from surefoot.rules.certified.certified_dual_averaging import UNPRUNED, CertifiedDualAveraging
from surefoot.rules.wrappers.wrapper import Wrapper, start_one_run

__all__ = ["Measuring", "ValuesAndCurvature", "ValuesAveraging"]


SHARE = 0.1
"""The default of q of :class:`Measuring`."""


class MeasuringState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        learner: the state of the proposer.
        rounds: how many rounds have been played; 0 before the first value.
        start: the first action that was read, and the bound on g there.
        origin: where the slope was measured.
        slope: the slope that was measured; 0 before there is one.
        error: a bound on its error there.
        probing: the entry that the action is moved by for a probe, from 0; -1 for none.
        base: the action that the probes differ from, or that was read last.
        value: g there.
        noise: a bound on the error of that value.
        length: how far the probes go.
        differences: the slope that is being measured.
        doubts: the sum of the squares of what its entries err by.
        bound: the certified bound on the next g.
    """

    x: Array
    learner: Any
    rounds: Count
    start: Anchor
    origin: Array
    slope: Array
    error: float
    probing: int
    base: Array
    value: float
    noise: float
    length: float
    differences: Array
    doubts: float
    bound: float

    def flaw(self) -> str:
        """Return how the fields contradict each other; empty if they do not."""
        return "" if -1 <= self.probing < len(self.x) else "with probing an entry of x, or -1"


class Measuring(Wrapper):
    r"""A rule with a smoothness constant and values: it measures subgradients, with their error.

    For a convex g with curvature at most :math:`\beta`, n values next to :math:`x_o` give its slope
    there up to :math:`\tau_0`, and at x up to :math:`\tau = \tau_0 + \beta\|x - x_o\|`:

    .. math::
        \hat s_i &= \sigma_i\Big(\frac{g(x_o + \delta\sigma_ie_i) - g(x_o)}\delta
                    - \frac{\beta\delta}4\Big), \qquad
        \tau_0^2 = \sum_i\Big(\frac{\beta\delta}4 + \frac{\nu_o + \nu_i}\delta\Big)^2 \\
        x_{t+1} &= \text{the point of } \big\{p : g_t + \nu + \hat s^\top(p - x_t) +
                   \tau\|p - x_t\| + \tfrac\beta2\|p - x_t\|^2 \le 0\big\} \text{ nearest to the
                   proposal}

    with :math:`\nu_o` and :math:`\nu_i` the errors of the values at :math:`x_o` and at the probes.
    The subgradient is measured again, in n rounds that are played and counted, if the region cuts
    the proposal and :math:`\tau > q\|\hat s\|`. The same inequality certifies every probe. If it
    does not, the action first moves towards the start, which is safe because g is convex. A probe
    that is played r off its direction adds :math:`(\|\hat s\| + \tau)r/\delta` to its error; beyond
    half of its length it does not count. A round without a value is played again.

    Args:
        base: the rule, ``Certified(..., Curvature(...))``, with the errors of values.
        start_slope: a bound on the slope at the start, however rough.
        share: q; a larger one probes less.
        length: :math:`\delta`; :math:`\sqrt{8\nu/\beta}` for values that err by :math:`\nu`, and at
            least :math:`10^{-4}` of the largest norm of a feasible point, unless given.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"value_error", "action", "age", "within"})
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "every round"
    rests_on_convexity: ClassVar[bool] = True
    is_one_run: ClassVar[bool] = True
    other_needs: ClassVar[dict[str, Any]] = {"constraint_subgradients": 0}

    start_slope: float = positive()
    share: float = positive(default=SHARE)
    length: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        knowledge: Any = self.knowledge
        fits = isinstance(self.base, Certified) and isinstance(knowledge, Curvature)
        if not fits or knowledge.errors.drift or knowledge.errors.slope:
            raise InvalidValueError(
                "knowledge must be a Curvature without drift and slope_error, because slopes are "
                "measured by differences of rounds: where g drifts take ValuesFollower with a G_g, "
                f"got {checks.repr_line(knowledge)}"
            )
        if not getattr(knowledge.domain, "is_convex", True):
            rule = "convex: slopes are measured near by, between choices; ValuesFollower takes them"
            raise checks.invalid("domain", rule, knowledge.domain)
        if self.length is not None and self.length < 2.0**-40 * knowledge.reach:
            raise checks.invalid("length", "above the rounding of an action", self.length)

    def carry(self, promise: Promise) -> Promise:
        """Return the promise of the base, for slopes that are measured by differences."""
        needs = tuple(words for words in promise.needs if not words.startswith("slopes err"))
        start = f"the slope at the start is no longer than start_slope = {self.start_slope:.6g}"
        return replace(promise, needs=needs).with_more("slopes by values", start)

    def init(self, x1: Array) -> MeasuringState:
        """Start at x1; its slack comes with the first feedback."""
        x, _, learner, *_ = start_one_run(self.base, x1)
        # Zeros with the signs of x: the first probes go towards the origin.
        slope: tuple[Array, ...] = (x, 0.0 * x, float(self.start_slope))
        probe: tuple[Array, ...] = (-1, x, 0.0, 0.0, 0.0, np.zeros_like(x), 0.0)
        start = Anchor(x, math.inf, 0.0)
        return MeasuringState._make((x, learner, 0.0, start, *slope, *probe, math.inf))

    def step(self, state: MeasuringState, feedback: Feedback) -> tuple[MeasuringState, Info]:
        """Return the state after a round and its details: the formulas of the docstring."""
        located, t = self.locate(state, feedback), state.rounds + 1.0
        is_read, is_new = located.constraint_value is not None, False
        suspects: tuple[Callable[[], tuple[str, ...]], ...] = ()
        if not (is_read or state.rounds):
            return state, Info(state.x, proposal=state.x)
        state = state._replace(rounds=t)
        if is_read:
            read = self._read(located)
            bound = state.bound if (read.x == state.x).all() else math.inf
            suspects = (partial(self._contradict, t, read, bound),)
            if t == 1.0:
                state = state._replace(start=self._first_anchor(read))
            state, is_new = self._take_value(state, read)
        # From the base that a probe differs from, with the value that was read there.
        region = self._region(state, self._room(state), located)
        learner, proposal = self.base.proposer.propose(state.learner, state.base, located, region)
        state, aim = state._replace(learner=learner), copy_point(proposal, state.x)
        proposed = aim if proposal.wanted is None else proposal.wanted
        if not is_read:
            region = self._stay(state, region, located)
        elif state.probing >= 0:
            region = self._region(state, 0.0, located)
        elif not is_new and (region.nearest(aim) != proposed).any() and self._is_rough(state):
            state, region = self._begin_probes(state, located)
        if state.probing >= 0:
            aim = self._probe(state, state.probing)
        suspects = (*suspects, lambda: proposal.contradictions)
        new = freeze(region.nearest(aim))
        state = state._replace(x=new, bound=float(region.certificate(new).bound))
        return state, Info(new, proposed, region, suspects, round=int(t))

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    def move_to(self, state: MeasuringState, x: Array) -> MeasuringState:
        """Return the state, of the same round, whose action is x, of which no bound is known."""
        if not state.rounds:
            return self.init(x)
        return state._replace(x=freeze(np.array(x)), probing=-1, bound=math.inf)

    def rest(self, state: MeasuringState, x: Array) -> MeasuringState:
        """Return the state after a round without a reading; x is the next action."""
        if not state.rounds:
            return self.init(x)
        x = freeze(np.array(x))
        return state._replace(x=x, rounds=state.rounds + 1.0, probing=-1, bound=math.inf)

    def _read(self, feedback: Feedback) -> Reading:
        """Return the value that was read, with its errors."""
        g = checks.read_constraint_value(feedback.constraint_value, feedback.action)
        checks.finite(constraint_value=g)
        return Reading(feedback.action, g, None, self.errors.of_round(feedback))

    def _first_anchor(self, read: Reading) -> Anchor:
        """Return the start, which must have slack for certain."""
        upper = read.g + read.errors.value
        check_start(read.g, upper, self._margin(read.g, len(read.x)))
        return Anchor(read.x, upper, 1.0)

    def _take_value(self, state: MeasuringState, read: Reading) -> tuple[MeasuringState, bool]:
        """Return the state with a value, and whether that has completed a slope."""
        (x, g, _, errors, _), i, n = read, state.probing, len(state.x)
        way = x - state.base
        shift = float(way[i])
        across = norm(np.where(np.arange(n) == i, 0.0, way)) if i >= 0 else math.inf
        if not across < 0.5 * abs(shift):  # no probe, or one that was not played
            return state._replace(probing=-1, base=x, value=g, noise=errors.value), False
        bend = 0.25 * self.knowledge.beta * norm(way) ** 2 / abs(shift)
        differences = state.differences.copy()
        differences[i] = (g - state.value) / shift - math.copysign(bend, shift)
        both = errors.value + self._margin(g, n) + state.noise + self._margin(state.value, n)
        both += (norm(state.slope) + self._slope_error(state)) * across
        doubts = state.doubts + (bend + both / abs(shift)) ** 2
        state = state._replace(differences=differences, doubts=doubts)
        if i + 1 < n:
            return state._replace(probing=i + 1), False
        error = math.sqrt(doubts)
        complete = state._replace(probing=-1, origin=state.base, slope=differences, error=error)
        return complete, True

    def _is_rough(self, state: MeasuringState) -> bool:
        """Return whether the slope is worth to be measured again."""
        enough = max(self.share * norm(state.slope), 1.5 * self._least_error(state))
        return bool(self._slope_error(state) > enough)

    def _begin_probes(
        self, state: MeasuringState, feedback: Feedback
    ) -> tuple[MeasuringState, Region]:
        """Return the first probe; towards the start where one is not certified: g is convex."""
        base, start, delta = state.base, state.start, self._length(state)
        started = state._replace(
            probing=0, length=delta, differences=np.zeros(len(base)), doubts=0.0
        )
        near = self._region(state, 0.0, feedback)
        if all(near.contains(self._probe(started, i)) for i in range(len(base))):
            return started, near
        high, margin = state.value + state.noise, self._margin(state.value, len(base))
        uncertainty = self._slope_error(state) + self.knowledge.beta * norm(base - start.x)
        keep = (
            (uncertainty + 0.5 * self.knowledge.beta * delta) * delta + 2 * state.noise + 4 * margin
        )
        share = min(pull_share(high, start.value, keep), 1.0)
        reason = (
            f"g is at most {high:.3g} here and {start.value:.3g} at the start, and it is convex: "
            f"{share:.3g} of the way back its slope can be measured"
        )
        bound = min((1 - share) * high + share * start.value + margin, 0.0)
        back = base + share * (start.x - base)
        region = OnePoint(state.rounds, back, bound, self.errors, reason)
        return state, region.within(feedback.within)

    def _stay(self, state: MeasuringState, region: Region, feedback: Feedback) -> Region:
        """Return only the action, if nothing was read and its bound is known."""
        if state.bound == math.inf:
            return region
        reason = "nothing was read, and the action stays, which was certified before"
        bound = min(state.bound, 0.0)
        point = OnePoint(state.rounds, state.x, bound, self.errors, reason)
        return point.within(feedback.within)

    def _region(self, state: MeasuringState, room: float, feedback: Feedback) -> Region:
        """Return the region around the base, from its value and a subgradient with its error."""
        knowledge, t, tau = self.knowledge, state.rounds, self._slope_error(state)
        last = Anchor(state.base, state.value + state.noise + room, t)
        memory = CurvatureMemory(t, last, last.value, state.slope, tau, None, 0.0, 0.0)
        region: Region = knowledge.region(memory, replace(knowledge.errors, slope=tau))
        return region.within(feedback.within)

    def _probe(self, state: MeasuringState, i: int) -> Array:
        """Return the i-th probe: down the slope, as far as it is known."""
        point = np.array(state.base)
        point[i] += math.copysign(state.length, -state.slope[i])
        return point

    def _length(self, state: MeasuringState) -> float:
        r"""Return :math:`\delta`."""
        knowledge: Any = self.knowledge
        long = math.sqrt(8 * state.noise / knowledge.beta) if knowledge.beta > 0 else 0.0
        return max(1e-4 * knowledge.reach, long) if self.length is None else self.length

    def _slope_error(self, state: MeasuringState) -> float:
        r"""Return :math:`\tau` at the base."""
        return state.error + float(self.knowledge.beta * norm(state.base - state.origin))

    def _least_error(self, state: MeasuringState) -> float:
        """Return the error of a slope that could be measured at the base."""
        delta, n = self._length(state), len(state.base)
        both = 2 * (state.noise + self._margin(state.value, n))
        return math.sqrt(n) * float(0.25 * self.knowledge.beta * delta + both / delta)

    def _room(self, state: MeasuringState) -> float:
        """Return the slack that a move keeps, so that probes are certified at its end."""
        delta, both = self._length(state), state.noise + self._margin(state.value, len(state.base))
        uncertainty = self.share * norm(state.slope) + self._least_error(state)
        return float(2 * both + uncertainty * delta + 0.5 * self.knowledge.beta * delta**2)

    def _margin(self, g: float, n: int) -> float:
        """Return the rounding of a bound that starts from a value."""
        knowledge, slope = self.knowledge, self.start_slope
        margin = curvature_margin(
            g, slope, knowledge.beta, knowledge.reach, n, knowledge.errors.evaluation
        )
        return float(margin)

    def _contradict(self, t: float, read: Reading, bound: float) -> tuple[str, ...]:
        """Return how a value contradicts the constants, in sentences."""
        (x, g, _, errors, _), knowledge = read, self.knowledge
        margin = self._margin(g, len(x))
        sentences = check_reach(int(t), x, g + errors.value + margin, float(knowledge.reach))
        words = f"beta = {knowledge.beta:g} is too small"
        return sentences + check_bound(int(t), read, bound, margin, words)


class ValuesAveraging(Measuring):
    r"""Dual averaging from values and a bound on curvature: slopes are measured, with their error.

    It is :class:`~surefoot.rules.CertifiedDualAveraging` in
    :class:`~surefoot.rules.Measuring`, which measures a slope where the region cuts the step
    and the slope is not known well enough. There is one far point, of all gradients, unless ``far``
    is given: of several some are always cut, and slopes would be measured in vain.

    Args:
        knowledge: the curvature of g, and the errors of values.
        radius: R of the steps.
        start_slope: a bound on the slope at the start, however rough.
        far: F of the only far point; None for four far points.
        eta: the step; None for steps that follow the gradients.
        share: how wrong a slope may be, of its norm; a larger one probes less.
        length: how far probes go; as values err unless given.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.knowledge import Curvature
        >>> knowledge = Curvature(beta=2.0, reach=1.0)
        >>> player = ValuesAveraging(knowledge=knowledge, radius=1.0, start_slope=2.0)
        >>> state = player.init(np.zeros(2))
        >>> for _ in range(300):  # the limit is |x|^2 <= 0.25
        ...     value = float(state.x @ state.x) - 0.25
        ...     state = player.update(state, Feedback(np.array([-0.6, -0.8]), value))
        >>> state.x.round(2)
        array([0.3, 0.4])
    """

    declared_by: ClassVar[tuple[type, ...]] = (Measuring, CertifiedDualAveraging)
    typical_needs: ClassVar[Needs] = CertifiedDualAveraging.typical_needs._replace(
        constraint_subgradients=0
    )

    def __init__(
        self,
        *,
        knowledge: Curvature,
        radius: float,
        start_slope: float,
        far: float | None = UNPRUNED,
        eta: float | None = None,
        share: float = SHARE,
        length: float | None = None,
    ) -> None:
        base = CertifiedDualAveraging(knowledge=knowledge, radius=radius, far=far, eta=eta)
        super().__init__(base=base, start_slope=start_slope, share=share, length=length)

    @classmethod
    @tuning(listed=False)
    def default(
        cls, constants: Constants, horizon: int | None = None, domain: Set | None = None
    ) -> Tuned[Self]:
        """Feasible in every round from values and a bound on the curvature of a convex g.

        Args:
            constants: needs R, beta, start_slack, and G_g, which bounds the slope at the start;
                uses the errors of values.
            horizon: not used.
            domain: a known set that contains every action.
        """
        theorem = ValuesAndCurvature(constants)
        R, beta, G_g = constants.require("R", "beta", "G_g", by=theorem.name)
        errors = replace(Errors.of(constants), slope=0.0, drift=0.0)
        knowledge = Curvature(beta=beta, reach=R, domain=domain, errors=errors)
        return Tuned(cls(knowledge=knowledge, radius=R, start_slope=G_g), theorem)


class ValuesAndCurvature(PossibleHorizon, StrictStart):
    r"""Values and a bound on curvature: feasible in every round for a convex g.

    Slopes are measured by differences at actions that are played, with the error that curvature
    leaves them; every action, of a probe or not, is certified with that error. docs/values.md has
    the proof. No regret bound is claimed beyond :math:`2RG_fT`.

    Args:
        constants: needs R, beta, G_g (for the slope at the start alone) and start_slack.
        horizon: the intended number of rounds, if there is one.
    """

    name: ClassVar[str] = "Values and curvature"
    needed: ClassVar[tuple[str, ...]] = ("R", "beta", "G_g")

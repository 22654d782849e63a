"""Any certified rule with only values of costs: differences of two rounds are gradients."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, rest, start_in, tuning
from surefoot.core.arrays import freeze, norm
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Axes, Count, PerRow, Span
from surefoot.core.parameters import count, nonnegative, positive
from surefoot.core.points import UNIT, dimension_of
from surefoot.core.types import Array, Info, Number, Set, needs_of
from surefoot.guarantees.bounds import StrictStart
from surefoot.guarantees.guarantee import KnownHorizon
from surefoot.guarantees.promise import Promise
from surefoot.guarantees.tuning import Tuned
from surefoot.knowledge import EmptyRegionError, OnePoint
from surefoot.rules.certified.leader_follower import LeaderFollower
from surefoot.rules.wrappers.tighten import tightened_constants
from surefoot.rules.wrappers.wrapper import (
    UNKNOWN,
    OfBase,
    Wrapper,
    keep_seen,
    start_one_run,
)
from surefoot.sets import move_inwards

__all__ = ["CostProbing", "InPairs"]

Suspect: TypeAlias = Callable[[], Iterable[str]]


class CostProbingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the base, whose action is the centre.
        way: u, the unit vector of the pair.
        turn: which round of a pair comes next, 1 or 2; 0 for an action that is played by itself.
        is_probe: whether the action is the probe.
        is_next_first: whether the probe of the next pair is played before its centre.
        first: the feedback of the first round of the pair, if that was played.
        rho: how much g can rise over a probe; 0 before g was read.
        bound: an upper bound on the reported g at the centre.
        rounds: how many rounds have been played.
        is_kept: whether every round so far is one that the bound in advance covers.
    """

    x: Array
    base: Any
    way: Array
    turn: Annotated[int, Span(0, 2)]
    is_probe: bool
    is_next_first: bool
    first: Annotated[tuple[Feedback, ...], Axes("pair")]
    rho: Annotated[Number, PerRow, Span(0)]
    bound: float
    rounds: Count
    is_kept: bool

    def flaw(self) -> str:
        """Return how the fields contradict each other; empty if they do not."""
        return "" if len(self.first) == (self.turn == 2) else "with first in turn 2 alone"


class CostProbing(Wrapper):
    r"""A certified rule that receives values of costs instead of gradients.

    After the first, rounds come in pairs. One of the two plays the centre :math:`c_k`, the action
    of the base; the other plays a probe :math:`p_k = c_k + \delta u_k`, with :math:`u_k` uniform on
    the unit sphere. A coin says which is first. Then the base is told of one round:

    .. math:: \hat\nabla_k = \frac{f(p_k) - f'(c_k)}{\delta}u_k, \qquad
              g(c_k) + \rho, \qquad s(c_k),

    with f and f' the costs of the two rounds and :math:`\rho` the most that g can rise over
    :math:`\delta`. So the base keeps :math:`g(c_k) \le -\rho`, and every probe is feasible,
    whatever u is: both rounds are certified before they are played. d times the estimate has the
    mean of the two smoothed gradients, also where the two costs differ (:class:`InPairs`); the base
    is told it without the d, which a bound on the regret needs and a step does not.

    **Known sets.** A set that is known to hold every action holds the centres with a distance of
    :math:`\delta` to its edge. A start that is nearer, in a corner perhaps, is played once, and the
    base begins at the point nearest to it that is not: g rises by no more than over the way there.
    In a set that is announced for the next round the centre has that distance, too, whatever u and
    the coin are. Where there is no such centre, the centre is played by itself and its cost teaches
    nothing; so it is for the second round of a pair that the centre has no such distance in.
    Whether a pair is finished depends on the sets and the centre, never on u and the coin: the
    estimates that there are keep their mean.

    A round without a cost, or one in which another action was played, leaves its pair without an
    estimate. One that is missed with the action held only delays its pair, unless g drifts: then
    the centre's reading would age. Under drift the base allows for three rounds between two of its
    own, and a ``start_bound`` rises by :math:`\rho`, as g does. A game draws the unit vectors;
    elsewhere they come from ``seed`` and the round.

    Args:
        base: a certified rule that learns from gradients of the cost. Its domain is a set whose
            border is known: a ball, a box, half-spaces, a polytope, an ellipsoid, or their
            intersection.
        length: :math:`\delta`.
        seed: of the unit vectors, if no game draws them.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball
        >>> player = CostProbing(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), length=0.01)
        >>> state = player.init(np.zeros(2))
        >>> for _ in range(200):  # the limit is |x[i]| <= 0.5, the cost -0.6 x[0] - 0.8 x[1]
        ...     x, i = state.x, int(abs(state.x).argmax())
        ...     g, s = float(abs(x[i])) - 0.5, np.sign(x) * (np.arange(2) == i)
        ...     state = player.update(state, Feedback(None, g, s, float(x @ [-0.6, -0.8])))
        >>> bool((0.45 < state.base.x).all()), bool((abs(state.x) <= 0.5).all())
        (True, True)
    """

    rests_on_convexity = True
    is_one_run = True
    uses: ClassVar[frozenset[str]] = frozenset({"value_error", "action", "age", "within"})
    refusals: ClassVar[Mapping[str, str | None]] = {
        "unknown": UNKNOWN.format("that plays beside the action that may violate"),
        "ramp": "after an order a pair begins at its centre, however far that is, so leave the "
        "ramp out, or play the base alone and report gradients of the cost",
        "context": "a centre and its probe are two rounds, and g may rise more between their "
        "contexts than over the probe, so leave the contexts out and give a drift that bounds what "
        "they change, or play the base alone and report gradients of the cost",
    }
    other_needs: ClassVar[dict[str, Any]] = {"cost_gradients": 0, "cost_values": 1, "directions": 1}

    length: float = positive()
    seed: int = count(0, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.knowledge is None or not needs_of(self.base).cost_gradients:
            raise InvalidValueError(
                "base must be a certified rule that learns from gradients of the cost, for which "
                "CostProbing tells differences of costs: take LeaderFollower or another, got "
                f"{type(self.base).__name__}"
            )
        if reason := self.knowledge.obstacle_to_margins:
            raise InvalidValueError(
                "base must bound how much g rises over a probe, which CostProbing adds to g: give "
                "a G_g or beta, or tell gradients of the cost to the base alone, got a "
                f"{type(self.knowledge).__name__}, {reason}"
            )
        _ = self._each

    @cached_property
    def _inside(self) -> Set | None:
        """The centres whose probes are all in the known set; None without a known set."""
        domain = self.knowledge.domain
        if domain is None:
            return None
        if not getattr(domain, "is_convex", True):
            raise InvalidValueError(
                f"domain must be a convex set for CostProbing, whose probes go {self.length:g} in "
                "any direction, so that they are between its choices: play the base alone and "
                f"report gradients of the cost, got a {type(domain).__name__}"
            )
        try:
            return move_inwards(domain, self.length)
        except InvalidValueError as error:
            raise InvalidValueError(
                f"length must leave room for probes in {checks.repr_line(domain)}, a ball, a box, "
                "half-spaces, a polytope, an ellipsoid or their intersection, got "
                f"{self.length!r}"
            ) from error

    @cached_property
    def _each(self) -> Any:
        """The base for g plus the rise of a probe, with the drift between two of its rounds."""
        base = self.base.every(3)
        longest = (1 + 2.0**-20) * self.length + 2.0**-20 * float(self.knowledge.reach)
        return _confine(base, self._inside, longest)

    def carry(self, promise: Promise) -> Promise:
        """Return the promise of the base, which the probes keep, too."""
        return promise.with_more("costs by value")

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return {"pair": 1}

    def init(self, x1: Array) -> CostProbingState:
        """Start at x1; its slack comes with the first feedback."""
        x = checks.to_action(x1)
        if not isinstance(x, np.ndarray) or x.ndim != 1:
            raise InvalidValueError("x1 must be the action of one run, got several")
        domain = self.knowledge.domain
        x = x if domain is None else start_in(domain, x)
        inside = self._move_inside(x)
        if self.knowledge.bounds_start and not (inside == x).all():
            raise InvalidValueError(
                f"x1 must be at least length = {self.length:g} inside of the domain, because "
                f"start_bound says nothing of the point where probes have room, got {x!r}"
            )
        base = start_one_run(self._each, inside)
        way = np.zeros_like(x)
        return CostProbingState(x, base, way, 0, False, False, (), 0.0, math.inf, 0.0, True)

    def locate(self, state: CostProbingState, feedback: Feedback) -> Feedback:
        """Return feedback with its action; the first must be the start if it has a start_bound."""
        located = super().locate(state, feedback)
        if self._is_new(state) and self.knowledge.bounds_start:
            self._each.locate(state.base, Feedback(action=located.action))
        return located

    def step(self, state: CostProbingState, feedback: Feedback) -> tuple[CostProbingState, Info]:
        """Return the state after a round and its details: the formulas of the docstring."""
        located, t, within = self.locate(state, feedback), state.rounds + 1.0, feedback.within
        if located.cost_value is not None:
            cost = float(checks.to_number(located.cost_value, state.x, "cost_value"))
            checks.finite(cost_value=cost)
            located = located._replace(cost_value=cost)
        is_own, way = bool((located.action == state.x).all()), self._draw(located, t)
        state = state._replace(rounds=t, is_kept=state.is_kept and within is None)
        if self._is_new(state):
            return self._begin(state, located, way)
        if state.turn == 1 and is_own and self._has_room(state.base.x, within):
            measurements = keep_seen(located)._replace(cost_gradient=None)  # now the other half
            state = state._replace(turn=2, first=(measurements,), is_next_first=bool(way[0] > 0))
            return self._play(state, not state.is_probe, within)
        joined, suspects = self._join(state, located, is_own)
        return self._step_base(state, joined, way, within, suspects)

    def _is_new(self, state: CostProbingState) -> bool:
        """Return whether the base has no reading yet."""
        return not np.any(state.rho)

    def _begin(
        self, state: CostProbingState, feedback: Feedback, way: Array
    ) -> tuple[CostProbingState, Info]:
        """Return the state after a round before which the base had no reading.

        What was measured is the first action of the base, if the known set has room for its probes.
        Else the base begins at the nearest action that has, which is certified by the rise of g.
        """
        x, within = feedback.action, feedback.within
        if feedback.constraint_value is None:
            return state, Info(state.x, proposal=state.x, round=int(state.rounds))
        if not self.may_play(x):
            raise checks.invalid("the first action", "in the domain", x)
        inside = self._move_inside(x)
        away = float(norm(inside - x))
        rho, upper = self._rise(feedback, away)
        if not away:
            state = state._replace(rho=rho)
            return self._step_base(state, self._tighten(feedback, rho), way, within, ())
        base = self._each.init(inside)
        reason = f"probes have room {away:.3g} from the start, and g rises by less than its slack"
        region = OnePoint(state.rounds, base.x, min(upper, 0.0), self.errors, reason)
        new = region.within(within).nearest(base.x)
        state = state._replace(x=new, base=base, is_kept=False)
        return state, Info(new, new, region, round=int(state.rounds))

    def _step_base(
        self,
        state: CostProbingState,
        joined: Feedback,
        way: Array,
        within: Set | None,
        suspects: tuple[Suspect, ...],
    ) -> tuple[CostProbingState, Info]:
        """Return the state after a step of the base, whose action is the next centre."""
        base, info, has_room = self._find_centre(state.base, joined, within)
        suspects = (*suspects, *info.suspects)
        state = state._replace(base=base, way=way, turn=int(has_room), first=())
        if info.certificate is None:  # the base has no reading yet
            state = state._replace(x=base.x, is_probe=False, turn=0, bound=math.inf)
            return state, Info(base.x, base.x, None, suspects, round=int(state.rounds))
        state = state._replace(bound=float(info.certificate.bound))
        is_probe = has_room and state.is_next_first
        return self._play(state, is_probe, within, info.proposal, suspects)

    def _find_centre(
        self, state: Any, joined: Feedback, within: Set | None
    ) -> tuple[Any, Info, bool]:
        """Return a step of the base, and whether a set that was announced has room for probes."""
        if within is None:
            return (*self._each.step(state, joined), True)
        room = self._find_room(within)
        if room is not None:
            try:
                return (*self._each.step(state, joined._replace(within=room)), True)
            except EmptyRegionError:
                pass
        return (*self._each.step(state, joined._replace(within=within)), False)

    def _find_room(self, within: Set) -> Set | None:
        """Return the centres whose probes are in a set; None without one."""
        try:
            return move_inwards(within, self.length)
        except InvalidValueError:
            return None

    def _has_room(self, centre: Array, within: Set | None) -> bool:
        """Return whether all probes of a centre are in a set that was announced."""
        if within is None:
            return True
        room = self._find_room(within)
        return room is not None and bool(room.contains(centre))

    def _move_inside(self, x: Array) -> Array:
        """Return the nearest action whose probes are all in the known set; mostly itself."""
        inside = self._inside
        return x if inside is None or inside.contains(x) else freeze(inside.project(x))

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    def keeps_promise(self, state: CostProbingState) -> bool:
        """Return whether the bound in advance covers every round so far."""
        return state.is_kept

    def move_to(self, state: CostProbingState, x: Array) -> CostProbingState:
        """Return the state, of the same round, whose action is x: the pair is not finished.

        Before g was read x is a new start; after it the base keeps its centre.
        """
        x = freeze(np.array(x))
        base = self._restart(state, x) if self._is_new(state) else state.base
        return state._replace(x=x, base=base, turn=0, first=())

    def rest(self, state: CostProbingState, x: Array) -> CostProbingState:
        """Return the state after a round without a reading; x is the next action.

        The base keeps its centre, from which the next pair begins. If g does not drift, an action
        that is held is as good in the next round, and its pair goes on.
        """
        x, is_held = freeze(np.array(x)), bool((x == state.x).all())
        if self._is_new(state):
            base = self._restart(state, x)
        else:
            base = rest(self._each, state.base, state.base.x)
        if self.errors.drifts or not is_held:
            state = state._replace(turn=0, first=())
        return state._replace(x=x, base=base, rounds=state.rounds + 1.0)

    def _restart(self, state: CostProbingState, x: Array) -> Any:
        """Return the base at a new start; a start_bound is that of the old one alone."""
        if self.knowledge.bounds_start:
            return state.base
        return self._each.init(self._move_inside(x))

    def _draw(self, feedback: Feedback, t: float) -> Array:
        """Return the unit vector of a round."""
        if feedback.direction is not None:
            return checks.check_like_action(feedback.direction, feedback.action, "direction")
        way = np.random.default_rng([self.seed, int(t)]).normal(size=len(feedback.action))
        return way / norm(way)

    def _rise(self, feedback: Feedback, away: float) -> tuple[Number, float]:
        r"""Return :math:`\rho`, and a bound on the next g so far away; raise for too little slack.

        The rounding of a probe, and of the way, is included.
        """
        knowledge, x, s = self.knowledge, feedback.action, feedback.constraint_subgradient
        rounding = 4 * (len(x) + 8) * UNIT * float(knowledge.reach)
        rho = knowledge.rise(s, self.length + rounding, ahead=True)
        # In the form of the reported values: one row is one number.
        rho = rho if np.ndim(feedback.constraint_value) else float(np.max(rho))
        over, upper = feedback.constraint_value + rho, 0.0
        if away:
            rise = knowledge.rise(s, away + rounding, ahead=True)
            error = self.errors.of_round(feedback).value + np.max(knowledge.noise(len(x)))
            level = feedback.constraint_value + rise
            upper = float(np.max(level) + error + self.errors.drift)
            # Its own reading must leave room for a probe, however it errs.
            over = level + rho + 2 * error + self.errors.drift + knowledge.start_margin(len(x))
        if not np.max(over) < 0:
            way = f"{self.length:g}"
            if away:
                way += f" and the {away:.3g} to the nearest action whose probes have room"
            raise InvalidValueError(
                f"length must be short enough for the slack of the start: g may rise by "
                f"{np.max(over - feedback.constraint_value):.3g} over {way}, got g(x_1) = "
                f"{np.max(feedback.constraint_value):g}"
            )
        return rho, upper

    def _join(
        self, state: CostProbingState, feedback: Feedback, is_own: bool
    ) -> tuple[Feedback, tuple[Suspect, ...]]:
        """Return the round that the base receives, and the checks of its constants."""
        is_centre = bool((feedback.action == state.base.x).all())
        centre, probe = feedback if is_centre else None, None
        if state.turn == 2 and state.is_probe:
            centre, probe = state.first[0], feedback if is_own else None
        elif state.turn == 2 and is_own:
            probe = state.first[0]
        if centre is None:
            return Feedback(), ()
        joined = self._tighten(centre, state.rho)
        if probe is None:
            return joined, ()
        if centre.cost_value is not None and probe.cost_value is not None:
            grad = (probe.cost_value - centre.cost_value) / self.length * state.way
            joined = joined._replace(cost_gradient=grad)
        if centre.constraint_value is None or probe.constraint_value is None:
            return joined, ()
        return joined, (partial(self._contradict, state, centre, probe),)

    def _tighten(self, feedback: Feedback, rho: Number) -> Feedback:
        r"""Return the reading of g, with :math:`\rho` added."""
        if feedback.constraint_value is None:
            return Feedback(action=feedback.action)
        g = feedback.constraint_value + rho
        return feedback._replace(constraint_value=g, cost_value=None, direction=None, within=None)

    def _play(
        self,
        state: CostProbingState,
        is_probe: bool,
        within: Set | None,
        proposal: Array | None = None,
        suspects: tuple[Suspect, ...] = (),
    ) -> tuple[CostProbingState, Info]:
        """Return the state in which the centre or the probe is played, and why that is safe."""
        t, new, bound = state.rounds, state.base.x, state.bound - float(np.min(state.rho))
        reason = f"g is at most {bound:.3g} at the centre"
        probe = freeze(new + self.length * state.way)
        if is_probe and not self._may_probe(probe, within):  # by rounding
            is_probe, state = False, state._replace(turn=0, first=())
        if is_probe:
            proposal = None if proposal is None else proposal + self.length * state.way
            new, bound = probe, state.bound
            most = float(np.max(state.rho))
            reason += f" and rises by at most {most:.3g} over a probe of {self.length:.3g}"
        elif not state.turn:
            reason += ", which is played by itself: the announced set has no room for its probe"
        region = OnePoint(t, new, min(bound, 0.0), self.errors, reason)
        state = state._replace(x=new, is_probe=is_probe)
        return state, Info(
            new, new if proposal is None else proposal, region, suspects, round=int(t)
        )

    def _may_probe(self, probe: Array, within: Set | None) -> bool:
        """Return whether a probe is in the sets that are known to hold it, as computed."""
        return self.may_play(probe) and (within is None or bool(within.contains(probe)))

    def _contradict(
        self, state: CostProbingState, centre: Feedback, probe: Feedback
    ) -> tuple[str, ...]:
        """Return whether g differs by more over the probe than it can, as a sentence."""
        rise = np.max(abs(probe.constraint_value - centre.constraint_value) - state.rho)
        errors = (self.errors.of_round(one).value for one in (centre, probe))
        noise = 4 * np.max(self.knowledge.noise(len(state.x)))
        if not rise > sum(errors) + self.errors.drift + noise:
            return ()
        return (
            f"round {int(state.rounds)}: g differs by {rise + np.max(state.rho):.3g} over a "
            f"probe of {self.length:.3g}, where {np.max(state.rho):.3g} is the most: a constant is "
            "too small",
        )

    @classmethod
    @tuning(change=nonnegative(), dimension=count())
    def known_horizon(
        cls,
        constants: Constants,
        horizon: int,
        domain: Set | None = None,
        *,
        base: Callable[..., Tuned[Any]] = LeaderFollower.default,
        change: float | None = None,
        dimension: int | None = None,
        **options: Any,
    ) -> Tuned[Self]:
        r"""Tune the length of probes to the horizon, and to how much costs change in a pair.

        The expected regret is bounded in advance where the base's regret is.

        Args:
            constants: what the base needs, G_f, G_g and start_slack; ``cost_bound`` where
                ``change`` is not given.
            horizon: T.
            domain: a known set that contains every action, whose border is known.
            base: a theorem-tuned constructor of a certified rule; that of ``CertifiedPFS`` has a
                regret bound in advance.
            change: v, by how much the costs of two successive rounds differ at an action at most,
                with the noise of both values. 0 where the cost is a fixed one; twice ``cost_bound``
                unless given.
            dimension: d; that of the domain where it has one. Without it no regret is bounded.
            options: for the base.

        Example:
            >>> c = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
            >>> player = CostProbing.known_horizon(c, 10_000, change=0.0, dimension=2)
            >>> player.algorithm.length, float(player.guarantee.change)
            (0.0025, 0.0)
        """
        constants = as_constants(constants)
        G_f, G_g, slack = constants.require("G_f", "G_g", "start_slack", by=InPairs.title)
        if change is None:
            if constants.cost_bound is None:
                raise InvalidValueError(
                    f"{InPairs.title} needs a bound on the costs: change, by how much those of two "
                    "successive rounds differ at an action, or the constant cost_bound, got neither"
                )
            change = 2 * constants.cost_bound
        checks.nonnegative(change=change)
        T, d = checks.check_horizon(horizon), dimension or dimension_of(domain)
        ball = slack / G_g  # of the start; never more than half of it is given to probes
        noisy = math.sqrt(math.sqrt(2 / T) * (d or 1) * change * ball / G_f)
        length = min(max(0.5 * ball / math.sqrt(T), noisy), 0.5 * ball)
        inner = tightened_constants(constants, G_g * length)
        inner = inner.with_origin("derived", G_f=G_f + change / length)
        pair = base(inner, horizon // 2 + 2, domain, **options)
        theorem = InPairs(constants, T, pair.guarantee, length, float(change), d)
        return Tuned(cls(base=pair.algorithm, length=length), theorem)


def _confine(algorithm: Any, inside: Set | None, length: float) -> Any:
    """Return a certified rule on another set, for g plus its rise over a length."""
    if isinstance(algorithm, Wrapper):
        return algorithm.with_base(_confine(algorithm.base, inside, length))
    knowledge = algorithm.knowledge.above(length)
    if inside is None:
        return algorithm.of(algorithm.proposer, knowledge, algorithm.ramp)
    knowledge = replace(knowledge, domain=inside)
    return algorithm.of(algorithm.proposer.on(inside), knowledge, algorithm.ramp)


class InPairs(OfBase, StrictStart, KnownHorizon):
    r"""Costs by their values: feasible in every round, and a bound on the expected regret.

    With :math:`G = G_f`, v the most by which the costs of the two rounds of a pair differ at an
    action, :math:`\kappa = G_gD/\alpha`, and :math:`\overline{\mathrm{Reg}}` the bound of the base
    for gradients of at most :math:`G + v/\delta` and a start with the slack
    :math:`\alpha - G_g\delta`,

    .. math::
        g(x_t) &\le 0 \ \forall t, \\
        \mathbb{E}\,\mathrm{Reg}_t &\le 2d\,\overline{\mathrm{Reg}}(\lceil(t+1)/2\rceil)
            + (\tfrac32 + \kappa)\delta Gt + 8RG .

    With a base whose bound is :math:`B(G + v/\delta)\sqrt t` that is :math:`O(d\sqrt T)` for v = 0,
    where :math:`\delta \propto T^{-1/2}`, and :math:`O(\sqrt{dv}\,T^{3/4})` otherwise. The costs
    are chosen in advance. docs/values.md has the proof.

    The bound is for a start around which the known set holds the ball of radius
    :math:`\alpha/G_g`, as a set does that holds the feasible set, and for rounds without an
    announced set. From a start on the edge :math:`\kappa` is larger and :math:`\alpha` smaller, by
    lines of the same proof; the rule says of its rounds whether the bound covers them. Feasibility
    needs neither.

    Args:
        constants: needs R, G_f, G_g and start_slack.
        horizon: T.
        each: the guarantee of the base, which must be one for every round.
        length: :math:`\delta`.
        change: v.
        dimension: d; None for no bound on the regret.
    """

    title: ClassVar[str] = "Costs by value"
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g")

    length: float = positive()
    change: float = nonnegative()
    dimension: int | None = count(default=None)

    @property
    def name(self) -> str:
        """The theorem of the base, and its purpose."""
        return f"{self.each.name}, costs by value (in expectation)"

    @property
    def regret_exponent(self) -> float | None:
        """One half where costs do not change in a pair, else three quarters.

        None where the base has no bound in advance.
        """
        if self.each.regret_exponent != 0.5 or self.dimension is None:
            return None
        return 0.75 if self.change else 0.5

    def _promise_in_advance(self) -> Promise | None:
        promise = super()._promise_in_advance()
        if promise is None:
            return None
        needs = (*promise.needs, "the known set holds the ball of radius start_slack/G_g there")
        return replace(
            promise, needs=needs, not_covered=(*promise.not_covered, "sets that are announced")
        )

    def regret_bound(self, t: Number) -> Array:
        """Return the bound on the expected regret, at most :math:`2RG_ft`."""
        if self.dimension is None or self.each.promises.in_advance is None:
            return self._at_worst(t)
        T, c, G = np.asarray(t, dtype=np.float64), self.constants, self._G_f
        kappa = self._G_g * c.reach / self._slack
        learnt = 2 * self.dimension * self.each.regret_bound(np.ceil(0.5 * (T + 1)))
        probed = (1.5 + kappa) * self.length * G * T
        return np.minimum(self._at_worst(t), learnt + probed + 8 * c.R * G)

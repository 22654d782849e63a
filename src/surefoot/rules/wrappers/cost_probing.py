"""Any certified rule with only values of costs: differences of two rounds are gradients."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import counts_rounds, move_to, rest, tuning
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
from surefoot.guarantees.tuning import Tuned
from surefoot.knowledge import OnePoint
from surefoot.rules.certified.leader_follower import LeaderFollower
from surefoot.rules.wrappers.tighten import tightened_constants
from surefoot.rules.wrappers.wrapper import (
    OfBase,
    Wrapper,
    keep_seen,
    start_one_run,
)
from surefoot.sets import Ball, Box

__all__ = ["CostProbing", "InPairs"]

Suspect: TypeAlias = Callable[[], tuple[str, ...]]


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
    whatever u is: both rounds are certified before they are played. A set that is known to hold
    every action holds the centres with a distance of :math:`\delta` to its edge. d times the
    estimate has the mean of the two smoothed gradients, also where the two costs differ
    (:class:`InPairs`); the base is told it without the d, which a bound on the regret needs and a
    step does not.

    A round without a cost, or one in which another action was played, leaves its pair without an
    estimate. Under drift the base allows for three rounds between two of its own. A game draws the
    unit vectors; elsewhere they come from ``seed`` and the round.

    Args:
        base: a certified rule that learns from gradients of the cost.
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
    spends: ClassVar[str] = "which plays beside the action that may violate"
    uses: ClassVar[frozenset[str]] = frozenset({"value_error", "action", "age"})
    other_needs: ClassVar[dict[str, Any]] = {"cost_gradients": 0, "cost_values": 1, "directions": 1}

    length: float = positive()
    seed: int = count(0, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.knowledge is None or not needs_of(self.base).cost_gradients:
            rule = "a certified rule that learns from gradients of the cost"
            raise checks.invalid("base", rule, self.base)
        if reason := self.knowledge.obstacle_to_margins:
            raise InvalidValueError(
                f"base must have knowledge that uses only the reported g, because CostProbing "
                f"reports a larger one, got {type(self.knowledge).__name__}, {reason}"
            )
        _ = self._each

    @cached_property
    def _each(self) -> Any:
        """The base on a set shrunk by the probes, with the drift between two of its rounds."""
        base = self.base.allowing(self.errors.every(3))
        domain, margin = self.knowledge.domain, self.length * (1 + 2.0**-40)
        try:
            if isinstance(domain, Ball):
                return _confine(base, Ball(domain.radius - margin, domain.centre))
            if isinstance(domain, Box):
                return _confine(base, Box(domain.lower + margin, domain.upper - margin))
        except InvalidValueError as error:
            raise InvalidValueError(
                f"length must leave room for probes in {domain!r}, got {self.length!r}"
            ) from error
        if domain is None:
            return base
        raise checks.invalid("the domain of the base", "a Ball or a Box", domain)

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return {"pair": 1}

    def init(self, x1: Array) -> CostProbingState:
        """Start at x1; its slack comes with the first feedback."""
        base = start_one_run(self._each, x1)
        x = base.x
        return CostProbingState(x, base, np.zeros_like(x), 0, False, False, (), 0.0, math.inf, 0.0)

    def step(self, state: CostProbingState, feedback: Feedback) -> tuple[CostProbingState, Info]:
        """Return the state after a round and its details: the formulas of the docstring."""
        located, t = self.locate(state, feedback), state.rounds + 1.0
        if located.cost_value is not None:
            cost = float(checks.to_number(located.cost_value, state.x, "cost_value"))
            checks.finite(cost_value=cost)
            located = located._replace(cost_value=cost)
        is_own = bool((located.action == state.x).all())
        way = self._draw(located, t)
        if state.turn == 1 and is_own:  # the other half of the pair
            measurements = keep_seen(located)._replace(cost_gradient=None)
            state = state._replace(turn=2, first=(measurements,), is_next_first=bool(way[0] > 0))
            return self._play(state, t, is_probe=not state.is_probe)
        joined: Feedback
        suspects: tuple[Suspect, ...]
        if not np.any(state.rho) and located.constraint_value is not None:
            state = state._replace(rho=self._rise(located))
            joined, suspects = self._tighten(located, state.rho), ()
        else:
            joined, suspects = self._join(state, located, is_own)
        base, info = self._each.step(state.base, joined)
        suspects = (*suspects, *info.suspects)
        state = state._replace(base=base, way=way, turn=0, first=(), bound=math.inf)
        if info.certificate is None:  # g was not read yet
            state = state._replace(x=base.x, is_probe=False, rounds=t)
            return state, Info(base.x, proposal=base.x, suspects=suspects, round=int(t))
        state = state._replace(turn=1, bound=float(info.certificate.bound))
        return self._play(state, t, state.is_next_first, info.proposal, suspects)

    @property
    def counts_rounds(self) -> bool:
        """Whether the base counts rounds; the wrapper only passes them on."""
        return counts_rounds(self.base)

    def move_to(self, state: CostProbingState, x: Array) -> CostProbingState:
        """Return the state, of the same round, whose action is x: the pair is not finished.

        Before g was read x is a new start; after it the base keeps its centre.
        """
        x = freeze(np.array(x))
        base = state.base if np.any(state.rho) else move_to(self._each, state.base, x)
        return state._replace(x=x, base=base, turn=0, first=())

    def rest(self, state: CostProbingState, x: Array) -> CostProbingState:
        """Return the state after a round without a reading; x is the next action.

        The base keeps its centre, from which the next pair begins.
        """
        x = freeze(np.array(x))
        base = rest(self._each, state.base, state.base.x if np.any(state.rho) else x)
        return state._replace(x=x, base=base, turn=0, first=(), rounds=state.rounds + 1.0)

    def _draw(self, feedback: Feedback, t: float) -> Array:
        """Return the unit vector of a round."""
        if feedback.direction is not None:
            return checks.check_like_action(feedback.direction, feedback.action, "direction")
        way = np.random.default_rng([self.seed, int(t)]).normal(size=len(feedback.action))
        return way / norm(way)

    def _rise(self, feedback: Feedback) -> Number:
        r"""Return :math:`\rho`, with the rounding of a probe; raise for a start with less slack."""
        knowledge, x = self.knowledge, feedback.action
        distance = self.length + 4 * (len(x) + 8) * UNIT * float(knowledge.reach)
        rho = knowledge.rise(feedback.constraint_subgradient, distance, ahead=True)
        # In the form of the reported values: one row is one number.
        rho = rho if np.ndim(feedback.constraint_value) else float(np.max(rho))
        over = feedback.constraint_value + rho
        if not np.max(over) < 0:
            raise InvalidValueError(
                f"length must be short enough for the slack of the start: g may rise by "
                f"{np.max(rho):.3g} over {self.length:g}, got g(x_1) = "
                f"{np.max(feedback.constraint_value):g}"
            )
        return rho

    def _join(
        self, state: CostProbingState, feedback: Feedback, is_own: bool
    ) -> tuple[Feedback, tuple[Suspect, ...]]:
        """Return the round that the base receives, and the checks of its constants."""
        if state.turn == 2 and is_own:
            centre, probe = (*state.first, feedback) if state.is_probe else (feedback, *state.first)
        elif state.turn == 2 and state.is_probe:  # another action was played than the probe
            return self._tighten(state.first[0], state.rho), ()
        else:
            return Feedback(), ()
        joined = self._tighten(centre, state.rho)
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
        return feedback._replace(constraint_value=g, cost_value=None, direction=None)

    def _play(
        self,
        state: CostProbingState,
        t: float,
        is_probe: bool,
        proposal: Array | None = None,
        suspects: tuple[Suspect, ...] = (),
    ) -> tuple[CostProbingState, Info]:
        """Return the state in which the centre or the probe is played, and why that is safe."""
        new, bound = state.base.x, state.bound - float(np.min(state.rho))
        reason = f"g is at most {bound:.3g} at the centre"
        if is_probe:
            step = self.length * state.way
            new, bound = freeze(new + step), state.bound
            proposal = None if proposal is None else proposal + step
            most = float(np.max(state.rho))
            reason += f" and rises by at most {most:.3g} over a probe of {self.length:.3g}"
        region = OnePoint(t, new, min(bound, 0.0), self.errors, reason)
        state = state._replace(x=new, is_probe=is_probe, rounds=t)
        return state, Info(
            new, new if proposal is None else proposal, region, suspects, round=int(t)
        )

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
            f"round {int(state.rounds) + 1}: g differs by {rise + np.max(state.rho):.3g} over a "
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
            domain: a known set that contains every action, a Ball or a Box.
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


def _confine(algorithm: Any, domain: Set) -> Any:
    """Return a certified rule on another set."""
    if isinstance(algorithm, Wrapper):
        return algorithm.with_base(_confine(algorithm.base, domain))
    knowledge = replace(algorithm.knowledge, domain=domain)
    return algorithm.of(algorithm.proposer.on(domain), knowledge, algorithm.ramp)


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

    def regret_bound(self, t: Number) -> Array:
        """Return the bound on the expected regret, at most :math:`2RG_ft`."""
        if self.dimension is None or self.each.promises.in_advance is None:
            return self._at_worst(t)
        T, c, G = np.asarray(t, dtype=np.float64), self.constants, self._G_f
        kappa = self._G_g * c.reach / self._slack
        learnt = 2 * self.dimension * self.each.regret_bound(np.ceil(0.5 * (T + 1)))
        probed = (1.5 + kappa) * self.length * G * T
        return np.minimum(self._at_worst(t), learnt + probed + 8 * c.R * G)

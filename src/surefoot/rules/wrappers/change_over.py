r"""A rule with an observed bound on its regret, and one with a bound in advance for the worst case.

The first is played while what was observed leaves enough of a budget; if it ever does not, the
second starts at the first action, for ever. So the regret has a bound in advance, and nothing else
changes as long as the budget lasts. docs/leader.md has the theorem and its proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import move_to, observer_of, rest
from surefoot.core.arrays import freeze
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback, refuse_unused
from surefoot.core.forms import Count, Extended
from surefoot.core.parameters import instance_of, rounds
from surefoot.core.types import Array, Info, Number
from surefoot.guarantees.bounds import StrictStart, first_horizon
from surefoot.guarantees.guarantee import PossibleHorizon
from surefoot.guarantees.observers import ObservedRegret
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.promise import Promise
from surefoot.knowledge.certified_length import CertifiedLength
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.hull import LipschitzHull
from surefoot.knowledge.region import OnePoint
from surefoot.proposers.descent import Descent
from surefoot.rules.certified.certified_pfs import CertifiedPFS, FixedStep, fixed_step, step_radius
from surefoot.rules.wrappers.wrapper import Wrapper, start_one_run

__all__ = ["ChangeOver", "ChangeOverRegret", "ChangeOverTheorem"]

SHARE = 0.25
"""Of the second rule's bound, what the first may use up."""
INITIAL_WEIGHTS = 4
"""For how many of the most expensive rounds the budget is enough before anything else."""


class ChangeOverRegret(NamedTuple):
    """The observed bound on the regret of both rules, whose sums are in the state."""

    @property
    def theorem(self) -> str:
        """The statement that bounds the regret by these sums."""
        return "Theorem F and D"

    def after(self, info: Info) -> ChangeOverRegret:
        """Return the same: the state has added up the round.

        Args:
            info: what the step of the rule in force knew.
        """
        return self

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return the sum of the bounds of the rules so far; infinite after an own action.

        Args:
            algorithm: the ChangeOver.
            state: its state after these rounds.
        """
        return float(algorithm.observed_bound(state))


class ChangeOverState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        base: the state of the first rule; a fresh one after the change-over.
        then: that of the second; a fresh one before it.
        sums: those of the first rule's observed bound.
        later: those of the second rule's, in its present block.
        start: the first action.
        level: g as it was read there; infinite before.
        slope: the subgradient that was read with it; 0 before.
        spent: the observed bounds of what is no longer in force.
        check: after how many rounds is decided again; infinite where nothing is left to decide.
        block: 0 while the first rule is in force, then which block of the second.
        rounds: how many rounds have been played.
        is_kept: whether every round so far is one that the bound in advance covers.
    """

    x: Array
    base: Any
    then: Any
    sums: Any
    later: ObservedRegret
    start: Array
    level: Annotated[float, Extended]
    slope: Array
    spent: Annotated[float, Extended]
    check: Annotated[float, Extended]
    block: Count
    rounds: Count
    is_kept: bool

    def flaw(self) -> str:
        """Return in words what the parts contradict each other in; empty for nothing."""
        inner = self.then if self.block else self.base
        if not np.array_equal(self.x, inner.x):
            return "a state whose action is that of the rule in force"
        if self.block > MOST_BLOCKS:
            return f"a state in one of {MOST_BLOCKS} blocks"
        if self.block and not self.level < 0:
            return "a state whose start was read below 0 before the change-over"
        return ""


MOST_BLOCKS = 54
"""Blocks double, and no count of rounds exceeds 2^53."""


class ChangeOver(Wrapper):
    r"""A rule while its observed regret leaves enough of a budget, then one with a bound for ever.

    With :math:`B_t` the observed bound of the first rule after t rounds, :math:`S` the bound in
    advance of the second, and the budget :math:`C(t) = 8RG_f + S(t)/4`: the first plays round t + 1
    if :math:`B_t + 2RG_f \le C(t+1)`. Else the second begins at the first action,
    :meth:`CertifiedPFS.bounded <surefoot.rules.CertifiedPFS.bounded>`. Where the horizon is
    not known it begins anew there in blocks of 1, 2, 4, ... rounds. A round costs at most
    :math:`2RG_f`, so that :math:`B_t` is not computed in every round.

    An action of your own, a round without a measurement, and an order end the promise in advance.
    The rule in force then goes on, as safe as before.

    Args:
        base: the first rule: certified by G_g, with an observed bound.
        constants: those of the bounds; needs R, G_f, G_g and start_slack.
        horizon: the number of rounds; None where it is not known.

    Example:
        >>> from surefoot import Ball, LeaderFollower
        >>> known = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
        >>> first = LeaderFollower(G_g=1.0, domain=Ball(1.0))
        >>> both = ChangeOver(base=first, constants=known, horizon=10_000)
        >>> state = both.init(np.zeros(2))
        >>> seen = Feedback(np.array([-0.6, -0.8]), -0.5, np.array([0.0, 1.0]))
        >>> print(both.describe(both.update(state, seen)))
        LeaderFollower is in force, 0.662 % of the budget used
    """

    uses: ClassVar[frozenset[str]] = frozenset({"action", "within"})
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "every round"
    rests_on_convexity: ClassVar[bool] = True
    is_one_run: ClassVar[bool] = True
    is_outermost: ClassVar[bool] = True
    refusals: ClassVar[Mapping[str, str | None]] = {
        "ramp": "the second rule begins at the start, however far that is, so leave the ramp out",
        "context": "Theorem D, of the second rule, is for a g that is the same in every round, so "
        "play the base alone",
    }
    other_needs: ClassVar[dict[str, Any]] = {"cost_gradients": 1, "constraint_subgradients": 1}

    constants: Constants = instance_of(Constants)
    horizon: int | None = rounds(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_errors(self.constants)
        knowledge: Any = self.base.knowledge if isinstance(self.base, Certified) else None
        if type(knowledge) not in (LipschitzHull, CertifiedLength):
            what = type(self.base if knowledge is None else knowledge).__name__
            raise InvalidValueError(
                "base must be certified by G_g, as LeaderFollower and CertifiedPFS are, because "
                f"the second rule plays by the same constant, got {what}"
            )
        for name in ("value", "slope", "drift"):
            if getattr(knowledge.errors, name):
                raise _refuse_error(name, getattr(knowledge.errors, name))
        if not getattr(knowledge.domain, "is_convex", knowledge.domain is not None):
            rule = "a convex set for ChangeOver"
            raise checks.invalid("domain", rule, knowledge.domain)
        if knowledge.G_g != self.constants.G_g:
            rule = f"that of the base, {knowledge.G_g:g}"
            raise checks.invalid("constants.G_g", rule, self.constants.G_g)
        if observer_of(self.base) is None:
            raise InvalidValueError(
                "base must have an observed bound on its regret for ChangeOver, got one without, "
                "as with a leader of your own"
            )
        self._begin(1)  # refuses constants that have no bound

    @cached_property
    def _budget(self) -> Budget:
        return Budget(self.constants, self.horizon)

    @cached_property
    def _players(self) -> dict[int, CertifiedPFS]:
        return {}

    def _begin(self, block: int) -> CertifiedPFS:
        """Return the second rule of a block, whose state is a fresh one."""
        if block not in self._players:
            theorem, knowledge = self._budget.theorem(block), self.base.knowledge
            length = CertifiedLength(
                G_g=knowledge.G_g,
                domain=knowledge.domain,
                rho=theorem.rho,
                sigma=theorem.sigma,
                errors=knowledge.errors,
            )
            descent = Descent(radius=step_radius(knowledge.domain), eta=theorem.eta)
            self._players[block] = CertifiedPFS.of(descent, length)
        return self._players[block]

    @property
    def needs_slopes(self) -> bool:
        """Whether a round must report a slope: the second rule and its bound need each."""
        return True

    def carry(self, promise: Promise) -> Promise:
        """Return the promise of the base, which the second rule keeps by its own theorem."""
        return promise.with_more("then Theorem D")

    def in_force(self, state: ChangeOverState) -> tuple[Any, Any]:
        """Return the rule in force, and its state."""
        if state.block:
            return self._begin(int(state.block)), state.then
        return self.base, state.base

    def observer(self) -> ChangeOverRegret:
        """Return the observed bound, whose sums the state has."""
        return ChangeOverRegret()

    def observed_bound(self, state: ChangeOverState) -> float:
        """Return the sum of the observed bounds; infinite after a round that is not covered."""
        if not state.is_kept:
            return math.inf
        rule, inner = self.in_force(state)
        if not state.rounds:
            return 0.0
        sums = state.later if state.block else state.sums
        return state.spent + float(sums.bound(rule, inner))

    def keeps_promise(self, state: ChangeOverState) -> bool:
        """Return whether every round so far is one that the bound in advance covers."""
        return state.is_kept

    def describe(self, state: ChangeOverState) -> str:
        """Return which rule is in force and how much of the budget is used, in words."""
        rule, _ = self.in_force(state)
        name = type(rule).__name__
        if not state.is_kept:
            return f"{name} is in force, with no bound in advance after an order or an own action"
        if state.block:
            return f"{name} is in force, since the budget was used up"
        most = self._budget.most(state.rounds + 1.0)
        if most == math.inf:
            return f"{name} is in force, with no budget, because the bound would be trivial"
        used = 100 * max(self.observed_bound(state), 0.0) / most
        return f"{name} is in force, {used:.3g} % of the budget used"

    def init(self, x1: Array) -> ChangeOverState:
        """Start at x1 with the first rule."""
        base = start_one_run(self.base, x1)
        return ChangeOverState(
            x=base.x,
            base=base,
            then=self._begin(1).init(base.x),
            sums=observer_of(self.base),
            later=ObservedRegret(),
            start=base.x,
            level=math.inf,
            slope=freeze(np.zeros_like(base.x)),
            spent=0.0,
            check=self._budget.rounds_left(0.0, 1.0),
            block=0.0,
            rounds=0.0,
            is_kept=True,
        )

    def locate(self, state: ChangeOverState, feedback: Feedback) -> Feedback:
        """Return feedback with its action; reject fields that it does not use."""
        refuse_unused(feedback, self.needs.fields, type(self).__name__)
        rule, inner = self.in_force(state)
        located: Feedback = rule.locate(inner, feedback)
        return located

    def step(self, state: ChangeOverState, feedback: Feedback) -> tuple[ChangeOverState, Info]:
        """Return the state after a round, and what the step of the rule in force knew."""
        located = self.locate(state, feedback)
        state = self._leave_start(state, located.action)
        rule, inner = self.in_force(state)
        is_kept = state.is_kept and covers(state.x, feedback)
        after, info = rule.step(inner, feedback)
        n = state.rounds + 1.0
        if is_kept and not state.rounds:
            level, slope = located.constraint_value, located.constraint_subgradient
            state = state._replace(level=float(level), slope=freeze(np.array(slope, dtype=float)))
        state = state._replace(x=after.x, rounds=n, is_kept=is_kept)
        name, sums = ("then", "later") if state.block else ("base", "sums")
        state = state._replace(**{name: after})
        if is_kept:
            added = getattr(state, sums).after(info)
            if added is None:
                return self._end(state), info
            state = state._replace(**{sums: added})
            if n >= state.check:
                return self._decide(state, info)
        return state if is_kept else self._end(state), info

    def _decide(self, state: ChangeOverState, info: Info) -> tuple[ChangeOverState, Info]:
        """Return what is played next where the budget is to be looked at, or a block has ended."""
        n, spent = state.rounds, self.observed_bound(state)
        if not state.block:
            remaining = self._budget.rounds_left(spent, n + 1.0)
            if remaining >= 1.0:
                return state._replace(check=n + remaining), info
        block = int(state.block) + 1
        then = self._begin(block).init(state.start)
        state = state._replace(
            x=then.x,
            base=self.base.init(state.start),
            then=then,
            sums=observer_of(self.base),
            later=ObservedRegret(),
            spent=spent,
            check=n + self._budget.length(block),
            block=float(block),
        )
        reason = "the bound in advance asks for the start, which was measured"
        knowledge = self.base.knowledge
        bound = min(state.level + float(knowledge.noise(len(then.x))), 0.0)
        region = OnePoint(n, then.x, bound, knowledge.errors, reason)
        return state, Info(then.x, then.x, region, info.suspects)

    def _end(self, state: ChangeOverState) -> ChangeOverState:
        """Return the state that decides nothing any more: the rule in force goes on."""
        return state._replace(is_kept=False, check=math.inf)

    @property
    def counts_rounds(self) -> bool:
        """Whether a step stands for exactly one round: the budget grows with them."""
        return True

    def move_to(self, state: ChangeOverState, x: Array) -> ChangeOverState:
        """Return the state, of the same round, whose action is x; it ends the promise."""
        state = self._leave_start(state, x)
        rule, inner = self.in_force(state)
        moved = move_to(rule, inner, x)
        if np.array_equal(x, state.x):
            return self._with(state, moved)
        return self._end(self._with(state, moved))

    def rest(self, state: ChangeOverState, x: Array) -> ChangeOverState:
        """Return the state after a round in which nothing was read; it ends the promise."""
        state = self._leave_start(state, x)
        rule, inner = self.in_force(state)
        rested = self._with(state, rest(rule, inner, x))
        return self._end(rested._replace(rounds=state.rounds + 1.0))

    def _leave_start(self, state: ChangeOverState, x: Array) -> ChangeOverState:
        """Return the state that may play x: a second rule has read the start before it leaves it.

        Else x would be the start of that rule, even on the limit, where it has no slack.
        """
        if not state.block or np.array_equal(x, state.x) or state.then.memory.rounds:
            return state
        reading = Feedback(None, state.level, state.slope)
        then, _ = self._begin(int(state.block)).step(state.then, reading)
        return state._replace(then=then)

    def _with(self, state: ChangeOverState, inner: Any) -> ChangeOverState:
        """Return the state with that of the rule in force."""
        return state._replace(x=inner.x, **{"then" if state.block else "base": inner})

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors; refuse those that readings may not have."""
        return self.with_base(self.base.allowing(errors))

    def every(self, rounds: int) -> Self:
        """Return the same rule where so many rounds pass between two readings, likewise."""
        return self.with_base(self.base.every(rounds))


def covers(x: Array, feedback: Feedback) -> bool:
    """Return whether the bound in advance covers a round.

    The rule's action was played, all was reported, and the next action is not limited.
    """
    measurements = (
        feedback.cost_gradient,
        feedback.constraint_value,
        feedback.constraint_subgradient,
    )
    is_own = feedback.action is None or np.array_equal(feedback.action, x)
    return is_own and feedback.within is None and all(part is not None for part in measurements)


def refuse_errors(constants: Constants) -> None:
    """Raise where constants name an error or a drift."""
    sizes = {"value": constants.value_error, "slope": constants.slope_error}
    for name, size in {**sizes, "drift": constants.drift}.items():
        if size:
            raise _refuse_error(name, size)


def _refuse_error(name: str, size: float) -> InvalidValueError:
    full = name if name == "drift" else f"{name}_error"
    rule = "0 for Change-over, whose budget counts exact readings of one g: take its base alone"
    return checks.invalid(full, rule, size)


class Budget:
    r"""What the first rule may use up, and the bounds of the second.

    Args:
        constants: needs R, G_f, G_g and start_slack.
        horizon: the number of rounds; None where it is not known.
    """

    constants: Constants
    horizon: int | None
    per_round: float

    def __init__(self, constants: Constants, horizon: int | None) -> None:
        (G_f,) = constants.require("G_f", by=ChangeOverTheorem.name)
        self.constants, self.horizon = constants, horizon
        self.per_round = 2 * constants.R * G_f

    def theorem(self, block: int) -> FixedStep:
        """Return what the second rule is tuned by in a block, the first of which is 1."""
        return _tuned_step(self.constants, self.horizon or 2 ** (block - 1))

    def length(self, block: int) -> float:
        """Return how many rounds a block has; infinite where there is one alone."""
        return math.inf if self.horizon is not None else 2.0 ** (block - 1)

    def later(self, t: float) -> float:
        """Return S: what the second rule loses at most in t rounds, or in the horizon's if more."""
        if self.horizon is not None:
            return float(self.theorem(1).regret_bound(max(t, self.horizon)))
        if not t <= checks.LONGEST:
            return t + math.inf  # which is NaN where t is
        return _sum_blocks(self.constants, int(math.log2(max(t, 1.0))) + 1)

    @property
    def is_trivial(self) -> bool:
        """Whether the bound says no more than that costs of feasible points differ by so much."""
        T = self.horizon
        return T is not None and not self.bound(T) < self.per_round * T

    def bound(self, t: float) -> float:
        """Return what no regret of t rounds exceeds."""
        return INITIAL_WEIGHTS * self.per_round + (1 + SHARE) * self.later(t)

    def most(self, t: float) -> float:
        """Return C: the budget in round t; infinite where nothing is to be promised."""
        if self.is_trivial:
            return math.inf
        return INITIAL_WEIGHTS * self.per_round + SHARE * self.later(t)

    def rounds_left(self, spent: float, t: float) -> float:
        """Return how many rounds from t on the first rule may play before it is asked again."""
        remaining = self.most(t) - spent
        return (
            math.inf
            if remaining == math.inf
            else float(math.floor(max(remaining, 0.0) / self.per_round))
        )


@lru_cache(maxsize=512)
def _tuned_step(constants: Constants, horizon: int) -> FixedStep:
    return fixed_step(constants, horizon)


@lru_cache(maxsize=512)
def _sum_blocks(constants: Constants, many: int) -> float:
    """Return the sum of the bounds of so many blocks of 1, 2, 4, ... rounds."""
    (G_f,) = constants.require("G_f", by=ChangeOverTheorem.name)
    total = 0.0
    for T in (2**k for k in range(many)):
        bound = float(_tuned_step(constants, T).regret_bound(T))
        total += min(bound, 2.0 * constants.R * G_f * T)
    return total


class ChangeOverTheorem(PossibleHorizon, StrictStart):
    r"""Change-over: feasible in every round, with a regret bound in advance and one observed.

    With S(T) the bound of Theorem D' (:class:`FixedStep`):

    .. math:: g(x_t) \le 0 \ \forall t, \qquad \mathrm{Reg}_T \le \tfrac54S(T) + 8RG_f .

    Where the horizon is not known, :math:`S(n) = \sum_{2^k \le n}\min(S(2^k), 2RG_f2^k)`.
    docs/leader.md has the proof. Where the bound is not below :math:`2RG_fT` nothing is promised in
    advance, and nothing ever changes over.

    Args:
        constants: needs R, G_f, G_g and start_slack; uses start_reach and sigma.
        horizon: the number of rounds; None where it is not known.
    """

    name: ClassVar[str] = "Change-over"
    feasibility_theorem: ClassVar[str] = "Theorem E and D"
    observed_theorem: ClassVar[str] = "Theorem F and D"
    needed: ClassVar[tuple[str, ...]] = ("R", "G_f", "G_g")

    @cached_property
    def _budget(self) -> Budget:
        return Budget(self.constants, self.horizon)

    @property
    def regret_exponent(self) -> float | None:
        """One half; None where nothing is promised in advance."""
        return None if self._budget.is_trivial else 0.5

    def regret_bound(self, t: Number) -> Array:
        """Return the bound in advance, at most :math:`2RG_ft`."""
        T = np.asarray(t, dtype=np.float64)
        if self._budget.is_trivial:
            return self._at_worst(T)
        bounds = np.array([self._budget.bound(float(n)) for n in np.ravel(T)]).reshape(T.shape)
        return np.minimum(self._at_worst(T), bounds)

    def describe_worth(self, t: int) -> str:
        """Say so where nothing is promised of the regret after t rounds; empty where it is."""
        if not float(self.regret_bound(t)) >= float(self._at_worst(t)):
            return ""
        first = first_horizon(self._says_something, max(t, 1))
        return "trivial at any T" if first is None else f"trivial up to about T = {first:,.0f}"

    def _says_something(self, T: int) -> bool:
        """Return whether the bound for a number of rounds is below the trivial one."""
        horizon = None if self.horizon is None else T
        budget = Budget(self.constants, horizon)
        return budget.bound(float(T)) < budget.per_round * T

    @property
    def premises(self) -> tuple[Premise, ...]:
        """G_g and the start; G_f for the regret bound; sigma where the second rule uses it."""
        budget = self._budget
        blocks = range(1, 2 if self.horizon is not None else 2 + MOST_BLOCKS)
        used = [f for f in map(budget.theorem, blocks) if f.sigma is not None]
        if not used:
            return super().premises
        level = max(f.rho for f in used)
        sigma = used[0].sigma
        assert sigma is not None
        near = Premise("subgradient near the boundary", "sigma", sigma, level=level)
        return (*super().premises, near)

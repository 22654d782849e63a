"""Any rule with feedback that comes late."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import move_to, rest
from surefoot.core.arrays import freeze, norm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import NEXT, Feedback, refuse_unused
from surefoot.core.forms import Axes, Count
from surefoot.core.parameters import count, flag
from surefoot.core.types import Array, Info, Number, State
from surefoot.guarantees.guarantee import ConstraintForm, Guarantee
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.promise import Promise
from surefoot.knowledge import EmptyRegionError, OnePoint
from surefoot.knowledge.base import find_knowledge
from surefoot.knowledge.nearest import KnownSets
from surefoot.knowledge.ramp import around
from surefoot.rules.wrappers.wrapper import (
    UNKNOWN,
    FromBase,
    Wrapper,
    action_played,
    keep_seen,
    without_ramp,
)

__all__ = ["Delayed", "InTurns"]


class DelayedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        states: of the copies in the order of their turns, that of the next action last; or of the
            only one.
        actions: those without feedback so far, the next action last.
        waiting: reported feedback that is held back, the oldest first.
        rounds: how many rounds have been played.
    """

    x: Array
    states: tuple[State, ...]
    actions: tuple[Array, ...]
    waiting: Annotated[tuple[Feedback, ...], Axes("waiting")]
    rounds: Count


class Delayed(Wrapper):
    r"""A rule whose feedback comes k rounds late: k + 1 copies in turn, or one that plays ahead.

    *In turn:* each copy plays every (k+1)-th round, and by then the feedback of its last round is
    there. Any rule, any theorem; the regret is that of k + 1 runs of T/(k+1) rounds. Under a drift
    of v per round the copies are told (k+1)v, by which g may change between two of their rounds.

    *Ahead* (``copies=False``): one run of a certified rule. Its learner takes gradients as they
    come, and the next action is taken from the region that is certified around the latest action
    *observed*; for a g that does not change, a certificate does not expire. Under drift what was
    observed k rounds ago is k rounds old: the rule is told so. Feasibility is proved, the regret
    measured: on the paper's binding toy it hardly grows with k.

    **Ramps.** Copies in turn know nothing of each other, and keep no ramp: from 0 one of them goes
    to the left and one to the right, and steps are as long as both are apart. One run that plays
    ahead keeps the ramp of its base, for a g that does not change: the next action is taken from
    the region and the ball of the ramp around the action *played* last, not the one observed last.
    Where no point of both is found it stays, because its own certificate does not expire. Nothing
    is proved under drift: Theorem R needs the reading of the last action.

    Args:
        base: the rule, with the drift per round if there is one.
        delay: k, at least 1.
        copies: whether k + 1 copies play in turn; else one plays ahead.
        late: whether what is told is late already, as in a live loop: that of the action played
            k rounds ago, and in the first k rounds nothing. Else a round's feedback is told at
            once, as in a game, and is held back here. An ``action`` of such feedback is the one
            that was really played in the round, unless its ``age`` is k.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball
        >>> from surefoot.rules import LeaderFollower
        >>> late = Delayed(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), delay=1)
        >>> state = late.init(np.array([0.0, 0.0]))  # g(x) = x[1] - 0.5
        >>> grad, slope = np.array([-1.0, 0.0]), np.array([0.0, 1.0])
        >>> for _ in range(3):
        ...     seen = Feedback(grad, float(state.x[1]) - 0.5, slope)
        ...     state = late.update(state, seen)
        ...     print(state.x.round(3))
        [0. 0.]
        [0.5 0. ]
        [0.5 0. ]
    """

    uses: ClassVar[frozenset[str]] = frozenset(
        {"value_error", "slope_error", "action", "age", "within", "hint"}
    )

    refusals: ClassVar[Mapping[str, str | None]] = {
        "unknown": UNKNOWN.format("that acts again before it knows of a violation"),
        "ramp": None,
        "response": "late readings are a dead_time of the response, so give it that and leave "
        "Delayed out",
        "context": "Theorem X1 needs the context of each reading, and a late one comes in a later "
        "context, so leave the contexts out and give a drift that bounds what they change",
    }

    delay: int = count()
    copies: bool = flag(default=True)
    late: bool = flag(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.copies and self.errors is None:
            raise InvalidValueError(
                f"copies must be True for {type(self.base).__name__}: only certificates say what "
                "may be played before a reading comes, got False"
            )
        knowledge = find_knowledge(self.base)
        if self.ramp is not None and (self.copies or self.errors.drifts):
            why = "Theorem R needs the reading of the last action, so leave the ramp out"
            if self.copies:
                why = (
                    "copies in turn know nothing of each other, so that one may be left of the "
                    "start and the next right of it; take Delayed(..., copies=False)"
                )
            raise InvalidValueError(f"ramp must be None for Delayed: {why}, got {self.ramp!r}")
        if knowledge is not None and knowledge.bounds_start and isinstance(self.base, Wrapper):
            raise InvalidValueError(
                f"start_bound must be None for {type(self.base).__name__} in Delayed, which may "
                "hold a copy at another action before its start is read: leave it out, or put "
                "Delayed around the rule itself"
            )
        if not self.copies and isinstance(self.base, Wrapper) and not self.base.takes_late:
            raise InvalidValueError(
                f"copies must be True around {type(self.base).__name__}, which compares the "
                "readings of successive rounds, got False"
            )
        if not self.copies and knowledge is not None and "late" not in knowledge.allows:
            raise InvalidValueError(
                f"copies must be True for {type(knowledge).__name__}, which certifies by the "
                "reading of the last action and allows for no late one, got False"
            )

    def inherit(self, each: Guarantee) -> Guarantee:
        """Return the guarantee of copies that play in turn.

        Example:
            >>> from surefoot import Constants
            >>> from surefoot.rules import LeaderFollower
            >>> c = Constants(R=1.0, G_g=1.0, G_f=1.0, start_slack=0.5, start_reach=1.0)
            >>> print(Delayed.of(LeaderFollower.default(c), delay=2).guarantee.name)
            Theorem E (hulls of certified balls), 3 copies in turn
        """
        if not self.copies:
            return super().inherit(each)
        return InTurns(each.constants, each, self.delay)

    def carry(self, promise: Promise) -> Promise:
        """Return the promise of the base, for readings that come late."""
        words = in_turns(self.delay) if self.copies else "played ahead of late readings"
        return promise.with_more(words, f"readings come {self.delay} rounds late, no later")

    @cached_property
    def _each(self) -> Any:
        """The rule of a copy: between its rounds g drifts for k + 1 rounds."""
        if not self.copies or self.errors is None:
            return without_ramp(self.base)
        return self.base.every(self.delay + 1)

    def lengths(self, d: int) -> dict[str, int]:
        """Return the largest lengths of parts of its state."""
        return {"waiting": self.delay}

    def init(self, x1: Array) -> DelayedState:
        """Start at x1, which is played until the first feedback comes."""
        first = self._each.init(x1)
        many = self.delay + 1
        states = (first,) * (many if self.copies else 1)
        return DelayedState(first.x, states, (first.x,) * many, (), 0.0)

    def locate(self, state: DelayedState, feedback: Feedback) -> Feedback:
        """Return feedback with the action and the age of its measurements."""
        if feedback.age not in (0, self.delay if self.late else 0):
            rule = f"0 or {self.delay}, the delay" if self.late else "0"
            raise checks.invalid("age", rule, feedback.age)
        refuse_unused(feedback, self.needs.fields, type(self).__name__)
        if not self.late or (feedback.age and feedback.action is not None):
            return super().locate(state, feedback)
        return feedback._replace(action=state.actions[0], age=self.delay)

    def step(self, state: DelayedState, feedback: Feedback) -> tuple[DelayedState, Info]:
        """Return the state after a round and the details of the copy's step."""
        located, waiting, t = self.locate(state, feedback), state.waiting, int(state.rounds) + 1
        state = state._replace(x=action_played(state, feedback))
        if not self.late:
            waiting = (*waiting, keep_seen(located))
            if len(waiting) <= self.delay:  # a copy that has not played yet
                return self._begin(state, feedback, waiting)
            ahead = {name: getattr(feedback, name) for name in NEXT}
            located, waiting = waiting[0]._replace(**ahead), waiting[1:]
        located = located._replace(age=0 if self.copies else self.delay)
        start = state.states[0].x
        if self._awaits_start(state.states[0]) and not (located.action == start).all():
            located = located._replace(
                action=start, constraint_value=None, constraint_subgradient=None
            )
            located = located._replace(value_error=None, slope_error=None)
        if self.ramp is None:
            after, info = self._each.step(state.states[0], located)
        else:
            after, info = self._step_in_ramp(state, located, feedback.action is None)
        return self._go_on(state, after, waiting), info._replace(round=t)

    def _begin(
        self, state: DelayedState, feedback: Feedback, waiting: tuple[Feedback, ...]
    ) -> tuple[DelayedState, Info]:
        """Return the state after a round before the first reading came: the start is played."""
        first, within = state.states[0], feedback.within
        if within is not None and not within.contains(first.x):
            raise EmptyRegionError.of_set(within, first.x, norm(within.project(first.x) - first.x))
        if self.ramp is not None and not (state.x == first.x).all():
            rule = "the start until its reading comes, because the ramp is kept from it"
            raise checks.invalid("action", rule, state.x)
        return self._go_on(state, first, waiting), Info(first.x, proposal=first.x)

    def _step_in_ramp(
        self, state: DelayedState, located: Feedback, is_certain: bool
    ) -> tuple[State, Info]:
        """Return a step of the base to an action within the ramp of the one that was played.

        Args:
            state: its x is that action.
            located: what is observed, of an earlier action.
            is_certain: whether the action was certified.
        """
        near: Any = KnownSets(around(state.x, self.ramp), located.within)
        each = self._each
        try:
            after, info = each.step(state.states[0], located._replace(within=near))
        except EmptyRegionError:
            if not is_certain or not near.contains(state.x):
                raise
        else:
            return after, info
        after, info = each.step(state.states[0], located._replace(within=None))
        reason = "no other certified action is within the ramp, and a certificate does not expire"
        region = OnePoint(state.rounds + 1.0, state.x, 0.0, self.errors, reason)
        after = move_to(each, after, state.x)
        return after, Info(state.x, info.proposal, region, info.suspects)

    @property
    def counts_rounds(self) -> bool:
        """Whether a step counts exactly one round: delays are counted in rounds."""
        return True

    def _awaits_start(self, state: Any) -> bool:
        """Return whether a copy has a start_bound, and its start was not read yet.

        The copy may be held at another action before. A reading there must not count as its
        first: the bound would be taken for one on g at that action.
        """
        knowledge = find_knowledge(self._each)
        return knowledge is not None and knowledge.bounds_start and not state.memory.rounds

    def move_to(self, state: DelayedState, x: Array) -> DelayedState:
        """Return the state in which the copy whose turn it is plays x."""
        copy, x = state.states[-1], freeze(np.array(x))
        moved = copy if self._awaits_start(copy) else move_to(self._each, copy, x)
        states, actions = (*state.states[:-1], moved), (*state.actions[:-1], x)
        return state._replace(x=x, states=states, actions=actions)

    def rest(self, state: DelayedState, x: Array) -> DelayedState:
        """Return the state after a round without a reading; x is the next action.

        Feedback that was held back for this round is dropped. The copy that played, perhaps an
        external action, plays x as well in its next turn.
        """
        waiting, states = state.waiting, state.states
        if not self.late:
            waiting = (*waiting, Feedback(action=state.x))[-self.delay :]
        x = freeze(np.array(x))
        if self.copies and not self._awaits_start(states[-1]):
            states = (*states[:-1], move_to(self._each, states[-1], x))
        copy = states[0]
        rested = copy if self._awaits_start(copy) else rest(self._each, copy, x)
        return self._go_on(state._replace(states=states), rested, waiting, x)

    def _go_on(
        self,
        state: DelayedState,
        after: State,
        waiting: tuple[Feedback, ...],
        x: Array | None = None,
    ) -> DelayedState:
        """Return the state in which a copy plays next, its action unless another is given."""
        played, states, actions, _, rounds = state
        x = after.x if x is None else x
        states, actions = (*states[1:], after), (*actions[1:-1], played, x)
        return DelayedState(x, states, actions, waiting, rounds + 1.0)


def in_turns(delay: int) -> str:
    """Return how many copies play, in words."""
    return f"{delay + 1} copies in turn"


class InTurns(FromBase):
    r"""Feedback that is k rounds late: k + 1 copies that play in turn.

    Each copy plays every (k+1)-th round, and knows the feedback of its last one by then. So each
    has its theorem for its own rounds, and

    .. math:: \mathrm{Reg}_T \le (k+1)\,\overline{\mathrm{Reg}}(\lceil T/(k+1)\rceil) .

    Args:
        constants: those of the guarantee of one copy.
        each: that guarantee, which must be one for every round.
        delay: k.
    """

    delay: int = count()

    @property
    def name(self) -> str:
        """The theorem of one copy, and how many there are."""
        return f"{self.each.name}, {in_turns(self.delay)}"

    @property
    def horizon(self) -> int | None:  # type: ignore[override]
        """The rounds of all copies together."""
        return None if self.each.horizon is None else (self.delay + 1) * self.each.horizon

    @property
    def constraint_form(self) -> ConstraintForm:
        """The form that the theorem of one copy needs."""
        return self.each.constraint_form

    def regret_bound(self, t: Number) -> Array:
        """Return the sum of the bounds of the copies, where they have one in advance."""
        if self.each.promises.in_advance is None:
            return self._at_worst(t)
        n = self.delay + 1
        return n * self.each.regret_bound(np.ceil(np.asarray(t, dtype=np.float64) / n))

    @property
    def premises(self) -> tuple[Premise, ...]:
        """Those of one copy; the horizon is that of all."""
        return self._and_horizon(*(p for p in self.each.premises if p.quantity != "horizon"))

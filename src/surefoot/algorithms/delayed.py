"""Any rule with feedback that comes late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from surefoot.algorithms.certified_dual_averaging import CertifiedDualAveraging
from surefoot.algorithms.leader_follower import LeaderFollower
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import parts_of, value_in
from surefoot.core.types import Array, Certificate, Explaining, Feedback, Info, Needs, needs_of
from surefoot.theory import Tuned, unpack
from surefoot.theory.wrapped import InTurns

__all__ = ["Delayed", "DelayedState"]

AHEAD = (LeaderFollower, CertifiedDualAveraging)
"""Rules whose certificate is that of the action observed, and whose learner is not played."""


class DelayedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        states: of the copies in the order of their turns, that of the next action last; or of the
            only one.
        actions: those whose feedback is not known yet, the next action last.
        waiting: what was told and is held back, the oldest first.
        rounds: how many rounds have been played.
    """

    x: Array
    states: tuple[Any, ...]
    actions: tuple[Array, ...]
    waiting: tuple[tuple[Any, ...], ...]
    rounds: float


class DelayedInfo(NamedTuple):
    """What a step knew.

    Attributes:
        round: the round that was played.
        inner: what the step of the copy knew; None where no feedback has come yet.
    """

    round: int
    inner: Info | None

    @property
    def cut(self) -> bool:
        """Whether a half-space or a region changed the proposed action."""
        return self.inner is not None and bool(self.inner.cut)

    @property
    def certificate(self) -> Certificate | None:
        """Why the next action is feasible; None for the start."""
        found: Any = None if self.inner is None else self.inner.certificate
        return None if found is None else found._replace(round=self.round)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What cannot be if the constants are right, one sentence each."""
        return () if self.inner is None else self.inner.contradictions


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    r"""A rule whose feedback comes k rounds late: k + 1 copies in turn, or one that plays ahead.

    *In turn:* each copy plays every (k+1)-th round, and by then the feedback of its last round is
    there. Any rule, any theorem; the regret is that of k + 1 runs of T/(k+1) rounds.

    *Ahead* (``copies=False``): one run. Its learner takes gradients as they come, and the next
    action is taken from the region that is certified around the latest action *observed*; for a g
    that does not change, a certificate does not expire. Feasibility is proved, the regret measured:
    on the paper's binding toy it hardly grows with k.

    Under a drift of v per round the copies are told (k+1)v, by which g may change between what is
    known and what is played.

    Args:
        base: the rule, with the drift per round where there is one.
        delay: k, at least 1.
        copies: whether k + 1 copies play in turn; else one plays ahead, which must be a
            ``LeaderFollower`` or a ``CertifiedDualAveraging``.
        late: whether what is told is late already, as in a live loop: that of the action played
            k rounds ago, and in the first k rounds nothing. Else a round's feedback is told at
            once, as in a game, and is held back here.

    Example:
        >>> import numpy as np
        >>> from surefoot import Ball
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

    base: Any
    delay: int
    copies: bool = True
    late: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "delay", checks.whole(self.delay, "delay"))
        base, _ = unpack(self.base)
        if base is not self.base:
            raise InvalidValueError("base must be an algorithm; for a Tuned take Delayed.of")
        if not self.copies and not isinstance(self.base, AHEAD):
            names = " or a ".join(kind.__name__ for kind in AHEAD)
            raise InvalidValueError(
                f"copies must be True but for a {names}, got a {type(self.base).__name__}"
            )

    @classmethod
    def of(cls, player: Any, *, delay: int, late: bool = False) -> Tuned[Delayed]:
        """Return copies of a tuned rule that play in turn, with their guarantee.

        Args:
            player: a rule with its guarantee for every round (``Tuned``).
            delay: k.
            late: whether what is told is late already.

        Example:
            >>> from surefoot import Constants
            >>> c = Constants(R=1.0, G_g=1.0, G_f=1.0, start_slack=0.5, start_reach=1.0)
            >>> print(Delayed.of(LeaderFollower.default(c), delay=2).guarantee.name)
            Theorem G (leader and follower), 3 copies in turn
        """
        algorithm, guarantee = unpack(player)
        if guarantee is None:
            raise InvalidValueError(f"player must have a guarantee (Tuned), got {player!r}")
        made = cls(base=algorithm, delay=delay, late=late)
        return Tuned(made, InTurns(guarantee.constants, guarantee, made.delay))

    @property
    def needs(self) -> Needs:
        """What the base asks for."""
        return needs_of(self.base)._replace(numpy_only=True)

    @property
    def domain(self) -> Any:
        """The set that the base works on."""
        return value_in(self.base, "domain")

    def init(self, x1: Array) -> DelayedState:
        """Start at x1, which is played until the first feedback comes."""
        first = self.base.init(x1)
        many = self.delay + 1
        states = (first,) * (many if self.copies else 1)
        return DelayedState(first.x, states, (first.x,) * many, (), 0.0)

    def moved(self, state: DelayedState, x: Array, missed: int = 0) -> DelayedState:
        """Return the state that starts from another action, or whose oldest feedback never came.

        Rounds can be missed only where the feedback comes late by itself.
        """
        _, states, actions, waiting, rounds = state
        if missed and not self.late:
            raise InvalidValueError(
                f"a round without feedback must come with late=True, got {missed} of them"
            )
        base = self._each()
        if not missed:
            if self.copies:
                states = (*states[:-1], base.moved(states[-1], x, 0))
            return DelayedState(x, states, (*actions[:-1], x), waiting, rounds)
        for _ in range(missed):
            # The copy of the oldest action plays x without having learned anything.
            after = base.moved(states[0], x if self.copies else actions[0], 1)
            states, actions = (*states[1:], after), (*actions[1:], x)
        return DelayedState(x, states, actions, waiting, rounds + missed)

    def update(self, state: DelayedState, feedback: Feedback) -> DelayedState:
        """Return the state after a round."""
        return self.step(state, feedback)[0]

    def step(self, state: DelayedState, feedback: Feedback) -> tuple[DelayedState, DelayedInfo]:
        """Return the state after a round and what the step knew."""
        x, states, actions, waiting, rounds = state
        actions, t = (*actions[:-1], x), rounds + 1.0
        if not self.late:
            waiting = (*waiting, tuple(feedback))
            if len(waiting) <= self.delay:
                states = (*states[1:], states[0])  # a copy that has not played yet
                x, actions = states[-1].x, (*actions[1:], states[-1].x)
                return DelayedState(x, states, actions, waiting, t), DelayedInfo(int(t), None)
            feedback, waiting = type(feedback)(*waiting[0]), waiting[1:]
        base, oldest, info = self._each(), states[0]._replace(x=actions[0]), None
        if isinstance(base, Explaining):
            after, info = base.step(oldest, feedback)
        else:
            after = base.update(oldest, feedback)
        states, actions = (*states[1:], after), (*actions[1:], after.x)
        return DelayedState(after.x, states, actions, waiting, t), DelayedInfo(int(t), info)

    def _each(self) -> Any:
        """Return the rule of a copy: it allows for the drift of k + 1 rounds."""
        parts: dict[str, Any] = dict(parts_of(self.base))
        for name in ("known", "base", ""):
            if drift := value_in(parts.get(name), "drift"):
                wider = replace(parts[name], drift=(self.delay + 1) * drift)
                return replace(self.base, **{name: wider}) if name else wider
        return self.base

"""Any algorithm as a proposer: it learns at the action played; its next action is the proposal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import (
    algorithm,
)
from surefoot.core.record import is_tree
from surefoot.core.types import (
    Array,
    Needs,
    Player,
    needs_of,
)
from surefoot.knowledge.base import Memory
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer

__all__ = ["Learner"]


class Learner(Proposer):
    """Any algorithm: it learns at the action played, and its next action is the proposal.

    Feedback belongs to the action that the region allowed, so the algorithm continues from there. A
    round without the feedback that it learns from leaves it unchanged. If its answer is not finite,
    the action that was played is the proposal.

    Args:
        algorithm: one that learns from gradients of the cost, or from readings of g as well.

    Example:
        >>> from surefoot import OGD, Ball, Certified
        >>> from surefoot.knowledge import LipschitzHull
        >>> learner, hull = OGD(eta=1.0, domain=Ball(2.0)), LipschitzHull(G_g=1.0, reach=2.0)
        >>> player = Certified(proposer=learner, knowledge=hull)
        >>> state = player.init(np.zeros(2))  # g(x) = x[1] - 0.5
        >>> up = np.array([0.0, 1.0])
        >>> state, info = player.step(state, Feedback(-up, -0.5, up))
        >>> info.proposal, state.x.round(6)
        (array([0., 1.]), array([0. , 0.5]))
    """

    algorithm: Player = algorithm()

    is_one_run: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        needs = self.needs
        if not needs.cost_gradients or needs.cost_values or needs.directions or needs.agents:
            raise InvalidValueError(
                "proposer must learn only from gradients of the cost and readings of g, "
                f"got {checks.repr_line(self.algorithm)}"
            )

    @property
    def needs(self) -> Needs:
        """The needs of the algorithm."""
        return needs_of(self.algorithm)

    @property
    def fields(self) -> frozenset[str]:
        """The forecasts that the algorithm uses."""
        return forecasts_of(self.algorithm)

    @property
    def work(self) -> str:  # type: ignore[override]
        """The arithmetic of the algorithm in a round."""
        return self.needs.work

    def init(self, x1: Array) -> Memory:
        """Return the first state of the algorithm."""
        return start_learner(self.algorithm, x1, "proposer")

    def propose(
        self, learner: Memory, x: Array, feedback: Feedback, region: Region
    ) -> tuple[Memory, Proposal]:
        """Return the algorithm after a round, and its next action."""
        if feedback.cost_gradient is None or (
            feedback.constraint_value is None and self.needs.constraint_values
        ):
            return learner, Proposal(x)
        checks.refuse_unfinite(checks.read_gradient(x, feedback), "cost_gradient")
        with np.errstate(over="ignore", invalid="ignore"):
            learner, point, sentences = ask_learner(
                self.algorithm, learner, feedback, x, region.round, "proposer"
            )
        return learner, Proposal(point, contradictions=sentences)


def forecasts_of(learner: Player) -> frozenset[str]:
    """Return the fields of feedback that a learner uses, and a proposer hands to it."""
    return needs_of(learner).fields & {"hint"}


def start_learner(learner: Player, x1: Array, role: str) -> Memory:
    """Return the first state of a learner.

    Args:
        learner: an algorithm.
        x1: where it starts.
        role: its name in sentences: "leader" or "proposer".
    """
    return _check_answer(learner, x1, role, lambda: learner.init(x1))


def ask_learner(
    learner: Player, state: Memory, feedback: Feedback, point: Array, t: float, role: str
) -> tuple[Memory, Array, tuple[str, ...]]:
    """Step a learner from a point: its state, its next point, a sentence if that is not finite.

    A round without a gradient of the cost leaves it as it is.

    Args:
        learner: an algorithm.
        state: its state.
        feedback: the feedback.
        point: where it is when it learns.
        t: the round.
        role: its name in sentences.
    """
    if feedback.cost_gradient is None:
        return state, point, ()
    before = move_learner(learner, state, point)
    after = _check_answer(learner, point, role, lambda: learner.step(before, feedback)[0])
    if np.isfinite(after.x).all():
        return after, after.x, ()
    bad = after.x[~np.isfinite(after.x)][0]
    sentence = (
        f"round {int(t)}: the {role} {type(learner).__name__} must return a finite point, "
        f"got {bad!r}: its last one is followed"
    )
    return state, point, (sentence,)


def move_learner(learner: Player, state: Memory, point: Array) -> Memory:
    """Return the state of a learner at the point that was played.

    A rule of the library moves its own state. The state of a user's rule is a named tuple whose
    ``x`` is the start of its next step; its ``move_to(state, x)`` comes first.
    """
    move = getattr(learner, "move_to", None)
    return state._replace(x=point) if move is None else move(state, point)


def _check_answer(learner: Player, point: Array, role: str, ask: Callable[[], Memory]) -> Memory:
    """Return a learner's answer; raise unless it is a state with a point like its last."""
    name = f"the {role} {type(learner).__name__}"
    state = checks.call_yours(ask, f"{name} must return a state")
    answer: Any = getattr(state, "x", None) if is_tree(state) else None
    if checks.shape_of(answer) != point.shape or answer.dtype != point.dtype:
        rule = f"a named tuple whose x is an array of shape {point.shape} of float64"
        got = checks.repr_line(state if answer is None else answer)
        raise InvalidValueError(f"{name} must return {rule}, got {got}")
    return state

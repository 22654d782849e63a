r"""A leader that learns policies: actions as linear functions of features of a context.

With features :math:`\phi(c) \in R^m` of contexts, a policy is :math:`c \mapsto x_1 + U\phi(c)`,
U a matrix, :math:`\|U\|_F \le D_U`. :math:`\phi = 1` are fixed actions, :math:`\phi = (1, c)` all
affine responses.

**Theorem X2.** *Let costs be convex,* :math:`g(\cdot; c)` *convex, and let the leaders of*
:mod:`surefoot.proposers.leader` *run on matrices: with gradients*
:math:`\nabla_t\phi_t^\top`\ *, cuts*
:math:`\langle s_t\phi_t^\top, U\rangle \le s_t^\top(x_t - x_1) - g_t` *and* :math:`D = D_U`. *If*
:math:`x_{t+1}` *is the certified point nearest to* :math:`x_1 + Z_{t+1}\phi_{t+1}`\ *, then no
action is outside, and for every U with* :math:`g(x_1 + U\phi(c_t); c_t) \le 0` *in all rounds and*
:math:`\|U\|_F \le D_U`

.. math:: \sum_tf_t(x_t) - f_t(x_1 + U\phi_t) \le \frac{D_U^2}{2\eta_T}
    + \sum_t\min\big(\tfrac12\eta_{t-1}\|\nabla_t\|^2\|\phi_t\|^2, 4D_U\|\nabla_t\|\|\phi_t\|\big)
    + \sum_t\nabla_t^\top(x_t - x_1 - Z^0_t\phi_t) ,

*and the other bounds of* :class:`~surefoot.guarantees.LeaderRegret` *hold likewise.*

*Proof.* Feasible: Theorem X1 (:mod:`surefoot.knowledge.context_hull`). Such a U satisfies all cuts:
:math:`0 \ge g(x_1 + U\phi_t; c_t) \ge g_t + s_t^\top(x_1 + U\phi_t - x_t)`, which is linear in U.
The lemmas of the leaders are statements on a Euclidean space, its cuts and gradients, and
:math:`\|\nabla\phi^\top\|_F = \|\nabla\|\|\phi\|`. Last,
:math:`f_t(x_t) - f_t(x_1 + U\phi_t) \le \nabla_t^\top(x_t - x_1 - U\phi_t) =
\langle\nabla_t\phi_t^\top, Z_t - U\rangle + \nabla_t^\top(x_t - x_1 - Z_t\phi_t)`. ∎

In code the leaders see the matrix :math:`X_t = (x_t - x_1)\phi_t^\top/\|\phi_t\|^2` as the action:
:math:`\langle v\phi_t^\top, X_t\rangle = v^\top(x_t - x_1)` for every v. How far actions stay
behind the policy, the last sum, has no bound in advance; it is observed. Rounds whose gradient
nobody saw are not in the sums, and rounds without a value make no cut; values that err make
looser ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Axes, Same
from surefoot.core.parameters import count, function, positive
from surefoot.core.types import Array, Context, Info
from surefoot.guarantees.observers import LeaderRegret
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.context import read_numbers
from surefoot.knowledge.region import Region
from surefoot.proposers.base import Proposal, Proposer
from surefoot.proposers.cuts import empty_cuts
from surefoot.proposers.leader import MOST_CUTS, Leader, LeaderState
from surefoot.sets import Ball

__all__ = ["PolicyLeader"]


class PolicyState(NamedTuple):
    """What the proposer has learnt.

    Attributes:
        start: the first action.
        features: of the context of the current round; none before the first is known.
        leader: the leaders, whose points are matrices, row after row.
    """

    start: Array
    features: Annotated[Array, Axes(Same("features"))]
    leader: LeaderState

    def resize_like(self, record: PolicyState) -> PolicyState:
        """Return the state before the first round, for as many features as another has."""
        size = len(self.start) * np.size(record.features)
        zeros, leaders = np.zeros(size), len(self.leader.points)
        leader = self.leader._replace(
            start=zeros,
            cuts=empty_cuts(size, leaders),
            points=np.zeros((leaders, size)),
            Z=zeros,
            gradients=zeros,
        )
        return PolicyState(self.start, self.features, leader)


class PolicyRegret(NamedTuple):
    """The sums of the leaders of matrices: what they bound is the regret against a policy.

    Attributes:
        leaders: those sums.
    """

    leaders: LeaderRegret

    @property
    def theorem(self) -> str:
        """The statement that bounds the regret by these sums."""
        return "Theorem F, against policies"

    def after(self, info: Info) -> PolicyRegret:
        """Return the sums with one more round."""
        return PolicyRegret(self.leaders.after(info))

    def bound(self, algorithm: Any, state: Any) -> float:
        """Return the smallest of the bounds that the leaders have."""
        return self.leaders.bound(algorithm, state._replace(learner=state.learner.leader))


class PolicyLeader(Proposer):
    """Leaders that learn a policy; the formulas are the module's. The knowledge has contexts.

    Args:
        radius: D_U, how large a matrix is at most.
        features: a function from what is told as a context to a vector; 1 and the numbers of the
            context unless given.
        cuts: how many half-spaces are remembered, as for a :class:`Leader`.

    Example:
        >>> from surefoot.certified import Certified
        >>> from surefoot.knowledge import Column, ContextHull
        >>> known = ContextHull(G_g=1.0, reach=2.0, context=Column(adds=1.0))
        >>> player = Certified(proposer=PolicyLeader(radius=1.0), knowledge=known)
        >>> state = player.init(np.zeros(1))
        >>> state, _ = player.announce(state, player.read_context(state, 0.0, current=True))
        >>> seen = Feedback(np.array([-1.0]), -0.5, np.array([1.0]))  # g = x - 0.5 + c
        >>> state, _ = player.step(state, seen._replace(context=player.read_context(state, -0.1)))
        >>> state.x.round(6), state.learner.features
        (array([0.491919]), array([ 1. , -0.1]))
    """

    radius: float = positive()
    features: Callable[[Any], Array] | None = function(default=None)
    cuts: int | None = count(2, default=None)

    reads: ClassVar[frozenset[str]] = Leader.reads
    work = "K d m"
    is_one_run = True
    in_contexts = True
    strong_convexity: ClassVar[None] = None

    @cached_property
    def leader(self) -> Leader:
        """The leaders of matrices."""
        return Leader(domain=Ball(self.radius), cuts=self.cuts)

    def lengths(self, d: int) -> dict[str, int]:
        """Return how long parts of its state may become, with as many features as there may be."""
        return {"cuts": MOST_CUTS if self.cuts is None else self.cuts}

    def read_features(self, context: Any, place: Array) -> Array:
        """Return the features of a context."""
        features = np.append(1.0, place) if self.features is None else self.features(context)
        vector = read_numbers(features, "features")
        if not vector.any():
            raise InvalidValueError("features must not all be 0: add a constant, got zeros")
        return vector

    def init(self, x1: Array) -> PolicyState:
        """Start at x1."""
        return PolicyState(x1, np.zeros(0), self.leader.init(np.zeros(0)))

    def aim(self, learner: PolicyState, proposal: Array, context: Context) -> tuple[Any, Array]:
        """Return the learner with the features of the next context, and what its policy says."""
        start, before, leader = learner
        phi = context.features
        assert phi is not None
        if len(before) != len(phi):  # none was learnt from
            leader = self.leader.init(np.zeros(len(start) * len(phi)))
        point = start + leader.Z.reshape(len(start), len(phi)) @ phi
        return PolicyState(start, phi, leader), point

    def propose(
        self, learner: PolicyState, x: Array, feedback: Feedback, region: Region
    ) -> tuple[PolicyState, Proposal]:
        """Return the leaders after a round, and what their policy says in the next context."""
        start, phi, leader = learner
        if region.round == 1:  # the first action that was played
            start = x

        def lift(v: Array | None) -> Array | None:
            return None if v is None else np.outer(v, phi).ravel()

        translated = feedback._replace(
            cost_gradient=lift(feedback.cost_gradient),
            constraint_subgradient=lift(feedback.constraint_subgradient),
        )
        X = np.outer(x - start, phi / (phi @ phi)).ravel()
        leader, note, sentences = self.leader.learn(leader, X, translated, region)
        learner, point = PolicyState(start, phi, leader), x
        if feedback.context is not None:
            learner, point = self.aim(learner, point, feedback.context)
        return learner, Proposal(point, note, sentences)

    def observer(self, knowledge: Knowledge) -> PolicyRegret | None:
        """Return the sums of the observed regret bounds; None where slopes err."""
        first = PolicyRegret(LeaderRegret.first(self.leader.multiples))
        return first if knowledge.errors.slope == 0 else None

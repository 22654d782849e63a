"""A game of several agents on a network, each with its own costs and constraint."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, ArrayLike, CostStream
from surefoot.guarantees import Guarantee, Tuned, unpack
from surefoot.problems.constraints import Constraint
from surefoot.rules import NetworkPenalty

__all__ = ["NetworkTrace", "mixing_matrix", "play_network"]


class NetworkTrace(NamedTuple):
    """The result of a game on a network; every array has one entry per round.

    *Own* measures evaluate an agent's functions at its own action, *network* ones every agent's
    functions at every agent's action; both are means over the agents.

    Attributes:
        own_cost: the mean cost of the agents at their own actions.
        network_cost: the mean cost of all agents at the actions of all.
        own_violation: the mean of :math:`[g_i(x_i)]_+`.
        network_violation: the mean of :math:`[g_i(x_j)]_+` over all pairs.
        disagreement: the largest distance of an action to the mean of all.
        actions: the last actions, ``(n, d)``.
        guarantee: what was promised, if anything.
    """

    own_cost: Array
    network_cost: Array
    own_violation: Array
    network_violation: Array
    disagreement: Array
    actions: Array
    guarantee: Guarantee | None

    def regret(self, best: float) -> float:
        """Return the network regret against an action whose summed mean cost is ``best``."""
        return float(self.network_cost.sum()) - best

    def own_regret(self, best: float) -> float:
        """Return the mean over agents of the regret on their own costs."""
        return float(self.own_cost.sum()) - best

    def __repr__(self) -> str:
        return (
            f"NetworkTrace({len(self.actions)} agents, {len(self.own_cost)} rounds, network "
            f"violation {self.network_violation.sum():.4g}, last disagreement "
            f"{self.disagreement[-1]:.3g})"
        )


def play_network(
    player: NetworkPenalty | Tuned[NetworkPenalty],
    costs: CostStream,
    constraints: Sequence[Constraint],
    start: ArrayLike,
) -> NetworkTrace:
    """Play a network: every agent sees its own cost and constraint at its own action.

    Args:
        player: a rule for agents, or one with its guarantee (``Tuned``).
        costs: a cost stream with one run per agent.
        constraints: one per agent.
        start: the first action of all agents.

    Example:
        >>> from surefoot import Ball, Constants
        >>> from surefoot.rules.related.network_penalty import NetworkPenalty
        >>> from surefoot.problems.constraints import Affine
        >>> from surefoot.problems.costs import Linear
        >>> costs = Linear(np.full((50, 3, 1), -1.0))
        >>> limits = [Affine([[1.0]], [b]) for b in (0.2, 0.4, 0.6)]
        >>> tuned = NetworkPenalty.trade_off(
        ...     Constants(R=1.0, G_f=1.0, G_g=1.0), 50, mixing=mixing_matrix("complete", 3)
        ... )
        >>> play_network(tuned, costs, limits, [0.0])
        NetworkTrace(3 agents, 50 rounds, network violation ..., last disagreement ...)
    """
    algorithm, guarantee = unpack(player)
    agents, horizon = len(constraints), costs.horizon
    if costs.runs != agents:
        raise InvalidValueError(
            f"costs must have a run for each of the {agents} constraints, got {costs.runs}"
        )
    if algorithm.agents != agents:
        raise InvalidValueError(
            f"mixing must be for the {agents} agents of the game, got {algorithm.agents}"
        )
    state = algorithm.init(checks.to_vector(start, "start", length=costs.dimension))
    measures = np.empty((5, horizon))
    for t in range(horizon):
        x = state.x
        cost, gradient = costs.value(t, x), costs.gradient(t, x)
        readings = [g.query(action) for g, action in zip(constraints, x, strict=True)]
        g = np.array([[value] for value, _ in readings])
        s = np.array([slope for _, slope in readings])
        measures[:, t] = (
            cost.mean(),
            _all_pairs(costs, t, x),
            np.maximum(g, 0).mean(),
            np.mean([np.maximum(c.query(x)[0], 0) for c in constraints]),
            np.linalg.norm(x - x.mean(axis=0), axis=1).max(),
        )
        state, _ = algorithm.step(state, Feedback(gradient, g, s))
    own_cost, network_cost, own_violation, network_violation, disagreement = measures
    return NetworkTrace(
        own_cost, network_cost, own_violation, network_violation, disagreement, state.x, guarantee
    )


def _all_pairs(costs: CostStream, t: int, x: Array) -> float:
    """Return the mean over all pairs of agent i's cost at agent j's action."""
    shifted = (costs.value(t, np.roll(x, k, axis=0)) for k in range(len(x)))
    return float(np.mean([values.mean() for values in shifted]))


def mixing_matrix(graph: str, agents: int) -> Array:
    r"""Return a doubly stochastic matrix of a common graph.

    Args:
        graph: "ring" (weights 1/2 and 1/4), "complete" (all weights 1/n) or "star" (each leaf keeps
            all but 1/n).
        agents: n.

    Example:
        >>> mixing_matrix("star", 3)
        array([[0.33333333, 0.33333333, 0.33333333],
               [0.33333333, 0.66666667, 0.        ],
               [0.33333333, 0.        , 0.66666667]])
    """
    checks.one_of(("ring", "complete", "star"), graph=graph)
    n = checks.positive_int(agents, "agents")
    if graph == "complete" or n == 1:
        return np.full((n, n), 1 / n)
    one = np.eye(n)
    if graph == "ring":
        return 0.5 * one + 0.25 * (np.roll(one, 1, axis=0) + np.roll(one, -1, axis=0))
    W = np.zeros((n, n))
    W[0, :] = W[:, 0] = 1 / n
    W[np.arange(1, n), np.arange(1, n)] = 1 - 1 / n
    return W
